// What stands beside the maps: an axis as a function of two variables, classes, and what the card of
// an individual says of sequences and networks.

import { mercer } from "./text.js";

mercer.select = (label, options, chosen) => {
  const select = mercer.element("select", null, { "aria-label": label });
  for (const [value, text] of options) select.append(mercer.element("option", text, { value }));
  select.value = String(chosen);
  return select;
};

// A figure whose picture is made anew; the page forgets the one before.
mercer.redrawn = (name, figure, described, notes) => {
  const { page, pictures } = mercer;
  page.listeners = page.listeners.filter((one) => one !== pictures[name]);
  figure.querySelector(".live").replaceChildren();
  figure.querySelector("figcaption").textContent = notes.join(" ");
  pictures[name] = new mercer.Picture(figure, described, page, undefined, notes);
};

// An axis of the curved map over two variables that a reader chooses; it follows the map's own axis.
mercer.functions = (page, { explorer }) => {
  const names = explorer.functions;
  if (!names.length) return;
  const figure = mercer.figure("function", "An axis as a function of two variables", []);
  const bar = mercer.element("div", null, { class: "choices" });
  figure.querySelector("figcaption").before(bar); // below the picture, whose tools stand above it
  mercer.byId("side").append(figure);
  const kept = mercer.explorer.shownFunction ?? {};
  const across = () => (page.axesOf("curved")[0] ?? 0) + 1;
  const asked = { axis: across(), on: kept.on?.every((name) => names.includes(name)) ? kept.on : null };
  const axes = page.space(page.spaces.curved ? "curved" : "straight").coordinates.map((_, k) => [k + 1, `Dim ${k + 1}`]);
  const ask = async () => {
    try {
      const question = JSON.stringify(asked);
      const found = mercer.unpacked(await (await mercer.ask("function", asked)).json());
      if (mercer.page !== page || JSON.stringify(asked) !== question) return;
      mercer.explorer.shownFunction = { on: found.on };
      figure.querySelector("h3").textContent = `Dim ${found.axis} over ${found.on.join(" and ")}`;
      const axis = mercer.select("Axis of the function", axes, found.axis);
      const sides = found.on.map((name, side) => mercer.select(side ? "Variable upward" : "Variable across", found.variables.map((v) => [v, v]), name));
      axis.addEventListener("change", () => [(asked.axis = Number(axis.value)), (asked.on = found.on), ask()]);
      sides.forEach((select, side) =>
        select.addEventListener("change", () => {
          const on = found.on.map((name, k) => (k === side ? select.value : name));
          asked.on = on[0] === on[1] ? [...found.on].reverse() : on; // the two change places
          ask();
        }),
      );
      bar.replaceChildren(axis, " of ", ...sides.flatMap((select, k) => (k ? [" and ", select] : [select])));
      mercer.redrawn("function", figure, found.panel, found.notes);
    } catch (error) {
      if (!error.isQuiet && mercer.page === page) figure.querySelector("figcaption").textContent = error.message;
    }
  };
  page.listen({
    moved() {
      if (asked.axis === across()) return;
      asked.axis = across();
      ask();
    },
  });
  return ask();
};

// Where individuals of the curved map move when a variable rises, on the axes that it shows.
mercer.gradients = (page, { explorer }) => {
  if (!explorer.functions.length || !(page.spaces.curved?.coordinates.length > 1)) return;
  const figure = mercer.figure("gradients", "Where a variable leads", []);
  mercer.byId("side").append(figure);
  let asked = "";
  const ask = async () => {
    const axes = page.axesOf("curved").map((k) => k + 1);
    if (axes.join() === asked || axes.some((k) => k > page.spaces.curved.coordinates.length)) return;
    asked = axes.join();
    try {
      const found = mercer.unpacked(await (await mercer.ask("gradients", { axes })).json());
      if (!found.panel) figure.remove(); // the kernel has kinks, or there are too many individuals
      else if (mercer.page === page && axes.join() === asked) mercer.redrawn("gradients", figure, found.panel, found.notes);
    } catch (error) {
      if (!error.isQuiet && mercer.page === page) figure.remove();
    }
  };
  page.listen({ moved: ask });
  return ask();
};

// The mark of a level as the maps draw it: colours come again with another shape.
mercer.swatch = ({ palette, markers }, code) => {
  const svg = mercer.shape(null, "svg", { class: "swatch", viewBox: "-7 -7 14 14", "aria-hidden": "true" });
  const shape = mercer.shape(svg, "path", { d: mercer.marker(markers[Math.floor(code / palette.length) % markers.length], 4.6) });
  shape.dataset.colour = palette[code % palette.length];
  mercer.tint(shape);
  return svg;
};

mercer.tint = (shape) => shape.setAttribute("fill", mercer.toned(shape.dataset.colour));

// Classes: how many, who is in them, what sets them apart; a click selects the members of one.
mercer.classes = (page, value) => {
  const place = mercer.element("section", null, { class: "classes", "aria-label": "Classes" });
  place.append(mercer.element("h2", "Classes"));
  const { state } = mercer.explorer;
  const bar = mercer.element("div", null, { class: "choices" });
  const count = mercer.select("How many classes", [["", `${state.classes || !value.groups ? "" : `${value.sheets.classes.rows.length}, `}as suggested`], ...Array.from({ length: 9 }, (_, k) => [k + 2, `${k + 2} classes`])], state.classes ?? "");
  count.addEventListener("change", () => mercer.change({ classes: count.value ? Number(count.value) : null }));
  bar.append(count);
  place.append(bar);
  const at = page.people.colours.findIndex((colour) => colour.name === value.look.classes);
  if (!value.groups || at < 0) {
    place.append(mercer.element("p", "Choose a number, and classes are made of this many individuals.", { class: "quiet" }));
    return place;
  }
  const paint = mercer.element("button", "Colour by class", { type: "button", id: "paint-classes" });
  paint.addEventListener("click", () => page.paint(at));
  bar.append(paint);
  const { columns, rows } = value.sheets.classes;
  const why = columns.findIndex((column) => column.name === "what sets it apart");
  const table = mercer.element("table");
  const { codes, levels } = page.people.colours[at];
  for (const row of rows) {
    const line = mercer.element("tr", null, { tabindex: 0, role: "button", "data-class": row[0], title: "Select its members" });
    const code = levels.indexOf(`${value.look.classes} ${row[0]}`);
    const name = mercer.element("td");
    name.append(mercer.swatch(value.look, code), `${row[0]}`);
    line.append(name, mercer.element("td", String(row[1]), { class: "number" }), mercer.element("td", why < 0 ? "" : row[why], { class: "why" }));
    const act = () => page.select(codes.flatMap((c, i) => (c === code ? [i] : [])));
    line.addEventListener("click", act);
    line.addEventListener("keydown", (event) => ["Enter", " "].includes(event.key) && (event.preventDefault(), act()));
    table.append(line, mercer.members(page, value.groups.members, Number(row[0]) - 1, codes.filter((c) => c === code).length));
  }
  const head = mercer.element("tr");
  head.append(...["class", "size", why < 0 ? "" : "what sets it apart"].map((text) => mercer.element("th", text, { scope: "col" })));
  table.prepend(head);
  place.append(table, mercer.element("p", value.groups.sentences.join(" "), { class: "quiet" }));
  return place;
};

// A few members of a class, the nearest to its centre and the farthest from other classes: whoever
// points at one sees it on the maps, and a click selects it.
mercer.members = (page, members, label, count) => {
  const line = mercer.element("tr", null, { class: "members" });
  const place = mercer.element("td", null, { colspan: 3 });
  const { names, rows } = page.people;
  const ids = (found) => found.map((row) => (rows ? rows.indexOf(row) : row)).filter((id) => id >= 0);
  const told = Object.entries(members).map(([how, each]) => [how, ids(each[label])]);
  const [[, first]] = told;
  for (const [how, found] of count <= first.length ? [["members", first]] : told) {
    if (!found.length) continue; // of a crowd a sample is shown
    const [part, named] = [mercer.element("div", null, { class: "quiet" }), mercer.element("span")];
    part.append(mercer.element("span", `${how} `), named);
    for (const id of found) {
      const one = mercer.element("button", names[id], { type: "button", "data-id": id, title: "Select, with Ctrl beside others" });
      one.addEventListener("click", (event) => (event.ctrlKey || event.metaKey ? page.toggle(id) : page.select([id])));
      for (const kind of ["pointerenter", "focus"]) one.addEventListener(kind, () => page.point(id));
      for (const kind of ["pointerleave", "blur"]) one.addEventListener(kind, () => page.point(-1));
      named.append(one, " ");
    }
    place.append(part);
  }
  line.append(place);
  return line;
};

// The card of an individual also says what it contributes, who is nearest in feature space, its
// letters or its network.
mercer.neighbours = (page) => {
  let [timer, turn] = [0, 0];
  page.listen({
    pointed(id, of) {
      clearTimeout(timer);
      const mine = ++turn;
      if (id < 0 || of !== "individuals") return;
      const most = page.people.coordinates.map((_, k) => [page.contribution(k, id), k]).sort(([a], [b]) => b - a).slice(0, 3);
      const shares = most.map(([share, k]) => `${mercer.shown(share, "share")} of Dim ${k + 1}`);
      const card = mercer.byId("card");
      card.append(mercer.element("div", `contributes most: ${shares.join(", ")}`));
      timer = setTimeout(async () => {
        try {
          const row = page.people.rows ? page.people.rows[id] : id;
          const found = await (await mercer.ask("card", { row })).json();
          if (mine !== turn) return; // something else is pointed at, or this one again
          if (found.letters !== undefined) card.append(mercer.letters(found));
          if (found.network) card.append(mercer.network(found.network));
          const near = found.nearest.map(({ name, distance }) => `${name} (${mercer.shown(distance, "number")})`);
          card.append(mercer.element("div", `Nearest${mercer.explorer.value?.explorer.kind === "distances" ? "" : " in feature space"}: ${near.join(", ")}`, { class: "near" }));
          mercer.placeCard();
        } catch {
          // The card is whole without its neighbours.
        }
      }, 180);
    },
  });
};

mercer.letters = ({ letters, length }) => {
  const place = mercer.element("div", null, { class: "letters" });
  place.append(mercer.element("code", letters), mercer.element("span", ` ${length} letters`, { class: "quiet" }));
  return place;
};

// A network, its nodes where the map of the steps between them places these.
mercer.network = ({ x, y, names, edges, nodes, count }) => {
  const place = mercer.element("div", null, { class: "network" });
  if (x.length) {
    const [size, room] = [190, names.length ? 22 : 10];
    const [[left, right], [low, high]] = [mercer.ends([x]), mercer.ends([y])];
    const unit = (size - 2 * room) / Math.max(right - left, high - low, 1e-9);
    const tall = unit * (high - low) + 2 * room;
    const svg = mercer.shape(place, "svg", { viewBox: `0 0 ${size} ${tall}`, width: size, height: tall, role: "img", "aria-label": "The network" });
    const [us, vs] = [x.map((v) => size / 2 + unit * (v - (left + right) / 2)), y.map((v) => room + unit * (high - v))];
    for (const [a, b] of edges) mercer.shape(svg, "line", { x1: us[a], y1: vs[a], x2: us[b], y2: vs[b], stroke: mercer.theme.quiet, "stroke-opacity": 0.6 });
    const radius = x.length > 60 ? 2.2 : x.length > 25 ? 3.2 : 4.5;
    const fill = mercer.toned(mercer.page.value.look.palette[0]);
    us.forEach((u, i) => mercer.shape(svg, "circle", { cx: u, cy: vs[i], r: radius, fill }));
    names.forEach((name, i) => mercer.write(svg, mercer.cut(name, 10), us[i], vs[i] - 7, { "font-size": 9, "text-anchor": "middle", stroke: mercer.theme.ground, "stroke-width": 3, "paint-order": "stroke" }));
  }
  const isTold = mercer.page.people.colours.some(({ name }) => name === "nodes"); // by the card above
  if (!isTold) place.append(mercer.element("div", `${nodes} nodes, ${count} edges`, { class: "quiet" }));
  return place;
};

// A preview is made exact by itself: the residual falls, and the map moves to where it belongs.
mercer.refine = async () => {
  const { explorer } = mercer;
  const { state, asked } = explorer;
  const done = mercer.waiting("Making the curved map exact", "refine");
  try {
    const { refined } = await (await mercer.ask("refine", { state })).json();
    if (!refined || explorer.asked !== asked) return;
    done();
    explorer.state = { ...state, exact: true };
    await mercer.compute();
  } catch (error) {
    if (error.isReplaced && explorer.asked === asked) mercer.toast("The preview stays; “Compute exactly” makes the map whole");
    else if (!error.isQuiet) mercer.toast(error.message);
  } finally {
    done();
  }
};
