// Opens a stored match: the bundle that a match's page offers for download, the object that
// Tiltyard keeps, or the files of a match's folder. The kind is detected by content, with names as
// hints. Everything is read as far as possible, and missing or damaged parts become remarks of the
// record. A packed log is unpacked by the player's server.

import { list, messageOf, object, text, texts } from "./format.js";
import { MatchRecord } from "./record.js";
import { salvage } from "./salvage.js";
import { FILE_NAMES, unpack } from "./server.js";

/** @import { FileName, Members } from "./types.d.ts" */

/**
 * The files of a match's folder, by what the server calls them.
 * @type {Record<FileName, string>}
 */
export const FILES = { events: "events.jsonl", series: "series.csv", log: "match.log", debug: "debug.log" };

/** Nothing that can be shown was found. */
export class NotALog extends Error {}

/**
 * The record of files that somebody chose. Throws `NotALog`.
 * @param {{ name: string, text: string }[]} files
 */
export async function openFiles(files) {
  const record = new MatchRecord();
  let used = 0;
  for (const { name, text: content } of files) {
    const file = fileKind(name, content);
    if (file !== null) {
      record.push(file, content);
      used += 1;
    } else if (content.trimStart().startsWith("{") || content.trimStart().startsWith('"')) {
      used += await openText(record, content, name);
    } else {
      record.remarks.push(`${name}: this is no file of a match`);
    }
  }
  return finished(record, used);
}

/**
 * The record of an object that another page handed over: Tiltyard's, a bundle, or either as a text.
 * Throws `NotALog`.
 * @param {unknown} message
 */
export async function openMessage(message) {
  const record = new MatchRecord();
  const used =
    typeof message === "string"
      ? await openText(record, message, "the message")
      : await openObject(record, message, "the message");
  return finished(record, used);
}

/**
 * @param {MatchRecord} record
 * @param {number} used
 */
function finished(record, used) {
  if (used === 0) throw new NotALog(record.remarks.join("; ") || "there is nothing in it");
  record.finish();
  return record;
}

/**
 * Which file of a folder this is, or null.
 * @param {string} name
 * @param {string} content
 * @returns {FileName | null}
 */
function fileKind(name, content) {
  const known = FILE_NAMES.find((file) => name.toLowerCase().endsWith(FILES[file]));
  if (known !== undefined) return known;
  const first = content.slice(0, 4000).split("\n", 1)[0];
  if (/^\{"time":.*"kind":/.test(first) || name.toLowerCase().endsWith(".jsonl")) return "events";
  if (/^at_seconds,/.test(first) || name.toLowerCase().endsWith(".csv")) return "series";
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z\s+[\d.]+\s+[A-Z]+ /.test(first) || name.toLowerCase().endsWith(".log")) return "log";
  return null;
}

/**
 * @param {MatchRecord} record
 * @param {string} content
 * @param {string} name
 * @returns {Promise<number>}
 */
async function openText(record, content, name) {
  const found = salvage(content);
  if (found.members !== null) {
    if (found.problem !== null)
      record.remarks.push(`${name}: it is damaged and shown as far as it goes: ${found.problem}`);
    return openObject(record, found.members, name);
  }
  // An object may come as a text within a text.
  try {
    const inner = JSON.parse(content);
    if (typeof inner === "string" && inner !== content) return openText(record, inner, name);
  } catch {
    // The fault is reported already.
  }
  record.remarks.push(`${name}: ${found.problem}`);
  return 0;
}

/**
 * Takes in an object of any of the forms; returns how many parts of it could be shown.
 * @param {MatchRecord} record
 * @param {unknown} candidate
 * @param {string} name
 */
async function openObject(record, candidate, name) {
  const found = unwrapped(candidate);
  record.matchId ??= text(found.match_id);
  let used = 0;
  for (const file of FILE_NAMES) {
    const content = text(found[file]);
    if (content === null) continue;
    record.push(file, content);
    used += 1;
  }
  record.remarks.push(...texts(found.notes));
  if ("compressed_logs" in found || "statistics" in found) used += await openTiltyard(record, found);
  if (used === 0) record.remarks.push(`${name}: it holds no match that is known here`);
  return used;
}

/**
 * The content of wrappers such as `data`, at most a few levels deep.
 * @param {unknown} candidate
 */
function unwrapped(candidate) {
  let inside = candidate;
  for (let depth = 0; depth < 4; depth += 1) {
    const found = object(typeof inside === "string" ? salvage(inside).members : inside);
    const isKnown = [...FILE_NAMES, "statistics", "compressed_logs"].some((name) => name in found);
    const inner = ["data", "match", "log_data"].find((name) => name in found);
    if (isKnown || inner === undefined) return found;
    inside = found[inner];
  }
  return object(inside);
}

/**
 * @param {MatchRecord} record
 * @param {Members} found
 */
async function openTiltyard(record, found) {
  let used = 0;
  const packed = text(found.compressed_logs);
  if (packed === null || packed === "") {
    record.remarks.push("The log itself is not there, only its statistics: turns without positions, charts or messages.");
  } else {
    used += await openPacked(record, packed);
  }
  record.takeStatistics(found.statistics);
  return used + (list(found.statistics).length > 0 ? 1 : 0);
}

/**
 * @param {MatchRecord} record
 * @param {string} packed
 */
async function openPacked(record, packed) {
  const { text: content, problem } = await unpack(packed).catch((error) => ({ text: "", problem: messageOf(error) }));
  if (problem !== null) {
    const what =
      content === "" ? "cannot be read, only its statistics are shown" : "is shown up to where it is damaged";
    record.remarks.push(`The packed log ${what}: ${problem}`);
  }
  return content === "" ? 0 : openText(record, content, "the packed log");
}

/**
 * Whether a message looks as if it were meant for this page; others pass by without a word.
 * @param {unknown} message
 */
export function isForUs(message) {
  if (typeof message === "string") return /"(statistics|compressed_logs|events)"/.test(message.slice(0, 10_000_000));
  const found = unwrapped(message);
  return ["events", "statistics", "compressed_logs"].some((name) => name in found);
}
