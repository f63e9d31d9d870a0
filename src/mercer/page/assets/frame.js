// One panel of a described picture: its sides, the marks between them, its legend, and what is under
// the pointer. A frame knows nothing of any particular picture.

import { mercer } from "./text.js";

// The smallest and the largest number of some lists.
mercer.ends = (lists) => {
  let [low, high] = [Infinity, -Infinity];
  for (const list of lists) {
    for (const v of list) {
      if (v < low) low = v;
      if (v > high) high = v;
    }
  }
  return [low, high];
};

// Round numbers between two ends.
mercer.rounded = ([a, b], count) => {
  const [low, high] = [Math.min(a, b), Math.max(a, b)];
  const rough = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((s) => s * power >= rough * 0.999) * power;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
};

mercer.tick = (value) => {
  const size = Math.abs(value);
  if (size < 1e-12) return "0";
  const text = size >= 1e5 || size < 1e-4 ? value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e") : String(Number(value.toPrecision(4)));
  return text.replace("-", "−");
};

// A side from values to pixels; linear, or logarithmic.
mercer.Side = class {
  constructor(axis, limits, from, to, apart = 70) {
    Object.assign(this, { axis, limits, from, to, apart }); // ticks stand so many pixels apart
    const [low, high] = limits.map((v) => this.raw(v));
    this.at = (value) => from + ((this.raw(value) - low) / (high - low)) * (to - from);
    this.back = (pixel) => this.value(low + ((pixel - from) / (to - from)) * (high - low));
  }

  get isLinear() {
    return !this.axis.log;
  }

  raw(value) {
    return this.axis.log ? (value > 0 ? Math.log10(value) : NaN) : value;
  }

  value(raw) {
    return this.axis.log ? 10 ** raw : raw;
  }

  get ticks() {
    const [low, high] = [Math.min(...this.limits), Math.max(...this.limits)];
    const isHere = ([at]) => at >= low - 1e-9 * (high - low) && at <= high + 1e-9 * (high - low);
    if (this.axis.ticks) return this.axis.ticks.filter(isHere);
    if (!this.axis.log) {
      let count = Math.max(2, Math.abs(this.to - this.from) / this.apart);
      while (count < 6 && mercer.rounded(this.limits, count).length < 2) count++; // one number tells no unit
      return mercer.rounded(this.limits, count).map((v) => [v, mercer.tick(v)]);
    }
    const [first, last] = [Math.ceil(Math.log10(low)), Math.floor(Math.log10(high))];
    const step = Math.max(1, Math.ceil((last - first) / 6));
    return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, k) => [10 ** (first + k * step), mercer.tick(10 ** (first + k * step))]);
  }
};

mercer.Frame = class {
  constructor(panel, picture) {
    Object.assign(this, { described: panel, picture, page: picture.page, look: picture.page.value.look });
    const kinds = panel.marks.map((mark) => mark.of);
    const { follow } = picture;
    this.space = follow?.space;
    this.follows = Boolean(follow && panel.x.axis && panel.y.axis);
    this.ranks = follow && Number.isInteger(follow.side);
    this.isOfIndividuals = panel.marks.some((m) => m.mark === "markers" && m.of === "individuals");
    this.isPlane = kinds.includes("individuals") && Boolean(panel.x.axis && panel.y.axis);
    this.zoom = null; // limits that a reader has chosen
  }

  // Whether this is one of the explorer's maps, which stand beside each other at one height.
  get isLevel() {
    return Boolean(this.page.isExplored && this.isPlane && this.follows);
  }

  // The axes that a scree marks: those of its map.
  get marked() {
    const { follow } = this.picture;
    if (!follow?.picks) return [];
    const axes = this.page.axesOf(follow.map ?? null);
    const drawn = axes.includes(null) && this.page.value.panels[follow.map]?.panels[0]; // as it was described
    return drawn ? [drawn.x.axis - 1, drawn.y.axis - 1] : axes;
  }

  // What is described, or its like for the axis that a reader chose.
  get panel() {
    if (!this.ranks || this.page.axes[this.picture.follow.side] === this.picture.follow.side) return this.described;
    return mercer.ranked(this.described, this.page, this.picture.follow);
  }

  // The axes of the model on both sides, counted from 0; those of a map that has fewer stay.
  get axes() {
    const own = [this.described.x, this.described.y].map((side) => (side.axis ? side.axis - 1 : null));
    const axes = this.page.axesOf(this.space);
    return this.follows && axes.every((k) => k !== null && k < this.page.space(this.space).coordinates.length) ? axes : own;
  }

  get isMoved() {
    const own = [this.described.x, this.described.y].map((side) => side.axis - 1);
    return this.follows && (this.page.space(this.space).isLive || this.axes.some((axis, k) => axis !== own[k]));
  }

  // A mark on the axes that a reader chose: of elements beside individuals, those shown best there.
  there(mark) {
    if (!this.isMoved || !mark.ids || !("x" in mark) || mark.mark === "field") return mark;
    if (mark.of === "imputed") return mercer.moves(mark, this.page.space(this.space), this.axes);
    const table = this.page.table(mark.of, this.space);
    if (!table || mark.mark === "lines") return null;
    let { ids } = mark;
    const most = mark.most ?? ids.length;
    if (!["individuals", "supplementary"].includes(mark.of)) {
      const worth = table.names.map((_, i) => this.page.worth(mark.of, this.axes, i, this.space) || 0);
      ids = worth.map((_, i) => i).sort((a, b) => worth[b] - worth[a]).slice(0, most);
    }
    const [x, y] = this.axes.map((k) => ids.map((i) => table.coordinates[k][i]));
    const names = table.names;
    const words = mark.of === "individuals" ? {} : { ...(mark.names ? { names: ids.map((i) => names[i]) } : {}), ...(mark.texts ? { texts: ids.map((i) => names[i]) } : {}) };
    return { ...mark, ids, x, y, ...words };
  }

  // Without the elements that are left out: categories of factors that do not colour.
  thinned(mark) {
    if (!mark?.ids || mark.of === "imputed") return mark;
    const kept = mark.ids.flatMap((id, i) => (this.page.isLeftOut(mark.of, this.page.nameOf(mark.of, id)) ? [] : [i]));
    if (kept.length === mark.ids.length) return mark;
    const isEach = (list) => Array.isArray(list) && list.length === mark.ids.length;
    return Object.fromEntries(Object.entries(mark).map(([name, list]) => [name, isEach(list) ? kept.map((i) => list[i]) : list]));
  }

  // Arrows among individuals, and their labels, are drawn out until they fill the cloud.
  fitted(marks) {
    const arrows = marks.filter((m) => m.mark === "arrows" && m.fitted);
    if (!this.isMoved || !arrows.length) return marks;
    const reach = (list) => Math.max(0, ...list.map((m) => m.x.reduce((most, u, i) => Math.max(most, Math.hypot(u, m.y[i]) || 0), 0)));
    const cloud = marks.filter((m) => m.mark === "markers" && m.of === "individuals");
    const factor = (0.75 * reach(cloud)) / (reach(arrows) || 1);
    const kinds = arrows.map((m) => m.of);
    const isDrawn = (m) => arrows.includes(m) || (m.mark === "labels" && kinds.includes(m.of));
    return marks.map((m) => (isDrawn(m) ? { ...m, x: m.x.map((v) => factor * v), y: m.y.map((v) => factor * v) } : m));
  }

  // What is drawn now; outlines follow the axes and the colour that a reader chose.
  get marks() {
    const { page, panel } = this;
    const isChanged = this.isMoved || page.isPainting;
    const isOutline = (m) => m.mark === "lines" && m.of === "individuals";
    const kept = this.isPlane && isChanged ? [...page.outlines(this.axes, this.space), ...panel.marks.filter((m) => !isOutline(m))] : panel.marks;
    return this.fitted(kept.map((m) => (isOutline(m) ? m : this.thinned(this.there(m)))).filter(Boolean));
  }

  get limits() {
    return this.zoom ?? this.home;
  }

  // Limits with room for the outlines of another colour than the one that the picture was made with.
  room(limits) {
    if (!this.isPlane || !this.page.isPainting || this.described.keeps) return limits;
    const outlines = this.page.outlines(this.axes, this.space);
    return ["x", "y"].map((side, k) => {
      const [low, high] = mercer.ends(outlines.map((mark) => mark[side]));
      const [from, to] = limits[k];
      const rest = 0.03 * (to - from);
      return [low < from ? low - rest : from, high > to ? high + rest : to];
    });
  }

  // The limits before a reader zooms.
  get home() {
    const { x, y } = this.panel;
    if (!this.isMoved || this.described.keeps) return this.room([x.limits, y.limits]);
    const drawn = this.marks.filter((mark) => ["markers", "lines", "arrows"].includes(mark.mark));
    return ["x", "y"].map((side) => {
      const [low, high] = mercer.ends(drawn.map((mark) => mark[side]));
      const room = 0.06 * (high - low) || 1;
      return [low - room, high + room];
    });
  }

  title(k) {
    const side = k === 0 ? this.panel.x : this.panel.y;
    return this.isMoved ? this.page.space(this.space).axes[this.axes[k]] : side.title;
  }

  nameOf(mark, i) {
    if (mark.texts) return mark.texts[i];
    if (mark.names) return mark.names[i];
    return mark.ids ? this.page.nameOf(mark.of, mark.ids[i]) : "";
  }

  isHidden(mark, i) {
    if (!mark.ids || !mark.of) return false;
    const isOnAxes = this.described.x.axis && this.described.y.axis;
    return this.page.isHidden(mark.of, mark.ids[i], isOnAxes ? this.axes : this.page.axes, this.space);
  }

  // Labels in the order in which they find places: on other axes, those first that
  // make most of them or are shown best there.
  order(mark, all) {
    if (!this.isMoved || !mark.ids) return all;
    const worth = new Map(all.map((i) => [i, this.page.rank(mark.of, this.axes, mark.ids[i], this.space) || 0]));
    return all.sort((a, b) => worth.get(b) - worth.get(a));
  }

  hit(mark, i, u, v) {
    this.hits.push({ mark, i, u, v });
  }

  // Entries of the legend: the levels of the colour that a reader chose, and named marks.
  get entries() {
    const { page } = this;
    const isPainted = (m) => m.painted && m.ids && page.isPainting;
    const levels = this.panel.marks.some((m) => m.mark === "markers" && isPainted(m)) ? page.levels : [];
    const named = this.panel.marks.filter((m) => m.name && !isPainted(m) && !this.told.has(m.name) && !(m.ids?.length && !this.thinned(m).ids.length));
    named.forEach((m) => this.told.add(m.name));
    const members = (mark) => (mark.of === "individuals" && mark.ids ? { ids: () => mark.ids } : {});
    const by = levels.length ? page.people.colours[page.colour].name : named.find((mark) => mark.by)?.by;
    return [...(by ? [{ name: by, isKey: true }] : []), ...levels, ...named.map((mark) => ({ name: mark.name, mark, ...members(mark) }))];
  }

  get scale() {
    const { page } = this;
    if (this.panel.marks.some((m) => m.painted && m.ids) && page.scale) return page.scale;
    const isPainting = (m) => m.painted && m.ids && page.isPainting;
    const mark = this.panel.marks.find((m) => (m.scale && !isPainting(m)) || (m.mark === "field" && m.bar && m.kind !== "density"));
    return mark ? mark.scale ?? mark : null;
  }

  // The height at which a frame that keeps its shape fills a width; others fill any.
  tallest(width) {
    const { x, y, keeps, equal, title } = this.panel;
    if (!keeps && !equal) return Infinity;
    this.told = new Set();
    const names = y.ticks && y.shown ? Math.max(34, ...y.ticks.map(([, text]) => mercer.width(mercer.cut(text, 28)))) : 20;
    const inner = width - names - (this.scale && !this.isLevel ? 78 : 12) - 20;
    const [across, up] = this.home.map(([a, b]) => Math.abs(b - a)); // zooming keeps the size
    const least = this.isOfIndividuals ? 0.6 : 0.9; // elements by themselves have names, which need room
    const fills = Math.min(Math.max(up / across, least), 1.1); // the data fill a plane
    const shape = keeps ? up / across : this.isLevel ? Math.min(0.88, 470 / inner) : fills;
    return inner * shape + (this.scale && this.isLevel ? mercer.BELOW : 0) + (keeps ? 0 : 19 * this.wrapped(this.entries, width).length + 6) + (title ? 24 : 8) + (x.shown ? 46 : 12) + (this.isSteep(this.panel, inner) ? this.steep : 0);
  }

  // Draw everything into a box: left, top, width, height.
  draw(parent, [left, top, width, height], told) {
    Object.assign(this, { hits: [], boxes: [], cells: [], linked: [], taken: [], stems: [], lines: [], unnamed: 0, told, isMarking: false });
    const group = mercer.shape(parent, "g", { class: "frame" });
    this.group = group;
    const { panel } = this;
    const lines = this.wrapped(this.entries, width - 16);
    const hasSides = panel.x.shown || panel.y.shown;
    const bar = this.scale && !this.isLevel ? 66 : 0;
    const below = this.scale && this.isLevel ? mercer.BELOW : 0;
    // The numbers beside are those of the limits as they will be drawn, with one unit or two.
    const about = panel.equal && !panel.keeps ? this.equalised([0, 0, width - 70, height - 70], ...this.limits)[2] : this.limits[1];
    const beside = panel.y.shown ? new mercer.Side(panel.y, about, height, 0, 50).ticks : [];
    const wide = Math.min(Math.max(20, ...beside.map(([, t]) => mercer.width(mercer.cut(t, 28)))) + 10, 0.42 * width);
    const xLines = panel.x.ticks ? Math.max(1, ...panel.x.ticks.map(([, t]) => t.split("\n").length)) : 1;
    const margin = {
      left: panel.y.shown ? wide + (this.title(1) ? 18 : 0) : 6,
      right: 12 + bar,
      top: panel.title ? 24 : 8,
      bottom: (panel.x.shown ? 6 + 14 * xLines + (this.title(0) ? 20 : 0) : hasSides ? 8 : 4) + below + 19 * lines.length + (lines.length ? 6 : 0),
    };
    if (panel.x.shown && this.isSteep(panel, width - margin.left - margin.right)) margin.bottom += this.steep;
    let box = [left + margin.left, top + margin.top, Math.max(40, width - margin.left - margin.right), Math.max(40, height - margin.top - margin.bottom)];
    let [x, y] = this.limits;
    if (panel.equal) [box, x, y] = this.equalised(box, x, y);
    this.box = box;
    this.x = new mercer.Side(panel.x, x, box[0], box[0] + box[2]);
    this.y = new mercer.Side(panel.y, y, box[1] + box[3], box[1], 50);
    if (panel.title) mercer.write(group, panel.title, box[0], top + 15, { "font-weight": 600 });
    mercer.shape(group, "rect", { x: box[0], y: box[1], width: box[2], height: box[3], fill: mercer.theme.ground, stroke: hasSides ? mercer.theme.frame : "none", class: "ground" });
    this.drawSides(group);
    const clip = mercer.shape(mercer.shape(group, "defs"), "clipPath", { id: `clip-${++mercer.clips}` });
    mercer.shape(clip, "rect", { x: box[0] - 1, y: box[1] - 1, width: box[2] + 2, height: box[3] + 2 });
    this.layer = mercer.shape(group, "g", { "clip-path": `url(#clip-${mercer.clips})`, class: "marks" });
    const depth = (mark) => ({ field: 0, labels: 2 })[mark.mark] ?? 1; // cells below, words on top
    const marks = [...this.marks].sort((a, b) => depth(a) - depth(b));
    const many = marks.filter((mark) => mark.mark === "markers" && mark.of === "individuals" && mark.ids && !mark.hollow);
    const hasField = marks.some((mark) => mark.mark === "field"); // which would cover them
    const isCrowd = !hasField && this.x.isLinear && this.y.isLinear && many.reduce((sum, mark) => sum + mark.x.length, 0) > mercer.CROWD;
    this.crowd = isCrowd ? new mercer.Crowd(this, many) : null;
    if (this.canvas) this.canvas.node.hidden = !isCrowd;
    if (isCrowd) {
      group.querySelector(".ground").setAttribute("fill", "none");
      for (const line of group.querySelectorAll(".grid")) line.remove(); // it would lie upon the points
    }
    for (const mark of marks) if (!isCrowd || !many.includes(mark)) this.drawMark(mark);
    if (this.unnamed) {
      const words = this.unnamed === 1 ? "1 name has no room" : `${this.unnamed} names have no room`;
      const [w, h] = [mercer.width(words, 10.5) + 8, 16];
      const [right, low] = [box[0] + box[2] - w, box[1] + box[3] - h];
      const corners = [[right, low], [box[0], low], [right, box[1]], [box[0], box[1]]];
      const isFree = ([u, v]) => !this.taken.some((o) => u < o[2] && o[0] < u + w && v < o[3] && o[1] < v + h);
      const [u, v] = corners.find(isFree) ?? corners[0]; // beside all names
      mercer.write(this.layer, words, u + w / 2, v + h / 2, { "text-anchor": "middle", dy: "0.35em", "font-size": 10.5, fill: mercer.theme.quiet, stroke: mercer.theme.ground, "stroke-width": 3, "paint-order": "stroke", class: "unnamed" });
    }
    if (panel.x.shown || panel.y.shown) this.drawTicks(group);
    this.overlay = mercer.shape(group, "g", { class: "overlay" });
    const legend = top + height - 19 * lines.length - 2;
    if (below) this.drawScaleBelow(group, legend - below);
    else if (this.scale) this.drawScale(group);
    this.drawLegend(group, lines, legend);
    this.mark();
  }

  drawMark(mark) {
    if (mark.mark === "field" && this.isMoved) return;
    const [xs, ys] = "x" in mark && mark.mark !== "field" ? [mark.x, mark.y] : [[], []];
    mercer.draw[mark.mark]?.(this, mark, [xs ? xs.map(this.x.at) : [], ys ? ys.map(this.y.at) : []]);
  }

  // One unit for both sides: cells and circles narrow the frame, a plane widens its limits.
  equalised([left, top, width, height], x, y) {
    const ratio = Math.abs((x[1] - x[0]) / (y[1] - y[0]));
    if (this.panel.keeps) {
      const [w, h] = height * ratio <= width ? [height * ratio, height] : [width, width / ratio];
      return [[left + (width - w) / 2, top + (height - h) / 2, w, h], x, y];
    }
    const unit = Math.max((x[1] - x[0]) / width, (y[1] - y[0]) / height);
    const widened = ([a, b], size) => [(a + b - unit * size) / 2, (a + b + unit * size) / 2];
    return [[left, top, width, height], widened(x, width), widened(y, height)];
  }

  // Whether the names below a side need more room than it has, and how much if they stand upright.
  isSteep(panel, width) {
    this.steep = 0;
    const widths = (panel.x.ticks ?? []).map(([, text]) => Math.max(...text.split("\n").map((line) => mercer.width(mercer.cut(line, 28)))));
    if (widths.length < 2 || Math.max(...widths) * widths.length < 0.95 * width) return false;
    this.steep = Math.min(Math.max(...widths) - 8, 130);
    return this.steep > 12;
  }

  drawSides(group) {
    const [left, top, width, height] = this.box;
    const line = (x1, y1, x2, y2, stroke) => mercer.shape(group, "line", { x1, y1, x2, y2, stroke, class: stroke === mercer.theme.grid ? "grid" : "zero" });
    const hasCells = this.panel.marks.some((m) => m.mark === "field" && m.kind !== "density");
    if (!hasCells && this.panel.x.shown && !this.panel.x.ticks) for (const [v] of this.x.ticks) line(this.x.at(v), top, this.x.at(v), top + height, mercer.theme.grid);
    if (!hasCells && this.panel.y.shown && !this.panel.y.ticks) for (const [v] of this.y.ticks) line(left, this.y.at(v), left + width, this.y.at(v), mercer.theme.grid);
    if (!this.panel.origin) return;
    const [u, v] = [this.x.at(0), this.y.at(0)];
    if (u > left && u < left + width) line(u, top, u, top + height, mercer.theme.zero);
    if (v > top && v < top + height) line(left, v, left + width, v, mercer.theme.zero);
  }

  drawTicks(group) {
    const [left, top, width, height] = this.box;
    const bottom = top + height;
    const look = { "font-size": 11, fill: mercer.theme.quiet };
    const { marked } = this;
    const strong = (v) => (marked.includes(v - 1) ? { fill: mercer.theme.ink, "font-weight": 700 } : {});
    let last = -Infinity;
    if (this.panel.x.shown) {
      for (const [v, text] of this.x.ticks) {
        const u = this.x.at(v);
        const lines = text.split("\n");
        if (this.steep > 12) {
          mercer.write(group, mercer.cut(lines.join(" "), 28), u, bottom + 8, { ...look, ...strong(v), "text-anchor": "end", dy: "0.35em", transform: `rotate(-90 ${u} ${bottom + 8})` });
          continue;
        }
        const half = Math.max(...lines.map((t) => mercer.width(t))) / 2;
        if (u - half < last + 3) continue; // a number upon another is left out
        last = u + half;
        lines.forEach((t, k) => mercer.write(group, t, u, bottom + 15 + 14 * k, { ...look, ...strong(v), "text-anchor": "middle" }));
      }
      const lines = Math.max(1, ...this.x.ticks.map(([, t]) => t.split("\n").length));
      const below = bottom + 18 + 14 * lines + this.steep;
      if (this.title(0)) mercer.write(group, this.title(0), left + width / 2, below, { "text-anchor": "middle", class: "x-title" });
    }
    if (!this.panel.y.shown) return;
    let widest = 0;
    for (const [v, text] of this.y.ticks) {
      const short = mercer.cut(text, 28);
      widest = Math.max(widest, mercer.width(short));
      mercer.write(group, short, left - 6, this.y.at(v), { ...look, "text-anchor": "end", dy: "0.35em" });
    }
    const at = [left - widest - 16, top + height / 2];
    if (this.title(1)) mercer.write(group, this.title(1), ...at, { "text-anchor": "middle", transform: `rotate(-90 ${at[0]} ${at[1]})`, class: "y-title" });
  }

  drawScale(group) {
    const { stops, limits, title } = this.scale;
    const [left, top, width, height] = this.box;
    const [x, y, long] = [left + width + 12, top + 0.1 * height, 0.8 * height];
    const bar = mercer.shape(group, "g", { class: "scale" });
    const count = 48;
    for (let k = 0; k < count; k++) {
      const rgb = mercer.shade(stops, 1 - (k + 0.5) / count);
      mercer.shape(bar, "rect", { x, y: y + (k * long) / count, width: 11, height: long / count + 0.5, fill: `rgb(${rgb})` });
    }
    const side = new mercer.Side({}, limits, y + long, y, 34);
    for (const [v, text] of side.ticks) mercer.write(bar, text, x + 15, side.at(v), { "font-size": 10, fill: mercer.theme.quiet, dy: "0.35em" });
    const at = [x + 50, y + long / 2];
    if (title) mercer.write(bar, mercer.cut(title, Math.round(long / 6)), ...at, { "font-size": 11, fill: mercer.theme.quiet, "text-anchor": "middle", transform: `rotate(-90 ${at[0]} ${at[1]})` });
  }

  // The scale lies below a map of the explorer, so that the map is as wide as without it.
  drawScaleBelow(group, top) {
    const { stops, limits, title } = this.scale;
    const [left, , width] = this.box;
    const bar = mercer.shape(group, "g", { class: "scale" });
    const name = mercer.cut(title ?? "", 24);
    const from = left + (name ? mercer.width(name, 12, true) + 14 : 0);
    const long = left + width - from - 12;
    const count = 48;
    mercer.write(bar, name, left, top + 12, { "font-weight": 600 });
    for (let k = 0; k < count; k++) {
      mercer.shape(bar, "rect", { x: from + (k * long) / count, y: top + 3, width: long / count + 0.5, height: 10, fill: `rgb(${mercer.shade(stops, (k + 0.5) / count)})` });
    }
    const side = new mercer.Side({}, limits, from, from + long, 60);
    for (const [v, text] of side.ticks) mercer.write(bar, text, side.at(v), top + 25, { "font-size": 10, fill: mercer.theme.quiet, "text-anchor": "middle" });
  }

  // Entries in lines that fit.
  wrapped(entries, width) {
    const lines = [];
    let room = 0;
    for (const entry of entries) {
      const wide = (entry.isKey ? 16 : 30) + mercer.width(mercer.cut(entry.name, entry.isKey ? 32 : 60), 12, entry.isKey);
      if (wide > room) {
        lines.push([]);
        room = width;
      }
      lines.at(-1).push({ ...entry, wide });
      room -= wide;
    }
    return lines;
  }

  drawLegend(group, lines, top) {
    const legend = mercer.shape(group, "g", { class: "legend" });
    // All lines begin at one place, where the longest has room.
    const longest = Math.max(0, ...lines.map((line) => line.reduce((sum, e) => sum + e.wide, 0)));
    const left = Math.min(this.box[0], Math.max(8, this.picture.width - 6 - longest));
    lines.forEach((line, k) => {
      let x = left;
      for (const entry of line) {
        const one = mercer.shape(legend, "g", { class: "entry", transform: `translate(${x} ${top + 19 * k + 10})` });
        x += entry.wide;
        if (entry.isKey) {
          mercer.write(one, mercer.cut(entry.name, 32), 0, 0, { dy: "0.35em", "font-weight": 600 });
          one.setAttribute("class", "key");
          continue;
        }
        this.drawSample(one, entry);
        mercer.write(one, mercer.cut(entry.name, 60), 20, 0, { dy: "0.35em" });
        if (!entry.ids) continue;
        for (const [name, value] of Object.entries({ role: "button", tabindex: 0, "aria-label": entry.name, style: "cursor: pointer" })) one.setAttribute(name, value);
        const act = () => this.page.select(entry.ids());
        one.addEventListener("click", act);
        one.addEventListener("keydown", (event) => ["Enter", " "].includes(event.key) && (event.preventDefault(), act()));
      }
    });
  }

  drawSample(parent, { mark, colour, marker }) {
    if (!mark || mark.mark === "markers") {
      const fill = mercer.toned(colour ?? mark.colour ?? mercer.theme.ink);
      const look = mark?.hollow ? { fill: "none", stroke: fill, "stroke-width": 1.5 } : { fill };
      mercer.shape(parent, "path", { d: mercer.marker(marker ?? mark.marker, 4.5), transform: "translate(8 0)", ...look });
    } else if (["bars", "band"].includes(mark.mark)) {
      mercer.shape(parent, "rect", { x: 0, y: -5, width: 16, height: 10, fill: mercer.toned(mark.colour ?? mark.colours[0]), "fill-opacity": mark.mark === "band" ? 0.3 : 1 });
    } else {
      mercer.shape(parent, "line", { x1: 0, x2: 16, y1: 0, y2: 0, stroke: mercer.toned(mark.colour ?? mercer.theme.ink), "stroke-width": 1.8, "stroke-dasharray": mark.dashed ? "6 4" : mercer.DASHES[mark.dash] });
    }
  }

  // What is selected, and what the filter leaves; labels go with their points.
  mark() {
    const { page } = this;
    for (const { mark, nodes, isText } of this.linked) {
      const isLinked = mark.of === "individuals" && mark.ids;
      nodes.forEach((node, i) => {
        if (!node) return;
        const isFaint = isLinked && page.selected.length && !page.mask[mark.ids[i]];
        const isHidden = this.isHidden(mark, i);
        if (isText) node.setAttribute("display", isFaint || isHidden ? "none" : "inline");
        else node.setAttribute("opacity", isHidden ? 0.04 : isFaint ? 0.12 : mark.opacity ?? 1);
      });
    }
    if (this.crowd && this.isMarking) this.crowd.mark();
    this.isMarking = true;
    mercer.nameSelected(this);
  }

  // A ring around whom the reader points at.
  ring(of, id) {
    this.overlay.replaceChildren();
    const isOne = of === "individuals" && this.crowd;
    const found = id < 0 ? null : isOne ? this.crowd.at(id) : this.hits.find((h) => h.mark.of === of && h.mark.ids && h.mark.ids[h.i] === id);
    if (found) mercer.shape(this.overlay, "circle", { cx: found.u, cy: found.v, r: 8, fill: "none", stroke: mercer.theme.ink, "stroke-width": 2, class: "ring" });
    const bar = id < 0 ? null : this.boxes.find((b) => b.mark.of === of && b.mark.ids && b.mark.ids[b.i] === id);
    if (bar) mercer.shape(this.overlay, "rect", { x: bar.box[0] - 1, y: bar.box[1] - 1, width: bar.box[2] + 2, height: bar.box[3] + 2, fill: "none", stroke: mercer.theme.ink, "stroke-width": 2, class: "ring" });
  }

  holds(u, v) {
    const [left, top, width, height] = this.box;
    return u >= left && u <= left + width && v >= top && v <= top + height;
  }

  // What lies under the pointer: the nearest element, a bar, or a cell.
  under(u, v) {
    let [best, near] = [null, 12];
    for (const hit of this.hits) {
      const away = Math.hypot(hit.u - u, hit.v - v);
      if (away < near && this.holds(hit.u, hit.v)) [best, near] = [hit, away];
    }
    const one = this.crowd?.under(u, v, near);
    if (one) return this.crowd.hit(one.k);
    if (best) return best;
    const bar = this.boxes.find(({ box }) => u >= box[0] && u <= box[0] + box[2] && v >= box[1] && v <= box[1] + box[3]);
    if (bar) return bar;
    for (const mark of this.cells) {
      const nearest = (places, value) => places.reduce((a, p, k) => (Math.abs(p - value) < Math.abs(places[a] - value) ? k : a), 0);
      const [i, j] = [nearest(mark.y, this.y.back(v)), nearest(mark.x, this.x.back(u))];
      if (mark.kind === "heat") return { mark, i, text: mercer.shown(mark.values[i][j], "number"), other: mark.ids ? this.page.nameOf(mark.of, mark.ids[j]) : "" };
    }
    return null;
  }

  // Individuals whose points lie inside a shape in pixels.
  inside(isIn) {
    const found = new Set();
    for (const { mark, i, u, v } of this.hits) if (mark.of === "individuals" && mark.ids && isIn(u, v)) found.add(mark.ids[i]);
    this.crowd?.inside(isIn, found);
    return [...found].sort((a, b) => a - b);
  }

  // Keep some pixels of the frame as all of it.
  keep([u0, v0], [u1, v1]) {
    if (Math.abs(u1 - u0) < 4 || Math.abs(v1 - v0) < 4) return;
    const order = ([a, b], limits) => (limits[0] < limits[1] ? [Math.min(a, b), Math.max(a, b)] : [Math.max(a, b), Math.min(a, b)]);
    this.zoom = [order([this.x.back(u0), this.x.back(u1)], this.x.limits), order([this.y.back(v0), this.y.back(v1)], this.y.limits)];
  }

  // The sides of the limits that were chosen, in the box that is there.
  turnSides() {
    let [x, y] = this.limits;
    if (this.panel.equal) [, x, y] = this.equalised(this.box, x, y);
    const [left, top, width, height] = this.box;
    this.x = new mercer.Side(this.panel.x, x, left, left + width);
    this.y = new mercer.Side(this.panel.y, y, top + height, top, 50);
  }

  // Move what is drawn to the sides as they are now, without drawing it anew.
  glide() {
    const [sx, sy, tx, ty] = this.crowd.glide();
    const [left, top] = this.box;
    for (const node of this.layer.children) node.setAttribute("transform", `matrix(${sx} 0 0 ${sy} ${left + tx - sx * left} ${top + ty - sy * top})`);
  }

  // Zoom by a factor about a place.
  zoomAt([u, v], factor) {
    const [left, top, width, height] = this.box;
    this.keep([u - (u - left) * factor, v - (v - top) * factor], [u + (left + width - u) * factor, v + (top + height - v) * factor]);
  }

  // Zoom about the middle by a factor, or move by shares of the frame.
  change(factor, dx = 0, dy = 0) {
    const [left, top, width, height] = this.box;
    const [u, v] = [left + width * (0.5 + dx), top + height * (0.5 + dy)];
    this.keep([u - (factor * width) / 2, v - (factor * height) / 2], [u + (factor * width) / 2, v + (factor * height) / 2]);
  }
};

mercer.clips = 0;

mercer.BELOW = 32; // pixels of a scale below a map

// The largest contributions to the axis that a reader chose, in place of those described.
mercer.ranked = (panel, page, { space, side }) => {
  const bars = panel.marks.find((mark) => mark.mark === "bars");
  const rule = panel.marks.find((mark) => mark.mark === "rule");
  const table = page.table(bars.of, space);
  const shares = table.measures.find((measure) => measure.name === "contrib").values[page.axes[side]];
  const { palette, pale } = page.value.look;
  const whole = shares.reduce((sum, share) => sum + (share || 0), 0);
  const uniform = whole > 1e-12 ? whole / shares.length : 0;
  const ids = shares.map((_, i) => i).sort((a, b) => shares[b] - shares[a]).slice(0, bars.at.length);
  const high = uniform > 0 ? 1.06 * Math.max(shares[ids[0]], uniform) : 1; // numbers may make nothing of an axis of factors
  const at = ids.map((_, k) => ids.length - k);
  return {
    ...panel,
    x: { ...panel.x, limits: [0, high], ticks: mercer.rounded([0, high], 5).map((v) => [v, `${Number((100 * v).toPrecision(3))} %`]) },
    y: { ...panel.y, ticks: ids.map((i, k) => [at[k], table.names[i]]) },
    marks: [
      { ...bars, ids, at, lengths: ids.map((i) => shares[i]), colours: ids.map((i) => (shares[i] >= uniform ? palette[0] : pale)), names: ids.map((i) => `${table.names[i]}: ${mercer.shown(shares[i], "share")}`) },
      ...panel.marks.filter((mark) => mark !== bars && mark !== rule),
      ...(rule ? [{ ...rule, at: uniform, name: `all equal: ${Number((100 * uniform).toPrecision(3))} %` }] : []),
    ],
  };
};
