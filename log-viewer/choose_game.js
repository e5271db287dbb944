// The part of `/play` and `/study` in which a game is chosen: the games of the program, found by
// their names, and a rulesheet from a file.

import { byId, element, fill } from "./page.js";
import { askGames } from "./server.js";

/** Lists the games that the search field leaves; `choose` is called with the one that is clicked. */
export async function offerGames(choose) {
  let games = [];
  const show = () => {
    const wanted = byId("find").value.trim().toLowerCase();
    const found = games.filter(({ name, title }) => wanted === "" || `${name} ${title}`.toLowerCase().includes(wanted));
    fill(
      byId("games"),
      found.map((game) => element("li", null, card(game, choose))),
      found.length === 0 && element("li", { class: "quiet" }, "No game of that name."),
    );
  };
  byId("find").addEventListener("input", show);
  byId("own-file").addEventListener("change", (event) => readFile(event.target.files[0]));
  byId("own-rules").addEventListener("input", () => delete byId("own-rules").dataset.file);
  games = await askGames();
  show();
}

function card(game, choose) {
  return element(
    "button",
    { type: "button", class: "card game", "data-game": game.name, on: { click: () => choose(game) } },
    element("strong", null, game.title),
    element("span", { class: "quiet" }, game.about),
    element("small", null, game.roles.length === 1 ? "a puzzle" : game.roles.join(", ")),
  );
}

/** Puts a rulesheet and its name into the fields for them. */
async function readFile(file) {
  if (file === undefined) return;
  byId("own-rules").value = await file.text();
  byId("own-rules").dataset.file = file.name;
  byId("own-name").value = file.name.replace(/\.[a-z]+$/i, "");
}

/** The rulesheet in those fields, with the name of its file as long as it is as it was there. */
export function ownRules() {
  const { value: rules, dataset } = byId("own-rules");
  return { rules, name: byId("own-name").value, file: dataset.file };
}
