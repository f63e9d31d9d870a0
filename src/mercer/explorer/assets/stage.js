// The stage: maps, panels and the table of one answer, drawn by the scripts of the page.

mercer.SIDE = ["scree", "curved-scree", "circle", "contributions-1", "contributions-2"];

// A long text shows its beginning, and all of it when it is clicked.
mercer.clamp = (place) => {
  place.classList.add("clamped");
  place.onclick = () => place.classList.toggle("clamped");
};

mercer.figure = (name, title, notes) => {
  const figure = mercer.element("figure", null, { id: `figure-${name}`, class: "panel", "data-panel": name, "data-live": "yes" });
  figure.append(mercer.element("h3", title), mercer.element("div", null, { class: "live" }), mercer.element("figcaption", notes.join(" ")));
  return figure;
};

// The spectrum of the curved map as a described picture, which moves with the slider.
mercer.spectrum = (shares, look) => {
  const at = shares.map((_, k) => k + 1);
  const high = 1.1 * Math.max(...shares, 0.01);
  const bars = { mark: "bars", at, lengths: shares, colours: [look.palette[0]], names: shares.map((s, k) => `Dim ${k + 1}: ${mercer.shown(s, "share")}`), texts: shares.map((s, k) => `Dim ${k + 1}: ${mercer.shown(s, "share")}`) };
  const side = (title, limits, ticks) => ({ title, limits, log: false, ticks, shown: true, axis: null });
  const percents = mercer.rounded([0, high], 4).map((v) => [v, `${Math.round(100 * v)} %`]);
  const panel = { title: "", marks: [bars], x: side("axis", [0.4, at.length + 0.6], at.map((k) => [k, String(k)])), y: side("", [0, high], percents), z: null, equal: false, keeps: false, origin: false };
  return { columns: 1, cell: [4.2, 2.3], panels: [panel] };
};

mercer.sharesOf = (axes) => axes.map((title) => Number(/\(([\d.]+) %\)/.exec(title)?.[1] ?? 0) / 100);

// What a reader had chosen stays, where the new answer has it too.
mercer.keepView = (page, before) => {
  const { explorer } = mercer;
  const named = (name) => page.people.colours.findIndex((colour) => colour.name === name);
  const look = before ? [...before.axes, before.people.colours[before.colour]?.name ?? null, before.leastCos2, before.own.curved] : explorer.look;
  const wanted = explorer.wanted ?? null;
  Object.assign(explorer, { look: null, wanted: null });
  if (look) {
    const [across, up, colour, least, curved] = look;
    const count = page.people.coordinates.length;
    if (page.axes[1] !== null && across < count && up < count && across !== up && Number.isInteger(across) && Number.isInteger(up)) page.axes = [across, up];
    if (Array.isArray(curved) && curved.every((k) => Number.isInteger(k) && k >= 0 && k < (page.spaces.curved?.coordinates.length ?? 0))) page.own = { curved };
    if (named(colour) >= 0) page.colour = named(colour);
    else if (colour === null && before) page.colour = -1;
    page.leastCos2 = Number(least) || 0;
  }
  if (wanted !== null && named(wanted) >= 0) page.colour = named(wanted);
  page.hasAllFactors = before?.hasAllFactors ?? false;
  if (before && before.count === page.count) {
    page.mask.set(before.mask);
    page.selected = [...before.selected];
  }
  page.shades = page.scale;
};

// Numbers that are computed here colour the individuals too.
mercer.addColours = (page) => {
  const { people } = page;
  const every = people.names.map((_, i) => i);
  const measures = [];
  if (people.distances) measures.push({ name: "cos2 of the plane", of: (i) => page.cos2(page.axes.filter((k) => k !== null), i) });
  measures.push({ name: "contribution to the plane", of: (i) => page.axes.filter((k) => k !== null).reduce((sum, k) => sum + page.contribution(k, i), 0) });
  for (const { name, of } of measures) people.colours.push({ name, values: every.map(of), of });
  page.listen({
    moved() {
      for (const colour of people.colours) if (colour.of) colour.values = every.map(colour.of);
      page.shades = page.scale;
    },
  });
};

mercer.show = async (value) => {
  const { explorer } = value;
  const before = mercer.page;
  const page = new mercer.Page(value);
  page.isExplored = true;
  mercer.page = page;
  mercer.theme = mercer.isDark ? mercer.DARK : mercer.light(value.look);
  mercer.addColours(page);
  mercer.keepView(page, before);
  mercer.rail(explorer);
  // What was found stands before how it was chosen.
  const said = value.sentences.join(" ").replace(explorer.sentence, "").replace("  ", " ");
  mercer.byId("said").textContent = `${said} ${explorer.sentence}`;
  mercer.clamp(mercer.byId("said"));
  mercer.doubts(explorer.doubts);
  if (value.sheets.individuals) mercer.controls(page);
  mercer.card(page);
  mercer.neighbours(page);
  mercer.pictures = {};
  const maps = Object.keys(value.panels).filter((name) => name === "curved" || name.startsWith("plane-"));
  mercer.byId("maps").replaceChildren(...maps.map((name) => mercer.figure(name, value.titles[name], value.captions[name])));
  if (value.curved) {
    value.panels["curved-scree"] = mercer.spectrum(mercer.sharesOf(value.curved.axes), value.look);
    value.titles["curved-scree"] = "Spectrum of the curved map";
    value.follow["curved-scree"] = { space: "curved", picks: true, map: "curved" };
  }
  for (const caption of document.querySelectorAll(".maps figcaption")) mercer.clamp(caption);
  const side = mercer.SIDE.filter((name) => value.panels[name]);
  mercer.byId("side").replaceChildren(...side.map((name) => mercer.figure(name, value.titles[name], value.captions[name] ?? [])));
  for (const name of [...maps, ...side]) {
    const figure = mercer.byId(`figure-${name}`);
    mercer.pictures[name] = new mercer.Picture(figure, value.panels[name], page, value.follow[name], value.captions[name]);
  }
  if (value.groups) mercer.byId("side").append(mercer.classes(value));
  mercer.table(page, value);
  if (page.isMovedView) page.tell("moved", page);
  page.listen({ moved: mercer.remember, coloured: mercer.remember });
};

// The card of an individual also says what it contributes, and who is nearest in feature space.
mercer.neighbours = (page) => {
  let timer = 0;
  page.listen({
    pointed(id, of) {
      clearTimeout(timer);
      if (id < 0 || of !== "individuals") return;
      const axes = page.axes.filter((k) => k !== null);
      const shares = axes.map((k) => `${mercer.shown(page.contribution(k, id), "share")} of Dim ${k + 1}`);
      const card = mercer.byId("card");
      card.append(mercer.element("div", `contributes ${shares.join(", ")}`));
      timer = setTimeout(async () => {
        try {
          const row = page.people.rows ? page.people.rows[id] : id;
          const { nearest } = await (await mercer.ask("card", { row })).json();
          if (page.pointed !== id || page.pointedOf !== of) return;
          card.append(mercer.element("div", `Nearest in feature space: ${nearest.map(({ name }) => name).join(", ")}`, { class: "near" }));
        } catch {
          // The card is whole without its neighbours.
        }
      }, 180);
    },
  });
};

mercer.doubts = (doubts) => {
  const place = mercer.byId("doubts");
  place.hidden = !doubts.length;
  place.replaceChildren(
    ...doubts.map(({ text, ways }) => {
      const item = mercer.element("li", text);
      for (const way of ways) {
        const button = mercer.element("button", way.label, { type: "button" });
        button.addEventListener("click", () => mercer.follow(way));
        item.append(button);
      }
      return item;
    }),
  );
};

mercer.classes = (value) => {
  const place = mercer.element("section", null, { class: "classes" });
  place.append(mercer.element("h2", "Classes"), mercer.element("p", value.groups.sentences.join(" "), { class: "quiet" }));
  return place;
};

mercer.table = (page, value) => {
  const place = mercer.byId("table");
  place.replaceChildren();
  if (!value.sheets.individuals) return;
  const sheet = mercer.element("div", null, { class: "sheet", "data-sheet": "individuals" });
  const caption = mercer.element("caption", value.sheets.individuals.title);
  const table = mercer.element("table");
  table.append(caption);
  sheet.append(table);
  place.append(sheet);
  mercer.sheets = { individuals: new mercer.Sheet(sheet, value.sheets.individuals, page) };
  page.listen(mercer.sheets.individuals);
  mercer.selection(page, mercer.sheets.individuals);
};

// Axes of the map before and after are one axis up to its sign: none flips while the slider moves.
mercer.aligned = (space, before) => {
  space.coordinates.forEach((values, k) => {
    const old = before.coordinates[k];
    if (!old || old.length !== values.length) return;
    const product = values.reduce((sum, v, i) => sum + v * old[i], 0);
    if (product >= 0) return;
    const flip = (list) => list.forEach((_, i) => (list[i] = -list[i]));
    flip(values);
    for (const table of Object.values(space.linked)) if (table.coordinates[k]) flip(table.coordinates[k]);
    if (space.passive?.coordinates[k]) flip(space.passive.coordinates[k]);
  });
  return space;
};

mercer.MOVE = 220; // milliseconds of a movement

mercer.slide = ({ space, shares, exact }) => {
  const { page, pictures } = mercer;
  const before = page?.spaces.curved;
  if (!before || before.coordinates[0]?.length !== space.coordinates[0]?.length) return;
  const after = { ...mercer.aligned(space, before), isLive: true };
  mercer.redrawSpectrum(shares);
  const caption = mercer.byId("figure-curved")?.querySelector("figcaption");
  if (caption && !exact) caption.textContent = "A preview on landmarks; the map is made anew when the slider rests.";
  const from = before.coordinates;
  const start = performance.now();
  mercer.moving = start;
  const isStill = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const frame = (now) => {
    if (mercer.moving !== start || mercer.page !== page) return;
    const t = isStill ? 1 : Math.min(1, (now - start) / mercer.MOVE);
    const eased = t * t * (3 - 2 * t);
    const coordinates = t < 1 ? after.coordinates.map((values, k) => (from[k] ? values.map((v, i) => from[k][i] + eased * (v - from[k][i])) : values)) : after.coordinates;
    page.spaces.curved = { ...after, coordinates };
    pictures.curved?.draw();
    if (t < 1) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
};

mercer.redrawSpectrum = (shares) => {
  const picture = mercer.pictures["curved-scree"];
  if (!picture) return;
  const described = mercer.spectrum(shares, mercer.page.value.look);
  picture.frames[0].described = described.panels[0];
  picture.draw();
};
