// The pages in a real browser, served by the player itself: the list, a live match, stored ones, logs opened by
// themselves, damage, strangers' words, narrow and dark screens. No page may write an error to the console. Where
// `$SCREENSHOTS` names a folder, screenshots are left there for people to look at; otherwise none are taken, since no
// test reads them and a browser on busy cores can take minutes for one.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  board,
  closeBrowser,
  discs,
  isAtNewest,
  openBrowser,
  points,
  processorTimeOf,
  screenshot,
  scrollThrough,
  shownPlan,
  untilPainted,
  withPage,
} from "./page.mjs";
import { PUZZLE_MOVES, bundleOf, makeFirst, makeMatch, makePuzzle, tiltyard, writeMatch } from "./samples.mjs";
import { play, processorTime, serve, startMatch } from "./server.mjs";

const HOSTILE = "<img src=x onerror=alert(1)>";

/** An hour of samples, each with dozens of root moves. */
const HOUR = makeMatch({ matchId: "sample.connectFour.3600", turns: 120, secondsATurn: 30, moves: 32, height: 8 });

let folder;
let server;
/** The page of another origin that shows the viewer in a frame. */
let around;

/** An empty page at an address of its own: `{ address, server }`. */
async function pageAround() {
  const server = createServer((_, answer) => answer.setHeader("content-type", "text/html").end("<!doctype html>"));
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { address: `http://127.0.0.1:${server.address().port}`, server };
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "panza-viewer-"));
  const logs = join(folder, "logs");
  await writeMatch(join(logs, "hour"), HOUR);
  await writeMatch(
    join(logs, "hostile"),
    makeMatch({ matchId: HOSTILE, players: ["<b>Panza</b>", "<script>alert(1)</script>"], turns: 9 }),
  );
  await writeMatch(join(logs, "puzzle"), makePuzzle());
  const jugs = await readFile(new URL("../../gdl-games/threeJugs.gdl", import.meta.url), "utf8");
  const facts = ["(holds large 8)", "(holds middle 0)", "(holds small 0)", "(step 0)"];
  await writeMatch(join(logs, "known"), makeFirst(jugs.replaceAll(/^;.*$/gm, ""), facts));
  await writeMatch(join(logs, "other"), makeFirst(jugs.replaceAll("(init (step 0))", "(init (step 1))"), facts));
  const cut = makeMatch({ matchId: "sample.connectFour.2", turns: 12 });
  await writeMatch(join(logs, "cut"), { ...cut, events: cut.events.slice(0, cut.events.length * 0.8) });
  around = await pageAround();
  server = await serve(logs, 0, [`server.origins=${around.address}`]);
  await openBrowser();
});

after(async () => {
  await closeBrowser();
  await server?.stop();
  around?.server.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

async function events(name) {
  const text = await (await fetch(`${server.address}/api/matches/${name}/events?from=0`)).text();
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

async function matches(search = "") {
  return (
    await (await fetch(`${server.address}/api/matches?offset=0&limit=100&search=${encodeURIComponent(search)}`)).json()
  ).matches;
}

/** A match of this game that was played. Its log is closed a moment after its end. */
async function playedMatch(game) {
  for (let tries = 0; tries < 1200; tries += 1) {
    const found = (await matches(game)).find(({ live, host, folder }) => !live && host && folder.startsWith("panza"));
    if (found !== undefined) return found;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error("the match that was played is not listed");
}

describe("a match that is played", () => {
  let played;

  before(async () => {
    await play(server.address, { startClock: 2, playClock: 1, seed: 1 });
    played = await playedMatch("connectFour");
  });

  test("is in the list with its result", () =>
    withPage({}, async (page) => {
      await page.goto(server.address);
      const row = page.locator("tr", { has: page.locator(`a[href="/matches/${played.folder}"]`) });
      await row.waitFor();
      const text = await row.innerText();
      assert.match(text, /connectFour/);
      assert.match(text, /red/);
      assert.match(text, /random/);
      assert.match(text, /win 100|loss 0|draw 50/);
      await page.waitForSelector(".player.available");
      await screenshot(page, "list");
      await page.fill("#search", "no such words");
      await page.waitForSelector(".empty");
      await page.fill("#search", "connectfour");
      await row.waitFor();
      await row.locator("a").click();
      await page.waitForSelector("#position .board");
    }));

  test("has charts with their points", () =>
    withPage({}, async (page) => {
      await page.goto(`${server.address}/matches/${played.folder}`);
      const log = await (await fetch(`${server.address}/api/matches/${played.folder}/series?from=0`)).text();
      const rows = log.trim().split("\n").slice(1);
      const samples = rows.length;
      // A search that has just begun has no moves yet.
      const withMoves = rows.filter((row) => row.includes("[[")).length;
      const answers = (await events(played.folder)).filter(({ kind }) => kind === "move").length;
      assert.ok(samples > 0 && answers > 6, `${samples} samples, ${answers} answers`);
      const value = await points(page, "value");
      assert.equal(value.Best, samples);
      assert.equal(value.Answered, answers);
      assert.ok(withMoves > 0 && value["Most visited"] >= withMoves, `${withMoves} of ${samples} samples with moves`);
      assert.equal((await points(page, "answers")).Answer, answers);
      for (const chart of ["speed", "graph", "rings", "memory", "stages"]) {
        for (const [name, length] of Object.entries(await points(page, chart)))
          assert.equal(length, samples, `${chart} ${name}`);
      }
      await page.waitForTimeout(300);
      await scrollThrough(page);
      await screenshot(page, "match", true);
    }));

  test("shows at turn 7 the pieces of that position, and no others", () =>
    withPage({}, async (page) => {
      const state = (await events(played.folder)).find(({ kind, data }) => kind === "state" && data.step === 7);
      await page.goto(`${server.address}/matches/${played.folder}#turn=7`);
      await page.waitForSelector("#position .board");
      const expected = discs(state.data.facts);
      assert.equal(Object.keys(expected).length, 7);
      assert.deepEqual(await board(page), expected);
      assert.equal(await page.locator("#position [data-cell]").count(), 48);
      await screenshot(page, "turn-7");
    }));

  test("is stepped through by keys, buttons, the slider and the list of turns", () =>
    withPage({}, async (page) => {
      const all = await events(played.folder);
      const states = new Map(
        all.filter(({ kind }) => kind === "state").map(({ data }) => [data.step, discs(data.facts)]),
      );
      const last = Math.max(...states.keys());
      await page.goto(`${server.address}/matches/${played.folder}`);
      await page.waitForSelector("#position .board");
      const expect = async (step) => {
        assert.equal(await page.locator("#turn-name").innerText(), `Turn ${step} of ${last}`);
        assert.deepEqual(await board(page), states.get(step));
      };
      await expect(last);
      for (const [key, step] of [
        ["Home", 0],
        ["ArrowRight", 1],
        ["ArrowRight", 2],
        ["ArrowLeft", 1],
        ["End", last],
        ["ArrowRight", last],
        ["ArrowLeft", last - 1],
      ]) {
        await page.keyboard.press(key);
        await expect(step);
      }
      for (const [button, step] of [
        ["#first", 0],
        ["#next", 1],
        ["#next", 2],
        ["#previous", 1],
        ["#last", last],
      ]) {
        await page.click(button);
        await expect(step);
      }
      await page.locator("#slider").fill("3");
      await expect(3);
      await page.click('#turns tr[data-step="5"] td.moves');
      await expect(5);
      await page.waitForURL(/#turn=5$/);
      const move = all.find(({ kind, data }) => kind === "move" && data.step === 4).data.move;
      await page.keyboard.press("ArrowLeft");
      assert.equal(await page.locator("#considered tr.answered").getAttribute("data-move"), move);
    }));

  test("opens from its bundle as it does from the player", () =>
    withPage({}, async (page) => {
      await page.goto(`${server.address}/matches/${played.folder}`);
      const waiting = page.waitForEvent("download");
      await page.click(".downloads a.button");
      const file = join(folder, "bundle.json");
      await (await waiting).saveAs(file);
      await page.goto(`${server.address}/viewer`);
      await page.setInputFiles("#files", file);
      await page.waitForSelector("#position .board");
      await page.keyboard.press("Home");
      for (let step = 0; step < 7; step += 1) await page.keyboard.press("ArrowRight");
      const state = (await events(played.folder)).find(({ kind, data }) => kind === "state" && data.step === 7);
      assert.deepEqual(await board(page), discs(state.data.facts));
      assert.equal(await page.locator(".banner.note").count(), 0);
      assert.ok((await points(page, "value")).Best > 0);
    }));

  test("opens from what the log service gives, handed over by a page around", () =>
    withPage({}, async (page) => {
      const answer = await fetch(`${server.logs}/${encodeURIComponent(played.match_id)}`);
      assert.equal(answer.status, 200);
      const object = await answer.json();
      await page.goto(around.address);
      await page.setContent(
        `<!doctype html><iframe id="inner" width="1300" height="850" src="${server.logs}/viewer"></iframe>`,
      );
      await page.waitForLoadState("load");
      await page.evaluate((data) => document.getElementById("inner").contentWindow.postMessage(data, "*"), object);
      const inner = page.frameLocator("#inner");
      await inner.locator("#position .board").first().waitFor();
      assert.equal(await inner.locator(".banner.note").count(), 0);
      await screenshot(page, "tiltyard");
    }));
});

test("a match whose rules are those of a game of the program is drawn by the file of the game", async () => {
  await withPage({}, async (page) => {
    await page.goto(`${server.address}/matches/known`);
    await page.waitForSelector('#position [data-cell="large"]');
    assert.deepEqual(await board(page), { large: "8", middle: "0", small: "0" });
    // A game with other rules has no such file.
    await page.goto(`${server.address}/matches/other`);
    await page.waitForFunction(() => /holds large 8/.test(document.body.textContent));
    assert.equal(await page.locator("#position [data-cell]").count(), 0);
  });
});

test("a live match is followed as it goes on", () =>
  withPage({}, async (page) => {
    const match = await startMatch(server.address, { id: "live", startClock: 2, playClock: 2 });
    await page.goto(server.address);
    const row = page.locator("tr.live");
    await row.waitFor();
    assert.equal(await page.locator(".match-list tbody tr").first().getAttribute("class"), "live");
    await screenshot(page, "list-live");
    await row.locator("a").click();
    await page.waitForSelector(".badge.live");
    const before = (await points(page, "value")).Best;
    await match.turn();
    await match.turn();
    await page.waitForFunction(() => Number(document.getElementById("slider").max) >= 1);
    // On the newest turn one stays on the newest.
    assert.ok(await isAtNewest(page));
    await screenshot(page, "live");
    // On another one stays there.
    await page.keyboard.press("Home");
    await match.turn();
    await match.turn();
    await page.waitForFunction(() => Number(document.getElementById("slider").max) >= 3);
    assert.equal(await page.inputValue("#slider"), "0");
    await page.keyboard.press("End");
    while (!match.isOver()) await match.turn();
    await match.stop();
    await page.waitForSelector(".badge.win, .badge.loss, .badge.draw");
    assert.ok(await isAtNewest(page));
    assert.match(await page.locator("#position h2").innerText(), /Final position/);
    const after = (await points(page, "value")).Best;
    assert.ok(after > before, `${before} points, then ${after}`);
  }));

test("a player that ends in the middle of a match is told of, and asked again", () =>
  withPage({ mayFail: true }, async (page) => {
    const logs = join(folder, "ended");
    const first = await serve(logs);
    await startMatch(first.address, { id: "ended", startClock: 1, playClock: 1 });
    await page.goto(first.address);
    await page.locator("tr.live a").click();
    await page.waitForSelector(".badge.live");
    await page.waitForSelector("#position .board");
    await first.stop();
    await page.waitForFunction(() => document.getElementById("status").textContent.includes("no answer"));
    assert.equal(await page.locator("#position .board").count(), 1);
    const second = await serve(logs, new URL(first.address).port);
    try {
      await page.waitForSelector(".badge.none");
      assert.equal(await page.locator("#status").innerText(), "");
      await page.goto(second.address);
      await page.waitForSelector(".match-list .badge.none");
    } finally {
      await second.stop();
    }
    await page.waitForSelector(".player.silent");
  }));

test("the plan of a single-player match is shown, and followed from turn to turn", () =>
  withPage({}, async (page) => {
    await page.goto(`${server.address}/matches/puzzle#turn=0`);
    await page.waitForSelector("#plan dl");
    assert.deepEqual(await shownPlan(page), { facts: ["none yet, at most 100", "0"], current: [], written: [] });
    await page.keyboard.press("ArrowRight");
    assert.match(await page.locator("#plan h2").innerText(), /as of turn 0/);
    await page.keyboard.press("ArrowRight");
    assert.deepEqual((await shownPlan(page)).facts, ["guided", "40 of at most 100", "52,000", "7"]);
    for (const step of [3, 4, 5, 22]) {
      await page.locator("#slider").fill(String(step));
      assert.deepEqual(await shownPlan(page), {
        facts: ["layers", "100 of at most 100, proven best", "1,234,567", String(30 - step)],
        current: [`${step} ${PUZZLE_MOVES[step].slice("(move ".length, -1)}`],
        written: [PUZZLE_MOVES[step]],
      });
      assert.equal(await page.locator("#plan li").count(), 20);
      assert.match(await page.locator("#plan > p").innerText(), /and 7 more moves/);
    }
    await page.locator("#slider").fill("9");
    await screenshot(page, "plan", true);
    await page.emulateMedia({ colorScheme: "dark" });
    await screenshot(page, "plan-dark", true);
    // Beyond the moves that the log names, and at the end.
    for (const step of [23, 30]) {
      await page.locator("#slider").fill(String(step));
      const { facts, current } = await shownPlan(page);
      assert.deepEqual([facts[3], current], [String(30 - step), []]);
    }
    await page.goto(`${server.address}/matches/hour`);
    await page.waitForSelector("#position .board");
    assert.ok(await page.locator("#plan").isHidden());
  }));

test("a puzzle that is played shows the plan that the player followed", () =>
  withPage({}, async (page) => {
    // The tree search does not solve this one before the planner.
    await play(server.address, { game: "eightPuzzle", opponents: 0, startClock: 10, playClock: 2, seed: 4 });
    const { folder: name } = await playedMatch("eightPuzzle");
    const log = await events(name);
    const plan = log.findLast(({ kind }) => kind === "plan").data;
    assert.ok(plan.proven && plan.moves.length === plan.n_moves, JSON.stringify(plan));
    await page.goto(`${server.address}/matches/${name}#turn=${plan.step}`);
    await page.waitForSelector("#plan li[aria-current]");
    for (let step = plan.step; step < plan.step + plan.n_moves; step += 1) {
      const { facts, written } = await shownPlan(page);
      assert.deepEqual(facts.slice(0, 2), [plan.solver, `${plan.goal} of at most ${plan.goal}, proven best`]);
      const played = log.find(({ kind, data }) => kind === "played" && data.step === step).data.moves[0];
      assert.deepEqual(written, [played]);
      await page.keyboard.press("ArrowRight");
    }
    await screenshot(page, "plan-played", true);
  }));

test("an unknown match is a page that says so, with status 404", () =>
  withPage({ mayFail: true }, async (page) => {
    for (const path of ["/matches/never-played", "/matches/..%2f..%2fetc", "/matches/%00", "/no/such/page"]) {
      const answer = await page.goto(server.address + path);
      assert.equal(answer.status(), 404, path);
      assert.match(await page.locator("h1").innerText(), /nothing at this address/i);
    }
    await screenshot(page, "unknown");
  }));

test("strangers' words are shown as text", () =>
  withPage({}, async (page) => {
    await page.goto(server.address);
    const row = page.locator("tr", { has: page.locator('a[href="/matches/hostile"]') });
    await row.waitFor();
    assert.match(await row.innerText(), /<img src=x onerror=alert\(1\)>/);
    assert.match(await row.innerText(), /<script>alert\(1\)<\/script>/);
    await page.goto(`${server.address}/matches/hostile`);
    await page.waitForSelector("#position .board");
    const head = await page.locator("#head").innerText();
    assert.ok(
      head.includes(HOSTILE) && head.includes("<b>Panza</b>") && head.includes("<script>alert(1)</script>"),
      head,
    );
    assert.equal(await page.locator("#match img, #match script, #match b b").count(), 0);
    await page.fill("#log input[type=search]", "<img");
    assert.equal(await page.locator("#log .log-line").count(), 1);
    await screenshot(page, "hostile");
  }));

test("a log that is cut off opens as far as it goes, and says where it stops", () =>
  withPage({}, async (page) => {
    await page.goto(`${server.address}/matches/cut`);
    await page.waitForSelector("#position .board");
    assert.match(await page.locator("#banners").innerText(), /events\.jsonl/);
    const text = makeMatch({ turns: 12 }).events;
    await page.goto(`${server.address}/viewer`);
    await page.setInputFiles("#files", {
      name: "events.jsonl",
      mimeType: "text/plain",
      buffer: Buffer.from(text.slice(0, text.length * 0.8)),
    });
    await page.waitForSelector("#position .board");
    assert.match(await page.locator("#banners").innerText(), /events\.jsonl: it stops in line \d+, which is not whole/);
    assert.ok((await page.locator("#turns tbody tr").count()) > 5);
    await screenshot(page, "cut-off");
  }));

test("a stored log opens by itself, from files or from a bundle, damaged or not", () =>
  withPage({}, async (page) => {
    const files = makeMatch({ turns: 12 });
    await page.goto(`${server.address}/viewer`);
    await screenshot(page, "viewer");
    await page.setInputFiles("#files", [
      { name: "events.jsonl", mimeType: "text/plain", buffer: Buffer.from(files.events) },
      { name: "series.csv", mimeType: "text/csv", buffer: Buffer.from(files.series) },
      { name: "match.log", mimeType: "text/plain", buffer: Buffer.from(files.log) },
    ]);
    await page.waitForSelector("#position .board");
    assert.equal((await points(page, "speed"))["Iterations/s"], files.series.trim().split("\n").length - 1);
    assert.equal(await page.locator(".banner.note").count(), 0);

    const bundle = JSON.stringify({ ...bundleOf(files), notes: ["something was left out"] });
    await page.setInputFiles("#files", {
      name: "damaged.json",
      mimeType: "application/json",
      buffer: Buffer.from(bundle.slice(0, bundle.length * 0.4)),
    });
    await page.waitForSelector(".banner.note");
    assert.match(
      await page.locator("#banners").innerText(),
      /damaged\.json: it is damaged and shown as far as it goes/,
    );
    assert.ok((await page.locator("#turns tbody tr").count()) > 3);
    await screenshot(page, "damaged");

    await page.setInputFiles("#files", { name: "hello.txt", mimeType: "text/plain", buffer: Buffer.from("hello") });
    await page.waitForFunction(() => document.getElementById("opener-problem").textContent.includes("hello.txt"));
  }));

test("Tiltyard's object is taken by message; without its log the statistics are shown", () =>
  withPage({}, async (page) => {
    const object = tiltyard(makeMatch({ turns: 12 }), 12);
    await page.goto(`${server.address}/viewer`);
    await page.evaluate((data) => window.postMessage(data, "*"), JSON.stringify(object));
    await page.waitForSelector("#position .board");
    assert.equal(await page.locator(".banner.note").count(), 0);
    await page.evaluate((data) => window.postMessage({ data }, "*"), {
      ...object,
      compressed_logs: object.compressed_logs.slice(0, 400),
    });
    await page.waitForSelector(".banner.note");
    assert.match(await page.locator("#banners").innerText(), /only its statistics are shown: it ends in the middle/);
    assert.equal(await page.locator("#turns tbody tr").count(), 12);
    assert.equal((await points(page, "turn-values")).Value, 12);
    await screenshot(page, "statistics");
  }));

test("the log is filtered by level and searched", () =>
  withPage({}, async (page) => {
    await page.goto(`${server.address}/matches/hour`);
    await page.waitForSelector("#log .log-line");
    const all = await page.locator("#log .log-line").count();
    await page.uncheck(".level.info input");
    const rest = await page.locator("#log .log-line").count();
    assert.ok(rest > 0 && rest < all, `${rest} of ${all}`);
    assert.equal(await page.locator("#log .log-line.info").count(), 0);
    await page.check(".level.info input");
    await page.fill("#log input[type=search]", "step 7:");
    assert.equal(await page.locator("#log .log-line").count(), 1);
  }));

for (const colorScheme of ["light", "dark"]) {
  test(`on a phone nothing is wider than the screen, ${colorScheme}`, () =>
    withPage({ viewport: { width: 360, height: 740 }, colorScheme, isMobile: true, hasTouch: true }, async (page) => {
      for (const [name, path] of [
        ["list", "/"],
        ["match", "/matches/hour#turn=7"],
        ["plan", "/matches/puzzle#turn=9"],
        ["hostile", "/matches/hostile"],
        ["viewer", "/viewer"],
      ]) {
        await page.goto(server.address + path);
        const shown = { list: ".match-list", plan: "#plan dl", viewer: "#opener:not([hidden])" }[name];
        await page.waitForSelector(shown ?? "#position .board");
        await scrollThrough(page);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360, name);
        await screenshot(page, `phone-${colorScheme}-${name}`, name === "plan");
      }
    }));
}

test("pages follow the person's colours", () =>
  withPage({ colorScheme: "dark" }, async (page) => {
    await page.goto(`${server.address}/matches/hour#turn=40`);
    await points(page, "value");
    const lightness = () =>
      page.evaluate(() => {
        const { axes, series } = document.getElementById("chart-value").plot;
        const rgb = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
        return [rgb[0], axes[0].stroke(), series.map(({ stroke }) => stroke?.()).join()];
      });
    const [dark, darkText, darkLines] = await lightness();
    await untilPainted(page, "value", "Best");
    await scrollThrough(page);
    await screenshot(page, "dark", true);
    await page.emulateMedia({ colorScheme: "light" });
    await page.locator("#chart-value").scrollIntoViewIfNeeded();
    await page.waitForFunction((text) => document.getElementById("chart-value").plot.axes[0].stroke() !== text, darkText);
    const [light, , lightLines] = await lightness();
    assert.ok(dark < 60 && light > 200, `${dark}, ${light}`);
    assert.notEqual(lightLines, darkLines);
    await untilPainted(page, "value", "Best");
  }));

test("without uplot.js the rest of the page works", () =>
  withPage({ mayFail: true }, async (page) => {
    await page.route("**/uplot.js", (route) => route.abort());
    await page.goto(`${server.address}/matches/hour`);
    await page.waitForSelector("#position .board");
    assert.match(await page.locator("#charts").innerText(), /charts are not here/);
  }));

test("a match of an hour is opened with few requests and few elements", (context) =>
  withPage({}, async (page) => {
    let requests = 0;
    page.on("request", () => (requests += 1));
    const used = await processorTimeOf(page);
    const times = [];
    for (let round = 0; round < 3; round += 1) {
      await page.goto("about:blank");
      await used();
      requests = 0;
      await page.goto(`${server.address}/matches/hour`, { waitUntil: "commit" });
      await page.waitForSelector("#position .board");
      await untilPainted(page, "value", "Best");
      times.push(await used());
      assert.ok(requests < 40, `${requests} requests`);
      const [elements, charts, drawn] = await page.evaluate(() => {
        const charts = [...document.querySelectorAll(".chart")];
        return [document.querySelectorAll("*").length, charts.length, charts.filter(({ plot }) => plot !== undefined).length];
      });
      assert.ok(elements < 5000, `${elements} elements`);
      assert.ok(drawn > 0 && drawn <= charts / 2, `${drawn} of ${charts} charts are drawn before anybody scrolls to them`);
    }
    const samples = HOUR.series.trim().split("\n").length - 1;
    assert.ok(samples >= 3600);
    assert.equal((await points(page, "speed"))["Iterations/s"], samples);
    context.diagnostic(`board and first chart of ${samples} samples for ${times.join(", ")} ms of processor time`);
  }));

test("ten thousand stored matches are listed", async (context) => {
  const logs = join(folder, "many");
  const files = makeMatch({ turns: 4 });
  for (let from = 0; from < 10_000; from += 200) {
    const some = Array.from({ length: 200 }, (_, index) => from + index);
    await Promise.all(some.map((number) => writeMatch(join(logs, `sample.connectFour.${number}`), files)));
  }
  const many = await serve(logs);
  try {
    const ask = async () => {
      const before = await processorTime(many.pid);
      const answer = await (await fetch(`${many.address}/api/matches?offset=0&limit=100&search=`)).json();
      assert.equal(answer.total, 10_000);
      return (await processorTime(many.pid)) - before;
    };
    const times = [await ask(), await ask(), await ask()];
    await withPage({}, async (page) => {
      const used = await processorTimeOf(page);
      await page.goto(many.address);
      await page.waitForSelector(".match-list tbody tr:nth-child(100)");
      const shown = await used();
      context.diagnostic(`10,000 matches: ${times.join(", ")} ms of processor time for a list, ${shown} ms to show it`);
      await page.click("#more");
      await page.waitForSelector(".match-list tbody tr:nth-child(200)");
    });
  } finally {
    await many.stop();
  }
});
