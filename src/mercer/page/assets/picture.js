// A described picture on the screen: one frame for each of its panels, drawn anew when its size, the
// axes or the colour change; selecting, zooming, and saving it as a file.

import { mercer } from "./text.js";
import "./marks.js";
import "./names.js";
import "./crowd.js";
import "./frame.js";
import "./space.js";
import "./cursor.js";

mercer.isCoarse = () => window.matchMedia("(pointer: coarse)").matches;

mercer.MODES = { select: "Select", lasso: "Lasso", zoom: "Zoom", pan: "Move" };

mercer.Picture = class {
  constructor(figure, described, page, follow, notes) {
    Object.assign(this, { figure, described, page, follow, notes, width: 0 });
    this.place = figure.querySelector(".live");
    this.title = figure.querySelector("h3").textContent;
    const { panels } = described;
    this.frames = panels.map((panel) => (panel.z ? new mercer.Space(panel, this) : new mercer.Frame(panel, this)));
    this.isFlat = panels.some((panel) => !panel.z);
    const isLinked = this.frames.some((frame) => frame.isOfIndividuals && !frame.panel.z);
    this.modes = this.isFlat ? (isLinked ? ["select", "lasso", "zoom", "pan"] : ["zoom", "pan"]) : [];
    this.mode = mercer.isCoarse() ? null : isLinked ? "select" : null;
    const keys = isLinked ? { "aria-keyshortcuts": "b l", "aria-description": "B draws a box by keys, L a lasso; plus, minus and arrows move the view" } : {};
    this.svg = mercer.shape(this.place, "svg", { role: "img", tabindex: 0, "aria-label": this.title, ...keys, class: "picture", "font-family": page.value.look.font });
    this.tools();
    this.draw();
    this.hear();
    page.listen(this);
    new ResizeObserver(() => this.place.clientWidth > 0 && Math.abs(this.place.clientWidth - this.width) > 1 && this.draw()).observe(this.place); // on paper it has no width
  }

  // A picture keeps its height in inches where there is room; on a phone panels stand below each other.
  draw() {
    const { described } = this;
    if (!this.place.clientWidth) return; // folded: it is drawn when there is a place for it
    this.width = this.place.clientWidth;
    const least = described.cell[0] > 2 ? 250 : 60;
    const columns = Math.max(1, Math.min(described.columns, Math.floor(this.width / least)));
    const rows = Math.ceil(this.frames.length / columns);
    const across = this.width / columns;
    const lists = this.frames.some(({ panel }) => panel.y.ticks && panel.y.shown && !panel.equal);
    const inches = (lists ? 88 : 100) * described.cell[1];
    const ratio = described.cell[1] / described.cell[0];
    const [first] = this.frames;
    let down = lists ? inches : Math.max(Math.min(inches, 1.15 * ratio * across), described.cell[0] > 2 ? 250 : 40);
    // A frame that keeps its shape needs no more height than its width leaves it.
    if (first.isLevel) down = first.tallest(across);
    else if (described.cell[0] > 2) down = Math.min(down, Math.max(...this.frames.map((frame) => frame.tallest(across))));
    this.height = down * rows;
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.svg.setAttribute("width", this.width);
    this.svg.setAttribute("height", this.height);
    this.svg.replaceChildren();
    const told = new Set();
    this.frames.forEach((frame, k) => {
      const [row, column] = [Math.floor(k / columns), k % columns];
      frame.draw(this.svg, [column * across, row * down, across, down], told);
    });
    this.cursor?.draw();
  }

  moved() {
    if (!this.frames.some((frame) => frame.follows || frame.ranks) && !this.follow?.picks) return;
    for (const frame of this.frames) frame.zoom = null;
    if (this.follow.title) {
      const axis = this.page.space(this.follow.space).axes[this.page.axes[this.follow.side]];
      this.title = this.follow.title.replace("{axis}", this.follow.isBrief ? axis.split(" (")[0] : axis);
      this.figure.querySelector("h3").textContent = this.title;
      this.svg.setAttribute("aria-label", this.title);
    }
    this.draw();
    this.say();
  }

  coloured() {
    if (!this.described.panels.some((panel) => panel.marks.some((m) => m.of))) return;
    this.draw();
    this.say();
  }

  // The caption speaks of what is drawn now: outlines, and how many the filter hides.
  say() {
    const { page, notes } = this;
    const [frame] = this.frames;
    if (!frame.isPlane || !this.follow || !notes) return;
    const isChanged = frame.isMoved || page.isPainting;
    const kept = isChanged ? notes.filter((note) => !/^(Ellipses|Dashed|No ellipse|No outline)/.test(note)) : [...notes];
    if (isChanged) {
      const outlines = page.outlines(frame.axes, frame.space);
      if (outlines.some((o) => o.dash === "solid")) kept.push("Ellipses hold about 95 % of a group, if it is normally distributed.");
      if (outlines.some((o) => o.dash === "dashed")) kept.push("Dashed outlines hold all of a group: too few, or not elliptic.");
    }
    if (page.leastCos2 > 0) {
      const hidden = page.people.names.filter((_, i) => page.isHidden("individuals", i, frame.axes, frame.space)).length;
      if (hidden) kept.push(`${hidden} of ${page.count} individuals have a cos2 below ${page.leastCos2} here and are left out.`);
    }
    this.figure.querySelector("figcaption").textContent = kept.join(" ");
  }

  marked() {
    if (this.width) for (const frame of this.frames) frame.mark();
  }

  pointed(id, of) {
    if (this.width) for (const frame of this.frames) frame.ring(of, id);
  }

  reset() {
    for (const frame of this.frames) frame.zoom = null;
    this.draw();
  }

  change(...how) {
    for (const frame of this.frames) frame.change(...how);
    this.draw();
  }

  // Buttons: what dragging does, zooming, and saving.
  tools() {
    const bar = mercer.element("div", null, { class: "toolbar", role: "toolbar", "aria-label": `Tools of ${this.title}` });
    const button = (text, title, act) => {
      const made = mercer.element("button", text, { type: "button", title, "aria-label": title });
      made.addEventListener("click", act);
      bar.append(made);
      return made;
    };
    this.buttons = this.modes.map((mode) => {
      const made = button(mercer.MODES[mode], `${mercer.MODES[mode]} by dragging`, () => this.drag(this.mode === mode ? null : mode));
      return [mode, made];
    });
    if (this.isFlat) {
      button("+", "Zoom in", () => this.change(0.7));
      button("−", "Zoom out", () => this.change(1 / 0.7));
    }
    button("Reset", "Reset the view", () => this.reset());
    button("PNG", "Save as PNG", () => mercer.savePicture(this, "png"));
    button("SVG", "Save as SVG", () => mercer.savePicture(this, "svg"));
    button("PDF", "Save as PDF", () => mercer.savePicture(this, "pdf"));
    // The explorer's maps stand beside each other, of one axis or two: their tools are a row of their own.
    if (this.page.isExplored && this.figure.parentElement?.id === "maps") this.place.before(bar);
    else this.place.append(bar);
    this.drag(this.mode);
  }

  drag(mode) {
    this.mode = mode;
    for (const [name, made] of this.buttons) made.setAttribute("aria-pressed", String(name === mode));
    this.svg.style.cursor = { select: "crosshair", lasso: "crosshair", zoom: "zoom-in", pan: "move" }[mode] ?? "default";
    this.svg.style.touchAction = mode || !this.isFlat ? "none" : "auto";
  }

  at(event) {
    const box = this.svg.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * this.width, ((event.clientY - box.top) / box.height) * this.height];
  }

  hear() {
    const { svg, page } = this;
    svg.addEventListener("pointermove", (event) => (this.start ? this.dragged(event) : this.show(event)));
    svg.addEventListener("pointerleave", () => page.point(-1));
    svg.addEventListener("pointerdown", (event) => this.press(event));
    svg.addEventListener("pointerup", (event) => this.release(event));
    svg.addEventListener("pointercancel", () => this.end());
    svg.addEventListener("dblclick", () => this.reset());
    svg.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    const keys = { "+": [0.8], "-": [1.25], ArrowLeft: [1, -0.1], ArrowRight: [1, 0.1], ArrowUp: [1, 0, -0.1], ArrowDown: [1, 0, 0.1] };
    const kinds = { b: "box", l: "lasso" };
    svg.addEventListener("blur", () => this.cursor?.end());
    svg.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const digit = this.follow?.picks && /^Digit([1-9])$/.exec(event.code);
      if (this.cursor?.press(event)) event.stopPropagation();
      else if (event.key in kinds && this.modes.includes("lasso")) {
        this.cursor?.end();
        this.cursor = new mercer.Cursor(this, kinds[event.key]);
      } else if (digit) {
        this.page.choose(Number(digit[1]) - 1, event.shiftKey ? 1 : 0, this.follow.map);
        event.stopPropagation();
      } else if (event.key === "0") this.reset();
      else if (event.key in keys) this.change(...keys[event.key]);
      else return;
      event.preventDefault();
    });
  }

  // The wheel zooms where the page does not scroll, or with Ctrl; drawn once for each frame.
  wheel(event) {
    if (!this.page.isExplored && !event.ctrlKey) return;
    const at = this.at(event);
    const frame = this.frames.find((f) => f.holds(...at));
    if (!frame || frame.panel.z || !this.modes.length) return;
    event.preventDefault();
    frame.zoomAt(at, 1.0015 ** Math.max(-200, Math.min(200, event.deltaY)));
    this.glide(frame);
  }

  // Draw the limits that a frame has now, once for each frame of the screen. A crowd moves at once,
  // with what stands among it, and words and ticks follow when the reader rests.
  glide(frame) {
    clearTimeout(this.rests);
    if (frame.crowd) frame.turnSides();
    this.waits ??= requestAnimationFrame(() => {
      this.waits = null;
      if (!frame.crowd) return this.draw();
      frame.glide();
      this.rests = setTimeout(() => this.draw(), 180);
    });
  }

  show(event) {
    this.showAt(this.at(event));
  }

  // Where a place of the picture is in the window.
  onScreen([u, v]) {
    const box = this.svg.getBoundingClientRect();
    return [box.left + (u / this.width) * box.width, box.top + (v / this.height) * box.height];
  }

  showAt(at) {
    const frame = this.frames.find((f) => f.holds(...at));
    const found = frame?.under(...at);
    if (!found) return this.page.point(-1);
    const { mark, i, text, other } = found;
    const said = text ? [other && `with ${other}`, text].filter(Boolean).join(": ") : mark.texts || mark.names ? frame.nameOf(mark, i) : "";
    if (mark.ids) this.page.point(mark.ids[i], mark.of, said);
    else if (said) this.page.point(-1, "", said);
    else this.page.point(-1);
  }

  press(event) {
    if (event.button !== 0) return;
    const at = this.at(event);
    // What is drawn around points may begin beside the frame.
    const isAround = ["select", "lasso", "zoom"].includes(this.mode);
    const frame = this.frames.find((f) => f.holds(...at)) ?? (isAround ? this.nearest(at) : null);
    if (!frame || event.target.closest(".entry")) return;
    this.start = { at, frame, trail: [at], before: frame.limits };
    if (this.mode || frame.panel.z) this.svg.setPointerCapture(event.pointerId);
  }

  nearest([u, v]) {
    const away = ({ box: [left, top, width, height] }) => Math.hypot(Math.max(left - u, 0, u - left - width), Math.max(top - v, 0, v - top - height));
    return this.frames.reduce((best, frame) => (away(frame) < away(best) ? frame : best));
  }

  dragged(event) {
    const { frame, at, trail } = this.start;
    const now = this.at(event);
    trail.push(now);
    if (frame.panel.z) return frame.turn(now[0] - trail.at(-2)[0], now[1] - trail.at(-2)[1]);
    if (!this.mode) return;
    frame.overlay.replaceChildren();
    if (this.mode === "pan") {
      const [from, to] = [trail.at(-2), now];
      frame.change(1, (from[0] - to[0]) / frame.box[2], (from[1] - to[1]) / frame.box[3]);
      this.glide(frame);
      return;
    }
    const look = mercer.AROUND;
    if (this.mode === "lasso") mercer.shape(frame.overlay, "path", { ...look, d: mercer.path(...[0, 1].map((k) => trail.map((p) => p[k]))) });
    else mercer.shape(frame.overlay, "rect", { ...look, x: Math.min(at[0], now[0]), y: Math.min(at[1], now[1]), width: Math.abs(now[0] - at[0]), height: Math.abs(now[1] - at[1]) });
  }

  end() {
    const start = this.start;
    this.start = null;
    start?.frame.overlay.replaceChildren();
    return start;
  }

  // An individual is selected or no longer, and a bar of a scree chosen as an axis.
  click(frame, at, isUp = false) {
    const found = frame.under(...at);
    if (found?.mark.of === "individuals" && found.mark.ids) this.page.toggle(found.mark.ids[found.i]);
    else if (this.follow?.picks && found?.mark.mark === "bars") this.page.choose(Math.round(found.mark.at[found.i]) - 1, isUp ? 1 : 0, this.follow.map);
  }

  release(event) {
    if (!this.start) return;
    const { at, frame, trail } = this.end();
    const now = this.at(event);
    if (Math.hypot(now[0] - at[0], now[1] - at[1]) < 4 && trail.length < 8) {
      return this.click(frame, now, event.shiftKey);
    }
    const between = (a, b, v) => v >= Math.min(a, b) && v <= Math.max(a, b);
    if (this.mode === "select") this.page.select(frame.inside((u, v) => between(at[0], now[0], u) && between(at[1], now[1], v)));
    if (this.mode === "lasso") this.page.select(frame.inside((u, v) => mercer.isIn(trail, u, v)));
    if (this.mode === "zoom") {
      frame.keep(at, now);
      this.draw();
    }
  }
};

// Whether a point lies inside a closed line.
mercer.isIn = (trail, u, v) => {
  let isInside = false;
  trail.forEach(([a, b], k) => {
    const [c, d] = trail[(k + 1) % trail.length];
    if (b > v !== d > v && u < a + ((v - b) / (d - b)) * (c - a)) isInside = !isInside;
  });
  return isInside;
};

// A text in lines that fit a width.
mercer.folded = (text, width, size, isBold) => {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (lines.at(-1) && mercer.width(longer, size, isBold) > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
};

// The name of a file that is saved: it begins with the name of the data.
mercer.fileName = (rest) => {
  const given = mercer.explorer?.source?.name ?? mercer.page.value.source ?? "";
  const stem = given.replace(/\.[^.]*$/, "").replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+|[-.]+$/g, "");
  return stem ? `${stem}-${rest}` : rest;
};

// What a saved picture is called: its panel, and the axes that it shows now.
mercer.panelName = ({ figure, frames, follow, page }) => {
  const [stem] = /^.*?(?=(-\d+)*$)/.exec(figure.dataset.panel);
  const shown = frames[0].follows ? frames[0].axes : Number.isInteger(follow?.side) ? [page.axes[follow.side]] : null;
  return shown ? [stem, ...shown.filter((k) => k !== null).map((k) => k + 1)].join("-") : figure.dataset.panel;
};

// A picture as a file of its own: light, with its title and legend, as an image twice as fine as on
// the screen, or four times where the picture is small.
mercer.savePicture = async (picture, kind) => {
  const [width, height] = [picture.width, picture.height];
  const titles = mercer.folded(picture.title, width - 24, 15, true);
  const head = 10 + 20 * titles.length;
  const { theme } = mercer;
  mercer.theme = mercer.light(picture.page.value.look);
  picture.draw();
  const copy = picture.svg.cloneNode(true);
  copy.querySelectorAll(".overlay").forEach((node) => node.remove());
  for (const [name, value] of [["xmlns", mercer.SVG], ["viewBox", `0 ${-head} ${width} ${height + head}`], ["width", width], ["height", height + head]]) copy.setAttribute(name, value);
  copy.removeAttribute("style");
  for (const frame of picture.frames) {
    if (!frame.crowd) continue;
    const [x, y, w, h] = frame.box;
    copy.prepend(mercer.shape(null, "image", { x, y, width: w, height: h, href: frame.canvas.node.toDataURL() }));
  }
  copy.prepend(mercer.shape(null, "rect", { x: 0, y: -head, width, height: height + head, fill: "#fff" }));
  titles.forEach((line, k) => {
    const room = Math.min(15, (15 * (width - 24)) / mercer.width(line, 15, true)); // a long word is made smaller
    mercer.write(copy, line, 12, 20 * (k + 1) - head, { "font-size": room, "font-weight": 600 });
  });
  mercer.theme = theme;
  picture.draw();
  const name = mercer.fileName(`${mercer.panelName(picture)}.${kind}`);
  const text = new XMLSerializer().serializeToString(copy);
  if (kind === "svg") return mercer.save(name, new Blob([text], { type: "image/svg+xml" }));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  const fine = kind === "pdf" || width < 700 ? 4 : 2;
  Object.assign(canvas, { width: fine * width, height: fine * (height + head) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  if (kind === "png") return canvas.toBlob((blob) => mercer.save(name, blob), "image/png");
  mercer.save(name, mercer.pdf(await mercer.deflated(canvas), canvas.width, canvas.height, 0.75 / fine));
};

// The colours of a canvas, pixel by pixel, as a page of paper holds them: no letter is blurred as in
// a photo. The picture has a ground, so that nothing shines through.
mercer.deflated = async (canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const colours = new Uint8Array((data.length / 4) * 3);
  for (let i = 0, j = 0; i < data.length; i += 4) for (let k = 0; k < 3; k++) colours[j++] = data[i + k];
  const stream = new Blob([colours]).stream().pipeThrough(new CompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

// A page of paper that holds one image, in points of so many pixels.
mercer.pdf = (pixels, width, height, unit) => {
  const [across, up] = [(width * unit).toFixed(2), (height * unit).toFixed(2)];
  const draw = `q ${across} 0 0 ${up} 0 0 cm /I Do Q`;
  const parts = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${across} ${up}] /Contents 4 0 R /Resources << /XObject << /I 5 0 R >> >> >>`,
    `<< /Length ${draw.length} >>\nstream\n${draw}\nendstream`,
    `<< /Type /XObject /Subtype /Image /Width ${Math.round(width)} /Height ${Math.round(height)} /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /FlateDecode /Length ${pixels.length} >>\nstream\n`,
  ];
  const [written, places] = [["%PDF-1.4\n"], []];
  let at = written[0].length;
  const add = (piece) => {
    written.push(piece);
    at += piece.length;
  };
  parts.forEach((part, k) => {
    places.push(at);
    add(`${k + 1} 0 obj\n${part}`);
    if (k === 4) [pixels, "\nendstream"].forEach(add);
    add("\nendobj\n");
  });
  const start = at;
  const lines = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("");
  add(`xref\n0 6\n0000000000 65535 f \n${lines}trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`);
  return new Blob(written, { type: "application/pdf" });
};
