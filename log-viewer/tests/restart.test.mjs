// Tables in a real browser while the server is stopped and started again: they go on, in every tab.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { closeBrowser, openBrowser, screenshot, withPage } from "./page.mjs";
import { serve } from "./server.mjs";

let folder;
let server;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "panza-restart-"));
  server = await serve(join(folder, "logs"));
  await openBrowser();
});

after(async () => {
  await closeBrowser();
  await server?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Starts the server again at its port. */
async function startAgain() {
  server = await serve(join(folder, "logs"), Number(new URL(server.address).port));
}

const says = (page, wanted) => page.waitForFunction((text) => new RegExp(text).test(document.getElementById("says").textContent), wanted);
const turns = (page, wanted) => page.waitForFunction((count) => document.querySelectorAll("#course li").length === count, wanted);

/** What lies on each cell. */
const cells = (page) => page.evaluate(() => [...document.querySelectorAll("#board [data-cell]")].map((cell) => cell.dataset.content));

test("a game goes on in every tab after a restart of the server", () =>
  withPage({ mayFail: true }, async (page) => {
    await page.goto(`${server.address}/play`);
    await page.selectOption("#level", "2");
    await page.click('[data-game="connectFour"]');
    await says(page, "Your turn");
    await page.locator("#board .target").first().click();
    await turns(page, 2);
    await says(page, "Your turn");
    const other = await page.context().newPage();
    await other.goto(page.url());
    await turns(other, 2);
    const before = await cells(page);
    await server.stop();
    for (const tab of [page, other]) await says(tab, "Panza does not answer");
    assert.deepEqual(await cells(page), before, "the board stays");
    assert.equal(await page.locator("#board .target").count(), 0, "no move can be made");
    await screenshot(page, "play-away", true);
    await startAgain();
    for (const tab of [page, other]) await says(tab, "Your turn");
    for (const tab of [page, other]) assert.deepEqual(await cells(tab), before);
    await other.locator("#board .target").first().click();
    for (const tab of [page, other]) await turns(tab, 4);
    for (const tab of [page, other]) await says(tab, "Your turn");
    assert.deepEqual(await cells(page), await cells(other));
    // The same game again, though this tab did not open it.
    await other.click("#again");
    await turns(other, 0);
    await says(other, "Your turn");
    await turns(page, 4);
  }));

test("a study comes back with its lines, and its tabs show the same", () =>
  withPage({ mayFail: true }, async (page) => {
    const items = (tab, wanted) => tab.waitForFunction((count) => document.querySelectorAll("#lines button").length === count, wanted);
    const at = (tab, wanted) => tab.waitForFunction((turn) => document.getElementById("turn-name").textContent.startsWith(`After turn ${turn} `), wanted);
    const drop = async (tab, column) => {
      await tab.waitForSelector("#board .target");
      await tab.locator(`#board [data-cell="${column} 1"]`).click();
    };
    await page.goto(`${server.address}/study`);
    await page.click('[data-game="connectFour"]');
    await drop(page, 4);
    await at(page, 1);
    await drop(page, 5);
    await at(page, 2);
    await page.click("#previous");
    await at(page, 1);
    await drop(page, 2);
    await at(page, 2);
    await items(page, 3);
    const other = await page.context().newPage();
    await other.goto(page.url());
    await items(other, 3);
    await at(other, 2);
    await server.stop();
    for (const tab of [page, other]) await says(tab, "Panza does not answer");
    await startAgain();
    for (const tab of [page, other]) await says(tab, "to move");
    await drop(other, 7);
    for (const tab of [other, page]) {
      await at(tab, 3);
      await items(tab, 4);
    }
    await page.click("#first");
    await other.waitForFunction(() => document.getElementById("turn-name").textContent.startsWith("Start"));
    await page.reload();
    await items(page, 4);
  }));
