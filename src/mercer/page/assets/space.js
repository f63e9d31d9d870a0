// A panel with three sides, seen along a slope and turned by dragging.

import { mercer } from "./text.js";
import "./frame.js";

mercer.Space = class extends mercer.Frame {
  constructor(panel, picture) {
    super(panel, picture);
    this.turned = [-0.9, 0.45];
  }

  change(factor, dx = 0, dy = 0) {
    this.turned = [this.turned[0] + 3 * dx, this.turned[1] + 3 * dy];
  }

  turn(du, dv) {
    this.turned = [this.turned[0] + du / 120, Math.min(Math.max(this.turned[1] + dv / 120, -1.5), 1.5)];
    this.redraw();
  }

  // Where a point lies on the canvas, and how near it is.
  seen(x, y, z) {
    const share = (v, { limits }) => (v - limits[0]) / (limits[1] - limits[0]) - 0.5;
    const [a, b, c] = [share(x, this.panel.x), share(y, this.panel.y), share(z, this.panel.z)];
    const [yaw, pitch] = this.turned;
    const [across, away] = [a * Math.cos(yaw) - b * Math.sin(yaw), a * Math.sin(yaw) + b * Math.cos(yaw)];
    const [left, top, width, height] = this.box;
    const size = Math.min(width / 1.55, height / 1.6);
    const up = c * Math.cos(pitch) + away * Math.sin(pitch);
    return [left + width / 2 + size * across, top + height / 2 - size * up, c * Math.sin(pitch) - away * Math.cos(pitch)];
  }

  draw(parent, [left, top, width, height], told) {
    Object.assign(this, { boxes: [], cells: [], told, whole: [left, top, width, height] });
    this.group = mercer.shape(parent, "g", { class: "frame space" });
    this.lines = this.wrapped(this.entries, width - 16);
    const below = 19 * this.lines.length + 10;
    this.box = [left + 8, top + (this.panel.title ? 24 : 6), width - 16 - (this.scale ? 66 : 0), height - below - (this.panel.title ? 24 : 6)];
    this.redraw();
  }

  redraw() {
    const { group, panel, page } = this;
    const [left, top, , height] = this.whole;
    Object.assign(this, { hits: [], linked: [], taken: [] });
    group.replaceChildren();
    if (panel.title) mercer.write(group, panel.title, this.box[0], top + 15, { "font-weight": 600 });
    mercer.shape(group, "rect", { x: this.box[0], y: this.box[1], width: this.box[2], height: this.box[3], fill: mercer.theme.ground, class: "ground" });
    this.drawCube(group);
    this.layer = mercer.shape(group, "g", { class: "marks" });
    for (const mark of panel.marks) {
      if (mark.mark === "surface") this.drawSurface(mark);
      if (!mark.z) continue;
      const at = mark.x.map((x, i) => this.seen(x, mark.y[i], mark.z[i]));
      mercer.draw[mark.mark]?.(this, mark, [at.map((p) => p[0]), at.map((p) => p[1])]);
      if (mark.mark !== "markers") continue;
      const { nodes } = this.linked.at(-1); // what is near is drawn last
      const order = at.map((_, i) => i).sort((a, b) => at[a][2] - at[b][2]);
      for (const i of order) nodes[i]?.parentNode.append(nodes[i]);
    }
    this.overlay = mercer.shape(group, "g", { class: "overlay" });
    if (this.scale) this.drawScale(group);
    this.drawLegend(group, this.lines, top + height - 19 * this.lines.length - 2);
    this.mark();
    if (page.pointed >= 0) this.ring(page.pointedOf, page.pointed);
  }

  drawCube(group) {
    const { x, y, z } = this.panel;
    const corner = (i, j, k) => this.seen(x.limits[i], y.limits[j], z.limits[k]);
    const line = (...at) => mercer.shape(group, "path", { d: mercer.path(at.map((p) => p[0]), at.map((p) => p[1])), fill: "none", stroke: mercer.theme.zero, "stroke-width": 0.8 });
    line(corner(0, 0, 0), corner(1, 0, 0), corner(1, 1, 0), corner(0, 1, 0), corner(0, 0, 0));
    for (const [i, j] of [[0, 0], [1, 0], [1, 1], [0, 1]]) line(corner(i, j, 0), corner(i, j, 1));
    line(corner(0, 0, 1), corner(1, 0, 1), corner(1, 1, 1), corner(0, 1, 1), corner(0, 0, 1));
    const name = (side, at, other) => {
      const middle = at.slice(0, 2).map((v, k) => (v + other[k]) / 2);
      const centre = [this.box[0] + this.box[2] / 2, this.box[1] + this.box[3] / 2];
      const out = middle.map((v, k) => v + 0.1 * (v - centre[k]));
      const [half, left, width] = [mercer.width(side.title) / 2, this.box[0], this.box[2]];
      out[0] = Math.min(Math.max(out[0], left + half), left + width - half);
      mercer.write(group, side.title, out[0], out[1], { "text-anchor": "middle", "font-size": 11, fill: mercer.theme.quiet });
    };
    // Titles stand at the edges of the floor that are nearest, and at the leftmost upright one.
    const edges = (a, b) => (a[2] + a[1] > b[2] + b[1] ? a : b);
    name(x, ...[[corner(0, 0, 0), corner(1, 0, 0)], [corner(0, 1, 0), corner(1, 1, 0)]].reduce((p, q) => (edges(p[0], q[0]) === p[0] ? p : q)));
    name(y, ...[[corner(0, 0, 0), corner(0, 1, 0)], [corner(1, 0, 0), corner(1, 1, 0)]].reduce((p, q) => (edges(p[0], q[0]) === p[0] ? p : q)));
    const upright = [[0, 0], [1, 0], [1, 1], [0, 1]].map(([i, j]) => [corner(i, j, 0), corner(i, j, 1)]);
    name(z, ...upright.reduce((p, q) => (p[0][0] <= q[0][0] ? p : q)));
  }

  drawSurface(mark) {
    const { values } = mark.scale;
    const at = values.map((row, i) => row.map((z, j) => this.seen(mark.x[j], mark.y[i], z)));
    const facets = [];
    for (let i = 0; i + 1 < values.length; i++) for (let j = 0; j + 1 < values[0].length; j++) facets.push([i, j, at[i][j][2] + at[i + 1][j + 1][2]]);
    facets.sort((a, b) => a[2] - b[2]);
    for (const [i, j] of facets) {
      const corners = [at[i][j], at[i][j + 1], at[i + 1][j + 1], at[i + 1][j]];
      mercer.shape(this.layer, "path", { d: `${mercer.path(corners.map((p) => p[0]), corners.map((p) => p[1]))}Z`, fill: mercer.colour(mark.scale, values[i][j]), stroke: "#000", "stroke-opacity": 0.15, "stroke-width": 0.4 });
    }
  }
};
