// From legal moves to clicks. A move is tied to the cells that its arguments name: one cell for a
// placement, two for a move from one to another. An argument that names a column or a row alone is
// tied to all cells in it, and one that names a piece to the cell where that lies. Moves without
// cells are chosen from a list. Pure: no access to the page.

import { joined, readExpression } from "./expressions.js";

/** The name of a cell among all boards of a position. */
export function cellName(board, key) {
  return `${board.shape.name}|${board.key}|${key}`;
}

/**
 * The moves with what is clicked for each: `[{ text, steps }]`, a step being the set of the names of cells that may be
 * clicked for it. `laid` is the position on its boards.
 */
export function readChoices(moves, laid) {
  const read = moves.map((text) => ({ text, args: argumentsOf(text) }));
  const readers = laid.boards.length === 0 ? [] : [...shapesOf(laid).flatMap(cellReaders), ...contentReaders(laid)];
  const ways = readers.map((reader) => {
    const steps = read.map(({ args }) => stepsOf(args, reader.take));
    const isWhole = steps.every((of, index) => of.length > 0 || read[index].args.length === 0);
    return reader.isForAll && !isWhole ? read.map(() => []) : steps;
  });
  const best = Math.max(0, ...ways.map(reach));
  const way = best === 0 ? read.map(() => []) : ways.find((steps) => reach(steps) === best);
  return read.map(({ text }, index) => ({ text, steps: way[index] }));
}

/** How much a way of reading tells: the moves with cells first, then their steps. */
function reach(steps) {
  const tied = steps.filter((of) => of.length > 0);
  const exact = tied.filter((of) => of.every((step) => step.size === 1)).length;
  return tied.length + exact / (steps.length + 1) / 2 + tied.reduce((sum, of) => sum + of.length, 0) / 1e6;
}

function argumentsOf(text) {
  const read = readExpression(text);
  return Array.isArray(read) ? read.slice(1).map((argument) => joined([argument])) : [];
}

function shapesOf(laid) {
  return [...new Set(laid.boards.map((board) => board.shape))].map((shape) => ({
    shape,
    boards: laid.boards.filter((board) => board.shape === shape),
  }));
}

/**
 * Ways in which arguments may name cells of a shape. A reader takes the first arguments and says which cells they name
 * and how many arguments those were. One that is for all counts only where it reads every move with arguments: a bid of
 * 3 names no third row.
 */
function cellReaders({ shape, boards }) {
  const { nBoardArguments, nCellArguments } = shape;
  const whole = (args) => {
    const board = boards.find(({ key }) => key === args.slice(0, nBoardArguments).join(" "));
    const key = args.slice(nBoardArguments, nBoardArguments + nCellArguments).join(" ");
    return board?.cells.has(key) ? { cells: [cellName(board, key)], taken: nBoardArguments + nCellArguments } : null;
  };
  const readers = [{ take: whole, isForAll: false }];
  if (nCellArguments === 2) {
    // Pieces that are dropped name a column rather than a row.
    const coordinates = isColumn(shape, 1) ? [1, 0] : [0, 1];
    for (const coordinate of coordinates) {
      readers.push({ take: (args) => lineOf(boards, coordinate, args[0]), isForAll: true });
    }
  }
  return readers;
}

/** Whether cells that share this coordinate lie below each other. */
function isColumn(shape, coordinate) {
  const columns = new Map();
  return [...shape.cells].every(([key, { column }]) => {
    const value = argumentsOf(`(cell ${key})`)[coordinate];
    if (!columns.has(value)) columns.set(value, column);
    return columns.get(value) === column;
  });
}

/** All cells with this coordinate. */
function lineOf(boards, coordinate, value) {
  const cells = [];
  for (const board of boards) {
    for (const key of board.cells.keys()) {
      if (argumentsOf(`(cell ${key})`)[coordinate] === value) cells.push(cellName(board, key));
    }
  }
  return cells.length === 0 ? null : { cells, taken: 1 };
}

/** The cell on which a piece lies that only one cell has. */
function contentReaders(laid) {
  const places = new Map();
  for (const board of laid.boards) {
    for (const [key, cell] of board.cells) {
      for (const { text, isBlank } of cell.contents) {
        if (isBlank) continue;
        if (!places.has(text)) places.set(text, []);
        places.get(text).push(cellName(board, key));
      }
    }
  }
  const take = (args) => {
    const cells = places.get(args[0]);
    return cells?.length === 1 ? { cells, taken: 1 } : null;
  };
  return [{ take, isForAll: true }];
}

function stepsOf(args, take) {
  const steps = [];
  let at = 0;
  while (at < args.length) {
    const read = take(args.slice(at));
    if (read !== null) steps.push(new Set(read.cells));
    at += read?.taken ?? 1;
  }
  return steps;
}

/**
 * What clicking on cells has come to: `{ picked, open, ready }`, with the moves that go on and those that are complete. A
 * cell that continues no move begins anew, or clears what was picked.
 */
export function pick(choices, picked, cell) {
  for (const tried of [[...picked, cell], [cell], []]) {
    const state = stateOf(choices, tried);
    if (tried.length === 0 || state.open.length + state.ready.length > 0) return state;
  }
  return stateOf(choices, []);
}

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

/** The cells that may be clicked next. */
export function targets({ picked, open }) {
  return new Set(open.flatMap(({ steps }) => [...steps[picked.length]]));
}
