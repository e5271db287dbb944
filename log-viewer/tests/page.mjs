// Pages of the log viewer in a browser, and what they show.

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";

const { SCREENSHOTS, CHROMIUM = "/usr/bin/chromium" } = process.env;

let browser;

export async function openBrowser() {
  if (SCREENSHOTS) await mkdir(SCREENSHOTS, { recursive: true });
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
}

export async function closeBrowser() {
  await browser?.close();
}

/** Opens a page, does something with it, and sees that no error was written to its console; `mayFail`, where loading something may. */
export async function withPage({ mayFail = false, ...options }, act) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, ...options });
  // A browser on busy cores can need longer than the library's 30 s.
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error.stack)));
  page.on("dialog", (dialog) => errors.push(`a dialog says ${dialog.message()}`));
  page.on("console", (message) => {
    // The browser itself writes down what it could not load, which some tests ask for.
    const isExpected = mayFail && message.text().startsWith("Failed to load resource");
    if (["error", "warning"].includes(message.type()) && !isExpected) errors.push(message.text());
  });
  try {
    await act(page);
  } finally {
    await context.close();
  }
  assert.deepEqual(errors, []);
}

export async function screenshot(page, name, fullPage = false) {
  if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage });
}

/** Scrolls through the page, so that everything on it is drawn. */
export async function scrollThrough(page) {
  const height = await page.evaluate(() => document.body.scrollHeight);
  for (let y = 0; y < height; y += 600) {
    await page.evaluate((to) => window.scrollTo(0, to), y);
    await page.waitForTimeout(120);
  }
  await page.evaluate(() => window.scrollTo(0, 0));
}

/** How many points each line of a chart has, by the line's name. */
export async function points(page, chart) {
  await page.locator(`#chart-${chart}`).scrollIntoViewIfNeeded();
  await page.waitForSelector(`#chart-${chart} .main-svg`);
  return page.evaluate(
    (id) => Object.fromEntries(document.getElementById(id).data.map((line) => [line.name, line.x.length])),
    `chart-${chart}`,
  );
}

/** What lies on the board, by cell, empty cells left out. */
export function board(page) {
  return page.evaluate(() =>
    Object.fromEntries(
      [...document.querySelectorAll("#position [data-cell]")]
        .filter((cell) => cell.dataset.content !== "")
        .map((cell) => [cell.dataset.cell, cell.dataset.content]),
    ),
  );
}

/** The same from the facts of a position of connectFour. */
export function discs(facts) {
  const found = facts.map((fact) => /^\(cell (\d+ \d+) (\w+)\)$/.exec(fact)).filter((match) => match !== null);
  return Object.fromEntries(found.map(([, cell, content]) => [cell, content]));
}

/** Whether the newest turn is shown; asked in one go, since the next may come at any moment. */
export function isAtNewest(page) {
  return page.evaluate(() => {
    const slider = document.getElementById("slider");
    return slider.value === slider.max;
  });
}

/** The plan that the page shows: the text of its facts, and the move that is marked. */
export async function shownPlan(page) {
  return {
    facts: await page.locator("#plan dd").allInnerTexts(),
    current: (await page.locator("#plan li[aria-current]").allInnerTexts()).map((text) => text.replace(/\s+/g, " ")),
  };
}
