// The value of the positions of a line, turn by turn, as a small picture. A click on it goes to a
// turn.

import { drawn, fill } from "./page.js";

const HEIGHT = 100;

/**
 * What is drawn: values from 0 to 100, and null where none is known. `last` is the last turn, `at`
 * the one shown, `marks` are turns with a mark.
 * @typedef {object} Curve
 * @property {{ kind: string, points: [turn: number, value: number | null][] }[]} lines
 * @property {number} last
 * @property {number} at
 * @property {{ turn: number, kind: string }[]} marks
 * @property {string} label
 */

/**
 * @param {Element} svg
 * @param {Curve} curve
 */
export function drawCurve(svg, { lines, last, at, marks, label }) {
  const width = Math.max(1, last);
  svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  svg.setAttribute("aria-label", label);
  /** @param {number} value */
  const height = (value) => HEIGHT - value;
  fill(
    svg,
    drawn("line", { class: "middle", x1: 0, x2: width, y1: height(50), y2: height(50), ...THIN }),
    marks.map(({ turn, kind }) => drawn("line", { class: `mark ${kind}`, x1: turn, x2: turn, y1: 0, y2: HEIGHT, ...THIN })),
    drawn("line", { class: "here", x1: at, x2: at, y1: 0, y2: HEIGHT, ...THIN }),
    lines.flatMap(({ kind, points }) => {
      const known = points.flatMap(([turn, value]) => (value === null ? [] : [`${turn},${height(value)}`]));
      // A single value is a line of no length, which round ends make a dot.
      if (known.length === 1) known.push(known[0]);
      return known.length === 0 ? [] : [drawn("polyline", { class: kind, points: known.join(" "), ...THIN })];
    }),
  );
}

const THIN = { "vector-effect": "non-scaling-stroke" };

/**
 * The turn at a place of the picture.
 * @param {Element} svg
 * @param {number} clientX
 * @param {number} last
 */
export function turnAt(svg, clientX, last) {
  const { left, width } = svg.getBoundingClientRect();
  const share = width === 0 ? 0 : (clientX - left) / width;
  return Math.max(0, Math.min(last, Math.round(share * Math.max(1, last))));
}
