// The page of trained games: for each its generation, its games and hours, and the learning curve,
// which the player draws. It is read again every minute, as often as a round of training ends.

import { counted, list, number, text } from "./format.js";
import { byId, element, fill, offerKeys, setText, wordmark } from "./page.js";
import { askTraining } from "./server.js";

/** @import { TrainedGame } from "./types.d.ts" */

const EVERY = 60_000;

/** @param {TrainedGame} game */
function card(game) {
  const { signature } = game;
  const name = text(game.name) ?? signature;
  const hours = ((number(game.seconds) ?? 0) / 3600).toFixed(2);
  const elo = Math.round(number(game.elo) ?? 0);
  const sign = elo < 0 ? "" : "+";
  const figures =
    `Generation ${number(game.generation) ?? 0}, ${sign}${elo} Elo against the search without an evaluation, ` +
    `${counted(number(game.games) ?? 0, "game")} in ${hours} h.`;
  // The picture is another one after each round.
  const address = `/api/training/${encodeURIComponent(signature)}.svg?games=${number(game.games) ?? 0}`;
  const picture = element("img", { src: address, alt: `The learning curve of ${name}`, class: "learning-curve" });
  return element("section", { class: "card" }, element("h2", {}, name), element("p", {}, figures), picture);
}

async function show() {
  try {
    const games = list((await askTraining()).games).filter((game) => text(game?.signature) !== null);
    setText(byId("problem"), "");
    setText(byId("says"), games.length === 0 ? "No game is trained yet; try: panza train connectFour --hours 1" : "");
    fill(byId("trained"), games.map(card));
  } catch {
    setText(byId("problem"), "no answer from the player, trying again");
  }
}

byId("wordmark").replaceWith(wordmark());
offerKeys();
show();
setInterval(() => {
  if (!document.hidden) show();
}, EVERY);
