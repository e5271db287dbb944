// The pages under axe, which looks for what keeps people with a screen reader, with weak eyes or without a mouse away:
// light and dark, at three widths. No page may have a serious or critical finding, or be wider than the screen.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { closeBrowser, openBrowser, screenshot, scrollThrough, withPage } from "./page.mjs";
import { makeMatch, makePuzzle, writeMatch } from "./samples.mjs";
import { serve } from "./server.mjs";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The games to choose from, with pictures, a game that goes on and a rulesheet of one's own. */
async function games(page) {
  await page.evaluate(() => {
    const sheet = { name: "own", rules: "(role a)", title: "A game of one's own", words: ["It is short."], roles: ["a", "b"] };
    localStorage.setItem("panza-sheets", JSON.stringify([sheet]));
  });
  await page.reload();
  await page.waitForSelector("[data-game] svg.board");
  await scrollThrough(page);
}

async function rules(page) {
  await page.click('[aria-label="Rules of Sokoban"]');
  await page.waitForSelector("dialog");
}

async function keys(page) {
  await page.getByLabel("Keys of this page").click();
  await page.waitForSelector("dialog");
}

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
  ["/play", rules],
  ["/play", chooseGame],
  ["/study", games],
  ["/study", study],
  ["/gamemaster", async (page) => page.getByText("Panza is there").waitFor()],
  ["/training", async (page) => page.getByText("No game is trained yet").waitFor()],
  ["/edit", async (page) => page.waitForSelector(".cm-content")],
  ["/edit", keys],
];
/** What is done on a page, in the names of its test and its pictures. */
const NAMES = new Map([[chooseGame, "with a game"], [study, "with a game"], [rules, "with rules"], [keys, "with keys"]]);

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

/**
 * The findings of axe that keep people away, as lines of text; of `rules` alone, where not all are asked for. The boards
 * on tiles are left out: they are hidden from screen readers.
 */
async function findings(page, rules = []) {
  const how = { resultTypes: ["violations"], ...(rules.length > 0 ? { runOnly: rules } : {}) };
  const { violations } = await page.evaluate((options) => axe.run({ exclude: [".picture"] }, options), how);
  const serious = violations.filter((it) => ["serious", "critical"].includes(it.impact));
  return serious.flatMap((it) => it.nodes.map((node) => `${it.id}: ${node.target} ${node.html.slice(0, 120)}`));
}

describe("nothing keeps people away", { concurrency: false }, () => {
  for (const [path, act] of PAGES) {
    const what = NAMES.has(act) ? `${path} ${NAMES.get(act)}` : path;
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
          for (const width of [1280, 390, 320]) {
            await page.setViewportSize({ width, height: 900 });
            // In the dark the colours alone are others.
            const rules = colorScheme === "dark" ? ["color-contrast"] : [];
            found.push(...(await findings(page, rules)).map((line) => `${colorScheme}, ${width} pixels wide: ${line}`));
            const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
            if (over > 0) found.push(`${width} pixels wide: ${over} pixels reach beyond the screen`);
            await screenshot(page, `page${what.replaceAll(/\W+/g, "-")}-${width}-${colorScheme}`, true);
          }
        }
        assert.deepEqual(found, []);
      });
    });
  }
});
