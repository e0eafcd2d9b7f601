// Small helpers of pages that show labels: elements, and texts. `data` is what the page knows; it has class_names.
// Everything that comes from the data is inserted as text (textContent, value, setAttribute of names), never as markup.

const byId = (id) => document.getElementById(id);

// ---- elements ----

function createElement(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "text") element.textContent = value;
    else if (name === "class") element.className = value;
    else if (name === "click") element.addEventListener("click", value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
function createSvg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
function createSvgText(tag, attributes, text) {
  const element = createSvg(tag, attributes);
  element.textContent = text;
  return element;
}
function createMeter(share) {
  const bar = createElement("span", { class: "meter", "aria-hidden": "true" });
  bar.style.width = Math.max(0, Math.min(1, share)) * 100 + "%";
  return bar;
}
const createTrack = (share) => createElement("div", { class: "track" }, createMeter(share));
const createClipped = (text) => createElement("span", { class: "clip long", text, title: clip(text, 300) });
function createTable(caption, headings, rows) {
  const head = createElement("tr", {}, ...headings.map((text, i) => (text ? createElement("th", { scope: "col", text, class: i ? "" : "text" }) : createElement("td"))));
  const body = rows.map((cells) => createElement("tr", {}, ...cells.map((value, i) => {
    const cell = createElement(i ? "td" : "th", i ? {} : { scope: "row", class: "name" });
    cell.append(i || value instanceof Node ? value : createClipped(value));
    return cell;
  })));
  const table = createElement("table", {}, createElement("thead", {}, head), createElement("tbody", {}, ...body));
  table.setAttribute("aria-label", caption);
  return table;
}

// ---- texts ----

const className = (c) => (c < 0 ? "no label" : data.class_names[c]);
// In matrices and drawings a class is its name if all names are short, else its number.
const hasShortNames = () => data.class_names.every((name) => name.length > 0 && name.length <= 4);
const shortClassName = (c) => (hasShortNames() ? data.class_names[c] : String(c + 1));
const clip = (text, maxLength) => (text.length > maxLength ? text.slice(0, maxLength - 1) + "…" : text);
const capitalize = (text) => text[0].toUpperCase() + text.slice(1);
const formatCount = (n) => n.toLocaleString("en");
function formatPercent(share) {
  if (share === null || share === undefined) return "–";
  const value = share * 100;
  if (value > 0 && value < 0.01) return "<0.01\u00a0%";
  const digits = value === 0 || value >= 99.95 ? 0 : value >= 99 ? 1 : value >= 10 ? 0 : value >= 1 ? 1 : 2;
  return value.toFixed(digits) + "\u00a0%";
}
const formatProbability = (p) => (p >= 0.9995 ? "1.000" : p >= 0.001 ? p.toFixed(3) : p === 0 ? "0" : "<0.001");
