// Decisions: made, undone, kept in this browser, written as decisions.csv and read again.

// ---- decisions: what was decided, what it was before, and where it is kept ----

let decided = new Map(); // node -> {decision, label, reviewer, time}
let past = []; // steps to undo: lists of [node, what was there before or null]
let stored = true;

function restore() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) || "null");
    if (kept) {
      decided = new Map(kept.decided.filter(([node]) => byNode.has(node)));
      past = kept.past;
    }
    $("reviewer").value = localStorage.getItem("pignn-reviewer") || "";
  } catch { stored = false; }
}
function keep() {
  try {
    localStorage.setItem(KEY, JSON.stringify({ decided: [...decided], past }));
    localStorage.setItem("pignn-reviewer", $("reviewer").value);
    stored = true;
  } catch { stored = false; }
}
function change(changes) { // [[node, decision or null], ...] as one step
  past.push(changes.map(([node]) => [node, decided.get(node) || null]));
  if (past.length > STEPS) past.shift();
  for (const [node, value] of changes) value ? decided.set(node, value) : decided.delete(node);
  keep();
  tell();
}
function decide(one, decision, label = "") {
  const value = decision && { decision, label, reviewer: $("reviewer").value.trim(), time: new Date().toISOString().slice(0, 19) + "Z" };
  change([[one.node, value || null]]);
  say(decision ? `${clip(one.node, 40)}: ${words(decided.get(one.node))}` : `${clip(one.node, 40)}: decision cleared`);
  if (decision) step(1); else refresh();
}
function undo() {
  const last = past.pop();
  if (!last) return say("There is nothing to undo.");
  for (const [node, value] of last) value ? decided.set(node, value) : decided.delete(node);
  keep();
  tell();
  if (last.length === 1 && byNode.has(last[0][0])) select(byNode.get(last[0][0])); else refresh();
  say(last.length === 1 ? `Undone: ${clip(last[0][0], 40)}` : `Undone: ${whole(last.length)} decisions`);
}
function words(value) {
  if (!value) return "";
  return value.decision === "relabel" ? "→ " + value.label : value.decision === "keep" ? "✓ keep" : "? unsure";
}
function say(text) { $("status").textContent = text; }

// ---- decisions.csv: text that a spreadsheet would run gets an apostrophe, as in every table of pignn ----

const guarded = /^[=+\-@\t\r\n']/;
const neutral = (text) => (guarded.test(text) ? "'" + text : text);
const plain = (text) => (text.startsWith("'") && guarded.test(text.slice(1)) ? text.slice(1) : text);
const cell = (text) => (/[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);

function toCsv() {
  const rows = suspects.filter((one) => one.part || decided.has(one.node)).sort((a, b) => b.p - a.p);
  const lines = rows.map((one) => {
    const value = decided.get(one.node) || { decision: "", label: "", reviewer: "", time: "" };
    const texts = [one.node, className(one.given), className(one.suggested)].map(neutral);
    const numbers = [one.p, one.agree, one.part, one.stratum, one.inclusion, one.part ? data.budget : ""].map((v) => (v === null ? "" : String(v)));
    const made = [value.decision, value.label, value.reviewer, value.time].map(neutral);
    return [...texts, ...numbers, ...made].map(cell).join(",");
  });
  return [COLUMNS.join(","), ...lines].join("\n") + "\n";
}
function download() {
  const link = make("a", { href: URL.createObjectURL(new Blob([toCsv()], { type: "text/csv" })), download: "decisions.csv" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  say(`decisions.csv: ${whole(decided.size)} decisions.`);
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
  return rows.map((cells, i) => ({ number: i + 1, cells: cells.map(plain) })).filter(({ cells }) => cells.some(Boolean));
}
function load(text) {
  const [header, ...rows] = parseCsv(text);
  const column = new Map((header ? header.cells : []).map((name, i) => [name.trim(), i]));
  for (const name of ["node", "decision", "label"]) if (!column.has(name)) throw new Error(`it has no column '${name}'`);
  const changes = [];
  let unknown = 0;
  rows.forEach(({ number, cells }) => {
    const get = (name) => (column.has(name) ? cells[column.get(name)] || "" : "");
    const decision = get("decision").trim().toLowerCase(), one = byNode.get(get("node"));
    if (decision && !DECISIONS.includes(decision)) throw new Error(`row ${number} has the decision '${clip(decision, 40)}'`);
    if (!one) return void (decision && unknown++);
    const written = get("label").trim(), other = written && written !== className(one.given);
    if (decision === "relabel" ? written && !other : decision !== "unsure" && other)
      throw new Error(`row ${number} has the decision '${decision}', but the label '${clip(written, 40)}'`);
    if (!decision) return;
    const label = decision === "relabel" ? written || className(one.suggested) : "";
    if (decision === "relabel" && !classNumber.has(label)) throw new Error(`row ${number} has the class '${clip(label, 40)}', which is not one of this audit`);
    changes.push([one.node, { decision, label, reviewer: get("reviewer"), time: get("time") }]);
  });
  if (changes.length) change(changes);
  refresh();
  say(`${whole(changes.length)} decisions loaded` + (unknown ? `; ${whole(unknown)} rows are of nodes that are not on this page and were left out.` : "."));
}
