// Names beside points: where they stand, and which of them find a place.

import { mercer } from "./text.js";

// Places for a label beside a point, best first: right, left, above, below, then the corners; at
// the tip of an arrow, outward.
mercer.besides = ([u, v], w, h, centre, look) => {
  const found = [];
  for (const reach of look.reach) {
    for (const [s, t] of look.sides) {
      const dx = s * (w / 2 + reach * look.gap * (t ? 0.5 : 1));
      const dy = -t * (h / 2 + reach * look.gap * (s ? 0.5 : 1));
      found.push([u + dx, v + dy]);
    }
  }
  if (!centre) return found;
  const length = Math.hypot(u - centre[0], v - centre[1]);
  if (!(length > 0)) return found;
  const way = [(u - centre[0]) / length, (v - centre[1]) / length];
  const beyond = look.reach.map((reach) => [u + way[0] * (reach * look.gap + w / 2), v + way[1] * (reach * look.gap + h / 2)]);
  const side = ([a, b]) => Math.sign(Math.round(1e6 * ((a - u) * way[0] + (b - v) * way[1])));
  return [...beyond, ...found.sort((p, q) => side(q) - side(p))]; // outward, beside, inward
};

// Places for a label that a line leads to, nearest first, all around; at the tip of an arrow those
// first that lie outward.
mercer.further = ([u, v], w, h, centre, look) => {
  const around = look.ways.map((turn) => [Math.cos(turn * Math.PI), -Math.sin(turn * Math.PI)]);
  const out = ([c, s]) => Math.round(1e6 * (c * (u - centre[0]) + s * (v - centre[1])));
  if (centre) around.sort((a, b) => out(b) - out(a));
  return look.far.flatMap((reach) => around.map(([c, s]) => [u + c * (w / 2 + reach * look.gap), v + s * (h / 2 + reach * look.gap)]));
};

// Where the line to a label ends: the nearest place of its edge.
mercer.edge = ([u, v], [x0, y0, x1, y1]) => [Math.min(Math.max(u, x0), x1), Math.min(Math.max(v, y0), y1)];

// Whether a segment meets a box (Liang and Barsky).
mercer.meets = ([u0, v0, u1, v1], [x0, y0, x1, y1]) => {
  let [enters, leaves] = [0, 1];
  for (const [p, q] of [[u0 - u1, u0 - x0], [u1 - u0, x1 - u0], [v0 - v1, v0 - y0], [v1 - v0, y1 - v0]]) {
    if (p === 0 && q < 0) return false;
    if (p < 0) enters = Math.max(enters, q / p);
    if (p > 0) leaves = Math.min(leaves, q / p);
  }
  return enters < leaves;
};

// Whether two segments cross; those that lead from one point do not.
mercer.crosses = ([a, b, c, d], [p, q, r, s]) => {
  if (a === p && b === q) return false;
  const side = (x, y, u, v, w, z) => Math.sign((u - x) * (z - y) - (v - y) * (w - x));
  return side(a, b, c, d, p, q) !== side(a, b, c, d, r, s) && side(p, q, r, s, a, b) !== side(p, q, r, s, c, d);
};

// How far a point is from a box, or from a segment.
mercer.gap = ([u, v], box) => {
  const [a, b] = mercer.edge([u, v], box);
  return Math.hypot(u - a, v - b);
};

mercer.pass = ([u, v], [a, b, c, d]) => {
  const [x, y] = [c - a, d - b];
  const t = Math.min(Math.max(((u - a) * x + (v - b) * y) / Math.max(x * x + y * y, 1e-12), 0), 1);
  return Math.hypot(u - a - t * x, v - b - t * y);
};

mercer.SAME = 0.7; // pixels: ends closer than that are one for a reader

// The points that a name could be taken for, beside its own: of variables and categories those of
// their kind, of individuals all.
mercer.rivals = (frame, mark, [u, v]) => {
  const kinds = frame.panel.marks.filter((m) => m.mark === "labels" && m.covers).map((m) => m.of);
  const isOne = (p) => !mark.covers || p.mark.mark === "arrows" || (p.mark.of && kinds.includes(p.mark.of));
  const away = (p) => Math.hypot(p.u - u, p.v - v);
  return frame.hits.filter((p) => isOne(p) && away(p) > mercer.SAME).map((p) => ({ at: [p.u, p.v], away: away(p) }));
};

mercer.MOSTLY = 0.7; // of the width of a map a whole name may take

// A word upon very many points stands on a plate of the ground.
mercer.plate = (parent, [x0, y0, x1, y1]) =>
  mercer.shape(parent, "rect", { x: x0.toFixed(1), y: y0.toFixed(1), width: (x1 - x0).toFixed(1), height: (y1 - y0).toFixed(1), rx: 3, fill: mercer.theme.ground, "fill-opacity": 0.86, class: "plate" });

// A name that seeks its place: the boxes that it may take, as it is asked of what the frame holds.
mercer.Name = class {
  constructor(frame, mark, here, text) {
    Object.assign(this, { frame, mark, here, text });
    this.size = mark.size * 1.35;
    this.centre = mark.outward ? [frame.x.at(0), frame.y.at(0)] : null;
    this.rivals = mercer.rivals(frame, mark, here);
    const { passes, gap } = frame.look;
    this.parted = this.rivals.filter(({ away }) => away > passes * gap);
    this.stems = frame.stems.filter(([, , u, v]) => Math.hypot(u - here[0], v - here[1]) > mercer.SAME);
  }

  boxes(places) {
    const { frame, mark, here, text, size, centre } = this;
    const [left, top, width, height] = frame.box;
    const [w, h] = [mercer.width(text, size, mark.bold) + (frame.isLevel ? 8 : 4), 1.2 * size];
    const isIn = (box) => box[0] >= left && box[1] >= top && box[2] <= left + width && box[3] <= top + height;
    return places(here, w, h, centre, frame.look).map(([a, b]) => [a - w / 2, b - h / 2, a + w / 2, b + h / 2]).filter((box) => isIn(box) && this.isApart(box));
  }

  line(box) {
    return [...this.here, ...mercer.edge(this.here, box)];
  }

  isApart(box) {
    const { taken, lines } = this.frame;
    return !taken.some((o) => box[0] < o[2] && o[0] < box[2] && box[1] < o[3] && o[1] < box[3]) && !lines.some((one) => mercer.meets(one, box));
  }

  holds(box, edge) {
    return (p) => p.u > box[0] - edge && p.u < box[2] + edge && p.v > box[1] - edge && p.v < box[3] + edge;
  }

  isClear(box) {
    const { crowd, hits } = this.frame;
    return !(crowd && !crowd.isFree(box)) && !hits.some(this.holds(box, 3));
  }

  isOnPeople(box) {
    const isHeld = this.holds(box, 3);
    return !this.frame.hits.some((p) => p.mark.of && p.mark.of !== "individuals" && isHeld(p));
  }

  isFree(box) {
    return this.isClear(box) && !this.frame.stems.some((stem) => mercer.meets(stem, box));
  }

  isOwn(box) {
    return this.rivals.every(({ at }) => mercer.gap(at, box) > this.frame.look.clearly * mercer.gap(this.here, box));
  }

  // Whether the line to a box meets no other name or line, and both are away from other points.
  isLed(box) {
    const { taken, lines, look } = this.frame;
    const line = this.line(box);
    const isUnmet = !taken.some((o) => mercer.meets(line, o)) && !lines.some((one) => mercer.crosses(line, one));
    return isUnmet && this.rivals.every(({ at }) => mercer.gap(at, box) > look.apart * look.gap) && this.parted.every(({ at }) => mercer.pass(at, line) > look.passes * look.gap);
  }

  // How many gaps long the line is, and more for each stem of another that it crosses.
  cost(box) {
    const { gap, crossed } = this.frame.look;
    const line = this.line(box);
    return Math.hypot(line[2] - line[0], line[3] - line[1]) / gap + crossed * this.stems.filter((stem) => mercer.crosses(line, stem)).length;
  }

  // The best free place beside its point: of one that may go further, one that is clearly its own.
  beside(near = this.boxes(mercer.besides)) {
    const free = near.filter((box) => this.isFree(box));
    return free.find((box) => this.isOwn(box)) ?? (this.mark.covers ? null : free[0] ?? null);
  }

  // The best place, null where there is none, and whether a line leads there.
  place(isFirst) {
    const { long } = this.frame.look;
    const near = this.boxes(mercer.besides);
    const beside = this.beside(near);
    const { covers } = this.mark;
    if (beside || !(covers || isFirst)) return [beside, false];
    const costs = new Map(this.boxes(mercer.further).filter((box) => this.isLed(box)).map((box) => [box, this.cost(box)]));
    const far = [...costs.keys()].sort((one, other) => costs.get(one) - costs.get(other));
    const open = far.find((box) => this.isFree(box));
    if (open && costs.get(open) <= long) return [open, true];
    if (!covers) return [null, false];
    const mine = isFirst ? near.filter((box) => this.isOwn(box)) : [];
    const upon = mine.find((box) => this.isClear(box)) ?? mine.find((box) => this.isOnPeople(box));
    if (upon) return [upon, false];
    const last = isFirst ? far.find((box) => this.isClear(box)) ?? far.find((box) => this.isOnPeople(box)) : null;
    return [open ?? last ?? null, true];
  }
};

// Words beside points, the first first: none upon another, a point or a stem, or beyond the frame.
// Names of categories and variables are clearly nearer to their own point than to any other of their
// kind, or go further, at the end of a line; the first of them stand upon stems and points rather
// than nowhere, and those that find no place are counted. Long names are cut where there is no room.
mercer.draw.labels = (frame, mark, [us, vs]) => {
  const { look } = frame;
  const [left, top, width, height] = frame.box;
  const isInside = (x, y) => x >= left && x <= left + width && y >= top && y <= top + height;
  const shown = frame.order(mark, us.map((_, i) => i)).filter((i) => isInside(us[i], vs[i]) && !frame.isHidden(mark, i));
  // A small map names fewer, so that they can be read.
  const most = frame.isLevel && mark.of === "individuals" ? Math.min(mark.most, Math.max(5, Math.round((width * height) / 9000))) : mark.most;
  const found = [];
  for (const i of shown.slice(0, most)) {
    const name = new mercer.Name(frame, mark, [us[i], vs[i]], mercer.cut(frame.nameOf(mark, i), look.letters));
    const [box, isFar] = name.place(found.length < look.always);
    if (!box) {
      if (mark.covers) frame.unnamed++;
      continue;
    }
    if (isFar) frame.lines.push(name.line(box));
    frame.taken.push(box);
    found.push({ i, name, box, isFar });
  }
  for (const one of found) {
    const text = mercer.cut(frame.nameOf(mark, one.i), look.long_letters);
    if (text.length <= one.name.text.length || one.isFar) continue;
    frame.taken.splice(frame.taken.indexOf(one.box), 1);
    const whole = new mercer.Name(frame, mark, one.name.here, text);
    const box = whole.beside();
    if (box && box[2] - box[0] < mercer.MOSTLY * width) Object.assign(one, { name: whole, box });
    frame.taken.push(one.box);
  }
  mercer.writeNames(frame, mark, us, found);
};

mercer.writeNames = (frame, mark, us, found) => {
  const { page } = frame;
  const group = mercer.shape(frame.layer, "g", { class: "labels" });
  const hasDensity = frame.panel.marks.some((m) => m.kind === "density");
  const nodes = us.map(() => null);
  for (const { i, name, box, isFar } of found) {
    const isPainted = mark.of === "individuals" && page.isPainting;
    const fill = mercer.legible(isPainted ? page.labelInk(mark.ids[i]) : mark.colours[i % mark.colours.length]);
    const [a, b] = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2];
    const one = mercer.shape(group, "g", { "data-id": mark.ids ? mark.ids[i] : null });
    if (isFar) {
      const [x1, y1, x2, y2] = name.line(box);
      // Among very many an edge parts the line from them.
      if (hasDensity || frame.crowd) mercer.shape(one, "line", { x1, y1, x2, y2, stroke: mercer.theme.ground, "stroke-width": 3, opacity: 0.7, class: "edge" });
      mercer.shape(one, "line", { x1, y1, x2, y2, stroke: fill, "stroke-width": 0.9, opacity: 0.8 });
    }
    if (hasDensity || (frame.crowd && !frame.crowd.isFree(box))) mercer.plate(one, box);
    mercer.write(one, name.text, a.toFixed(1), b.toFixed(1), { "text-anchor": "middle", dy: "0.35em", "font-size": name.size, "font-weight": mark.bold ? 600 : null, fill, ...mercer.halo() });
    nodes[i] = one;
    one.room = box;
  }
  frame.linked.push({ mark, nodes, isText: true });
};

mercer.NAMED = 20; // individuals of a selection that are named

// The names of whom a reader has selected, where the map does not name them already and has room.
mercer.nameSelected = (frame) => {
  const { page, look, layer } = frame;
  layer?.querySelector(".chosen")?.remove();
  if (!frame.isOfIndividuals || !page.selected.length || page.selected.length > mercer.NAMED) return;
  const [left, top, width, height] = frame.box;
  const words = frame.linked.flatMap(({ mark, nodes, isText }) => (isText ? nodes.flatMap((node, i) => (node && node.getAttribute("display") !== "none" ? [{ mark, i, room: node.room }] : [])) : []));
  const taken = words.map(({ room }) => room);
  const known = new Set(words.flatMap(({ mark, i }) => (mark.of === "individuals" && mark.ids ? [mark.ids[i]] : [])));
  const group = mercer.shape(layer, "g", { class: "labels chosen" });
  const where = (id) => (frame.crowd ? frame.crowd.at(id) : frame.hits.find((hit) => hit.mark.of === "individuals" && hit.mark.ids?.[hit.i] === id));
  const places = new Map(page.selected.map((id) => [id, where(id)]));
  const [names, lines] = [[], [...frame.lines]];
  const round = ({ u, v }, r) => [u - r, v - r, u + r, v + r];
  for (const at of places.values()) if (at) taken.push(round(at, 4)); // none covers a selected point
  for (const hit of frame.hits) if (hit.mark.mark === "markers" && hit.mark.of !== "individuals") taken.push(round(hit, 6)); // or a category
  for (const [id, at] of places) {
    if (known.has(id) || !at || !frame.holds(at.u, at.v)) continue;
    const h = 13;
    const around = (w) => ([a, b]) => [a - w / 2, b - h / 2, a + w / 2, b + h / 2];
    const isFree = ([x0, y0, x1, y1]) => x0 >= left && y0 >= top && x1 <= left + width && y1 <= top + height && !taken.some((o) => x0 < o[2] && o[0] < x1 && y0 < o[3] && o[1] < y1);
    const here = [at.u, at.v];
    const besides = (text) => {
      const w = mercer.width(text, 11) + 4;
      return w < mercer.MOSTLY * width || text === short ? mercer.besides(here, w, h, null, look).find((one) => isFree(around(w)(one))) : null;
    };
    const short = mercer.cut(page.people.names[id], look.letters);
    let text = mercer.cut(page.people.names[id], look.long_letters);
    let beside = besides(text);
    if (!beside && text !== short) beside = besides((text = short));
    const w = mercer.width(text, 11) + 4;
    const room = around(w);
    const line = (one) => [...here, ...mercer.edge(here, room(one))];
    const isLed = (one) => !lines.some((other) => mercer.crosses(line(one), other)) && !names.some((box) => mercer.meets(line(one), box));
    const place = beside ?? mercer.further(here, w, h, null, look).find((one) => isFree(room(one)) && isLed(one));
    if (!place) continue;
    taken.push(room(place));
    names.push(room(place));
    const fill = mercer.legible(page.isPainting ? page.labelInk(id) : page.ink(id));
    if (!beside) {
      const [x1, y1, x2, y2] = line(place);
      lines.push([x1, y1, x2, y2]);
      mercer.shape(group, "line", { x1, y1, x2, y2, stroke: fill, "stroke-width": 0.8, opacity: 0.6 });
    }
    mercer.write(group, text, place[0].toFixed(1), place[1].toFixed(1), { "text-anchor": "middle", dy: "0.35em", "font-size": 11, fill, ...mercer.halo() });
  }
};
