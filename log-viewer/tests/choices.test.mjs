// From legal moves to clicks: which cells a move is tied to, and what clicking on them comes to.

import assert from "node:assert/strict";
import { test } from "node:test";
import { layOut, readShapes } from "../board.js";
import { pick, readChoices, stateOf, targets } from "../choices.js";
import { discBoard } from "./samples.mjs";

const position = layOut(["(cell 1 1 red)", "(cell 2 3 black)"], readShapes([discBoard(3, 3)]));
const cell = (key) => `cell||${key}`;
const stepsOf = (moves) => readChoices(moves, position).map(({ steps }) => steps.map((step) => [...step].sort()));

test("a placement is tied to its cell, a pass to none", () => {
  assert.deepEqual(stepsOf(["(mark 1 2)", "(mark 3 3)", "noop"]), [[[cell("1 2")]], [[cell("3 3")]], []]);
});

test("a move from cell to cell is tied to both, whatever stands before them", () => {
  assert.deepEqual(stepsOf(["(move king 1 1 2 2)"]), [[[cell("1 1")], [cell("2 2")]]]);
});

test("what is dropped is tied to a column", () => {
  const column = (name) => [1, 2, 3].map((line) => cell(`${name} ${line}`));
  assert.deepEqual(stepsOf(["(drop 1)", "(drop 3)", "noop"]), [[column(1)], [column(3)], []]);
});

test("numbers that are not all columns are tied to nothing", () => {
  assert.deepEqual(stepsOf(["(bid 0)", "(bid 1)", "(bid 2)"]), [[], [], []]);
});

const stepsWith = (moves) =>
  readChoices(
    moves.map(([text]) => text),
    position,
    moves.map(([, went, came]) => ({ went, came })),
  ).map(({ steps }) => steps.map((step) => [...step].sort()));

test("a piece that goes is clicked first, then where it goes, whatever the move is called", () => {
  assert.deepEqual(
    stepsWith([
      ["(step north)", ["(cell 1 1 red)"], ["(cell 1 2 red)"]],
      ["(jump 2 3)", ["(cell 2 3 black)", "(cell 1 1 red)"], ["(cell 3 3 black)"]],
    ]),
    [
      [[cell("1 1")], [cell("1 2")]],
      [[cell("2 3")], [cell("3 3")]],
    ],
  );
});

test("a number that is no cell is none, since the effects tell", () => {
  assert.deepEqual(
    stepsWith([
      ["(write 1 2 3)", [], ["(cell 1 2 red)"]],
      ["(write 1 2 1)", [], ["(cell 1 2 black)"]],
    ]),
    [[[cell("1 2")]], [[cell("1 2")]]],
  );
});

test("who is moved by every move is clicked where it goes", () => {
  assert.deepEqual(
    stepsWith([
      ["(walk north)", [], ["(cell 1 2 red)"]],
      ["(walk east)", ["(cell 2 1 black)"], ["(cell 2 1 red)", "(cell 3 1 black)"]],
    ]),
    [[[cell("1 2")]], [[cell("2 1")]]],
  );
});

test("where discs turn too, the one that is placed is clicked", () => {
  assert.deepEqual(
    stepsWith([
      ["(place 3 3)", ["(cell 2 3 black)"], ["(cell 2 3 red)", "(cell 3 3 red)"]],
      ["(place 1 2)", [], ["(cell 1 2 red)"]],
    ]),
    [[[cell("3 3")]], [[cell("1 2")]]],
  );
});

test("a piece with one move needs one click", () => {
  const choices = readChoices(["(move 1 1 1 2)", "(move 2 3 3 3)"], position);
  const { ready, open } = pick(choices, [], cell("2 3"));
  assert.deepEqual([ready.map(({ text }) => text), open], [["(move 2 3 3 3)"], []]);
});

test("two clicks make a move, another cell begins anew", () => {
  const choices = readChoices(["(move 1 1 1 2)", "(move 1 1 2 2)", "(move 2 3 3 3)"], position);
  const start = stateOf(choices, []);
  assert.deepEqual([...targets(start)].sort(), [cell("1 1"), cell("2 3")]);
  const from = pick(choices, start.picked, cell("1 1"));
  assert.deepEqual([...targets(from)].sort(), [cell("1 2"), cell("2 2")]);
  assert.deepEqual(from.ready, []);
  const to = pick(choices, from.picked, cell("2 2"));
  assert.deepEqual(
    to.ready.map(({ text }) => text),
    ["(move 1 1 2 2)"],
  );
  assert.deepEqual(to.open, []);
  assert.deepEqual(pick(choices, from.picked, cell("2 3")).picked, [cell("2 3")]);
  assert.deepEqual(pick(choices, from.picked, cell("3 1")).picked, []);
});

test("moves on the same cells are all ready", () => {
  const choices = readChoices(["(promote 1 2 queen)", "(promote 1 2 rook)"], position);
  const { ready } = pick(choices, [], cell("1 2"));
  assert.deepEqual(
    ready.map(({ text }) => text),
    ["(promote 1 2 queen)", "(promote 1 2 rook)"],
  );
});
