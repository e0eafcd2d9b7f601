// Decisions: one or many at once, undo and redo. The page moves on when the server has answered.

// What is pressed while an action is under way waits for its turn, so that no key is lost. It then decides on the label
// that is on the screen by then. A list that is fetched anew blocks nothing: the label on the screen is decided.
let turn = Promise.resolve(), numWaiting = 0;
const MAX_WAITING = 20; // keys
function inTurn(work) {
  if (numWaiting >= MAX_WAITING) return showStatus("The server is slow: that key was not taken.");
  numWaiting++;
  turn = turn.then(() => orShowError(work)).finally(() => numWaiting--);
}
const onShownLabel = (work) => { // a click is meant for the label that was clicked on
  const { node } = detail;
  inTurn(() => detail && detail.node === node && work());
};

async function act(path, body) {
  if (isBusy) return null;
  isBusy = true;
  numActs++;
  try { return await ask(path, { key: makeKey(), ...body }); } catch (error) { showStatus(capitalize(error.message)); return null; } finally { isBusy = false; }
}
async function decide(decision, label = "", more = {}) {
  if (!detail || !isShown) return;
  if (detail.given < 0) return showStatus("This node has no label, so there is nothing to decide.");
  if (detail.is_trusted) return showStatus("This label was verified before the review; it stays.");
  if (decision === "relabel" && label === className(detail.given)) decision = "keep";
  if (decision !== "relabel") label = "";
  const node = detail.node, name = clip(detail.name, 40), note = noteNode === node ? noteText : ownVerdict()?.note || "";
  const change = { node, decision, label, note: decision === null ? "" : note };
  const settle = decidesForAll(decision);
  const outcome = await act("/api/decide", { changes: [change], queue: query.order, settle, ...more });
  if (!outcome) return;
  noteNode = null;
  showStatus(decision === null ? `${name}: decision cleared` : `${name}: ${decisionText({ decision, label }) || "noted"}`);
  const item = items.find((each) => each.node === node);
  if (item) Object.assign(item, { decision: decision || "", label });
  countLocally();
  if (detail.node !== node || (current >= 0 && items[current].node !== node)) return showQueue(); // another one was chosen meanwhile
  isShown = false; // until the next one is
  if (decision === null || decision === "") { showQueue(); await orShowError(() => loadDetail(node)); } else await orShowError(moveToUndecided);
}
// Where somebody settled, only another settlement counts; a decision of one's own would change nothing.
function decidesForAll(decision) {
  const settled = detail.opinions.filter(({ settles }) => settles);
  return decision === null ? settled.some(({ reviewer }) => reviewer === reviewerName()) : query.state === "disputed" || (settled.length > 0 && decision !== "skip");
}
const decideClass = (c) => (c === detail.given ? decide("keep") : decide("relabel", className(c)));
async function saveNote(text) {
  const own = ownVerdict() || { decision: "", label: "", time: "" }, isNothing = !own.decision && !text;
  noteNode = detail.node;
  noteText = text;
  if (!await act("/api/decide", { changes: [{ node: detail.node, decision: isNothing ? null : own.decision, label: own.label, note: text }], queue: query.order })) return;
  noteNode = null;
  // The buttons stay as they are: one may be pressed just now.
  detail.opinions = detail.opinions.filter(({ reviewer, settles }) => reviewer !== reviewerName() || settles);
  if (!isNothing) detail.opinions.push({ reviewer: reviewerName(), settles: false, verdict: { ...own, note: text } });
  byId("detail").querySelector(".opinions").replaceWith(createOpinions());
  showStatus("The note is saved.");
}
async function askNewClass() {
  if (!detail) return;
  const name = (prompt("Name of the new class") || "").trim();
  if (!name) return;
  await decide("relabel", name, { new_class: true });
  await refreshProgress();
}
async function step(path, nothing) {
  const outcome = await act(path, {});
  if (!outcome) return;
  if (!outcome.done) return showStatus(nothing);
  showStatus(outcome.count === 1 ? `${capitalize(outcome.verb)}: done` : `${capitalize(outcome.verb)}: ${countOf(outcome.count, "label")}`);
  await orShowError(async () => { await loadQueue(outcome.nodes[0]); await refreshProgress(); });
}
const undo = () => step("/api/undo", "There is nothing to undo.");
const redo = () => step("/api/redo", "There is nothing to redo.");

// ---- many at once ----

let lookedAt = null; // what the dialog asks about: the models may rank anew while it is open

async function openBulk() {
  if (!total) return showStatus("No label matches; there is nothing to decide.");
  const page = await orShowError(() => ask("/api/queue", { query, offset: 0, limit: 12 }));
  if (!page) return;
  lookedAt = { query: { ...query }, expected: page.total, refit: page.refit };
  byId("bulk-count").textContent = `The filters match ${countOf(page.total, "label")}. One decision goes to all of them, and one undo takes it back.`;
  byId("bulk-preview").replaceChildren(createTable("The first of them", ["Node", "Given", "Suggested", "p wrong"], page.items.map((item) => [item.name, createClipped(className(item.given)), createClipped(className(item.suggested)), formatProbability(item.p_wrong)])));
  fillOptions("bulk-choice", [["keep", "keep all given labels"], ["relabel", "relabel each to its suggestion"], ["unsure", "unsure"], ...data.class_names.map((name, c) => [String(c), "all are: " + name])]);
  byId("bulk-do").textContent = `Decide on ${countOf(page.total, "label")}`;
  byId("bulk-dialog").showModal();
  byId("bulk-choice").focus();
}
async function decideBulk() {
  const choice = byId("bulk-choice").value, isClass = /^\d+$/.test(choice);
  const body = { ...lookedAt, decision: isClass ? "relabel" : choice, label: isClass ? className(Number(choice)) : "" };
  const outcome = await act("/api/decide-all", body);
  byId("bulk-dialog").close();
  if (!outcome) return;
  showStatus(`${countOf(outcome.count, "label")} decided; undo takes it back.`);
  await orShowError(async () => { await loadQueue(); await refreshProgress(); });
}
