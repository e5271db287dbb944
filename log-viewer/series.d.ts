// The figures of a match, for the modules that read them.

import type { Lines } from "./lines.js";
import type { RootMove } from "./types.d.ts";

export class Series {
  names: string[] | null;
  length: number;
  lines: Lines;
  has(name: string): boolean;
  column(name: string): (number | null)[];
  namesFrom(beginning: string): string[];
  rootMoves(index: number): RootMove[];
}

export function rootMoves(entries: unknown): RootMove[];
export function readCells(line: string): string[] | null;
