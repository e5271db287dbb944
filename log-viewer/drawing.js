// Draws boards. A cell has its place and content in `data-cell` and `data-content`, and in a title
// for screen readers. Cells with new contents are marked.

import { changedCells, contentOf } from "./board.js";
import { drawn, element } from "./page.js";
import { drawPiece, isGround, isSilhouette, look } from "./pieces.js";

const CELL = 100;
const MARGIN = 44;
/** How wide a cell gets on the page at most, in pixels. */
const LARGEST = 68;

/** As many boards as fit beside each other. */
const MOST_ABREAST = 3;

/** The boards of a position, `laid` out, with what changed since the one `before` marked. */
export function drawBoards(laid, before) {
  const byShape = new Map();
  laid.boards.forEach((board, index) => {
    if (!byShape.has(board.shape)) byShape.set(board.shape, []);
    byShape.get(board.shape).push(drawBoard(board, changedCells(board, before?.boards[index])));
  });
  return [...byShape].map(([shape, figures]) => {
    const width = 1 + Math.max(...shape.boards.map(({ column }) => column));
    // A long row of boards is broken, since they would get small; a field of them stays as it is.
    const isRow = width > MOST_ABREAST && shape.boards.every(({ line }) => line === 0);
    const abreast = isRow ? Math.ceil(Math.sqrt(width)) : width;
    return element("div", { class: isRow ? "boards row" : "boards", style: `--boards-abreast:${abreast}` }, figures);
  });
}

function drawBoard(board, changed) {
  const { shape } = board;
  const isChess = [...shape.contents].some(([text, content]) => isSilhouette(look({ text, ...content })));
  const names = {
    left: shape.lineNames.some((name) => name !== ""),
    below: shape.columnNames.some((name) => name !== ""),
  };
  const left = names.left ? MARGIN : 6;
  const below = names.below ? MARGIN : 6;
  const width = left + shape.width * CELL + 6;
  const height = 6 + shape.height * CELL + below;
  const cells = [...board.cells.values()].map((cell) =>
    drawCell(cell, shape, { left, isChess, isChanged: changed.has(cell.key) }),
  );
  const edge = [
    names.left &&
      shape.lineNames.slice(0, shape.height).map((name, line) => edgeName(name, left / 2, 6 + (line + 0.5) * CELL)),
    names.below &&
      shape.columnNames
        .slice(0, shape.width)
        .map((name, column) => edgeName(name, left + (column + 0.5) * CELL, height - below / 2)),
  ];
  const says = board.title === "" ? `The board of ${shape.name}` : `The board ${board.title}`;
  const svg = drawn(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      class: isChess ? "board chequered" : "board",
      role: "group",
      "aria-label": says,
      "data-board": board.key,
      "data-shape": shape.name,
      style: `max-width:${Math.round((width / CELL) * LARGEST)}px`,
    },
    cells,
    edge,
  );
  const place = `grid-area:${Math.floor(board.line) + 1}/${Math.floor(board.column) + 1}`;
  return element(
    "figure",
    { class: "board-figure", style: place },
    board.title !== "" && element("figcaption", null, board.title),
    svg,
  );
}

function edgeName(name, x, y) {
  const shown = name.length > 3 ? `${name.slice(0, 2)}…` : name;
  return drawn("text", { class: "edge-name", x, y, "text-anchor": "middle", "dominant-baseline": "central" }, shown);
}

function drawCell(cell, shape, { left, isChess, isChanged }) {
  const [x, y] = [left + cell.column * CELL, 6 + cell.line * CELL];
  const isDark = isChess && (Math.floor(cell.line) + Math.floor(cell.column)) % 2 === 1;
  const looks = cell.contents.filter((content) => !content.isBlank).map(look);
  const lying = looks.filter((found) => !isGround(found));
  const names = ["cell", isDark && "dark-square", isChanged && "changed"].filter(Boolean);
  const what = contentOf(cell);
  const says = `${cell.key}: ${looks.length === 0 ? "empty" : what}${isChanged ? ", changed" : ""}`;
  return drawn(
    "g",
    {
      class: names.join(" "),
      transform: `translate(${x} ${y})`,
      role: "img",
      "aria-label": says,
      "data-cell": cell.key,
      "data-content": what,
    },
    drawn("title", null, says),
    drawn("rect", { class: "square", x: 1, y: 1, width: CELL - 2, height: CELL - 2, rx: 5 }),
    looks.filter(isGround).map(drawPiece),
    lying.slice(0, 4).map((found, place) => {
      const piece = drawPiece(found);
      if (lying.length === 1) return piece;
      const y = lying.length === 2 ? 25 : Math.floor(place / 2) * 50;
      const corner = `translate(${(place % 2) * 50} ${y}) scale(.5)`;
      return drawn("g", { transform: corner }, piece);
    }),
    isChanged && drawn("rect", { class: "mark-changed", x: 4, y: 4, width: CELL - 8, height: CELL - 8, rx: 5 }),
  );
}
