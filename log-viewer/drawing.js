// Draws boards. A cell has its place and content in `data-cell` and `data-content`, and in a title
// for screen readers. Cells with new contents are marked.

import { changedCells, contentOf } from "./board.js";
import { plainWords } from "./expressions.js";
import { cellName } from "./labels.js";
import { drawn, element } from "./page.js";
import { drawPiece, isGround, isSilhouette, look, sideColour } from "./pieces.js";

/** @import { Board, Cell, Content, Form, Laid, Look, Place, Shape } from "./types.d.ts" */

/** @typedef {Map<string, { key: string, node: SVGGElement }>} Made */
/** @typedef {{ left: number, top: number, isChess: boolean, tall: number, own: Set<string>, made: Made }} Frame */

const CELL = 100;
const MARGIN = 44;
/** The longest name at an edge. */
const LONGEST_NAME = 10;
/** Where more cells change, nothing is shown as moving. */
const MOST_MOVING = 64;
/** Room for coloured sides. */
const BORDER = 50;
/** The height of a cell on which things are stacked, in cells. */
const STACK = 1.9;
/** How wide a cell gets on the page at most, in pixels, and a small board, and a cell of that. */
const LARGEST = 68;
const SMALL_BOARD = 480;
const LARGEST_OF_SMALL = 130;
/** How far beyond the last cell of a line the name of the line stands, where lines lean. */
const BEYOND = 0.78;

/** As many boards as fit beside each other. */
const MOST_ABREAST = 3;

/**
 * The boards of a position, `laid` out, with what changed since the one `before` marked; `own` has
 * the names of cells that a person has filled. Cells that were drawn before, `made`, are taken from
 * there where they look the same, and new ones put there.
 * @param {Laid} laid
 * @param {Laid | null} [before]
 * @param {Set<string>} [own]
 * @param {Made} [made]
 */
export function drawBoards(laid, before, own = new Set(), made = new Map()) {
  /** @type {Map<Shape, { board: Board, before: Board | undefined }[]>} */
  const byShape = new Map();
  laid.boards.forEach((board, index) => {
    const boards = byShape.get(board.shape) ?? [];
    boards.push({ board, before: before?.boards[index] });
    byShape.set(board.shape, boards);
  });
  return [...byShape].map(([shape, boards]) => {
    const width = shape.isJoined ? 1 : 1 + Math.max(...shape.boards.map(({ column }) => column));
    // A long row of boards is broken, since they would get small; a field of them stays as it is.
    const isRow = width > MOST_ABREAST && shape.boards.every(({ line }) => line === 0);
    const abreast = isRow ? Math.ceil(Math.sqrt(width)) : width;
    const figures = shape.isJoined ? drawFigure(boards, own, made) : boards.map((one) => drawFigure([one], own, made));
    return element("div", { class: isRow ? "boards row" : "boards", style: `--boards-abreast:${abreast}` }, figures);
  });
}

/**
 * For changed cells the earlier cell of what lies there now, if it has left that one.
 * @param {Board} board
 * @param {Board | undefined} before
 * @param {Set<string>} changed
 */
function movesOn(board, before, changed) {
  /** @type {Map<string, Cell | undefined>} */
  const moved = new Map();
  if (before === undefined || changed.size > MOST_MOVING) return moved;
  /**
   * @param {Cell | undefined} cell
   * @param {string} text
   */
  const isIn = (cell, text) => cell?.contents.some((content) => content.text === text && !content.isBlank) === true;
  for (const key of changed) {
    const [lying, ...others] = board.cells.get(key)?.contents ?? [];
    if (lying === undefined || lying.isBlank || others.length > 0 || isIn(before.cells.get(key), lying.text)) continue;
    const left = [...changed].filter((other) => isIn(before.cells.get(other), lying.text) && !isIn(board.cells.get(other), lying.text));
    if (left.length === 1) moved.set(key, before.cells.get(left[0]));
  }
  return moved;
}

/**
 * A board, or several that are joined.
 * @param {{ board: Board, before: Board | undefined }[]} boards
 * @param {Set<string>} own
 * @param {Made} made
 */
function drawFigure(boards, own, made) {
  const [{ board }] = boards;
  const { shape } = board;
  const isChess = [...shape.contents].some(([text, content]) => isSilhouette(look({ text, ...content })));
  const names = {
    left: shape.form === "square" && shape.lineNames.some((name) => name !== ""),
    below: ["square", "stack"].includes(shape.form) && shape.columnNames.some((name) => name !== ""),
  };
  const isLeaning = !names.left && shape.lineAt >= 0 && shape.labels.size > 0;
  const border = isLeaning ? BORDER + MARGIN : shape.borders === null ? 6 : BORDER;
  const longest = Math.max(0, ...shape.lineNames.map((name) => name.length));
  const left = names.left ? Math.max(MARGIN, 14 * Math.min(longest, LONGEST_NAME)) : border;
  const below = names.below ? MARGIN : border;
  const tall = shape.form === "stack" ? STACK : 1;
  const isJoined = boards.length > 1;
  const abreast = isJoined ? 1 + Math.max(...boards.map(({ board }) => board.column)) : 1;
  const down = isJoined ? 1 + Math.max(...boards.map(({ board }) => board.line)) : 1;
  const [columns, lines] = [abreast * shape.width, down * shape.height];
  const width = left + columns * CELL + border;
  const height = border + lines * CELL * tall + below;
  const at = { left, top: border, isChess, tall, own, made };
  const cells = boards.map(({ board, before }) => {
    const changed = changedCells(board, before);
    const moved = movesOn(board, before, changed);
    const shift = isJoined ? { left: left + board.column * shape.width * CELL, top: border + board.line * shape.height * CELL } : {};
    return [...board.cells.values()].map((cell) =>
      drawCell(cell, board, { ...at, ...shift, isChanged: changed.has(cell.key), from: moved.get(cell.key) }),
    );
  });
  const edge = [
    names.left && shape.lineNames.slice(0, lines).map((name, line) => edgeName(name, left / 2, border + (line + 0.5) * CELL)),
    names.below && shape.columnNames.slice(0, columns).map((name, column) => edgeName(name, left + (column + 0.5) * CELL, height - below / 2)),
    isLeaning && leaningNames(shape, at),
  ];
  const title = isJoined ? "" : plainWords(board.title);
  const svg = drawn(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      class: isChess ? "board chequered" : "board",
      role: "group",
      "aria-label": title === "" ? `The board of ${plainWords(shape.name)}` : `The board ${title}`,
      "data-board": board.key,
      "data-shape": shape.name,
      style: `max-width:${Math.round(Math.max((width / CELL) * LARGEST, Math.min(SMALL_BOARD, (width / CELL) * LARGEST_OF_SMALL)))}px`,
    },
    // Squares of a chequered board that no fact names are no cells, but are seen.
    isChess && drawn("rect", { class: "chequered-ground", x: left, y: border, width: columns * CELL, height: lines * CELL }),
    drawBorders(shape, at),
    shape.links.map(([from, to]) => drawLink(from, to, shape, at)),
    cells,
    isJoined && seams(shape, at, abreast, down),
    edge,
    drawn("g", { class: "over" }),
  );
  const place = isJoined ? null : `grid-area:${Math.floor(board.line) + 1}/${Math.floor(board.column) + 1}`;
  return element("figure", { class: "board-figure", style: place }, title !== "" && element("figcaption", null, title), svg);
}

/**
 * The lines between boards that are joined.
 * @param {Shape} shape
 * @param {Frame} frame
 * @param {number} abreast
 * @param {number} down
 */
function seams({ width, height }, { left, top }, abreast, down) {
  const [right, bottom] = [left + abreast * width * CELL, top + down * height * CELL];
  const across = Array.from({ length: down - 1 }, (_, line) => `M${left} ${top + (line + 1) * height * CELL}H${right}`);
  const upright = Array.from({ length: abreast - 1 }, (_, column) => `M${left + (column + 1) * width * CELL} ${top}V${bottom}`);
  return drawn("path", { class: "seam", d: [...across, ...upright].join("") });
}

/**
 * The names of lines and columns that lean: before the first cell of a line, and beyond the last
 * cell of a column, in the direction in which its cells follow each other.
 * @param {Shape} shape
 * @param {Frame} frame
 */
function leaningNames(shape, frame) {
  const beyond = shape.borders === null ? BEYOND : BEYOND + 0.35;
  /** @type {Map<string, Place[]>[]} */
  const [lines, columns] = [new Map(), new Map()];
  for (const [key, place] of shape.cells) {
    const tokens = key.split(" ");
    const [line, column] = [tokens[shape.lineAt], tokens[1 - shape.lineAt]];
    lines.set(line, [...(lines.get(line) ?? []), place]);
    columns.set(column, [...(columns.get(column) ?? []), place]);
  }
  const names = [...columns].flatMap(([name, cells]) => {
    const [last, before] = [...cells].sort((one, other) => other.line - one.line);
    const way = before === undefined ? { line: 1, column: 0 } : { line: last.line - before.line, column: last.column - before.column };
    const [x, y] = middle({ line: last.line + beyond * way.line, column: last.column + beyond * way.column }, frame);
    return [edgeName(shape.columnWords.get(name) ?? name, x, y)];
  });
  for (const [name, cells] of lines) {
    const [first] = [...cells].sort((one, other) => one.column - other.column);
    const [x, y] = middle({ line: first.line, column: first.column - beyond }, frame);
    names.push(edgeName(name, x, y));
  }
  return names;
}

/**
 * The middle of a cell.
 * @param {Place} place
 * @param {Frame} frame
 */
function middle({ line, column }, { left, top }) {
  return [left + (column + 0.5) * CELL, top + (line + 0.5) * CELL];
}

/**
 * @param {string} from
 * @param {string} to
 * @param {Shape} shape
 * @param {Frame} at
 */
function drawLink(from, to, shape, at) {
  const [one, other] = [shape.cells.get(from), shape.cells.get(to)];
  if (one === undefined || other === undefined) return null;
  const [x1, y1] = middle(one, at);
  const [x2, y2] = middle(other, at);
  return drawn("line", { class: "link", x1, y1, x2, y2 });
}

/**
 * The coloured sides: lines beside the first and last line of cells and beside the ends of lines.
 * @param {Shape} shape
 * @param {Frame} at
 */
function drawBorders(shape, at) {
  const { borders } = shape;
  if (borders === null) return null;
  const cells = [...shape.cells.values()];
  const lines = [...new Set(cells.map(({ line }) => line))].sort((one, other) => one - other);
  /** @param {number} line */
  const ends = (line) => {
    const columns = cells.filter((cell) => cell.line === line).map(({ column }) => column);
    return [Math.min(...columns), Math.max(...columns)];
  };
  const away = 0.68;
  /** @type {(line: number, place: number, side: number) => number[]} */
  const corner = (line, place, side) => middle({ line, column: ends(line)[place] + side }, at);
  /** @type {(line: number, down: number) => number[][]} */
  const row = (line, down) => ends(line).map((column) => middle({ line: line + down * away, column }, at));
  const sides = [
    row(lines[0], -1),
    lines.map((line) => corner(line, 1, away)),
    row(lines[lines.length - 1], 1),
    lines.map((line) => corner(line, 0, -away)),
  ];
  return sides.map((points, side) =>
    drawn("polyline", {
      class: "side",
      points: points.map((point) => point.join(",")).join(" "),
      stroke: sideColour(borders[side]),
    }),
  );
}

/**
 * @param {string} name
 * @param {number} x
 * @param {number} y
 */
function edgeName(name, x, y) {
  const shown = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name;
  const size = Math.min(30, 160 / Math.max(1, shown.length));
  return drawn("text", { class: "edge-name", x, y, "font-size": size, "text-anchor": "middle", "dominant-baseline": "central" }, shown);
}

/**
 * @param {Cell} cell
 * @param {Board} board
 * @param {Frame & { isChanged: boolean, from: Place | undefined }} how
 */
function drawCell(cell, board, { left, top, tall, isChess, own, made, isChanged, from }) {
  const { shape } = board;
  const name = cellName(board, cell.key);
  const [x, y] = [left + cell.column * CELL, top + cell.line * CELL * tall];
  const isDark = isChess && (Math.floor(cell.line) + Math.floor(cell.column)) % 2 === 1;
  const looks = cell.contents.filter((content) => !content.isBlank).map(look);
  const lying = looks.filter((found) => !isGround(found));
  const names = ["cell", isDark && "dark-square", lying.length > 0 && "lying", isChanged && "changed", own.has(name) && "own"].filter(Boolean);
  const what = contentOf(cell);
  const key = JSON.stringify([x, y, names, what, from?.line, from?.column]);
  const old = made.get(name);
  if (old?.key === key) return old.node;
  const says = `${shape.labels.get(`${board.key}|${cell.key}`) ?? cell.key}: ${looks.length === 0 ? "empty" : what}${isChanged ? ", changed" : ""}`;
  const ground = shape.grounds.get(cell.key);
  const content = shape.form === "stack" ? drawStack(lying, cell.contents) : drawLying(lying);
  const node = drawn(
    "g",
    {
      class: names.join(" "),
      transform: `translate(${x} ${y})`,
      role: "img",
      "aria-label": says,
      "data-cell": cell.key,
      "data-name": name,
      "data-content": what,
    },
    drawn("title", null, says),
    outline(shape.form, tall, "square"),
    ground !== undefined && drawGround(ground, shape.form),
    looks.filter(isGround).map(drawPiece),
    from === undefined
      ? content
      : drawn(
          "g",
          {
            class: "arriving",
            style: `--dx:${(from.column - cell.column) * CELL}px;--dy:${(from.line - cell.line) * CELL}px`,
          },
          content,
        ),
    drawn("circle", { class: "dot", cx: 50, cy: 50, r: 12 }),
    outline(shape.form, tall, "cell-mark"),
  );
  made.set(name, { key, node });
  return node;
}

/**
 * The outline of a cell.
 * @param {Form} form
 * @param {number} tall
 * @param {string} name
 */
function outline(form, tall, name) {
  if (form === "circle") return drawn("circle", { class: name, cx: 50, cy: 50, r: name === "square" ? 45 : 40 });
  if (form === "hexagon") {
    // A mark stays inside, since the next cells are drawn over the edge.
    const [side, half] = name === "square" ? [57.7, 50] : [51.9, 45];
    const corners = [
      [50, 50 - side],
      [50 + half, 50 - side / 2],
      [50 + half, 50 + side / 2],
      [50, 50 + side],
      [50 - half, 50 + side / 2],
      [50 - half, 50 - side / 2],
    ];
    return drawn("polygon", { class: name, points: corners.map((corner) => corner.join(",")).join(" ") });
  }
  // A mark stays inside here too, beside that of the last move.
  const edge = name === "square" ? 1 : 6;
  return drawn("rect", { class: name, x: edge, y: edge, width: CELL - 2 * edge, height: CELL * tall - 2 * edge, rx: 5 });
}

/**
 * What a cell is made of: a wall, a goal, or a colour.
 * @param {string} ground
 * @param {Form} form
 */
function drawGround(ground, form) {
  const found = look({ text: ground, label: "", rank: 0 });
  if (isGround(found)) return drawPiece(found);
  const colour = sideColour(ground);
  return form === "circle"
    ? drawn("circle", { class: "tint", cx: 50, cy: 50, r: 44, fill: colour })
    : drawn("rect", { class: "tint", x: 1, y: 1, width: CELL - 2, height: CELL - 2, rx: 5, fill: colour });
}

/**
 * Up to four pieces of a cell; several are drawn smaller.
 * @param {Look[]} lying
 */
function drawLying(lying) {
  return lying.slice(0, 4).map((found, place) => {
    const piece = drawPiece(found);
    if (lying.length === 1) return piece;
    const y = lying.length === 2 ? 25 : Math.floor(place / 2) * 50;
    const corner = `translate(${(place % 2) * 50} ${y}) scale(.5)`;
    return drawn("g", { transform: corner }, piece);
  });
}

/**
 * Discs on a peg, the greatest at the bottom, as wide as they are great.
 * @param {Look[]} lying
 * @param {Content[]} contents
 */
function drawStack(lying, contents) {
  const sizes = contents.map(({ text }, index) => ({ size: Number(text) || index + 1, text }));
  sizes.sort((one, other) => other.size - one.size);
  const most = Math.max(6, ...sizes.map(({ size }) => size));
  const peg = drawn("path", { class: "peg", d: `M50 20V${CELL * STACK - 12}M10 ${CELL * STACK - 10}H90` });
  const discs = sizes.map(({ size, text }, index) => {
    const width = 22 + (64 * size) / most;
    const y = CELL * STACK - 12 - 24 * (index + 1);
    const { fill, edge, ink } = look({ text: "tile", label: text, rank: size });
    return [
      drawn("rect", { class: "piece", x: 50 - width / 2, y, width, height: 22, rx: 9, fill, stroke: edge }),
      drawn("text", { x: 50, y: y + 11, fill: ink, "font-size": 15, "text-anchor": "middle", "dominant-baseline": "central" }, text),
    ];
  });
  return lying.length === 0 ? peg : [peg, discs];
}
