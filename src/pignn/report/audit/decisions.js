// Decisions: make and undo them, store them in this browser, write and read decisions.csv.

let decisions = new Map(); // node -> {decision, label, reviewer, time}
let undoSteps = []; // lists of [node, its decision before or null]
let canStore = true;

function restoreDecisions() {
  try {
    const stored = JSON.parse(localStorage.getItem(STORAGE_KEY) || "null");
    if (stored) {
      decisions = new Map(stored.decisions.filter(([node]) => suspectByNode.has(node)));
      undoSteps = stored.undoSteps;
    }
    byId("reviewer").value = localStorage.getItem("pignn-reviewer") || "";
  } catch { canStore = false; }
}
function storeDecisions() {
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify({ decisions: [...decisions], undoSteps }));
    localStorage.setItem("pignn-reviewer", byId("reviewer").value);
    canStore = true;
  } catch { canStore = false; }
}
function applyChanges(changes) { // [[node, decision or null], ...] as one step
  undoSteps.push(changes.map(([node]) => [node, decisions.get(node) || null]));
  if (undoSteps.length > MAX_UNDO_STEPS) undoSteps.shift();
  for (const [node, value] of changes) value ? decisions.set(node, value) : decisions.delete(node);
  storeDecisions();
  showProgress();
}
function decide(suspect, decision, label = "") {
  const value = decision && { decision, label, reviewer: byId("reviewer").value.trim(), time: new Date().toISOString().slice(0, 19) + "Z" };
  applyChanges([[suspect.node, value || null]]);
  showStatus(decision ? `${clip(suspect.node, 40)}: ${decisionText(decisions.get(suspect.node))}` : `${clip(suspect.node, 40)}: decision cleared`);
  if (decision) moveSelection(1); else showList();
}
function undo() {
  const last = undoSteps.pop();
  if (!last) return showStatus("There is nothing to undo.");
  for (const [node, value] of last) value ? decisions.set(node, value) : decisions.delete(node);
  storeDecisions();
  showProgress();
  if (last.length === 1 && suspectByNode.has(last[0][0])) selectSuspect(suspectByNode.get(last[0][0])); else showList();
  showStatus(last.length === 1 ? `Undone: ${clip(last[0][0], 40)}` : `Undone: ${formatCount(last.length)} decisions`);
}
function decisionText(value) {
  if (!value) return "";
  return value.decision === "relabel" ? "→ " + value.label : value.decision === "keep" ? "✓ keep" : "? unsure";
}
function showStatus(text) { byId("status").textContent = text; }

// ---- decisions.csv: text that a spreadsheet would run as a formula gets an apostrophe ----

const formulaStart = /^[=+\-@\t\r\n']/;
const escapeFormula = (text) => (formulaStart.test(text) ? "'" + text : text);
const unescapeFormula = (text) => (text.startsWith("'") && formulaStart.test(text.slice(1)) ? text.slice(1) : text);
const quoteCell = (text) => (/[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);

function formatCsv() {
  const rows = suspects.filter((suspect) => suspect.part || decisions.has(suspect.node)).sort((a, b) => b.p_wrong - a.p_wrong);
  const lines = rows.map((suspect) => {
    const texts = { ...decisions.get(suspect.node), node: suspect.node, given: className(suspect.given), suggested: className(suspect.suggested) };
    const values = { ...suspect, review_size: suspect.part ? data.review_size : "" };
    return data.decision_columns.map((name) => quoteCell(name in texts ? escapeFormula(texts[name]) : String(values[name] ?? ""))).join(",");
  });
  return [data.decision_columns.join(","), ...lines].join("\n") + "\n";
}
function downloadDecisions() {
  const link = createElement("a", { href: URL.createObjectURL(new Blob([formatCsv()], { type: "text/csv" })), download: "decisions.csv" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  showStatus(`decisions.csv: ${formatCount(decisions.size)} decisions.`);
}
function parseCsv(text) {
  const rows = [];
  let row = [], value = "", quoted = false;
  for (let i = text.startsWith("\ufeff") ? 1 : 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') value += c;
      else if (text[i + 1] === '"') { value += '"'; i++; } else quoted = false;
    } else if (c === '"' && value === "") quoted = true;
    else if (c === ",") { row.push(value); value = ""; }
    else if (c === "\n" || c === "\r") {
      if (c === "\r" && text[i + 1] === "\n") i++;
      rows.push([...row, value]);
      row = []; value = "";
    } else value += c;
  }
  if (quoted) throw new Error("a quote is not closed");
  if (value || row.length) rows.push([...row, value]);
  // Blank rows count, as in a spreadsheet.
  return rows.map((cells, i) => ({ number: i + 1, cells: cells.map(unescapeFormula) })).filter(({ cells }) => cells.some(Boolean));
}
function loadDecisions(text) {
  const [header, ...rows] = parseCsv(text);
  const column = new Map((header ? header.cells : []).map((name, i) => [name.trim(), i]));
  for (const name of ["node", "decision", "label"]) if (!column.has(name)) throw new Error(`it has no column '${name}'`);
  const changes = [], contradictions = [];
  let unknown = 0, known = 0;
  rows.forEach(({ number, cells }) => {
    const get = (name) => (column.has(name) ? cells[column.get(name)] || "" : "");
    const decision = get("decision").trim().toLowerCase(), suspect = suspectByNode.get(get("node"));
    if (decision && !DECISIONS.includes(decision)) throw new Error(`row ${number} has the decision '${clip(decision, 40)}'`);
    if (!suspect) return void (decision && unknown++);
    const written = get("label").trim(), other = written && written !== className(suspect.given);
    if (decision === "relabel" ? written && !other : decision !== "unsure" && other)
      throw new Error(`row ${number} has the decision '${decision}', but the label '${clip(written, 40)}'`);
    if (!decision) return;
    const label = decision === "relabel" ? written || className(suspect.suggested) : "";
    if (decision === "relabel" && !knownClasses.has(label)) throw new Error(`row ${number} has the class '${clip(label, 40)}', which is not a class of this audit`);
    // What is decided here stays: of two reviewers who differ, neither is overruled by loading a file.
    const value = { decision, label, reviewer: get("reviewer"), time: get("time") }, here = decisions.get(suspect.node);
    if (!here) changes.push([suspect.node, value]);
    else if (here.decision === decision && here.label === label) known++;
    else contradictions.push(`${clip(suspect.node, 40)} (here ${clip(decisionText(here), 40)}, in the file ${clip(decisionText(value), 40)}${value.reviewer ? ` by ${clip(value.reviewer, 40)}` : ""})`);
  });
  if (changes.length) applyChanges(changes);
  showList();
  const more = contradictions.length > 3 ? ` and ${formatCount(contradictions.length - 3)} more` : "";
  showStatus([`${formatCount(changes.length)} decisions loaded`,
    ...(known ? [`${formatCount(known)} are here already`] : []),
    ...(contradictions.length ? [`${formatCount(contradictions.length)} contradict decisions that are here, which stay: ${contradictions.slice(0, 3).join(", ")}${more}`] : []),
    ...(unknown ? [`${formatCount(unknown)} rows name nodes that are not on this page and were skipped`] : [])].join("; ") + ".");
}
