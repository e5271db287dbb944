// From legal moves to clicks. Which cells are clicked for a move follows from what it does: a piece
// that leaves a cell is clicked first and then the cell it goes to; a new piece is put on its cell.
// Where several cells change, the arguments of the move decide. They decide alone where the effects
// are not known. Moves without cells are chosen from a list. Pure: no access to the page.

import { placeOf } from "./board.js";
import { joined, readExpression } from "./expressions.js";

/** @import { Board, Choice, Effect, Laid, Picked, Shape } from "./types.d.ts" */

/**
 * What a move does to a cell: the texts of what went and came there.
 * @typedef {{ went: string[], came: string[] }} Change
 */
/** @typedef {Map<string, Change>} Changes */
/**
 * A move, the cells that it names and what it does to cells. `isLying` says whether something lies
 * on the first of those named.
 * @typedef {{ text: string, args: string[], named: string[], isLying: boolean, changes: Changes }} ReadMove
 */

/**
 * The name of a cell among all boards of a position.
 * @param {Pick<Board, "shape" | "key">} board
 * @param {string} key
 */
export function cellName(board, key) {
  return `${board.shape.name}|${board.key}|${key}`;
}

/**
 * The moves with what is clicked for each. `laid` is the position on its boards; `effects` has the
 * facts that `went` and `came` with each move, and is empty where that is not known.
 * @param {string[]} moves
 * @param {Laid} laid
 * @param {Effect[]} [effects]
 * @returns {Choice[]}
 */
export function readChoices(moves, laid, effects = []) {
  const occupied = occupiedCells(laid);
  const read = moves.map((text, index) => {
    const args = argumentsOf(text);
    const named = namedCells(args, laid);
    const isLying = named.length > 0 && occupied.has(named[0]);
    return { text, args, named, isLying, changes: changesOf(effects[index], laid) };
  });
  const isKnown = effects.length === moves.length && read.some(({ changes }) => changes.size > 0);
  const lines = linesOf(read, laid, isKnown);
  const actor = actorOf(read);
  return read.map((move, index) => {
    const steps = lines?.[index] ?? (isKnown ? stepsByEffect(move, actor) : move.named.map((name) => new Set([name])));
    return { text: move.text, steps };
  });
}

/** @param {string} text */
function argumentsOf(text) {
  const read = readExpression(text);
  return Array.isArray(read) ? read.slice(1).map((argument) => joined([argument])) : [];
}

/**
 * The cells that arguments name in full, in their order, on the board that most arguments fit.
 * @param {string[]} args
 * @param {Laid} laid
 */
function namedCells(args, laid) {
  /** @type {{ cells: string[], covered: number, taken: number }} */
  let most = { cells: [], covered: 0, taken: 0 };
  for (const shape of new Set(laid.boards.map((board) => board.shape))) {
    const { nBoardArguments, nCellArguments } = shape;
    const taken = nBoardArguments + nCellArguments;
    // A board of a single cell has no name for it.
    if (taken === 0) continue;
    const found = [];
    for (let at = 0; at + taken <= args.length; ) {
      const key = args.slice(at, at + nBoardArguments).join(" ");
      const board = laid.boards.find((board) => board.shape === shape && board.key === key);
      const cell = args.slice(at + nBoardArguments, at + taken).join(" ");
      if (board?.cells.has(cell)) {
        found.push(cellName(board, cell));
        at += taken;
      } else at += 1;
    }
    const covered = taken * found.length;
    if (covered > most.covered || (covered === most.covered && taken > most.taken)) most = { cells: found, covered, taken };
  }
  return most.cells;
}

/**
 * The names of the cells on which something lies.
 * @param {Laid} laid
 */
function occupiedCells(laid) {
  const cells = laid.boards.flatMap((board) => [...board.cells].map(([key, { contents }]) => ({ board, key, contents })));
  const occupied = cells.filter(({ contents }) => contents.some(({ isBlank }) => !isBlank));
  return new Set(occupied.map(({ board, key }) => cellName(board, key)));
}

/**
 * What a move does to cells, by name, empty contents left out.
 * @param {Effect | undefined} effect
 * @param {Laid} laid
 */
function changesOf(effect, laid) {
  /** @type {Changes} */
  const changes = new Map();
  /** @type {(facts: string[], which: keyof Change) => void} */
  const add = (facts, which) => {
    for (const fact of facts) {
      const place = placeOf(fact, laid);
      if (place === null) continue;
      const name = cellName(place.board, place.key);
      const change = changes.get(name) ?? { went: [], came: [] };
      changes.set(name, change);
      if (!place.content.isBlank) change[which].push(place.content.text);
    }
  };
  add(effect?.went ?? [], "went");
  add(effect?.came ?? [], "came");
  return changes;
}

/**
 * The piece that every move moves, as the player of Sokoban: it comes to some cell with each of
 * several moves. It leaves the same cell with all of them, so that its leaving is no part of the
 * effects.
 * @param {ReadMove[]} read
 */
function actorOf(read) {
  const moving = read.filter(({ changes }) => changes.size > 0);
  if (moving.length < 2) return null;
  /** @type {(move: ReadMove, which: keyof Change) => string[]} */
  const those = ({ changes }, which) => [...changes.values()].flatMap((change) => change[which]);
  const leaving = new Set(moving.flatMap((move) => those(move, "went")));
  const [first, ...others] = moving.map((move) => new Set(those(move, "came")));
  const common = [...first].filter((content) => !leaving.has(content) && others.every((other) => other.has(content)));
  return common.length === 1 ? common[0] : null;
}

/**
 * @param {ReadMove} move
 * @param {string | null} actor
 * @returns {Set<string>[]}
 */
function stepsByEffect({ args, named, isLying, changes }, actor) {
  if (changes.size === 0) return args.length === 0 ? [] : named.map((name) => new Set([name]));
  const cells = [...changes];
  /** @param {string} name */
  const isNamed = (name) => named.includes(name);
  /** @param {string[]} names */
  const one = (names) => (names.length === 1 ? [new Set(names)] : null);
  const comers = cells.filter(([, { came }]) => came.length > 0).map(([name]) => name);
  /** @param {string} name */
  const isChanged = (name) => changes.has(name);
  const isEach = named.length > 1 && named.every(isChanged);
  // A piece that leaves its cell with each of the moves.
  const isMoved = named.length === 2 && isLying && isChanged(named[1]);
  if (isEach || isMoved) return named.map((name) => new Set([name]));
  if (actor !== null) {
    const found = one(cells.filter(([, { came }]) => came.includes(actor)).map(([name]) => name));
    if (found !== null) return found;
  }
  // A piece goes from one cell to another.
  const pairs = cells.flatMap(([to, { came }]) =>
    came.flatMap((piece) =>
      cells.filter(([from, { went }]) => from !== to && went.includes(piece)).map(([from]) => ({ from, to })),
    ),
  );
  /** @param {{ from: string, to: string }} pair */
  const rank = ({ from, to }) => 2 * Number(isNamed(from)) + Number(isNamed(to));
  const best = Math.max(...pairs.map(rank));
  const pair = pairs.find((pair) => rank(pair) === best);
  const namedComers = comers.filter(isNamed);
  const isPlaced = best === 0 && namedComers.length === 1;
  if (pair !== undefined && !isPlaced) return [new Set([pair.from]), new Set([pair.to])];
  // A piece that changes on its way, such as a man that becomes a king.
  const left = cells.filter(([, { went, came }]) => went.length > 0 && came.length === 0).map(([name]) => name);
  const namedLeft = left.filter(isNamed);
  if (namedLeft.length === 1 && comers.length === 1) return [new Set(namedLeft), new Set(comers)];
  const placed = cells.filter(([, { went, came }]) => went.length === 0 && came.length > 0).map(([name]) => name);
  const gone = cells.filter(([, { went }]) => went.length > 0).map(([name]) => name);
  const changed = named.filter(isChanged);
  return (
    one(namedComers) ??
    one(placed) ??
    one(comers) ??
    one(namedLeft) ??
    one(gone) ??
    (changed.length > 0 ? changed.map((name) => new Set([name])) : named.map((name) => new Set([name])))
  );
}

/**
 * Where each move with arguments names a line of cells, such as the column that a disc is dropped
 * into, any cell of the line; null where that is not so. Known effects must lie in the line: a bid
 * of 3 names no third row.
 * @param {ReadMove[]} read
 * @param {Laid} laid
 * @param {boolean} isKnown
 */
function linesOf(read, laid, isKnown) {
  const withArguments = read.filter(({ args }) => args.length > 0);
  if (withArguments.length === 0 || read.some(({ named }) => named.length > 0)) return null;
  for (const shape of new Set(laid.boards.map((board) => board.shape))) {
    if (shape.nCellArguments !== 2) continue;
    const boards = laid.boards.filter((board) => board.shape === shape);
    // Pieces that are dropped name a column rather than a row.
    for (const coordinate of isColumn(shape, 1) ? [1, 0] : [0, 1]) {
      const lines = read.map(({ args, changes }) => {
        const line = args.length === 0 ? [] : lineNamed(boards, coordinate, args);
        const fits = !isKnown || changes.size === 0 || [...changes.keys()].some((name) => line.includes(name));
        return fits ? line : [];
      });
      if (read.every(({ args }, index) => args.length === 0 || lines[index].length > 0)) {
        return lines.map((line) => (line.length === 0 ? [] : [new Set(line)]));
      }
    }
  }
  return null;
}

/**
 * Whether cells that share this coordinate lie below each other.
 * @param {Shape} shape
 * @param {number} coordinate
 */
function isColumn(shape, coordinate) {
  const columns = new Map();
  return [...shape.cells].every(([key, { column }]) => {
    const value = argumentsOf(`(cell ${key})`)[coordinate];
    if (!columns.has(value)) columns.set(value, column);
    return columns.get(value) === column;
  });
}

/**
 * All cells with this coordinate, on the board that the arguments name if they name one.
 * @param {Board[]} boards
 * @param {number} coordinate
 * @param {string[]} args
 */
function lineNamed(boards, coordinate, args) {
  const { nBoardArguments } = boards[0].shape;
  const key = args.slice(0, nBoardArguments).join(" ");
  const value = args[nBoardArguments];
  const cells = [];
  for (const board of boards) {
    if (board.key !== key) continue;
    for (const cell of board.cells.keys()) {
      if (argumentsOf(`(cell ${cell})`)[coordinate] === value) cells.push(cellName(board, cell));
    }
  }
  return cells;
}

/**
 * The selection after a click on `cell`, given the cells that were `picked` before. A cell that
 * continues no move begins a new selection, or clears the old one. A piece with one move needs no
 * second click. A cell to which only one move leads needs no first click.
 * @param {Choice[]} choices
 * @param {string[]} picked
 * @param {string} cell
 * @returns {Picked}
 */
export function pick(choices, picked, cell) {
  for (const tried of [[...picked, cell], [cell], []]) {
    const state = stateOf(choices, tried);
    const [only, ...others] = [...state.open, ...state.ready];
    if (only !== undefined && others.length === 0) return { picked: tried, open: [], ready: [only] };
    if (tried.length === 0) break;
    if (only !== undefined) return state;
  }
  const leading = choices.filter(({ steps }) => steps.length > 1 && steps[steps.length - 1].has(cell));
  if (leading.length === 1) return { picked: [cell], open: [], ready: leading };
  return stateOf(choices, []);
}

/**
 * @param {Choice[]} choices
 * @param {string[]} picked
 * @returns {Picked}
 */
export function stateOf(choices, picked) {
  const fits = choices.filter(
    ({ steps }) => steps.length >= picked.length && picked.every((cell, index) => steps[index].has(cell)),
  );
  return {
    picked,
    open: fits.filter(({ steps }) => steps.length > picked.length),
    ready: picked.length === 0 ? [] : fits.filter(({ steps }) => steps.length === picked.length),
  };
}

/**
 * The cells that may be clicked next.
 * @param {Picked} state
 */
export function targets({ picked, open }) {
  return new Set(open.flatMap(({ steps }) => [...steps[picked.length]]));
}
