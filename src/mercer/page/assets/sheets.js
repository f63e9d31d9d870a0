// Tables that sort, turn their pages, and leave as CSV; one row for each element.

import { mercer } from "./text.js";

mercer.ROWS = 25;
mercer.PRINTED = 2000;
mercer.LONG = 30; // letters from which on a cell may be cut

// The axes of tables: those that a reader chose first, and the next up to three.
mercer.tableAxes = (page, count) => [...new Set([...page.axes.filter((k) => k !== null), 0, 1, 2])].filter((k) => k < count).slice(0, 3);

// How far the numbers of a column lie apart, by at most a thousand of them.
mercer.spread = (column, count) => {
  const step = Math.ceil(count / 1000);
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < count; i += step) {
    const value = column.of(i);
    if (typeof value === "number" && value < low) low = value;
    if (typeof value === "number" && value > high) high = value;
  }
  return high > low ? high - low : Infinity;
};

mercer.individualsColumns = (page) => {
  const people = page.people;
  const axes = mercer.tableAxes(page, people.coordinates.length);
  const columns = [{ name: people.one ?? "individual", kind: "text", of: (i) => people.names[i] }];
  for (const colour of people.colours.filter((c) => c.levels)) {
    columns.push({ name: colour.name, kind: "text", isSearched: colour.name !== page.value.look.classes, of: (i) => colour.levels[colour.codes[i]] });
  }
  const chosen = people.colours[page.colour];
  if (chosen && !chosen.levels) columns.push({ name: chosen.name, kind: "number", of: (i) => chosen.values[i] });
  for (const k of axes) columns.push({ name: `Dim ${k + 1}`, kind: "number", of: (i) => people.coordinates[k][i] });
  if (page.isExplored && page.spaces.curved) {
    const { coordinates } = page.space("curved");
    for (const k of page.axesOf("curved")) if (k < coordinates.length && k !== null) columns.push({ name: `curved Dim ${k + 1}`, kind: "number", of: (i) => page.coordinate(k, i, "curved") });
  }
  if (people.distances) {
    for (const k of axes) columns.push({ name: `cos2 ${k + 1}`, kind: "share", of: (i) => page.cos2([k], i) });
  }
  for (const k of axes) columns.push({ name: `contrib ${k + 1}`, kind: "share", of: (i) => page.contribution(k, i) });
  return columns;
};

// Variables, categories and the like: every measure on the axes of tables.
mercer.elementsColumns = (page, table) => {
  const axes = mercer.tableAxes(page, table.coordinates.length);
  const measured = table.measures.flatMap(({ name, kind, values }) => axes.map((k) => ({ name: `${name} ${k + 1}`, kind, of: (i) => values[k][i] })));
  return [{ name: table.one, kind: "text", of: (i) => table.names[i] }, ...measured];
};

mercer.Sheet = class {
  constructor(place, sheet, page) {
    Object.assign(this, { place, page, sheet });
    this.isOfIndividuals = sheet.id === "individuals";
    this.elements = page.value.linked[sheet.id] ?? null;
    this.caption = place.querySelector("caption").textContent.replace(/\(the first.*/, "").trim();
    this.isOnlySelected = false;
    this.define();
    if (this.isOfIndividuals || this.elements) page.listen(this);
  }

  define() {
    const { page, sheet, elements } = this;
    const columns = this.isOfIndividuals ? mercer.individualsColumns(page) : elements ? mercer.elementsColumns(page, elements) : sheet.columns;
    this.count = this.isOfIndividuals ? page.count : elements ? elements.names.length : sheet.rows.length;
    this.columns = columns.map((c, j) => ({ of: (i) => sheet.rows[i][j], ...c }));
    for (const column of this.columns) if (column.kind === "number") column.spread = mercer.spread(column, this.count);
    this.order = Array.from({ length: this.count }, (_, i) => i);
    if (elements) this.order.sort((a, b) => (page.worth(sheet.id, page.axes, b) || 0) - (page.worth(sheet.id, page.axes, a) || 0));
    this.sorted = [-1, 1];
    this.first = 0;
    this.build();
  }

  moved() {
    this.define();
  }

  coloured() {
    if (this.isOfIndividuals) this.define();
    else this.turn(0);
  }

  // The rows that are shown: searched, selected, and not left out by the filter.
  get rows() {
    const asked = (this.search ? this.search.value : "").trim().toLowerCase();
    const { page } = this;
    const of = this.isOfIndividuals ? "individuals" : this.elements ? this.sheet.id : null;
    const isKept = (i) =>
      (!this.isOnlySelected || page.mask[i]) &&
      !(of && page.isHidden(of, i, page.axes)) &&
      (!asked || this.columns.some((c) => c.kind === "text" && c.isSearched !== false && String(c.of(i)).toLowerCase().includes(asked)));
    return asked || this.isOnlySelected || (of && page.leastCos2 > 0) ? this.order.filter(isKept) : this.order;
  }

  build() {
    const tools = mercer.element("div", null, { class: "tools" });
    const button = (text, act) => {
      const made = mercer.element("button", text, { type: "button" });
      made.addEventListener("click", act);
      tools.append(made);
      return made;
    };
    if (this.count > mercer.ROWS || this.isOfIndividuals) {
      const label = mercer.element("label", "Search ");
      this.search = mercer.element("input", null, { type: "search", size: "14" });
      this.search.addEventListener("input", () => this.turn(0));
      label.append(this.search);
      tools.append(label);
    }
    button("Save as CSV", () => this.save());
    const label = mercer.element("label", null, { title: "Cells that begin like formulas are otherwise marked with an apostrophe, so that a spreadsheet does not run them." });
    this.raw = mercer.element("input", null, { type: "checkbox" });
    label.append(this.raw, " exact text");
    tools.append(label);
    if (this.count > mercer.ROWS) {
      this.back = button("‹ Back", () => this.turn(this.first - mercer.ROWS));
      this.next = button("Next ›", () => this.turn(this.first + mercer.ROWS));
    }
    this.where = mercer.element("span", "", { class: "where" });
    const table = mercer.element("table");
    const titled = mercer.element("caption", `${this.caption} `);
    titled.append(this.where);
    table.append(titled);
    const head = mercer.element("tr");
    this.heads = this.columns.map((column, j) => {
      const th = mercer.element("th", null, { scope: "col", class: column.kind });
      const sort = mercer.element("button", column.name, { type: "button" });
      sort.addEventListener("click", () => this.sort(j));
      th.append(sort);
      head.append(th);
      return th;
    });
    const thead = mercer.element("thead");
    thead.append(head);
    this.body = mercer.element("tbody");
    table.append(thead, this.body);
    const scroll = mercer.element("div", null, { class: "scroll" });
    scroll.append(table);
    this.place.replaceChildren(tools, scroll);
    if (this.isOfIndividuals) this.follow();
    this.draw();
  }

  follow() {
    const idAt = (event) => {
      const row = event.target.closest("tr[data-id]");
      return row ? Number(row.dataset.id) : -1;
    };
    this.body.addEventListener("click", (event) => {
      if (idAt(event) >= 0) this.page.toggle(idAt(event));
    });
    this.body.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && idAt(event) >= 0) this.page.toggle(idAt(event));
    });
    this.body.addEventListener("mouseover", (event) => this.page.point(idAt(event)));
    this.body.addEventListener("mouseleave", () => this.page.point(-1));
  }

  sort(j) {
    // Numbers begin with the largest, words with the first.
    const start = this.columns[j].kind === "text" ? 1 : -1;
    this.sorted = [j, this.sorted[0] === j ? -this.sorted[1] : start];
    const [, way] = this.sorted;
    const keys = this.order.map((_, i) => this.columns[j].of(i));
    const collator = new Intl.Collator(undefined, { numeric: true });
    const isEmpty = (v) => v === null || v === undefined || Number.isNaN(v);
    this.order.sort((a, b) => {
      const [u, v] = [keys[a], keys[b]];
      if (isEmpty(u) || isEmpty(v)) return isEmpty(u) - isEmpty(v);
      const found = typeof u === "string" ? collator.compare(u, v) : u - v;
      return way * found || a - b;
    });
    this.heads.forEach((th, k) => {
      if (k === j) th.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
      else th.removeAttribute("aria-sort");
    });
    this.turn(0);
  }

  turn(first) {
    this.first = Math.max(0, first);
    this.draw();
  }

  draw() {
    const rows = this.rows;
    if (this.first >= rows.length) this.first = 0;
    const most = this.isPrinted ? mercer.PRINTED : mercer.ROWS;
    const shown = rows.slice(this.first, this.first + most);
    this.body.replaceChildren(
      ...shown.map((i) => {
        const tr = mercer.element("tr", null, this.isOfIndividuals ? { "data-id": i, tabindex: "0" } : {});
        if (this.isOfIndividuals && this.page.mask[i]) tr.className = "selected";
        for (const column of this.columns) {
          const text = mercer.shown(column.of(i), column.kind, column.spread);
          // A cell may be narrower than a long text, which is then read by pointing at it.
          tr.append(mercer.element("td", text, { class: column.kind, ...(text.length > mercer.LONG ? { title: text } : {}) }));
        }
        return tr;
      }),
    );
    const asked = this.search?.value.trim();
    if (!shown.length && asked) {
      const tr = mercer.element("tr");
      tr.append(mercer.element("td", `No row has “${mercer.cut(asked, 60)}” in its name or its factors.`, { class: "text none", colspan: this.columns.length }));
      this.body.append(tr);
    }
    const last = this.first + shown.length;
    const left = this.count - rows.length;
    const hidden = left && !this.isOnlySelected && this.page.leastCos2 > 0 ? `, ${left} left out by the filter of cos2` : "";
    const chosen = this.isOnlySelected ? " selected" : "";
    const isPart = rows.length > shown.length;
    const some = isPart ? `rows ${mercer.grouped(this.first + 1)} to ${mercer.grouped(last)} of ${mercer.grouped(rows.length)}${chosen}` : `${mercer.grouped(rows.length)}${chosen || " rows"}`;
    this.where.textContent = isPart || chosen || hidden ? `(${some}${hidden})` : "";
    if (this.back) {
      this.back.disabled = this.first === 0;
      this.next.disabled = last >= rows.length;
    }
  }

  // On paper every row stands, or it is said how many do not.
  print(isPrinted) {
    this.isPrinted = isPrinted;
    this.turn(0);
  }

  marked() {
    if (!this.isOfIndividuals) return;
    for (const tr of this.body.children) tr.classList.toggle("selected", Boolean(this.page.mask[Number(tr.dataset.id)]));
    if (this.isOnlySelected) this.turn(0);
  }

  text(rows = this.rows) {
    const cells = rows.map((i) => this.columns.map((column) => column.of(i)));
    return mercer.csv(this.columns.map((c) => c.name), cells, this.raw.checked);
  }

  save() {
    mercer.saveTable(`${this.sheet.id}.csv`, this.text());
  }
};
