// The page to play on, in a real browser: games are played to their end by clicks alone.

import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, test } from "node:test";
import { press, screenshot, seat, tabTo, walkTo, withPage } from "./page.mjs";
import { served } from "./suite.mjs";

const CORPUS = fileURLToPath(new URL("../../../shared/corpus/games/", import.meta.url));
const GAMES = fileURLToPath(new URL("../../gdl-games/", import.meta.url));
const HEXAPAWN = fileURLToPath(new URL("hexapawn.hrf", import.meta.url));
const GAMEMASTER = fileURLToPath(new URL("../../../shared/gamemaster/games/", import.meta.url));
/** Looks for what to click after which a game counts as one that does not end, those while Panza answers among them. */
const MOST_LOOKS = 60_000;

const server = served("play");

async function choose(page, game, { people = null, level = "2" } = {}) {
  await page.goto(`${server.address}/play`);
  await page.selectOption("#level", level);
  await page.click(people === null ? `[data-game="${game}"]` : seat(game, people));
}

/** Waits until a person is to move, or the game is over. */
async function turn(page) {
  await page.waitForFunction(() => /to move|Your (turn|move)|is over|cannot go on/.test(document.getElementById("says").textContent));
  return page.innerText("#says");
}

/**
 * Plays to the end by clicks on marked cells, on the question for a move, or on the list where no cell is marked. The
 * page itself looks for what to click, which takes a tenth of the time of questions from here.
 */
async function playOut(page, name) {
  const says = await page.evaluate(async (most) => {
    const any = (found, seed) => found[(seed * 7919) % found.length];
    const says = () => document.getElementById("says").textContent;
    for (let looks = 0, clicks = 0; looks < most && !/is over|cannot go on/.test(says()); looks += 1) {
      if (/to move|Your (turn|move)/.test(says())) {
        const asked = document.querySelectorAll("#which:not([hidden]) button");
        const cells = document.querySelectorAll("#board .target:not(.picked)");
        const listed = document.querySelectorAll("#moves button");
        const found = asked.length > 0 ? asked : cells.length > 0 ? cells : listed;
        if (found.length > 0) any(found, clicks).dispatchEvent(new MouseEvent("click", { bubbles: true }));
        clicks += 1;
      }
      await new Promise((done) => setTimeout(done, 5));
    }
    return says();
  }, MOST_LOOKS);
  assert.match(says, /is over/, name);
  return says;
}

describe("games are played to their end by clicks", () => {
  const games = readdirSync(GAMES).filter((name) => name.endsWith(".gdl"));
  for (const game of games.map((name) => name.replace(/\.gdl$/, ""))) {
    test(game, () =>
      withPage({}, async (page) => {
        await choose(page, game);
        await turn(page);
        await screenshot(page, `play-${game}`, true);
        const says = await playOut(page, game);
        assert.match(says, /The game is over: (solved|draw|nobody|all reached|the goal was not|.* won|.* of 100)/);
        await screenshot(page, `play-${game}-end`, true);
      }),
    );
  }

  for (const name of [
    "breakthroughSmall",
    "chineseCheckers1",
    "chomp",
    "connectFourSuicide_7x7",
    "connectFour_9x6",
    "knightThrough",
    "quad_5x5",
    "reversiSuicide",
    "sheepAndWolf",
    "ticTacToeLarge",
  ]) {
    const path = join(CORPUS, `${name}.kif`);
    test(name, { skip: !existsSync(path) }, () =>
      withPage({}, async (page) => {
        await page.goto(`${server.address}/play`);
        await page.selectOption("#level", "2");
        await page.click("#own summary");
        await page.fill("#own-name", name);
        await page.fill("#own-rules", readFileSync(path, "utf8"));
        await page.click("#own-play");
        await playOut(page, name);
        await screenshot(page, `play-${name}-end`, true);
      }),
    );
  }
});

/** What lies on each cell of the board that is drawn. */
function cells(page) {
  return page.evaluate(() =>
    Object.fromEntries([...document.querySelectorAll("#board [data-cell]")].map((cell) => [cell.dataset.cell, cell.dataset.content])),
  );
}

describe("games in HRF are played to their end by clicks", () => {
  test("hexapawn from a file", () =>
    withPage({}, async (page) => {
      await page.goto(`${server.address}/play`);
      await page.selectOption("#level", "2");
      await page.click("#own summary");
      await page.setInputFiles("#own-file", HEXAPAWN);
      await page.waitForFunction(() => document.getElementById("own-name").value === "hexapawn");
      await page.click('#own-seats [data-people="black"]');
      assert.match(await turn(page), /you play black/);
      assert.equal(await page.innerText("#name"), "Hexapawn");
      assert.match(await page.textContent("#about"), /^Each side has three pawns .* without a move\.$/);
      const shown = Object.values(await cells(page));
      assert.equal(shown.length, 9);
      assert.equal(shown.filter((content) => content === "black").length, 3);
      await screenshot(page, "play-hrf", true);
      const says = await playOut(page, "hexapawn");
      assert.match(says, /(white|black) won \((you|Panza)\)/);
      // Only the side in control is told in the list of turns.
      assert.doesNotMatch(await page.innerText("#course"), /noop/);
      await screenshot(page, "play-hrf-end", true);
    }));

  for (const name of ["tictactoe", "connectfour", "breakthrough", "pentago", "skirmish"]) {
    const path = join(GAMEMASTER, `${name}.hrf`);
    test(name, { skip: !existsSync(path) }, () =>
      withPage({}, async (page) => {
        await page.goto(`${server.address}/play`);
        await page.selectOption("#level", "2");
        await page.click("#own summary");
        await page.fill("#own-rules", readFileSync(path, "utf8"));
        await page.click("#own-play");
        await turn(page);
        await screenshot(page, `play-hrf-${name}`, true);
        await playOut(page, name);
      }),
    );
  }
});

test("moves are taken back, hints are shown, and games resigned", () =>
  withPage({}, async (page) => {
    await choose(page, "connectFour");
    await turn(page);
    await page.click("#hint");
    await page.waitForSelector("#board .hinted");
    await screenshot(page, "play-hint", true);
    await page.locator("#board .hinted").first().click();
    await page.waitForFunction(() => document.querySelectorAll("#course li").length >= 2);
    await turn(page);
    await page.click("#undo");
    await page.waitForFunction(() => document.querySelectorAll("#course li").length === 0);
    await turn(page);
    await page.click("#resign");
    await page.click("#resign-no");
    assert.match(await page.innerText("#says"), /Your turn/);
    await page.click("#resign");
    await screenshot(page, "play-resign", true);
    await page.click("#resign-yes");
    await page.waitForFunction(() => /red has resigned\. black \(Panza\) wins\./.test(document.getElementById("says").textContent));
    await page.click("#again");
    assert.match(await turn(page), /Your turn/);
  }));

/** From the start page to the board of a game, by keyboard. */
async function chooseByKeyboard(page, game) {
  await page.goto(`${server.address}/play`);
  await page.waitForSelector(`[data-game="${game}"]`);
  await press(page, "Tab");
  // The skip link.
  await page.keyboard.press("Enter");
  await tabTo(page, "#level");
  await page.keyboard.type("level 2");
  await tabTo(page, "#find");
  await page.keyboard.type(game);
  await tabTo(page, `[data-game="${game}"]`);
  await page.keyboard.press("Enter");
  assert.match(await turn(page), /Your/);
  assert.equal(await page.inputValue("#level"), "2");
}

/** Waits until the person is to move in a later turn than `before`, or the game is over. */
async function nextTurn(page, before) {
  await page.waitForFunction((turns) => {
    const says = document.getElementById("says").textContent;
    return document.querySelectorAll("#course li").length > turns && /Your (turn|move)|is over/.test(says);
  }, before);
  return page.innerText("#says");
}

const turnsMade = (page) => page.locator("#course li").count();

test("a game is chosen and played to its end with the keyboard alone", () =>
  withPage({}, async (page) => {
    await chooseByKeyboard(page, "ticTacToe");
    await tabTo(page, "#board .cell");
    await screenshot(page, "play-keyboard", true);
    for (let says = ""; !/is over/.test(says); ) {
      await walkTo(page, "#board .target");
      const before = await turnsMade(page);
      await press(page, before % 2 === 0 ? "Enter" : "Space");
      says = await nextTurn(page, before);
    }
    assert.match(await page.innerText("#says"), /The game is over: (solved|draw|nobody|all reached|the goal was not|.* won|.* of 100)/);
    // The turns of the game, and back to its end.
    await tabTo(page, "#course");
    await tabTo(page, "#course button");
    await press(page, "Enter");
    await page.waitForSelector("#earlier:not([hidden])");
    await tabTo(page, "#now", "Shift+Tab");
    await press(page, "Enter");
    await page.waitForSelector("#earlier", { state: "hidden" });
    await tabTo(page, "#again");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelectorAll("#course li").length === 0);
    assert.match(await turn(page), /Your turn/);
  }));

test("moves are made from the list, taken back and hinted with the keyboard alone", () =>
  withPage({}, async (page) => {
    await chooseByKeyboard(page, "ticTacToe");
    await tabTo(page, "#moves button");
    await press(page, "Space");
    await nextTurn(page, 0);
    await press(page, "Tab", "Space");
    await nextTurn(page, 2);
    await tabTo(page, "#undo", "Shift+Tab");
    await press(page, "Enter");
    await page.waitForFunction(() => document.querySelectorAll("#course li").length === 2);
    await turn(page);
    await press(page, "Enter");
    await page.waitForFunction(() => document.querySelectorAll("#course li").length === 0);
    await turn(page);
    // There is nothing to take back: the focus is at another button.
    assert.ok(await page.isDisabled("#undo"));
    await press(page, "Tab", "Shift+Tab");
    assert.equal(await page.evaluate(() => document.activeElement.id), "hint");
    await press(page, "Enter");
    await page.waitForSelector("#board .hinted");
    await tabTo(page, "#resign");
    await press(page, "Enter");
    await tabTo(page, "#resign-yes", "Shift+Tab");
    await press(page, "Enter");
    await page.waitForFunction(() => /has resigned/.test(document.getElementById("says").textContent));
    await press(page, "Tab");
  }));

test("pieces are moved, and puzzles without a board solved, with the keyboard alone", () =>
  withPage({}, async (page) => {
    await chooseByKeyboard(page, "breakthrough");
    await tabTo(page, "#board .cell");
    await walkTo(page, "#board .target");
    await press(page, "Enter");
    await page.waitForSelector("#board .picked");
    await walkTo(page, "#board .target:not(.picked)");
    await press(page, "Space");
    await nextTurn(page, 0);
    await press(page, "ArrowLeft");
    await chooseByKeyboard(page, "threeJugs");
    await tabTo(page, "#moves button");
    await press(page, "Enter");
    await nextTurn(page, 0);
    await press(page, "Enter");
    await nextTurn(page, 1);
  }));

test("faulty rules are told where they are wrong", () =>
  withPage({}, async (page) => {
    page.removeAllListeners("console");
    await page.goto(`${server.address}/play`);
    await page.click("#own summary");
    await page.fill("#own-rules", "(role white)\n(legal white");
    await page.click("#own-play");
    await page.waitForSelector("#own .complaint");
    assert.match(await page.innerText("#own .complaint"), /rules:2:1/);
    // It goes with the next attempt, and is not above the game that comes then.
    await page.click('[data-game="ticTacToe"]');
    await turn(page);
    assert.equal(await page.locator(".complaint").count(), 0);
    assert.equal(await page.innerText("#problem"), "");
    await page.goto(`${server.address}/play`);
    assert.equal(await page.locator(".complaint").count(), 0);
  }));

test("what a person cannot do is said beside where they tried, until the next attempt", () =>
  withPage({ mayFail: true }, async (page) => {
    await choose(page, "ticTacToe");
    await turn(page);
    // Another page at the table has moved meanwhile, so that the move is for an earlier position.
    await page.route("**/api/tables/*", (route) => {
      const { method, body } = { method: route.request().method(), body: route.request().postDataJSON() };
      if (method !== "POST" || body.do !== "move") return route.continue();
      return route.continue({ postData: JSON.stringify({ ...body, turn: 7 }) });
    });
    await page.locator("#board .target").first().click();
    await page.waitForSelector(".complaint");
    assert.match(await page.innerText(".complaint"), /earlier position/);
    await screenshot(page, "play-complaint", true);
    const [said, board] = [".complaint", "#board"].map((it) => page.locator(it).boundingBox());
    const gap = (await said).y - ((await board).y + (await board).height);
    assert.ok(gap >= 0 && gap < 30, `${gap} pixels below the board`);
    await page.click("#hint");
    await page.waitForSelector("#board .hinted");
    assert.equal(await page.locator(".complaint").count(), 0);
  }));

test("moves that nobody chooses keep a pace, and are stopped and go on", () =>
  withPage({}, async (page) => {
    await page.goto(`${server.address}/play`);
    await page.click("#own summary");
    await page.fill("#own-rules", "(role a) (role b) (init (n 0)) (succ 0 1) (succ 1 2) (succ 2 0) (<= (legal ?r go) (role ?r)) (<= (next (n ?y)) (true (n ?x)) (succ ?x ?y)) (<= terminal (true (n 3))) (goal a 50) (goal b 50)");
    await page.click("#own-play");
    await page.waitForFunction(() => document.querySelectorAll("#course li").length >= 2);
    assert.equal(await page.innerText("#says"), "Nobody has a choice: the game goes on by itself.");
    await screenshot(page, "play-forced", true);
    await page.click("#pause");
    await page.waitForFunction(() => /^Paused/.test(document.getElementById("says").textContent));
    const before = await turnsMade(page);
    await page.waitForTimeout(1500);
    assert.equal(await turnsMade(page), before);
    assert.equal(await page.innerText("#pause"), "Go on");
    await page.click("#pause");
    await page.waitForFunction((turns) => document.querySelectorAll("#course li").length > turns, before);
  }));

test("Panza's seconds are counted, and it plays its best move when it is told to", () =>
  withPage({}, async (page) => {
    await choose(page, "connectFour", { people: "black", level: "7" });
    await page.waitForFunction(() => document.getElementById("clock").textContent === "2 s");
    assert.match(await page.innerText("#says"), /You play black\. Panza searches for red/);
    await screenshot(page, "play-thinks", true);
    await page.click("#stop");
    assert.match(await turn(page), /Your turn: you play black/);
    assert.equal(await turnsMade(page), 1);
    assert.equal(await page.innerText("#clock"), "");
    // A hint says so too.
    await page.click("#hint");
    await page.waitForFunction(() => /Your turn: you play black\. Panza looks for a hint/.test(document.getElementById("says").textContent));
    await page.waitForSelector("#board .hinted");
  }));

test("the second half of a turn is named", { skip: !existsSync(join(GAMEMASTER, "pentago.hrf")) }, () =>
  withPage({}, async (page) => {
    await page.goto(`${server.address}/play`);
    await page.selectOption("#level", "2");
    await page.click("#own summary");
    await page.fill("#own-rules", readFileSync(join(GAMEMASTER, "pentago.hrf"), "utf8"));
    await page.click("#own-play");
    await turn(page);
    await page.locator("#moves button").first().click();
    await page.waitForFunction(() => /goes on: now rotate/.test(document.getElementById("says").textContent));
  }));


test("a narrow and dark screen is no wider than the page", () =>
  withPage({ viewport: { width: 390, height: 800 }, colorScheme: "dark" }, async (page) => {
    await choose(page, "checkers");
    await turn(page);
    await screenshot(page, "play-narrow", true);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
  }));
