// Keys, events, and the start.

const KEYS = [
  ["Move", [["↓ J", "next label"], ["↑ K", "previous label"], ["/", "search"], ["O", "choose what comes next"], ["F", "filters"], ["R M H T E", "review, map, history, team, files"]]],
  ["Decide", [["Space", "relabel to the suggestion"], ["1–9, letters", "the class with that key; the given one is kept"], ["G", "keep the given label: checked, right"], ["U", "unsure"], ["S", "skip"], ["N", "write a note"], ["W", "a class that was not there"], ["X", "clear the decision"], ["B", "decide on all that match"], ["Z Y", "undo, redo"]]],
];
const MOVES = { j: () => move(1), arrowdown: () => move(1), k: () => move(-1), arrowup: () => move(-1) };
const ACTIONS = {
  " ": () => detail && decide("relabel", className(detail.suggested)), g: () => decide("keep"), u: () => decide("unsure"), s: () => decide("skip"), x: () => detail && canClear() && decide(null),
  z: () => undo(), y: () => redo(),
};
const FIELDS = { // what is pressed next goes into them
  n: () => byId("note")?.focus(), w: () => askNewClass(), b: () => openBulk(),
  "/": () => byId("search").focus(), o: () => byId("order").focus(), f: () => { byId("filters").open = true; byId("given").focus(); },
};
let isFieldNext = false;
const VIEW_KEYS = { r: "review", m: "map", h: "history", t: "team", e: "files" };

function onKey(event) {
  const target = event.target, isTyping = target.matches("input:not([type=checkbox]), select, textarea");
  if (isTyping && event.key === "Escape") return target.blur();
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const key = event.key.toLowerCase();
  if (key === "?") { byId("help").showModal(); event.preventDefault(); return; }
  if (byId("views").hidden || (!byId("keys").checked && !(byId("rows-box").contains(target) && key.startsWith("arrow")))) return;
  // A button that has the focus keeps its own space bar.
  if (key === " " && target.matches("button, summary, a")) return;
  const number = CLASS_KEYS.indexOf(key);
  if (VIEW_KEYS[key]) showView(VIEW_KEYS[key]);
  else if (view !== "review" && !["z", "y"].includes(key)) return;
  else if (MOVES[key] || ACTIONS[key] || (number >= 0 && number < data.class_names.length)) takeKey(event, MOVES[key] || ACTIONS[key] || (() => detail && decideClass(number)), Boolean(MOVES[key]));
  else if (FIELDS[key]) openField(FIELDS[key]);
  else return;
  event.preventDefault();
}
function takeKey(event, work, isMove) {
  // A key that is held down moves as fast as labels come, and decides one label.
  if (isFieldNext || (event.repeat && (!isMove || numWaiting))) return;
  inTurn(work);
}
function openField(work) {
  if (!numWaiting) return work();
  isFieldNext = true; // it is on its way: what is typed meanwhile must not decide anything
  inTurn(() => { isFieldNext = false; return work(); });
}
function showLogin() {
  byId("login").hidden = false;
  byId("views").hidden = true;
  for (const each of VIEWS) byId(each).hidden = true;
  byId("token").focus();
}
async function open() {
  const session = await fetchSession();
  if (session.needs_token) {
    byId("reviewer").readOnly = true;
    byId("reviewer").value = session.reviewer;
    if (!session.reviewer) return showLogin();
  }
  byId("login").hidden = true;
  byId("views").hidden = false;
  project = await ask("/api/project");
  data.class_names = project.class_names;
  document.title = project.title;
  byId("title").textContent = project.title;
  byId("doubt-list").replaceChildren(...project.notes.map((text) => createElement("li", { text: capitalize(text) + "." })));
  byId("doubts").hidden = !project.notes.length;
  fillQueryOptions();
  showView("review");
  await refreshProgress();
  seenRefit = progress.refit;
  seenRevision = progress.revision;
  await loadQueue();
  listenToViews();
  listenToMap();
  setInterval(poll, POLL_MS);
}
function listen() {
  document.addEventListener("keydown", onKey);
  for (const id of ["order", "state", "given", "suggested", "source", "cluster", "low", "high"]) byId(id).addEventListener("change", readQuery);
  let timer = 0;
  byId("search").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(readQuery, 200); });
  byId("clear-filters").addEventListener("click", () => { query = { ...EMPTY_QUERY, order: query.order, state: query.state }; writeQuery(); orShowError(() => loadQueue()); });
  byId("bulk").addEventListener("click", openBulk);
  byId("bulk-do").addEventListener("click", () => inTurn(decideBulk));
  byId("bulk-close").addEventListener("click", () => byId("bulk-dialog").close());
  byId("undo").addEventListener("click", () => inTurn(undo));
  byId("redo").addEventListener("click", () => inTurn(redo));
  byId("help-button").addEventListener("click", () => byId("help").showModal());
  byId("help-close").addEventListener("click", () => byId("help").close());
  byId("key-list").append(...KEYS.map(([title, rows]) => createElement("div", {}, createElement("h3", { text: title }), createElement("dl", { class: "key-table" }, ...rows.flatMap(([keys, text]) => [
    createElement("dt", {}, ...keys.split(" ").map((key) => createElement("kbd", { text: key }))), createElement("dd", { text })])))));
  byId("reviewer").addEventListener("change", () => { try { localStorage.setItem("pignn-reviewer", byId("reviewer").value); } catch { /* it is asked for again */ } orShowError(async () => { await loadQueue(); await refreshProgress(); }); });
  byId("login").addEventListener("submit", (event) => {
    event.preventDefault();
    orShowError(async () => { await ask("/api/login", { token: byId("token").value }); byId("token").value = ""; await open(); });
  });
  try { byId("reviewer").value = localStorage.getItem("pignn-reviewer") || ""; } catch { /* it is asked for again */ }
}
listen();
orShowError(open);
