// The stage: maps, panels and the table of one answer, drawn by the scripts of the page.

import { mercer } from "./text.js";
import "./page.js";
import "./sheets.js";
import "./picture.js";
import "./controls.js";
import "./doubts.js";

mercer.SIDE = ["scree", "curved-scree", "circle", "categories", "contributions-1", "contributions-2"];

mercer.counted = (count) => `${mercer.grouped(count)} individual${count === 1 ? "" : "s"}`;

// A long text shows its beginning, and all of it when it is clicked.
mercer.clamp = (place) => {
  const say = () => {
    const isCut = place.classList.contains("clamped") && place.scrollHeight > place.clientHeight + 2;
    if (isCut) place.title = "Click to read all of it";
    else place.removeAttribute("title");
  };
  place.classList.add("clamped");
  place.tabIndex = 0;
  const turn = () => void place.classList.toggle("clamped");
  place.onclick = turn;
  // A handler that returned false would keep Tab here.
  place.onkeydown = (event) => void (event.key === "Enter" && event.target === place && turn());
  place.onpointerenter = say;
  place.onfocus = say;
};

mercer.figure = (name, title, notes) => {
  const figure = mercer.element("figure", null, { id: `figure-${name}`, class: "panel", "data-panel": name, "data-live": "yes" });
  figure.append(mercer.element("h3", title), mercer.element("div", null, { class: "live" }), mercer.element("figcaption", notes.join(" ").replaceAll("Σ|λ|", "Σ|\u2060λ|")));
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
  const look = explorer.look ?? before?.look;
  const wanted = explorer.wanted ?? null;
  Object.assign(explorer, { look: null, wanted: null });
  if (look) page.recall(look, Boolean(before));
  if (wanted !== null && named(wanted) >= 0) page.colour = named(wanted);
  page.hasAllFactors = before?.hasAllFactors ?? false;
  if (before && before.count === page.count) {
    page.mask.set(before.mask);
    page.selected = [...before.selected];
  }
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
      page.shadesOf = null; // its limits were those of the values before
    },
  });
};

// Nothing is shown yet: the columns and the choices stand, and places for the maps.
mercer.expect = () => {
  for (const id of ["said", "controls", "selection", "maps", "side", "table"]) mercer.byId(id).replaceChildren();
  for (const id of ["doubts", "more-doubts", "controls", "selection", "refused"]) mercer.byId(id).hidden = true;
  mercer.byId("answer").hidden = false;
  mercer.rail(null);
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
  mercer.say(page);
  mercer.clamp(mercer.byId("said"));
  mercer.doubts(explorer.doubts);
  if (value.sheets.individuals) mercer.controls(page);
  mercer.card(page);
  mercer.neighbours(page);
  mercer.pictures = {};
  const maps = Object.keys(value.panels).filter((name) => name === "curved" || name.startsWith("plane-"));
  // That not all are drawn one by one is said first: a caption shows its beginning.
  const isOfMany = (note) => note.startsWith("The shading is ");
  for (const name of maps) value.captions[name] = [...value.captions[name].filter(isOfMany), ...value.captions[name].filter((note) => !isOfMany(note))];
  mercer.byId("maps").replaceChildren(...maps.map((name) => mercer.figure(name, value.titles[name], value.captions[name])));
  if (value.curved) {
    value.panels["curved-scree"] = mercer.spectrum(mercer.sharesOf(value.curved.axes), value.look);
    value.titles["curved-scree"] = value.titles.curved.startsWith("Map to compare") ? "Spectrum to compare" : "Curved spectrum";
    value.follow["curved-scree"] = { space: "curved", picks: true, map: "curved" };
  }
  for (const caption of document.querySelectorAll(".maps figcaption")) mercer.clamp(caption);
  for (const name of ["scree", "curved-scree"]) value.captions[name] = [...(value.captions[name] ?? []), mercer.OUTLINED];
  const side = mercer.SIDE.filter((name) => value.panels[name]);
  for (const name of side) mercer.shorten(name, value);
  mercer.byId("side").replaceChildren(...side.map((name) => mercer.figure(name, value.titles[name], value.captions[name] ?? [])));
  for (const name of [...maps, ...side]) {
    const figure = mercer.byId(`figure-${name}`);
    mercer.pictures[name] = new mercer.Picture(figure, value.panels[name], page, value.follow[name], value.captions[name]);
  }
  if (document.querySelector("canvas.crowd[data-by=canvas]")) mercer.doubts([...explorer.doubts, { text: "This browser has no WebGL: points are drawn without it, and large maps take longer.", ways: [] }]);
  if (value.individuals.count > 5) mercer.byId("side").append(mercer.classes(page, value));
  mercer.table(page, value);
  if (page.isTurned) page.tell("moved", page);
  mercer.explorer.seen = page.look;
  page.listen({ moved: mercer.looked, coloured: mercer.looked });
  mercer.travel(page, before?.spaces.curved);
  mercer.functions(page, value);
  mercer.gradients(page, value);
};

// Beside the maps titles have one line: what an axis shows stands at the scree.
mercer.shorten = (name, { titles, follow }) => {
  const brief = (title) => title.replace(/ of (variables|categories|columns|rows) to /, " to ").replace(/ \([\d.]+ %\)$/, "");
  titles[name] = brief(titles[name]);
  if (follow[name]?.title) Object.assign(follow[name], { title: brief(follow[name].title), isBrief: true });
};

mercer.OUTLINED = "Outlined: the axes of the map. Click a bar to put it across, with Shift upward.";

// The answer: what was found, of the plane that is shown, before how it was chosen.
mercer.say = (page) => {
  const { sentences, explorer } = page.value;
  const shares = explorer.shares ?? [];
  const shown = page.axes.filter((k) => k !== null);
  const isFirst = shown.every((k, side) => k === side);
  const told = sentences.map((text) => {
    if (isFirst || !/^The map of the first two axes shows /.test(text)) return text;
    const [sum, names] = [shown.reduce((total, k) => total + (shares[k] ?? 0), 0), [...shown].sort((a, b) => a - b).map((k) => k + 1)];
    return `The map of axes ${names.join(" and ")} shows ${mercer.shown(100 * sum, "number")} % of the differences between individuals.`;
  });
  const said = told.join(" ").replace(explorer.sentence, "").replace("  ", " ");
  mercer.byId("said").textContent = `${said} ${explorer.sentence}`;
};

// Axes, colour and filter that a reader has changed: one step to undo, for a filter that slides too.
mercer.looked = () => {
  const { explorer, page } = mercer;
  const [before, now] = [explorer.seen, page.look];
  explorer.seen = now;
  mercer.say(page);
  mercer.remember();
  const part = now.findIndex((one, k) => JSON.stringify(one) !== JSON.stringify(before[k]));
  if (explorer.isStepping || (part < 0 && now.length === before.length)) return;
  const time = performance.now();
  const isSame = part === 3 && explorer.slid > time - 1500; // the filter
  explorer.slid = part === 3 ? time : -Infinity;
  if (isSame) return;
  explorer.past.push({ state: explorer.state, look: before });
  explorer.future = [];
  mercer.steps();
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

mercer.MOVE = 220; // milliseconds of a movement

mercer.SOON = 20000; // individuals up to which a movement is drawn

// The map of the slider, which the server has turned to match the one before.
mercer.slide = ({ space, shares, exact }) => {
  const { page } = mercer;
  const before = page?.spaces.curved;
  if (!before || before.coordinates[0]?.length !== space.coordinates[0]?.length) return;
  mercer.redrawSpectrum(shares);
  const caption = mercer.byId("figure-curved")?.querySelector("figcaption");
  if (caption) caption.textContent = exact ? "While the slider moves, the map is turned to match the one before." : "A preview on landmarks, turned to match the one before; the map is made anew when the slider rests.";
  page.spaces.curved = { ...space, isLive: true };
  mercer.travel(page, before);
};

// Move the individuals of the curved map from where they were drawn to where they lie now.
mercer.travel = (page, before) => {
  const { pictures } = mercer;
  const after = page.spaces.curved;
  const count = after?.coordinates[0]?.length;
  if (!before || !pictures.curved || before.coordinates[0]?.length !== count || count > mercer.SOON) return pictures.curved && after?.isLive ? pictures.curved.draw() : undefined;
  const from = before.coordinates;
  const start = performance.now();
  mercer.moving = start;
  const isStill = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const frame = (now) => {
    if (mercer.moving !== start || mercer.page !== page) return;
    const t = isStill ? 1 : Math.min(1, (now - start) / mercer.MOVE);
    const eased = t * t * (3 - 2 * t);
    const coordinates = t < 1 ? after.coordinates.map((values, k) => (from[k] ? values.map((v, i) => from[k][i] + eased * (v - from[k][i])) : values)) : after.coordinates;
    page.spaces.curved = t < 1 ? { ...after, coordinates, isLive: true } : after;
    pictures.curved.draw();
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
