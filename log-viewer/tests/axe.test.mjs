// The pages under axe, which looks for what keeps people with a screen reader, with weak eyes or without a mouse away:
// light and dark, wide and narrow. No page may have a serious or critical finding.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { closeBrowser, openBrowser, withPage } from "./page.mjs";
import { makeMatch, makePuzzle, writeMatch } from "./samples.mjs";
import { serve } from "./server.mjs";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Chooses a game at `/play` or `/study`, so that its board is looked at too. */
async function chooseGame(page) {
  await page.getByText("Connect Four", { exact: false }).first().click();
  await page.waitForSelector("svg");
}

/** Each page: its path, and what is done on it first. */
const PAGES = [
  ["/", async (page) => page.waitForSelector("table")],
  ["/matches/sample", async (page) => page.waitForSelector("svg")],
  ["/matches/puzzle", async (page) => page.waitForSelector("svg")],
  ["/matches/nothing", async () => {}],
  ["/viewer", async () => {}],
  ["/play", async () => {}],
  ["/play", chooseGame],
  ["/study", async () => {}],
  ["/study", chooseGame],
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
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => axe.run());
  const serious = violations.filter((it) => ["serious", "critical"].includes(it.impact));
  return serious.flatMap((it) => it.nodes.map((node) => `${it.id}: ${node.target} ${node.html.slice(0, 120)}`));
}

describe("nothing keeps people away", { concurrency: false }, () => {
  for (const [colorScheme, width] of [
    ["light", 1280],
    ["dark", 390],
  ]) {
    for (const [path, act] of PAGES) {
      const what = act === chooseGame ? `${path} with a game` : path;
      test(`${what}, ${colorScheme}, ${width} pixels wide`, async () => {
        // There is no such match, so that the server refuses the page.
        const mayFail = path === "/matches/nothing";
        const options = { colorScheme, viewport: { width, height: 900 }, mayFail };
        await withPage(options, async (page) => {
          await page.goto(server.address + path);
          await act(page);
          assert.deepEqual(await findings(page), []);
        });
      });
    }
  }
});
