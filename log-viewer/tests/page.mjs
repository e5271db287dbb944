// What a page of the log viewer shows, asked in the browser.

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
