// The curve of values of a line, for the modules that show it.

export interface Curve {
  lines: { kind: string; points: [turn: number, value: number | null][] }[];
  last: number;
  at: number;
  marks: number[];
  label: string;
}

export function drawCurve(svg: Element, curve: Curve): void;
export function turnAt(svg: Element, clientX: number, last: number): number;
