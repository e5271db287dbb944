// The part of `/play` and `/study` in which a game is chosen: the games of the program, found by
// their names, and a rulesheet from a file.

import { byId, element, fill } from "./page.js";
import { askGames } from "./server.js";

/** @import { KnownGame } from "./types.d.ts" */

/**
 * Lists the games that the search field leaves; `choose` is called with the one that is clicked and
 * its button. `lacks` says what a game has not that is wanted, or nothing: it cannot be chosen then.
 * @param {(game: KnownGame, button: HTMLElement) => void} choose
 * @param {(game: KnownGame) => string | null} [lacks]
 */
export async function offerGames(choose, lacks = () => null) {
  /** @type {KnownGame[]} */
  let games = [];
  const [find, file, rules] = [byId("find", "input"), byId("own-file", "input"), byId("own-rules")];
  const show = () => {
    const wanted = find.value.trim().toLowerCase();
    const found = games.filter(({ name, title }) => wanted === "" || `${name} ${title}`.toLowerCase().includes(wanted));
    fill(
      byId("games"),
      found.map((game) => element("li", null, card(game, choose, lacks(game)))),
      found.length === 0 && element("li", { class: "quiet" }, "No game of that name."),
    );
  };
  find.addEventListener("input", show);
  file.addEventListener("change", () => readFile(file.files?.[0]));
  rules.addEventListener("input", () => delete rules.dataset.file);
  byId("options").addEventListener("change", ({ target }) => {
    // The field has shown what is typed already, and a list that is made anew loses the focus.
    if (target !== find) show();
  });
  games = await askGames();
  show();
}

/**
 * @param {KnownGame} game
 * @param {(game: KnownGame, button: HTMLElement) => void} choose
 * @param {string | null} lack
 */
function card(game, choose, lack) {
  /** @type {HTMLButtonElement} */
  const made = element(
    "button",
    { type: "button", class: "card game", "data-game": game.name, disabled: lack !== null, on: { click: () => choose(game, made) } },
    element("strong", null, game.title),
    element("span", { class: "quiet" }, game.about),
    element("small", null, lack ?? (game.roles.length === 1 ? "a puzzle" : game.roles.join(", "))),
  );
  return made;
}

/**
 * Puts a rulesheet and its name into the fields for them.
 * @param {File | undefined} file
 */
async function readFile(file) {
  if (file === undefined) return;
  const field = byId("own-rules", "textarea");
  field.value = await file.text();
  field.dataset.file = file.name;
  byId("own-name", "input").value = file.name.replace(/\.[a-z]+$/i, "");
}

/** The rulesheet in those fields, with the name of its file as long as it is as it was there. */
export function ownRules() {
  const { value: rules, dataset } = byId("own-rules", "textarea");
  return { rules, name: byId("own-name", "input").value, file: dataset.file };
}
