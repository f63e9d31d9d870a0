// The page comes alive: static pictures stay wherever a live one cannot be drawn.

import { mercer } from "./text.js";
import "./page.js";
import "./sheets.js";
import "./picture.js";
import "./controls.js";

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
  // In a frame whose page came as text, an address of a place leads away from it.
  const lead = (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    const place = link && document.getElementById(link.hash.slice(1));
    if (!place) return;
    event.preventDefault();
    place.scrollIntoView();
  };
  if (window.parent !== window) document.addEventListener("click", lead);
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
  if (Array.isArray(value.view)) page.recall(value.view);
  mercer.page = page;
  const sheets = {};
  for (const place of document.querySelectorAll("[data-sheet]")) {
    sheets[place.dataset.sheet] = new mercer.Sheet(place, value.sheets[place.dataset.sheet], page);
  }
  mercer.sheets = sheets;
  mercer.copies();
  if (sheets.individuals) {
    mercer.controls(page);
    mercer.meaning(page);
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
  if (page.isTurned) page.tell("moved", page);
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
