// Requests about tables, where people play. Commands carry a header that pages of other origins may
// not send.

/** The server's word on a request that it does not follow. */
export class TableProblem extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function ask(address, options = {}) {
  const answer = await fetch(address, { cache: "no-store", ...options });
  if (!answer.ok) throw new TableProblem(answer.status, (await answer.text()).trim());
  return answer.json();
}

function post(address, body) {
  const headers = { "Content-Type": "application/json", "panza-page": "1" };
  return ask(address, { method: "POST", headers, body: JSON.stringify(body) });
}

/** The games inside the program. */
export async function askGames() {
  return (await ask("/api/games")).games;
}

/** Opens a table, and gives its name. */
export async function openTable(setting) {
  return (await post("/api/tables", setting)).table;
}

/** What a table shows, once that is newer than a version; after a while also if it is not. */
export function askTable(table, after, signal) {
  return ask(`/api/tables/${encodeURIComponent(table)}?after=${after}`, { signal });
}

/** Tells a table what a person does there. */
export function tellTable(table, order) {
  return post(`/api/tables/${encodeURIComponent(table)}`, order);
}
