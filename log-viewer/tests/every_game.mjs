// Whether every legal move of many games can be made on the page: `node every_game.mjs FOLDER [STEPS]` plays each
// rulesheet of a folder by random moves, 20 turns of each unless STEPS says otherwise, through the page's own code. A
// move must be listed, and clicking on the cells that it is tied to must come to it.

import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { layOut, readShapes } from "../board.js";
import { pick, readChoices } from "../choices.js";
import { serve } from "./server.mjs";

const [folder, steps = "20"] = process.argv.slice(2);
const HEADERS = { "Content-Type": "application/json", "panza-page": "1" };
const BUILD_SECONDS = 120;

async function post(address, body) {
  const answer = await fetch(address, { method: "POST", headers: HEADERS, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

/** The first view of a table that fits, or null after a while. */
async function waitFor(address, fits) {
  const until = Date.now() + BUILD_SECONDS * 1000;
  let version = 0;
  while (Date.now() < until) {
    const view = await (await fetch(`${address}?after=${version}`)).json();
    if (fits(view)) return view;
    version = view.version;
  }
  return null;
}

const isAsked = (view) => view.legal.some((moves) => moves.length > 0);
const isOver = (view) => view.phase === "over" || view.phase === "failed";

/** What is wrong with the choices of a view; counts moves, and those that are tied to cells. */
function faultsOf(view, counts) {
  const laid = layOut(view.facts, readShapes(view.shapes));
  const faults = [];
  view.legal.forEach((moves, role) => {
    if (moves.length === 0) return;
    if (moves.length < view.n_legal[role]) faults.push(`${view.n_legal[role] - moves.length} moves are not listed`);
    const choices = readChoices(moves, laid, view.effects[role]);
    if (choices.length !== moves.length) faults.push("moves are lost");
    for (const { text, steps } of choices) {
      counts.moves += 1;
      if (steps.length === 0) continue;
      counts.tied += 1;
      let state = { picked: [] };
      // The page makes a move that is complete, once no other goes on from the cells that were clicked.
      const isMade = () => state.ready?.length === 1 && state.open.length === 0;
      for (const step of steps) {
        if (!isMade()) state = pick(choices, state.picked, [...step][0]);
      }
      if (!state.ready.some((found) => found.text === text)) faults.push(`clicks do not come to ${text}`);
    }
  });
  return faults;
}

async function play(server, name, rules) {
  const counts = { moves: 0, tied: 0 };
  const { table } = await post(`${server}/api/tables`, { rules, name, people: "all" });
  const address = `${server}/api/tables/${table}`;
  const faults = [];
  let random = 1;
  let turns = 0;
  for (; turns < Number(steps); turns += 1) {
    let view = await waitFor(address, (view) => (isAsked(view) && view.moves.length >= turns) || isOver(view));
    if (view === null) return { ...counts, turns, faults: ["it was not ready in time"] };
    if (view.phase === "failed") faults.push(view.problem);
    if (isOver(view)) break;
    faults.push(...faultsOf(view, counts));
    const turn = view.moves.length;
    for (const [role, moves] of view.legal.entries()) {
      if (moves.length === 0) continue;
      random = (random * 48271) % 2147483647;
      await post(address, { do: "move", turn, role: view.roles[role], text: moves[random % moves.length] });
    }
    view = await waitFor(address, (view) => view.moves.length > turn || isOver(view));
    if (view === null) return { ...counts, turns, faults: ["a move was not made in time"] };
  }
  await post(address, { do: "close" });
  return { ...counts, turns, faults };
}

const logs = await mkdtemp(join(tmpdir(), "panza-every-game-"));
const server = await serve(logs);
const names = (await readdir(folder)).filter((name) => /\.(kif|gdl)$/.test(name)).sort();
let nFaulty = 0;
const all = { games: 0, turns: 0, moves: 0, tied: 0 };
try {
  for (const name of names) {
    const rules = await readFile(join(folder, name), "utf8");
    const found = await play(server.address, name.replace(/\.\w+$/, ""), rules).catch((error) => ({
      moves: 0,
      tied: 0,
      turns: 0,
      faults: [String(error.message)],
    }));
    all.games += 1;
    for (const key of ["turns", "moves", "tied"]) all[key] += found[key];
    nFaulty += found.faults.length > 0 ? 1 : 0;
    const said = found.faults.length === 0 ? "" : `: ${[...new Set(found.faults)].slice(0, 3).join("; ")}`;
    console.log(`${name}: ${found.turns} turns, ${found.moves} moves, ${found.tied} tied to cells${said}`);
  }
} finally {
  await server.stop();
  await rm(logs, { recursive: true, force: true });
}
console.log(
  `${all.games} games, ${nFaulty} with faults; ${all.turns} turns, ${all.moves} moves, ${all.tied} tied to cells`,
);
process.exitCode = nFaulty === 0 ? 0 : 1;
