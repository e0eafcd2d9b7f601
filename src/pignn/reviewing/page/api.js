// Asking the server. An action that gets no answer is sent again with the same key, so that it happens once.

let csrf = "";
const reviewerName = () => byId("reviewer").value.trim() || "me";
const makeKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function ask(path, body = null) {
  for (;;) {
    let response;
    try {
      const headers = { "X-Reviewer": encodeURIComponent(reviewerName()) };
      if (body !== null) Object.assign(headers, { "Content-Type": "application/json", "X-Csrf": csrf });
      response = await fetch(path, { method: body === null ? "GET" : "POST", headers, body: body === null ? undefined : JSON.stringify(body), credentials: "same-origin" });
    } catch {
      showTrouble("The server does not answer. Nothing is lost; this page tries again.");
      await wait(RETRY_MS);
      await fetchSession().catch(() => {}); // a server that was started again has another token
      continue;
    }
    showTrouble("");
    if (response.ok) return response.headers.get("Content-Type").startsWith("application/json") ? response.json() : response.arrayBuffer();
    const { error } = await response.json().catch(() => ({ error: `the server answered ${response.status}` }));
    if (response.status === 403 && body !== null && path !== "/api/login") {
      const before = csrf;
      await fetchSession();
      if (csrf !== before) continue;
    }
    if (response.status === 401) showLogin();
    throw new Error(error);
  }
}
async function fetchSession() {
  const response = await fetch("/api/session", { headers: { "X-Reviewer": encodeURIComponent(reviewerName()) } });
  const session = await response.json();
  csrf = session.csrf;
  return session;
}
function showTrouble(text) {
  byId("trouble").textContent = text;
  byId("trouble").hidden = !text;
}
function showStatus(text) { byId("status").textContent = text; }
async function orShowError(work) {
  try { return await work(); } catch (error) { showStatus(capitalize(error.message)); return null; }
}
