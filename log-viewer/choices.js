// From legal moves to clicks. Which cells are clicked for a move follows from what it does: a piece
// that leaves a cell is clicked first and then the cell it goes to; a new piece is put on its cell.
// Where several cells change, the arguments of the move decide. They decide alone where the effects
// are not known. Moves without cells are chosen from a list. Pure: no access to the page.

import { placeOf } from "./board.js";
import { joined, readExpression } from "./expressions.js";
import { cellName } from "./labels.js";

/** @import { Board, Choice, Effect, Joint, Laid, Picked, Shape } from "./types.d.ts" */

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
    const { text } = move;
    if (lines !== null) return { text, ...lines[index] };
    const turns = turnOf(move, laid);
    if (turns !== null) return { text, steps: [new Set([text])], turns };
    return { text, steps: isKnown ? stepsByEffect(move, actor) : move.named.map((name) => new Set([name])) };
  });
}

/**
 * The board that a move turns or otherwise takes as a whole: it names one of several and says more,
 * and changes nothing elsewhere.
 * @param {ReadMove} move
 * @param {Laid} laid
 */
function turnOf({ args, named, changes }, laid) {
  if (named.length > 0) return null;
  for (const board of laid.boards) {
    const { nBoardArguments, boards } = board.shape;
    if (boards.length < 2 || args.length <= nBoardArguments || args.slice(0, nBoardArguments).join(" ") !== board.key) continue;
    const words = args.slice(nBoardArguments).join(" ");
    const isWithin = [...changes.keys()].every((name) => name.startsWith(cellName(board, "")));
    if (isWithin && /^[a-z]+( [a-z]+)*$/i.test(words)) return { board, words };
  }
  return null;
}

/**
 * The arguments of a move, each as text.
 * @param {string} text
 */
export function argumentsOf(text) {
  const read = readExpression(text);
  return Array.isArray(read) ? read.slice(1).map((argument) => joined([argument])) : [];
}

/**
 * The cells that arguments name in full, in their order, on the board that most arguments fit.
 * @param {string[]} args
 * @param {Laid} laid
 */
function namedCells(args, laid) {
  return cellsIn(args, laid.shapes, (shape, key, cell) =>
    laid.boards.some((board) => board.shape === shape && board.key === key && board.cells.has(cell)),
  ).map(({ name }) => name);
}

/**
 * The cells that arguments name in full, and where among the arguments.
 * @param {string[]} args
 * @param {Shape[]} shapes
 * @param {(shape: Shape, board: string, cell: string) => boolean} [isCell]
 */
export function cellsIn(args, shapes, isCell = (shape, key, cell) => shape.cells.has(cell) && shape.boards.some((board) => board.key === key)) {
  /** @typedef {{ name: string, label: string, at: number, taken: number }} Named */
  let most = { cells: /** @type {Named[]} */ ([]), covered: 0, taken: 0 };
  for (const shape of shapes) {
    const { nBoardArguments, nCellArguments, name } = shape;
    const taken = nBoardArguments + nCellArguments;
    // A board of a single cell has no name for it.
    if (taken === 0 || shape.host !== null) continue;
    /** @type {Named[]} */
    const found = [];
    for (let at = 0; at + taken <= args.length; ) {
      const key = args.slice(at, at + nBoardArguments).join(" ");
      const cell = args.slice(at + nBoardArguments, at + taken).join(" ");
      if (isCell(shape, key, cell)) {
        found.push({ name: cellName({ shape, key }, cell), label: shape.labels.get(`${key}|${cell}`) ?? cell, at, taken });
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
        const changed = line.filter((name) => changes.has(name));
        const fits = !isKnown || changes.size === 0 || changed.length > 0;
        return { line: fits ? line : [], changed };
      });
      if (read.every(({ args }, index) => args.length === 0 || lines[index].line.length > 0)) {
        const lane = { shape, coordinate, at: shape.nBoardArguments };
        return lines.map(({ line, changed: [lands, ...others] }) =>
          line.length === 0 ? { steps: [] } : { steps: [new Set(line)], lane, lands: others.length === 0 ? lands : undefined },
        );
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
  const fits = choices.filter(({ steps }) => steps.length >= picked.length && picked.every((cell, index) => steps[index].has(cell)));
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

/**
 * The cells of a move, in the order of its steps, only that where it lands of a whole line.
 * @param {Choice} choice
 */
export function cellsOf({ steps, lands }) {
  return lands === undefined ? steps.flatMap((step) => [...step]) : [...steps.slice(0, -1).flatMap((step) => [...step]), lands];
}

/**
 * The cells that the moves of a puzzle have filled: a move names a cell and what lies there now.
 * @param {Joint[]} line
 * @param {Laid} laid
 */
export function filledCells(line, laid) {
  /** @type {Set<string>} */
  const filled = new Set();
  for (const [text, ...others] of line) {
    const args = others.length === 0 ? argumentsOf(text) : [];
    const [cell, ...more] = cellsIn(args, laid.shapes);
    if (cell === undefined || more.length > 0) continue;
    const rest = args.filter((_, at) => at < cell.at || at >= cell.at + cell.taken).join(" ");
    const board = laid.boards.find((board) => cell.name.startsWith(cellName(board, "")));
    const lying = board?.cells.get(cell.name.slice(cellName(board, "").length))?.contents ?? [];
    if (rest !== "" && lying.some((content) => content.text === rest)) filled.add(cell.name);
  }
  return filled;
}
