// What all panels and tables share: the individuals, which are selected, which is pointed at.

mercer.Page = class {
  constructor(value) {
    this.value = value;
    const people = value.individuals;
    this.people = people;
    this.count = people.names.length;
    this.mask = new Uint8Array(this.count);
    this.selected = [];
    [this.pointed, this.pointedOf, this.said] = [-1, "", ""];
    this.listeners = [];
    this.axes = [0, people.coordinates.length > 1 ? 1 : null];
    this.colour = people.colours.findIndex((c) => c.levels);
    this.firstColour = this.colour;
    this.leastCos2 = 0;
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
    this.shades = this.scale;
    this.tell("coloured", this);
  }

  move(axes) {
    this.axes = axes;
    this.tell("moved", this);
  }

  coordinate(axis, id) {
    return axis === null ? 0 : this.people.coordinates[axis][id];
  }

  cos2(axes, id) {
    const distances = this.people.distances;
    if (!distances) return null;
    if (!(distances[id] > 0)) return NaN;
    let sum = 0;
    for (const axis of axes) {
      const share = this.coordinate(axis, id) / distances[id];
      sum += share * share;
    }
    return Math.min(sum, 1);
  }

  contribution(axis, id) {
    const spread = this.people.spreads[axis];
    if (!(spread > 0)) return 0;
    const share = this.people.coordinates[axis][id] / spread;
    return this.people.weights[id] * share * share;
  }

  isHidden(id, axes = this.axes) {
    return this.leastCos2 > 0 && !(this.cos2(axes, id) >= this.leastCos2);
  }

  // The names of a kind of elements, and where they lie on each axis.
  table(of) {
    return { individuals: this.people, supplementary: this.value.passive }[of] ?? this.value.linked[of] ?? null;
  }

  nameOf(of, id) {
    return this.table(of)?.names[id] ?? "";
  }

  coordinates(of) {
    return this.table(of)?.coordinates ?? null;
  }

  // How well some axes show an element: those that they show best are named first.
  worth(of, axes, id) {
    const shown = of === "individuals" ? this.cos2(axes, id) : null;
    return shown ?? Math.hypot(...axes.map((k) => this.coordinates(of)[k][id]));
  }

  // Whether individuals are coloured as the reader chose, rather than as they were described.
  get isPainting() {
    return this.colour !== this.firstColour;
  }

  get scale() {
    const chosen = this.people.colours[this.colour];
    if (!chosen || chosen.levels) return null;
    const known = chosen.values.filter(Number.isFinite);
    const [low, high] = [Math.min(...known), Math.max(...known)];
    return { stops: this.value.look.stops, limits: high > low ? [low, high] : [low - 0.5, high + 0.5], title: chosen.name };
  }

  ink(id) {
    const chosen = this.people.colours[this.colour];
    const { palette } = this.value.look;
    if (!chosen) return palette[0];
    if (chosen.levels) return palette[chosen.codes[id] % palette.length];
    return mercer.colour(this.shades, chosen.values[id]);
  }

  labelInk(id) {
    return this.people.colours[this.colour]?.levels ? this.ink(id) : mercer.INK;
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
    return more > 0 ? [...found, { name: `and ${more} more`, colour: "#fff", marker: "circle" }] : found;
  }

  // The ellipse of each level on two axes, from its mean and covariance on all of them.
  ellipses(axes) {
    const found = this.people.colours[this.colour]?.ellipses;
    if (!found || axes.includes(null)) return [];
    const [i, j] = axes;
    const turn = Array.from({ length: 73 }, (_, k) => (2 * Math.PI * k) / 72);
    return found.radii2.flatMap((radius2, level) => {
      const n = found.means[level].length;
      const part = (a, b) => found.covariances[level][a * n + b];
      const [a, b, c] = [part(i, i), part(i, j), part(j, j)];
      const rest = c - (b * b) / a;
      if (!(radius2 > 0 && a > 0 && rest > 1e-12 * c)) return [];
      const [r, s, t] = [Math.sqrt(radius2 * a), Math.sqrt(radius2 / a) * b, Math.sqrt(radius2 * rest)];
      return {
        mark: "lines",
        x: turn.map((w) => found.means[level][i] + r * Math.cos(w)),
        y: turn.map((w) => found.means[level][j] + s * Math.cos(w) + t * Math.sin(w)),
        colour: this.value.look.palette[level % this.value.look.palette.length],
        width: 1.2,
        dash: "solid",
        filled: true,
      };
    });
  }
};
