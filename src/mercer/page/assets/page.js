// What all panels and tables share: the individuals, which are selected, which is pointed at.

mercer.Page = class {
  constructor(value) {
    this.value = value;
    const people = value.individuals;
    this.people = people;
    this.count = people.names.length;
    this.mask = new Uint8Array(this.count);
    this.pointed = -1;
    this.listeners = [];
    this.axes = [0, people.coordinates.length > 1 ? 1 : null];
    this.colour = people.colours.findIndex((c) => c.levels);
    this.leastCos2 = 0;
  }

  // A listener has any of: marked(page), pointed(id), coloured(page), moved(page).
  listen(listener) {
    this.listeners.push(listener);
    return listener;
  }

  tell(what, argument) {
    for (const listener of this.listeners) if (listener[what]) listener[what](argument);
  }

  get selected() {
    const ids = [];
    for (let i = 0; i < this.count; i++) if (this.mask[i]) ids.push(i);
    return ids;
  }

  select(ids) {
    this.mask.fill(0);
    for (const i of ids) this.mask[i] = 1;
    this.tell("marked", this);
  }

  toggle(id) {
    this.mask[id] = this.mask[id] ? 0 : 1;
    this.tell("marked", this);
  }

  point(id) {
    if (id === this.pointed) return;
    this.pointed = id;
    this.tell("pointed", id);
  }

  paint(colour) {
    this.colour = colour;
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

  get isHidden() {
    return (id) => this.leastCos2 > 0 && !(this.cos2(this.axes, id) >= this.leastCos2);
  }

  // Colours of individuals as Plotly takes them: one for each, or numbers with a scale.
  get paints() {
    const chosen = this.people.colours[this.colour];
    const palette = this.value.palette;
    if (!chosen) return { color: palette[0], symbol: "circle" };
    if (chosen.levels) {
      const symbols = ["circle", "diamond", "square", "triangle-up", "cross", "x", "star"];
      return {
        color: chosen.codes.map((c) => palette[c % palette.length]),
        symbol: chosen.codes.map((c) => symbols[Math.floor(c / palette.length) % symbols.length]),
      };
    }
    return { color: chosen.values, symbol: "circle", colorscale: "Viridis", showscale: true };
  }
};
