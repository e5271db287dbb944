// The figures of a match, one line per second (`series.csv`). The first line names the columns, and
// columns are found by name, so that logs with other columns open too. Numbers are kept by column;
// the list of root moves, most of the file, is kept as text and parsed on demand.

import { counted, list, number, text } from "./format.js";
import { Lines } from "./lines.js";

const TEXTS = new Set(["best_move", "root_moves"]);

export class Series {
  constructor() {
    this.names = null;
    this.columns = new Map();
    this.length = 0;
    this.roots = [];
    this.lines = new Lines("series.csv", (line) => this.take(line));
  }

  take(line) {
    if (line === "") return null;
    const cells = readCells(line);
    if (cells === null) return "a quote is not closed";
    if (this.names === null) {
      this.names = cells;
      for (const name of cells) this.columns.set(name, []);
      return null;
    }
    if (cells.length !== this.names.length) {
      return `${counted(cells.length, "cell")}, where ${this.names.length} are named`;
    }
    for (const [index, name] of this.names.entries()) {
      const cell = cells[index];
      this.columns.get(name).push(TEXTS.has(name) ? cell : cell === "" ? null : number(Number(cell)));
    }
    this.length += 1;
    return null;
  }

  has(name) {
    return this.columns.has(name);
  }

  /** The column of a name: a number or null for each line, texts for `best_move`; empty where there is none. */
  column(name) {
    return this.columns.get(name) ?? [];
  }

  /** The names of the columns that begin so. */
  namesFrom(beginning) {
    return (this.names ?? []).filter((name) => name.startsWith(beginning));
  }

  /** The root moves of a line: `{ move, visits, value }`, most visited first. */
  rootMoves(index) {
    this.roots[index] ??= readRoot(this.column("root_moves")[index]);
    return this.roots[index];
  }
}

function readRoot(cell) {
  if (!cell) return [];
  try {
    return rootMoves(JSON.parse(cell));
  } catch {
    return [];
  }
}

/** A list of `[move, visits, value]` as objects, most visited first; what is no such entry is left out. */
export function rootMoves(entries) {
  return list(entries)
    .filter((entry) => Array.isArray(entry) && text(entry[0]) !== null)
    .map(([move, visits, value]) => ({ move, visits: number(visits) ?? 0, value: number(value) }))
    .sort((one, other) => other.visits - one.visits);
}

/** The cells of a line; null where a quoted cell does not end. */
export function readCells(line) {
  const cells = [];
  let from = 0;
  for (;;) {
    let end;
    if (line[from] === '"') {
      let close = line.indexOf('"', from + 1);
      while (close !== -1 && line[close + 1] === '"') close = line.indexOf('"', close + 2);
      if (close === -1) return null;
      cells.push(line.slice(from + 1, close).replaceAll('""', '"'));
      end = line.indexOf(",", close);
    } else {
      end = line.indexOf(",", from);
      cells.push(end === -1 ? line.slice(from) : line.slice(from, end));
    }
    if (end === -1) return cells;
    from = end + 1;
  }
}
