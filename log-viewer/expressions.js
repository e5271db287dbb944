// Expressions of the Game Description Language: a symbol is a string, a list is an array. The
// parser is iterative and returns null for anything but one expression, so that deep or damaged
// logs do no harm.

/** @import { Expression } from "./types.d.ts" */

/**
 * The expression that a text holds, or null.
 * @param {string} text
 * @returns {Expression | null}
 */
export function readExpression(text) {
  /** @type {Expression[][]} */
  const open = [];
  /** @type {Expression[]} */
  let list = [];
  for (const [token] of text.matchAll(/[()]|[^\s()]+/g)) {
    if (token === "(") {
      open.push(list);
      list = [];
    } else if (token === ")") {
      const outer = open.pop();
      if (outer === undefined) return null;
      outer.push(list);
      list = outer;
    } else {
      list.push(token);
    }
  }
  return open.length === 0 && list.length === 1 ? list[0] : null;
}

/**
 * An expression as text, with one blank between the members of a list.
 * @param {Expression} expression
 */
export function writeExpression(expression) {
  const parts = [];
  const left = [expression];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (Array.isArray(next)) {
      left.push(")");
      for (let index = next.length - 1; index >= 0; index -= 1) left.push(next[index]);
      left.push("(");
    } else {
      parts.push(next);
    }
  }
  return parts.join(" ").replaceAll("( ", "(").replaceAll(" )", ")");
}

/**
 * Members of a list as one text: what names a cell, a board or what lies on a cell.
 * @param {Expression[]} expressions
 */
export function joined(expressions) {
  return expressions.map(writeExpression).join(" ");
}

/**
 * Whether a move does nothing, by its name; `noop$` is that of roles which are not in control in
 * HRF.
 * @param {string} move
 */
export function isIdle(move) {
  return /^\(?\s*(noop\$?|pass|wait)\s*\)?$/i.test(move);
}

/**
 * A move or a fact without parentheses around it: `(drop 3)` as `drop 3`.
 * @param {string} move
 */
export function spoken(move) {
  const read = readExpression(move);
  return Array.isArray(read) ? joined(read) : move;
}

/**
 * A name of the rules in words: `upperLeft` as `upper left`, `tie_breaker` as `tie breaker`.
 * @param {string} name
 */
export function plainWords(name) {
  const spaced = name.replaceAll("_", " ").replace(/([a-z])([A-Z])/g, (_, end, begin) => `${end} ${begin.toLowerCase()}`);
  return spaced.trim();
}
