import assert from "node:assert/strict";
import { test } from "node:test";

import { begin, random, view } from "./module.mjs";

const isReady = (seen) => seen.phase !== "building" && seen.phase !== "training";

test("every game of the program is shown, built and has its picture", async () => {
  const host = await begin();
  const { games } = await host.get("/api/games");
  assert.equal(games.length, 28);
  for (const { name, roles } of games) {
    const begun = performance.now();
    const { table } = await host.post("/api/tables", { game: name, people: "first" });
    const seen = await view(host, table, isReady);
    const took = Math.round(performance.now() - begun);
    assert.notEqual(seen.phase, "failed", `${name}: ${seen.problem}`);
    assert.deepEqual(seen.roles, roles);
    assert.ok(seen.facts.length > 0 || seen.legal.flat().length > 0, name);
    const picture = await host.get(`/api/games/${name}/picture`);
    assert.ok(picture.facts.length > 0, name);
    await host.post(`/api/tables/${table}`, { do: "close" });
    console.log(`${name}: ${took} ms, ${host.size() >> 20} MiB`);
  }
});

test("connectFour is played to its end against Panza", async () => {
  const host = await begin();
  const choose = random(1);
  const { table } = await host.post("/api/tables", {
    game: "connectFour",
    people: "first",
    iterations: 50,
  });
  let seen = await view(host, table, isReady);
  while (seen.phase === "playing") {
    const role = seen.legal.findIndex((moves) => moves.length > 0);
    const turn = seen.moves.length;
    if (role >= 0) {
      const text = seen.legal[role][choose(seen.legal[role].length)];
      await host.post(`/api/tables/${table}`, { do: "move", turn, role: seen.roles[role], text });
    }
    seen = await view(host, table, (it) => it.phase !== "playing" || it.moves.length > turn);
  }
  assert.equal(seen.phase, "over");
  assert.equal(seen.goals.reduce((sum, goal) => sum + goal), 100);
  assert.ok(seen.moves.length >= 7);
});

test("a study values its position, and comes back in another module", async () => {
  const kept = new Map();
  const first = await begin(kept);
  const { table } = await first.post("/api/tables", {
    game: "connectFour",
    study: { line: [["(drop 4)", "noop"]] },
    iterations: 2000,
  });
  await view(first, table, isReady);
  const begun = performance.now();
  let report = await first.get(`/api/tables/${table}/report?after=0`);
  while (!report?.worth.values.some((value) => value !== null)) {
    report = await first.get(`/api/tables/${table}/report?after=${report.version}`);
  }
  console.log(`the first value came after ${Math.round(performance.now() - begun)} ms`);
  while (report.state === "searching") {
    report = await first.get(`/api/tables/${table}/report?after=${report.version}`);
  }
  assert.ok(report.iterations >= 2000, report.iterations);
  assert.ok(report.moves.length > 0);
  await first.post(`/api/tables/${table}`, { do: "go", line: [["(drop 1)", "noop"]] });
  await view(first, table, (it) => it.moves[0]?.[0] === "(drop 1)");
  while (first.work() === 0);
  assert.deepEqual([...kept.keys()], [`${table}/game.json`, `${table}/state.json`]);

  const second = await begin(kept);
  const known = await second.get(`/api/tables?names=${table},0123456789abcdef`);
  assert.deepEqual(known.tables, [table]);
  const again = await view(second, table, isReady);
  assert.deepEqual(again.moves, [["(drop 1)", "noop"]]);
});

test("a rulesheet is checked, completed, laid out and tried out", async () => {
  const host = await begin();
  const rules = "(role a) (init p) (legal a go) (<= terminal (not (true p))) (<= (goal a 100) (true p))";
  const begun = performance.now();
  const checked = await host.post("/api/check", { text: rules });
  console.log(`the check took ${Math.round(performance.now() - begun)} ms`);
  assert.equal(checked.dialect, "kif");
  const completed = await host.post("/api/complete", { text: "(role a)\n(<= (legal a go) (tr))", at: 30 });
  assert.ok(completed.proposals.length > 0);
  const laidOut = await host.post("/api/format", { text: "( role   a )" });
  assert.equal(laidOut.text, "(role a)\n");
  const preview = await host.post("/api/preview", { text: rules });
  assert.deepEqual(preview.roles, ["a"]);
  const trial = await host.post("/api/trial", { text: rules });
  assert.equal(trial.diagnostics[0].code, "no-goal");
});

test("what needs a server is refused", async () => {
  const host = await begin();
  for (const address of ["/", "/api/matches", "/metrics", "/assets/style.css", "/api/training", "/api/gamesx"]) {
    assert.equal((await host.ask("GET", address)).status, 404, address);
  }
  assert.equal((await host.ask("POST", "/api/unpack", "{}")).status, 404);
  assert.equal((await host.ask("POST", "/api/check", "{")).status, 400);
});

const EXPLODING = `(role r) (init (n y)) (init (n z)) (legal r go)
  (<= terminal (true (n stop))) (goal r 50)
  (<= (next (n (f ?x ?y))) (true (n ?x)) (true (n ?y)))`;
const WIDE = `(role r) (init (n 0)) (<= (legal r (m ?a ?b ?c ?d ?e ?f ?g)) (d ?a) (d ?b) (d ?c) (d ?d)
  (d ?e) (d ?f) (d ?g)) (<= terminal (true (n stop))) (goal r 50)
  ${Array.from({ length: 40 }, (_, index) => `(d ${index})`).join(" ")}`;

test("hostile rules end with a message, and the module goes on", async () => {
  const host = await begin();
  const deep = `(role a) (init ${"(f ".repeat(100_000)}x${")".repeat(100_000)})`;
  const deepHrf = `role(a)\ninit(${"f(".repeat(100_000)}x${")".repeat(100_000)})`;
  for (const [name, rules] of Object.entries({ deep, deepHrf, EXPLODING, WIDE, open: "(role" })) {
    for (const address of ["/api/check", "/api/format", "/api/preview", "/api/trial"]) {
      const begun = performance.now();
      const { status, body } = await host.ask("POST", address, { text: rules });
      console.log(`${name} ${address}: ${status} ${body.slice(0, 80).trim()}`,
        `${Math.round(performance.now() - begun)} ms, ${host.size() >> 20} MiB`);
      assert.ok([200, 422].includes(status), `${address}: ${status} ${body}`);
    }
    const opened = await host.ask("POST", "/api/tables", { rules, name, people: "first" });
    if (opened.status === 200) {
      const { table } = JSON.parse(opened.body);
      const begun = performance.now();
      const seen = await view(host, table, isReady);
      console.log(`${name}: ${seen.phase} ${seen.problem}`,
        `${Math.round(performance.now() - begun)} ms, ${host.size() >> 20} MiB`);
      await host.post(`/api/tables/${table}`, { do: "close" });
    }
  }
  assert.equal((await host.get("/api/games")).games.length, 28);
  assert.ok(host.size() < 512 << 20, `${host.size() >> 20} MiB`);
});
