// The page to study games on, in a real browser.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { closeBrowser, copied, openBrowser, press, processorTimeOf, screenshot, seat, tabTo, walkTo, withPage } from "./page.mjs";
import { play, processorTime, serve } from "./server.mjs";

/** Of how many positions the processor time is the mean. */
const MEASURED = 15;

let folder;
let server;
/** The folder of the log of a match of connectFour. */
let logged;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "panza-study-"));
  server = await serve(join(folder, "logs"));
  await play(server.address, { startClock: 2, playClock: 1, seed: 5 });
  const { matches } = await (await fetch(`${server.address}/api/matches?limit=10`)).json();
  logged = matches[0].folder;
  await openBrowser();
});

after(async () => {
  await closeBrowser();
  await server?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Waits until a position is shown, `turn` turns from the start if that is given. */
async function shown(page, turn = null) {
  await page.waitForFunction((wanted) => {
    const name = document.getElementById("turn-name").textContent;
    const at = /^Start/.test(name) ? 0 : Number(/^After turn (\d+)/.exec(name)?.[1] ?? NaN);
    const isMade = document.querySelector("#board [data-name]") !== null;
    return isMade && (wanted === null ? !Number.isNaN(at) : at === wanted) && document.querySelector("#moves .plain, #moves .quiet") !== null;
  }, turn);
}

/** Waits until values of moves are there. */
async function valued(page) {
  await page.waitForFunction(() => document.querySelectorAll("#thoughts tbody tr").length > 0);
}

async function choose(page, game) {
  await page.goto(`${server.address}/study`);
  await page.click(`[data-game="${game}"]`);
  await shown(page);
}

function discs(page) {
  return page.evaluate(() => [...document.querySelectorAll("#board [data-content]")].filter((cell) => cell.dataset.content !== "").length);
}

test("a position of a match opens from its page, with values and marks, and is walked by keyboard", () =>
  withPage({}, async (page) => {
    await page.goto(`${server.address}/matches/${logged}#turn=6`);
    await page.waitForSelector("#study:not([hidden])");
    await page.click("#study");
    await shown(page, 6);
    assert.equal(await discs(page), 6);
    await valued(page);
    await page.waitForSelector("#board .best-1");
    assert.match(await page.innerText("#thinking"), /searching|proven/);
    assert.equal(await page.locator("#worth li").count(), 2);
    await page.waitForFunction(() => !document.querySelector("#worth li b").textContent.includes("…"));
    await screenshot(page, "study", true);
    await page.locator("#main").focus();
    await page.keyboard.press("ArrowLeft");
    await shown(page, 5);
    await page.waitForFunction(() => [...document.querySelectorAll("#board [data-content]")].filter((cell) => cell.dataset.content !== "").length === 5);
    await page.keyboard.press("ArrowRight");
    await shown(page, 6);
    await page.keyboard.press("Home");
    await shown(page, 0);
    await page.keyboard.press("End");
    await page.waitForFunction(() => /The game is over/.test(document.getElementById("says").textContent));
    assert.ok(await page.isDisabled("#next"));
    // What the player thought during the match is in the curve.
    assert.equal(await page.locator("#curve .logged").count(), 1);
  }));

test("a click on the board branches, and lines are walked, compared and removed", () =>
  withPage({}, async (page) => {
    await choose(page, "connectFour");
    const column = (number) => page.locator(`#board [data-cell="${number} 1"]`);
    await column(4).click();
    await shown(page, 1);
    await column(5).click();
    await shown(page, 2);
    await page.locator("#main").focus();
    await page.keyboard.press("ArrowLeft");
    await shown(page, 1);
    await page.waitForSelector("#board .target");
    await column(2).click();
    await shown(page, 2);
    await page.waitForSelector("#lines .variation");
    assert.match(await page.innerText("#lines [aria-current]"), /red b|black b/);
    assert.equal(await page.locator("#compared tbody tr").count(), 2);
    // Up goes to the move that is beside this one.
    await page.locator("#main").focus();
    await page.keyboard.press("ArrowUp");
    await page.waitForFunction(() => /black e/.test(document.querySelector("#lines [aria-current]").textContent));
    await page.locator("#lines .variation .plain").first().click();
    await page.waitForFunction(() => /red b|black b/.test(document.querySelector("#lines [aria-current]").textContent));
    await valued(page);
    await page.click("#forget");
    await shown(page, 1);
    assert.equal(await page.locator("#lines .variation").count(), 0);
    // A move from the list, and one that Panza names.
    await page.waitForSelector("#moves .plain");
    await page.locator("#moves .plain").first().click();
    await shown(page, 2);
    await valued(page);
    await page.locator("#thoughts tbody .plain").first().click();
    await shown(page, 3);
    // The line that is expected is added.
    await page.waitForSelector("#thoughts .expected .button");
    await page.locator("#thoughts .expected .button").click();
    await shown(page, 4);
    await page.reload();
    await shown(page, 4);
    assert.ok((await page.locator("#lines li").count()) > 4, "the tree is kept");
  }));

test("a position is stepped, a branch made and the tree walked with the keyboard alone", () =>
  withPage({}, async (page) => {
    const current = (name) =>
      page.waitForFunction((wanted) => document.querySelector("#lines [aria-current]")?.textContent.includes(wanted), name);
    await page.goto(`${server.address}/study`);
    await page.waitForSelector("[data-game]");
    await press(page, "Tab");
    // The skip link.
    await page.keyboard.press("Enter");
    await tabTo(page, "#find");
    await page.keyboard.type("Connect Four");
    await tabTo(page, '[data-game="connectFour"]');
    await page.keyboard.press("Enter");
    await shown(page, 0);
    await tabTo(page, "#board .cell");
    // A line of three turns, and back over it by the buttons.
    for (const [turn, column] of [4, 5, 3].entries()) {
      await walkTo(page, `#board [data-cell="${column} 1"]`);
      await press(page, turn === 1 ? "Space" : "Enter");
      await shown(page, turn + 1);
      await page.waitForSelector("#board .target");
    }
    await tabTo(page, "#previous");
    for (const turn of [2, 1, 0]) {
      await press(page, "Enter");
      await shown(page, turn);
    }
    // There is nothing before the start: the focus is at another button.
    assert.ok(await page.isDisabled("#previous"));
    await press(page, "Tab", "Shift+Tab", "Enter");
    await shown(page, 1);
    // A branch.
    await tabTo(page, "#board .cell", "Shift+Tab");
    await walkTo(page, '#board [data-cell="2 1"]');
    await page.waitForSelector("#board .target");
    await press(page, "Enter");
    await shown(page, 2);
    await current("black b");
    // The tree, by arrows.
    await tabTo(page, "#lines");
    await press(page, "ArrowUp");
    await current("black e");
    await press(page, "ArrowDown");
    await current("black b");
    await press(page, "ArrowUp", "End");
    await shown(page, 3);
    await press(page, "ArrowLeft");
    await shown(page, 2);
    await press(page, "ArrowRight");
    await shown(page, 3);
    await press(page, "Home");
    await shown(page, 0);
    // A turn of the tree, by its button; the arrow keys go on from there.
    await tabTo(page, "#lines .variation button");
    await press(page, "Enter");
    await current("black b");
    await press(page, "ArrowLeft");
    await shown(page, 1);
    await press(page, "ArrowRight");
    await shown(page, 2);
    // A move that Panza names, and one from the list.
    await valued(page);
    await tabTo(page, "#thoughts tbody button", "Shift+Tab");
    await press(page, "Space");
    await shown(page, 3);
    await tabTo(page, "#moves button");
    await press(page, "Enter");
    await shown(page, 4);
    await press(page, "Enter");
    await shown(page, 5);
    await screenshot(page, "study-keyboard", true);
    // The thinking is stopped, and the variation removed.
    await tabTo(page, "#pause", "Shift+Tab");
    await press(page, "Space");
    await page.waitForFunction(() => document.getElementById("pause").textContent === "Think");
    await tabTo(page, "#lines");
    await press(page, "Home", "ArrowRight", "End");
    await tabTo(page, "#lines .variation button");
    await press(page, "Enter");
    await current("black b");
    await tabTo(page, "#forget");
    await press(page, "Enter");
    await shown(page, 1);
    assert.equal(await page.locator("#lines .variation").count(), 0);
  }));

test("a line is copied out as text and pasted in again, and what is not legal is told", () =>
  withPage({}, async (page) => {
    await choose(page, "ticTacToe");
    await page.locator('#board [data-cell="2 2"]').click();
    await shown(page, 1);
    await page.waitForSelector("#board .target");
    await page.locator('#board [data-cell="1 1"]').click();
    await shown(page, 2);
    await page.click("#texts summary");
    await page.click("#copy");
    const text = await page.inputValue("#text");
    assert.match(text, /^; ticTacToe: xplayer, oplayer\n\(\(mark 2 2\) noop\)\n\(noop \(mark 1 1\)\)\n$/);
    await page.goto(`${server.address}/study`);
    await page.click('[data-game="ticTacToe"]');
    await shown(page, 0);
    await page.click("#texts summary");
    await page.fill("#text", `${text}((mark 3 3) noop)\n`);
    await page.click("#paste");
    await shown(page, 3);
    await page.fill("#text", "((mark 2 2) noop)\n(noop (mark 2 2))");
    await page.click("#paste");
    await page.waitForFunction(() => /turn 2: \(mark 2 2\) is not legal/.test(document.querySelector("#texts .complaint")?.textContent));
    await shown(page, 1);
    assert.equal(await page.innerText("#text-says"), "1 of 2 turns shown.");
    await screenshot(page, "study-pasted", true);
    await page.fill("#text", "hello");
    await page.click("#paste");
    assert.match(await page.innerText("#texts .complaint"), /expected a list of 2 moves/);
    // A position is copied, and pasted on the page of games.
    const facts = await copied(page, () => page.click("#copy-facts"));
    assert.match(facts, /\(cell 2 2 x\)/);
    await page.goto(`${server.address}/study`);
    await page.click("#pasted summary");
    await page.fill("#facts", facts);
    await page.click('[data-game="ticTacToe"]');
    await shown(page, 0);
    assert.equal(await page.getAttribute('#board [data-cell="2 2"]', "data-content"), "x");
    await page.goto(`${server.address}/study`);
    await page.click("#pasted summary");
    await page.fill("#facts", "(cell 9 9 z)");
    await page.click('[data-game="ticTacToe"]');
    await page.waitForFunction(() => /cannot be set up/.test(document.getElementById("problem").textContent));
  }));

test("blunders are looked for and marked", () =>
  withPage({}, async (page) => {
    await choose(page, "ticTacToe");
    await page.click("#texts summary");
    await page.fill("#text", "((mark 1 1) noop)\n(noop (mark 2 2))\n((mark 1 2) noop)\n(noop (mark 3 3))\n((mark 1 3) noop)");
    await page.click("#paste");
    await shown(page, 5);
    await page.selectOption("#review-effort", "30");
    await page.click("#review");
    await page.waitForFunction(() => /1 blunder in 5 turns/.test(document.getElementById("review-says").textContent));
    assert.match(await page.innerText("#blunders li"), /4\. oplayer: c3\s*\?\?\s*50 → 0\s*proven\s*; better: c1/);
    assert.match(await page.innerText("#review-summary"), /xplayer\s+100 %[^]*oplayer\s+\d+ %\s+1\s+0\s+0/);
    assert.equal(await page.locator("#lines .blunder").count(), 1);
    assert.equal(await page.locator("#curve .mark.blunder").count(), 1);
    await page.locator("#blunders .plain").click();
    await shown(page, 3);
    await page.locator("#blunders .button").click();
    await shown(page, 4);
    assert.match(await page.innerText("#lines [aria-current]"), /c1/);
    await screenshot(page, "study-blunders", true);
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 800 });
      await screenshot(page, `study-blunders-${width}`, true);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), String(width));
    }
  }));

test("the plan of a puzzle is shown and followed", () =>
  withPage({}, async (page) => {
    await choose(page, "threeJugs");
    await page.waitForSelector("#plan:not([hidden]) .plan-moves");
    await page.waitForFunction(() => /goal 100, proven best/.test(document.getElementById("plan").textContent));
    await screenshot(page, "study-plan", true);
    await page.locator("#plan > p .button").click();
    await shown(page, 1);
    await page.locator("#main").focus();
    await page.keyboard.press("End");
    await page.waitForFunction(() => /The game is over: solved/.test(document.getElementById("says").textContent));
  }));

test("beside a plan nothing else is expected", () =>
  withPage({}, async (page) => {
    await choose(page, "eightPuzzle");
    await page.waitForSelector("#plan:not([hidden]) .plan-moves li");
    const seen = await page.evaluate(() => ({
      plan: [...document.querySelectorAll(".plan-moves li")].map((item) => item.textContent.replace(/^\d+ /, "")),
      expected: document.querySelector("#thoughts .expected").textContent,
      moves: [...document.querySelectorAll("#thoughts tbody tr")].map((row) => [...row.children].slice(0, 2).map((cell) => cell.textContent)),
      worth: document.querySelector("#worth b").textContent,
      goal: /goal (\d+)/.exec(document.querySelector("#plan h2").textContent)[1],
    }));
    assert.ok(seen.expected.startsWith(`Expected: ${seen.plan.slice(0, 12).join(", ")}`), JSON.stringify(seen));
    assert.equal(seen.worth, seen.goal);
    assert.deepEqual([seen.moves[0][0], Number.parseInt(seen.moves[0][1], 10)], [seen.plan[0], Number(seen.goal)]);
    // A move that begins no plan has no value of random games.
    for (const [, value] of seen.moves) assert.match(value, new RegExp(`^(${seen.goal}(proven)?)?$`));
    await screenshot(page, "study-eight-puzzle", true);
  }));

test("outcomes of chance are listed, and a click goes there", () =>
  withPage({}, async (page) => {
    await page.goto(`${server.address}/study`);
    await page.click('[data-game="diceRace"]');
    await page.waitForFunction(() => document.querySelectorAll("#thoughts tbody tr").length === 3);
    assert.match(await page.innerText("#thoughts thead"), /Outcome\s+Probability\s+Value for red/);
    assert.match(await page.innerText("#thoughts tbody tr:nth-child(2)"), /33 %/);
    await screenshot(page, "study-outcomes", true);
    await page.locator("#thoughts tbody tr:nth-child(2) button").click();
    await page.waitForFunction(() => /^After turn 1/.test(document.getElementById("turn-name").textContent));
    await page.waitForFunction(() => /Value for red/.test(document.querySelector("#thoughts thead")?.textContent) && !/Outcome/.test(document.querySelector("#thoughts thead").textContent));
  }));

test("a game at a table is studied from there", () =>
  withPage({}, async (page) => {
    await page.goto(`${server.address}/play`);
    await page.click(seat("ticTacToe", "all"));
    await page.waitForSelector("#board .target");
    await page.locator('#board [data-cell="2 2"]').click();
    await page.waitForFunction(() => document.querySelectorAll("#course li").length === 1);
    await page.click("#study");
    await shown(page, 1);
    assert.equal(await page.getAttribute('#board [data-cell="2 2"]', "data-content"), "x");
  }));

test("the table of a game that is played has no study, and the page says so", () =>
  withPage({}, async (page) => {
    await page.goto(`${server.address}/play`);
    await page.click('[data-game="ticTacToe"]');
    await page.waitForSelector("#board .target");
    await page.goto(`${server.address}/study${new URL(page.url()).hash}`);
    await page.waitForFunction(() => /for playing/.test(document.getElementById("says").textContent));
  }));

test("roles that choose at once choose one after the other", () =>
  withPage({}, async (page) => {
    await page.goto(`${server.address}/study`);
    await page.click('[data-game="roshamboTen"]');
    await page.waitForSelector("#moves .plain");
    await page.locator("#moves .plain").first().click();
    await page.locator("#moves .plain").first().click();
    await page.waitForFunction(() => /^After turn 1/.test(document.getElementById("turn-name").textContent));
    await page.waitForSelector("#watch-label:not([hidden])");
    await valued(page);
    const second = await page.locator("#watch option").nth(1).getAttribute("value");
    await page.selectOption("#watch", second);
    await page.waitForFunction((role) => document.querySelector("#thoughts th:nth-child(2)")?.textContent.endsWith(role), second);
  }));

test("each position of a match of sixty turns is shown", async (context) =>
  withPage({}, async (page) => {
    await choose(page, "breakthrough");
    await page.click("#pause");
    // Sixty turns of pieces that go forward, the first of each list.
    for (let turn = 0; turn < 60; turn += 1) {
      const isOver = await page.evaluate(() => /is over/.test(document.getElementById("says").textContent));
      if (isOver) break;
      await page.waitForSelector("#moves .plain");
      const places = await page.locator("#moves .plain").count();
      await page.locator("#moves .plain").nth((7 * turn) % places).click();
      await shown(page, turn + 1);
    }
    const turns = Number(/of (\d+)/.exec(await page.innerText("#turn-name"))[1]);
    // What was shown before would be shown at once.
    await page.reload();
    await shown(page);
    const used = await processorTimeOf(page);
    const before = await processorTime(server.pid);
    for (let round = 0; round < MEASURED; round += 1) {
      const to = (round * 23) % turns;
      await page.locator("#lines > li .plain").nth(to).click();
      await shown(page, to + 1);
    }
    const times = [(await processorTime(server.pid)) - before, await used()].map((all) => Math.round(all / MEASURED));
    context.diagnostic(`a position of a game of ${turns} turns: ${times.join(" and ")} ms of server and page`);
  }));

for (const colorScheme of ["light", "dark"]) {
  test(`a narrow screen is no wider than the page, ${colorScheme}`, () =>
    withPage({ viewport: { width: 390, height: 800 }, colorScheme }, async (page) => {
      await page.goto(`${server.address}/study`);
      await page.waitForSelector("[data-game]");
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
      for (const game of ["checkers", "threeJugs"]) {
        await choose(page, game);
        await valued(page);
        await page.click("#texts summary");
        await screenshot(page, `study-narrow-${game}-${colorScheme}`, true);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), game);
      }
    }));
}
