// The findings about the game: its machine, its factors, its evaluation, the settings that were
// compared, the values of facts. Known findings have a layout; others are listed as names and
// values, so that findings of newer players are shown too.

import { count, counted, duration, fraction, list, number, object, text, words } from "./format.js";
import { element, pairs, table } from "./page.js";

/** @import { Child, Members } from "./types.d.ts" */
/** @import { MatchRecord } from "./record.js" */

const MOST_HEURISTICS = 40;
const DEEPEST = 4;

/**
 * The cards of the analysis.
 * @param {MatchRecord} record
 */
export function analysisCards(record) {
  const study = Object.assign({}, ...record.studies);
  return [
    machineCard(record),
    parametersCard(study),
    evaluationCard(study),
    partsCard(record),
    heuristicsCard(record, study),
    otherCard(study),
    othersCard(record),
    foldedCard("Settings", record.settings),
    foldedCard("Rules", text(record.start.rules)),
  ].filter((card) => card !== null);
}

/**
 * @param {string} title
 * @param {Child[]} children
 */
function card(title, ...children) {
  return element("section", { class: "card" }, element("h3", null, title), children);
}

/** @param {MatchRecord} record */
function machineCard(record) {
  if (record.machines.length === 0 && record.ready === null) return null;
  /** @type {[name: string, value: string][]} */
  const entries = record.machines.map(({ kind, isFallback, seconds }) => [
    isFallback ? "Fallback machine" : "Machine",
    `${kind ?? "unknown"}, built in ${duration(seconds)}`,
  ]);
  if (record.ready !== null) entries.push(["Ready after", duration(record.ready)]);
  return card("Machine", pairs(entries));
}

/** @param {Members} study */
function parametersCard(study) {
  const entries = Object.entries(object(study.parameters));
  if (entries.length === 0) return null;
  return card("Search settings", pairs(entries.map(([name, value]) => [words(name), plainValue(value)])));
}

/** @param {Members} study */
function evaluationCard(study) {
  /** @type {[name: string, shown: string, value: unknown][]} */
  const findings = [
    ["Training games", count(study.games), study.games],
    ["Positions compared", count(study.positions_compared), study.positions_compared],
    ["Correlation with results: evaluation", fraction(study.correlation), study.correlation],
    ["Correlation with results: playouts", fraction(study.correlation_of_playouts), study.correlation_of_playouts],
    ["Best weight of the evaluation", fraction(study.best_evaluation_share), study.best_evaluation_share],
    ["Latched facts that bound goals", count(study.settled_facts_that_bound_goals), study.settled_facts_that_bound_goals],
    ["Symmetries", count(study.symmetries), study.symmetries],
  ];
  const entries = findings.filter(([, , value]) => number(value) !== null);
  if (entries.length === 0) return null;
  return card("Evaluation", pairs(entries.map(([name, shown]) => [name, shown])));
}

/** @param {MatchRecord} record */
function partsCard(record) {
  if (record.parts.length === 0) return null;
  const rows = record.parts
    .slice(0, 100)
    .map(object)
    .map((part, place) => [String(place + 1), size(part.bases), size(part.moves)]);
  return card("Factors", wideTable(["Part", "Facts", "Moves"], rows));
}

/**
 * A number, or how many a list has.
 * @param {unknown} value
 */
function size(value) {
  return Array.isArray(value) ? count(value.length) : count(value);
}

/**
 * @param {MatchRecord} record
 * @param {Members} study
 */
function heuristicsCard(record, study) {
  const found = list(study.heuristics)
    .map(object)
    .filter((one) => text(one.facts) !== null);
  if (found.length === 0) return null;
  /** @param {Members} one */
  const weight = (one) => Math.max(0, ...list(one.worth).map((worth) => Math.abs(number(worth) ?? 0)));
  const sorted = [...found].sort((one, other) => weight(other) - weight(one)).slice(0, MOST_HEURISTICS);
  const most = Math.max(1e-9, ...sorted.map(weight));
  const nRoles = Math.max(...sorted.map((one) => list(one.worth).length));
  const roles = Array.from({ length: nRoles }, (_, place) => record.roles[place] ?? `role ${place + 1}`);
  const rows = sorted.map((one) => [
    element("code", null, text(one.facts)),
    count(one.count),
    ...roles.map((_, place) => worthBar(number(list(one.worth)[place]), most)),
    fraction(one.spread, 3),
  ]);
  const more = found.length - sorted.length;
  return card(
    "Values of facts",
    wideTable(["Facts", "Count", ...roles, "Spread"], rows),
    more > 0 && element("p", { class: "quiet" }, `and ${counted(more, "kind")} more of less weight`),
  );
}

/**
 * @param {number | null} worth
 * @param {number} most
 */
function worthBar(worth, most) {
  if (worth === null) return "–";
  const side = worth < 0 ? "minus" : "plus";
  const style = `width:${((Math.abs(worth) / most) * 50).toFixed(1)}%`;
  const track = element("span", { class: "worth-track", "aria-hidden": "true" }, element("span", { class: `worth-bar ${side}`, style }));
  return element("span", { class: "worth" }, track, fraction(worth, 3));
}

const LAID_OUT = new Set([
  "parameters",
  "games",
  "positions_compared",
  "correlation",
  "correlation_of_playouts",
  "best_evaluation_share",
  "settled_facts_that_bound_goals",
  "symmetries",
  "heuristics",
]);

/** @param {Members} study */
function otherCard(study) {
  const entries = Object.entries(study).filter(([name, value]) => {
    const isShown =
      LAID_OUT.has(name) && (typeof value !== "object" || ["parameters", "heuristics"].includes(name));
    return !isShown && value !== null;
  });
  if (entries.length === 0) return null;
  return card("Other findings", pairs(entries.map(([name, value]) => [words(name), anyValue(value, 0)])));
}

/** @param {MatchRecord} record */
function othersCard(record) {
  if (record.others.size === 0) return null;
  return card("Other events", pairs([...record.others].map(([kind, times]) => [words(kind), counted(times, "time")])));
}

/**
 * @param {string} title
 * @param {string | null} content
 */
function foldedCard(title, content) {
  if (content === null) return null;
  const lines = content.split("\n").length;
  return element(
    "details",
    { class: "card folded" },
    element("summary", null, element("h3", null, title), element("small", null, counted(lines, "line"))),
    element("pre", { tabindex: "0" }, content),
  );
}

/**
 * @param {string[]} names
 * @param {Child[][]} rows
 */
function wideTable(names, rows) {
  const shown = rows.map((cells) => element("tr", null, cells.map((cell) => element("td", null, cell))));
  return element("div", { class: "scroll-sideways", tabindex: "0" }, table(null, names, element("tbody", null, shown)));
}

/** @param {unknown} value */
function plainValue(value) {
  if (typeof value === "number") return fraction(value);
  if (value === null || value === undefined) return "–";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/**
 * Any value: lists and objects as nested lists, long ones cut.
 * @param {unknown} value
 * @param {number} depth
 * @returns {Child}
 */
function anyValue(value, depth) {
  if (value === null || typeof value !== "object") return plainValue(value);
  const entries = Array.isArray(value) ? value.map((one, place) => [String(place + 1), one]) : Object.entries(value);
  if (entries.length === 0) return "none";
  if (depth >= DEEPEST) return JSON.stringify(value).slice(0, 500);
  if (Array.isArray(value) && value.every((one) => one === null || typeof one !== "object")) {
    const shown = value.slice(0, 60).map(plainValue).join(", ");
    return value.length > 60 ? `${shown} and ${value.length - 60} more` : shown;
  }
  const items = entries
    .slice(0, 60)
    .map(([name, one]) =>
      element("li", null, Array.isArray(value) ? null : element("span", { class: "name" }, `${words(name)}: `), anyValue(one, depth + 1)),
    );
  return element(
    "ul",
    { class: "nested" },
    items,
    entries.length > 60 && element("li", { class: "quiet" }, `and ${entries.length - 60} more`),
  );
}
