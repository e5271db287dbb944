// The look of a piece, from the words of the game. Words for colours, crosses and rings are drawn
// as such; names of chess pieces become silhouettes; walls, floor, goals, boxes and their player
// are drawn as in Sokoban; numbers become tiles; anything else is a labelled tile, coloured by its
// rank among the contents of its board. Every look works on light and dark pages: pieces have their
// own edges, crosses and rings use colours of the page.

import { drawn } from "./page.js";

/** @import { Content, Look } from "./types.d.ts" */

/** @type {Record<string, { fill: string, edge: string, ink: string }>} */
const SIDES = {
  white: { fill: "#fdfdf8", edge: "#4f5864", ink: "#1c2026" },
  black: { fill: "#22262d", edge: "#9aa4b0", ink: "#ffffff" },
  red: { fill: "#d3382f", edge: "#7f1d16", ink: "#ffffff" },
  blue: { fill: "#2f6bd8", edge: "#173c80", ink: "#ffffff" },
  green: { fill: "#1c8149", edge: "#0d4727", ink: "#ffffff" },
  yellow: { fill: "#f3c433", edge: "#7d6006", ink: "#221c05" },
  orange: { fill: "#ea7d1e", edge: "#8a430a", ink: "#1f1004" },
  purple: { fill: "#7e43cf", edge: "#462080", ink: "#ffffff" },
  pink: { fill: "#e57aae", edge: "#8d2a5d", ink: "#2b0a1a" },
  brown: { fill: "#86572f", edge: "#4a2d14", ink: "#ffffff" },
  grey: { fill: "#8d96a2", edge: "#4d555f", ink: "#12161b" },
  cyan: { fill: "#1794a8", edge: "#0a4f5b", ink: "#ffffff" },
};

/** @type {Record<string, string>} */
const OTHER_WORDS = { gray: "grey", violet: "purple", teal: "cyan", gold: "yellow", silver: "grey", magenta: "pink" };

/** @type {Record<string, string>} */
const LETTERS = { w: "white", b: "black", r: "red", g: "green", y: "yellow" };

/** Words that say no more than that something lies there. */
const PLAIN_WORDS = new Set(["man", "stone", "disc", "disk", "piece", "checker", "token", "counter", "marker", "mark"]);

/** Tiles by rank; each dark enough for white letters. */
const TILES = ["#3563c4", "#b4460f", "#187442", "#7440c0", "#aa2260", "#0d6d84", "#7d5a0b", "#4d5868", "#8f1d3a", "#4a6d12"];

const NUMBER_TILE = { fill: "#e9dcc0", edge: "#8d7a4f", ink: "#2c230c" };

/** @type {Record<string, string>} */
const SILHOUETTES = {
  pawn: "M50 18a14 14 0 0 1 9 24.7c5 5 7 14 8 22.3h4a4 4 0 0 1 4 4V80H25V69a4 4 0 0 1 4-4h4c1-8.3 3-17.3 8-22.3A14 14 0 0 1 50 18z",
  rook: "M27 20h10v8h8v-8h10v8h8v-8h10v18l-8 7v21l8 6v8H27v-8l8-6V45l-8-7z",
  knight: "M32 80c0-16 16-19 17-32-5 5-13 6-19 11l-9-8c5-10 9-18 20-24l2-10 9 8c17 3 26 16 26 33v22z",
  bishop:
    "M50 13a5 5 0 0 1 4 8c9 6 15 14 15 23 0 8-4 13-9 18h8a5 5 0 0 1 5 5v13H27V67a5 5 0 0 1 5-5h8c-5-5-9-10-9-18 0-9 6-17 15-23a5 5 0 0 1 4-8z",
  queen: "M19 29l15 22 3-31 13 29 13-29 3 31 15-22-7 38v13H26V67z",
  king: "M46 10h8v7h7v8h-7v8c14-1 25 5 25 16 0 8-6 14-12 19v12H33V68c-6-5-12-11-12-19 0-11 11-17 25-16v-8h-7v-8h7z",
};

/** @type {Record<string, string>} */
const SILHOUETTE_LETTERS = { p: "pawn", r: "rook", n: "knight", b: "bishop", q: "queen", k: "king" };

/** @type {Record<string, string>} */
const OTHER_SHAPES = {
  x: "cross",
  cross: "cross",
  xplayer: "cross",
  o: "ring",
  oplayer: "ring",
  nought: "ring",
  circle: "ring",
};

/** What a square is made of; it fills the square, under whatever lies there. */
const GROUNDS = new Set(["wall", "floor", "goal"]);

/** @type {Record<string, string>} */
const THINGS = { box: "crate", crate: "crate", player: "person", keeper: "person", at: "person" };

const INK = { fill: "#2b2f36", edge: "#12161b", ink: "#ffffff" };

/** Marks that say no more than that something is so. @type {Record<string, Look>} */
const MARKS = {
  painted: { form: "tile", label: "", ...INK },
  marked: { form: "tile", label: "", ...INK },
  on: { form: "disc", label: "", ...SIDES.yellow },
  lit: { form: "disc", label: "", ...SIDES.yellow },
  visited: { form: "disc", label: "", ...SIDES.grey },
};

/**
 * The words of a name, in small letters: `whiteKing2` as white, king, 2.
 * @param {string} name
 */
function wordsOf(name) {
  return name
    .replace(/([a-z])([A-Z0-9])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
}

/**
 * How a content looks, the form being a silhouette's name, `disc` or `tile`, or one of those that
 * have no colours: `cross`, `ring`, `crate`, `person`, `wall`, `floor`, `goal`.
 * @param {Pick<Content, "text" | "label" | "rank">} content
 * @returns {Look}
 */
export function look(content) {
  const words = wordsOf(content.text);
  const { label } = content;
  if (words.length === 1 && Object.hasOwn(OTHER_SHAPES, words[0])) {
    return { form: OTHER_SHAPES[words[0]], label: "" };
  }
  if (words.length === 1 && Object.hasOwn(MARKS, words[0])) return MARKS[words[0]];
  if (words.length === 1 && GROUNDS.has(words[0])) return { form: words[0], label: "" };
  if (words.length === 1 && Object.hasOwn(THINGS, words[0])) return { form: THINGS[words[0]], label: "" };
  const code = words.length === 1 ? /^([wb])([prnbqk])$/.exec(words[0]) : null;
  if (code !== null) return { form: SILHOUETTE_LETTERS[code[2]], label: "", ...SIDES[LETTERS[code[1]]] };
  const sided = words.map(sideOf);
  const side = sided.find((found) => found !== null) ?? null;
  const silhouette = words.find((word) => Object.hasOwn(SILHOUETTES, word));
  if (silhouette !== undefined) return { form: silhouette, label: "", ...SIDES[side ?? "grey"] };
  if (side !== null) {
    const rest = words.filter((word, index) => sided[index] === null && !PLAIN_WORDS.has(word));
    // The colour says what a label that the game does not give would repeat.
    return { form: "disc", label: rest.length === 0 ? "" : label === content.text ? rest.join(" ") : label, ...SIDES[side] };
  }
  if (words.length === 1 && Object.hasOwn(LETTERS, words[0]))
    return { form: "disc", label: "", ...SIDES[LETTERS[words[0]]] };
  if (words.length > 0 && words.every((word) => /^\d+$/.test(word))) return { form: "tile", label, ...NUMBER_TILE };
  const fill = TILES[Math.abs(content.rank) % TILES.length];
  return { form: "tile", label, fill, edge: "#00000055", ink: "#ffffff" };
}

/**
 * The colour that a word names, for sides and grounds; grey for one that names none.
 * @param {string} word
 */
export function sideColour(word) {
  return SIDES[sideOf(word.toLowerCase()) ?? "grey"].fill;
}

/** @param {string} word */
function sideOf(word) {
  if (Object.hasOwn(OTHER_WORDS, word)) return OTHER_WORDS[word];
  return Object.hasOwn(SIDES, word) ? word : null;
}

/**
 * Whether a look is that of what a square is made of.
 * @param {Look} look
 */
export function isGround({ form }) {
  return GROUNDS.has(form);
}

/**
 * Whether a look is that of a chess piece.
 * @param {Look} look
 */
export function isSilhouette({ form }) {
  return Object.hasOwn(SILHOUETTES, form);
}

/**
 * A piece drawn into a square of a hundred units.
 * @param {Look} look
 */
export function drawPiece({ form, label, fill, edge, ink }) {
  switch (form) {
    case "cross":
      return drawn("path", { class: "piece cross", d: "M26 26L74 74M74 26L26 74" });
    case "ring":
      return drawn("circle", { class: "piece ring", cx: 50, cy: 50, r: 28 });
    case "wall":
      return drawn(
        "g",
        { class: "piece" },
        drawn("rect", { x: 0, y: 0, width: 100, height: 100, fill: "#7d838d" }),
        drawn("path", { d: "M0 33H100M0 67H100M50 0V33M20 33V67M80 33V67M50 67V100", stroke: "#59606b", "stroke-width": 4 }),
      );
    case "floor":
      return null;
    case "goal":
      return drawn("rect", {
        class: "piece",
        x: 7,
        y: 7,
        width: 86,
        height: 86,
        rx: 10,
        fill: "#1f9d5a",
        "fill-opacity": 0.25,
        stroke: "#1f9d5a",
        "stroke-width": 6,
      });
    case "crate":
      return drawn(
        "g",
        { class: "piece" },
        drawn("rect", { x: 18, y: 18, width: 64, height: 64, fill: "#b9772f", stroke: "#6b4113", "stroke-width": 6 }),
        drawn("path", { d: "M21 21L79 79M79 21L21 79", stroke: "#6b4113", "stroke-width": 6 }),
      );
    case "person":
      return drawn(
        "g",
        { class: "piece", fill: "#2f6bd8", stroke: "#173c80", "stroke-width": 4 },
        drawn("circle", { cx: 50, cy: 31, r: 14 }),
        drawn("path", { d: "M27 80c0-20 9-30 23-30s23 10 23 30z" }),
      );
    case "disc":
      return drawn(
        "g",
        { class: "piece" },
        drawn("circle", { cx: 50, cy: 50, r: 37, fill, stroke: edge, "stroke-width": 4 }),
        drawn("circle", {
          cx: 50,
          cy: 50,
          r: 27,
          fill: "none",
          stroke: ink,
          "stroke-opacity": 0.22,
          "stroke-width": 3,
        }),
        letters(label, ink, 44),
      );
    case "tile":
      return drawn(
        "g",
        { class: "piece" },
        drawn("rect", { x: 11, y: 11, width: 78, height: 78, rx: 12, fill, stroke: edge, "stroke-width": 3 }),
        letters(label, ink, 70),
      );
    default:
      return drawn("path", {
        class: "piece",
        d: SILHOUETTES[form],
        fill,
        stroke: edge,
        "stroke-width": 4,
        "stroke-linejoin": "round",
      });
  }
}

/**
 * A label in the middle, as large as `width` allows.
 * @param {string} label
 * @param {string | undefined} ink
 * @param {number} width
 */
function letters(label, ink, width) {
  if (label === "") return null;
  const shown = label.length > 7 ? `${label.slice(0, 6)}…` : label;
  const size = Math.min(46, width / (0.62 * Math.max(1, shown.length)));
  return drawn(
    "text",
    {
      x: 50,
      y: 50,
      fill: ink,
      "font-size": size.toFixed(1),
      "font-weight": 600,
      "text-anchor": "middle",
      "dominant-baseline": "central",
    },
    shown,
  );
}
