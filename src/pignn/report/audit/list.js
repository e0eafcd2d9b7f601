// The list of suspects, progress, the keyboard, and the start.

// ---- the list: a view of the suspects, a page at a time ----

const order = new Intl.Collator(undefined, { numeric: true });
const HEADS = [
  ["node", "Node", (a, b) => order.compare(a.node, b.node), ""],
  ["given", "Given → suggested", (a, b) => a.given - b.given || a.suggested - b.suggested, ""],
  ["p", "p wrong", (a, b) => a.p - b.p, ""],
  ["agree", "Neighbours agree", (a, b) => (a.agree ?? 2) - (b.agree ?? 2), "minor"],
  ...(data.hasSimilar ? [["similar", "Similar agree", (a, b) => (a.similar ?? 2) - (b.similar ?? 2), "minor"]] : []),
  ...(data.sources.length ? [["source", "Source", (a, b) => a.source - b.source, "minor"]] : []),
  ["decision", "Decision", (a, b) => order.compare(words(decided.get(a.node)), words(decided.get(b.node))), ""],
];
let view = [], start = 0, now = null, sort = { by: "p", down: true };
let texts = null; // what the search looks through, made at the first search

function filter() {
  const query = $("search").value.trim().toLowerCase();
  if (query && !texts) texts = suspects.map((one) => {
    const cells = data.cells.names.length ? data.cells.rows[one.at] || [] : [];
    return [one.node, className(one.given), className(one.suggested), ...cells].join("\n").toLowerCase();
  });
  const [given, suggested, source] = ["given", "suggested", "source"].map((id) => $(id).value);
  const from = Number($("from").value || 0), to = $("to").value === "" ? 1 : Number($("to").value), show = $("show").value;
  view = suspects.filter((one) => (given === "" || one.given === Number(given)) && (suggested === "" || one.suggested === Number(suggested))
    && (source === "" || one.source === Number(source)) && one.p >= from && one.p <= to && shown(one, show)
    && (!query || texts[one.at].includes(query)));
  const compare = HEADS.find(([name]) => name === sort.by)[2];
  view.sort((a, b) => (sort.down ? -1 : 1) * compare(a, b) || b.p - a.p || a.at - b.at);
  start = 0;
  now = view[0] || null;
  refresh();
}
function shown(one, what) {
  if (what === "review") return one.part !== "";
  if (what === "clear") return one.clear === 1;
  if (what === "flagged") return one.flagged === 1;
  if (what === "open") return !decided.has(one.node);
  if (what === "open-review") return one.part !== "" && !decided.has(one.node);
  return what === "decided" ? decided.has(one.node) : true;
}
function refresh() {
  const place = now ? view.indexOf(now) : -1;
  if (place >= 0) start = Math.floor(place / PAGE) * PAGE;
  for (const th of $("heads").children) th.setAttribute("aria-sort", th.dataset.name === sort.by ? (sort.down ? "descending" : "ascending") : "none");
  for (const th of $("heads").children) th.firstChild.lastChild.textContent = th.dataset.name === sort.by ? (sort.down ? " ▼" : " ▲") : "";
  $("rows").replaceChildren(...view.slice(start, start + PAGE).map(line));
  $("page").textContent = view.length ? `${whole(start + 1)} to ${whole(Math.min(start + PAGE, view.length))} of ${whole(view.length)}` : "No suspect matches.";
  enable($("before"), start > 0, $("after"));
  enable($("after"), start + PAGE < view.length, $("before"));
  showOne();
}
function enable(button, on, instead) {
  // A button that is switched off must not take the focus with it.
  if (!on && document.activeElement === button) instead.focus();
  button.disabled = !on;
}
function line(one) {
  const value = decided.get(one.node);
  const cells = {
    node: make("td", { class: "text" }, make("button", { class: "clip", text: clip(one.node, 60), ...(one === now ? { "aria-current": "true" } : { tabindex: "-1" }) })),
    given: make("td", { class: "text" }, make("span", { class: "clip", text: className(one.given), title: clip(className(one.given), 300) }), make("span", { class: "clip", text: "→ " + className(one.suggested), title: clip(className(one.suggested), 300) })),
    p: make("td", { text: small(one.p) }),
    agree: make("td", { class: "minor", text: one.agree === null ? "none" : `${percent(one.agree)} of ${one.neighbours}` }),
    similar: make("td", { class: "minor", text: percent(one.similar) }),
    source: make("td", { class: "minor text" }, make("span", { class: "clip", text: one.source < 0 ? "" : data.sources[one.source] })),
    decision: make("td", { class: "text" }, make("span", { class: "clip mark " + (value ? value.decision : ""), text: value ? words(value) : one.part ? "to review" : "" })),
  };
  return make("tr", { class: one === now ? "now" : "", click: () => select(one) }, ...HEADS.map(([name]) => cells[name]));
}
function select(one) {
  if (!view.includes(one)) { view.push(one); }
  const focused = $("rows").contains(document.activeElement);
  now = one;
  refresh();
  const current = $("rows").querySelector("tr.now");
  if (current && focused) current.querySelector("button").focus({ preventScroll: true });
}
function step(by) {
  const place = view.indexOf(now) + by;
  if (place >= 0 && place < view.length) select(view[place]); else refresh();
  const current = $("rows").querySelector("tr.now");
  if (current && !narrow.matches) current.scrollIntoView({ block: "nearest" });
}

// ---- progress, events, start ----

function tell() {
  const review = suspects.filter((one) => one.part), count = { relabel: 0, keep: 0, unsure: 0 };
  for (const value of decided.values()) count[value.decision]++;
  const done = review.filter((one) => decided.has(one.node)).length;
  const of = data.budget || suspects.length;
  $("progress").max = Math.max(of, 1);
  $("progress").value = data.budget ? done : decided.size;
  $("progress-text").textContent = (data.budget ? `${whole(done)} of ${whole(of)} of the review decided` : `${whole(decided.size)} decided`)
    + ` (${whole(count.relabel)} relabel, ${whole(count.keep)} keep, ${whole(count.unsure)} unsure` + (data.budget ? `; ${whole(decided.size - done)} besides)` : ")");
  enable($("undo"), past.length > 0, $("download"));
  $("kept").textContent = stored ? "Decisions are kept in this browser, for this audit, until you download them." : "This browser keeps nothing for this page: download your decisions before you leave.";
  showDistribution();
}
function onKey(event) {
  const target = event.target, typing = target.matches("input:not([type=checkbox]), select, textarea");
  if (typing && event.key === "Escape") return target.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.toLowerCase();
  // The list is one stop of the Tab key: arrows move in it, whether or not other keys are on.
  if (!$("keys").checked && !($("rows").contains(target) && key.startsWith("arrow"))) return;
  const act = { r: () => decide(now, "relabel", className(now.suggested)), k: () => decide(now, "keep"), u: () => decide(now, "unsure"), c: () => decided.has(now.node) && decide(now, null) };
  if (key === "z") undo();
  else if (key === "/") $("search").focus();
  else if (!now) return;
  else if (act[key]) act[key]();
  else if (key === "n" || key === "arrowdown") step(1);
  else if (key === "p" || key === "arrowup") step(-1);
  else if (/^[1-9]$/.test(key) && one(key)) decide(now, "relabel", className(one(key)[0]));
  else return;
  event.preventDefault();
}
function one(key) {
  const entry = now.likely[Number(key) - 1];
  return entry && entry[0] !== now.given ? entry : null;
}
function options(id, entries) { $(id).append(...entries.map(([value, text]) => make("option", { value: String(value), text: clip(text, 80) }))); }

// What is read first comes first: beside each other the list, below each other the suspect.
const narrow = matchMedia("(max-width: 60rem)"); // as in page.css
const place = () => $("split").append($(narrow.matches ? "list-part" : "detail"));
narrow.addEventListener("change", place);
place();
restore();
showFound();
const many = data.classes.map((name, c) => [c, name]);
options("given", [["", "all classes"], ...many]);
options("suggested", [["", "all classes"], ...many]);
options("source", [["", "all sources"], ...data.sources.map((name, s) => [s, name])]);
$("source-box").hidden = !data.sources.length;
options("show", [["all", "all suspects"], ...(data.budget ? [["review", "the review"], ["open-review", "the review, undecided"]] : []), ["clear", "clear suspects"], ["flagged", "flagged"], ["open", "undecided"], ["decided", "decided"]]);
if (data.budget) $("show").value = "review";
$("heads").append(...HEADS.map(([name, text, , extra]) => {
  const th = make("th", { scope: "col", class: extra + (["node", "given", "source", "decision"].includes(name) ? " text" : "") }, make("button", { click: () => { sort = { by: name, down: sort.by === name ? !sort.down : name === "p" }; filter(); } }, text, make("span", { "aria-hidden": "true" })));
  th.dataset.name = name;
  return th;
}));
for (const id of ["show", "given", "suggested", "source", "from", "to"]) $(id).addEventListener("change", filter);
let wait = 0;
$("search").addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(filter, 120); });
$("before").addEventListener("click", () => { now = view[Math.max(start - PAGE, 0)]; refresh(); });
$("after").addEventListener("click", () => { now = view[Math.min(start + PAGE, view.length - 1)]; refresh(); });
$("undo").addEventListener("click", undo);
$("download").addEventListener("click", download);
$("reviewer").addEventListener("change", keep);
$("load").addEventListener("change", async () => {
  const [file] = $("load").files;
  if (!file) return;
  try { load(await file.text()); } catch (error) { say(`${clip(file.name, 60)} was not loaded: ${error.message}`); }
  $("load").value = "";
});
document.addEventListener("keydown", onKey);
addEventListener("storage", (event) => { if (event.key === KEY) { restore(); tell(); refresh(); } }); // another tab decided
tell();
filter();
