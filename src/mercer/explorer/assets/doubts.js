// What may mislead, in one line above the maps, which stay where they are: the rest of it unfolds
// over them.

import { mercer } from "./text.js";

// A list that the text counts beyond its first names is told whole where its end is pressed.
mercer.told = ({ text, listed }) => {
  const place = mercer.element("span", null, { class: "told" });
  const end = listed?.length ? ` and ${listed.length} more` : "";
  const at = end ? text.indexOf(end) : -1;
  place.append(at < 0 ? text : text.slice(0, at));
  if (at < 0) return place;
  const more = mercer.element("button", end.trim(), { type: "button", class: "rest" });
  const space = document.createTextNode(" ");
  more.addEventListener("click", (event) => {
    event.stopPropagation();
    space.remove();
    more.replaceWith(listed.slice(0, -1).map((name) => `, ${name}`).join(""), ` and ${listed.at(-1)}`);
    mercer.unfold(true);
  });
  place.append(space, more, text.slice(at + end.length));
  return place;
};

// Those that can be acted upon come first, for the first one is seen.
mercer.doubts = (doubts) => {
  const place = mercer.byId("doubts");
  const ordered = [...doubts].sort((a, b) => (b.ways.length > 0) - (a.ways.length > 0));
  place.replaceChildren(
    ...ordered.map((doubt) => {
      const item = mercer.element("li");
      item.append(mercer.told(doubt));
      for (const way of doubt.ways) {
        const button = mercer.element("button", way.label, { type: "button" });
        button.addEventListener("click", () => mercer.follow(way));
        item.append(" ", button);
      }
      return item;
    }),
  );
  if (!doubts.length) place.append(mercer.element("li", "The checks found nothing that misleads.", { class: "quiet" }));
  place.classList.toggle("none", !doubts.length);
  place.hidden = false;
  mercer.unfold(false);
};

mercer.unfold = (isOpen) => {
  const [place, button] = [mercer.byId("doubts"), mercer.byId("more-doubts")];
  place.classList.toggle("folded", !isOpen);
  const count = Math.max(0, place.children.length - 1);
  const first = place.querySelector(".told");
  const isCut = !isOpen && Boolean(first) && first.scrollWidth > first.clientWidth + 1;
  button.hidden = !isOpen && !count && !isCut;
  button.textContent = isOpen ? "Fold" : count ? `${count} more` : "All of it";
  button.setAttribute("aria-expanded", String(isOpen));
};

mercer.hearDoubts = () => {
  const isOpen = () => !mercer.byId("doubts").classList.contains("folded");
  mercer.byId("more-doubts").addEventListener("click", () => mercer.unfold(!isOpen()));
  mercer.byId("doubts").addEventListener("click", () => isOpen() || mercer.byId("more-doubts").hidden || mercer.unfold(true));
  document.addEventListener("pointerdown", (event) => isOpen() && !event.target.closest("#notes") && mercer.unfold(false));
  document.addEventListener("keydown", (event) => event.key === "Escape" && isOpen() && mercer.unfold(false));
  new ResizeObserver(() => mercer.unfold(isOpen())).observe(mercer.byId("notes"));
};
