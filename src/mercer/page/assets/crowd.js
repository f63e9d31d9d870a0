// Many individuals of a panel on one canvas below its shapes: by WebGL where there is one, else by
// the two-dimensional context. What they are and where they lie is the same as for shapes.

import { mercer } from "./text.js";

mercer.CROWD = 1500; // points of a panel from which on they are drawn on a canvas
mercer.FEWEST = 10000; // points that are drawn in any case while a reader zooms
mercer.BEGIN = 150000; // those of the first picture of a movement; more follow where there is time

mercer.SHADERS = [
  `#version 300 es
  in vec2 place; in vec4 colour; in float state;
  uniform vec2 room; uniform vec4 view; uniform float size; uniform float shown;
  out vec4 ink;
  void main() {
    vec2 seen = place * view.xy + view.zw;
    vec2 at = vec2(2.0 * seen.x / room.x - 1.0, 1.0 - 2.0 * seen.y / room.y);
    gl_Position = abs(state - shown) < 0.5 ? vec4(at, 0.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
    gl_PointSize = size;
    ink = colour;
  }`,
  `#version 300 es
  precision highp float;
  in vec4 ink; uniform float opacity; uniform float size;
  out vec4 seen;
  void main() {
    float away = length(gl_PointCoord - 0.5) * size;
    float edge = clamp(0.5 * size - away + 0.5, 0.0, 1.0);
    if (edge <= 0.0) discard;
    seen = vec4(ink.rgb, 1.0) * (opacity * edge);
  }`,
];

mercer.canvases = new Map();

// One canvas, with the context that it has: null where there is no WebGL.
mercer.Canvas = class {
  constructor() {
    this.begin();
    const gl = mercer.isWithoutWebGL ? null : this.node.getContext("webgl2", { antialias: false, alpha: true, preserveDrawingBuffer: true });
    this.gl = gl && this.prepare(gl) ? gl : null;
    if (gl && !this.gl) this.begin(); // a canvas keeps the first context that it had
    this.flat = this.gl ? null : this.node.getContext("2d");
    this.node.dataset.by = this.gl ? "webgl" : "canvas";
  }

  begin() {
    this.node = mercer.element("canvas", null, { class: "crowd", "aria-hidden": "true" });
  }

  // The canvas of a frame: one for each name of a picture, for browsers keep few contexts alive.
  static of(frame) {
    const { figure, frames, place } = frame.picture;
    const key = `${figure.dataset.panel} ${frames.indexOf(frame)}`;
    const kept = mercer.canvases.get(key);
    const found = kept && !kept.gl?.isContextLost() ? kept : new mercer.Canvas();
    mercer.canvases.set(key, found);
    place.prepend(found.node);
    return found;
  }

  prepare(gl) {
    const program = gl.createProgram();
    mercer.SHADERS.forEach((text, k) => {
      const shader = gl.createShader(k ? gl.FRAGMENT_SHADER : gl.VERTEX_SHADER);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    });
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return false;
    gl.useProgram(program);
    this.uniform = Object.fromEntries(["room", "view", "size", "shown", "opacity"].map((name) => [name, gl.getUniformLocation(program, name)]));
    this.buffers = {};
    for (const [name, count, type, isShare] of [["place", 2, gl.FLOAT, false], ["colour", 4, gl.UNSIGNED_BYTE, true], ["state", 1, gl.UNSIGNED_BYTE, false]]) {
      const at = gl.getAttribLocation(program, name);
      this.buffers[name] = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, count, type, isShare, 0, 0);
    }
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    return true;
  }

  fit([left, top, width, height]) {
    const fine = window.devicePixelRatio || 1;
    Object.assign(this.node.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
    const [w, h] = [Math.round(width * fine), Math.round(height * fine)];
    if (this.node.width !== w || this.node.height !== h) Object.assign(this.node, { width: w, height: h });
    Object.assign(this, { fine, room: [width, height] });
  }

  send(name, values) {
    if (!this.gl) return;
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[name]);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, values, this.gl.DYNAMIC_DRAW);
  }

  draw(crowd, passes) {
    if (this.gl) this.drawFast(crowd, passes);
    else this.drawFlat(crowd, passes);
  }

  drawFast({ count, size, view }, passes) {
    const { gl, uniform, fine } = this;
    gl.viewport(0, 0, this.node.width, this.node.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(uniform.room, ...this.room);
    gl.uniform4f(uniform.view, ...view);
    gl.uniform1f(uniform.size, size * fine);
    for (const [state, opacity] of passes) {
      gl.uniform1f(uniform.shown, state);
      gl.uniform1f(uniform.opacity, opacity);
      gl.drawArrays(gl.POINTS, 0, count);
    }
  }

  drawFlat({ count, size, places, inks, states, view }, passes) {
    const { flat, fine } = this;
    flat.setTransform(fine, 0, 0, fine, 0, 0);
    flat.clearRect(0, 0, ...this.room);
    for (const [state, opacity] of passes) {
      flat.globalAlpha = opacity;
      let last = -1;
      for (let i = 0; i < count; i++) {
        if (states[i] !== state) continue;
        const ink = (inks[4 * i] << 16) | (inks[4 * i + 1] << 8) | inks[4 * i + 2];
        if (ink !== last) flat.fillStyle = `#${(last = ink).toString(16).padStart(6, "0")}`;
        const [u, v] = [places[2 * i] * view[0] + view[2], places[2 * i + 1] * view[1] + view[3]];
        if (size <= 3) {
          flat.fillRect(u - size / 2, v - size / 2, size, size); // too small to be round
          continue;
        }
        flat.beginPath();
        flat.arc(u, v, size / 2, 0, 2 * Math.PI);
        flat.fill();
      }
    }
  }
};

mercer.rgb = (colour) => {
  const parts = /^rgb\((\d+),\s*(\d+),\s*(\d+)\)$/.exec(colour);
  return parts ? parts.slice(1).map(Number) : [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) || 0);
};

// How dark a point is: where many lie upon each other, so faint that groups can be told apart among
// them, and never so faint that one alone is lost. Clouds fill about a third of their frame.
mercer.opacity = (count, size, [, , width, height]) => {
  const layers = (count * size * size) / (0.33 * width * height);
  return Math.min(0.85, Math.max(0.12, 1.6 / layers));
};

// The points of all marks of a frame that stand for individuals.
mercer.Crowd = class {
  constructor(frame, marks) {
    Object.assign(this, { frame, marks });
    this.count = marks.reduce((sum, mark) => sum + mark.x.length, 0);
    const { page } = frame;
    this.ids = new Int32Array(this.count);
    this.places = new Float32Array(2 * this.count);
    this.states = new Uint8Array(this.count);
    this.view = [1, 1, 0, 0];
    this.pace = frame.pace ??= { some: Math.min(this.count, mercer.BEGIN), most: this.count };
    this.sides = [frame.x, frame.y];
    const [left, top] = frame.box;
    const ends = (side) => [side.at(0), side.at(1) - side.at(0)]; // both sides of a plane are linear
    const [[a, b], [c, d]] = [ends(frame.x), ends(frame.y)];
    this.each((mark, i, k) => {
      this.places[2 * k] = a + b * mark.x[i] - left;
      this.places[2 * k + 1] = c + d * mark.y[i] - top;
      this.ids[k] = mark.ids[i];
    });
    this.size = this.count >= 50_000 ? 2 : this.count > 20_000 ? 3 : this.count > 5_000 ? 4 : 5.5;
    this.opacity = mercer.opacity(this.count, this.size, frame.box);
    this.inks = this.colours(page);
    this.canvas = frame.canvas = frame.canvas?.gl?.isContextLost() ? mercer.Canvas.of(frame) : frame.canvas ?? mercer.Canvas.of(frame);
    this.canvas.fit(frame.box);
    this.canvas.send("place", this.places);
    this.canvas.send("colour", this.inks);
    this.mark();
  }

  // Every point with its number in the order in which points are drawn: in strides through all
  // marks, so that no group covers the others.
  each(act) {
    const common = (a, b) => (b ? common(b, a % b) : a);
    let stride = Math.max(1, Math.round(0.618 * this.count));
    while (common(stride, this.count) > 1) stride++;
    let k = 0;
    for (const mark of this.marks) {
      for (let i = 0; i < mark.x.length; i++) {
        act(mark, i, k);
        k = (k + stride) % this.count;
      }
    }
  }

  // The colours of all points, kept until the colour or the theme changes.
  colours(page) {
    const { frame } = this;
    const key = `${page.colour} ${page.isPainting} ${mercer.theme.isDark} ${page.shades?.limits} ${this.count}`;
    if (frame.inkKey === key) return frame.inks;
    const inks = new Uint8Array(4 * this.count);
    const known = new Map();
    const rgb = (colour) => {
      if (!known.has(colour)) known.set(colour, mercer.rgb(mercer.toned(colour)));
      return known.get(colour);
    };
    this.each((mark, i, k) => {
      const isPainted = mark.painted && page.isPainting;
      const colour = isPainted ? page.ink(mark.ids[i]) : mark.scale ? mercer.colour(mark.scale, mark.scale.values[i]) : mark.colour;
      inks.set(rgb(colour), 4 * k);
      inks[4 * k + 3] = 255;
    });
    Object.assign(frame, { inkKey: key, inks });
    return inks;
  }

  // 0 are shown, 1 faint beside a selection, 2 left out by the filter.
  mark() {
    const { frame, ids, states } = this;
    const { page } = frame;
    const isSelecting = page.selected.length > 0;
    const isFiltering = page.leastCos2 > 0;
    for (let k = 0; k < this.count; k++) {
      if (isFiltering && page.isHidden("individuals", ids[k], frame.axes, frame.space)) states[k] = 2;
      else states[k] = isSelecting && !page.mask[ids[k]] ? 1 : 0;
    }
    this.passes = [...(isFiltering ? [[2, 0.04]] : []), ...(isSelecting ? [[1, 0.12 * this.opacity]] : []), [0, this.opacity]];
    this.canvas.send("state", states);
    this.canvas.draw(this, this.passes);
  }

  // Draw as the sides of the frame are now, from the places that were sent: while a reader zooms
  // nothing is computed for each point, whatever their number.
  glide() {
    const { frame } = this;
    const [left, top] = frame.box;
    const along = (side, from, first) => {
      const [a, b] = [side.at(from.back(first)), side.at(from.back(first + 1))];
      return [b - a, a - first];
    };
    const [[sx, tx], [sy, ty]] = [along(frame.x, this.sides[0], left), along(frame.y, this.sides[1], top)];
    this.view = [sx, sy, tx, ty];
    // Where the machine cannot draw all of them in time, the first in the order of drawing, which
    // is none of the data, stand for all until the reader rests.
    const now = performance.now();
    const taken = now - (this.glided ?? -Infinity);
    this.glided = now;
    const { pace } = this;
    const isLate = taken > 24 && taken < 1000;
    pace.most = isLate ? 0.8 * pace.some : Math.min(1.02 * pace.most, this.count); // so many were too many
    pace.some = Math.round(Math.min(pace.most, pace.some * (isLate ? Math.max(0.3, 15 / taken) : 1.25)));
    pace.some = Math.min(this.count, Math.max(mercer.FEWEST, pace.some));
    this.canvas.draw({ ...this, count: pace.some }, this.passes);
    return this.view;
  }

  place(k) {
    const [left, top] = this.frame.box;
    return [this.places[2 * k] + left, this.places[2 * k + 1] + top];
  }

  // The nearest point within some pixels.
  under(u, v, near) {
    const [left, top, width, height] = this.frame.box;
    const [x, y] = [u - left, v - top];
    let [best, least] = [-1, near * near];
    for (let k = 0; k < this.count; k++) {
      const [a, b] = [this.places[2 * k], this.places[2 * k + 1]];
      const away = (a - x) * (a - x) + (b - y) * (b - y);
      if (away < least && a >= 0 && b >= 0 && a <= width && b <= height) [best, least] = [k, away];
    }
    return best < 0 ? null : { k: best, away: Math.sqrt(least) };
  }

  hit(k) {
    const [u, v] = this.place(k);
    return { mark: { of: "individuals", ids: this.ids }, i: k, u, v };
  }

  at(id) {
    const k = this.ids.indexOf(id);
    return k < 0 ? null : this.hit(k);
  }

  inside(isIn, found) {
    const [left, top] = this.frame.box;
    for (let k = 0; k < this.count; k++) if (isIn(this.places[2 * k] + left, this.places[2 * k + 1] + top)) found.add(this.ids[k]);
  }

  // Whether a box of pixels holds no point, by cells of four pixels.
  isFree([u0, v0, u1, v1]) {
    const [left, top, width, height] = this.frame.box;
    const [columns, rows] = [Math.ceil(width / 4), Math.ceil(height / 4)];
    if (!this.cells) {
      this.cells = new Uint8Array(columns * rows);
      for (let k = 0; k < this.count; k++) {
        const [i, j] = [Math.floor(this.places[2 * k + 1] / 4), Math.floor(this.places[2 * k] / 4)];
        if (i >= 0 && j >= 0 && i < rows && j < columns) this.cells[i * columns + j] = 1;
      }
    }
    for (let i = Math.max(0, Math.floor((v0 - top) / 4)); i <= Math.min(rows - 1, Math.floor((v1 - top) / 4)); i++) {
      for (let j = Math.max(0, Math.floor((u0 - left) / 4)); j <= Math.min(columns - 1, Math.floor((u1 - left) / 4)); j++) {
        if (this.cells[i * columns + j]) return false;
      }
    }
    return true;
  }
};
