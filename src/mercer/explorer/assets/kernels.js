// The kernel of the curved map: chosen from a few, widened by a slider, or written and checked.

import { mercer } from "./text.js";

mercer.USUAL = 'gaussian(bandwidth="median")';

mercer.FAMILIES = [
  [mercer.USUAL, "Gaussian", "Near is alike, far is unlike; the bandwidth says how near. A smooth map."],
  ['laplacian(bandwidth="median", norm=2)', "Laplacian", "As the Gaussian, with a sharp peak: it sees finer differences and fewer outliers."],
  ['matern(nu=1.5, bandwidth="median")', "Matérn 3/2", "Between the Laplacian and the Gaussian."],
  ['rational_quadratic(bandwidth="median")', "Rational quadratic", "Many bandwidths at once: near and far structure together."],
  ["polynomial(degree=2)", "Quadratic", "Columns, their squares and their products: bends that a parabola explains."],
  ["linear()", "Linear", "The straight map itself, to compare with."],
];

// What sequences and networks are compared by; the first is what an analysis takes by itself.
mercer.WHOLE = {
  sequences: [
    [mercer.USUAL, "Words of 3 letters", "How often each word of three letters stands in both; length does not count."],
    ["string_spectrum(2).normalised()", "Words of 2 letters", "As above, with shorter words: coarser, for short sequences."],
    ["string_spectrum(5).normalised()", "Words of 5 letters", "Longer words: only near relatives share some."],
    ["string_bounded_range(4).normalised()", "Words of up to 4", "Words of one to four letters together."],
    ["gappy_spectrum(3, 1).normalised()", "Words with a gap", "Words of three letters with room for one other between."],
  ],
  networks: [
    [mercer.USUAL, "Neighbourhoods", "Weisfeiler–Lehman: which neighbourhoods, up to three steps wide, both have and how often."],
    ["shortest_path().normalised()", "Shortest paths", "How many pairs of nodes are so many steps apart."],
    ["graphlets().normalised()", "Small parts", "Which arrangements of three and more nodes both hold."],
    ["vertex_histogram().normalised()", "Labels of nodes", "How many nodes of each label: edges do not count."],
  ],
};

// Two places where a kernel is written: that of the map, and one to compare it with.
mercer.WRITTEN = {
  first: { area: "written", verdict: "verdict", use: "use", take: (kernel) => mercer.change({ kernel, bandwidth: null }) },
  second: { area: "against-written", verdict: "against-verdict", use: "against-use", take: (against) => mercer.change({ against }) },
};

mercer.OTHER = "another"; // to be written, as the value of an option

// What a map can be compared with: nothing, some kernels, or any that is written.
mercer.againstRail = (none, families) => {
  const { state } = mercer.explorer;
  const select = mercer.byId("against");
  const option = (text, value) => mercer.element("option", text, { value });
  select.replaceChildren(option(none, ""), ...families.map(([text, name]) => option(name, text)), option("Another…", mercer.OTHER));
  const isOwn = Boolean(state.against) && !families.some(([text]) => text === state.against);
  select.value = isOwn ? mercer.OTHER : state.against ?? "";
  mercer.byId("against-part").hidden = !isOwn;
  if (isOwn) mercer.byId("against-written").value = state.against;
};

mercer.wholeRail = (made) => {
  const { state } = mercer.explorer;
  const families = mercer.WHOLE[made.kind];
  const known = families.find(([text]) => text === state.kernel);
  const options = families.map(([text, name]) => mercer.element("option", name, { value: text }));
  if (!known) options.push(mercer.element("option", "Written below", { value: state.kernel }));
  mercer.byId("family").replaceChildren(...options);
  mercer.byId("family").value = state.kernel;
  mercer.byId("family-says").textContent = known ? known[2] : "Your own.";
  mercer.byId("slider-row").hidden = true;
  mercer.byId("written-part").hidden = false;
  mercer.showWritten(made.kernel);
  mercer.byId("against").parentElement.hidden = false;
  mercer.againstRail("nothing", families.slice(1).filter(([text]) => text !== state.kernel));
};

mercer.kernelRail = (made) => {
  const { state } = mercer.explorer;
  const part = mercer.byId("kernel-part");
  const kind = made?.kind ?? mercer.explorer.source?.kind;
  const isWhole = kind in mercer.WHOLE;
  part.querySelector("h2").textContent = isWhole ? "Kernel" : "Curved map";
  if (isWhole) {
    part.hidden = false;
    return mercer.wholeRail(made ?? { kind, kernel: state.kernel });
  }
  part.hidden = ["distances", "similarities"].includes(kind) || (Boolean(made) && made.usual === null && mercer.byId("refused").hidden);
  const isNumbers = !made || made.analysis === "pca";
  const families = mercer.FAMILIES.filter(([text]) => isNumbers || text === mercer.USUAL);
  const usual = state.kernel.replace(/bandwidth=[\d.e+-]+/, 'bandwidth="median"'); // a family with a bandwidth of its own is that family
  const known = families.find(([text]) => text === usual);
  const family = mercer.byId("family");
  const options = families.map(([text, name]) => mercer.element("option", name, { value: text }));
  if (!known) options.push(mercer.element("option", "Written below", { value: state.kernel }));
  family.replaceChildren(...options);
  family.value = known ? known[0] : state.kernel;
  const written = isNumbers ? "Your own." : "";
  mercer.byId("family-says").textContent = known ? (isNumbers ? known[2] : "The Gaussian of the distance that the straight map measures.") : written;
  mercer.byId("written-part").hidden = !isNumbers;
  mercer.byId("written-part").open ||= !known;
  const hasWidth = /bandwidth|gaussian|laplacian|matern|quadratic\(/.test(state.kernel) && made?.usual > 0;
  mercer.byId("slider-row").hidden = !hasWidth;
  if (hasWidth) mercer.setSlider(made.bandwidth ?? made.usual, made.usual);
  // What is written follows the state, bandwidth and all; what a reader began to write stays.
  mercer.showWritten(mercer.writtenForm(state, made));
  mercer.byId("against").parentElement.hidden = !isNumbers;
  mercer.againstRail("straight map", families.filter(([text]) => text !== "linear()"));
  if (!isNumbers) mercer.byId("against-part").hidden = true;
};

mercer.showWritten = (now) => {
  const area = mercer.byId("written");
  if (now === area.dataset.shown) return;
  Object.assign(area, { value: now });
  area.dataset.shown = now;
  if (mercer.byId("written-part").open) mercer.judge(now);
};

// The kernel of the map as text: the slider puts its bandwidth wherever the kernel has one.
mercer.writtenForm = (state, made) => {
  if (state.bandwidth === null) return state.kernel;
  const said = /\bcurved=(['"])(.*?)\1/.exec(made?.code ?? "");
  return said ? said[2] : state.kernel.replace(/bandwidth *= *("[^"]*"|[\d.e+-]+)/g, `bandwidth=${state.bandwidth}`);
};

// The slider is logarithmic: 100 steps are a factor of 30 from the median.
mercer.widthAt = (step, usual) => usual * 30 ** (step / 100);

mercer.setSlider = (width, usual) => {
  const slider = mercer.byId("bandwidth");
  slider.dataset.usual = usual;
  slider.value = Math.round((100 * Math.log(width / usual)) / Math.log(30));
  mercer.sayWidth(width, usual);
};

mercer.sayWidth = (width, usual) => {
  const ratio = width / usual;
  const times = Math.abs(ratio - 1) < 0.01 ? "the median" : `${Number(ratio.toPrecision(ratio < 0.1 ? 1 : 2))} × median`;
  mercer.byId("bandwidth-shown").textContent = `${Number(width.toPrecision(3))}, ${times}`;
};

// While the slider moves the curved map follows: one question at a time, the last one counts.
mercer.sliding = async (width) => {
  const { explorer } = mercer;
  explorer.next = width;
  if (explorer.isSliding) return;
  explorer.isSliding = true;
  try {
    while (explorer.next !== null) {
      const { next: bandwidth, asked } = explorer;
      explorer.next = null;
      const answer = await mercer.ask("slide", { state: { ...explorer.state, bandwidth } });
      const found = mercer.unpacked(await answer.json());
      if (explorer.asked === asked) mercer.slide(found); // else the map is of a newer state
    }
  } catch (error) {
    if (!error.isQuiet) mercer.toast(error.message);
  } finally {
    explorer.isSliding = false;
  }
};

mercer.hearKernels = () => {
  const slider = mercer.byId("bandwidth");
  const width = () => mercer.widthAt(Number(slider.value), Number(slider.dataset.usual));
  slider.addEventListener("input", () => {
    mercer.sayWidth(width(), Number(slider.dataset.usual));
    if (mercer.explorer.value?.explorer.slides) mercer.sliding(width());
  });
  slider.addEventListener("change", () => mercer.change({ bandwidth: Number(width().toPrecision(6)) }));
  mercer.byId("usual").addEventListener("click", () => {
    const isUsual = mercer.explorer.state.kernel.includes('"median"'); // else the kernel has a bandwidth of its own
    mercer.change({ bandwidth: isUsual ? null : Number(slider.dataset.usual) });
  });
  mercer.byId("family").addEventListener("change", (event) => mercer.change({ kernel: event.target.value, bandwidth: null }));
  mercer.byId("against").addEventListener("change", (event) => {
    if (event.target.value !== mercer.OTHER) return mercer.change({ against: event.target.value || null });
    const area = mercer.byId("against-written");
    area.value ||= mercer.explorer.value?.explorer.kernel ?? mercer.explorer.state.kernel;
    mercer.byId("against-part").hidden = false;
    area.focus();
    return mercer.judge(area.value, "second");
  });
  for (const [which, { area: id, use }] of Object.entries(mercer.WRITTEN)) {
    const area = mercer.byId(id);
    area.addEventListener("input", () => {
      clearTimeout(area.timer);
      area.timer = setTimeout(() => mercer.judge(area.value, which), 200);
    });
    area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey) [event.preventDefault(), mercer.useWritten(which)];
    });
    mercer.byId(use).addEventListener("click", () => mercer.useWritten(which));
  }
  mercer.byId("written-part").addEventListener("toggle", (event) => event.target.open && mercer.judge(mercer.byId("written").value));
};

// The verdict on what is written: proved, or refused at a place, or refuted by a witness. A text is
// asked about once at a time, for a question ends the one before.
mercer.judge = (text, which = "first") => {
  const { judged } = mercer.explorer;
  if (judged?.text === text.trim() && judged.which === which) return judged.found;
  const asked = { text: text.trim(), which, found: mercer.judgement(text, which) };
  mercer.explorer.judged = asked;
  asked.found.finally(() => mercer.explorer.judged === asked && (mercer.explorer.judged = null));
  return asked.found;
};

mercer.judgement = async (text, which) => {
  const { area, verdict, use } = mercer.WRITTEN[which];
  const place = mercer.byId(verdict);
  try {
    const found = await (await mercer.ask("kernel", { text })).json();
    if (mercer.byId(area).value.trim() !== text.trim()) return null; // it was written on
    place.className = `verdict ${found.ok ? "good" : "bad"}`;
    const parts = [];
    if (found.at !== null && found.at !== undefined && found.at < text.length) {
      const code = mercer.element("code", text.slice(Math.max(0, found.at - 20), found.at));
      code.append(mercer.element("span", text.slice(found.at, found.at + 12), { class: "mark" }));
      parts.push(code, mercer.element("br"));
    }
    parts.push(found.ok ? `✓ ${found.said}` : found.said);
    if (found.witness) parts.push(mercer.witness(found.witness));
    if (found.proof.length) parts.push(mercer.element("br"), mercer.element("span", found.proof.join("; "), { class: "quiet" }));
    place.replaceChildren(...parts);
    mercer.byId(use).disabled = !found.ok;
    return found;
  } catch (error) {
    if (!error.isQuiet) place.textContent = error.message;
    return null;
  }
};

// Who refutes a kernel: individuals with weights whose weighted sum would have a negative square.
mercer.witness = ({ value, rows, count }) => {
  const table = mercer.element("table", null, { class: "witness" });
  table.append(mercer.element("caption", `∑ cᵢcⱼk(xᵢ, xⱼ) = ${mercer.shown(value, "number")}`));
  for (const { name, weight } of rows) {
    const line = mercer.element("tr");
    line.append(mercer.element("td", name, { class: "text" }), mercer.element("td", mercer.shown(weight, "number"), { class: "number" }));
    table.append(line);
  }
  if (count > rows.length) table.append(mercer.element("tr", `and ${count - rows.length} more`));
  return table;
};

// A kernel that is judged is used, unless another change was asked for meanwhile.
mercer.useWritten = async (which = "first") => {
  const { area, take } = mercer.WRITTEN[which];
  const place = mercer.byId(area);
  const text = place.value.trim();
  const { asked } = mercer.explorer;
  clearTimeout(place.timer);
  const found = await mercer.judge(text, which);
  if (found?.ok && mercer.explorer.asked === asked) take(text);
};
