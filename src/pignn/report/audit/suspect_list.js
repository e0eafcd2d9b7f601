// The list of suspects, progress, the keyboard, and the start.

// ---- the list: filtered and sorted suspects, a page at a time ----

const collator = new Intl.Collator(undefined, { numeric: true });
function compareColumn(column) {
  if (column.kind === "text") return (a, b) => collator.compare(a[column.name], b[column.name]);
  return (a, b) => (a[column.name] ?? Infinity) - (b[column.name] ?? Infinity) || 0; // missing values last
}
const HEADINGS = [
  { name: "node", heading: "Node", isText: true, compare: (a, b) => collator.compare(a.node, b.node),
    createCell: (suspect) => createElement("button", { class: "clip", text: clip(suspect.node, 60), ...(suspect === selected ? { "aria-current": "true" } : { tabindex: "-1" }) }) },
  { name: "given", heading: "Given → suggested", isText: true, compare: (a, b) => a.given - b.given || a.suggested - b.suggested,
    createCell: (suspect) => createElement("span", {}, ...[["", suspect.given], ["→ ", suspect.suggested]].map(([arrow, c]) => createElement("span", { class: "clip", text: arrow + className(c), title: clip(className(c), 300) }))) },
  ...data.columns.map((column) => ({ name: column.name, heading: column.heading, isText: ["text", "category"].includes(column.kind), isMinor: column.is_minor, compare: compareColumn(column),
    createCell: (suspect) => createElement("span", { class: ["text", "category"].includes(column.kind) ? "clip" : "", text: formatColumn(column, suspect) }) })),
  { name: "decision", heading: "Decision", isText: true, compare: (a, b) => collator.compare(decisionText(decisions.get(a.node)), decisionText(decisions.get(b.node))),
    createCell: (suspect) => {
      const value = decisions.get(suspect.node);
      return createElement("span", { class: "clip mark " + (value ? value.decision : ""), text: value ? decisionText(value) : suspect.part ? "to review" : "" });
    } },
];
const cellClass = ({ isText, isMinor }) => [isText ? "text" : "", isMinor ? "minor" : ""].join(" ").trim();
let view = [], start = 0, selected = null, sort = { by: "p_wrong", isDescending: true };
let searchTexts = null; // built at the first search

function updateView() {
  const query = byId("search").value.trim().toLowerCase();
  if (query && !searchTexts) searchTexts = suspects.map((suspect) => {
    const cells = data.cells.names.length ? data.cells.rows[suspect.index] || [] : [];
    return [suspect.node, className(suspect.given), className(suspect.suggested), ...cells].join("\n").toLowerCase();
  });
  const [given, suggested, source] = ["given", "suggested", "source"].map((id) => byId(id).value);
  const from = Number(byId("from").value || 0), to = byId("to").value === "" ? 1 : Number(byId("to").value), show = byId("show").value;
  view = suspects.filter((suspect) => (given === "" || suspect.given === Number(given)) && (suggested === "" || suspect.suggested === Number(suggested))
    && (source === "" || suspect.source === Number(source)) && suspect.p_wrong >= from && suspect.p_wrong <= to && isShown(suspect, show)
    && (!query || searchTexts[suspect.index].includes(query)));
  const { compare } = HEADINGS.find(({ name }) => name === sort.by);
  view.sort((a, b) => (sort.isDescending ? -1 : 1) * compare(a, b) || b.p_wrong - a.p_wrong || a.index - b.index);
  start = 0;
  selected = view[0] || null;
  showList();
}
function isShown(suspect, filter) {
  if (filter === "review") return suspect.part !== "";
  if (filter === "clear") return suspect.suspect === 1;
  if (filter === "flagged") return suspect.flagged === 1;
  if (filter === "open") return !decisions.has(suspect.node);
  if (filter === "open-review") return suspect.part !== "" && !decisions.has(suspect.node);
  if (filter === "decided") return decisions.has(suspect.node);
  return true;
}
function showList() {
  const position = selected ? view.indexOf(selected) : -1;
  if (position >= 0) start = Math.floor(position / PAGE_SIZE) * PAGE_SIZE;
  for (const th of byId("headings").children) {
    const isSorted = th.dataset.name === sort.by;
    th.setAttribute("aria-sort", isSorted ? (sort.isDescending ? "descending" : "ascending") : "none");
    th.firstChild.lastChild.textContent = isSorted ? (sort.isDescending ? " ▼" : " ▲") : "";
  }
  byId("rows").replaceChildren(...view.slice(start, start + PAGE_SIZE).map(createRow));
  byId("page").textContent = view.length ? `${formatCount(start + 1)} to ${formatCount(Math.min(start + PAGE_SIZE, view.length))} of ${formatCount(view.length)}` : "No suspect matches.";
  setEnabled(byId("previous"), start > 0, byId("next"));
  setEnabled(byId("next"), start + PAGE_SIZE < view.length, byId("previous"));
  showDetail();
}
function setEnabled(button, isEnabled, focusInstead) {
  // A button that is disabled must not take the focus with it.
  if (!isEnabled && document.activeElement === button) focusInstead.focus();
  button.disabled = !isEnabled;
}
function createRow(suspect) {
  return createElement("tr", { class: suspect === selected ? "now" : "", click: () => selectSuspect(suspect) },
    ...HEADINGS.map((heading) => createElement("td", { class: cellClass(heading) }, heading.createCell(suspect))));
}
function selectSuspect(suspect) {
  if (!view.includes(suspect)) { view.push(suspect); }
  const hadFocus = byId("rows").contains(document.activeElement);
  selected = suspect;
  showList();
  const row = byId("rows").querySelector("tr.now");
  if (row && hadFocus) row.querySelector("button").focus({ preventScroll: true });
}
function moveSelection(by) {
  const position = view.indexOf(selected) + by;
  if (position >= 0 && position < view.length) selectSuspect(view[position]); else showList();
  const row = byId("rows").querySelector("tr.now");
  if (row && !narrowScreen.matches) row.scrollIntoView({ block: "nearest" });
}

// ---- progress, events, start ----

function showProgress() {
  const inReview = suspects.filter((suspect) => suspect.part), counts = { relabel: 0, keep: 0, unsure: 0 };
  for (const value of decisions.values()) counts[value.decision]++;
  const numDone = inReview.filter((suspect) => decisions.has(suspect.node)).length;
  const total = data.review_size || suspects.length;
  byId("progress").max = Math.max(total, 1);
  byId("progress").value = data.review_size ? numDone : decisions.size;
  byId("progress-text").textContent = (data.review_size ? `${formatCount(numDone)} of ${formatCount(total)} labels of the review decided` : `${formatCount(decisions.size)} decided`)
    + ` (${formatCount(counts.relabel)} relabel, ${formatCount(counts.keep)} keep, ${formatCount(counts.unsure)} unsure` + (data.review_size ? `; ${formatCount(decisions.size - numDone)} outside the review)` : ")");
  setEnabled(byId("undo"), undoSteps.length > 0, byId("download"));
  byId("storage-note").textContent = canStore ? "Decisions are kept in this browser, for this audit, until you download them." : "This browser stores nothing for this page: download your decisions before you leave.";
  showHistogram();
}
function onKey(event) {
  const target = event.target, isTyping = target.matches("input:not([type=checkbox]), select, textarea");
  if (isTyping && event.key === "Escape") {
    if (target.id === "search" && target.value) { target.value = ""; updateView(); }
    return target.blur();
  }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.toLowerCase();
  // The list is one stop of the Tab key: arrows move in it, whether or not other keys are on.
  if (!byId("keys").checked && !(byId("rows").contains(target) && key.startsWith("arrow"))) return;
  const actions = { r: () => decide(selected, "relabel", className(selected.suggested)), k: () => decide(selected, "keep"), u: () => decide(selected, "unsure"), c: () => decisions.has(selected.node) && decide(selected, null) };
  if (key === "z") undo();
  else if (key === "/") byId("search").focus();
  else if (!selected) return;
  else if (actions[key]) actions[key]();
  else if (key === "n" || key === "arrowdown") moveSelection(1);
  else if (key === "p" || key === "arrowup") moveSelection(-1);
  else if (/^[1-9]$/.test(key) && likelyClass(key) !== null) decide(selected, "relabel", className(likelyClass(key)));
  else return;
  event.preventDefault();
}
function likelyClass(key) {
  const entry = selected.likely[Number(key) - 1];
  return entry && entry[0] !== selected.given ? entry[0] : null;
}
function fillOptions(id, entries) { byId(id).append(...entries.map(([value, text]) => createElement("option", { value: String(value), text: clip(text, 80) }))); }

// What is read first comes first: side by side the list, one below the other the suspect.
const narrowScreen = matchMedia("(max-width: 60rem)"); // as in page.css
const orderParts = () => byId("split").append(byId(narrowScreen.matches ? "list-part" : "detail"));
narrowScreen.addEventListener("change", orderParts);
orderParts();
restoreDecisions();
showOverview();
const sources = data.categories.source || [];
const classOptions = [["", "all classes"], ...data.class_names.map((name, c) => [c, name])];
fillOptions("given", classOptions);
fillOptions("suggested", classOptions);
fillOptions("source", [["", "all sources"], ...sources.map((name, s) => [s, name])]);
byId("source-box").hidden = !sources.length;
fillOptions("show", [["all", "all suspects"], ...(data.review_size ? [["review", "the review"], ["open-review", "the review, undecided"]] : []), ["clear", "clear suspects"], ["flagged", "flagged"], ["open", "undecided"], ["decided", "decided"]]);
if (data.review_size) byId("show").value = "review";
byId("headings").append(...HEADINGS.map((heading) => {
  const toggleSort = () => { sort = { by: heading.name, isDescending: sort.by === heading.name ? !sort.isDescending : heading.name === "p_wrong" }; updateView(); };
  const th = createElement("th", { scope: "col", class: cellClass(heading) }, createElement("button", { click: toggleSort }, heading.heading, createElement("span", { "aria-hidden": "true" })));
  th.dataset.name = heading.name;
  return th;
}));
for (const id of ["show", "given", "suggested", "source", "from", "to"]) byId(id).addEventListener("change", updateView);
let searchTimer = 0;
byId("search").addEventListener("input", () => { clearTimeout(searchTimer); searchTimer = setTimeout(updateView, 120); });
byId("previous").addEventListener("click", () => { selected = view[Math.max(start - PAGE_SIZE, 0)]; showList(); });
byId("next").addEventListener("click", () => { selected = view[Math.min(start + PAGE_SIZE, view.length - 1)]; showList(); });
byId("undo").addEventListener("click", undo);
byId("download").addEventListener("click", downloadDecisions);
byId("reviewer").addEventListener("change", storeDecisions);
byId("load").addEventListener("change", async () => {
  const [file] = byId("load").files;
  if (!file) return;
  try { loadDecisions(await file.text()); } catch (error) { showStatus(`${clip(file.name, 60)} was not loaded: ${error.message}`); }
  byId("load").value = "";
});
document.addEventListener("keydown", onKey);
addEventListener("storage", (event) => { if (event.key === STORAGE_KEY) { restoreDecisions(); showProgress(); showList(); } }); // decided in another tab
showProgress();
updateView();
