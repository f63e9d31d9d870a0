// What a reader chooses beside the pictures: axes, colour and filter; the selection; the card of whom
// they point at.

import { mercer } from "./text.js";

mercer.at = [0, 0];
// Heard before any picture does, so that a card stands where the pointer is, and follows it.
mercer.track = (event) => {
  mercer.at = [event.clientX, event.clientY];
  if (!document.getElementById("card").hidden) mercer.placeCard();
};
for (const kind of ["pointermove", "pointerdown"]) document.addEventListener(kind, mercer.track, { capture: true });

document.addEventListener("keydown", (event) => event.key === "Escape" && mercer.page?.select([]));

// What the axes mean is told of those that are shown first, and then of the others in their order.
mercer.meaning = (page) => {
  const [first, further] = ["meaning", "further-meaning"].map((id) => document.getElementById(id));
  if (!first) return;
  const axesOf = (part) => part.dataset.axes.split(" ").map(Number);
  const parts = [...document.querySelectorAll("#axes [data-axes]:not([data-axes=''])")];
  const count = parts.filter((part) => part.parentNode === first).length;
  const missing = (k) => {
    const part = mercer.element("div");
    const text = `The axes that are described end before it. In Python, mercer.describe_axes(model, axes=${k + 1}) describes it too.`;
    part.append(mercer.element("dt", page.value.axes[k]), mercer.element("dd", text));
    return part;
  };
  const moved = () => {
    const shown = page.axes.filter((k) => k !== null).map((k) => parts.find((part) => axesOf(part).includes(k)) ?? missing(k));
    const all = [...new Set([...shown, ...parts])];
    const told = Math.max(count, shown.length);
    first.replaceChildren(...all.slice(0, told));
    const notes = further ? [...further.children].filter((part) => part.dataset.axes === "") : [];
    further?.replaceChildren(...all.slice(told), ...notes);
  };
  page.listen({ moved });
};

mercer.controls = (page) => {
  const place = document.getElementById("controls");
  place.replaceChildren();
  const { people, value } = page;
  const choice = (text, options, chosen, act) => {
    const label = mercer.element("label", `${text} `);
    const select = mercer.element("select");
    options.forEach((name, k) => select.append(mercer.element("option", name, { value: k })));
    select.value = String(chosen);
    select.addEventListener("change", () => act(Number(select.value)));
    label.append(select);
    place.append(label);
    return select;
  };
  const titles = value.axes.slice(0, people.coordinates.length).map((title) => (value.curved ? title.split(" (")[0] : title));
  if (titles.length > 2) {
    const selects = ["Across", "Up"].map((name, side) => choice(name, titles, page.axes[side], (k) => page.choose(k, side)));
    page.listen({ moved: () => selects.forEach((select, side) => (select.value = String(page.axes[side]))) });
  }
  if (people.colours.length) {
    const names = ["one colour", ...people.colours.map((c) => c.name)];
    const select = choice("Colour by", names, page.colour + 1, (k) => page.paint(k - 1));
    page.listen({ coloured: () => (select.value = String(page.colour + 1)) });
  }
  if (page.isExplored && page.factors.length > 1 && value.linked["supplementary categories"]) {
    const label = mercer.element("label", null, { title: "Draw the categories of every factor, not only of the one that colours" });
    const check = mercer.element("input", null, { type: "checkbox", id: "all-factors" });
    check.checked = page.hasAllFactors;
    check.addEventListener("change", () => page.drawFactors(check.checked));
    label.append(check, "Categories of all factors");
    place.append(label);
  }
  if (people.distances) {
    const label = mercer.element("label", "Hide what is badly shown: cos2 below ");
    const range = mercer.element("input", null, { type: "range", min: 0, max: 1, step: 0.05, value: 0 });
    const shown = mercer.element("output", "0");
    range.value = String(page.leastCos2);
    shown.textContent = range.value;
    range.addEventListener("input", () => {
      shown.textContent = range.value;
      page.filter(Number(range.value));
    });
    label.append(range, shown);
    place.append(label);
  }
  place.hidden = place.children.length === 0;
};

mercer.selection = (page, sheet) => {
  const place = document.getElementById("selection");
  const clear = mercer.element("button", "Clear", { type: "button" });
  clear.addEventListener("click", () => page.select([]));
  const save = mercer.element("button", "Save selection as CSV", { type: "button" });
  save.addEventListener("click", () => mercer.saveTable("selection.csv", sheet.text(page.selected)));
  const hint = mercer.isCoarse()
    ? "Tap a point to select it; the selection shows in every panel."
    : "Draw a box around points, or click them: all panels and the table follow. By keys: Tab to a map, then B or L.";
  const draw = () => {
    const ids = page.selected;
    const names = ids.slice(0, 8).map((i) => page.people.names[i]);
    const more = ids.length > names.length ? ` and ${mercer.grouped(ids.length - names.length)} more` : "";
    if (!ids.length) place.replaceChildren(hint);
    else place.replaceChildren(mercer.element("span", `${mercer.grouped(ids.length)} selected: ${names.join(", ")}${more}`), " ", clear, " ", save);
    if (sheet.isOnlySelected !== ids.length > 0) {
      sheet.isOnlySelected = ids.length > 0;
      sheet.turn(0);
    }
  };
  page.listen({ marked: draw });
  place.hidden = false;
  draw();
};

mercer.card = (page) => {
  const card = document.getElementById("card");
  const { people, value } = page;
  card.hidden = true;
  const kept = people.colours.filter((c) => !c.of).slice(0, 12);
  const spreads = kept.map((c) => (c.levels ? Infinity : mercer.spread({ of: (i) => c.values[i] }, page.count)));
  // Its values, in two columns where there are many, and its place on the axes that are shown.
  const describe = (id) => {
    const values = mercer.element("div", null, { class: kept.length > 4 ? "values two" : "values" });
    kept.forEach((c, j) => {
      const line = mercer.element("div", `${mercer.cut(c.name, 24)}: `);
      line.append(mercer.element("b", c.levels ? mercer.cut(c.levels[c.codes[id]], 24) : mercer.shown(c.values[id], "number", spreads[j])));
      values.append(line);
    });
    const places = page.axes.filter((k) => k !== null && k < people.coordinates.length).map((k) => {
      const cos2 = people.distances ? `, cos2 ${mercer.shown(page.cos2([k], id), "share")}` : "";
      return mercer.element("div", `${value.axes[k].split(" (")[0]}: ${mercer.shown(people.coordinates[k][id], "number")}${cos2}`);
    });
    return [...(kept.length ? [values] : []), ...places];
  };
  page.listen({
    pointed(id, of, text) {
      card.hidden = id < 0 && !text;
      if (card.hidden) return;
      const name = id < 0 ? text : page.nameOf(of, id);
      const isOne = id >= 0 && of === "individuals";
      const lines = isOne ? describe(id) : [];
      if (text && text !== name) lines.unshift(mercer.element("div", text));
      card.replaceChildren(mercer.element("strong", name), ...lines);
      mercer.placeCard();
    },
  });
};

// The card stands beside the pointer, within the window.
mercer.placeCard = () => {
  const card = document.getElementById("card");
  const [width, height] = [card.offsetWidth, card.offsetHeight];
  card.style.left = `${Math.max(4, Math.min(mercer.at[0] + 16, window.innerWidth - width - 8))}px`;
  card.style.top = `${Math.max(4, Math.min(mercer.at[1] + 16, window.innerHeight - height - 8))}px`;
};
