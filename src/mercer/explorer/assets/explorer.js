// The explorer: one state, held in the address, from which the server makes everything that is shown.

import { mercer } from "./text.js";
import "./stage.js";
import "./beside.js";
import "./kernels.js";
import "./roles.js";

mercer.blank = () => ({ uses: {}, method: null, scale: null, kernel: mercer.USUAL, bandwidth: null, axes: null, missing: "mean", against: null, exact: false, classes: null, factors: [], transposed: false });

mercer.explorer = {
  state: mercer.blank(),
  past: [],
  future: [],
  example: null,
  file: null,
  visitor: null,
  asked: 0,
  brought: 0,
};

// What to do where the server has ended: in the frame of a notebook, its cell starts it.
mercer.isFramed = window.parent !== window;
mercer.AGAIN = mercer.isFramed ? "Run the cell again." : "Start it again with mercer serve.";

// What a browser keeps for a page; in the frame of another site it may keep nothing, and says so by
// an error.
mercer.keep = (place, name, value) => {
  try {
    window[place].setItem(name, value);
  } catch {
    // The next page begins anew.
  }
};

mercer.keptIn = (place, name) => {
  try {
    return window[place].getItem(name);
  } catch {
    return null;
  }
};

mercer.byId = (id) => document.getElementById(id);

// A question to the server; what it refuses is an error with what can be pressed.
mercer.ask = async (what, body, query = "") => {
  const token = new URLSearchParams(location.search).get("token") ?? "";
  const headers = { "mercer-token": token };
  if (mercer.explorer.visitor) headers["mercer-visitor"] = mercer.explorer.visitor;
  const isFile = body instanceof Blob;
  let answer;
  try {
    answer = await fetch(`/api/${what}${query}`, { method: "POST", headers, body: isFile ? body : JSON.stringify(body ?? {}) });
  } catch {
    mercer.gone(`The server does not answer: it has stopped, or this machine was asleep. ${mercer.AGAIN}`);
    throw Object.assign(new Error("gone"), { isQuiet: true, isGone: true });
  }
  const isClosed = [403, 410, 503].includes(answer.status);
  if (!isClosed) mercer.byId("gone").hidden = true;
  if (answer.status === 204) throw Object.assign(new Error("nobody waits for this any more"), { isQuiet: true, isReplaced: true });
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({ error: answer.statusText }));
  if (answer.status === 403) told.error = `The server was started anew: ${mercer.isFramed ? "run the cell again" : "open the address that mercer serve has printed"}.`;
  if (isClosed) mercer.gone(told.error);
  throw Object.assign(new Error(told.error), { ways: told.ways ?? [], isQuiet: isClosed });
};

mercer.gone = (text) => {
  const place = mercer.byId("gone");
  const again = mercer.element("button", "Try again", { type: "button" });
  again.addEventListener("click", () => mercer.retry(again));
  place.replaceChildren(text, again);
  place.hidden = false;
  mercer.byId("progress").hidden = true;
  mercer.stand("gone");
};

// Ask whether the server is there again; the page stays as it is until it answers.
mercer.retry = async (button) => {
  const { explorer } = mercer;
  button.disabled = true;
  try {
    const { visitor, examples, most, source } = await (await mercer.ask("visit")).json();
    mercer.keep("sessionStorage", "mercer-visitor", visitor);
    Object.assign(explorer, { visitor, examples, most });
    if (explorer.example) await mercer.ask("open", { example: explorer.example });
    else if (explorer.source && source?.name !== explorer.source.name) {
      return mercer.gone(`The server is there again and no longer has ${explorer.source.name}: drop the file here, and the same state is made of it.`);
    }
    if (explorer.source) await mercer.compute();
    else await mercer.begin(source);
  } catch (error) {
    if (error.isGone) mercer.toast("The server still does not answer");
    else mercer.gone(error.message);
  }
};

// The state of the page; what needs an analysis is disabled where there is none.
mercer.stand = (state) => {
  document.body.dataset.state = state;
  if (state === "loading") return;
  const isShown = Boolean(mercer.explorer.value) && ["ready", "gone"].includes(state);
  for (const id of ["copy-code", "copy-command", "save"]) mercer.byId(id).disabled = !isShown;
};

// The state of an answer; whoever looks for another file meanwhile goes on to do so.
mercer.settle = (state) => mercer.stand(mercer.byId("welcome").hidden ? state : "empty");

mercer.toast = (text) => {
  const place = mercer.byId("toast");
  place.textContent = text;
  place.hidden = false;
  clearTimeout(mercer.toasting);
  mercer.toasting = setTimeout(() => (place.hidden = true), 2200);
};

// A change of the state: it can be undone, stands in the address, and is computed.
mercer.change = (part) => {
  const { explorer } = mercer;
  explorer.past.push({ state: explorer.state, look: mercer.page?.look ?? null });
  explorer.future = [];
  // What was made exact was so for the map before: the next begins as a preview again.
  const exact = "classes" in part ? explorer.state.exact : false;
  explorer.state = { ...explorer.state, exact, ...part };
  return mercer.compute();
};

mercer.step = (from, to) => {
  const { explorer } = mercer;
  if (!explorer[from].length) return;
  explorer[to].push({ state: explorer.state, look: mercer.page?.look ?? null });
  const { state, look } = explorer[from].pop();
  const isLook = JSON.stringify(state) === JSON.stringify(explorer.state) && mercer.page && mercer.byId("refused").hidden;
  Object.assign(explorer, { state, look });
  if (!isLook) return mercer.compute();
  mercer.seeAgain(mercer.page, look);
  mercer.steps();
};

// Axes, colour and filter as they were, of the same answer.
mercer.seeAgain = (page, look) => {
  const { explorer } = mercer;
  Object.assign(explorer, { isStepping: true, look: null });
  page.recall(look);
  page.tell("moved", page);
  page.tell("coloured", page);
  mercer.controls(page);
  explorer.isStepping = false;
};

// Menus, sliders and the steps that can be undone return to what the map shows.
mercer.restore = () => {
  const { explorer } = mercer;
  if (!explorer.value || !explorer.answered || !mercer.byId("refused").hidden) return;
  Object.assign(explorer, explorer.answered, { past: [...explorer.answered.past], future: [...explorer.answered.future] });
  mercer.rail(explorer.value.explorer);
  mercer.steps();
};

mercer.steps = () => {
  mercer.byId("undo").disabled = !mercer.explorer.past.length;
  mercer.byId("redo").disabled = !mercer.explorer.future.length;
};

// What differs from the usual, as the address holds it; of a file that was read here, its name.
mercer.remember = () => {
  const { explorer, page } = mercer;
  const usual = mercer.blank();
  const kept = Object.entries(explorer.state).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(usual[name]));
  const view = page && explorer.value ? { look: page.look } : {};
  const told = { ...(explorer.example ? { example: explorer.example } : {}), ...(explorer.file ? { file: explorer.file } : {}), ...Object.fromEntries(kept), ...view };
  history.replaceState(null, "", `${location.pathname}${location.search}#${encodeURIComponent(JSON.stringify(told))}`);
};

mercer.recall = () => {
  try {
    const { example = null, file = null, look = null, ...state } = JSON.parse(decodeURIComponent(location.hash.slice(1)) || "{}");
    const known = Object.keys(mercer.blank());
    return { example, file, look, state: { ...mercer.blank(), ...Object.fromEntries(Object.entries(state).filter(([name]) => known.includes(name))) } };
  } catch {
    return { example: null, file: null, look: null, state: mercer.blank() };
  }
};

mercer.waits = []; // what is waited for, the last begun at the end

// How far the work is, once it takes longer than a moment.
mercer.waiting = (label, kind = "analysis") => {
  const place = mercer.byId("progress");
  const [bar, text, button] = place.children;
  const begun = performance.now();
  let isOver = false;
  const cancel = () => mercer.ask("cancel", kind === "refine" ? { kind } : {}).catch(() => {});
  const look = async () => {
    // Whoever began last has the bar, until they are done.
    if (mercer.waits.at(-1) !== look) return;
    if (place.hidden || button.onclick !== cancel) text.textContent = label;
    place.hidden = false;
    button.onclick = cancel;
    const { done, total, residuals } = await mercer.ask("progress", { kind }).then((a) => a.json()).catch(() => ({ done: 0, total: 0, residuals: [] }));
    if (isOver || mercer.waits.at(-1) !== look) return;
    if (total > 1) bar.style.setProperty("--share", `${Math.round((100 * done) / total)}%`);
    else bar.removeAttribute("style");
    const seconds = Math.round((performance.now() - begun) / 1000);
    const fell = residuals.slice(-4).map((r) => r.toExponential(0)).join(" → ");
    text.textContent = `${label}${fell ? `: residual ${fell}` : ""}${seconds > 1 ? `, ${seconds} s` : ""}`;
  };
  mercer.waits.push(look);
  const first = setTimeout(look, 600);
  const timer = setInterval(() => performance.now() - begun > 900 && look(), 500);
  return () => {
    if (isOver) return;
    isOver = true;
    clearTimeout(first);
    clearInterval(timer);
    if (mercer.waits.at(-1) === look) place.hidden = true;
    mercer.waits = mercer.waits.filter((one) => one !== look);
  };
};

mercer.compute = async () => {
  const { explorer } = mercer;
  const number = ++explorer.asked;
  explorer.next = null; // the answer has what the slider came to
  mercer.steps();
  mercer.stand("loading");
  mercer.byId("desk").hidden = false;
  mercer.byId("welcome").hidden = true;
  if (!explorer.value) mercer.expect();
  mercer.byId("answer").classList.add("loading-stage");
  const done = mercer.waiting("Computing");
  try {
    const answer = await mercer.ask("analysis", { state: explorer.state });
    const value = mercer.unpacked(await answer.json());
    if (number !== explorer.asked) return;
    explorer.value = value;
    mercer.byId("refused").hidden = true;
    mercer.byId("answer").hidden = false;
    mercer.byId("side").hidden = false;
    await mercer.show(value);
    explorer.answered = { state: explorer.state, past: [...explorer.past], future: [...explorer.future] };
    mercer.named(value.individuals.count);
    mercer.remember();
    mercer.settle("ready");
    if (value.explorer.refines) setTimeout(mercer.refine);
  } catch (error) {
    if (number !== explorer.asked) return;
    if (error.isReplaced && explorer.value) {
      mercer.toast("Cancelled");
      mercer.restore();
      mercer.settle("ready");
    } else if (error.isReplaced) mercer.refuse(Object.assign(new Error("the computation was cancelled"), { ways: [{ label: "Compute it", set: {} }] }));
    else if (document.body.dataset.state === "gone") mercer.restore();
    else if (!error.isQuiet) {
      if (!("ways" in error)) console.error(error);
      mercer.refuse(error);
    }
  } finally {
    done();
    if (number === explorer.asked) mercer.byId("answer").classList.remove("loading-stage");
  }
};

mercer.sentence = (text) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? "" : "."}`;

// Why there is no map, and what can be pressed to get one.
mercer.refuse = (error) => {
  const { explorer } = mercer;
  const place = mercer.byId("refused");
  const buttons = mercer.element("div", null, { class: "ways" });
  for (const way of error.ways ?? []) {
    const button = mercer.element("button", way.label, { type: "button" });
    button.addEventListener("click", () => mercer.follow(way));
    buttons.append(button);
  }
  if (explorer.past.length) {
    const back = mercer.element("button", "Undo", { type: "button" });
    back.addEventListener("click", () => mercer.step("past", "future"));
    buttons.append(back);
  }
  if (!buttons.children.length) {
    const other = mercer.element("button", "Open another file", { type: "button" });
    other.addEventListener("click", () => mercer.welcome(explorer.examples));
    buttons.append(other);
  }
  const said = mercer.sentence(error.message);
  const title = said.startsWith("This is a bug") ? "Something broke" : "No map of this yet";
  place.replaceChildren(mercer.element("h2", title), mercer.element("p", said), buttons);
  place.hidden = false;
  mercer.byId("answer").hidden = true;
  mercer.byId("side").hidden = true;
  mercer.rail(explorer.value?.explorer ?? null);
  mercer.settle("refused");
};

mercer.follow = ({ set }) => {
  if (set.exact) return mercer.refine(); // the map stays, and the residual is seen to fall
  const { state } = mercer.explorer;
  if ("transposed" in set) return mercer.transpose(set.transposed);
  const uses = set.uses ? { uses: { ...state.uses, ...set.uses } } : {};
  const factors = set.factors ? { factors: [...new Set([...state.factors, ...set.factors])] } : {};
  return mercer.change({ ...set, ...uses, ...factors });
};

mercer.bring = async (work, label, origin) => {
  const { explorer } = mercer;
  const number = ++explorer.brought;
  const done = mercer.waiting(label, "upload");
  try {
    const { source } = await (await work()).json();
    if (number !== explorer.brought) return; // something else was opened since
    const { state, look } = explorer.asleep?.file === source.name ? explorer.asleep : { state: mercer.blank(), look: null };
    Object.assign(explorer, { source, state, look, past: [], future: [], value: null, answered: null, asleep: null, ...origin });
    mercer.page = null;
    mercer.named();
    done();
    await mercer.compute();
  } catch (error) {
    if (error.isQuiet || number !== explorer.brought) return;
    mercer.unread(label.replace(/^Reading |^Opening /, ""), error.message);
  } finally {
    done();
  }
};

// What was not read is said where files are chosen, with what to do; whoever had maps goes back.
mercer.unread = (name, why) => {
  mercer.welcome(mercer.explorer.examples);
  const place = mercer.byId("elsewhere");
  const isOne = /one network/.test(why);
  const buttons = mercer.element("div", null, { class: "ways" });
  const button = (text, act) => {
    const made = mercer.element("button", text, { type: "button" });
    made.addEventListener("click", act);
    buttons.append(made);
  };
  button(isOne ? "Choose several files" : "Choose another file", () => mercer.byId("pick").click());
  if (isOne) for (const { name: example } of mercer.explorer.examples.filter(({ about }) => /^Networks/.test(about))) button("Try an example of networks", () => mercer.openExample(example));
  // The name stands above: what follows it is said of it, or of a line or a column in it.
  const rest = why.slice(name.length);
  const said = why.startsWith(`${name} `) ? `It${rest}` : why.startsWith(`${name}, `) ? rest.slice(2) : why;
  place.replaceChildren(mercer.element("strong", `${name} was not read`), mercer.element("p", mercer.sentence(said)), buttons);
  place.hidden = false;
  place.scrollIntoView({ block: "nearest" });
};

// The name of the data, and how many individuals are analysed, of those that there are.
mercer.named = (analysed = null) => {
  const { source, state: { transposed } } = mercer.explorer;
  const all = source ? mercer.counted(transposed && analysed !== null ? analysed : source.count) : "";
  const some = analysed !== null && source && !transposed && analysed !== source.count ? `${mercer.counted(analysed).split(" individual")[0]} of ` : "";
  mercer.byId("file").textContent = source ? `${source.name} · ${some}${all}` : "";
  document.title = source ? `${source.name} · mercer explorer` : "mercer explorer";
};

mercer.openFile = (file) => {
  if (!file) return;
  const { explorer } = mercer;
  if (document.body.dataset.state === "gone" && explorer.file === file.name) explorer.asleep = { file: file.name, state: explorer.state, look: null };
  mercer.bring(() => mercer.ask("upload", file, `?name=${encodeURIComponent(file.name)}`), `Reading ${file.name}`, { example: null, file: file.name });
};

mercer.megabytes = (bytes) => `${mercer.grouped(Math.ceil(bytes / 2 ** 20))}\u00a0MB`;

// Several files are networks to compare, in one body behind a list of their names and sizes.
mercer.openFiles = (files) => {
  const [size, most] = [files.reduce((sum, file) => sum + file.size, 0), mercer.explorer.most];
  if (size > most) {
    const isOne = files.length < 2;
    const way = isOne ? `start mercer serve ${files[0].name}` : "start mercer serve with the name of their folder";
    return mercer.unread(isOne ? files[0].name : "What was dropped", `${isOne ? "it has" : "the files have"} ${mercer.megabytes(size)}, and a page takes ${mercer.megabytes(most)} at most: ${way}, which reads from disk.`);
  }
  if (files.length < 2) return mercer.openFile(files[0]);
  const head = JSON.stringify(files.map((file) => [file.name, file.size]));
  return mercer.bring(() => mercer.ask("upload", new Blob([head, "\n", ...files]), "?several=yes"), `Reading ${files.length} files`, { example: null, file: "networks" });
};

mercer.openExample = (name) => {
  return mercer.bring(() => mercer.ask("open", { example: name }), `Opening ${name}`, { example: name, file: null });
};

// Files and examples to choose from; whoever had data goes back to them.
mercer.welcome = (examples, said = "") => {
  const { source } = mercer.explorer;
  mercer.byId("welcome").hidden = false;
  mercer.byId("desk").hidden = true;
  mercer.byId("elsewhere").textContent = said;
  mercer.byId("elsewhere").hidden = !said;
  mercer.byId("back").hidden = !source;
  if (source) mercer.byId("back").textContent = `‹ Back to ${source.name}`;
  const place = mercer.byId("examples");
  place.replaceChildren(
    ...examples.map(({ name, about }) => {
      const button = mercer.element("button", null, { type: "button", "data-example": name });
      button.append(mercer.element("strong", name), mercer.element("span", about));
      button.addEventListener("click", () => mercer.openExample(name));
      return button;
    }),
  );
  mercer.stand("empty");
};

mercer.goBack = () => {
  if (document.body.dataset.state !== "empty" || !mercer.explorer.source) return;
  mercer.explorer.asleep = null;
  if (!mercer.explorer.value) return mercer.compute();
  mercer.byId("welcome").hidden = true;
  mercer.byId("desk").hidden = false;
  mercer.stand(mercer.byId("refused").hidden ? "ready" : "refused");
};

mercer.copy = async (text, what) => {
  try {
    await navigator.clipboard.writeText(text);
    mercer.toast(`${what} copied`);
  } catch {
    const area = mercer.element("textarea", text);
    document.body.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    mercer.toast(isDone ? `${what} copied` : "This browser does not allow copying");
  }
};

mercer.savePage = async () => {
  const done = mercer.waiting("Writing the page", "report");
  try {
    const answer = await mercer.ask("report", { state: mercer.explorer.state, view: mercer.page.look });
    const name = `${(mercer.explorer.source?.name ?? "report").split(".")[0] || "report"}.html`;
    mercer.save(name, new Blob([await answer.blob()], { type: "text/html" }));
    mercer.toast("Page saved");
  } catch (error) {
    if (!error.isQuiet) mercer.toast(error.message);
  } finally {
    done();
  }
};

mercer.setTheme = (isDark) => {
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  mercer.byId("theme").textContent = isDark ? "Light" : "Dark";
  mercer.isDark = isDark;
  if (!mercer.page) return;
  mercer.theme = isDark ? mercer.DARK : mercer.light(mercer.page.value.look);
  for (const picture of Object.values(mercer.pictures ?? {})) picture.draw();
  document.querySelectorAll(".swatch [data-colour]").forEach(mercer.tint);
};

mercer.hearExplorer = () => {
  const on = (id, act) => mercer.byId(id).addEventListener("click", act);
  on("undo", () => mercer.step("past", "future"));
  on("redo", () => mercer.step("future", "past"));
  on("copy-code", () => mercer.explorer.value && mercer.copy(mercer.explorer.value.explorer.code, "Python"));
  on("copy-command", () => mercer.explorer.value && mercer.copy(mercer.explorer.value.explorer.command, "Command"));
  on("save", () => mercer.explorer.value && mercer.savePage());
  on("choose", () => mercer.byId("pick").click());
  on("other", () => mercer.welcome(mercer.explorer.examples));
  on("back", mercer.goBack);
  on("theme", () => {
    mercer.setTheme(!mercer.isDark);
    mercer.keep("localStorage", "mercer-theme", mercer.isDark ? "dark" : "light");
  });
  mercer.byId("pick").addEventListener("change", (event) => {
    mercer.openFiles([...event.target.files]);
    event.target.value = "";
  });
  const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  // A file is read wherever it is dropped: the browser would leave the page for it.
  const places = [mercer.byId("drop"), mercer.byId("desk")];
  const mark = (isOver) => places.forEach((place) => place.classList.toggle("over", isOver));
  document.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    mark(true);
  });
  document.addEventListener("dragleave", (event) => event.relatedTarget || mark(false));
  document.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    mark(false);
    mercer.openFiles([...event.dataTransfer.files]);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") mercer.goBack();
    // Only where text is written do undo and the letters belong to the field.
    const isChoosing = /^(INPUT|SELECT)$/.test(event.target.tagName);
    const isWriting = event.target.matches?.("textarea, input:not([type=range], [type=checkbox])");
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !isWriting) {
      event.preventDefault();
      mercer.step(...(event.shiftKey ? ["future", "past"] : ["past", "future"]));
    }
    if (isWriting || isChoosing || event.ctrlKey || event.metaKey || event.altKey) return;
    const digit = /^Digit([1-9])$/.exec(event.code);
    if (digit && mercer.page) mercer.page.choose(Number(digit[1]) - 1, event.shiftKey ? 1 : 0);
    if (event.key === "f") {
      const search = document.querySelector("#table input[type=search]");
      if (search) [event.preventDefault(), search.focus()];
    }
  });
};

// What makes the axes stands beside the maps, or below them where there is no room.
mercer.arrange = () => {
  const narrow = window.matchMedia("(max-width: 1199px)");
  const put = () => (narrow.matches ? mercer.byId("table").before(mercer.byId("side")) : mercer.byId("desk").append(mercer.byId("side")));
  narrow.addEventListener("change", put);
  put();
};

mercer.LEAVING = 500; // milliseconds in which a page that is loaded again lets go of its visitor

// Whether no other tab is this visitor: one that was duplicated holds the name of the first, and each
// would hear of the map of the other. The tab keeps the lock as long as it is open.
mercer.isAlone = (visitor) =>
  new Promise((tell) => {
    const kept = () => (tell(true), new Promise(() => {}));
    try {
      const signal = AbortSignal.timeout(mercer.LEAVING);
      navigator.locks.request(`mercer-${visitor}`, { signal }, kept).catch((error) => tell(error.name !== "TimeoutError"));
    } catch {
      tell(true); // this browser knows no locks here
    }
  });

mercer.startExplorer = async () => {
  const { explorer } = mercer;
  // What a reader chose, or the notebook around it, or the system.
  const theme = mercer.keptIn("localStorage", "mercer-theme") ?? new URLSearchParams(location.search).get("theme");
  mercer.setTheme(theme ? theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches);
  mercer.arrange();
  mercer.hearExplorer();
  mercer.hearDoubts();
  mercer.hearRail();
  const known = mercer.keptIn("sessionStorage", "mercer-visitor");
  explorer.visitor = known && (await mercer.isAlone(known)) ? known : null;
  const { visitor, examples, most, source } = await (await mercer.ask("visit")).json();
  if (visitor !== known) mercer.isAlone(visitor);
  mercer.keep("sessionStorage", "mercer-visitor", visitor);
  Object.assign(explorer, { visitor, examples, most });
  return mercer.begin(source);
};

// The state of the address, of the data that the server has for this page.
mercer.begin = async (source) => {
  const { explorer } = mercer;
  const { examples } = explorer;
  explorer.source = source;
  const { example, file, look, state } = mercer.recall();
  if (example && examples.some(({ name }) => name === example)) {
    explorer.source = (await (await mercer.ask("open", { example })).json()).source;
    explorer.example = example;
  }
  mercer.named();
  if (typeof file === "string" && source?.name !== file) {
    explorer.asleep = { file, state, look };
    return mercer.welcome(examples, `This address shows ${file}, a file that was opened in another window; an address holds choices, and no data. Drop ${file} here to see the same.`);
  }
  explorer.file = file;
  if (!explorer.source) return mercer.welcome(examples);
  Object.assign(explorer, { state, look });
  return mercer.compute();
};

mercer.startExplorer().catch((error) => {
  if (!error.isQuiet) {
    console.error(error);
    mercer.gone(error.message);
  }
});
