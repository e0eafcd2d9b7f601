// The live panel: what the decisions tell so far, and what changed in the models.

let seenRefit = 0, seenRevision = 0, isPolling = false;

function showPanel() {
  const { panel } = progress;
  const between = ([low, high]) => `95\u00a0% interval ${formatPercent(low)} to ${formatPercent(high)}`;
  const tile = (name, value, text) => createElement("div", {}, createElement("dt", { text: name }), createElement("dd", { text: value }), createElement("dd", { text }));
  byId("panel").replaceChildren(
    tile("decided", formatCount(panel.decided), `of ${formatCount(panel.labels)}; ${formatCount(panel.found)} wrong, ${formatCount(panel.unsure)} unsure` + (panel.disputed ? `, ${formatCount(panel.disputed)} disputed` : "")),
    tile("wrong among all", panel.rate === null ? "?" : formatPercent(panel.rate), panel.drawn ? `${between(panel.rate_interval)}, by ${countOf(panel.drawn, "random label")}` : "decide some that are drawn at random"),
    tile("wrong labels left", panel.left === null ? "?" : formatCount(Math.round(panel.left)), `${formatCount(panel.left_interval[0])} to ${formatCount(panel.left_interval[1])}`),
    tile("right after correction", panel.accuracy === null ? "?" : formatPercent(panel.accuracy), between(panel.accuracy_interval)),
    tile("wrong among the surest", panel.precision === null ? "?" : formatPercent(panel.precision), panel.recent ? `of your team’s last ${panel.recent} surest errors` : "decide some of the surest errors"));
  byId("advice").textContent = panel.advice;
  byId("models").textContent = progress.refit ? `The models were fitted ${countOf(progress.refit, "time")}, last in ${progress.refit_seconds}\u00a0s with ${countOf(progress.known, "decision")}.` : "The models learn after a few decisions.";
  byId("undo").disabled = !progress.undo;
  byId("redo").disabled = !progress.redo;
  byId("dispute-text").textContent = panel.disputed ? countOf(panel.disputed, "label") : "There are none.";
  byId("settle").disabled = !panel.disputed;
}
function countLocally() { // until the next poll
  if (progress) byId("undo").disabled = false;
}
async function refreshProgress() {
  progress = await ask("/api/progress");
  if (progress.class_names.length !== data.class_names.length) {
    data.class_names = progress.class_names;
    fillQueryOptions();
  }
  showPanel();
}
async function poll() {
  if (isPolling || document.hidden || isBusy) return;
  isPolling = true;
  try {
    await refreshProgress();
    const isNewRanking = progress.refit !== seenRefit, isNewDecision = progress.revision !== seenRevision;
    seenRevision = progress.revision;
    if (isNewRanking) {
      const refit = progress.refit;
      project = await ask("/api/project");
      if (await rankAnew()) seenRefit = refit;
    } else if (isNewDecision && view === "history") await loadHistory();
  } catch (error) { showStatus(capitalize(error.message)); } finally { isPolling = false; }
}
async function rankAnew() {
  // The label that is looked at stays; those behind it come in their new order.
  const numBefore = numActs;
  if (isBusy || view !== "review") return false;
  const page = await ask("/api/queue", { query, offset: 0, limit: PAGE_SIZE });
  if (numActs !== numBefore) return false; // it would list what was decided meanwhile
  const before = new Set(items.filter((item) => !item.decision).map((item) => item.node)), shown = current >= 0 ? items[current] : null;
  const isUndecided = shown && !shown.decision && query.state === "open";
  items = isUndecided ? [page.items.find((item) => item.node === shown.node) || shown, ...page.items.filter((item) => item.node !== shown.node)] : page.items;
  if (!isUndecided && shown && !items.some((item) => item.node === shown.node)) items.unshift(shown);
  total = page.total;
  current = shown ? items.findIndex((item) => item.node === shown.node) : items.length ? 0 : -1;
  const entered = page.items.filter((item) => !before.has(item.node)).length;
  showQueue();
  if (!detail && items.length) await loadDetail();
  showStatus(`Ranked anew with ${countOf(progress.known, "decision")}: ${entered} of the next ${page.items.length} are new.`);
  return true;
}
