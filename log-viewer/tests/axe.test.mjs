// The pages under axe, which looks for what keeps people with a screen reader, with weak eyes or without a mouse away:
// light and dark, wide and narrow. No page may have a serious or critical finding.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { closeBrowser, openBrowser, scrollThrough, withPage } from "./page.mjs";
import { makeMatch, makePuzzle, writeMatch } from "./samples.mjs";
import { serve } from "./server.mjs";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const games = (page) => page.waitForSelector("[data-game]");

/** Chooses a game at `/play` or `/study`, so that its board is looked at too. */
async function chooseGame(page) {
  await page.click('[data-game="connectFour"]');
  await page.waitForSelector("#board .target");
}

async function study(page) {
  await chooseGame(page);
  await page.waitForSelector("#thoughts tbody tr");
  await page.click("#pause");
  await page.locator("#board .target").first().click();
  await page.waitForSelector("#lines [aria-current]");
  await page.waitForSelector("#board .target");
}

async function match(page) {
  await page.waitForSelector("#position :is(svg.board, .fact)");
  await scrollThrough(page);
}

/** Each page: its path, and what is done on it first. */
const PAGES = [
  ["/", async (page) => page.waitForSelector("table")],
  ["/matches/sample", match],
  ["/matches/puzzle", match],
  ["/matches/nothing", async () => {}],
  ["/viewer", async () => {}],
  ["/play", games],
  ["/play", chooseGame],
  ["/study", games],
  ["/study", study],
  ["/gamemaster", async (page) => page.getByText("Panza is there").waitFor()],
  ["/training", async (page) => page.getByText("No game is trained yet").waitFor()],
  ["/edit", async (page) => page.waitForSelector(".cm-content")],
];

let folder;
let server;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "panza-axe-"));
  await writeMatch(join(folder, "sample"), makeMatch({ turns: 12 }));
  await writeMatch(join(folder, "puzzle"), makePuzzle());
  server = await serve(folder);
  await openBrowser();
});

after(async () => {
  await closeBrowser();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The findings of axe that keep people away, as lines of text. */
async function findings(page) {
  const { violations } = await page.evaluate(() => axe.run());
  const serious = violations.filter((it) => ["serious", "critical"].includes(it.impact));
  return serious.flatMap((it) => it.nodes.map((node) => `${it.id}: ${node.target} ${node.html.slice(0, 120)}`));
}

describe("nothing keeps people away", { concurrency: false }, () => {
  for (const [path, act] of PAGES) {
    const what = [chooseGame, study].includes(act) ? `${path} with a game` : path;
    test(what, async () => {
      // There is no such match, so that the server refuses the page.
      const mayFail = path === "/matches/nothing";
      // The page is opened once, and then shown in each colour at each width.
      await withPage({ mayFail }, async (page) => {
        await page.goto(server.address + path);
        await act(page);
        await page.evaluate(AXE);
        const found = [];
        for (const colorScheme of ["light", "dark"]) {
          await page.emulateMedia({ colorScheme });
          for (const width of [1280, 390]) {
            await page.setViewportSize({ width, height: 900 });
            found.push(...(await findings(page)).map((line) => `${colorScheme}, ${width} pixels wide: ${line}`));
          }
        }
        assert.deepEqual(found, []);
      });
    });
  }
});
