// What cells, moves, facts and results are called, and the colours of roles.

import assert from "node:assert/strict";
import { test } from "node:test";
import { layOut, readShapes } from "../board.js";
import { cellsOf, filledCells, readChoices } from "../choices.js";
import { PieceCounts, coloursOf, factText, passerOf, resultText } from "../roles.js";
import { Speaker } from "../speaker.js";
import { discBoard } from "./samples.mjs";

const ROLES = ["red", "black"];

function speakerOf(board) {
  const speaker = new Speaker();
  speaker.setShapes(readShapes([board]));
  return speaker;
}

test("cells are called as lines and columns at the edge", () => {
  const [shape] = readShapes([discBoard(3, 2)]);
  assert.deepEqual(shape.columnNames, ["a", "b", "c"]);
  assert.equal(shape.labels.get("|3 1"), "c1");
  const field = [0, 1, 2, 3].map((at) => ({ key: `q${at}`, title: `q${at}`, line: at >> 1, column: at % 2 }));
  const [joined] = readShapes([{ ...discBoard(2, 2), n_board_arguments: 1, boards: field }]);
  assert.ok(joined.isJoined);
  assert.deepEqual([joined.columnNames, joined.lineNames], [["a", "b", "c", "d"], ["4", "3", "2", "1"]]);
  assert.equal(joined.labels.get("q3|2 1"), "d1");
});

test("moves are cells, with the words that tell them apart", () => {
  const speaker = speakerOf(discBoard(8, 8));
  speaker.learn("red", [{ text: "(move 1 2 1 3)" }, { text: "(move 2 2 2 3)" }]);
  assert.equal(speaker.say("red", "(move 1 2 2 3)"), "a2 b3");
  assert.equal(speaker.say("red", "noop"), "pass");
  assert.equal(speaker.sayJoint(ROLES, ["noop", "(move 1 2 2 3)"]), "a2 b3");
  const asked = ["(promote 1 8 queen)", "(promote 1 8 rook)"];
  assert.deepEqual(speaker.apart("red", asked), ["queen", "rook"]);
  // A word that is always the same is not said, and a verb is where another move has as many cells.
  speaker.learn("black", ["(play 1 1 x)", "(play 2 1 x)", "(block 2 2 x)"].map((text) => ({ text })));
  assert.equal(speaker.say("black", "(play 3 3 x)"), "play c3");
  assert.equal(speaker.say("black", "(bid 3)"), "bid 3");
});

test("a direction is said as the cell that it leads to, once one of its kind was seen", () => {
  const speaker = speakerOf(discBoard(8, 8));
  const laid = layOut(["(cell 2 2 red)"], speaker.shapes);
  speaker.learn("red", readChoices(["(step 2 2 northEast)"], laid, [{ went: ["(cell 2 2 red)"], came: ["(cell 3 3 red)"] }]));
  assert.equal(speaker.say("red", "(step 4 4 northEast)"), "d4 e5");
  assert.equal(speaker.say("black", "(step 4 4 southWest)"), "d4 c3");
  assert.equal(speaker.say("black", "(leap 4 4 southWest)"), "d4 south west");
});

test("what is dropped is said by its column and lands on one cell", () => {
  const speaker = speakerOf(discBoard(3, 3));
  const laid = layOut(["(cell 1 1 red)"], speaker.shapes);
  const moves = ["(drop 1)", "(drop 2)"];
  const effects = [["1 2"], ["2 1"]].map(([cell]) => ({ went: [], came: [`(cell ${cell} black)`] }));
  const choices = readChoices(moves, laid, effects);
  speaker.learn("black", choices);
  assert.equal(speaker.say("red", "(drop 2)"), "b");
  assert.deepEqual(choices.map(cellsOf), [["cell||1 2"], ["cell||2 1"]]);
  assert.equal(choices[0].steps[0].size, 3);
});

test("a move that names a board alone is made on that board", () => {
  const boards = ["up", "low"].map((key, line) => ({ key, title: key, line, column: 0 }));
  const laid = layOut([], readShapes([{ ...discBoard(2, 2), n_board_arguments: 1, boards }]));
  const [turn, other] = readChoices(["(turn up clockwise)", "(bid 3)"], laid);
  assert.deepEqual([turn.turns.board.key, turn.turns.words, turn.steps.length], ["up", "clockwise", 1]);
  assert.equal(other.turns, undefined);
});

test("what a person has written differs from what was given", () => {
  const laid = layOut(["(cell 1 1 3)", "(cell 2 1 1)"], readShapes([discBoard(2, 2)]));
  assert.deepEqual([...filledCells([["(write 1 1 3)"], ["(move 2 1)"]], laid)], ["cell||1 1"]);
});

test("results are told as people tell them", () => {
  assert.equal(resultText(ROLES, [0, 100]), "black won");
  assert.equal(resultText(ROLES, [0, 100], [30, 34]), "black won 34 : 30");
  assert.equal(resultText(ROLES, [36, 64]), "black won 64 : 36");
  assert.equal(resultText(ROLES, [50, 50]), "draw");
  assert.equal(resultText(ROLES, [0, 0]), "nobody reached the goal");
  assert.equal(resultText(ROLES, [100, 100]), "all reached the goal");
  assert.equal(resultText(["a", "b", "c"], [100, 0, 100]), "a and c won");
  assert.equal(resultText(["a", "b", "c"], [20, 60, 20]), "b won: b 60, a 20, c 20");
  assert.equal(resultText(["a", "b", "random"], [100, 0, 100]), "a won");
  assert.deepEqual([100, 40, 0].map((goal) => resultText(["robot"], [goal])), ["solved", "40 of 100", "the goal was not reached"]);
});

test("facts are words, and those that the page tells already go", () => {
  const known = { movers: ["red"], verb: "turn", turn: 4 };
  const said = ["(control red)", "(phase turn)", "(step 5)", "(coins black 3)", "(left 5)", "(tieBreaker red)", "bidding"].map((fact) => factText(fact, ROLES, known));
  assert.equal(factText("(control red)", ROLES), "red to move");
  assert.deepEqual(said, [null, null, null, "black: coins 3", "left 5", "red: tie breaker", "bidding"]);
});

test("roles have the colours of their pieces, else some that all people tell apart", () => {
  const [red, black] = coloursOf(ROLES, []);
  assert.deepEqual([red.fill, black.fill], ["#d3382f", "#22262d"]);
  assert.deepEqual(coloursOf(["xplayer", "oplayer"], []).map(({ fill }) => fill), ["var(--cross)", "var(--ring)"]);
  const others = coloursOf(["left", "right", "random"], []).map(({ fill }) => fill);
  assert.equal(new Set(others).size, 3);
});

test("pieces are counted where their numbers tell something, and who passed is known", () => {
  const counts = new PieceCounts();
  const shapes = readShapes([discBoard(3, 3)]);
  counts.take(layOut(["(cell 1 1 red)", "(cell 1 2 black)"], shapes), ROLES);
  assert.equal(counts.result, null);
  counts.take(layOut(["(cell 1 1 red)", "(cell 1 2 red)", "(cell 1 3 red)"], shapes), ROLES);
  assert.deepEqual(counts.result, [3, 0]);
  counts.take(layOut(["(cell 1 1 red)"], shapes), ROLES);
  assert.equal(counts.result, null);
  assert.equal(passerOf([["(place 1 1)", "noop"], ["noop", "noop"]], 1), 1);
  assert.equal(passerOf([["(place 1 1)", "noop"]], 0), -1);
});
