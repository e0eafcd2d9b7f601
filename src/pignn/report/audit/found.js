// What was found, as numbers, tables and maps; and the small helpers that everything uses.
// Everything that comes from the data is put in as text (textContent, value, setAttribute of names), never as markup.

const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const PAGE = 50, STEPS = 500, KEY = "pignn-audit-" + data.key;
const DECISIONS = ["relabel", "keep", "unsure"];
const COLUMNS = ["node", "given", "suggested", "p_wrong", "agree", "part", "stratum", "inclusion", "review_size", "decision", "label", "reviewer", "time"];

const suspects = data.rows.map((row, at) => {
  const [node, given, suggested, p, agree, neighbours, similar, flagged, source, part, stratum, inclusion, likely, clear] = row;
  return { at, node, given, suggested, p, agree, neighbours, similar, flagged, source, part, stratum, inclusion, likely, clear };
});
const byNode = new Map(suspects.map((one) => [one.node, one]));
const classNumber = new Map(data.classes.map((name, c) => [name, c]));

// ---- small helpers ----

function make(tag, options = {}, ...children) {
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
function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
function svgText(tag, attributes, text) {
  const element = draw(tag, attributes);
  element.textContent = text;
  return element;
}
const className = (c) => (c < 0 ? "no label" : data.classes[c]);
// In maps and drawings a class is its name where all names are short, else its number.
const short = data.classes.every((name) => name.length > 0 && name.length <= 4);
const brief = (c) => (short ? data.classes[c] : String(c + 1));
const whole = (n) => n.toLocaleString("en");
function percent(share) {
  if (share === null || share === undefined) return "–";
  const value = share * 100;
  if (value > 0 && value < 0.01) return "<0.01\u00a0%";
  const digits = value === 0 || value >= 99.95 ? 0 : value >= 99 ? 1 : value >= 10 ? 0 : value >= 1 ? 1 : 2;
  return value.toFixed(digits) + "\u00a0%";
}
const small = (p) => (p >= 0.9995 ? "1.000" : p >= 0.001 ? p.toFixed(3) : p === 0 ? "0" : "<0.001");
function meter(share) {
  const bar = make("span", { class: "meter", "aria-hidden": "true" });
  bar.style.width = Math.max(0, Math.min(1, share)) * 100 + "%";
  return bar;
}
const clip = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

// ---- what was found ----

function table(caption, heads, rows) {
  const head = make("tr", {}, ...heads.map((text, i) => (text ? make("th", { scope: "col", text, class: i ? "" : "text" }) : make("td"))));
  const body = rows.map((cells) => make("tr", {}, ...cells.map((value, i) => {
    const own = make(i ? "td" : "th", i ? {} : { scope: "row", class: "name" });
    own.append(i || value instanceof Node ? value : named(value));
    return own;
  })));
  const whole = make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
  whole.setAttribute("aria-label", caption);
  return whole;
}
const named = (text) => make("span", { class: "clip long", text, title: clip(text, 300) });
function track(share) { return make("div", { class: "track" }, meter(share)); }

function showFound() {
  document.title = data.title;
  $("title").textContent = data.title;
  const [low, high] = data.interval || [null, null];
  const about = (share) => whole(Math.round(share * data.labels));
  const tile = (name, value, more) => make("div", {}, make("dt", { text: name }), make("dd", { text: value }), make("dd", { text: more }));
  $("tiles").append(
    tile("given labels", whole(data.labels), `${whole(data.classes.length)} classes, ${whole(data.trusted)} labels trusted`),
    tile("probably wrong", percent(data.rate), `about ${about(data.rate)} of them` + (low === null ? "" : `; 95\u00a0% interval ${percent(low)} to ${percent(high)}`) + (data.byViews === null ? "" : `; ${percent(data.byViews)} by three views of each node`) + (data.doubted ? ". Probably too low: see below" : "")),
    tile("flagged by confident learning", whole(data.flagged), `${percent(data.flagged / data.labels)} of the labels`),
    tile("clear suspects", whole(data.suspects), "what pignn train --relabel-suspects would change"),
    tile("neighbours alike", data.homophily === null ? "–" : percent(data.homophily), "of edges join equal given labels"));

  const trust = [
    ...data.notes.map((note) => note[0].toUpperCase() + note.slice(1) + "."),
    `Every label was judged by a model that did not see it (${data.folds} folds, '${data.method}').`,
    "The interval holds if errors depend on the true class alone. Errors that follow the features or a region of the graph are underestimated.",
    data.budget ? `Deciding the ${whole(data.budget)} labels of the review tells the rate whatever the errors are: some of them were drawn at random. pignn apply computes it.`
      : "Labels drawn at random tell the rate whatever the errors are: pignn audit --review 100 adds them to this page.",
    ...(data.rows.length < data.labels - data.trusted ? [`The page lists ${whole(data.rows.length)} of ${whole(data.labels - data.trusted)} labels that are not trusted, the most suspect ones; suspects.csv has all.`] : []),
    ...(data.around.length < data.rows.length ? [`Neighbourhoods are in the page for ${whole(data.around.length)} of them.`] : []),
    ...(data.cells.rows.length < data.rows.length ? [`Columns of the file are in the page for ${whole(data.cells.rows.length)} of them.`] : []),
  ];
  if (data.apply) $("apply").textContent = data.apply;
  $("trust-list").append(...trust.map((text) => make("li", { text })));
  showTransition();
  $("by-class").append(table("quality by given class", ["class", "labels", "wrong (expected)", "clear suspects", "quality"],
    data.byClass.map((row) => [row.class, whole(row.labels), row.expected_wrong.toFixed(1), whole(row.suspects), percent(row.quality)])));
  if (data.bySource.length) {
    $("by-source").append(make("h3", { text: "Error by source" }), table("error by source", ["source", "labels", "error", ""],
      data.bySource.map((row) => [row.source, whole(row.labels), percent(row.error), track(row.error)])));
    for (const [name, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", "Error by source"]]) $("by-source").setAttribute(name, value);
  }
}
function showTransition() {
  const share = (v) => (v * 100 >= 9.95 ? (v * 100).toFixed(0) : (v * 100).toFixed(v < 0.0095 ? 2 : 1));
  heat("heat", data.transition, { corner: "true \\ given", least: 0.05, text: share, full: percent, join: "given as" });
  heat("confused", data.confused, { corner: "given \\ suggested", least: 5, text: whole, full: (n) => `${whole(n)} labels`, join: "suggested" });
}
function heat(id, matrix, { corner, least, text, full, join }) {
  const pairs = matrix.flatMap((row, i) => row.map((value, j) => [value, i, j])).filter(([value, i, j]) => i !== j && value > 0);
  pairs.sort((a, b) => b[0] - a[0]);
  if (matrix.length > 40) { // too many for a map
    const [one, other] = corner.split(" \\ ");
    $(id).append(table(corner, [one, other, ""], pairs.slice(0, 40).map(([value, i, j]) => [className(i), className(j), full(value)])));
    return;
  }
  const most = Math.max(pairs.length ? pairs[0][0] : 0, least);
  const map = table(corner, [corner, ...data.classes.map((_, c) => brief(c))], matrix.map((row, i) => [short ? className(i) : `${i + 1} ${className(i)}`, ...row.map(text)]));
  map.className = "heat";
  map.querySelectorAll("thead th").forEach((th, j) => { if (j) th.title = clip(className(j - 1), 300); });
  map.querySelectorAll("tbody tr").forEach((line, i) => line.querySelectorAll("td").forEach((td, j) => {
    // Off the diagonal the shade grows with the value, as far as text stays readable on it.
    if (i === j) td.className = "own";
    else td.style.backgroundColor = `rgb(var(--heat) / ${(0.4 * matrix[i][j] / most).toFixed(3)})`;
    td.title = clip(`${className(i)}, ${join} ${className(j)}: ${full(matrix[i][j])}`, 300);
  }));
  $(id).append(map);
  if (pairs.length && pairs[0][0] >= least) $(id).append(make("p", { class: "note", text: "Most: " + pairs.slice(0, 3).map(([value, i, j]) => `${clip(className(i), 60)}, ${join} ${clip(className(j), 60)}: ${full(value)}`).join("; ") + "." }));
}
function showDistribution() {
  const { count, edges } = data.histogram, bins = count.length;
  const done = count.map(() => [0, 0, 0]); // decided, expected wrong, found wrong
  for (const [node, value] of decided) {
    const one = byNode.get(node);
    if (!one || value.decision === "unsure") continue;
    const bin = done[Math.min(bins - 1, Math.floor(one.p * bins))];
    bin[0]++; bin[1] += one.p; bin[2] += value.decision === "relabel";
  }
  const most = Math.log1p(Math.max(...count));
  const rows = count.map((labels, b) => [`${edges[b].toFixed(2)} – ${edges[b + 1].toFixed(2)}`, track(most ? Math.log1p(labels) / most : 0), whole(labels), done[b][0] || "", done[b][0] ? done[b][1].toFixed(1) : "", done[b][0] ? done[b][2] : ""]);
  $("dist").replaceChildren(table("distribution of p wrong", ["p wrong", "", "labels", "decided", "expected", "wrong"], rows.filter((row, b) => count[b] || b === 0 || b === bins - 1)));
}
