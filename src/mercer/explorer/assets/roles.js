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

mercer.columnItem = (column) => {
  const item = mercer.element("li", null, { class: "column", draggable: "true", "data-column": column.name, title: column.why ? `${column.name}: ${column.why}` : column.name });
  const name = mercer.element("span", column.name || "(no name)", { class: "name" });
  const kind = mercer.element("span", mercer.KINDS[column.kind], { class: "kind", title: column.kind });
  const select = mercer.element("select", null, { "aria-label": `Use of ${column.name}` });
  for (const [use, [title]] of Object.entries(mercer.USES)) select.append(mercer.element("option", title, { value: use }));
  select.value = column.use;
  select.addEventListener("change", () => mercer.put(column.name, select.value));
  item.append(kind, name);
  if (column.missing) item.append(mercer.element("span", `${column.missing} missing`, { class: "lack" }));
  const why = column.use === "ignored" ? mercer.reason(column.why ?? "") : "";
  if (why) item.append(mercer.element("span", why, { class: "why" }));
  item.append(select);
  item.addEventListener("dragstart", (event) => event.dataTransfer.setData("text/plain", column.name));
  return item;
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
        list.append(...mine.map(mercer.columnItem));
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
  mercer.byId("axes").value = state.axes ?? "";
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
  on("missing", (it) => mercer.change({ missing: it.value }));
  mercer.byId("missing").replaceChildren(...Object.entries(mercer.MISSING).map(([value, text]) => mercer.element("option", text, { value })));
  mercer.hearKernels();
};
