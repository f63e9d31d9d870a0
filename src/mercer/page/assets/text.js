"use strict";
// Words and numbers: what comes from data becomes text, never marks.

const mercer = {};

mercer.element = (tag, text, attributes = {}) => {
  const made = document.createElement(tag);
  if (text !== undefined && text !== null) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
};

mercer.shown = (value, kind) => {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  if (typeof value === "string") return value;
  if (kind === "share") return `${(100 * value).toFixed(1)} %`;
  if (kind === "error") return value.toExponential(0);
  const isLong = Math.abs(value) >= 1e3 && Math.abs(value) < 1e6;
  return (isLong ? value.toFixed(0) : String(Number(value.toPrecision(3)))).replace("-", "−");
};

// A spreadsheet runs cells that begin like formulas: an apostrophe makes them text again.
mercer.neutral = (text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);

mercer.csv = (columns, rows, isRaw) => {
  const cell = (value) => {
    if (value === null || value === undefined || Number.isNaN(value)) return "";
    if (typeof value === "number") return String(value);
    const text = isRaw ? String(value) : mercer.neutral(String(value));
    return /[",\n\r;]/.test(text) || text !== text.trim() ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
};

mercer.save = (name, blob) => {
  const address = URL.createObjectURL(blob);
  const link = mercer.element("a", null, { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
};

mercer.saveTable = (name, text) => mercer.save(name, new Blob(["\ufeff", text], { type: "text/csv;charset=utf-8" }));

// Arrays come as base64 of their little-endian bytes.
const TYPES = { Float32: Float32Array, Float64: Float64Array, Uint8: Uint8Array, Int32: Int32Array };
mercer.unpacked = (value) => {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(mercer.unpacked);
  if (value.type in TYPES && typeof value.data === "string" && Array.isArray(value.shape)) {
    const bytes = Uint8Array.from(atob(value.data), (c) => c.charCodeAt(0));
    const flat = Array.from(new TYPES[value.type](bytes.buffer));
    if (value.shape.length !== 2) return flat;
    const [n, m] = value.shape;
    return Array.from({ length: n }, (_, i) => flat.slice(i * m, (i + 1) * m));
  }
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, mercer.unpacked(v)]));
};
