// What this browser keeps of what a person plays: their own rulesheets, and the tables that they
// have opened. Where its storage is full or forbidden, less or nothing is kept.

import { list, object, text } from "./format.js";
import { openTable } from "./server.js";

/** @import { KeptSheet, KeptTable, Setting, TableView } from "./types.d.ts" */

const SHEETS = "panza-sheets";
const TABLES = "panza-tables";
const BROUGHT = "panza-brought";
const MOST_SHEETS = 12;
const MOST_TABLES = 20;
/** A picture with more characters is not kept. */
const LONGEST_PICTURE = 50_000;

/**
 * @param {string} key
 * @returns {any[]}
 */
function read(key) {
  try {
    return list(JSON.parse(localStorage.getItem(key) ?? "[]")).map(object);
  } catch {
    return [];
  }
}

/**
 * @param {string} key
 * @param {unknown[]} items the newest first
 */
function write(key, items) {
  // Where there is no room for all, the oldest go.
  for (let count = items.length; count >= 0; count -= 1) {
    try {
      localStorage.setItem(key, JSON.stringify(items.slice(0, count)));
      return;
    } catch {
      // Fewer are tried.
    }
  }
}

/**
 * The rulesheets of this browser, the one that was opened last first.
 * @returns {KeptSheet[]}
 */
export function keptSheets() {
  return read(SHEETS).filter(({ name, rules }) => text(name) && text(rules));
}

/**
 * Brings a rulesheet to the page to write on, which takes it when it is opened next.
 * @param {KeptSheet} sheet
 */
export function bring(sheet) {
  write(BROUGHT, [sheet]);
}

/** What was brought, once. */
export function brought() {
  const [sheet] = read(BROUGHT);
  write(BROUGHT, []);
  return sheet;
}

/** @param {KeptSheet} sheet */
export function forgetSheet({ rules }) {
  write(SHEETS, keptSheets().filter((other) => other.rules !== rules));
}

/**
 * The tables of this browser whose games go on, the one that was seen last first.
 * @returns {KeptTable[]}
 */
export function keptTables() {
  return read(TABLES).filter(({ table }) => text(table));
}

/** @param {string} table */
export function forgetTable(table) {
  write(TABLES, keptTables().filter((other) => other.table !== table));
}

/**
 * Opens a table, gives its name, and keeps the rulesheet where it is one of a person's own.
 * @param {Setting} setting
 */
export async function openAndKeep(setting) {
  const table = await openTable(setting);
  const { rules, name = "rules", file, dialect, anyway } = setting;
  if (rules !== undefined) {
    const before = keptSheets();
    const known = before.find((sheet) => sheet.rules === rules);
    const others = before.filter((sheet) => sheet.rules !== rules && sheet.name !== name);
    write(SHEETS, [{ ...known, name, rules, file, dialect, anyway, table }, ...others].slice(0, MOST_SHEETS));
  }
  return table;
}

/**
 * Keeps how far a table is, and of a person's own rulesheet what the tile of its game shows.
 * @param {TableView} view
 */
export function keepView({ table, title, game, about, moves, roles, people, shapes, facts, phase }) {
  const others = keptTables().filter((other) => other.table !== table);
  const goesOn = ["building", "training", "playing"].includes(phase);
  const own = roles.filter((_, place) => people[place]);
  const kept = { table, title: title || game, turns: moves.length, roles: own, at: Date.now() };
  write(TABLES, goesOn ? [kept, ...others].slice(0, MOST_TABLES) : others);
  const sheets = keptSheets();
  const sheet = sheets.find((sheet) => sheet.table === table);
  // A page that is slow sees no position before the first move: a later one is better than none.
  if (sheet === undefined || facts.length === 0 || (moves.length > 0 && sheet.picture !== undefined)) return;
  const picture = { shapes, facts };
  const isShort = JSON.stringify(picture).length <= LONGEST_PICTURE;
  const looks = { title: title || game, words: about, roles, picture: isShort ? picture : undefined };
  write(SHEETS, sheets.map((other) => (other === sheet ? { ...sheet, ...looks } : other)));
}

/**
 * Keeps rulesheets and tables from elsewhere too, in place of those that they were made of.
 * @param {KeptSheet[]} sheets
 * @param {KeptTable[]} tables
 */
export function keepAlso(sheets, tables) {
  const otherSheets = keptSheets().filter(({ rules }) => !sheets.some((sheet) => sheet.rules === rules));
  write(SHEETS, [...sheets, ...otherSheets].slice(0, MOST_SHEETS));
  const otherTables = keptTables().filter(({ table }) => !tables.some((other) => other.table === table));
  write(TABLES, [...tables, ...otherTables].slice(0, MOST_TABLES));
}
