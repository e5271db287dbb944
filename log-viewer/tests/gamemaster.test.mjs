// The page that plays in Gamemaster: its reader of rules, and matches of the saved page at another
// origin.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

import { ROW, checkTimers, listPlayer, playMatch, recordTimers, rulesOf, servePages, slowTimers } from "./gamemaster.mjs";
import { closeBrowser, openBrowser, withPage } from "./page.mjs";
import { serve } from "./server.mjs";

/** Test data of the dialect; see its README. */
const SHARED = process.env.PANZA_GAMEMASTER ?? fileURLToPath(new URL("../../../shared/gamemaster", import.meta.url));
/** Steps of a recorded playout that are followed. */
const MOST_STEPS = 12;
/** Games whose rules take too long from left to right, as for Gamemaster itself. */
const COSTLY = ["badconnectfour", "badqueens", "badqueens6x6", "badtictactoe"];

let folder;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "panza-gamemaster-"));
  await openBrowser();
});
after(async () => {
  await closeBrowser();
  await rm(folder, { recursive: true, force: true });
});

test("rules are followed as recorded", { skip: !existsSync(SHARED) && "no recorded playouts" }, async () => {
  const names = (await readdir(join(SHARED, "traces"))).filter((name) => !name.includes(".manager."));
  let states = 0;
  for (const file of names) {
    const name = file.replace(".jsonl.gz", "");
    if (COSTLY.includes(name)) continue;
    const game = await rulesOf(await readFile(join(SHARED, "games", `${name}.hrf`), "utf8"));
    const lines = gunzipSync(await readFile(join(SHARED, "traces", file))).toString().trim().split("\n");
    for (const state of lines.map((line) => JSON.parse(line)).slice(0, MOST_STEPS)) {
      if (state.playout !== 0) break;
      const facts = [...game.state.values()].flat().length;
      assert.equal(facts, state.facts.length, `${name}, step ${state.step}: facts`);
      assert.equal(game.first("control(X)"), state.control, `${name}, step ${state.step}: control`);
      assert.equal(game.first("legal(X)"), state.firstlegal ?? null, `${name}, step ${state.step}: legal`);
      const isTerminal = game.first("terminal & same(X,yes)") !== null;
      if (state.terminal !== undefined) assert.equal(isTerminal, state.terminal, `${name}, step ${state.step}: end`);
      states += 1;
      if (state.moves.length === 0) break;
      game.play(state.moves[0]);
    }
  }
  assert.ok(states > 300, `${states} states`);
});

test("a relation may have a name that every object has a member of", async () => {
  const game = await rulesOf("constructor(1,2)\nlegal(b) :- constructor(2,1)\nlegal(a) :- constructor(1,2)");
  assert.equal(game.first("legal(X)"), "a");
});

test("what is no rulesheet is refused", async () => {
  for (const text of ["role(", "p :- <", "p(X", "a )", `${"(".repeat(1000)}a`]) {
    await assert.rejects(rulesOf(text), text.slice(0, 20));
  }
});

/** Saves the page as one file, and gives it a key. */
async function savedPage(address) {
  let text;
  let key;
  await withPage({ acceptDownloads: true }, async (page) => {
    await page.goto(`${address}/gamemaster`);
    await page.getByText("Panza is there").waitFor();
    key = await page.locator("#shown-key").textContent();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByText("Save the page").click()]);
    assert.equal(download.suggestedFilename(), "panza.html");
    text = await readFile(await download.path(), "utf8");
  });
  assert.ok(!text.includes(key), "the key is not in the file");
  return { text, key };
}

/**
 * Starts the player and a server of pages at another origin, and opens the saved page with the key.
 */
async function withSavedPage(act) {
  // The origin has to be known to the player, whose page has to be known to the origin.
  const pages = { "/manager": "<!doctype html><title>manager</title>" };
  const site = await servePages(pages);
  const server = await serve(folder, 0, [`server.gamemaster_origins=${site.origin}`, "player.margin_seconds=0.2"]);
  let isUp = true;
  const stop = async () => {
    if (isUp) await server.stop();
    isUp = false;
  };
  try {
    const { text, key } = await savedPage(server.address);
    pages["/panza.html"] = text;
    await withPage({ mayFail: true }, async (page) => {
      const context = page.context();
      const open = async (path) => {
        const other = await context.newPage();
        await other.goto(`${site.origin}/${path}`);
        return other;
      };
      await page.addInitScript(slowTimers);
      await page.addInitScript(recordTimers);
      await page.goto(`${site.origin}/panza.html`);
      await page.getByText("Give this page the key").waitFor();
      await page.getByLabel("Key").fill("wrong");
      await page.getByLabel("Key").blur();
      await page.getByText("the key is missing or wrong").waitFor();
      await page.getByLabel("Key").fill(key);
      await page.getByLabel("Key").blur();
      await page.getByText("Panza is there").waitFor();
      await act({ page, context, origin: site.origin, pages, open, stop });
    });
  } finally {
    await stop();
    await site.stop();
  }
}

const MOVES = [3, 2, 4, 1, 5].map((number) => `mark(${number})`);
const ROLES = ["x", "o"];
/** Panza's moves are proven and answered at once; a browser on busy cores needs the rest. */
const CLOCK = 20;
/** The same where the page waits for Panza in vain nearly to the end of each clock. */
const SHORT_CLOCK = 8;
const MATCH = { text: ROW, roles: ROLES, startClock: CLOCK, playClock: CLOCK };

test("the saved page plays whole matches at another origin", { timeout: 240_000 }, async () => {
  await withSavedPage(async ({ page, context, origin, pages, open }) => {
    for (const players of [["panza", "second"], ["first", "panza"]]) {
      const other = players.find((name) => name !== "panza");
      pages[`/${other}`] = listPlayer(other, MOVES);
      await open(other);
      const { rewards, turns } = await playMatch(context, origin, { ...MATCH, players });
      const own = ROLES[players.indexOf("panza")];
      for (const { role, isLegal, move } of turns.filter((turn) => turn.role === own)) {
        assert.ok(isLegal, `${role} answered ${move}`);
      }
      await checkTimers(page, CLOCK);
      // Both can draw.
      assert.ok(rewards[players.indexOf("panza")] >= 50, `${rewards}`);
      const answers = await page.locator("#turns tr[data-what=play] td:nth-child(5)").allTextContents();
      assert.deepEqual([...new Set(answers)].sort(), ["", "Panza"]);
      await page.getByRole("link", { name: "See what Panza thinks" }).waitFor();
    }
    assert.equal(await page.locator("#problem").textContent(), "");
  });
});

test("without Panza the page plays legal moves of its own and says so", { timeout: 240_000 }, async () => {
  await withSavedPage(async ({ page, context, origin, pages, open, stop }) => {
    pages["/other"] = listPlayer("other", MOVES);
    await open("other");
    const { turns } = await playMatch(context, origin, {
      ...MATCH,
      playClock: SHORT_CLOCK,
      players: ["panza", "other"],
      afterTurn: async (count) => {
        if (count !== 1) return;
        await checkTimers(page, CLOCK);
        await stop();
      },
    });
    for (const { isLegal, move } of turns.filter((turn) => turn.role === "x")) assert.ok(isLegal, `answered ${move}`);
    await checkTimers(page, SHORT_CLOCK);
    const answers = await page.locator("#turns tr[data-what=play] td:nth-child(5)").allTextContents();
    assert.equal(answers[0], "Panza");
    assert.ok(answers.includes("this page"), `${answers}`);
    await page.getByText("Panza cannot be reached").waitFor();
  });
});

test("where the browser keeps a page from this machine, a window of Panza passes messages on", { timeout: 240_000 }, async () => {
  await withSavedPage(async ({ page, context, origin, pages, open }) => {
    await page.route("**/gamemaster/message", (route) => route.abort());
    await page.getByLabel("Key").fill((await page.getByLabel("Key").inputValue()).concat(" "));
    await page.getByLabel("Key").blur();
    await page.getByText("Panza cannot be reached").waitFor();
    const [bridge] = await Promise.all([context.waitForEvent("page"), page.getByText("through a window of its own").click()]);
    await bridge.getByText("Leave it open").waitFor();
    await page.getByText("Panza is there").waitFor();
    pages["/other"] = listPlayer("other", MOVES);
    await open("other");
    const { turns } = await playMatch(context, origin, { ...MATCH, players: ["panza", "other"] });
    assert.ok(turns.every(({ role, isLegal }) => role === "o" || isLegal));
    const answers = await page.locator("#turns tr[data-what=play] td:nth-child(5)").allTextContents();
    assert.deepEqual([...new Set(answers)].sort(), ["", "Panza"]);
  });
});
