// What the page knows. `data` has the names that the shared parts read.

const data = { class_names: [], named_nodes: { id: [], given: [] } };
const EMPTY_QUERY = { order: "mixed", state: "open", given: null, suggested: null, source: null, cluster: null, low: 0, high: 1, search: "", nodes: null };
const PAGE_SIZE = 50, POLL_MS = 2500, RETRY_MS = 1000;
const ORDERS = [["mixed", "errors, some random"], ["errors", "surest errors"], ["estimate", "best for the estimate"], ["model", "best for the model"], ["node", "order of the file"]];
const STATES = [["open", "undecided"], ["decided", "decided"], ["relabel", "relabeled"], ["keep", "kept"], ["unsure", "unsure"], ["disputed", "disputed"], ["skipped", "skipped"], ["all", "all"]];

const countOf = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

let project = null; // what /api/project says
let progress = null; // what /api/progress says
let query = { ...EMPTY_QUERY };
let items = [], total = 0, current = -1; // the queue, and the label that is looked at
let detail = null; // all about it
let isBusy = false; // a decision is on its way
let numActs = 0; // actions so far: what was asked before the last one may be stale
let isShown = false; // the label on the screen has not been decided just now: only then a key decides it
let view = "review";
