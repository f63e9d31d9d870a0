// Tables that sort, turn their pages, and leave as CSV; one row for each element.

mercer.ROWS = 25;

mercer.individualsSheet = (page, sheet) => {
  const people = page.people;
  const axes = [0, 1, 2].slice(0, Math.min(3, people.coordinates.length));
  const columns = [{ name: "individual", kind: "text", of: (i) => people.names[i] }];
  for (const colour of people.colours.filter((c) => c.levels)) {
    columns.push({ name: colour.name, kind: "text", of: (i) => colour.levels[colour.codes[i]] });
  }
  for (const k of axes) {
    columns.push({ name: `Dim ${k + 1}`, kind: "number", of: (i) => people.coordinates[k][i] });
  }
  if (people.distances) {
    for (const k of axes) {
      columns.push({ name: `cos2 ${k + 1}`, kind: "share", of: (i) => page.cos2([k], i) });
    }
  }
  for (const k of axes) {
    columns.push({ name: `contrib ${k + 1}`, kind: "share", of: (i) => page.contribution(k, i) });
  }
  return { ...sheet, columns, count: page.count };
};

mercer.Sheet = class {
  constructor(place, sheet, page) {
    this.place = place;
    this.page = page;
    this.isOfIndividuals = sheet.id === "individuals";
    this.sheet = this.isOfIndividuals ? mercer.individualsSheet(page, sheet) : { ...sheet, count: sheet.rows.length };
    this.columns = this.sheet.columns.map((c, j) => ({ of: (i) => sheet.rows[i][j], ...c }));
    this.order = Array.from({ length: this.sheet.count }, (_, i) => i);
    this.sorted = [-1, 1];
    this.first = 0;
    this.isOnlySelected = false;
    this.build();
    if (this.isOfIndividuals) page.listen(this);
  }

  get rows() {
    const asked = (this.search ? this.search.value : "").trim().toLowerCase();
    const isKept = (i) =>
      (!this.isOnlySelected || this.page.mask[i]) &&
      (!asked || this.columns.some((c) => c.kind === "text" && String(c.of(i)).toLowerCase().includes(asked)));
    return asked || this.isOnlySelected ? this.order.filter(isKept) : this.order;
  }

  build() {
    const caption = this.place.querySelector("caption").textContent.replace(/\(the first.*/, "").trim();
    const tools = mercer.element("div", null, { class: "tools" });
    const button = (text, act) => {
      const made = mercer.element("button", text, { type: "button" });
      made.addEventListener("click", act);
      tools.append(made);
      return made;
    };
    if (this.sheet.count > mercer.ROWS || this.isOfIndividuals) {
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
    if (this.sheet.count > mercer.ROWS) {
      this.back = button("‹ Back", () => this.turn(this.first - mercer.ROWS));
      this.next = button("Next ›", () => this.turn(this.first + mercer.ROWS));
    }
    this.where = mercer.element("span", "", { class: "where" });
    const table = mercer.element("table");
    const titled = mercer.element("caption", `${caption} `);
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
    const shown = rows.slice(this.first, this.first + mercer.ROWS);
    this.body.replaceChildren(
      ...shown.map((i) => {
        const tr = mercer.element("tr", null, this.isOfIndividuals ? { "data-id": i, tabindex: "0" } : {});
        if (this.isOfIndividuals && this.page.mask[i]) tr.className = "selected";
        for (const column of this.columns) {
          tr.append(mercer.element("td", mercer.shown(column.of(i), column.kind), { class: column.kind }));
        }
        return tr;
      }),
    );
    const last = this.first + shown.length;
    this.where.textContent = rows.length > mercer.ROWS ? `(rows ${this.first + 1} to ${last} of ${rows.length})` : "";
    if (this.back) {
      this.back.disabled = this.first === 0;
      this.next.disabled = last >= rows.length;
    }
  }

  marked() {
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
