// All that the browser keeps as one file, to be saved and opened: games, studies and rulesheets of a
// person's own. A file may come from anywhere: it is bounded and checked before anything of it is
// kept, and its texts are read by Panza as carefully as all that is kept.

import { list, number, object, text, texts } from "../format.js";
import { keepAlso, keptSheets, keptTables } from "../kept.js";
import { attempt, element, setText } from "../page.js";

/** @import { KeptSheet, KeptTable } from "../types.d.ts" */
/** @import { Store } from "./store.js" */

const FORMAT = "panza-kept-1";
/** Bytes of a file, texts in it, and characters of one of them, at most. */
const MOST = 256 << 20;
const MOST_TEXTS = 1000;
const LONGEST_TEXT = 8 << 20;
/** Items of the lists of the pages, at most; they keep fewer. */
const MOST_ITEMS = 100;

/** @param {Store} store */
function whole(store) {
  const file = { format: FORMAT, texts: Object.fromEntries(store.texts), sheets: keptSheets(), tables: keptTables() };
  return JSON.stringify(file);
}

/**
 * What a file holds that was saved here.
 * @param {string} content
 * @returns {{ kept: [name: string, text: string][], sheets: KeptSheet[], tables: KeptTable[] }}
 */
function read(content) {
  let file;
  try {
    file = object(JSON.parse(content));
  } catch {
    throw new Error("This file is not JSON; a file that “Save all” has made was expected.");
  }
  if (file.format !== FORMAT) throw new Error(`This file has no “format”: “${FORMAT}”; one that “Save all” has made was expected.`);
  const kept = Object.entries(object(file.texts)).map(([name, value]) => /** @type {[string, string]} */ ([name, String(value)]));
  const wrong = kept.find(([name, value]) => !/^[\w./-]{1,200}$/.test(name) || value.length > LONGEST_TEXT);
  if (wrong !== undefined) throw new Error(`“${wrong[0].slice(0, 50)}” in “texts” is no name of something that is kept, or is too long.`);
  if (kept.length > MOST_TEXTS) throw new Error(`This file has ${kept.length} texts; at most ${MOST_TEXTS} are read.`);
  return {
    kept,
    sheets: list(file.sheets).slice(0, MOST_ITEMS).map(object).flatMap(readSheet),
    tables: list(file.tables).slice(0, MOST_ITEMS).map(object).flatMap(readTable),
  };
}

/**
 * @param {Record<string, unknown>} found
 * @returns {KeptSheet[]}
 */
function readSheet({ name, rules, file, dialect, table, title, words, roles }) {
  const [named, written] = [text(name), text(rules)];
  if (named === null || written === null) return [];
  const told = Object.entries({ file, dialect, table, title }).filter(([, value]) => text(value) !== null);
  return [{ name: named, rules: written, ...Object.fromEntries(told), words: texts(words), roles: texts(roles) }];
}

/**
 * @param {Record<string, unknown>} found
 * @returns {KeptTable[]}
 */
function readTable({ table, title, turns, roles, at }) {
  const [named, titled] = [text(table), text(title)];
  if (named === null || titled === null) return [];
  const seen = Math.min(number(at) ?? 0, Date.now());
  return [{ table: named, title: titled, turns: number(turns) ?? 0, roles: texts(roles), at: Math.max(seen, 0) }];
}

/** @param {Store} store */
function save(store) {
  const address = URL.createObjectURL(new Blob([whole(store)], { type: "application/json" }));
  element("a", { href: address, download: "panza.json" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/**
 * @param {Store} store
 * @param {File} file
 */
async function open(store, file) {
  if (file.size > MOST) throw new Error(`This file has ${file.size} bytes; at most ${MOST} are read.`);
  const { kept, sheets, tables } = read(await file.text());
  await store.keep(kept);
  keepAlso(sheets, tables);
  // Panza reads what is kept when it starts.
  location.reload();
}

/**
 * Offers both behind an element.
 * @param {HTMLElement} place
 * @param {Store} store
 */
export function offerWhole(place, store) {
  const input = element("input", { type: "file", accept: ".json" });
  const says = element("span", { class: "quiet", role: "status" });
  const saves = () => {
    save(store);
    setText(says, "Saved as panza.json.");
  };
  input.addEventListener("change", () => {
    const file = input.files?.[0];
    input.value = "";
    setText(says, "");
    if (file !== undefined) attempt(input, () => open(store, file));
  });
  place.after(
    element(
      "details",
      { class: "card own whole" },
      element("summary", null, "What is kept"),
      element("p", null, "Panza runs on this page alone and sends nothing anywhere. This browser keeps your games, your studies and your rulesheets. Save them as a file to take them along."),
      element(
        "p",
        { class: "controls" },
        element("button", { type: "button", class: "button", on: { click: saves } }, "Save all"),
        element("label", { class: "button" }, "Open such a file", input),
        says,
      ),
    ),
  );
}
