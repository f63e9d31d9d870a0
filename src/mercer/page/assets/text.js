// Words and numbers: what comes from data becomes text, never marks.

export const mercer = {};

globalThis.mercer = mercer; // for whoever asks the page from outside

mercer.element = (tag, text, attributes = {}) => {
  const made = document.createElement(tag);
  if (text !== undefined && text !== null) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
};

// Three digits of a number, or of the spread of its column: 50.14 where others are 49.2 and 51.16;
// of a large one, all before the point.
mercer.shown = (value, kind, spread = Infinity) => {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  if (typeof value === "string") return value;
  if (kind === "share") return `${(100 * value).toFixed(1)} %`;
  if (kind === "error") return value.toExponential(0);
  const size = Math.abs(value);
  const digits = size > spread && spread > 0 ? Math.min(6, 3 + Math.ceil(Math.log10(size / spread))) : 3;
  const isLong = size >= 1e3 && size < 1e15 && digits <= Math.ceil(Math.log10(size));
  return (isLong ? value.toFixed(0) : String(Number(value.toPrecision(digits)))).replace("-", "−");
};

// A whole number with its thousands apart.
mercer.grouped = (count) => count.toLocaleString("en").replaceAll(",", "\u00a0");

// A spreadsheet runs cells that begin like formulas: an apostrophe makes them text again.
mercer.neutral = (text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);

// A number by the fewest digits that name it: 4918.17, which came in single precision, is that again.
mercer.exactly = (value) => {
  if (Math.fround(value) !== value) return String(value);
  const digits = [6, 7, 8].find((count) => Math.fround(Number(value.toPrecision(count))) === value) ?? 9;
  return String(Number(value.toPrecision(digits)));
};

mercer.csv = (columns, rows, isRaw) => {
  const cell = (value) => {
    if (value === null || value === undefined || Number.isNaN(value)) return "";
    if (typeof value === "number") return mercer.exactly(value);
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

mercer.saveTable = (name, text) => mercer.save(mercer.fileName(name), new Blob(["\ufeff", text], { type: "text/csv;charset=utf-8" }));

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
