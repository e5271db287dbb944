// The studies that the browser keeps, with a way back to each. On a server a study is found again by
// its address; the one file has no other place for it.

import { addressOf } from "../address.js";
import { ago, counted, list, object, text } from "../format.js";
import { element } from "../page.js";

/** @import { Store } from "./store.js" */

/** Studies in the list, at most. */
const MOST = 12;

/**
 * What a kept text holds; nothing where it is damaged.
 * @param {string | undefined} kept
 */
function read(kept) {
  try {
    return object(JSON.parse(kept ?? "null"));
  } catch {
    return {};
  }
}

/**
 * The studies, the one that was changed last first.
 * @param {Store} store
 */
function studies({ texts, times }) {
  const found = [...texts].flatMap(([name, kept]) => {
    const table = /^(\w+)\/game\.json$/.exec(name)?.[1];
    if (table === undefined) return [];
    const { game, study } = read(kept);
    if (text(game) === null || object(study) !== study) return [];
    const state = `${table}/state.json`;
    return [{ table, title: text(game), turns: list(read(texts.get(state)).moves).length, at: times.get(state) ?? times.get(name) ?? 0 }];
  });
  return found.sort((one, other) => other.at - one.at).slice(0, MOST);
}

/**
 * Lists them behind an element, if there are any.
 * @param {HTMLElement} place
 * @param {Store} store
 */
export function offerStudies(place, store) {
  const found = studies(store);
  if (found.length === 0) return;
  /** @param {typeof found[number]} study */
  const item = ({ table, title, turns, at }) => {
    /** @type {HTMLElement} */
    const shown = element(
      "li",
      { class: "card" },
      element("a", { href: addressOf("/study", { table }) }, title),
      element("span", { class: "quiet" }, `${turns === 0 ? "at its start" : `after ${counted(turns, "turn")}`}, ${ago(new Date(at).toISOString())}`),
      element("button", { type: "button", class: "plain", "aria-label": `Forget this study of ${title}`, on: { click: () => forget() } }, "Forget"),
    );
    const forget = () => {
      store.keep([`${table}/game.json`, `${table}/state.json`].map((name) => [name, null])).catch(() => {});
      shown.remove();
    };
    return shown;
  };
  place.after(
    element(
      "section",
      { "aria-labelledby": "studies-title" },
      element("h2", { id: "studies-title" }, "Your studies"),
      element("ul", { class: "running" }, found.map(item)),
    ),
  );
}
