// The explorer: one state, held in the address, from which the server makes everything that is shown.

mercer.blank = () => ({ uses: {}, method: null, scale: null, kernel: mercer.USUAL, bandwidth: null, axes: null, missing: "error", against: null, exact: false });

mercer.explorer = {
  state: mercer.blank(),
  past: [],
  future: [],
  example: null,
  visitor: null,
  asked: 0,
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
    mercer.gone("The server does not answer: it has stopped, or this machine was asleep. Start it again with mercer serve.");
    throw Object.assign(new Error("gone"), { isQuiet: true });
  }
  mercer.byId("gone").hidden = true;
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({ error: answer.statusText }));
  if (answer.status === 410) mercer.gone(told.error);
  throw Object.assign(new Error(told.error), { ways: told.ways ?? [], isQuiet: answer.status === 409 || answer.status === 410 });
};

mercer.gone = (text) => {
  const place = mercer.byId("gone");
  const again = mercer.element("button", "Try again", { type: "button" });
  again.addEventListener("click", () => location.reload());
  place.replaceChildren(text, again);
  place.hidden = false;
  mercer.byId("progress").hidden = true;
  document.body.dataset.state = "gone";
};

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
  explorer.past.push(explorer.state);
  explorer.future = [];
  explorer.state = { ...explorer.state, ...part };
  return mercer.compute();
};

mercer.step = (from, to) => {
  const { explorer } = mercer;
  if (!explorer[from].length) return;
  explorer[to].push(explorer.state);
  explorer.state = explorer[from].pop();
  mercer.compute();
};

// What differs from the usual, as the address holds it.
mercer.remember = () => {
  const { explorer, page } = mercer;
  const usual = mercer.blank();
  const kept = Object.entries(explorer.state).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(usual[name]));
  const view = page && explorer.value ? { look: [...page.axes, page.people.colours[page.colour]?.name ?? null, page.leastCos2, ...(page.own.curved ? [page.own.curved] : [])] } : {};
  const told = { ...(explorer.example ? { example: explorer.example } : {}), ...Object.fromEntries(kept), ...view };
  history.replaceState(null, "", `${location.pathname}${location.search}#${encodeURIComponent(JSON.stringify(told))}`);
};

mercer.recall = () => {
  try {
    const { example = null, look = null, ...state } = JSON.parse(decodeURIComponent(location.hash.slice(1)) || "{}");
    const known = Object.keys(mercer.blank());
    return { example, look, state: { ...mercer.blank(), ...Object.fromEntries(Object.entries(state).filter(([name]) => known.includes(name))) } };
  } catch {
    return { example: null, look: null, state: mercer.blank() };
  }
};

// How far the work is, once it takes longer than a moment.
mercer.waiting = (label) => {
  const place = mercer.byId("progress");
  const [bar, text, button] = place.children;
  const begun = performance.now();
  button.onclick = () => mercer.ask("cancel").catch(() => {});
  const look = async () => {
    place.hidden = false;
    text.textContent = label;
    const { done, total } = await mercer.ask("progress").then((a) => a.json()).catch(() => ({ done: 0, total: 0 }));
    if (total > 1) bar.style.setProperty("--share", `${Math.round((100 * done) / total)}%`);
    else bar.removeAttribute("style");
    const seconds = Math.round((performance.now() - begun) / 1000);
    text.textContent = `${label}${seconds > 1 ? `, ${seconds} s` : ""}`;
  };
  const first = setTimeout(look, 600);
  const timer = setInterval(() => performance.now() - begun > 900 && look(), 500);
  return () => {
    clearTimeout(first);
    clearInterval(timer);
    place.hidden = true;
  };
};

mercer.compute = async () => {
  const { explorer } = mercer;
  const number = ++explorer.asked;
  mercer.byId("undo").disabled = !explorer.past.length;
  mercer.byId("redo").disabled = !explorer.future.length;
  document.body.dataset.state = "loading";
  mercer.byId("desk").hidden = false;
  mercer.byId("welcome").hidden = true;
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
    mercer.remember();
    document.body.dataset.state = "ready";
  } catch (error) {
    if (number !== explorer.asked) return;
    if (error.message === "nobody waits for this any more") {
      mercer.toast("Cancelled");
      document.body.dataset.state = explorer.value ? "ready" : "refused";
    } else if (!error.isQuiet) {
      if (!("ways" in error)) console.error(error);
      mercer.refuse(error);
    }
  } finally {
    done();
    if (number === explorer.asked) mercer.byId("answer").classList.remove("loading-stage");
  }
};

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
  const said = error.message.slice(0, 1).toUpperCase() + error.message.slice(1);
  place.replaceChildren(mercer.element("h2", "No map of this yet"), mercer.element("p", said), buttons);
  place.hidden = false;
  mercer.byId("answer").hidden = true;
  mercer.byId("side").hidden = true;
  mercer.rail(explorer.value?.explorer ?? null);
  document.body.dataset.state = "refused";
};

mercer.follow = ({ set }) => {
  const uses = set.uses ? { uses: { ...mercer.explorer.state.uses, ...set.uses } } : {};
  mercer.change({ ...set, ...uses });
};

mercer.bring = async (work, label) => {
  const { explorer } = mercer;
  const done = mercer.waiting(label);
  try {
    const { source } = await (await work()).json();
    explorer.source = source;
    Object.assign(explorer, { state: mercer.blank(), past: [], future: [], value: null });
    mercer.page = null;
    mercer.named();
    done();
    await mercer.compute();
  } catch (error) {
    if (!error.isQuiet) mercer.toast(error.message);
  } finally {
    done();
  }
};

mercer.named = () => {
  const { source } = mercer.explorer;
  mercer.byId("file").textContent = source ? `${source.name} · ${source.count.toLocaleString("en").replaceAll(",", " ")} individuals` : "";
  document.title = source ? `${source.name} · mercer explorer` : "mercer explorer";
};

mercer.openFile = (file) => {
  if (!file) return;
  mercer.explorer.example = null;
  mercer.bring(() => mercer.ask("upload", file, `?name=${encodeURIComponent(file.name)}`), `Reading ${file.name}`);
};

mercer.openExample = (name) => {
  mercer.explorer.example = name;
  return mercer.bring(() => mercer.ask("open", { example: name }), `Opening ${name}`);
};

mercer.welcome = (examples) => {
  mercer.byId("welcome").hidden = false;
  mercer.byId("desk").hidden = true;
  const place = mercer.byId("examples");
  place.replaceChildren(
    ...examples.map(({ name, about }) => {
      const button = mercer.element("button", null, { type: "button", "data-example": name });
      button.append(mercer.element("strong", name), mercer.element("span", about));
      button.addEventListener("click", () => mercer.openExample(name));
      return button;
    }),
  );
  document.body.dataset.state = "empty";
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
  const done = mercer.waiting("Writing the page");
  try {
    const answer = await mercer.ask("report", { state: mercer.explorer.state });
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
  on("theme", () => mercer.setTheme(!mercer.isDark));
  mercer.byId("pick").addEventListener("change", (event) => {
    mercer.openFile(event.target.files[0]);
    event.target.value = "";
  });
  const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  for (const place of [mercer.byId("drop"), mercer.byId("desk")]) {
    place.addEventListener("dragover", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      place.classList.add("over");
    });
    place.addEventListener("dragleave", () => place.classList.remove("over"));
    place.addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      place.classList.remove("over");
      mercer.openFile(event.dataTransfer.files[0]);
    });
  }
  document.addEventListener("keydown", (event) => {
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
  const put = () => (narrow.matches ? mercer.byId("selection").before(mercer.byId("side")) : mercer.byId("desk").append(mercer.byId("side")));
  narrow.addEventListener("change", put);
  put();
};

mercer.startExplorer = async () => {
  const { explorer } = mercer;
  mercer.setTheme(window.matchMedia("(prefers-color-scheme: dark)").matches);
  mercer.arrange();
  mercer.hearExplorer();
  mercer.hearRail();
  explorer.visitor = sessionStorage.getItem("mercer-visitor");
  const { visitor, examples, source } = await (await mercer.ask("visit")).json();
  sessionStorage.setItem("mercer-visitor", visitor);
  Object.assign(explorer, { visitor, examples, source });
  const { example, look, state } = mercer.recall();
  if (example && examples.some(({ name }) => name === example)) {
    explorer.source = (await (await mercer.ask("open", { example })).json()).source;
    explorer.example = example;
  }
  mercer.named();
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
