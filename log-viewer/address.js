// Where a page is, and the addresses of others. On a server, `/study?game=g#t` names the page, what
// is asked and the table. In the one file (`offline`) all of that stands in the fragment, since the
// address before it is that of the file: `#/study/t?game=g`.

/** @typedef {{ page: string, table: string, query: URLSearchParams }} Place */
/** @typedef {{ table?: string, query?: Record<string, string> }} Parts */

/** Whether this page is part of the one file. */
export function isOneFile() {
  return "oneFile" in document.documentElement.dataset;
}

/**
 * What the address names; without a table that is "".
 * @returns {Place}
 */
export function here() {
  if (isOneFile()) {
    const [, page = "/play", table = "", asked = ""] = /^#(\/\w+)(?:\/([^/?]+))?(?:\?(.*))?$/.exec(location.hash) ?? [];
    return { page, table, query: new URLSearchParams(asked) };
  }
  const [, page = location.pathname, named] = /^(\/\w+)\/([^/]+)$/.exec(location.pathname) ?? [];
  // A link may have the table in its path.
  if (named !== undefined) history.replaceState(null, "", addressOf(page, { table: named }));
  return { page, table: location.hash.slice(1), query: new URLSearchParams(location.search) };
}

/**
 * The address of a page.
 * @param {string} page
 * @param {Parts} [parts]
 */
export function addressOf(page, { table = "", query = {} } = {}) {
  const words = String(new URLSearchParams(query));
  const asked = words === "" ? "" : `?${words}`;
  if (isOneFile()) return `#${page}${table === "" ? "" : `/${table}`}${asked}`;
  return `${page}${asked}${table === "" ? "" : `#${table}`}`;
}

/**
 * The address of a table on the same page; what the address asks stays.
 * @param {string} table
 */
export function tableHere(table) {
  if (!isOneFile()) return `#${table}`;
  const { page, query } = here();
  return addressOf(page, { table, query: Object.fromEntries(query) });
}

/** @param {string} table */
export function goToTable(table) {
  location.hash = tableHere(table);
}
