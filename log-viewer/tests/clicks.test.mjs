// Which cells are clicked for moves of published games: those that a person would click, found by reading the rules.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { layOut, readShapes } from "../board.js";
import { readChoices } from "../choices.js";
import { serve } from "./server.mjs";

const CORPUS = fileURLToPath(new URL("../../../shared/corpus/games/", import.meta.url));
const HEADERS = { "Content-Type": "application/json", "panza-page": "1" };

/** A game, one of its first moves, and what is clicked for it in turn: cells, on boards of several as `board|cell`. */
const CLICKS = [
  ["3pttc", "(move 1 4 2 2)", "1 4", "2 2"],
  ["battle", "(move 2 8 1 8)", "2 8", "1 8"],
  ["blobwars", "(dupe n1 n6 n2 n5)", "n1 n6", "n2 n5"],
  ["blocker", "(mark 1 2)", "1 2"],
  ["breakthrough", "(move 1 2 2 3)", "1 2", "2 3"],
  ["breakthroughSmall", "(move 1 2 2 3)", "1 2", "2 3"],
  ["breakthroughWalls", "(move 8 2 8 3)", "8 2", "8 3"],
  ["checkers", "(move wp b 3 c 4)", "b 3", "c 4"],
  ["chomp", "(bite 8 7)", "8 7"],
  ["connectFour", "(drop 2)", "2 1"],
  ["connectFourLarger", "(drop 2)", "2 1"],
  ["connectFour_9x6", "(drop 9)", "9 1"],
  ["eightPuzzle", "(move 2 3)", "2 3"],
  ["englishDraughts", "(move b 3 a 4)", "b 3", "a 4"],
  ["escortLatch", "(move a 2 b 3)", "a 2", "b 3"],
  ["futoshiki4", "(place 1 1 2)", "1 1"],
  ["golden_rectangle", "(mark 1 0)", "1 0"],
  ["gomoku_11x11", "(place 11 11)", "11 11"],
  ["gomoku_15x15", "(place 1 2)", "1 2"],
  ["hex", "(place a 2)", "a 2"],
  ["knightThrough", "(move 8 2 6 3)", "8 2", "6 3"],
  ["max_knights", "(place h 8)", "h 8"],
  ["minichess", "(move wk c 1 b 1)", "c 1", "b 1"],
  ["nineBoardTicTacToe", "(play 1 1 1 2 x)", "1 1|1 2"],
  ["pegEuro", "(jump d c2 d c4)", "d c2"],
  ["pentago", "(place 2 1 1)", "2|1 1"],
  ["quad_5x5", "(mark r5 c4)", "r5 c4"],
  ["quad_7x7", "(block r7 c6)", "r7 c6"],
  ["queens08lg", "(place 1 2)", "1 2"],
  ["reversi", "(move 4 6)", "4 6"],
  ["reversiSuicide", "(move 4 6)", "4 6"],
  ["sheepAndWolf", "(move c4 c8 c3 c7)", "c4 c8", "c3 c7"],
  ["skirmish", "(move 2 1 3 3)", "2 1", "3 3"],
  ["speedChess", "(move knight b 1 c 3)", "b 1", "c 3"],
  ["sudokuGrade1", "(mark 3 3 3 1 6)", "3 3|3 1"],
  ["ticTacToe", "(mark 1 2)", "1 2"],
  ["ticTacToeLarge", "(play 1 2 x)", "1 2"],
  ["tictactoe_3d_small_2player", "(select 1 1 2)", "1|1 2"],
  ["tpeg", "(jump c c1 c c3)", "c c1"],
  ["ttcc4", "(checkerMove 1 4 2 3)", "1 4", "2 3"],
];

let folder;
let server;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "panza-clicks-"));
  server = await serve(join(folder, "logs"));
});

after(async () => {
  await server?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

async function post(address, body) {
  return (await fetch(address, { method: "POST", headers: HEADERS, body: JSON.stringify(body) })).json();
}

/** The choices of who is asked first. */
async function firstChoices(name) {
  const rules = readFileSync(join(CORPUS, `${name}.kif`), "utf8");
  const { table } = await post(`${server.address}/api/tables`, { rules, name, people: "all" });
  const address = `${server.address}/api/tables/${table}`;
  let view = { version: 0, legal: [] };
  while (!view.legal.some((moves) => moves.length > 0)) {
    view = await (await fetch(`${address}?after=${view.version}`)).json();
    assert.notEqual(view.phase, "failed", view.problem);
  }
  const role = view.legal.findIndex((moves) => moves.length > 0);
  const choices = readChoices(view.legal[role], layOut(view.facts, readShapes(view.shapes)), view.effects[role]);
  await post(address, { do: "close" });
  return choices;
}

for (const [name, move, ...clicks] of CLICKS) {
  test(`${name}: ${move}`, { skip: !existsSync(join(CORPUS, `${name}.kif`)) }, async () => {
    const choice = (await firstChoices(name)).find(({ text }) => text === move);
    assert.ok(choice, "the move is legal");
    assert.equal(choice.steps.length, clicks.length, JSON.stringify(choice.steps.map((step) => [...step])));
    for (const [index, cell] of clicks.entries()) {
      const names = [...choice.steps[index]].map((of) => of.slice(of.indexOf("|") + 1));
      const wanted = cell.includes("|") ? cell : `|${cell}`;
      assert.ok(names.includes(wanted), `${names.join(", ")} for ${cell}`);
    }
  });
}
