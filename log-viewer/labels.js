// What cells are called: as the lines and columns at the edge of their board. Pure: no access to the
// page.

import { plainWords } from "./expressions.js";

/** @import { Board, Place, Shape } from "./types.d.ts" */

/** Boards with more cells together are not joined. Their cells have the names of the rules alone. */
const MOST_CELLS = 16_384;

/**
 * The name of a cell among all boards of a position.
 * @param {Pick<Board, "shape" | "key">} board
 * @param {string} key
 */
export function cellName(board, key) {
  return `${board.shape.name}|${board.key}|${key}`;
}

/**
 * Names the cells as lines and columns are named at the edge: columns by letters and lines by
 * numbers where the game has numbers for both. Boards that fill a field are drawn as one.
 * @param {Shape} shape
 */
export function nameCells(shape) {
  const { boards, cells, height, width } = shape;
  const down = 1 + Math.max(...boards.map(({ line }) => line));
  const abreast = 1 + Math.max(...boards.map(({ column }) => column));
  const isField = Math.min(down, abreast) > 1 && boards.length === down * abreast;
  shape.isJoined = isField && shape.form === "square" && boards.length * cells.size <= MOST_CELLS;
  const keys = [...cells].map(([key, place]) => ({ tokens: key.split(" "), ...place }));
  const areTwo = keys.every(({ tokens }) => tokens.length === 2);
  shape.lineAt = areTwo ? ([1, 0].find((at) => isLine(keys, at)) ?? -1) : -1;
  if (shape.isJoined) {
    const isRising = Number(shape.lineNames[0]) < Number(shape.lineNames[height - 1]);
    shape.lineNames = range(down * height).map((line) => String(isRising ? line + 1 : down * height - line));
    shape.columnNames = range(abreast * width).map(letters);
  } else if (shape.lineAt >= 0) nameAsGame(shape, keys);
  if (boards.length * cells.size > MOST_CELLS) return;
  for (const board of boards) {
    for (const [key, { line, column }] of cells) {
      const name = shape.isJoined
        ? shape.columnNames[board.column * width + column] + shape.lineNames[board.line * height + line]
        : [plainWords(board.title), labelOf(shape, key, { line, column })].filter(Boolean).join(" ");
      shape.labels.set(`${board.key}|${key}`, name);
    }
  }
}

/**
 * Lines and columns that the game names, numbers of columns as letters.
 * @param {Shape} shape
 * @param {(Place & { tokens: string[] })[]} keys
 */
function nameAsGame(shape, keys) {
  const columns = keys.map(({ tokens }) => tokens[1 - shape.lineAt]);
  const areNumbers = keys.every(({ tokens }) => tokens.every((token) => /^\d{1,3}$/.test(token)));
  const from = columns.includes("0") ? 0 : 1;
  // What stands at the edge of a nonogram names no columns.
  if (!areNumbers || !shape.columnNames.every((name) => name === "" || columns.includes(name))) return;
  shape.columnWords = new Map(columns.map((column) => [column, letters(Number(column) - from)]));
  shape.columnNames = shape.columnNames.map((name) => shape.columnWords.get(name) ?? "");
}

/**
 * What a cell is called on its own board.
 * @param {Shape} shape
 * @param {string} key
 * @param {Place} place
 */
function labelOf({ lineAt, height, columnNames, columnWords }, key, { column: at }) {
  if (lineAt < 0) return plainWords(height === 1 ? columnNames[at] || key : key);
  const tokens = key.split(" ");
  const [line, column] = [tokens[lineAt], columnWords.get(tokens[1 - lineAt]) ?? tokens[1 - lineAt]];
  if (/^\d+$/.test(column)) return `row ${line} column ${column}`;
  return column.length <= 2 && /^\d+$/.test(line) ? column + line : `${plainWords(column)} ${plainWords(line)}`;
}

/**
 * Whether a word of the cells' names tells the line of each.
 * @param {(Place & { tokens: string[] })[]} keys
 * @param {number} at
 */
function isLine(keys, at) {
  const lines = new Map(keys.map(({ tokens, line }) => [tokens[at], line]));
  return keys.every(({ tokens, line }) => lines.get(tokens[at]) === line);
}

/** @param {number} length */
function range(length) {
  return Array.from({ length }, (_, index) => index);
}

/**
 * 0 as a, 25 as z, 26 as aa.
 * @param {number} index
 * @returns {string}
 */
function letters(index) {
  return (index < 26 ? "" : letters(Math.floor(index / 26) - 1)) + String.fromCharCode(97 + (index % 26));
}
