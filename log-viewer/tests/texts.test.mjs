// What is read from the files of a match: lines, expressions, figures, messages, and how it is written for people.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readExpression, spoken, writeExpression } from "../expressions.js";
import { ago, bytes, count, duration, goal, short, words } from "../format.js";
import { Lines } from "../lines.js";
import { Messages } from "../messages.js";
import { Series, readCells } from "../series.js";

test("expressions are read and written", () => {
  assert.deepEqual(readExpression("(cell 1 (pair a b) white)"), ["cell", "1", ["pair", "a", "b"], "white"]);
  assert.equal(readExpression("noop"), "noop");
  for (const text of ["(a b (c) d)", "x", "()", "(f (g (h)))"])
    assert.equal(writeExpression(readExpression(text)), text);
  assert.equal(spoken("( drop   3 )"), "drop 3");
  assert.equal(spoken("noop"), "noop");
});

test("what is no expression is none", () => {
  for (const text of ["", "(a", "a)", "a b", ")(", "(a))"]) assert.equal(readExpression(text), null, text);
  assert.equal(spoken("(a"), "(a");
});

test("depth hurts nobody", () => {
  const deep = "(".repeat(100_000) + ")".repeat(100_000);
  assert.equal(writeExpression(readExpression(deep)), deep);
});

test("cells of a line end at commas outside of quotes", () => {
  assert.deepEqual(readCells('1,,"a, ""b""",3'), ["1", "", 'a, "b"', "3"]);
  assert.deepEqual(readCells('"",""'), ["", ""]);
  assert.deepEqual(readCells("1,"), ["1", ""]);
  assert.equal(readCells('1,"open'), null);
});

test("figures are found by the names of their columns", () => {
  const series = new Series();
  series.lines.push(
    'step,at_seconds,time_select,best_move,root_moves\n0,1.5,,"(drop 1)","[[""(drop 1)"",5,50.5],[""(drop 2)"",9,null]]"\n',
  );
  assert.deepEqual(series.column("at_seconds"), [1.5]);
  assert.deepEqual(series.column("time_select"), [null]);
  assert.deepEqual(series.column("best_move"), ["(drop 1)"]);
  assert.deepEqual(series.column("unheard_of"), []);
  assert.deepEqual(series.namesFrom("time_"), ["time_select"]);
  assert.deepEqual(series.rootMoves(0), [
    { move: "(drop 2)", visits: 9, value: null },
    { move: "(drop 1)", visits: 5, value: 50.5 },
  ]);
});

test("a line of figures with other cells than columns is left out and told", () => {
  const series = new Series();
  series.lines.push("at_seconds,step\n1,0\n2\n3,0\nnot a number,0\n5,");
  series.lines.finish();
  assert.deepEqual(series.column("at_seconds"), [1, 3, null, 5]);
  assert.deepEqual(series.lines.notes(), ["series.csv: line 3 is left out: 1 cell, where 2 are named"]);
  series.lines.push("6");
  series.lines.finish();
  assert.match(series.lines.notes()[1], /stops in line 7, which is not whole/);
});

test("root moves that are no list are none", () => {
  const series = new Series();
  series.lines.push('at_seconds,root_moves\n1,"[["\n2,"{}"\n3,"[1,[2,3],[""a""]]"\n');
  assert.deepEqual(
    [0, 1, 2].map((index) => series.rootMoves(index)),
    [[], [], [{ move: "a", visits: 0, value: null }]],
  );
});

test("lines come whole, in whatever pieces", () => {
  const found = [];
  const lines = new Lines("a file", (line) => {
    found.push(line);
    return null;
  });
  for (const piece of ["on", "e\ntw", "o\r\n\nthr", "ee"]) lines.push(piece);
  assert.deepEqual(found, ["one", "two", ""]);
  lines.finish();
  assert.deepEqual(found, ["one", "two", "", "three"]);
  assert.deepEqual(lines.notes(), []);
});

test("messages have levels, and further lines belong to them", () => {
  const messages = new Messages("match.log");
  messages.lines.push(
    "2026-03-01T12:00:00.000000Z     1.234  INFO first\n    second\n2026-03-01T12:00:01.000000Z     2.234 ERROR bad\nneither nor\n",
  );
  assert.deepEqual(
    messages.entries.map(({ at, level, text }) => [at, level, text]),
    [
      [1.234, "INFO", "first\nsecond"],
      [2.234, "ERROR", "bad"],
      [null, null, "neither nor"],
    ],
  );
});

test("figures are written for people", () => {
  assert.equal(count(1234567), "1,234,567");
  assert.equal(short(1234567), "1.23 M");
  assert.equal(short(999_999), "1.00 M");
  assert.equal(short(12), "12");
  assert.equal(bytes(500), "500 B");
  assert.equal(bytes(2_860_000), "2.86 MB");
  assert.equal(goal(51.7284), "51.7");
  assert.equal(goal(100), "100");
  assert.equal(duration(0.012), "12 ms");
  assert.equal(duration(75), "1:15");
  assert.equal(duration(4000), "1:06:40");
  assert.equal(words("time_back_up"), "Time back up");
  assert.equal(ago("2026-03-01T12:00:00.000000Z", Date.parse("2026-03-01T12:05:00Z")), "5 min ago");
});

test("what is not there or of another type is a dash", () => {
  for (const nothing of [null, undefined, "7", NaN, {}, Infinity]) {
    for (const write of [count, short, bytes, goal, duration]) assert.equal(write(nothing), "–");
    assert.equal(ago(nothing), "–");
  }
});
