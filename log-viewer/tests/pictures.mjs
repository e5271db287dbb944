// Pictures of the boards of all games of the program: `node pictures.mjs`, after a build, writes the
// folder docs/pictures/boards and the last section of docs/boards.md. Games of several roles are
// shown after a few random moves.

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

const logs = await mkdtemp(join(tmpdir(), "panza-pictures-"));
const server = await serve(logs);
await mkdir(FOLDER, { recursive: true });
await openBrowser();
let section = SECTION;
try {
  const { games } = await (await fetch(`${server.address}/api/games`)).json();
  for (const game of games) {
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
const page = join(DOCS, "boards.md");
const text = await readFile(page, "utf8");
await writeFile(page, text.slice(0, text.indexOf(SECTION)) + section);
