// A match put together from its files: whole, cut off, damaged, and opened from what was stored.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mock, test } from "node:test";
import { FIGURES, onAxis, turnTimes } from "../figures.js";
import { MatchRecord, outcome, outcomeText, tableResult } from "../record.js";
import { salvage } from "../salvage.js";
import { NotALog, isForUs, openFiles, openMessage } from "../stored.js";
import { bundleOf, makeMatch, makePuzzle, packed, tiltyard } from "./samples.mjs";

const { summary: _, ...sample } = makeMatch();

function recordOf(files) {
  const record = new MatchRecord();
  for (const [file, text] of Object.entries(files)) record.push(file, text);
  record.finish();
  return record;
}

// Unpacks in the player's place.
mock.method(globalThis, "fetch", async (address, { body }) => {
  assert.equal(address, "/api/unpack");
  const input = Buffer.from(JSON.parse(body), "base64");
  const { stdout, status } = spawnSync("bzip2", ["-dc"], { input, maxBuffer: 1e9 });
  return Response.json({ text: stdout.toString(), problem: status === 0 ? null : "it ends in the middle" });
});

test("a record has turns with positions, answers and moves", () => {
  const record = recordOf(sample);
  assert.deepEqual(record.notes(), []);
  assert.equal(record.turns.length, 25);
  assert.equal(record.role, "red");
  assert.deepEqual(record.players, ["Panza", "random"]);
  const turn = record.byStep.get(7);
  assert.equal(turn.facts.filter((fact) => fact.startsWith("(cell")).length, 7);
  assert.equal(record.before(turn).step, 6);
  assert.equal(turn.played.length, 2);
  assert.equal(record.rootOf(record.byStep.get(8)).length, 8);
  assert.equal(record.turns.at(-1).isTerminal, true);
  assert.equal(outcome(record.end.goals, record.role), "win");
});

test("a turn has the plan that was known then", () => {
  const { summary: _, ...puzzle } = makePuzzle();
  const record = recordOf(puzzle);
  assert.deepEqual(record.notes(), []);
  const plan = (step) => record.planOf(record.byStep.get(step));
  assert.deepEqual([0, 1, 2, 3, 9].map((step) => plan(step).goal), [null, null, 40, 100, 100]);
  const { moves, ...rest } = plan(30);
  assert.deepEqual(rest, {
    step: 3,
    goal: 100,
    bound: 100,
    isBest: true,
    solver: "layers",
    states: 1_234_567,
    length: 27,
  });
  assert.equal(moves.length, 20);
  assert.equal(moves[1], record.byStep.get(4).played[0]);
  const without = recordOf(sample);
  assert.equal(without.planOf(without.turns.at(-1)), null);
});

test("files may come in any pieces", () => {
  const whole = recordOf(sample);
  const record = new MatchRecord();
  for (const [file, text] of Object.entries(sample)) {
    for (let from = 0; from < text.length; from += 997) record.push(file, text.slice(from, from + 997));
  }
  record.finish();
  assert.deepEqual(record.turns, whole.turns);
  assert.equal(record.series.length, whole.series.length);
});

test("an events file that is cut off says where it stops", () => {
  const lines = sample.events.split("\n");
  const cut = `${lines.slice(0, 20).join("\n")}\n${lines[20].slice(0, 40)}`;
  const record = recordOf({ ...sample, events: cut });
  assert.match(record.notes()[0], /^events\.jsonl: it stops in line 21, which is not whole: /);
  assert.ok(record.turns.length > 1);
});

test("bad lines in the middle are left out and counted", () => {
  const lines = sample.events.split("\n");
  lines.splice(10, 0, "\0\0\0\0", "{}", "null", '{"kind":"state","data":{"step":-1}}', '{"kind":"unheard","data":7}');
  const record = recordOf({ ...sample, events: lines.join("\n") });
  assert.match(record.notes()[0], /^events\.jsonl: line 11 and 2 more are left out: /);
  assert.equal(record.turns.length, 25);
  assert.equal(record.others.get("unheard"), 1);
});

test("events of other types than expected hurt nobody", () => {
  const data = [
    ["state", { step: 0, facts: "none" }],
    ["state", { step: "one", facts: [1, null, "(a)"] }],
    ["state", { step: 1e12, facts: [] }],
    ["move", { step: 0, move: 7, value: "high", root: {} }],
    ["root", { step: 0, moves: [["(a)", "many", null], 7] }],
    ["played", { step: 1, moves: [null, 3] }],
    ["plan", { step: 0, goal: "all", bound: {}, proven: 1, solver: 5, moves: [null, {}], n_moves: "2" }],
    ["plan", { goal: 100 }],
    ["start", { role: 3, roles: "red", players: {}, rules: [] }],
    ["board", { shapes: { a: 1 } }],
    ["end", { how: 1, goals: [] }],
    ["study", []],
    ["parts", null],
  ];
  const events = data.map(([kind, data]) => JSON.stringify({ at_seconds: 1e300, kind, data }));
  const record = recordOf({ events: events.join("\n"), series: "at_seconds,step,memory_bytes\n-1e300,0,1\n", log: "" });
  assert.deepEqual(record.notes(), []);
  assert.equal(record.turns.length, 2);
  for (const figure of FIGURES) if (figure.exists(record)) figure.build(record, null);
  for (const { from, to } of turnTimes(record)) assert.ok(onAxis(from) <= onAxis(to));
});

test("charts have a point for each sample", () => {
  const record = recordOf(sample);
  const ids = FIGURES.filter((figure) => figure.exists(record)).map(({ id }) => id);
  assert.deepEqual(ids, ["value", "visits", "answers", "speed", "graph", "rings", "stages", "memory"]);
  const figure = (id) => FIGURES.find((figure) => figure.id === id).build(record, null).traces;
  assert.equal(figure("speed")[0].x.length, record.series.length);
  assert.deepEqual(
    figure("stages").map(({ name }) => name),
    ["Select", "Grow", "Back up", "Rollouts", "Other"],
  );
  assert.equal(figure("value").at(-1).x.length, 24);
  assert.equal(figure("answers")[0].x.length, 24);
});

test("the stages of work are those that took time", () => {
  const series = "at_seconds,step,time_select,time_alpha_beta,time_training,time_other\n1,0,0.0,1.9,0.0,0.01\n2,0,0.0,1.8,0.0,\n";
  const { traces } = FIGURES.find(({ id }) => id === "stages").build(recordOf({ events: "", series, log: "" }), null);
  assert.deepEqual(
    traces.map(({ name }) => name),
    ["Alpha beta", "Other"],
  );
  assert.deepEqual(traces[0].y, [1.9, 1.8]);
});

test("one turn alone has a line for each of its moves", () => {
  const record = recordOf(sample);
  const { traces } = FIGURES.find(({ id }) => id === "visits").build(record, record.byStep.get(8));
  assert.equal(traces.length, 8);
  const [from, to] = record.samplesOf(8);
  assert.ok(traces.every((trace) => trace.x.length === to - from));
});

test("long matches are thinned, and keep their last point", () => {
  const { events, series, log } = makeMatch({ turns: 40, secondsATurn: 300, moves: 3, height: 20 });
  const record = recordOf({ events, series, log });
  assert.ok(record.series.length > 8000);
  const [trace] = FIGURES.find(({ id }) => id === "memory").build(record, null).traces;
  assert.ok(trace.x.length <= 4001, `${trace.x.length}`);
  assert.equal(trace.y.at(-1), record.series.column("memory_bytes").at(-1));
});

test("turns are known by when they began", () => {
  const times = turnTimes(recordOf(sample));
  assert.equal(times[0].from, 0);
  assert.ok(times.every(({ from, to }) => to >= from));
});

test("results are told apart", () => {
  assert.equal(outcome({ red: 100, black: 0 }, "red"), "win");
  assert.equal(outcome({ red: 0, black: 100 }, "red"), "loss");
  assert.equal(outcome({ red: 50, black: 50 }, "red"), "draw");
  assert.equal(outcome({ alone: 100 }, "alone"), "win");
  assert.equal(outcome({ alone: 40 }, "alone"), "draw");
  assert.equal(outcome({ red: null, black: 0 }, "red"), null);
  assert.equal(outcome(null, "red"), null);
  assert.equal(outcome({ red: 0, black: 0 }, "red"), "loss");
  const said = [{ red: 0, black: 0 }, { red: 50, black: 50 }, { red: 100 }, { red: 40 }].map((goals) => outcomeText(goals, "red"));
  assert.deepEqual(said, ["nobody won", "draw 50", "solved", "40 of 100"]);
});

test("an object that is cut off is read as far as it goes", () => {
  const text = JSON.stringify({ version: 1, events: 'a\nb\u00e4"c', list: [1, { a: "}" }], series: "x,y\n1,2" });
  assert.equal(salvage(text).problem, null);
  for (let length = 1; length < text.length; length += 1) {
    const { members, problem } = salvage(text.slice(0, length));
    assert.notEqual(problem, null);
    if (length > 40) assert.ok(members.events.length > 0);
  }
  const cut = salvage(text.slice(0, -8)).members;
  assert.equal(cut.events, 'a\nbä"c');
  assert.ok("x,y\n1,2".startsWith(cut.series));
  assert.deepEqual(salvage("[1]").members, null);
});

test("a bundle opens, whole or not", async () => {
  const text = JSON.stringify(bundleOf(sample));
  assert.deepEqual((await openFiles([{ name: "sample.json", text }])).notes(), []);
  const cut = await openFiles([{ name: "sample.json", text: text.slice(0, sample.events.length / 2) }]);
  assert.match(cut.notes()[0], /sample\.json: it is damaged and shown as far as it goes/);
  assert.match(cut.notes()[1], /events\.jsonl: it stops in line \d+/);
  assert.ok(cut.turns.length > 5);
});

test("files of a folder open alone or together, by name or by what they hold", async () => {
  const together = await openFiles([
    { name: "events.jsonl", text: sample.events },
    { name: "series.csv", text: sample.series },
    { name: "match.log", text: sample.log },
  ]);
  assert.equal(together.turns.length, 25);
  assert.equal((await openFiles([{ name: "a", text: sample.events }])).turns.length, 25);
  assert.ok((await openFiles([{ name: "b", text: sample.series }])).series.length > 60);
  assert.ok((await openFiles([{ name: "c", text: sample.log }])).messages.entries.length > 20);
  const beside = await openFiles([
    { name: "events.jsonl", text: sample.events },
    { name: "photo.png", text: "\u0089PNG" },
  ]);
  assert.deepEqual(beside.notes(), ["photo.png: this is no file of a match"]);
});

test("what is no log is refused with a reason", async () => {
  for (const text of ["", "hello", "[]", "{}", '{"version":1}', "{", '"text"']) {
    await assert.rejects(openFiles([{ name: "x", text }]), NotALog, text);
  }
  for (const message of [null, 7, {}, [], "{}", { data: { data: {} } }])
    await assert.rejects(openMessage(message), NotALog);
});

test("Tiltyard's object opens, as an object or a text, wrapped or not", async () => {
  const object = tiltyard(sample, 3);
  for (const message of [
    object,
    JSON.stringify(object),
    { data: object },
    JSON.stringify({ data: object }),
    { data: JSON.stringify(object) },
  ]) {
    assert.equal(isForUs(message), true);
    const record = await openMessage(message);
    assert.deepEqual(record.notes(), []);
    assert.equal(record.turns.length, 25);
    // The log knows better than the statistics.
    assert.notEqual(record.byStep.get(0).answer.value, 50);
  }
  for (const message of [null, 7, "hello", {}, { type: "resize" }]) assert.equal(isForUs(message), false);
});

test("without its log Tiltyard's object shows statistics, and says so", async () => {
  const object = tiltyard(sample, 3);
  for (const compressed_logs of [undefined, "", "%%%", "aGVsbG8=", object.compressed_logs.slice(0, 400)]) {
    const record = await openMessage({ ...object, compressed_logs });
    assert.equal(record.turns.length, 3);
    assert.match(record.notes().join(), /statistics/);
    const ids = FIGURES.filter((figure) => figure.exists(record)).map(({ id }) => id);
    assert.deepEqual(ids, ["turn-values", "answers"]);
  }
});

test("a packed log that is damaged late is shown up to there", async () => {
  const { summary: _, ...long } = makeMatch({ turns: 100, secondsATurn: 30, moves: 20 });
  const whole = packed(JSON.stringify(bundleOf(long)));
  const record = await openMessage({
    statistics: [],
    compressed_logs: whole.subarray(0, whole.length - 1000).toString("base64"),
  });
  assert.match(record.notes()[0], /The packed log is shown up to where it is damaged/);
  assert.ok(record.turns.length > 90);
});

test("the result of a game at a table names who won", () => {
  const two = ["red", "black"];
  const won = (players, red, black) => tableResult(two, players, { red, black });
  assert.equal(won(["a person", "Panza"], 100, 0), "a person won");
  assert.equal(won(["a person", "Panza"], 0, 100), "Panza won");
  assert.equal(won(["a person", "Panza"], 50, 50), "a draw");
  assert.equal(won(["a person", "a person"], 0, 100), "black won");
  // Without people it is a match like any other, and without goals nobody knows.
  assert.equal(won(["Panza", "random"], 100, 0), null);
  assert.equal(tableResult(two, ["a person", "Panza"], null), null);
  const puzzle = (player, goal) => tableResult(["robot"], [player], { robot: goal });
  assert.equal(puzzle("a person", 0), "nobody reached the goal");
  assert.equal(puzzle("a person", 100), "a person solved it");
  assert.equal(puzzle("a person", 40), "a person reached 40 of 100");
});

test("who plays changes where sides are switched", () => {
  const lines = [
    { kind: "start", data: { role: "black", roles: ["red", "black"], players: ["a person", "Panza"] } },
    { kind: "players", data: { role: "red", players: ["Panza", "a person"] } },
  ];
  const record = recordOf({ events: lines.map((line) => `${JSON.stringify(line)}\n`).join("") });
  assert.deepEqual([record.role, record.players, record.roles], ["red", ["Panza", "a person"], ["red", "black"]]);
});
