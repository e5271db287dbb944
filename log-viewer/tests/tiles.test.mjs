// What the pages share: the tiles on which games are chosen, games that go on, a person's own rulesheets, the header, the
// list of keys, copied positions, sounds, and addresses at which there is nothing.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { closeBrowser, copied, openBrowser, screenshot, seat, withPage } from "./page.mjs";
import { makeMatch, writeMatch } from "./samples.mjs";
import { serve } from "./server.mjs";

const HEXAPAWN = fileURLToPath(new URL("hexapawn.hrf", import.meta.url));

let folder;
let server;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "panza-tiles-"));
  await writeMatch(join(folder, "sample"), makeMatch({ turns: 6 }));
  server = await serve(folder);
  await openBrowser();
});

after(async () => {
  await closeBrowser();
  await server?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

const says = (page, wanted) =>
  page.waitForFunction((pattern) => new RegExp(pattern).test(document.getElementById("says").textContent), wanted);
const turns = (page, count) => page.waitForFunction((least) => document.querySelectorAll("#course li").length >= least, count);
const tiles = (page) => page.locator("#games > li:not([hidden]) strong").allInnerTexts();

test("a tile shows the board, a line and the players, and is found by what is typed", () =>
  withPage({}, async (page) => {
    await page.goto(`${server.address}/play`);
    await page.waitForSelector('[data-game="checkers"] svg.board');
    assert.equal(await page.locator('[data-game="checkers"] .picture [data-content]:not([data-content=""]) .piece').count() > 20, true);
    const tile = page.locator('.tile:has([data-game="ticTacToeThree"])');
    await tile.scrollIntoViewIfNeeded();
    await tile.locator("svg.board").waitFor();
    assert.match(await tile.innerText(), /Tic-tac-toe for three\s+Three players; three marks in a line win\.[^]*3 players/);
    assert.deepEqual(await tile.locator(".seat").allInnerTexts(), ["x", "o", "z", "all", "watch"]);
    assert.deepEqual(await page.locator('.tile:has([data-game="hanoi"]) .seat').allInnerTexts(), ["watch"]);
    assert.deepEqual(await page.locator('.tile:has([data-game="diceRace"]) .seat').allInnerTexts(), ["red", "blue", "both", "watch"]);
    await page.fill("#find", "HANOI");
    assert.deepEqual(await tiles(page), ["The towers of Hanoi"]);
    await page.fill("#find", "3 players");
    assert.deepEqual(await tiles(page), ["Chinese checkers for three", "Tic-tac-toe for three"]);
    await page.fill("#find", "no such game");
    assert.match(await page.innerText("#games"), /^No game of that name\.$/);
  }));

test("the rules are shown on demand, with their drawings and without notes for designers", () =>
  withPage({}, async (page) => {
    await page.goto(`${server.address}/play`);
    await page.click('[aria-label="Rules of Sokoban"]');
    const text = await page.innerText("dialog");
    assert.match(text, /storekeeper walks[^]*# \$ # #\n[^]*Goals: 100/);
    assert.doesNotMatch(text, /Useful as|useful/);
    await screenshot(page, "rules");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
    await page.click('[data-game="hex"]');
    await page.waitForSelector("#rules:not([hidden])");
    assert.doesNotMatch(await page.textContent("#about"), /useful/);
  }));

test("the first move takes two clicks, from any seat, and the way back to the game is on the page", () =>
  withPage({}, async (page) => {
    await page.goto(`${server.address}/play`);
    await page.click('[data-game="ticTacToe"]');
    await page.locator('#board .target[data-cell="2 2"]').click();
    await turns(page, 1);
    await says(page, "Your turn");
    await page.click("#leave");
    await page.click(seat("ticTacToe", "all"));
    await page.locator('#board .target[data-cell="1 1"]').click();
    await turns(page, 1);
    const table = new URL(page.url()).hash.slice(1);
    await page.goto(`${server.address}/play`);
    const game = page.locator(`#tables li:has([href="#${table}"])`);
    await game.waitFor();
    assert.match(await game.innerText(), /Tic-tac-toe\s+1 turn, you play xplayer, oplayer, just now/);
    await screenshot(page, "running");
    await game.locator("a").click();
    await turns(page, 1);
    assert.equal(await page.getAttribute('#board [data-cell="1 1"]', "data-content"), "x");
    // The same by an address that the server knows.
    assert.equal((await page.goto(`${server.address}/play/${table}`)).status(), 200);
    await turns(page, 1);
    assert.equal(new URL(page.url()).hash, `#${table}`);
    await page.goto(`${server.address}/play`);
    await game.getByText("Forget").click();
    await game.waitFor({ state: "detached" });
    await page.click(seat("connectFour", "black"));
    await says(page, "you play black");
    await page.goto(`${server.address}/play`);
    await page.click(seat("hanoi", "none"));
    await says(page, "Panza|over");
  }));

test("a rulesheet of one's own is offered on top from then on", () =>
  withPage({}, async (page) => {
    await page.goto(`${server.address}/play`);
    await page.click("#own summary");
    await page.fill("#own-rules", "(role white)\n(legal white");
    await page.waitForFunction(() => /line 2, column 1/.test(document.getElementById("own-seats").textContent));
    const misprint = (await readFile(HEXAPAWN, "utf8")) + "\nrole(Red)\n";
    await page.fill("#own-rules", misprint);
    await page.waitForFunction(() => /play it all the same[^]*names no role/.test(document.getElementById("own-seats").textContent));
    await page.click("#own-seats a");
    await page.waitForFunction(() => /names no role/.test(document.getElementById("problems")?.textContent ?? ""));
    await page.goto(`${server.address}/play`);
    await page.click("#own summary");
    await page.fill("#own-rules", await readFile(HEXAPAWN, "utf8"));
    await page.fill("#own-name", "hexapawn");
    await page.waitForSelector("#own-seats .seat");
    assert.deepEqual(await page.locator("#own-seats .seat").allInnerTexts(), ["white", "black", "both", "watch"]);
    await page.click('#own-seats [data-people="black"]');
    await says(page, "you play black");
    await page.goto(`${server.address}/play`);
    const own = page.locator("#games > li").first();
    await own.locator("svg.board").waitFor();
    assert.match(await own.innerText(), /Hexapawn[^]*white\s*black\s*both\s*watch\s*2 players\s*Rules\s*Forget/);
    await screenshot(page, "own-rules");
    await own.locator('[data-people="both"], [data-people="all"]').click();
    await says(page, "white is to move");
    await page.goto(`${server.address}/study`);
    await own.locator(".game").click();
    await page.waitForSelector("#board .target");
    assert.equal(await page.innerText("#name"), "Hexapawn");
    await page.goto(`${server.address}/play`);
    await own.getByText("Forget").click();
    assert.notEqual((await tiles(page))[0], "Hexapawn");
    await page.reload();
    await page.waitForSelector("#games strong");
    assert.ok(!(await tiles(page)).includes("Hexapawn"));
  }));

test("a rulesheet of one's own has its board where the page sees no position before the first move", () =>
  withPage({}, async (page) => {
    // Panza moves first, and is faster than the answers.
    await page.route(/\/api\/tables\/[^/]+$/, async (route) => {
      await new Promise((done) => setTimeout(done, 1500));
      await route.continue();
    });
    await page.goto(`${server.address}/play`);
    await page.click("#own summary");
    await page.fill("#own-rules", await readFile(HEXAPAWN, "utf8"));
    await page.click('#own-seats [data-people="black"]');
    await says(page, "you play black");
    await page.goto(`${server.address}/play`);
    await page.locator("#games > li").first().locator("svg.board").waitFor();
  }));

test("every page has the header, with itself marked, and a list of its keys", () =>
  withPage({}, async (page) => {
    const pages = [["/play", "Play"], ["/study", "Study"], ["/edit", "Write"], ["/", "Matches"], ["/matches/sample", "Matches"],
      ["/training", "Training"], ["/gamemaster", "Gamemaster"], ["/viewer", "Open a log"]];
    for (const [path, name] of pages) {
      await page.goto(server.address + path);
      assert.equal(await page.innerText('nav [aria-current="page"]'), name, path);
      assert.deepEqual(await page.locator("nav a").allInnerTexts(), ["Play", "Study", "Write", "Matches", "Training", "Gamemaster", "Open a log"]);
      if (path === "/gamemaster") continue;
      await page.getByLabel("Keys of this page").waitFor();
      await page.locator("body").press("?");
      assert.match(await page.innerText("dialog"), /^Keys[^]*\?\s+this list/, path);
      await page.keyboard.press("Escape");
      await page.waitForSelector("dialog", { state: "detached" });
    }
    await page.goto(`${server.address}/study`);
    await page.locator("#find").press("?");
    assert.equal(await page.locator("dialog").count(), 0);
    await page.getByLabel("Keys of this page").click();
    assert.match(await page.innerText("dialog"), /Home, End/);
    await screenshot(page, "keys");
  }));

test("a position is copied as GDL", () =>
  withPage({}, async (page) => {
    await page.goto(`${server.address}/play`);
    await page.click(seat("ticTacToe", "all"));
    await page.locator('#board .target[data-cell="2 2"]').click();
    await turns(page, 1);
    const facts = await copied(page, () => page.click("#copy"));
    assert.match(facts, /^\([^]*\(cell 2 2 x\)[^]*\)\n$/);
    assert.match(facts, /\(control oplayer\)/);
    // It is a position that can be studied.
    await page.goto(`${server.address}/study`);
    await page.click("#pasted summary");
    await page.fill("#facts", facts);
    await page.click('[data-game="ticTacToe"]');
    await page.waitForSelector('#board [data-cell="2 2"][data-content="x"]');
    assert.match(await copied(page, () => page.click("#copy-facts")), /\(cell 2 2 x\)/);
  }));

test("sounds are off at first, and tell moves, captures and the end", () =>
  withPage({}, async (page) => {
    await page.addInitScript(() => {
      window.tones = [];
      const start = OscillatorNode.prototype.start;
      OscillatorNode.prototype.start = function (...when) {
        window.tones.push(Math.round(this.frequency.value));
        start.apply(this, when);
      };
    });
    const heard = async (count) => {
      await page.waitForFunction((least) => window.tones.length >= least, count);
      return page.evaluate(() => window.tones.splice(0));
    };
    await page.goto(`${server.address}/play`);
    await page.click(seat("ticTacToe", "all"));
    const mark = async (cell, turn) => {
      await page.locator(`#board .target[data-cell="${cell}"]`).click();
      await turns(page, turn);
    };
    await mark("1 1", 1);
    assert.deepEqual(await page.evaluate(() => window.tones), []);
    await page.click("#sound");
    assert.equal(await page.getAttribute("#sound", "aria-pressed"), "true");
    assert.deepEqual(await heard(1), [520]);
    await mark("2 1", 2);
    assert.deepEqual(await heard(1), [520]);
    for (const [index, cell] of ["1 2", "2 2"].entries()) await mark(cell, 3 + index);
    await heard(2);
    await mark("1 3", 5);
    await says(page, "over");
    assert.deepEqual(await heard(3), [392, 523, 659]);
    // It stays on, until it is switched off.
    await page.reload();
    await page.waitForSelector('#sound[aria-pressed="true"]');
    await page.click("#sound");
    assert.equal(await page.getAttribute("#sound", "aria-pressed"), "false");
  }));

test("where there is nothing, the status says so and the page is friendly", () =>
  withPage({ mayFail: true }, async (page) => {
    for (const path of ["/nothing", "/matches/nothing", "/play/0123456789abcdef", "/study/0123456789abcdef", "/play/a/b"]) {
      const answer = await page.goto(server.address + path);
      assert.equal(answer.status(), 404, path);
      assert.match(await page.innerText("h1"), /There is nothing at this address/, path);
    }
    assert.equal((await fetch(`${server.address}/api/tables/0123456789abcdef`)).status, 404);
    await page.goto(`${server.address}/play#0123456789abcdef`);
    await page.getByText("not there any more").first().waitFor();
  }));
