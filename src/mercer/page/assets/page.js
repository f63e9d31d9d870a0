// What all panels and tables share: the individuals, which are selected, which is pointed at, and
// where everything lies on the axes of each map.

import { mercer } from "./text.js";

mercer.Page = class {
  constructor(value) {
    this.value = value;
    const people = value.individuals;
    if (Number.isInteger(people.names)) people.names = Array.from({ length: people.names }, (_, i) => String((people.rows ? people.rows[i] : i) + 1));
    this.people = people;
    this.count = people.names.length;
    this.mask = new Uint8Array(this.count);
    this.selected = [];
    [this.pointed, this.pointedOf, this.said] = [-1, "", ""];
    this.listeners = [];
    this.axes = [0, people.coordinates.length > 1 ? 1 : null];
    this.colour = people.colours.findIndex((c) => c.levels && c.name !== value.look.classes);
    this.firstColour = this.colour;
    this.leastCos2 = 0;
    this.own = {}; // axes that a map has for itself
    this.opens = value.curved?.opens?.some((axis, side) => axis !== side) ? value.curved.opens : null;
    if (this.opens) this.own.curved = this.opens;
    this.hasAllFactors = true;
    const { axes, passive, linked, curved } = value;
    const { coordinates, distances, spreads, imputed } = people;
    this.spaces = { straight: { axes, coordinates, distances, spreads, imputed, passive, linked }, ...(curved ? { curved } : {}) };
  }

  // A listener has any of: marked(page), pointed(id, of, text), coloured(page), moved(page).
  listen(listener) {
    this.listeners.push(listener);
    return listener;
  }

  tell(what, ...rest) {
    for (const listener of this.listeners) if (listener[what]) listener[what](...rest);
  }

  select(ids) {
    this.mask.fill(0);
    for (const i of ids) this.mask[i] = 1;
    this.remember();
  }

  toggle(id) {
    this.mask[id] = this.mask[id] ? 0 : 1;
    this.remember();
  }

  remember() {
    this.selected = [];
    this.mask.forEach((is, i) => is && this.selected.push(i));
    this.tell("marked", this);
  }

  // Point at an individual or a variable, or at something that has words only.
  point(id, of = "individuals", text = "") {
    if (id === this.pointed && of === this.pointedOf && text === this.said) return;
    [this.pointed, this.pointedOf, this.said] = [id, of, text];
    this.tell("pointed", id, of, text);
  }

  paint(colour) {
    this.colour = colour;
    this.tell("coloured", this);
  }

  filter(least) {
    this.leastCos2 = least;
    this.tell("coloured", this);
  }

  // All maps go to some axes, or one of them alone.
  move(axes, map = null) {
    if (map) this.own[map] = axes;
    else [this.axes, this.own] = [axes, {}];
    this.tell("moved", this);
  }

  // Choose an axis for one side, of one map alone where it is named; the two change places where the
  // other side has it.
  choose(axis, side, map = null) {
    const axes = this.axesOf(map);
    if (axis === axes[side] || !(axis < this.space(map ?? "straight").coordinates.length) || axes[1] === null) return;
    this.move(axes.map((k, i) => (i === side ? axis : k === axis ? axes[side] : k)), map);
  }

  // What a reader sees: axes, colour, filter, and the axes of the curved map where it has its own.
  get look() {
    return [...this.axes, this.people.colours[this.colour]?.name ?? null, this.leastCos2, ...(this.own.curved ? [this.own.curved] : [])];
  }

  // See again what was seen, as far as these data have it.
  recall([across, up, colour, least, curved], isSame = true) {
    const isAxis = (k, space) => Number.isInteger(k) && k >= 0 && k < (this.spaces[space]?.coordinates.length ?? 0);
    if (this.axes[1] !== null && across !== up && [across, up].every((k) => isAxis(k, "straight"))) this.axes = [across, up];
    this.own = Array.isArray(curved) && curved.length === 2 && curved.every((k) => isAxis(k, "curved")) ? { curved } : {};
    const named = this.people.colours.findIndex((one) => one.name === colour);
    if (named >= 0) this.colour = named;
    else if (colour === null && isSame) this.colour = -1;
    this.leastCos2 = Math.min(Math.max(Number(least) || 0, 0), 1);
  }

  // Whether other axes are seen than those that pictures describe.
  get isTurned() {
    return this.axes.some((axis, side) => axis !== null && axis !== side) || String(this.axesOf("curved")) !== String(this.opens ?? this.axes);
  }

  axesOf(map) {
    return this.own[map] ?? this.axes;
  }

  // Which categories are drawn among individuals: those of the colour, or of all factors.
  get factors() {
    return this.people.colours.filter((c) => c.levels && c.name !== this.value.look.classes);
  }

  isLeftOut(of, name) {
    if (this.hasAllFactors || of !== "supplementary categories" || this.factors.length < 2) return false;
    const chosen = this.people.colours[this.colour];
    return !chosen?.levels?.some((level) => name === level || name === `${chosen.name}=${level}`);
  }

  drawFactors(isAll) {
    this.hasAllFactors = isAll;
    this.tell("coloured", this);
  }

  space(name = "straight") {
    return this.spaces[name] ?? this.spaces.straight;
  }

  coordinate(axis, id, space) {
    return axis === null ? 0 : this.space(space).coordinates[axis][id];
  }

  cos2(axes, id, space) {
    const { distances } = this.space(space);
    if (!distances) return null;
    if (!(distances[id] > 0)) return NaN;
    let sum = 0;
    for (const axis of axes) {
      const share = this.coordinate(axis, id, space) / distances[id];
      sum += share * share;
    }
    return Math.min(sum, 1);
  }

  contribution(axis, id, space) {
    const { spreads, coordinates } = this.space(space);
    if (!(spreads[axis] > 0)) return 0;
    const share = coordinates[axis][id] / spreads[axis];
    return this.people.weights[id] * share * share;
  }

  // The names of a kind of elements, and where they lie on each axis of a map.
  table(of, space) {
    const { coordinates, passive, linked } = this.space(space);
    if (of === "individuals") return { names: this.people.names, coordinates };
    return of === "supplementary" ? passive : linked[of] ?? null;
  }

  nameOf(of, id) {
    return this.table(of)?.names[id] ?? "";
  }

  // How well some axes show an element.
  worth(of, axes, id, space) {
    if (of === "individuals") return this.cos2(axes, id, space) ?? Math.hypot(...axes.map((k) => this.coordinate(k, id, space)));
    const table = this.table(of, space);
    const shown = table.measures?.find((measure) => measure.name === "cos2");
    if (shown) return axes.reduce((sum, k) => sum + (k === null ? 0 : shown.values[k][id]), 0);
    return Math.hypot(...axes.map((k) => table.coordinates[k][id]));
  }

  // What is named first: individuals that make most of some axes, elements that are shown best.
  rank(of, axes, id, space) {
    if (of !== "individuals") return this.worth(of, axes, id, space);
    return this.people.weights[id] * axes.reduce((sum, k) => sum + this.coordinate(k, id, space) ** 2, 0);
  }

  // Whether the filter leaves an element out on some axes.
  isHidden(of, id, axes, space) {
    if (!(this.leastCos2 > 0) || of === "supplementary") return false;
    if (of === "individuals" && !this.space(space).distances) return false;
    return !(this.worth(of, axes, id, space) >= this.leastCos2);
  }

  // Whether individuals are coloured as the reader chose, rather than as they were described.
  get isPainting() {
    return this.colour !== this.firstColour;
  }

  get scale() {
    const chosen = this.people.colours[this.colour];
    if (!chosen || chosen.levels) return null;
    const [low, high] = mercer.ends([chosen.values.filter(Number.isFinite)]);
    return { stops: mercer.lifted(this.value.look.stops), limits: high > low ? [low, high] : [low - 0.5, high + 0.5], title: chosen.name };
  }

  // The scale, found once for all individuals.
  get shades() {
    const key = `${this.colour} ${this.axes} ${mercer.theme?.isDark}`;
    if (this.shadesOf !== key) [this.shadesOf, this.kept] = [key, this.scale];
    return this.kept;
  }

  ink(id) {
    const chosen = this.people.colours[this.colour];
    const { palette } = this.value.look;
    if (!chosen) return palette[0];
    if (chosen.levels) return palette[chosen.codes[id] % palette.length];
    return mercer.colour(this.shades, chosen.values[id]);
  }

  labelInk(id) {
    return this.people.colours[this.colour]?.levels ? this.ink(id) : this.value.look.ink;
  }

  marker(id) {
    const chosen = this.people.colours[this.colour];
    const { palette, markers } = this.value.look;
    return chosen?.levels ? markers[Math.floor(chosen.codes[id] / palette.length) % markers.length] : markers[0];
  }

  // The levels of the colour, with their members.
  get levels() {
    const chosen = this.people.colours[this.colour];
    if (!chosen?.levels) return [];
    const { palette, markers, legend } = this.value.look;
    const members = (code) => chosen.codes.flatMap((c, i) => (c === code ? [i] : []));
    const found = chosen.levels.slice(0, legend).map((name, code) => ({
      name,
      colour: palette[code % palette.length],
      marker: markers[Math.floor(code / palette.length) % markers.length],
      ids: () => members(code),
    }));
    const more = chosen.levels.length - found.length;
    return more > 0 ? [...found, { name: `and ${more} more`, colour: "none", marker: "circle" }] : found;
  }

  // Around each level on two axes: an ellipse where its members lie like a normal cloud, else a hull.
  outlines(axes, space) {
    const { palette, outlined } = this.value.look;
    if (axes.includes(null) || this.levels.length > outlined) return [];
    return this.levels.flatMap((level, k) => {
      if (!level.ids) return [];
      const active = level.ids().filter((i) => this.people.weights[i] > 0);
      const at = axes.map((axis) => active.map((i) => this.coordinate(axis, i, space)));
      const found = mercer.outline(at, active.map((i) => this.people.weights[i]), this.value.look);
      return found ? { mark: "lines", ...found, colour: palette[k % palette.length], width: 1.2, filled: true, of: "individuals" } : [];
    });
  }
};

// The outline of points in a plane: the ellipse of 95 % of a normal law, or their hull.
mercer.outline = ([xs, ys], weights, look) => {
  const n = xs.length;
  const total = weights.reduce((a, b) => a + b, 0);
  const w = weights.map((v) => v / total);
  const squares = w.reduce((a, v) => a + v * v, 0);
  if (n < 3 || 1 / squares <= 2) return null;
  const mean = (values) => values.reduce((sum, v, i) => sum + w[i] * v, 0);
  const [cx, cy] = [mean(xs), mean(ys)];
  const [dx, dy] = [xs.map((v) => v - cx), ys.map((v) => v - cy)];
  const part = (p, q) => mean(p.map((v, i) => v * q[i])) / (1 - squares);
  const [a, b, c] = [part(dx, dx), part(dx, dy), part(dy, dy)];
  const rest = c - (b * b) / a;
  if (!(a > 0 && rest > 1e-12 * c)) return null;
  // Squared Mahalanobis distances of a normal cloud are exponential, with mean 2.
  const gaps = dx.map((u, i) => (u * u) / a + (dy[i] - (b / a) * u) ** 2 / rest).sort((p, q) => p - q);
  const away = Math.max(...gaps.map((g, i) => Math.max((i + 1) / n - (1 - Math.exp(-g / 2)), 1 - Math.exp(-g / 2) - i / n)));
  if (n < look.fewest || away > look.elliptic[0] + look.elliptic[1] / Math.sqrt(n)) return mercer.hull(xs, ys);
  const turn = Array.from({ length: 73 }, (_, k) => (2 * Math.PI * k) / 72);
  const [r, s, t] = [Math.sqrt(look.radius2 * a), Math.sqrt(look.radius2 / a) * b, Math.sqrt(look.radius2 * rest)];
  return { x: turn.map((v) => cx + r * Math.cos(v)), y: turn.map((v) => cy + s * Math.cos(v) + t * Math.sin(v)), dash: "solid" };
};

// The corners of the smallest convex region that holds some points, by Andrew's chains.
mercer.hull = (xs, ys) => {
  const order = xs.map((_, i) => i).sort((i, j) => xs[i] - xs[j] || ys[i] - ys[j]);
  const chain = (rows) => {
    const found = [];
    for (const i of rows) {
      const turns = () => {
        const [p, q] = found.slice(-2);
        return (xs[q] - xs[p]) * (ys[i] - ys[p]) - (ys[q] - ys[p]) * (xs[i] - xs[p]) <= 0;
      };
      while (found.length > 1 && turns()) found.pop();
      found.push(i);
    }
    return found.slice(0, -1);
  };
  const rows = [...chain(order), ...chain([...order].reverse())];
  rows.push(rows[0]);
  return { x: rows.map((i) => xs[i]), y: rows.map((i) => ys[i]), dash: "dashed" };
};
