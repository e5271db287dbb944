// The tree of lines that are studied, and lines as text.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Variations, endOf, lineText, lineTo, nextOf, nodesOf, pathTo, readLine, worthOf } from "../variations.js";

const LINE = [["(drop 3)", "noop"], ["noop", "(drop 4)"], ["(drop 3)", "noop"]];
const OTHER = ["noop", "(drop 1)"];

test("a branch leaves the main line and both can be walked", () => {
  const tree = new Variations(LINE);
  const first = tree.root.children[0];
  assert.equal(tree.child(tree.root, ["(drop 3)", "noop"]), first);
  const branch = tree.child(first, OTHER);
  assert.deepEqual(lineTo(branch), [LINE[0], OTHER]);
  assert.deepEqual(pathTo(branch).map(({ turn }) => turn), [0, 1, 2]);
  assert.deepEqual(lineTo(endOf(tree.root)), LINE);
  first.last = branch;
  assert.equal(endOf(tree.root), branch);
  assert.equal(nextOf(branch), null);
  assert.deepEqual(tree.leaves().map(lineTo), [LINE, [LINE[0], OTHER]]);
  assert.equal(tree.size, 5);
  tree.remove(branch);
  assert.equal(tree.size, 4);
  assert.deepEqual(lineTo(endOf(tree.root)), LINE);
  tree.remove(tree.root);
  assert.equal(nodesOf(tree.root).length, 4);
});

test("a tree is kept and read again, and what is no tree is refused", () => {
  const tree = new Variations(LINE);
  tree.child(tree.root.children[0], OTHER);
  const kept = JSON.parse(JSON.stringify(tree.kept()));
  assert.deepEqual(Variations.read(kept).kept(), tree.kept());
  for (const wrong of [null, 7, "x", {}, [[5, ["a"]]], [[0, "a"]], [[1, ["a"]]]]) assert.equal(Variations.read(wrong), null);
  assert.equal(Variations.read([]).size, 1);
});

test("a proven goal goes before a value", () => {
  const { root } = new Variations();
  assert.equal(worthOf(root, 0), null);
  root.worth = { values: [61.5, 38.5], proven: [null, 0] };
  assert.equal(worthOf(root, 0), 61.5);
  assert.equal(worthOf(root, 1), 0);
  assert.equal(worthOf(root, 2), null);
});

test("a line is written as text and read again", () => {
  const text = lineText(LINE, ["a game"]);
  assert.equal(text, "; a game\n((drop 3) noop)\n(noop (drop 4))\n((drop 3) noop)\n");
  assert.deepEqual(readLine(text, 2), { line: LINE, problem: null });
  assert.deepEqual(readLine("\r\n ( ( drop  3 )  (noop) ) ; a remark\r\n\r\n", 2).line, [["(drop 3)", "noop"]]);
});

test("the moves of a puzzle need no second pair of parentheses", () => {
  assert.deepEqual(readLine("(pour a b)\n((pour b c))\nwait\n(wait)", 1).line, [
    ["(pour a b)"],
    ["(pour b c)"],
    ["wait"],
    ["wait"],
  ]);
  assert.deepEqual(readLine(lineText([["(pour a b)"], ["wait"]]), 1).line, [["(pour a b)"], ["wait"]]);
});

test("what is no line is named", () => {
  for (const [text, problem] of [
    ["((drop 3) noop", /line 1: expected one joint move/],
    ["\n\n(drop 3)\nx", /line 4: expected a list of 2 moves/],
    ["((drop 3) noop noop)", /line 1: expected a list of 2 moves/],
    ["noop\n".repeat(3000), /line 1: expected a list of 2/],
    ["(a b)\n".repeat(3000), /line 2001: a line has at most 2000 turns/],
    [" ".repeat(2_000_001), /too long/],
  ]) {
    assert.match(readLine(text, 2).problem, problem);
  }
  assert.equal(readLine("(a b)\n".repeat(3000), 2).line.length, 2000);
});

test("deep parentheses do no harm", () => {
  const deep = "(".repeat(50_000) + ")".repeat(50_000);
  assert.ok(readLine(deep, 2).line.length <= 1);
});
