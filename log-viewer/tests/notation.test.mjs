// A study as text and as a link, and its chapters.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Chapters, MOST_CHAPTERS } from "../chapters.js";
import { LONGEST_LINK, packStudy, readStudy, unpackStudy, writeStudy } from "../notation.js";
import { MARKS, Variations, nodesOf } from "../variations.js";

const OF = { game: "ticTacToe", rules: null, dialect: "kif" };

/** Numbers from 0 up to 1 that look random, always the same ones. */
function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Moves of roles as these games write them: in turns, at once, beside chance, and odd ones. */
const MOVES = {
  turns: (draw) => (draw() < 0.5 ? [`(mark ${1 + Math.floor(3 * draw())} 1)`, "noop"] : ["noop", "(move (cell 1 2) (cell 3 4) +)"]),
  atOnce: (draw) => ["rock", "paper", "(throw 2 well)"].map((_, at, all) => all[Math.floor(draw() * all.length)]),
  chance: (draw) => ["noop", `(roll ${1 + Math.floor(6 * draw())})`],
  odd: (draw) => [["noop$", "1.", "(a/b c!)", "((f a) b)", "12", 'say"it"', "(é 1)", "(f (g (h 1)))"][Math.floor(8 * draw())]],
};

const NOTES = ["", "", "a plain note", "braces } and { and \\ back", "[in brackets]", "two\nlines, and \"quotes\"", "1. not a move (really)"];

function randomTree(draw, move) {
  const tree = new Variations();
  const nodes = [tree.root];
  for (let count = 0; count < 60; count += 1) {
    const from = nodes[Math.floor(draw() ** 0.5 * nodes.length)];
    const node = tree.child(from, move(draw));
    if (!nodes.includes(node)) nodes.push(node);
  }
  for (const node of nodes) {
    const mark = node.parent === null || draw() < 0.6 ? "" : MARKS[Math.floor(6 * draw())];
    tree.annotate(node, { text: NOTES[Math.floor(NOTES.length * draw())], mark, cells: draw() < 0.2 ? ["cell||1 1", "cell|a b|2 3"] : [] });
  }
  return tree;
}

const plain = ({ name, start, tree }) => ({ name, start, notes: [tree.root.text, tree.root.cells], lines: tree.kept() });

test("a study is written as text and read as the same", () => {
  for (const [kind, move] of Object.entries(MOVES)) {
    for (let seed = 1; seed <= 25; seed += 1) {
      const draw = random(seed);
      const chapters = Array.from({ length: 1 + (seed % 3) }, (_, at) => ({
        name: `The "${at}" one \\ of ${kind}]`,
        start: at === 1 ? "((cell 1 1 x)\n (control oplayer))" : "",
        tree: randomTree(draw, move),
      }));
      const rules = seed % 2 === 0 ? null : '; rules "of my own"\n(role x) \\ [Game "other"]\n';
      const text = writeStudy({ ...OF, rules }, chapters);
      const read = readStudy(text);
      assert.deepEqual(read.chapters.map(plain), chapters.map(plain), text);
      assert.equal(read.rules, rules);
      assert.ok(read.chapters.every(({ tree, places }) => nodesOf(tree.root).every((node) => places.has(node))));
    }
  }
});

test("a text by hand is read, with marks by number and without numbers of turns", () => {
  const { game, chapters } = readStudy(`[Game "ticTacToe"]
[Event "of another program"]

{The start.} 1. mark(2, 2)/noop $1 {in the middle} (mark( 1,1 )/noop ?! 2. noop/mark(2,2)) noop/mark(1,2)??
[Chapter "Second"] [Start "((cell 1 1 x))"]`);
  assert.equal(game, "ticTacToe");
  const [{ tree }, second] = chapters;
  assert.equal(tree.root.text, "The start.");
  const [first, other] = tree.root.children;
  assert.deepEqual([first.joint, first.mark, first.text], [["(mark 2 2)", "noop"], "!", "in the middle"]);
  assert.deepEqual([other.joint, other.mark, other.children[0].joint], [["(mark 1 1)", "noop"], "?!", ["noop", "(mark 2 2)"]]);
  assert.deepEqual([first.children[0].joint, first.children[0].mark], [["noop", "(mark 1 2)"], "??"]);
  assert.deepEqual([second.name, second.start, second.tree.size], ["Second", "((cell 1 1 x))", 1]);
});

test("what cannot be read is told with line and column", () => {
  const head = '[Game "g"]\n';
  for (const [text, says] of [
    ["1. a", /^line 1, column 1: expected a header that names the game/],
    [`${head}1. mark(1,/noop`, /^line 2, column 11: expected a move/],
    [`${head}1. mark(1 2)`, /^line 2, column 10: expected , or \)/],
    [`${head}1. a {never ended`, /^line 2, column 6: the comment is not ended/],
    [`${head}1. a (1. b`, /^line 2, column 11: the variation is not ended/],
    [`${head}1. a)`, /^line 2, column 5: there is no variation/],
    [`${head}(1. a)`, /^line 2, column 1: expected a move before its variation/],
    [`${head}!! 1. a`, /^line 2, column 1: expected a move before its mark/],
    [`${head}[Chapter one]`, /^line 2, column 1: expected a header/],
    [`${head}[Game "h"]`, /^line 2, column 1: a study has one game: g/],
    [`${head}1. ${"f(".repeat(200)}`, /^line 2, column \d+: this is nested too deeply/],
    [`${head}${'[Chapter "x"]'.repeat(MOST_CHAPTERS + 1)}`, /at most 64 chapters/],
    [`${head}${"1. a ".repeat(2001)}`, /at most 2000 turns/],
    [`${head}{${"x".repeat(5001)}}`, /at most 5000 characters/],
    ["x".repeat(2_000_001), /^The text is too long/],
  ]) {
    assert.throws(() => readStudy(text), (error) => says.test(error.message) || assert.fail(error.message));
  }
});

test("a study fits in a link or is refused, and a link that is none is refused", async () => {
  const tree = randomTree(random(7), MOVES.turns);
  const text = writeStudy(OF, [{ name: "é", start: "", tree }]);
  const link = await packStudy(text);
  assert.match(link, /^[\w-]+$/);
  assert.ok(link.length < text.length);
  assert.equal(await unpackStudy(link), text);
  const draw = random(1);
  await assert.rejects(packStudy(Array.from({ length: 20_000 }, () => draw().toString(36)).join("")), /too long for a link: it takes \d+ characters, at most 8000 fit/);
  const bomb = await packStudy("x".repeat(2_000_001));
  for (const wrong of ["", "!", "abc", link.slice(0, 40), "A".repeat(LONGEST_LINK + 1), bomb]) await assert.rejects(unpackStudy(wrong), /holds no study/, wrong.slice(0, 50));
});

test("chapters are kept and read again, and one tree of before is a chapter", () => {
  const chapters = new Chapters();
  assert.ok(chapters.isUntouched);
  const [first] = chapters.list;
  const made = chapters.add("Another", "((x))", randomTree(random(3), MOVES.chance));
  first.tree.annotate(first.tree.root, { text: "at first" });
  chapters.rename(first, "First");
  assert.ok(!chapters.isUntouched);
  assert.equal(chapters.of(nodesOf(made.tree.root).at(-1)), made);
  const kept = JSON.parse(JSON.stringify(chapters.kept()));
  const read = Chapters.read(kept, "");
  assert.deepEqual(read.kept(), chapters.kept());
  assert.ok(read.add("x", "").id > made.id);
  const before = chapters.changes;
  chapters.remove(made);
  assert.ok(chapters.changes > before);
  const old = Chapters.read([[0, ["a"]]], "((start))");
  assert.deepEqual(old.kept().chapters, [{ id: 0, name: "Chapter 1", start: "((start))", notes: { text: "", cells: [] }, lines: [[0, ["a"]]] }]);
  for (const wrong of [null, 7, {}, { chapters: 7 }, { chapters: [{ id: 0 }] }, { chapters: [{ id: "x", lines: [] }] }]) assert.equal(Chapters.read(wrong, ""), null);
  const many = Array.from({ length: 100 }, (_, id) => ({ id, name: "", start: "", lines: [] }));
  assert.equal(Chapters.read({ chapters: many }, "").list.length, MOST_CHAPTERS);
});

test("what is known of positions goes over to chapters that another page has changed", () => {
  const [one, other] = [new Chapters(), new Chapters()];
  const worth = { values: [70, 30], proven: [null, null] };
  one.list[0].tree.add(one.list[0].tree.root, [["a"], ["b"]]).worth = worth;
  const end = other.list[0].tree.add(other.list[0].tree.root, [["a"], ["b"]]);
  other.list[0].tree.child(end, ["c"]);
  other.learn(one);
  assert.equal(end.worth, worth);
  assert.equal(end.children[0].worth, null);
});
