// Reads the beginning of a JSON object that is truncated or damaged: its members one after the
// other, up to the fault. A truncated text counts up to its end. Only the outermost object is taken
// apart; a member that is an object or a list counts if it is whole.

import { messageOf } from "./format.js";

/** @import { Members } from "./types.d.ts" */

/** @typedef {{ members: Members | null, problem: string | null }} Salvaged */
/** @typedef {{ value: unknown, isWhole: boolean, end: number }} Found */
/** @typedef {Found & { value: string }} FoundText */

/**
 * The members; the problem is null where the text is one whole object.
 * @param {string} text
 * @returns {Salvaged}
 */
export function salvage(text) {
  try {
    const whole = JSON.parse(text);
    if (whole !== null && typeof whole === "object" && !Array.isArray(whole)) return { members: whole, problem: null };
    return { members: null, problem: "it is no JSON object" };
  } catch (error) {
    return pieces(text, messageOf(error).replace(/\s+/g, " ").slice(0, 200));
  }
}

/**
 * @param {string} text
 * @param {string} problem
 * @returns {Salvaged}
 */
function pieces(text, problem) {
  const start = /^\s*\{/.exec(text.slice(0, 1000));
  if (start === null) return { members: null, problem };
  /** @type {Members} */
  const members = {};
  let at = start[0].length;
  for (;;) {
    at = afterBlanks(text, at);
    const name = string(text, at);
    if (name === null || !name.isWhole) break;
    at = afterBlanks(text, name.end);
    if (text[at] !== ":") break;
    at = afterBlanks(text, at + 1);
    const value = text[at] === '"' ? string(text, at) : other(text, at);
    if (value === null) break;
    Object.defineProperty(members, name.value, { value: value.value, enumerable: true, configurable: true });
    if (!value.isWhole) break;
    at = afterBlanks(text, value.end);
    if (text[at] !== ",") break;
    at += 1;
  }
  return Object.keys(members).length > 0 ? { members, problem } : { members: null, problem };
}

/**
 * @param {string} text
 * @param {number} from
 */
function afterBlanks(text, from) {
  let at = from;
  while (at < text.length && " \t\r\n".includes(text[at])) at += 1;
  return at;
}

/**
 * A text in quotes, or what there is of it.
 * @param {string} text
 * @param {number} from
 * @returns {FoundText | null}
 */
function string(text, from) {
  if (text[from] !== '"') return null;
  let end = from + 1;
  while (end < text.length && text[end] !== '"') end += text[end] === "\\" ? 2 : 1;
  const isWhole = end < text.length;
  let inside = text.slice(from + 1, Math.min(end, text.length));
  // A truncated escape is dropped.
  for (let less = 0; less <= 6 && inside !== ""; less += 1) {
    try {
      return { value: JSON.parse(`"${inside}"`), isWhole, end: end + 1 };
    } catch {
      if (isWhole) return { value: plain(inside), isWhole, end: end + 1 };
      inside = inside.slice(0, -1);
    }
  }
  return { value: plain(inside), isWhole, end: end + 1 };
}

/**
 * A text whose escapes are not all sound: those that are get undone, the rest stays as it is.
 * @param {string} inside
 */
function plain(inside) {
  /** @type {Record<string, string>} */
  const letters = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f" };
  return inside.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gs, (_, code, letter) =>
    code === undefined ? (letters[letter] ?? letter) : String.fromCharCode(parseInt(code, 16)),
  );
}

/**
 * A number, a word, or an object or list that is whole.
 * @param {string} text
 * @param {number} from
 * @returns {Found | null}
 */
function other(text, from) {
  let end = from;
  let depth = 0;
  while (end < text.length) {
    const letter = text[end];
    if (letter === '"') {
      const inner = string(text, end);
      if (inner === null || !inner.isWhole) return null;
      end = inner.end;
      continue;
    }
    if (depth === 0 && (letter === "," || letter === "}")) break;
    if (letter === "{" || letter === "[") depth += 1;
    if (letter === "}" || letter === "]") depth -= 1;
    end += 1;
    if (depth === 0 && (letter === "}" || letter === "]")) break;
  }
  try {
    return { value: JSON.parse(text.slice(from, end)), isWhole: true, end };
  } catch {
    return null;
  }
}
