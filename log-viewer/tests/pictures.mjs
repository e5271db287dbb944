// Pictures for the documents: `node pictures.mjs`, after a build, writes the folder
// docs/pictures/boards with the boards of all games of the program, the last section of
// docs/boards.md, and docs/pictures/study.png. Games of several roles are shown after a few random
// moves. `node pictures.mjs study` makes the last one alone.

import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { closeBrowser, openBrowser, withPage } from "./page.mjs";
import { serve } from "./server.mjs";

const DOCS = fileURLToPath(new URL("../../docs/", import.meta.url));
const FOLDER = join(DOCS, "pictures/boards");
const SECTION = "## The games of the program\n";
const HEADERS = { "Content-Type": "application/json", "panza-page": "1" };
const MOVES = 6;

async function post(address, body) {
  const answer = await fetch(address, { method: "POST", headers: HEADERS, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

/** The view of a table in which a person is asked after this turn, or the game is over. */
async function asked(address, turn) {
  for (let version = 0; ; ) {
    const view = await (await fetch(`${address}?after=${version}`)).json();
    const isAsked = view.legal.some((moves) => moves.length > 0) && view.moves.length >= turn;
    if (isAsked || view.phase === "over") return view;
    version = view.version;
  }
}

async function open(server, game) {
  const { table } = await post(`${server}/api/tables`, { game: game.name, people: "all" });
  const address = `${server}/api/tables/${table}`;
  let view = await asked(address, 0);
  let random = 7;
  while (game.roles.length > 1 && view.moves.length < MOVES && view.phase !== "over") {
    const turn = view.moves.length;
    for (const [role, moves] of view.legal.entries()) {
      if (moves.length === 0) continue;
      random = (random * 48271) % 2147483647;
      await post(address, { do: "move", turn, role: view.roles[role], text: moves[random % moves.length] });
    }
    view = await asked(address, turn + 1);
  }
  return table;
}

/** A game of Connect Four in which red overlooks a threat, and another line. */
const STUDIED = [4, 4, 5, 3, 6, 7, 4, 5, 5, 3, 3, 6, 2, 5, 6, 6];
const ASIDE = [4, 4, 5, 6, 4, 5];

function drops(columns) {
  return columns.map((column, turn) => (turn % 2 === 0 ? [`(drop ${column})`, "noop"] : ["noop", `(drop ${column})`]));
}

async function study(server) {
  const { table } = await post(`${server}/api/tables`, {
    game: "connectFour",
    seconds: 30,
    study: { line: drops(STUDIED), turn: 12 },
  });
  await withPage({ viewport: { width: 1180, height: 900 } }, async (page) => {
    await page.goto(`${server}/study#${table}`);
    await page.waitForSelector("#thoughts tbody tr");
    await page.click("#texts summary");
    await page.fill("#text", drops(ASIDE).map(([red, black]) => `(${red} ${black})`).join("\n"));
    await page.click("#paste");
    await page.waitForFunction(() => /turn 6/.test(document.getElementById("turn-name").textContent));
    await page.waitForTimeout(2000);
    await page.click("#texts summary");
    await page.locator("#lines > li .plain").last().click();
    await page.click("#review");
    await page.waitForFunction(() => / in \d+ turns\.$/.test(document.getElementById("review-says").textContent), null, { timeout: 60_000 });
    await page.locator("#lines > li .plain").nth(9).click();
    await page.waitForTimeout(6000);
    await page.locator("#main").focus();
    await page.evaluate(() => window.scrollTo(0, 0));
    await page.screenshot({ path: join(DOCS, "pictures/study.png") });
  });
}

const logs = await mkdtemp(join(tmpdir(), "panza-pictures-"));
const server = await serve(logs);
await mkdir(FOLDER, { recursive: true });
await openBrowser();
let section = SECTION;
const isStudyAlone = process.argv[2] === "study";
try {
  await study(server.address);
  const { games } = await (await fetch(`${server.address}/api/games`)).json();
  for (const game of isStudyAlone ? [] : games) {
    const table = await open(server.address, game);
    await withPage({ viewport: { width: 460, height: 900 } }, async (page) => {
      await page.goto(`${server.address}/play#${table}`);
      await page.waitForSelector("#board svg");
      await page.waitForTimeout(400);
      await page.locator("#board").screenshot({ path: join(FOLDER, `${game.name}.png`) });
    });
    await post(`${server.address}/api/tables/${table}`, { do: "close" });
    section += `\n${game.title} (\`${game.name}\`)\n\n![${game.title}](pictures/boards/${game.name}.png)\n`;
  }
} finally {
  await closeBrowser();
  await server.stop();
  await rm(logs, { recursive: true, force: true });
}
if (!isStudyAlone) {
  const page = join(DOCS, "boards.md");
  const text = await readFile(page, "utf8");
  await writeFile(page, text.slice(0, text.indexOf(SECTION)) + section);
}
