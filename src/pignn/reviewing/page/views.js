// The views beside the queue: history, team and files.

const VIEWS = ["review", "map", "history", "team", "files"];
const EXPORTS = [["decisions", "decisions.csv", "for pignn apply and pignn train"], ["corrected", "corrected file", "your file of nodes; only decided labels change"], ["trusted", "trusted.csv", "labels that somebody verified"], ["parquet", "decisions.parquet", "decisions as Parquet"],
  ["label-studio", "label-studio.json", "tasks for Label Studio"], ["argilla", "argilla.json", "records for Argilla"], ["report", "report.html", "a page about this review"]];
let lastEntry = null;

function showView(name) {
  view = name;
  for (const each of VIEWS) byId(each).hidden = each !== name;
  for (const button of byId("views").querySelectorAll("[data-view]")) button.dataset.view === name ? button.setAttribute("aria-current", "page") : button.removeAttribute("aria-current");
  showStatus("");
  if (name === "map") orShowError(loadMap);
  if (name === "history") orShowError(loadHistory);
  if (name === "team") orShowError(loadTeam);
}
async function loadHistory(before = null) {
  const { entries } = await ask("/api/history", { before });
  const rows = entries.map((entry) => [entry.time.replace("T", " ").replace("Z", ""), createClipped(entry.reviewer), entry.verb, formatCount(entry.count), createElement("button", { text: clip(entry.name, 40), click: () => orShowError(() => visit(entry.node)) }), createClipped(entry.before), createClipped(entry.after)]);
  byId("history-table").replaceChildren(createTable("History", ["When (UTC)", "Who", "What", "Labels", "First node", "Before", "After"], rows));
  lastEntry = entries.length ? entries[entries.length - 1].id : null;
  byId("older").disabled = entries.length < 100;
}
async function loadTeam() {
  await refreshProgress();
  project = await ask("/api/project");
  const agreement = await ask("/api/agreement"), number = (value) => (value === null ? "–" : value.toFixed(2));
  byId("alpha").textContent = agreement.labels ? `Decided by two or more: ${countOf(agreement.labels, "label")}. Krippendorff’s alpha: ${number(agreement.alpha)}.` : "No label has been decided by two reviewers yet.";
  byId("pairs").replaceChildren(...(agreement.pairs.length ? [createTable("Agreement by pair", ["Reviewers", "Labels", "Agreement", "Cohen’s kappa"], agreement.pairs.map((pair) => [`${pair.first} and ${pair.second}`, formatCount(pair.labels), formatPercent(pair.agreement), number(pair.kappa)]))] : []));
  byId("dealt").value = project.dealt.join(", ");
  if (project.dealt.length) byId("overlap").value = String(Math.round(project.overlap * 100));
}
async function dealOut() {
  const reviewers = byId("dealt").value.split(",").map((name) => name.trim()).filter(Boolean);
  project = await ask("/api/dealing", { reviewers, overlap: Number(byId("overlap").value) / 100 });
  showStatus(reviewers.length ? `The labels are dealt out to ${clip(reviewers.join(", "), 200)}.` : "Everybody may decide every label.");
  await loadQueue();
}
async function loadFile(file) {
  const outcome = await act("/api/load", { text: await file.text() });
  if (!outcome) return;
  await loadQueue();
  await refreshProgress();
  showStatus(`${countOf(outcome.loaded, "decision")} loaded` + (outcome.replaced ? `, ${formatCount(outcome.replaced)} of them instead of another one of yours` : "") + (outcome.unknown ? `; ${formatCount(outcome.unknown)} rows name nodes that have no label here.` : "."));
}
async function takeAway(name, file) {
  const response = await fetch(`/api/export/${name}`);
  if (!response.ok) throw new Error((await response.json()).error);
  const named = /filename\*=UTF-8''([^;]+)/.exec(response.headers.get("Content-Disposition") || "");
  const link = createElement("a", { href: URL.createObjectURL(await response.blob()), download: named ? decodeURIComponent(named[1]) : file });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  showStatus(`${link.download} was written.`);
}
function listenToViews() {
  for (const button of byId("views").querySelectorAll("[data-view]")) button.addEventListener("click", () => showView(button.dataset.view));
  byId("older").addEventListener("click", () => orShowError(() => loadHistory(lastEntry)));
  byId("deal").addEventListener("click", () => orShowError(dealOut));
  byId("settle").addEventListener("click", () => { query = { ...EMPTY_QUERY, order: "node", state: "disputed" }; writeQuery(); showView("review"); orShowError(() => loadQueue()); });
  byId("load").addEventListener("change", () => {
    const [file] = byId("load").files;
    if (file) inTurn(() => loadFile(file));
    byId("load").value = "";
  });
  byId("exports").append(...EXPORTS.filter(([name]) => name !== "corrected" || project.can_correct).map(([name, file, text]) => createElement("li", {},
    createElement("button", { text: file, click: () => orShowError(() => takeAway(name, file)) }), createElement("span", { class: "note", text: " " + text }))));
}
