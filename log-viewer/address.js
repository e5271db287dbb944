// Where a page is, and the addresses of others. On a server, `/study?game=g#t` names the page, what
// is asked and the table. In the one file (`offline`) all of that stands in the fragment, since the
// address before it is that of the file: `#/study/t?game=g`. A link that holds a whole study has it
// in the place of the table, `/study#s=...`, and in the one file in the query, `#/study?s=...`.

/** @typedef {{ page: string, table: string, packed: string, query: URLSearchParams }} Place */
/** @typedef {{ table?: string, packed?: string, query?: Record<string, string> }} Parts */

/** Whether this page is part of the one file. */
export function isOneFile() {
  return "oneFile" in document.documentElement.dataset;
}

/**
 * What the address names; "" for a table or a packed study that it does not name.
 * @returns {Place}
 */
export function here() {
  if (isOneFile()) {
    const [, page = "/play", table = "", asked = ""] = /^#(\/\w+)(?:\/([^/?]+))?(?:\?(.*))?$/.exec(location.hash) ?? [];
    const query = new URLSearchParams(asked);
    return { page, table, packed: query.get("s") ?? "", query };
  }
  const [, page = location.pathname, named] = /^(\/\w+)\/([^/]+)$/.exec(location.pathname) ?? [];
  // A link may have the table in its path.
  if (named !== undefined) history.replaceState(null, "", addressOf(page, { table: named }));
  const [, packed = ""] = /^#s=(.*)$/.exec(location.hash) ?? [];
  const table = packed === "" ? location.hash.slice(1) : "";
  return { page, table, packed, query: new URLSearchParams(location.search) };
}

/**
 * The address of a page.
 * @param {string} page
 * @param {Parts} [parts]
 */
export function addressOf(page, { table = "", packed = "", query = {} } = {}) {
  const isFile = isOneFile();
  const words = String(new URLSearchParams(isFile && packed !== "" ? { ...query, s: packed } : query));
  const asked = words === "" ? "" : `?${words}`;
  if (isFile) return `#${page}${table === "" ? "" : `/${table}`}${asked}`;
  const named = packed === "" ? table : `s=${packed}`;
  return `${page}${asked}${named === "" ? "" : `#${named}`}`;
}

/**
 * The address of a table on the same page; what the address asks stays.
 * @param {string} table
 */
export function tableHere(table) {
  if (!isOneFile()) return `#${table}`;
  const { page, query } = here();
  query.delete("s");
  return addressOf(page, { table, query: Object.fromEntries(query) });
}

/** @param {string} table */
export function goToTable(table) {
  location.hash = tableHere(table);
}
