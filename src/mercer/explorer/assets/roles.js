// The left rail: what each column is used for, moved by dragging or by a select, and the method.

import { mercer } from "./text.js";

mercer.USES = {
  active: ["Active", "They make the axes."],
  supplementary: ["Supplementary", "Placed on axes that others make."],
  colour: ["Colour", "Groups, coloured and outlined."],
  name: ["Name", "What the rows are called."],
  ignored: ["Ignored", "Left out."],
};

mercer.KINDS = { number: "#", factor: "A", identifier: "id", date: "d", text: "t" };

mercer.METHODS = { "": "Chosen for you", pca: "PCA (numbers)", famd: "FAMD (mixed)", mca: "MCA (categories)", ca: "CA (counts)", mds: "Classical scaling", stress: "Stress scaling" };

mercer.MISSING = { mean: "mean, or a level", pca: "from other columns", drop: "leave out rows", error: "ask" };

mercer.MOST_TURNED = 50000; // rows above which the columns are not offered as individuals

mercer.put = (name, use) => {
  const { explorer } = mercer;
  const now = mercer.columns?.find((column) => column.name === name);
  if (!now || now.use === use) return;
  const uses = { ...explorer.state.uses, [name]: use };
  if (use === "colour") for (const [other, found] of Object.entries(uses)) if (other !== name && found === "colour") uses[other] = "supplementary";
  if (use === "name") for (const [other, found] of Object.entries(uses)) if (other !== name && found === "name") uses[other] = "ignored";
  explorer.wanted = use === "colour" ? name : null;
  mercer.change({ uses });
};

// Why a column is left out, in a word or two; the whole stands where the pointer rests.
mercer.reason = (why) => {
  const known = [[/have the same/, "one value"], [/dates/, "dates"], [/texts/, "texts"], [/numbers the rows/, "row numbers"]];
  return known.find(([pattern]) => pattern.test(why))?.[1] ?? "";
};

// Numbers can be read as labels of groups, and such labels as numbers again: how, where that is so.
mercer.reading = ({ name, kind }) => {
  const { factors, transposed } = mercer.explorer.state;
  if (factors.includes(name)) return "Read as numbers";
  return kind === "number" && !transposed ? "Read as labels" : null;
};

mercer.reread = (name) => {
  const { factors, uses } = mercer.explorer.state;
  const { [name]: _, ...others } = uses;
  return mercer.change({ factors: factors.includes(name) ? factors.filter((one) => one !== name) : [...factors, name], uses: others });
};

mercer.kindOf = ({ name, kind }, reading) => {
  if (!reading) return mercer.element("span", mercer.KINDS[kind], { class: "kind", title: kind });
  const button = mercer.element("button", mercer.KINDS[kind], { type: "button", class: "kind", tabindex: -1, title: `${kind}: press to ${reading.toLowerCase()}`, "aria-label": `${name}: ${reading.toLowerCase()}` });
  button.addEventListener("click", () => mercer.reread(name));
  return button;
};

// Whether the columns are the individuals: what was asked of the others is of no column then.
mercer.transpose = (transposed) => mercer.change({ transposed, uses: {}, factors: [], method: null, scale: null });

mercer.columnItem = (column) => {
  const item = mercer.element("li", null, { class: "column", draggable: "true", "data-column": column.name, title: column.why ? `${column.name}: ${column.why}` : column.name });
  const name = mercer.element("span", column.name || "(no name)", { class: "name" });
  const reading = mercer.reading(column);
  const kind = mercer.kindOf(column, reading);
  const select = mercer.element("select", null, { "aria-label": `Use of ${column.name}` });
  for (const [use, [title]] of Object.entries(mercer.USES)) select.append(mercer.element("option", title, { value: use }));
  if (reading) select.append(mercer.element("hr"), mercer.element("option", reading, { value: "reading" }));
  select.value = column.use;
  select.addEventListener("change", () => (select.value === "reading" ? mercer.reread(column.name) : mercer.put(column.name, select.value)));
  item.append(kind, name);
  if (column.missing) item.append(mercer.element("span", `${column.missing} missing`, { class: "lack" }));
  const why = column.use === "ignored" ? mercer.reason(column.why ?? "") : "";
  if (why) item.append(mercer.element("span", why, { class: "why" }));
  item.append(select);
  item.addEventListener("dragstart", (event) => event.dataTransfer.setData("text/plain", column.name));
  return item;
};

mercer.LISTED = 200; // columns of a use that are listed at once

// Of very many columns the first are listed, and those whose names hold what is sought.
mercer.columnSearch = (columns, list) => {
  const field = mercer.element("input", null, { type: "search", class: "seek", placeholder: `find one of ${mercer.grouped(columns.length)}`, "aria-label": "Find a column" });
  field.addEventListener("input", () => {
    const sought = field.value.trim().toLowerCase();
    const found = columns.filter(({ name }) => name.toLowerCase().includes(sought));
    list.replaceChildren(...found.slice(0, mercer.LISTED).map(mercer.columnItem));
  });
  return field;
};

// Columns by their use; a use that has none is a place to drop one.
mercer.drawColumns = (columns) => {
  mercer.columns = columns;
  const place = mercer.byId("columns");
  place.parentElement.hidden = !columns.length;
  place.replaceChildren(
    ...Object.entries(mercer.USES).map(([use, [title, says]]) => {
      const mine = columns.filter((column) => column.use === use);
      const box = mercer.element("div", null, { class: mine.length > 1 ? "use" : "use brief", "data-use": use });
      box.append(mercer.element("h3", mine.length > 1 ? `${title} (${mine.length})` : title, { title: says }));
      if (mine.length) {
        const list = mercer.element("ul", null, { class: "columns" });
        if (mine.length > mercer.LISTED) box.append(mercer.columnSearch(mine, list));
        list.append(...mine.slice(0, mercer.LISTED).map(mercer.columnItem));
        box.append(list);
      } else box.append(mercer.element("p", says));
      box.addEventListener("dragover", (event) => {
        event.preventDefault();
        box.classList.add("over");
      });
      box.addEventListener("dragleave", () => box.classList.remove("over"));
      box.addEventListener("drop", (event) => {
        event.preventDefault();
        box.classList.remove("over");
        mercer.put(event.dataTransfer.getData("text/plain"), use);
      });
      return box;
    }),
  );
};

// The rail says what was done; where nothing could be, what was asked for.
mercer.rail = (made) => {
  const { state, source } = mercer.explorer;
  const asked = (source?.columns ?? []).map((column) => ({ ...column, use: state.uses[column.name] ?? column.use }));
  mercer.drawColumns(made?.columns.length && mercer.byId("refused").hidden ? made.columns : asked);
  const isPairs = !(source?.columns ?? []).length;
  mercer.byId("individuals-row").hidden = isPairs || (source.count > mercer.MOST_TURNED && !state.transposed);
  mercer.byId("individuals").value = state.transposed ? "columns" : "rows";
  const isWhole = (made?.kind ?? source?.kind) in mercer.WHOLE;
  mercer.byId("method").parentElement.hidden = isWhole || (made?.kind ?? source?.kind) === "similarities";
  mercer.byId("method-part").querySelector("h2").textContent = isPairs ? "Map" : "Straight map";
  const method = mercer.byId("method");
  const options = Object.entries(mercer.METHODS).filter(([name]) => !isPairs || ["", "mds", "stress"].includes(name));
  method.replaceChildren(...options.map(([name, text]) => mercer.element("option", text, { value: name })));
  method.value = state.method ?? "";
  const isScaled = !["mca", "ca", "mds", "stress", "famd"].includes(made?.analysis);
  mercer.byId("scale-row").hidden = !isScaled || isPairs;
  mercer.byId("scale").checked = made ? made.scaled : state.scale !== false;
  Object.assign(mercer.byId("axes"), { value: state.axes ?? "", placeholder: made?.analysis === "stress" ? "2" : "up to 10" });
  const lacks = (source?.columns ?? []).some((column) => column.missing);
  mercer.byId("missing-row").hidden = !lacks;
  mercer.byId("missing").value = state.missing;
  mercer.kernelRail(made);
};

mercer.hearRail = () => {
  const on = (id, act) => mercer.byId(id).addEventListener("change", (event) => act(event.target));
  on("method", (it) => mercer.change({ method: it.value || null, scale: null }));
  on("scale", (it) => mercer.change({ scale: it.checked }));
  on("axes", (it) => {
    const count = Math.round(Number(it.value));
    mercer.change({ axes: it.value === "" || !Number.isFinite(count) ? null : Math.min(Math.max(count, 1), 100) });
  });
  on("individuals", (it) => mercer.transpose(it.value === "columns"));
  on("missing", (it) => mercer.change({ missing: it.value }));
  mercer.byId("missing").replaceChildren(...Object.entries(mercer.MISSING).map(([value, text]) => mercer.element("option", text, { value })));
  mercer.hearKernels();
};
