// A cursor that keys move over a map: it points at individuals, and draws the box or the lasso that a
// mouse would drag.

import { mercer } from "./text.js";

mercer.WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

mercer.Cursor = class {
  constructor(picture, kind) {
    const frame = picture.frames.find((one) => one.isOfIndividuals);
    const [left, top, width, height] = frame.box;
    Object.assign(this, { picture, kind, frame, corners: [], at: [left + width / 2, top + height / 2] });
    this.draw();
  }

  // Whether a key was one of the cursor's.
  press({ key, shiftKey }) {
    if (key in mercer.WAYS) this.move(mercer.WAYS[key], shiftKey ? 0.1 : 0.02);
    else if (key === " ") this.corner();
    else if (key === "Enter") this.finish();
    else if (key === "Escape") this.end();
    else return false;
    return true;
  }

  move([across, down], share) {
    const [left, top, width, height] = this.frame.box;
    const within = (value, low, size) => Math.min(Math.max(value, low), low + size);
    this.at = [within(this.at[0] + across * share * width, left, width), within(this.at[1] + down * share * height, top, height)];
    mercer.at = this.picture.onScreen(this.at);
    this.picture.showAt(this.at);
    this.draw();
  }

  // A box has one corner, and the cursor is the other; a lasso has as many as are set.
  corner() {
    this.corners = this.kind === "box" ? [this.at] : [...this.corners, this.at];
    this.draw();
  }

  finish() {
    const { frame, picture, corners, at, kind } = this;
    const trail = kind === "box" && corners.length ? mercer.corners(corners[0], at) : [...corners, at];
    if (trail.length > 2) picture.page.select(frame.inside((u, v) => mercer.isIn(trail, u, v)));
    else picture.click(frame, at);
    this.corners = [];
    this.draw();
  }

  end() {
    this.group.remove();
    this.picture.cursor = null;
    this.picture.page.point(-1);
  }

  draw() {
    const { frame, at, corners, kind } = this;
    this.group?.remove();
    this.group = mercer.shape(frame.group, "g", { class: "overlay cursor" });
    const [u, v] = at;
    const look = { stroke: mercer.theme.ink, "stroke-width": 1.5 };
    mercer.shape(this.group, "line", { x1: u - 9, x2: u + 9, y1: v, y2: v, ...look });
    mercer.shape(this.group, "line", { x1: u, x2: u, y1: v - 9, y2: v + 9, ...look });
    const trail = kind === "box" && corners.length ? mercer.corners(corners[0], at) : [...corners, at];
    if (trail.length > 1) mercer.shape(this.group, "path", { ...mercer.AROUND, d: `${mercer.path(trail.map((p) => p[0]), trail.map((p) => p[1]))}Z` });
    const told = "Arrows move · Space: corner · Enter: select · Esc: end";
    const [left, top] = frame.box;
    mercer.write(this.group, told, left + 6, top + 14, { "font-size": 11, stroke: mercer.theme.ground, "stroke-width": 3, "paint-order": "stroke" });
  }
};

mercer.corners = ([a, b], [c, d]) => [[a, b], [c, b], [c, d], [a, d]];
