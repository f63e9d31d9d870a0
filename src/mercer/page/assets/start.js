// The page comes alive: static pictures stay wherever a live one cannot be drawn.

mercer.controls = (page) => {
  const place = document.getElementById("controls");
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
    // The same axis cannot be chosen twice: the two change places.
    const move = (side, k) => page.move(page.axes.map((axis, i) => (i === side ? k : axis === k ? page.axes[side] : axis)));
    const selects = ["Across", "Up"].map((name, side) => choice(name, titles, page.axes[side], (k) => move(side, k)));
    page.listen({ moved: () => selects.forEach((select, side) => (select.value = String(page.axes[side]))) });
  }
  if (people.colours.length) {
    const names = ["one colour", ...people.colours.map((c) => c.name)];
    const select = choice("Colour by", names, page.colour + 1, (k) => page.paint(k - 1));
    page.listen({ coloured: () => (select.value = String(page.colour + 1)) });
  }
  if (people.distances) {
    const label = mercer.element("label", "Hide what is badly shown: cos2 below ");
    const range = mercer.element("input", null, { type: "range", min: 0, max: 1, step: 0.05, value: 0 });
    const shown = mercer.element("output", "0");
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
    : "Draw a box around points, or click them: the selection shows in every panel and in the table.";
  const draw = () => {
    const ids = page.selected;
    const names = ids.slice(0, 8).map((i) => page.people.names[i]);
    const more = ids.length > names.length ? ` and ${ids.length - names.length} more` : "";
    if (!ids.length) place.replaceChildren(hint);
    else place.replaceChildren(`${ids.length} selected: ${names.join(", ")}${more} `, clear, " ", save);
    if (sheet.isOnlySelected !== ids.length > 0) {
      sheet.isOnlySelected = ids.length > 0;
      sheet.turn(0);
    }
  };
  page.listen({ marked: draw });
  document.addEventListener("keydown", (event) => event.key === "Escape" && page.select([]));
  place.hidden = false;
  draw();
};

mercer.card = (page) => {
  const card = document.getElementById("card");
  const { people, value } = page;
  let at = [0, 0];
  document.addEventListener("mousemove", (event) => {
    at = [event.clientX, event.clientY];
  });
  const describe = (id) => {
    const lines = people.colours.slice(0, 12).map((c) => `${c.name}: ${c.levels ? c.levels[c.codes[id]] : mercer.shown(c.values[id], "number")}`);
    people.coordinates.slice(0, 4).forEach((_, k) => {
      const cos2 = people.distances ? `, cos2 ${mercer.shown(page.cos2([k], id), "share")}` : "";
      lines.push(`${value.axes[k].split(" (")[0]}: ${mercer.shown(people.coordinates[k][id], "number")}${cos2}`);
    });
    return lines;
  };
  page.listen({
    pointed(id, of, text) {
      card.hidden = id < 0 && !text;
      if (card.hidden) return;
      const name = id < 0 ? text : page.nameOf(of, id);
      const isOne = id >= 0 && of === "individuals";
      const lines = isOne ? describe(id) : [];
      if (text && text !== name) lines.unshift(text);
      card.replaceChildren(mercer.element("strong", name), ...lines.map((line) => mercer.element("div", line)));
      const [width, height] = [card.offsetWidth, card.offsetHeight];
      card.style.left = `${Math.max(4, Math.min(at[0] + 16, window.innerWidth - width - 8))}px`;
      card.style.top = `${Math.max(4, Math.min(at[1] + 16, window.innerHeight - height - 8))}px`;
    },
  });
};

mercer.copies = () => {
  for (const id of ["code", "command"]) {
    const place = document.getElementById(id);
    if (!place) continue;
    const button = mercer.element("button", "Copy", { type: "button", class: "copy" });
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(place.textContent);
        button.textContent = "Copied";
      } catch {
        // A page opened from disk may not write to the clipboard: the text is marked instead.
        window.getSelection().selectAllChildren(place);
        button.textContent = "Marked: copy with the keyboard";
      }
    });
    place.after(button);
  }
};

// The contents say where the reader is, and open what they lead to.
mercer.contents = () => {
  const links = [...document.querySelectorAll("nav a")];
  const places = links.map((link) => document.getElementById(link.hash.slice(1)));
  const open = (place) => place?.classList.contains("detail") && place.querySelector("details").setAttribute("open", "");
  links.forEach((link, k) => link.addEventListener("click", () => open(places[k])));
  open(location.hash ? document.getElementById(location.hash.slice(1)) : null);
  const look = () => {
    const at = places.findLastIndex((place) => place && place.getBoundingClientRect().top < 120);
    links.forEach((link, k) => link.classList.toggle("here", k === Math.max(at, 0)));
  };
  document.addEventListener("scroll", look, { passive: true });
  look();
};

// Paper is light and shows all rows, whatever the screen does.
mercer.printing = (value, sheets) => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const redraw = (isPrinted) => {
    mercer.theme = dark.matches && !isPrinted ? mercer.DARK : mercer.light(value.look);
    for (const picture of Object.values(mercer.pictures)) picture.draw();
  };
  const folded = () => [...document.querySelectorAll("details:not([open])")];
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = folded();
    for (const details of opened) details.setAttribute("open", "");
    for (const sheet of Object.values(sheets)) sheet.print(true);
    redraw(true);
  });
  window.addEventListener("afterprint", () => {
    for (const details of opened) details.removeAttribute("open");
    for (const sheet of Object.values(sheets)) sheet.print(false);
    redraw(false);
  });
  dark.addEventListener("change", () => redraw(false));
};

mercer.start = async () => {
  const value = mercer.unpacked(JSON.parse(document.getElementById("value").textContent));
  mercer.theme = window.matchMedia("(prefers-color-scheme: dark)").matches ? mercer.DARK : mercer.light(value.look);
  const page = new mercer.Page(value);
  mercer.page = page;
  const sheets = {};
  for (const place of document.querySelectorAll("[data-sheet]")) {
    sheets[place.dataset.sheet] = new mercer.Sheet(place, value.sheets[place.dataset.sheet], page);
  }
  mercer.sheets = sheets;
  mercer.copies();
  if (sheets.individuals) {
    mercer.controls(page);
    mercer.selection(page, sheets.individuals);
  }
  mercer.card(page);
  mercer.contents();
  mercer.pictures = {};
  for (const figure of document.querySelectorAll("figure[data-panel]")) {
    const name = figure.dataset.panel;
    figure.dataset.live = "yes";
    try {
      mercer.pictures[name] = new mercer.Picture(figure, value.panels[name], page, value.follow[name], value.captions[name]);
    } catch (error) {
      delete figure.dataset.live;
      console.error(error);
    }
    await new Promise((done) => setTimeout(done));
  }
  mercer.printing(value, sheets);
};

mercer.start().then(
  () => {
    document.body.dataset.state = "ready";
  },
  (error) => {
    document.body.dataset.state = "failed";
    console.error(error);
  },
);
