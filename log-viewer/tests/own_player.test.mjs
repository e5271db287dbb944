// The one file that plays in Gamemaster with Panza in it, in a browser without a server of Panza.
// `PANZA_GAMEMASTER_FILE` names the file; `scripts/wasm` makes it.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";

import { ROW, checkTimers, listPlayer, playMatch, recordTimers, servePages, slowTimers } from "./gamemaster.mjs";
import { closeBrowser, openBrowser, screenshot, withPage } from "./page.mjs";

const { PANZA_GAMEMASTER_FILE } = process.env;
const skip = PANZA_GAMEMASTER_FILE === undefined && "the one file was not built: PANZA_GAMEMASTER_FILE names it";
const ROLES = ["x", "o"];
const MOVES = [3, 2, 4, 1, 5].map((number) => `mark(${number})`);
/** Seconds; the rules are proven at once, and a browser on busy cores needs the rest. */
const CLOCK = 20;
/** Where each clock is used to its end. */
const SHORT_CLOCK = 6;

before(async () => {
  if (!skip) await openBrowser();
});
after(closeBrowser);

/**
 * Opens the file at the origin of a manager. `isHidden` slows its timers down as in the background;
 * `processors` is what the browser says that the machine has.
 */
async function withFile({ isHidden, processors = 2 }, act) {
  const pages = { "/manager": "<!doctype html><title>manager</title>", "/panza.html": await readFile(PANZA_GAMEMASTER_FILE, "utf8") };
  const site = await servePages(pages);
  try {
    await withPage({}, async (page) => {
      const context = page.context();
      const asked = [];
      context.on("request", (request) => {
        if (!request.url().startsWith("blob:") && !request.url().startsWith(site.origin)) asked.push(request.url());
      });
      if (isHidden) await page.addInitScript(slowTimers);
      await page.addInitScript(recordTimers);
      await page.addInitScript((number) => Object.defineProperty(navigator, "hardwareConcurrency", { value: number }), processors);
      await page.goto(`${site.origin}/panza.html`);
      await page.getByText("Panza is there").waitFor();
      const open = async (path) => {
        const other = await context.newPage();
        await other.goto(`${site.origin}/${path}`);
      };
      await act({ page, context, origin: site.origin, pages, open });
      assert.deepEqual(asked, []);
    });
  } finally {
    await site.stop();
  }
}

/** A match between the file and a player of the test, who makes the first legal move of a list. */
async function match({ context, origin, pages, open }, players, more = {}) {
  const other = players.find((name) => name !== "panza");
  pages[`/${other}`] = listPlayer(other, MOVES);
  await open(other);
  return playMatch(context, origin, { text: ROW, roles: ROLES, players, startClock: CLOCK, playClock: CLOCK, ...more });
}

const answers = (page) => page.locator("#turns tr[data-what=play] td:nth-child(5)").allTextContents();

async function checkTurns(page, turns, role) {
  const own = turns.filter((turn) => turn.role === role);
  assert.ok(own.length > 0);
  for (const { isLegal, move } of own) assert.ok(isLegal, `${role} answered ${move}`);
  await checkTimers(page, CLOCK);
}

for (const isHidden of [false, true]) {
  test(`the one file plays whole matches${isHidden ? " in the background" : ""}`, { skip, timeout: 240_000 }, () =>
    withFile({ isHidden }, async (file) => {
      const { page } = file;
      for (const players of [["panza", "second"], ["first", "panza"]]) {
        const { rewards, turns } = await match(file, players);
        const seat = players.indexOf("panza");
        await checkTurns(page, turns, ROLES[seat]);
        // Both can draw; the other player's list may lose.
        assert.ok(rewards[seat] >= 50, `${rewards}`);
        assert.deepEqual([...new Set(await answers(page))].sort(), ["", "Panza"]);
        const thoughts = new RegExp(`^Panza would play mark\\(\\d\\), worth ${rewards[seat]}\\.0, .* It expects mark`);
        assert.match(await page.locator("#thoughts").textContent(), thoughts);
      }
      assert.equal(await page.locator("#problem").textContent(), "");
      await screenshot(page, "own-player", true);
    }));
}

test("companions search the match too, and their ends cost nothing", { skip, timeout: 240_000 }, () =>
  withFile({ isHidden: true, processors: 6 }, async (file) => {
    const { page } = file;
    const isThere = () => globalThis.ownPlayer.companions.map(({ worker }) => worker !== null);
    assert.deepEqual(await page.evaluate(isThere), [true, true]);
    // A companion is asked for reports from the start, and again after each that it has given.
    const afterTurn = async (count) => {
      if (count !== 1) return;
      await page.waitForFunction(() => globalThis.ownPlayer.companions.every(({ asked }) => asked > 2));
      await page.evaluate(() => globalThis.ownPlayer.companions[0].fail("a test ends it"));
    };
    const { rewards, turns } = await match(file, ["panza", "other"], { afterTurn });
    await checkTurns(page, turns, "x");
    assert.ok(rewards[0] >= 50, `${rewards}`);
    assert.deepEqual([...new Set(await answers(page))].sort(), ["", "Panza"]);
    assert.deepEqual(await page.evaluate(isThere), [false, true]);
  }));

test("a module that fails costs a move at most, and the match goes on", { skip, timeout: 240_000 }, () =>
  withFile({ isHidden: true }, async (file) => {
    const { page } = file;
    const fail = () => globalThis.ownPlayer.module.fail("a test ends it");
    const afterTurn = (count) => (count === 1 ? page.evaluate(fail) : undefined);
    const { turns } = await match(file, ["panza", "other"], { afterTurn });
    await checkTurns(page, turns, "x");
    assert.deepEqual([...new Set(await answers(page))].sort(), ["", "Panza"]);
  }));

test("a module that hangs costs two moves, which the page makes itself", { skip, timeout: 240_000 }, () =>
  withFile({ isHidden: true }, async (file) => {
    const { page } = file;
    const hang = () => {
      const { worker } = globalThis.ownPlayer.module;
      worker.onmessage = null;
    };
    const afterTurn = async (count) => {
      if (count !== 2) return;
      // The message of the other's turn would be a second one that is missing.
      await page.waitForFunction(() => globalThis.ownPlayer.nAsked === 0);
      await page.evaluate(hang);
    };
    const { turns } = await match(file, ["panza", "other"], { playClock: SHORT_CLOCK, afterTurn });
    for (const { isLegal, move } of turns.filter(({ role }) => role === "x")) assert.ok(isLegal, move);
    assert.deepEqual((await answers(page)).filter((answer) => answer !== ""), ["Panza", "this page", "this page"]);
    // Two answers were missing: the message after them has started another worker, which is heard.
    await page.waitForFunction(() => typeof globalThis.ownPlayer.module.worker?.onmessage === "function");
  }));
