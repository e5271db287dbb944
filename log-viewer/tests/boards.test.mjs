// From facts to boards: what lies where, what has changed, and what pieces look like.

import assert from "node:assert/strict";
import { test } from "node:test";
import { changedCells, compare, contentOf, layOut, readShapes } from "../board.js";
import { isGround, isSilhouette, look } from "../pieces.js";
import { discBoard } from "./samples.mjs";

const marks = {
  function: "mark",
  arity: 5,
  boards: [
    { key: "1 1", title: "1 1", line: 0, column: 0 },
    { key: "1 2", title: "1 2", line: 0, column: 1 },
  ],
  n_board_arguments: 2,
  n_cell_arguments: 2,
  cells: { "a 1": [1, 0], "a 2": [0, 0], "(pair x y) 1": [1, 1] },
  lines: ["2", "1"],
  columns: ["a", ""],
  contents: { x: { label: "x", blank: false }, b: { label: "", blank: true } },
  has_blanks: true,
};

function cellsOf(board) {
  return Object.fromEntries([...board.cells].map(([key, cell]) => [key, contentOf(cell)]));
}

test("facts lie on the cells that they name", () => {
  const shapes = readShapes([discBoard(3, 2)]);
  const { boards, rest } = layOut(["(cell 1 1 red)", "(cell 1 2 black)", "(control red)", "(cell 9 9 red)"], shapes);
  assert.deepEqual(cellsOf(boards[0]), { "1 1": "red", "1 2": "black", "2 1": "", "2 2": "", "3 1": "", "3 2": "" });
  assert.deepEqual(rest, ["(control red)", "(cell 9 9 red)"]);
  const { line, column } = boards[0].cells.get("1 2");
  assert.deepEqual([line, column], [0, 0]);
});

test("several boards have their own cells, nested arguments are one", () => {
  const shapes = readShapes([marks]);
  const { boards, rest } = layOut(["(mark 1 1 a 1 x)", "(mark 1 2 ( pair x y ) 1 b)", "(mark 3 3 a 1 x)"], shapes);
  assert.deepEqual(boards.map(cellsOf), [{ "a 1": "x" }, { "(pair x y) 1": "b" }]);
  assert.deepEqual(rest, ["(mark 3 3 a 1 x)"]);
  assert.equal(boards[1].cells.get("(pair x y) 1").contents[0].isBlank, true);
});

test("cells that no fact names are there unless the game names the empty ones", () => {
  const [shape] = readShapes([{ ...marks, has_blanks: false }]);
  const { boards } = layOut(["(mark 1 1 a 1 x)"], [shape]);
  assert.deepEqual(cellsOf(boards[0]), { "a 1": "x", "a 2": "", "(pair x y) 1": "" });
});

test("several things on a cell are all there", () => {
  const shapes = readShapes([discBoard(1, 1)]);
  const { boards } = layOut(["(cell 1 1 red)", "(cell 1 1 black)", "(cell 1 1 wizard)"], shapes);
  assert.equal(contentOf(boards[0].cells.get("1 1")), "red, black, wizard");
});

test("facts that only say where lie on the board that has all their cells", () => {
  const where = (name, size) => {
    const board = discBoard(size, size);
    return { ...board, function: name, arity: 2, contents: { "": { label: name[0], blank: false } } };
  };
  const facts = ["(at 2 2)", "(visited 1 1)", "(visited 2 2)", "(cell 1 1 red)", "(far 9 9)"];
  const both = readShapes([where("at", 3), where("visited", 3)]);
  const [board, ...others] = layOut(facts, both).boards;
  assert.deepEqual(others, []);
  assert.equal(contentOf(board.cells.get("1 1")), "visited");
  assert.equal(contentOf(board.cells.get("2 2")), "at, visited");
  const before = layOut(["(at 1 1)", "(visited 1 1)"], both).boards[0];
  assert.deepEqual([...changedCells(board, before)].sort(), ["1 1", "2 2"]);

  const three = readShapes([where("at", 2), where("visited", 3), discBoard(4, 4)]);
  const laid = layOut(facts, three);
  assert.equal(laid.boards.length, 1);
  assert.deepEqual(laid.rest, ["(far 9 9)"]);
  assert.equal(contentOf(laid.boards[0].cells.get("1 1")), "visited, red");
  // What says more than where has a board of its own.
  assert.equal(layOut(facts, readShapes([discBoard(3, 3), { ...discBoard(3, 3), function: "mark" }])).boards.length, 2);
});

test("changed cells are those whose contents are others", () => {
  const shapes = readShapes([discBoard(2, 2)]);
  const before = layOut(["(cell 1 1 red)", "(cell 2 1 red)"], shapes).boards[0];
  const after = layOut(["(cell 1 1 red)", "(cell 2 1 black)", "(cell 2 2 red)"], shapes).boards[0];
  assert.deepEqual([...changedCells(after, before)], ["2 1", "2 2"]);
  assert.deepEqual([...changedCells(after, undefined)], []);
});

test("facts are compared", () => {
  assert.deepEqual(compare(["a", "b"], ["b", "c"]), { stayed: ["b"], came: ["a"], went: ["c"] });
});

test("shapes of other types than expected are left out, and hurt nobody", () => {
  for (const bad of [
    null,
    7,
    [7],
    [null],
    [{ function: "cell" }],
    [{ function: 3, cells: { a: [0, 0] } }],
    [{ function: "cell", cells: { a: "b", c: [-1, 0], d: [1e9, 0] } }],
  ]) {
    assert.deepEqual(readShapes(bad), []);
  }
  const [shape] = readShapes([{ function: "cell", cells: { a: [0, 0] } }]);
  assert.equal(layOut(["(cell a)", "(cell", "cell", "((cell) a)"], [shape]).rest.length, 3 + 1);
  const huge = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [String(index), [index % 70, 0]]));
  assert.deepEqual(readShapes([{ function: "cell", cells: huge }]), []);
});

test("pieces look like what they are called", () => {
  const of = (text) => look({ text, label: text, rank: 1 });
  assert.equal(of("x").form, "cross");
  assert.equal(of("o").form, "ring");
  assert.equal(of("red").form, "disc");
  assert.equal(of("white knight").form, "knight");
  assert.equal(of("blackQueen").form, "queen");
  assert.equal(of("wp").form, "pawn");
  assert.notEqual(of("wp").fill, of("bp").fill);
  assert.equal(of("7").form, "tile");
  assert.equal(of("treasure").label, "treasure");
  assert.notEqual(look({ text: "mine", label: "m", rank: 0 }).fill, look({ text: "yours", label: "y", rank: 1 }).fill);
  assert.equal(of("constructor").form, "tile");
  assert.deepEqual(["wall", "floor", "goal"].map((text) => of(text).form), ["wall", "floor", "goal"]);
  assert.deepEqual(["box", "player"].map((text) => of(text).form), ["crate", "person"]);
  assert.ok(isGround(of("wall")) && !isGround(of("box")));
  assert.ok(isSilhouette(of("wp")) && !isSilhouette(of("box")) && !isSilhouette(of("wall")));
});
