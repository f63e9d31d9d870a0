// Marks of a described picture as shapes of an SVG. What they look like stands in attributes, not in
// the styles of the page, so that a saved picture is whole.

import { mercer } from "./text.js";

mercer.SVG = "http://www.w3.org/2000/svg";
mercer.DARK = { ink: "#e4e8ee", quiet: "#9fabbb", frame: "#3a4350", grid: "#252c36", zero: "#5d6877", ground: "#151a21", pale: "#4a5563", isDark: true, density: ["#151a21", "#28323e", "#3e4b5d", "#54677e", "#6f839c", "#8ca0bb"] }; // a density rises from the ground in even steps of OKLab's lightness, and ends below words and points
mercer.DASHES = { solid: null, dashed: "6 4", dotted: "2 3" };
mercer.AROUND = { fill: "#005a96", "fill-opacity": 0.08, stroke: "#005a96", "stroke-dasharray": "4 3" }; // what is selected

mercer.shape = (parent, tag, attributes = {}, text) => {
  const made = document.createElementNS(mercer.SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
};

mercer.write = (parent, text, x, y, more = {}) =>
  mercer.shape(parent, "text", { x, y, "font-size": 12, fill: mercer.theme.ink, ...more }, text);

// What parts the letters of a word from what lies below them.
mercer.halo = () => ({ stroke: mercer.theme.ground, "stroke-width": 4, "stroke-linejoin": "round", "paint-order": "stroke" });

mercer.cut = (text, most) => {
  if (text.length <= most) return text;
  let at = text.lastIndexOf("=");
  if (text[at - 1] === " ") at = text.lastIndexOf(" (", at); // of a number in brackets, (p = 0.01)
  const level = at >= 0 ? text.slice(at) : ""; // which tells most
  const room = most - level.length;
  if (level && room >= 4) return `${text.slice(0, room - 1)}…${level}`;
  return `${text.slice(0, most - 1)}…`;
};

// How wide a text is, in pixels.
mercer.width = (text, size = 11, isBold = false) => {
  mercer.measure ??= document.createElement("canvas").getContext("2d");
  mercer.measure.font = `${isBold ? 600 : 400} ${size}px ${mercer.page.value.look.font}`;
  return mercer.measure.measureText(text).width;
};

// The colour of a share of a scale, grey where there is no number.
mercer.shade = (stops, share) => {
  if (!Number.isFinite(share)) return [138, 138, 138];
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const k = Math.min(Math.floor(at), stops.length - 2);
  const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  const [a, b] = [rgb(stops[k]), rgb(stops[k + 1])];
  return a.map((v, c) => Math.round(v + (b[c] - v) * (at - k)));
};

// The stops of a scale on the ground of the theme: on dark, the deep end would not be seen.
mercer.lifted = (stops) => (mercer.theme?.isDark ? stops.map((hex) => mercer.lift(hex, 0.38)) : stops);

mercer.colour = ({ stops, limits }, value) => `rgb(${mercer.shade(stops, (value - limits[0]) / (limits[1] - limits[0]))})`;

// Light or dark, as the reader's system is; what is saved or printed is light.
mercer.light = (look) => ({ ink: look.ink, quiet: look.quiet, frame: look.frame, grid: look.grid, zero: look.zero, ground: "#ffffff", isDark: false });

mercer.lightness = (hex) => [1, 3, 5].reduce((sum, i, k) => sum + [0.299, 0.587, 0.114][k] * parseInt(hex.slice(i, i + 2), 16), 0) / 255;

// A colour of a picture on the ground of the theme: on dark, what is deep or nearly black would not be
// seen, and what is pale would be seen first.
mercer.toned = (hex) => {
  if (!mercer.theme.isDark || !/^#[0-9a-f]{6}$/i.test(hex)) return hex;
  if (hex.toLowerCase() === mercer.page.value.look.pale.toLowerCase()) return mercer.theme.pale;
  const light = mercer.lightness(hex);
  return light < 0.2 ? mercer.theme.ink : light < 0.45 ? mercer.lift(hex, 0.22) : hex;
};

// A colour mixed with so much white.
mercer.lift = (hex, share) => `#${mercer.rgb(hex).map((v) => Math.round(v + share * (255 - v)).toString(16).padStart(2, "0")).join("")}`;

// How much light a colour has, and how far two stand apart, as the guidelines of WCAG 2 count it.
mercer.luminance = (rgb) => rgb.reduce((sum, v, k) => sum + [0.2126, 0.7152, 0.0722][k] * (v <= 10.31 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4), 0);
mercer.contrast = (a, b) => {
  const [low, high] = [mercer.luminance(a), mercer.luminance(b)].sort((u, v) => u - v);
  return (high + 0.05) / (low + 0.05);
};

mercer.READABLE = 5.5; // contrast of words to the ground: 4.5 are asked for, and edges of letters are paler

// A colour as words can wear it: mixed with black or white until it stands out from the ground.
mercer.legible = (colour) => {
  const [hex, end] = [mercer.toned(colour), mercer.theme.isDark ? 255 : 0];
  const [from, ground] = [mercer.rgb(hex), mercer.rgb(mercer.theme.ground)];
  const mixed = (share) => from.map((v) => Math.round(v + share * (end - v)));
  let share = 0;
  while (share < 1 && mercer.contrast(mixed(share), ground) < mercer.READABLE) share += 0.02;
  return share ? `rgb(${mixed(share).join(", ")})` : hex;
};

// The outline of a marker around the origin, r being half its width.
mercer.marker = (kind, r) => {
  const corners = {
    square: [[-1, -1], [1, -1], [1, 1], [-1, 1]],
    diamond: [[0, -1.35], [1.35, 0], [0, 1.35], [-1.35, 0]],
    triangle: [[0, -1.25], [1.2, 1], [-1.2, 1]],
    cross: [[-1, -0.55], [-0.55, -1], [0, -0.45], [0.55, -1], [1, -0.55], [0.45, 0], [1, 0.55], [0.55, 1], [0, 0.45], [-0.55, 1], [-1, 0.55], [-0.45, 0]],
  }[kind];
  if (!corners) return `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
  return `M${corners.map(([x, y]) => `${(r * x).toFixed(2)} ${(r * y).toFixed(2)}`).join("L")}Z`;
};

// A line through points in pixels, broken where one is not finite.
mercer.path = (us, vs) => {
  let text = "";
  let isOn = false;
  us.forEach((u, i) => {
    const isHere = Number.isFinite(u) && Number.isFinite(vs[i]);
    if (isHere) text += `${isOn ? "L" : "M"}${u.toFixed(1)} ${vs[i].toFixed(1)}`;
    isOn = isHere;
  });
  return text;
};

mercer.draw = {};

mercer.draw.markers = (frame, mark, [us, vs]) => {
  const { page } = frame;
  const field = frame.panel.marks.find((m) => m.mark === "field");
  const isOnDensity = field?.kind === "density"; // of which they show a few, and hide little
  const isOnField = field && !isOnDensity; // of whatever colour: an edge parts them from it
  const look = mark.hollow ? { fill: "none", "stroke-width": 1.5 } : { stroke: mercer.theme.ground, "stroke-width": isOnField ? 0.9 : mark.size > 4 ? 0.5 : 0 };
  const group = mercer.shape(frame.layer, "g", { ...look, opacity: isOnDensity ? 0.45 : null, class: mark.painted ? "points painted" : "points" });
  const paths = {};
  const nodes = us.map((u, i) => {
    if (!Number.isFinite(u) || !Number.isFinite(vs[i])) return null;
    const id = mark.ids ? mark.ids[i] : -1;
    const isPainted = mark.painted && mark.ids && page.isPainting;
    const marker = isPainted ? page.marker(id) : mark.marker;
    const colour = mercer.toned(isPainted ? page.ink(id) : mark.scale ? mercer.colour(mark.scale, mark.scale.values[i]) : mark.colour);
    paths[marker] ??= mercer.marker(marker, (isOnDensity ? 0.4 : 0.68) * mark.size);
    const at = { d: paths[marker], transform: `translate(${u.toFixed(1)} ${vs[i].toFixed(1)})`, [mark.hollow ? "stroke" : "fill"]: colour };
    if (mark.ids) at["data-id"] = id;
    frame.hit(mark, i, u, vs[i]);
    return mercer.shape(group, "path", at);
  });
  frame.linked.push({ mark, nodes });
};

// Crosses on individuals whose numbers were put in, on the axes that a reader chose: how far
// plausible numbers would move them.
mercer.moves = (mark, { coordinates, imputed }, [i, k]) => {
  const along = (axis, isOwn) => mark.ids.flatMap((id, j) => {
    const [at, away] = [coordinates[axis][id], imputed[axis][j]];
    const own = [at - away, at + away, NaN];
    return isOwn ? [...own, at, at, NaN] : [at, at, NaN, ...own];
  });
  return { ...mark, x: along(i, true), y: along(k, false) };
};

// Each cross is a shape, which is hidden and faint with the individual that it stands for.
mercer.draw.crosses = (frame, mark, [us, vs]) => {
  const group = mercer.shape(frame.layer, "g", { stroke: mercer.toned(mark.colour), "stroke-width": mark.width, fill: "none", class: "crosses" });
  const part = (list, j) => list.slice(6 * j, 6 * j + 6);
  const nodes = mark.ids.map((id, j) => mercer.shape(group, "path", { d: mercer.path(part(us, j), part(vs, j)), "data-id": id }));
  frame.linked.push({ mark: { ...mark, of: "individuals" }, nodes });
};

mercer.draw.lines = (frame, mark, [us, vs]) =>
  mark.of === "imputed" ? mercer.draw.crosses(frame, mark, [us, vs]) : mercer.shape(frame.layer, "path", {
    d: mercer.path(us, vs),
    stroke: mercer.toned(mark.colour),
    "stroke-width": mark.width,
    "stroke-dasharray": mercer.DASHES[mark.dash],
    "stroke-linejoin": "round",
    fill: mark.filled ? mercer.toned(mark.colour) : "none",
    "fill-opacity": 0.1,
  });

mercer.draw.arrows = (frame, mark, [us, vs]) => {
  // Over very many points, or their density, an edge parts an arrow from what lies below.
  const isOnMany = Boolean(frame.crowd) || frame.panel.marks.some((m) => m.mark === "field");
  const { ground } = mercer.theme;
  const [u0, v0] = [frame.x.at(0), frame.y.at(0)];
  const nodes = us.map((u, i) => {
    const colour = mercer.toned(mark.scale && mark.scale.values.length === us.length ? mercer.colour(mark.scale, mark.scale.values[i]) : mark.colour ?? mercer.theme.ink);
    const length = Math.hypot(u - u0, vs[i] - v0);
    if (!Number.isFinite(length)) return null;
    const [c, s] = length > 0 ? [(u - u0) / length, (vs[i] - v0) / length] : [1, 0];
    const head = Math.min(9, length);
    const corner = (side) => `${(u - head * c - side * 3.4 * s).toFixed(1)} ${(vs[i] - head * s + side * 3.4 * c).toFixed(1)}`;
    const group = mercer.shape(frame.layer, "g", { class: "arrow", "data-id": mark.ids ? mark.ids[i] : null });
    const shaft = { x1: u0, y1: v0, x2: u - 0.6 * head * c, y2: vs[i] - 0.6 * head * s };
    if (isOnMany) mercer.shape(group, "line", { ...shaft, stroke: ground, "stroke-width": 4, opacity: 0.85 });
    mercer.shape(group, "line", { ...shaft, stroke: colour, "stroke-width": 1.5, "stroke-dasharray": mark.dashed ? "6 4" : null });
    mercer.shape(group, "path", { d: `M${u.toFixed(1)} ${vs[i].toFixed(1)}L${corner(1)}L${corner(-1)}Z`, fill: colour, ...(isOnMany ? { stroke: ground, "stroke-width": 2.4, "paint-order": "stroke" } : {}) });
    frame.hit(mark, i, u, vs[i]);
    frame.stems.push([u0, v0, u, vs[i]]);
    return group;
  });
  frame.linked.push({ mark, nodes });
};

mercer.draw.bars = (frame, mark) => {
  const [along, across] = mark.lying ? [frame.x, frame.y] : [frame.y, frame.x];
  const group = mercer.shape(frame.layer, "g", { class: "bars" });
  mark.at.forEach((at, i) => {
    const [a, b] = [along.at(0), along.at(mark.lengths[i])];
    const [c, d] = [across.at(at - 0.4), across.at(at + 0.4)];
    const [start, long, side, wide] = [Math.min(a, b), Math.max(Math.abs(b - a), 0.5), Math.min(c, d), Math.abs(d - c)];
    const box = mark.lying ? [start, side, long, wide] : [side, start, wide, long];
    const edge = frame.marked.includes(at - 1) ? { stroke: mercer.theme.ink, "stroke-width": 2, class: "axis-shown" } : {};
    mercer.shape(group, "rect", { x: box[0], y: box[1], width: box[2], height: box[3], fill: mercer.toned(mark.colours[i % mark.colours.length]), ...edge });
    frame.boxes.push({ mark, i, box });
  });
};

mercer.draw.band = (frame, mark) => {
  const us = [...mark.x, ...[...mark.x].reverse()].map(frame.x.at);
  const vs = [...mark.high, ...[...mark.low].reverse()].map(frame.y.at);
  mercer.shape(frame.layer, "path", { d: `${mercer.path(us, vs)}Z`, fill: mark.colour, "fill-opacity": 0.3 });
};

mercer.draw.rule = (frame, mark) => {
  const [left, top, width, height] = frame.box;
  const at = (mark.level ? frame.y : frame.x).at(mark.at);
  const ends = mark.level ? { x1: left, x2: left + width, y1: at, y2: at } : { x1: at, x2: at, y1: top, y2: top + height };
  mercer.shape(frame.layer, "line", { ...ends, stroke: mercer.toned(mark.colour), "stroke-width": 1.3, "stroke-dasharray": mercer.DASHES[mark.dash] });
};

// Cells as one image of a pixel each; contours are the same, smoothed, with lines between levels.
mercer.draw.field = (frame, mark) => {
  const [n, m] = [mark.values.length, mark.values[0].length];
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: m, height: n });
  const context = canvas.getContext("2d");
  const image = context.createImageData(m, n);
  const isDown = frame.y.at(mark.y[0]) < frame.y.at(mark.y[n - 1]);
  const [low, high] = mark.limits;
  const isDensity = mark.kind === "density";
  const stops = (isDensity && mercer.theme.density) || mark.stops;
  mark.values.forEach((row, i) =>
    row.forEach((value, j) => {
      const at = 4 * ((isDown ? i : n - 1 - i) * m + j);
      image.data.set([...mercer.shade(stops, (value - low) / (high - low)), Number.isFinite(value) && !(isDensity && value <= low) ? 255 : 0], at);
    }),
  );
  context.putImageData(image, 0, 0);
  const edges = (side, places) => {
    const half = mark.kind === "contour" || places.length < 2 ? [0, 0] : [(places[1] - places[0]) / 2, (places.at(-1) - places.at(-2)) / 2];
    const lone = places.length < 2 ? 0.5 : 0;
    return [side.at(places[0] - half[0] - lone), side.at(places.at(-1) + half[1] + lone)].sort((a, b) => a - b);
  };
  const [[left, right], [top, bottom]] = [edges(frame.x, mark.x), edges(frame.y, mark.y)];
  mercer.shape(frame.layer, "image", {
    href: canvas.toDataURL(),
    x: left,
    y: top,
    width: right - left,
    height: bottom - top,
    preserveAspectRatio: "none",
    style: mark.kind === "contour" ? null : "image-rendering: pixelated",
  });
  if (mark.kind === "contour") mercer.contours(frame, mark);
  if (!isDensity) frame.cells.push(mark);
};

// Level lines by marching squares: each cell gives a piece where a level passes between its corners.
mercer.contours = (frame, mark) => {
  const [low, high] = mark.limits;
  const [us, vs, z] = [mark.x.map(frame.x.at), mark.y.map(frame.y.at), mark.values];
  let text = "";
  for (let k = 1; k < 14; k++) {
    const level = low + ((high - low) * k) / 14;
    for (let i = 0; i + 1 < vs.length; i++) {
      for (let j = 0; j + 1 < us.length; j++) {
        const corners = [[i, j], [i, j + 1], [i + 1, j + 1], [i + 1, j]];
        const ends = [];
        corners.forEach(([a, b], c) => {
          const [d, e] = corners[(c + 1) % 4];
          const [p, q] = [z[a][b] - level, z[d][e] - level];
          if (p < 0 === q < 0 || !Number.isFinite(p + q)) return;
          const t = p / (p - q);
          ends.push(`${(us[b] + t * (us[e] - us[b])).toFixed(1)} ${(vs[a] + t * (vs[d] - vs[a])).toFixed(1)}`);
        });
        for (let e = 0; e + 1 < ends.length; e += 2) text += `M${ends[e]}L${ends[e + 1]}`;
      }
    }
  }
  mercer.shape(frame.layer, "path", { d: text, stroke: "#000", "stroke-opacity": 0.25, "stroke-width": 0.6, fill: "none" });
};

// Where a number stands in pixels: over its bar; where a band or a rule would cross it there, in the
// bar; where it has no room there, or is wider than its bar, beyond them.
mercer.clear = (frame, mark, i, [half, tall]) => {
  const v = frame.y.at(mark.y[i]);
  const bars = frame.panel.marks.find((m) => m.mark === "bars" && !m.lying);
  const length = bars?.lengths[bars.at.indexOf(mark.x[i])];
  if (length === undefined) return v;
  const end = frame.y.at(length);
  if (length < 0) return Math.max(v, end + tall / 2 + 1);
  const [low, high] = [-half, half].map((side) => frame.x.back(frame.x.at(mark.x[i]) + side));
  const reach = (xs, ys) => {
    const at = (x) => {
      const k = Math.max(0, xs.findLastIndex((other) => other <= x));
      const t = k + 1 < xs.length ? Math.min(Math.max((x - xs[k]) / (xs[k + 1] - xs[k]), 0), 1) : 0;
      return frame.y.at(t ? ys[k] + t * (ys[k + 1] - ys[k]) : ys[k]);
    };
    const ends = high < xs[0] || low > xs.at(-1) ? [] : [low, high].map(at);
    return [Math.min(...ends), Math.max(...ends)];
  };
  const across = frame.panel.marks.flatMap((m) => {
    if (m.mark === "rule" && m.level) return [[frame.y.at(m.at), frame.y.at(m.at)]];
    if (m.mark !== "band") return [];
    return [[reach(m.x, m.high)[0], reach(m.x, m.low)[1]]];
  });
  const isMet = (at) => across.some(([top, bottom]) => top < at + tall / 2 && bottom > at - tall / 2);
  const [over, base] = [end - tall / 2 - 1, frame.y.at(0)];
  const wide = Math.abs(frame.x.at(mark.x[i] + 0.4) - frame.x.at(mark.x[i] - 0.4));
  if (isMet(over) && base - end > tall + 6 && 2 * half <= wide) { // else it would float above its bar
    const inside = [end + tall / 2 + 3, base - tall / 2 - 3].find((at) => !isMet(at));
    if (inside !== undefined) return inside;
  }
  let found = over;
  for (let turn = 0; turn <= across.length; turn++) {
    for (const [top, bottom] of across) if (top < found + tall / 2 && bottom > found - tall / 2) found = top - tall / 2 - 2;
  }
  return Math.max(found, frame.box[1] + tall / 2);
};

// The colour of the bar that a number stands in, null where it stands beside all.
mercer.barAround = (frame, u, v) => {
  const found = frame.boxes.find(({ mark, box: [x, y, w, h] }) => !mark.lying && u > x && u < x + w && v > y && v < y + h);
  return found ? mercer.toned(found.mark.colours[found.i % found.mark.colours.length]) : null;
};

// Where a number stands across: over its own bar, and beside those that rise higher than it.
mercer.between = (frame, u, [half, tall], v) => {
  let found = u;
  for (const { mark, box } of frame.boxes) {
    const [left, right] = [box[0], box[0] + box[2]];
    if (mark.lying || box[1] > v + tall / 2 || box[1] + box[3] < v - tall / 2 || (left < u && u < right)) continue;
    if (right <= u) found = Math.max(found, right + half + 2);
    else found = Math.min(found, left - half - 2);
  }
  return found;
};

// Words in their places, inside the frame; one that would stand upon another is left out. Those in
// cells have the colour that their cell asks for.
mercer.draw.texts = (frame, mark, [us, vs]) => {
  const drawn = [];
  const [left, , width] = frame.box;
  const isInCells = frame.panel.marks.some((m) => m.mark === "field");
  const isOnBars = frame.panel.marks.some((m) => m.mark === "bars" && !m.lying);
  const usual = mark.size * 1.35;
  const widest = Math.max(1, ...mark.texts.map((text) => mercer.width(text, usual) + 3));
  const size = isOnBars && us.length > 1 ? Math.max(8, Math.min(usual, (usual * Math.abs(us[1] - us[0])) / widest)) : usual;
  const halo = isInCells ? {} : mercer.halo();
  us.forEach((place, i) => {
    const half = mercer.width(mark.texts[i], size) / 2;
    const v = isOnBars ? mercer.clear(frame, mark, i, [half, size]) : vs[i];
    const bar = isOnBars ? mercer.barAround(frame, place, v) : null;
    const free = isOnBars && !bar ? mercer.between(frame, place, [half, size], v) : place;
    const u = isInCells ? place : Math.min(Math.max(free, left + half + 1), left + width - half - 1);
    if (drawn.some(([x, y, w]) => Math.abs(x - u) < w + half && Math.abs(y - v) < 0.9 * size)) return;
    drawn.push([u, v, half]);
    const colour = mark.colours[i % mark.colours.length];
    if (bar) {
      const ink = mercer.contrast(mercer.rgb(bar), [255, 255, 255]) >= 4.5 ? "#ffffff" : "#000000";
      mercer.write(frame.layer, mark.texts[i], u, v, { "text-anchor": "middle", dy: "0.35em", "font-size": size, fill: ink });
      return;
    }
    const fill = isInCells ? (colour === frame.look.ink ? mercer.theme.ink : colour) : mercer.legible(colour);
    mercer.write(frame.layer, mark.texts[i], u, v, { "text-anchor": "middle", dy: "0.35em", "font-size": size, fill, ...halo });
  });
};
