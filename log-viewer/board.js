// From facts to boards. The player derives from the rules which facts form a board and where their
// cells lie (`shapes`); here the facts of a position are placed on them. Facts that are on no board
// are listed. Pure: no access to the page.

import { list, number, object, text } from "./format.js";
import { joined, readExpression, writeExpression } from "./expressions.js";
import { nameCells } from "./labels.js";

/** @import { Board, Cell, Content, Effect, Form, Laid, Layout, Lying, Place, Shape } from "./types.d.ts" */

/** Whoever names more is not drawn: a board that large is no picture. */
const MOST_CELLS = 4096;

/** @type {Form[]} */
const FORMS = ["square", "hexagon", "circle", "stack"];

/**
 * The shapes of an event, with everything in them of the type that is expected; what is no shape is
 * left out.
 * @param {unknown} shapes
 */
export function readShapes(shapes) {
  const read = list(shapes)
    .map(readShape)
    .filter((shape) => shape !== null);
  // The largest one comes first, so that a host is nobody's guest.
  const bySize = [...read].sort((one, other) => other.cells.size - one.cells.size);
  read.forEach((shape, index) => {
    nameCells(shape);
    shape.rank = index;
    shape.host = bySize.slice(0, bySize.indexOf(shape)).find((other) => isHost(other, shape)) ?? null;
  });
  return read;
}

/**
 * Whether facts that only say where are drawn on the board of others, as where the knight stands among the squares it
 * has visited: all their cells are cells there.
 * @param {Shape} other
 * @param {Shape} shape
 */
function isHost(other, shape) {
  return (
    !shape.hasContents &&
    other.boards.length === shape.boards.length &&
    shape.boards.every(({ key }) => other.boards.some((board) => board.key === key)) &&
    [...shape.cells.keys()].every((key) => other.cells.has(key))
  );
}

/**
 * @param {unknown} raw
 * @returns {Shape | null}
 */
function readShape(raw) {
  const shape = object(raw);
  const name = text(shape.function);
  /** @type {Shape["cells"]} */
  const cells = new Map();
  for (const [key, place] of Object.entries(object(shape.cells))) {
    const [line, column] = list(place).map(number);
    if (isPlace(line) && isPlace(column)) cells.set(key, { line, column });
  }
  if (name === null || cells.size === 0 || cells.size > MOST_CELLS) return null;
  const boards = list(shape.boards)
    .map(object)
    .map(({ key, title, line, column }) => ({
      key: text(key) ?? "",
      title: text(title) ?? "",
      line: isPlace(line) ? line : 0,
      column: isPlace(column) ? column : 0,
    }));
  const places = [...cells.values()];
  const nWhere = (number(shape.n_board_arguments) ?? 0) + (number(shape.n_cell_arguments) ?? 0);
  /** @type {Shape["grounds"]} */
  const grounds = new Map();
  for (const [key, ground] of Object.entries(object(shape.grounds))) {
    if (typeof ground === "string") grounds.set(key, ground);
  }
  /** @type {Shape["contents"]} */
  const contents = new Map();
  for (const [content, look] of Object.entries(object(shape.contents))) {
    const { label, blank } = object(look);
    contents.set(content, { label: text(label) ?? content, isBlank: blank === true, rank: contents.size });
  }
  const borders = list(shape.borders).map((side) => text(side) ?? "");
  return {
    name,
    nBoardArguments: number(shape.n_board_arguments) ?? 0,
    nCellArguments: number(shape.n_cell_arguments) ?? 0,
    boards: boards.length > 0 ? boards : [{ key: "", title: "", line: 0, column: 0 }],
    cells,
    contents,
    hasContents: (number(shape.arity) ?? nWhere) > nWhere,
    hasBlanks: shape.has_blanks === true,
    // Facts with their arguments in another order name the places of these in the usual one.
    order: list(shape.order).map((at) => number(at) ?? 0),
    form: FORMS.find((form) => form === shape.form) ?? "square",
    links: list(shape.links).filter((link) => isLink(link, cells)),
    borders: borders.length === 4 ? borders : null,
    grounds,
    height: 1 + Math.max(...places.map(({ line }) => line)),
    width: 1 + Math.max(...places.map(({ column }) => column)),
    lineNames: list(shape.lines).map((name) => text(name) ?? ""),
    columnNames: list(shape.columns).map((name) => text(name) ?? ""),
    rank: 0,
    host: null,
    isJoined: false,
    labels: new Map(),
    columnWords: new Map(),
    lineAt: -1,
  };
}

/**
 * @param {unknown} value
 * @returns {value is number}
 */
function isPlace(value) {
  const known = number(value);
  return known !== null && known >= 0 && known < MOST_CELLS;
}

/**
 * Whether this is a pair of cells.
 * @param {unknown} value
 * @param {Shape["cells"]} cells
 * @returns {value is [string, string]}
 */
function isLink(value, cells) {
  const link = list(value);
  return link.length === 2 && link.every((key) => typeof key === "string" && cells.has(key));
}

/**
 * A position on its boards. A cell that no fact names is there with no contents, unless the game
 * names the empty ones too, when it is no cell at all.
 * @param {string[]} facts
 * @param {Shape[]} shapes
 * @returns {Laid}
 */
export function layOut(facts, shapes) {
  const boards = shapes
    .filter((shape) => shape.host === null)
    .flatMap((shape) => shape.boards.map((board) => ({ shape, ...board, cells: emptyCells(shape) })));
  const rest = [];
  for (const fact of facts) {
    if (!shapes.some((shape) => place(fact, shape, boards))) rest.push(fact);
  }
  for (const board of boards) {
    if (!board.shape.hasBlanks) continue;
    for (const [key, cell] of board.cells) if (cell.contents.length === 0) board.cells.delete(key);
  }
  return { boards, rest, shapes };
}

/**
 * @param {Shape} shape
 * @returns {Map<string, Cell>}
 */
function emptyCells(shape) {
  return new Map([...shape.cells].map(([key, { line, column }]) => [key, { key, line, column, contents: [] }]));
}

/**
 * Lays a fact on the board it belongs to; false if it belongs to none of this shape.
 * @param {string} fact
 * @param {Shape} shape
 * @param {Board[]} boards
 */
function place(fact, shape, boards) {
  const found = placeAmong(fact, shape, boards);
  found?.board.cells.get(found.key)?.contents.push(found.content);
  return found !== null;
}

/**
 * Where a fact lies and what it puts there, or null.
 * @param {string} fact
 * @param {Shape} shape
 * @param {Board[]} boards
 * @returns {Lying | null}
 */
function placeAmong(fact, shape, boards) {
  const said = readExpression(fact);
  if (!Array.isArray(said) || said[0] !== shape.name) return null;
  const isOther = shape.order.length === said.length - 1 && shape.order.length > 0;
  const read = isOther ? [said[0], ...shape.order.map((at) => said[at + 1])] : said;
  const cellFrom = 1 + shape.nBoardArguments;
  const contentFrom = cellFrom + shape.nCellArguments;
  if (read.length < contentFrom) return null;
  const boardKey = joined(read.slice(1, cellFrom));
  const board = boards.find((board) => board.shape === (shape.host ?? shape) && board.key === boardKey);
  const key = joined(read.slice(cellFrom, contentFrom));
  return board?.cells.has(key) ? { board, key, content: content(shape, joined(read.slice(contentFrom))) } : null;
}

/**
 * Where a fact would lie in a position, and what it would put there; null if on no board.
 * @param {string} fact
 * @param {Laid} laid
 */
export function placeOf(fact, laid) {
  for (const shape of laid.shapes) {
    const found = placeAmong(fact, shape, laid.boards);
    if (found !== null) return found;
  }
  return null;
}

/**
 * The fact that puts a content on a cell of a board; the inverse of [`placeOf`].
 * @param {Shape} shape
 * @param {string} board
 * @param {string} key
 * @param {string} text
 */
export function factAt(shape, board, key, text) {
  const read = readExpression(`(${board} ${key} ${shape.hasContents ? text : ""})`);
  const usual = Array.isArray(read) ? read : [];
  const args = [...usual];
  if (shape.order.length === usual.length) shape.order.forEach((at, place) => (args[at] = usual[place]));
  return writeExpression([shape.name, ...args]);
}

/**
 * The content that a fact puts on a cell; the fact's name if it has no other content.
 * @param {Shape} shape
 * @param {string} text
 * @returns {Content}
 */
function content(shape, text) {
  if (text === "") return { text: shape.name, label: shape.name, isBlank: false, rank: shape.rank };
  return { text, ...(shape.contents.get(text) ?? { label: text, isBlank: false, rank: rankOf(text) }) };
}

/**
 * A number that tells most contents apart which no one has seen before.
 * @param {string} text
 */
function rankOf(text) {
  return [...text].reduce((sum, letter) => (7 * sum + (letter.codePointAt(0) ?? 0)) % 10, 0);
}

/**
 * The contents of a cell, as one text.
 * @param {Cell} cell
 */
export function contentOf(cell) {
  return cell.contents.map((content) => content.text).join(", ");
}

/**
 * The cells of a board whose contents another position of the same board has otherwise.
 * @param {Board} board
 * @param {Board | undefined} before
 * @returns {Set<string>}
 */
export function changedCells(board, before) {
  /** @type {Set<string>} */
  const changed = new Set();
  if (before === undefined) return changed;
  for (const [key, cell] of board.cells) {
    const earlier = before.cells.get(key);
    if (earlier === undefined || contentOf(earlier) !== contentOf(cell)) changed.add(key);
  }
  return changed;
}

/**
 * The facts before a change.
 * @param {string[]} facts
 * @param {Effect} change
 */
export function factsBefore(facts, { went, came }) {
  const added = new Set(came);
  return [...facts.filter((fact) => !added.has(fact)), ...went];
}

/**
 * Facts beside those of the position before: which stayed, came and went, each in the order given.
 * @param {string[]} facts
 * @param {string[]} before
 */
export function compare(facts, before) {
  const earlier = new Set(before);
  const now = new Set(facts);
  return {
    stayed: facts.filter((fact) => earlier.has(fact)),
    came: facts.filter((fact) => !earlier.has(fact)),
    went: before.filter((fact) => !now.has(fact)),
  };
}
