// Panels on the screen. A renderer takes (place, panel, page), draws once, and then listens to the
// page; the explorer puts its own WebGL layer in the place of renderers.plane.

mercer.MANY = 2000; // points beyond which they are drawn small, and labels may cover them
mercer.LABELS = 20;
mercer.NARROW = 560; // pixels below which a described picture stays as it was drawn
mercer.DIVERGING = [[0, "#b24216"], [0.5, "#f8f8f8"], [1, "#005aa0"]];
mercer.BLUES = [[0, "#f7fafd"], [1, "#08306b"]];

mercer.isCoarse = () => window.matchMedia("(pointer: coarse)").matches;

mercer.axis = (title, more = {}) => ({
  title: { text: mercer.plain(title), font: { size: 13 } },
  zerolinecolor: "#9aa5b4",
  gridcolor: "#e8ecf1",
  tickfont: { size: 11, color: "#566072" },
  automargin: !mercer.isCoarse(), // on a narrow page of equal units it would not settle
  ...more,
});

mercer.layout = (more) => ({
  margin: { l: 58, r: 14, t: 10, b: 46 },
  paper_bgcolor: "#fff",
  plot_bgcolor: "#fff",
  font: { family: "system-ui, Segoe UI, Roboto, Arial, sans-serif", color: "#1c2330" },
  hovermode: "closest",
  dragmode: mercer.isCoarse() ? false : "select",
  showlegend: false,
  ...more,
});

mercer.plot = (place, traces, layout, toolbar = mercer.page.value.toolbar) =>
  Plotly.newPlot(place, traces, mercer.layout(layout), {
    ...toolbar,
    responsive: true,
    displayModeBar: mercer.isCoarse() ? false : "hover",
  });

// Words of a panel stand beside markers that are not seen.
mercer.words = () => ({
  type: "scatter",
  mode: "markers+text",
  x: [null],
  y: [null],
  text: [""],
  textposition: ["middle right"],
  textfont: { size: 11 },
  marker: { size: 11, opacity: 0 }, // as wide as the widest mark, beside which a name stands
  hoverinfo: "skip",
  cliponaxis: false,
});

// About how wide a name is: capitals are wider.
mercer.width = (name) => [...name].reduce((sum, c) => sum + (c === c.toLowerCase() ? 6.4 : 8.2), 0);

// Where the names of some points fit beside them, the first first, none upon another or upon a point.
mercer.placed = (place, ids, xs, ys, names) => {
  const { xaxis, yaxis } = place._fullLayout;
  const taken = [];
  const isFew = xs.length <= mercer.MANY;
  const points = isFew ? xs.map((x, i) => [xaxis.d2p(x), yaxis.d2p(ys[i])]) : [];
  const found = { x: [], y: [], text: [], textposition: [] };
  for (const i of ids) {
    const name = names[i].length > 24 ? `${names[i].slice(0, 23)}…` : names[i];
    const [u, v, w] = [xaxis.d2p(xs[i]), yaxis.d2p(ys[i]), mercer.width(name)];
    const places = [
      ["middle right", u + 7, v - 7],
      ["middle left", u - 7 - w, v - 7],
      ["top center", u - w / 2, v - 21],
      ["bottom center", u - w / 2, v + 7],
    ];
    for (const [position, left, top] of places) {
      const box = [left, top, left + w, top + 14];
      const fits = left >= 0 && top >= 0 && box[2] <= xaxis._length && box[3] <= yaxis._length;
      const meets = (o) => box[0] < o[2] && o[0] < box[2] && box[1] < o[3] && o[1] < box[3];
      const covers = ([a, b]) => a > box[0] - 3 && a < box[2] + 3 && b > box[1] - 2 && b < box[3] + 2;
      if (fits && !taken.some(meets) && !points.some(covers)) {
        taken.push(box);
        found.x.push(xs[i]);
        found.y.push(ys[i]);
        found.text.push(mercer.plain(name));
        found.textposition.push(position);
        break;
      }
    }
  }
  return found.x.length ? found : {};
};

mercer.name = (place, ids, xs, ys, names) =>
  Plotly.addTraces(place, { ...mercer.words(), ...mercer.placed(place, ids, xs, ys, names) });

// Individuals as points: what they share in every panel that shows them.
mercer.Points = class {
  constructor(place, page, xs, ys) {
    Object.assign(this, { place, page, xs, ys });
    this.index = 0;
  }

  get traces() {
    const type = "scatter"; // scattergl runs code that it writes itself, which the policy refuses
    const size = this.page.count > mercer.MANY ? 4 : this.page.count > 500 ? 6 : 8;
    return [
      {
        type,
        mode: "markers",
        x: this.xs(),
        y: this.ys(),
        hoverinfo: "none",
        marker: { size, opacity: this.opacity, line: { width: 0 }, ...this.paints },
        unselected: { marker: { opacity: 0.12 } },
        selectedpoints: this.selected,
      },
      {
        type,
        mode: "markers",
        x: [null],
        y: [null],
        hoverinfo: "skip",
        marker: { size: size + 7, symbol: "circle-open", color: "#1c2330", line: { width: 2 } },
      },
    ];
  }

  get paints() {
    const paints = this.page.paints;
    return paints.showscale ? { ...paints, colorbar: { thickness: 10, tickfont: { size: 10 } } } : paints;
  }

  get opacity() {
    if (!(this.page.leastCos2 > 0)) return 0.8;
    const isHidden = this.page.isHidden;
    return this.page.people.names.map((_, i) => (isHidden(i) ? 0.04 : 0.8));
  }

  get selected() {
    const ids = this.page.selected;
    return ids.length ? ids : null;
  }

  async draw(before, after, layout) {
    this.index = before.length;
    const [points, ring] = this.traces;
    await mercer.plot(this.place, [...before, points, ...after, ring], layout);
    this.ring = before.length + 1 + after.length;
    const idOf = (event) => {
      const found = event.points.find((p) => p.curveNumber === this.index);
      return found ? found.pointIndex ?? found.pointNumber : -1;
    };
    this.place.on("plotly_hover", (event) => this.page.point(idOf(event)));
    this.place.on("plotly_unhover", () => this.page.point(-1));
    this.place.on("plotly_click", (event) => idOf(event) >= 0 && this.page.toggle(idOf(event)));
    this.place.on("plotly_selected", (event) => {
      if (this.isTelling || !event || !event.points) return;
      const ids = event.points.filter((p) => p.curveNumber === this.index).map((p) => p.pointIndex ?? p.pointNumber);
      this.page.select(ids);
    });
    this.place.on("plotly_deselect", () => {
      if (!this.isTelling) this.page.select([]);
    });
    this.page.listen(this);
  }

  async quietly(act) {
    this.isTelling = true;
    try {
      await act();
    } finally {
      this.isTelling = false;
    }
  }

  marked() {
    // The box that was drawn goes: the points say what is selected, in every panel alike.
    return this.quietly(() =>
      Plotly.update(this.place, { selectedpoints: [this.selected] }, { selections: [] }, [this.index]),
    );
  }

  pointed(id) {
    const at = id < 0 ? [[null], [null]] : [[this.xs()[id]], [this.ys()[id]]];
    return this.quietly(() => Plotly.restyle(this.place, { x: [at[0]], y: [at[1]] }, [this.ring]));
  }

  coloured() {
    const [points] = this.traces;
    return this.quietly(() => Plotly.restyle(this.place, { marker: points.marker }, [this.index]));
  }
};

mercer.Plane = class extends mercer.Points {
  constructor(place, panel, page) {
    const axes = () => (panel.isFirst ? page.axes : panel.axes);
    const column = (k) => () => {
      const axis = axes()[k];
      return axis === null ? page.people.names.map(() => 0) : page.people.coordinates[axis];
    };
    super(place, page, column(0), column(1));
    Object.assign(this, { panel, axes });
  }

  get layout() {
    const [i, j] = this.axes();
    const title = (axis) => (axis === null ? "" : this.page.value.axes[axis]);
    const tie = this.panel.equal && j !== null ? { scaleanchor: "x", scaleratio: 1 } : {};
    return {
      xaxis: mercer.axis(title(i)),
      yaxis: mercer.axis(title(j), { ...tie, showticklabels: j !== null }),
    };
  }

  get density() {
    const cells = this.panel.density;
    const isHere = cells && this.axes().every((axis, k) => axis === this.panel.axes[k]);
    if (!isHere) return { type: "heatmap", z: [[null]], showscale: false, hoverinfo: "skip", opacity: 0 };
    const [n, m] = [cells.levels.length, cells.levels[0].length];
    const step = (ends, count) => (ends[1] - ends[0]) / count;
    return {
      type: "heatmap",
      z: cells.levels.map((row) => row.map((v) => v || null)),
      x0: cells.x[0] + step(cells.x, m) / 2,
      dx: step(cells.x, m),
      y0: cells.y[0] + step(cells.y, n) / 2,
      dy: step(cells.y, n),
      colorscale: mercer.BLUES,
      showscale: false,
      hoverinfo: "skip",
      opacity: 0.75,
    };
  }

  // 95 % of a normal law with the mean and covariance of each level.
  get ellipses() {
    const chosen = this.page.people.colours[this.page.colour];
    const trace = { type: "scatter", mode: "lines", hoverinfo: "skip", x: [null], y: [null] };
    const palette = this.page.value.palette;
    const count = Math.max(0, ...this.page.people.colours.map((c) => (c.levels ? Math.min(c.levels.length, palette.length) : 0)));
    const empty = Array.from({ length: count }, () => ({ ...trace }));
    if (!chosen || !chosen.levels || chosen.levels.length > palette.length || this.axes()[1] === null) return empty;
    const [xs, ys] = [this.xs(), this.ys()];
    return empty.map((none, level) => {
      const mine = xs.map((_, i) => i).filter((i) => chosen.codes[i] === level);
      if (mine.length < 3) return none;
      const sum = (f) => mine.reduce((total, i) => total + f(i), 0);
      const [mx, my] = [xs, ys].map((values) => sum((i) => values[i]) / mine.length);
      const part = (f) => sum(f) / (mine.length - 1);
      const [a, b, c] = [part((i) => (xs[i] - mx) ** 2), part((i) => (xs[i] - mx) * (ys[i] - my)), part((i) => (ys[i] - my) ** 2)];
      const root = Math.hypot((a - c) / 2, b);
      const halves = [(a + c) / 2 + root, (a + c) / 2 - root].map((v) => Math.sqrt(-2 * Math.log(0.05) * Math.max(v, 0)));
      const tilt = Math.atan2(2 * b, a - c) / 2;
      const turn = Array.from({ length: 73 }, (_, k) => (2 * Math.PI * k) / 72);
      const at = (t) => [halves[0] * Math.cos(t), halves[1] * Math.sin(t)];
      return {
        ...trace,
        x: turn.map((t) => mx + at(t)[0] * Math.cos(tilt) - at(t)[1] * Math.sin(tilt)),
        y: turn.map((t) => my + at(t)[0] * Math.sin(tilt) + at(t)[1] * Math.cos(tilt)),
        line: { color: palette[level], width: 1.2 },
      };
    });
  }

  // The best shown of the visible individuals, each beside its point where there is room.
  get labels() {
    const none = mercer.words();
    const { people, count } = this.page;
    const full = this.place._fullLayout;
    if (!full) return none;
    const isNamed = people.has_names || count <= mercer.LABELS;
    const [xs, ys, axes] = [this.xs(), this.ys(), this.axes().filter((axis) => axis !== null)];
    const isInside = (v, range) => v >= Math.min(...range) && v <= Math.max(...range);
    const seen = [];
    for (let i = 0; isNamed && i < count; i++) {
      if (isInside(xs[i], full.xaxis.range) && isInside(ys[i], full.yaxis.range)) seen.push(i);
    }
    const worth = (i) => this.page.cos2(axes, i) ?? Math.hypot(xs[i], ys[i]);
    const best = seen.map((i) => [worth(i) || 0, i]).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
    const ids = best.slice(0, mercer.LABELS).map(([, i]) => i);
    const others = this.page.value.passive ? this.passive : { x: [], y: [] };
    const names = this.page.value.passive ? this.page.value.passive.names : [];
    const few = names.length <= mercer.LABELS ? names.map((_, k) => xs.length + k) : [];
    const all = [[...xs, ...others.x], [...ys, ...others.y], [...people.names, ...names]];
    return { ...none, ...mercer.placed(this.place, [...few, ...ids], ...all) };
  }

  // Individuals that took no part in the fit; their names stand among the labels.
  get passive() {
    const found = this.page.value.passive;
    const at = (axis) => (axis === null ? found.names.map(() => 0) : found.coordinates[axis]);
    if (!found) return { type: "scatter", mode: "markers", x: [null], y: [null], hoverinfo: "skip" };
    const [x, y] = this.axes().map(at);
    const names = found.names.map(mercer.plain);
    return {
      type: "scatter",
      mode: "markers",
      x,
      y,
      hovertext: names,
      hoverinfo: "text",
      marker: { size: 9, symbol: "diamond-open", color: "#1c2330", line: { width: 1.6 } },
    };
  }

  async start() {
    await this.draw([this.density, ...this.ellipses], [{ ...this.labels }, this.passive], this.layout);
    this.labelled = this.index + 1;
    await this.label();
    this.place.on("plotly_relayout", (change) => {
      if (!this.isTelling && Object.keys(change).some((key) => key.includes("axis"))) this.label();
    });
  }

  label() {
    const { x, y, text, textposition } = this.labels;
    const change = { x: [x], y: [y], text: [text], textposition: [textposition] };
    return this.quietly(() => Plotly.restyle(this.place, change, [this.labelled]));
  }

  async coloured() {
    await super.coloured();
    await this.outline();
  }

  async outline() {
    const ellipses = this.ellipses;
    if (!ellipses.length) return;
    const change = { x: ellipses.map((e) => e.x), y: ellipses.map((e) => e.y), "line.color": ellipses.map((e) => (e.line ? e.line.color : "#555")) };
    await this.quietly(() => Plotly.restyle(this.place, change, ellipses.map((_, k) => k + 1)));
  }

  async moved() {
    if (!this.panel.isFirst) return;
    const layout = this.layout;
    await this.quietly(async () => {
      const change = { x: [this.xs()], y: [this.ys()] };
      const titles = { "xaxis.title.text": layout.xaxis.title.text, "yaxis.title.text": layout.yaxis.title.text, "xaxis.autorange": true, "yaxis.autorange": true };
      await Plotly.update(this.place, change, titles, [this.index]);
      const { x, y } = this.passive;
      await Plotly.restyle(this.place, { x: [x], y: [y] }, [this.labelled + 1]);
      if (this.panel.density) await Plotly.restyle(this.place, { visible: this.density.opacity > 0 }, [0]);
    });
    await this.outline();
    await this.label();
  }
};

mercer.renderers.plane = (place, panel, page) => new mercer.Plane(place, panel, page).start();

mercer.renderers.apart = async (place, panel, page) => {
  const people = page.people;
  const here = new Map((people.rows ?? people.names.map((_, i) => i)).map((row, i) => [row, i]));
  const ids = panel.outliers.map((row) => here.get(row)).filter((i) => i !== undefined);
  const points = new mercer.Points(place, page, () => people.distances, () => panel.heights);
  const rings = {
    type: "scatter",
    mode: "markers",
    x: ids.map((i) => people.distances[i]),
    y: ids.map((i) => panel.heights[i]),
    hoverinfo: "skip",
    marker: { size: 14, symbol: "circle-open", color: "#b22222" },
  };
  await points.draw([], [rings], {
    xaxis: mercer.axis("distance to the barycentre", { rangemode: "tozero" }),
    yaxis: mercer.axis(panel.up, { rangemode: "tozero" }),
  });
  await mercer.name(place, ids.slice(0, 30), people.distances, panel.heights, people.names);
};

mercer.renderers.surface = (place, panel, page) => {
  const points = new mercer.Points(place, page, () => panel.points[0], () => panel.points[1]);
  const largest = Math.max(...panel.heights.map((row) => Math.max(...row.map(Math.abs)))) || 1;
  const surface = {
    type: "contour",
    x: panel.sides[0],
    y: panel.sides[1],
    z: panel.heights,
    zmin: -largest,
    zmax: largest,
    colorscale: mercer.DIVERGING,
    contours: { coloring: "heatmap" },
    line: { width: 0.6, color: "#8a94a3" },
    hoverinfo: "skip",
    colorbar: { thickness: 10, tickfont: { size: 10 } },
  };
  return points.draw([surface], [], { xaxis: mercer.axis(panel.names[0]), yaxis: mercer.axis(panel.names[1]) });
};

mercer.renderers.curve = (place, panel, page) => {
  const points = new mercer.Points(place, page, () => panel.points[0], () => page.people.coordinates[panel.axis]);
  const curve = { type: "scatter", mode: "lines", x: panel.sides[0], y: panel.heights, hoverinfo: "skip", line: { color: "#1c2330", width: 1.6 } };
  return points.draw([curve], [], { xaxis: mercer.axis(panel.names[0]), yaxis: mercer.axis(`axis ${panel.axis + 1}`) });
};

mercer.renderers.scree = (place, panel) => {
  const axes = panel.shares.map((_, k) => k + 1);
  const percents = (values) => values.map((v) => 100 * v);
  const traces = [
    {
      type: "bar",
      x: axes,
      y: percents(panel.shares),
      marker: { color: "#0072b2" },
      hovertemplate: "axis %{x}: %{y:.2f} %<extra></extra>",
    },
  ];
  if (panel.written) {
    traces.push({
      type: "scatter",
      mode: "text",
      x: axes,
      y: percents(panel.written),
      text: panel.shares.map((v) => (100 * v).toFixed(1)),
      textfont: { size: 11 },
      hoverinfo: "skip",
      cliponaxis: false,
    });
  }
  if (panel.null) {
    traces.push({ type: "scatter", mode: "lines", x: axes, y: percents(panel.null), line: { color: "#d55e00", dash: "dash" }, hovertemplate: "permuted: %{y:.2f} %<extra></extra>" });
  }
  const mean = { type: "line", xref: "paper", x0: 0, x1: 1, line: { color: "#555", width: 1, dash: "dot" } };
  const shapes = panel.mean === null ? [] : [{ ...mean, y0: 100 * panel.mean, y1: 100 * panel.mean }];
  return mercer.plot(place, traces, {
    shapes,
    dragmode: false,
    xaxis: mercer.axis("axis", { dtick: axes.length > 12 ? 2 : 1, showgrid: false }),
    yaxis: mercer.axis("% of the inertia", { range: [0, 108 * Math.max(...panel.shares, ...(panel.null || []))] }),
  });
};

mercer.renderers.circle = async (place, panel, page) => {
  const names = panel.names.map(mercer.plain);
  const arrows = (from, to, line) => {
    const ids = names.map((_, k) => k).slice(from, to);
    return { type: "scatter", mode: "lines", hoverinfo: "skip", x: ids.flatMap((k) => [0, panel.x[k], null]), y: ids.flatMap((k) => [0, panel.y[k], null]), line };
  };
  const order = names.map((_, k) => k).sort((a, b) => Math.hypot(panel.x[b], panel.y[b]) - Math.hypot(panel.x[a], panel.y[a]));
  const traces = [
    arrows(0, panel.active, { color: "#0072b2", width: 1.4 }),
    arrows(panel.active, names.length, { color: "#d55e00", width: 1.4, dash: "dash" }),
    {
      type: "scatter",
      mode: "markers",
      x: panel.x,
      y: panel.y,
      marker: { size: 5, color: "#1c2330" },
      hoverinfo: "text",
      hovertext: names.map((name, k) => `${name}: ${panel.x[k].toFixed(3)}, ${panel.y[k].toFixed(3)}`),
      cliponaxis: false,
    },
  ];
  const title = (axis) => (axis === null ? "" : page.value.axes[axis]);
  const range = [-1.25, 1.25];
  await mercer.plot(place, traces, {
    dragmode: false,
    shapes: [{ type: "circle", x0: -1, x1: 1, y0: -1, y1: 1, line: { color: "#9aa5b4", width: 1 } }],
    xaxis: mercer.axis(title(panel.axes[0]), { range, constrain: "domain" }),
    yaxis: mercer.axis(title(panel.axes[1]), { range, scaleanchor: "x", constrain: "domain" }),
  });
  await mercer.name(place, order.slice(0, 30), panel.x, panel.y, panel.names);
};

mercer.renderers.bars = (place, panel) => {
  const labels = panel.names.map((name) => mercer.plain(name.length > 28 ? `${name.slice(0, 27)}…` : name));
  const at = labels.map((_, k) => k);
  const bar = {
    type: "bar",
    orientation: "h",
    x: panel.values.map((v) => 100 * v),
    y: at,
    marker: { color: "#0072b2" },
    hovertemplate: "%{x:.2f} %<extra></extra>",
  };
  const uniform = 100 * panel.uniform;
  place.style.height = `${70 + 20 * labels.length}px`;
  return mercer.plot(place, [bar], {
    dragmode: false,
    shapes: [{ type: "line", yref: "paper", y0: 0, y1: 1, x0: uniform, x1: uniform, line: { color: "#d55e00", dash: "dash", width: 1.6 } }],
    xaxis: mercer.axis("% of the axis", { rangemode: "tozero" }),
    yaxis: mercer.axis("", { automargin: true, tickvals: at, ticktext: labels, autorange: "reversed", showgrid: false, zeroline: false }),
  });
};

mercer.renderers.heat = async (place, panel, page) => {
  const people = page.people;
  const here = new Map((people.rows ?? people.names.map((_, i) => i)).map((row, i) => [row, i]));
  const trace = { type: "heatmap", z: panel.heights, colorscale: mercer.BLUES, hovertemplate: "%{z:.4g}<extra></extra>", colorbar: { thickness: 10, tickfont: { size: 10 } } };
  const axis = { showticklabels: false, showgrid: false, zeroline: false, constrain: "domain" };
  await mercer.plot(place, [trace], {
    dragmode: false,
    xaxis: axis,
    yaxis: { ...axis, autorange: "reversed", scaleanchor: "x" },
    margin: { l: 10, r: 10, t: 10, b: 10 },
  });
  place.on("plotly_hover", (event) => page.point(here.get(panel.rows[event.points[0].y]) ?? -1));
  place.on("plotly_unhover", () => page.point(-1));
};

// A picture that was described, axes and all; its size is that of its place.
mercer.renderers.scene = (place, panel) => {
  const { data, layout, config } = panel.figure;
  place.style.height = `${Math.round(Math.min(place.clientWidth, 860) * panel.ratio + 60)}px`;
  const hasWords = data.some((trace) => trace.showlegend || trace.colorbar || trace.marker?.colorbar);
  const margin = { l: 70, r: hasWords ? 150 : 20, t: panel.has_titles ? 34 : 12, b: 60 };
  return mercer.plot(place, data, { ...layout, margin, dragmode: false, showlegend: true }, config);
};
