// What uPlot is told of a figure: the lines as columns, how each is drawn, and the axes.

import { element } from "./page.js";

/** @import uPlot from "./uplot.js" */
/** @import { Card, ChartAxes, Figure, Palette, Span, Trace } from "./types.d.ts" */

/** @type {{ light: Palette, dark: Palette }} */
export const PALETTES = {
  light: {
    lines: [
      "#2f6bd8",
      "#d9700d",
      "#168a56",
      "#8a4fd0",
      "#c2376f",
      "#0f8aa0",
      "#8d6b10",
      "#5c6878",
      "#a33b3b",
      "#5b7d17",
      "#3f51b5",
      "#99582a",
    ],
    strong: "#1b2430",
    text: "#46515f",
    grid: "#e2e6eb",
    marks: "#c3cad3",
    band: "#2f6bd8",
    hover: "#ffffff",
  },
  dark: {
    lines: [
      "#6ea2ff",
      "#ffa24d",
      "#4fc98d",
      "#bd92f5",
      "#f07cab",
      "#4fc3d6",
      "#d9b44a",
      "#9aa7b8",
      "#e98080",
      "#a5c95a",
      "#8c9eff",
      "#d19a66",
    ],
    strong: "#eef2f7",
    text: "#a9b4c2",
    grid: "#2b323c",
    marks: "#3d4753",
    band: "#6ea2ff",
    hover: "#1d232b",
  },
};

export const FONT = "12px system-ui, sans-serif";

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];
const TIME_STEPS = [
  ...[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 4, 6, 12].map((hours) => hours * HOUR),
  ...[1, 10, 100, 1000, 10_000].map((days) => days * DAY),
];
const TURN_STEPS = [1, 2, 5, 10, 20, 50, 100, 1000, 10_000, 1e5, 1e6];
/** @type {Span} */
const GOALS = [-3, 103];
const GOAL_STEPS = [0.1, 0.5, 1, 5, 25];
const UNITS = [{ unit: 1e9, letter: "G" }, { unit: 1e6, letter: "M" }, { unit: 1e3, letter: "k" }, { unit: 1, letter: "" }];

/**
 * @param {Trace} trace
 * @param {Palette} palette
 */
export function colourOf({ colour }, palette) {
  return colour === "strong" ? palette.strong : palette.lines[colour % palette.lines.length];
}

/**
 * @param {Trace} trace
 * @param {Palette} palette
 */
export function swatch(trace, palette) {
  return element("i", {
    class: trace.points ? "swatch diamond" : "swatch",
    style: `--colour: ${colourOf(trace, palette)}`,
    "aria-hidden": "true",
  });
}

/**
 * The axes of a chart, and which part of the upright ones is shown: `heights` where somebody has
 * zoomed.
 * @param {Figure} figure
 * @param {ChartAxes} axes
 * @param {Palette} palette
 * @param {() => Card["heights"]} heights
 * @returns {Required<Pick<uPlot.Options, "padding" | "axes" | "scales">>}
 */
export function frameOf(figure, axes, palette, heights) {
  const axis = {
    stroke: palette.text,
    font: FONT,
    labelFont: FONT,
    labelSize: 18,
    gap: 3,
    grid: { stroke: palette.grid, width: 1 },
    ticks: { stroke: palette.grid, width: 1, size: 4 },
  };
  const across =
    figure.over === "time"
      ? { ...axis, size: 26, space: 75, incrs: TIME_STEPS, values: times }
      : { ...axis, size: 22, label: "turn", incrs: TURN_STEPS };
  /**
   * @param {"left" | "right"} scale
   * @param {boolean} [isShare]
   */
  const upright = (scale, isShare) => ({
    ...axis,
    scale,
    label: axes[scale],
    size: widthOf,
    values: isShare ? shares : amounts,
  });
  const left = { ...upright("left", axes.leftIsShare), ...(axes.isGoal ? { incrs: GOAL_STEPS } : {}) };
  /** @type {uPlot.Axis} */
  const right = { ...upright("right", axes.rightIsShare), side: 1, grid: { show: false } };
  /**
   * @param {"left" | "right"} scale
   * @returns {uPlot.Range.Function}
   */
  const range = (scale) => (plot, low, high) => heights()[scale] ?? (axes.isGoal ? GOALS : fromZero(low, high));
  return {
    padding: [8, axes.right ? 0 : 24, 0, 0],
    axes: axes.right ? [across, left, right] : [across, left],
    scales: { left: { range: range("left") }, right: { range: range("right") } },
  };
}

/**
 * @param {number | null} low
 * @param {number | null} high
 * @returns {Span}
 */
function fromZero(low, high) {
  return [Math.min(0, (low ?? 0) * 1.05), Math.max(0, (high ?? 0) * 1.05) || 1];
}

/**
 * The lines as columns over all their places: null is a gap, undefined is no point of this line. Of
 * a stack each shown line is the sum with those below.
 * @param {Trace[]} traces
 * @param {Set<string>} hidden
 * @returns {Card["data"]}
 */
export function aligned(traces, hidden) {
  const xs = [...new Set(traces.flatMap(({ x }) => x))].sort((one, other) => one - other);
  const below = new Array(xs.length).fill(0);
  const columns = traces.map(({ name, x, y, stacked }) => {
    const found = new Map(x.map((at, index) => [at, y[index]]));
    const column = xs.map((at) => found.get(at));
    // A gap goes on to the next point, across places that only other lines have.
    for (let place = 1; place < xs.length; place += 1) {
      if (column[place] === undefined && column[place - 1] === null) column[place] = null;
    }
    if (!stacked || hidden.has(name)) return column;
    return column.map((value, place) => (below[place] += value ?? 0));
  });
  return [xs, ...columns];
}

/**
 * @param {typeof uPlot} UPlot
 * @param {Card} card
 * @param {Trace} trace
 * @param {Palette} palette
 * @returns {uPlot.Series}
 */
export function seriesOf(UPlot, card, trace, palette) {
  const colour = colourOf(trace, palette);
  const { name } = trace;
  const series = {
    label: name,
    scale: trace.right ? "right" : "left",
    show: !card.hidden.has(name),
    stroke: colour,
    pxAlign: 0,
    points: { show: false },
  };
  if (trace.bars) return { ...series, width: 0, fill: colour, paths: UPlot.paths.bars?.({ size: [0.7, 80] }) };
  if (trace.points) return { ...series, fill: colour, paths: diamonds };
  const isLowest = trace.stacked && shownStack(card)[0] === trace;
  return {
    ...series,
    width: trace.colour === "strong" ? 2.4 : 1.5,
    dash: trace.dashed ? [9, 6] : undefined,
    fill: trace.filled ? `${colour}26` : isLowest ? `${colour}99` : undefined,
    // A line of one point would not be seen.
    points: {
      show: (plot, index) => !trace.stacked && nPoints(plot.data[index]) < 3,
      size: 6,
      fill: colour,
    },
  };
}

/** @param {uPlot.AlignedData[number]} values */
function nPoints(values) {
  let found = 0;
  for (const value of values) if (value != null) found += 1;
  return found;
}

/** @param {Card} card */
function shownStack({ traces, hidden }) {
  return traces.filter(({ name, stacked }) => stacked && !hidden.has(name));
}

/**
 * What is filled between the lines of a stack.
 * @param {Card} card
 * @param {Palette} palette
 * @returns {uPlot.Band[]}
 */
export function bandsOf(card, palette) {
  const stack = shownStack(card);
  return stack.slice(1).map((trace, index) => ({
    series: [card.traces.indexOf(trace) + 1, card.traces.indexOf(stack[index]) + 1],
    fill: `${colourOf(trace, palette)}99`,
  }));
}

/** A diamond for each point. @type {uPlot.Series.PathBuilder} */
function diamonds(plot, index, from, to) {
  const [xs, ys] = [plot.data[0], plot.data[index]];
  const { scale = "left" } = plot.series[index];
  const fill = new Path2D();
  const reach = (nPoints(ys) > 60 ? 2.6 : 4.6) * devicePixelRatio;
  for (let place = from; place <= to; place += 1) {
    const value = ys[place];
    if (value == null) continue;
    const [x, y] = [plot.valToPos(xs[place], "x", true), plot.valToPos(value, scale, true)];
    fill.moveTo(x, y - reach);
    fill.lineTo(x + reach, y);
    fill.lineTo(x, y + reach);
    fill.lineTo(x - reach, y);
    fill.closePath();
  }
  return { fill, stroke: null, clip: null, band: null, flags: 0 };
}

/**
 * The room for the longest text of an axis.
 * @param {uPlot} plot
 * @param {string[] | null} texts
 * @param {number} index
 */
function widthOf(plot, texts, index) {
  if (texts === null) return 40;
  const { font = [FONT], ticks, gap = 0 } = plot.axes[index];
  // uPlot keeps a font as a list: the font in pixels of the canvas is the first.
  [plot.ctx.font] = font;
  const widths = texts.map((text) => plot.ctx.measureText(text).width / devicePixelRatio);
  return Math.max(0, ...widths) + (ticks?.size ?? 0) + gap + 2;
}

/** @type {uPlot.Axis.DynamicValues} */
function times(plot, splits, axis, space, step) {
  return splits.map((seconds) => time(seconds, step));
}

/**
 * 3723 as 1:02:03; where steps are shorter than a second as 62:03.00.
 * @param {number} seconds
 */
export function time(seconds, step = 1) {
  /** @param {number} value */
  const two = (value, digits = 0) => value.toFixed(digits).padStart(digits > 0 ? 3 + digits : 2, "0");
  if (step < 1) return `${Math.floor(seconds / MINUTE)}:${two(seconds % MINUTE, 2)}`;
  return `${Math.floor(seconds / HOUR)}:${two(Math.floor((seconds % HOUR) / MINUTE))}:${two(Math.floor(seconds % MINUTE))}`;
}

/** @type {uPlot.Axis.DynamicValues} */
function shares(plot, splits) {
  return splits.map((share) => `${Number((share * 100).toFixed(1))}%`);
}

/** 1500000 as 1.5M. @type {uPlot.Axis.DynamicValues} */
function amounts(plot, splits) {
  return splits.map((value) => {
    const { unit, letter } = UNITS.find(({ unit }) => Math.abs(value) >= unit) ?? UNITS[UNITS.length - 1];
    return `${Number((value / unit).toPrecision(4))}${letter}`;
  });
}
