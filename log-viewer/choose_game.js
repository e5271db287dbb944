// The part of `/play` and `/study` in which a game is chosen: tiles of a person's own rulesheets
// and of the games of the program, found by what is typed, and a rulesheet from a text or a file.
// The pictures of the boards come one after the other, as their tiles come into view.

import { layOut, readShapes } from "./board.js";
import { drawBoards } from "./drawing.js";
import { counted, list } from "./format.js";
import { bring, forgetSheet, keptSheets } from "./kept.js";
import { byId, element, fill, setText, showDialog } from "./page.js";
import { CHANCE } from "./roles.js";
import { askGames, askPicture, askTrial, checkRules } from "./server.js";

/** @import { Child, Diagnostic, KeptSheet, Offer, OfferedGame, Picture, Setting } from "./types.d.ts" */
/** @typedef {(game: OfferedGame, button: HTMLElement, people?: Setting["people"]) => void} Choose */

/** How long nothing is typed before a rulesheet is read, and before a picture is asked for again. */
const TYPING = 400;
const AGAIN = 10_000;
/** How far below the screen tiles get their pictures. */
const AHEAD = "300px";

/**
 * Shows the tiles that the search field leaves. `choose` is called with the game that is clicked,
 * the button, and the roles that people play; with `hasSeats` a person chooses them.
 * @param {Choose} choose
 * @param {boolean} [hasSeats]
 */
export async function offerGames(choose, hasSeats = false) {
  const [find, file, rules] = [byId("find", "input"), byId("own-file", "input"), byId("own-rules")];
  /** @type {{ tile: HTMLElement, words: string }[]} */
  const tiles = [];
  const none = element("li", { class: "quiet", hidden: true }, "No game of that name.");
  const show = () => {
    const wanted = find.value.trim().toLowerCase();
    for (const { tile, words } of tiles) tile.hidden = !words.includes(wanted);
    none.hidden = tiles.some(({ tile }) => !tile.hidden);
  };
  find.addEventListener("input", show);
  file.addEventListener("change", async () => {
    await readFile(file.files?.[0]);
    rules.dispatchEvent(new Event("change"));
  });
  rules.addEventListener("input", () => delete rules.dataset.file);
  if (hasSeats) offerOwnSeats(rules, choose);
  const { games: known, levels } = await askGames();
  if (hasSeats) offerLevels(levels);
  const games = [...keptSheets().map(ofSheet), ...known];
  for (const game of games) {
    const words = `${game.name} ${game.title} ${game.about} ${players(game.roles)}`.toLowerCase();
    tiles.push({ tile: tileOf(game, choose, hasSeats), words });
  }
  fill(byId("games"), tiles.map(({ tile }) => tile), none);
  show();
  drawInView(games, tiles.map(({ tile }) => tile));
}

/**
 * Offers the levels, with what is known of the one that is chosen.
 * @param {Offer["levels"]} levels
 */
function offerLevels(levels) {
  const [level, says] = [byId("level", "select"), byId("level-says")];
  const last = levels.length;
  /** @param {number} number */
  const name = (number) => `level ${number}` + ({ 1: ": random moves", [last]: ": all it has" }[number] ?? "");
  const explain = () => {
    const above = levels[Number(level.value) - 1].map(([games, elo]) => `${elo} in games of ${games}`);
    setText(says, level.value === "1" ? "Panza moves at random." : `Elo above random moves: ${above.join(", ")}.`);
  };
  fill(level, levels.map((_, index) => element("option", { value: index + 1, selected: index + 2 === last }, name(index + 1))));
  level.addEventListener("change", explain);
  explain();
}

/**
 * @param {KeptSheet} sheet
 * @returns {OfferedGame}
 */
function ofSheet(sheet) {
  const { name, title = name, words = [], roles = [], picture } = sheet;
  const about = words[0]?.split(". ")[0] ?? "A rulesheet of your own";
  return { name, title, about, rules: words, roles, sheet, picture };
}

/**
 * What opens a game at a table.
 * @param {OfferedGame} game
 * @returns {Setting}
 */
export function settingOf({ name, sheet }) {
  if (sheet === undefined) return { game: name };
  const { rules, file, dialect, anyway } = sheet;
  return { rules, name, file, dialect, anyway };
}

/**
 * How many people play, in words.
 * @param {string[]} roles
 */
function players(roles) {
  const playable = roles.filter((role) => role !== CHANCE).length;
  const chance = playable < roles.length ? " and chance" : "";
  return (playable === 1 && chance === "" ? "puzzle, 1 player" : counted(playable, "player")) + chance;
}

/**
 * @param {OfferedGame} game
 * @param {Choose} choose
 * @param {boolean} hasSeats
 */
function tileOf(game, choose, hasSeats) {
  const { sheet } = game;
  /** @type {HTMLButtonElement} */
  const main = element(
    "button",
    { type: "button", class: "game", "data-game": sheet === undefined ? game.name : null, on: { click: () => choose(game, main) } },
    element("span", { class: "picture", "aria-hidden": "true" }),
    element("strong", null, game.title),
    element("span", { class: "quiet" }, game.about),
  );
  const told = { type: "button", class: "plain", "aria-label": `Rules of ${game.title}`, on: { click: () => showRules(game) } };
  /** @type {HTMLElement} */
  const tile = element(
    "li",
    { class: sheet === undefined ? "card tile" : "card tile own-tile" },
    main,
    hasSeats && game.roles.length > 0 && seats(game.roles, game.title, (people, button) => choose(game, button, people)),
    element(
      "p",
      { class: "tile-foot quiet" },
      game.roles.length > 0 && element("small", null, players(game.roles)),
      game.rules.length > 0 && element("button", told, "Rules"),
      sheet !== undefined && element("button", { type: "button", class: "plain", "aria-label": `Forget ${game.title}`, on: { click: () => forget() } }, "Forget"),
    ),
  );
  const forget = () => {
    if (sheet === undefined) return;
    forgetSheet(sheet);
    tile.remove();
    byId("find").focus();
  };
  return tile;
}

/**
 * A button for each way to share the roles out between a person and Panza.
 * @param {string[]} roles
 * @param {string} title
 * @param {(people: Setting["people"], button: HTMLElement) => void} take
 */
function seats(roles, title, take) {
  const playable = roles.filter((role) => role !== CHANCE);
  /** @type {(says: string, people: Setting["people"], hint: string) => HTMLElement} */
  const seat = (says, people, hint) => {
    /** @type {HTMLButtonElement} */
    const made = element("button", { type: "button", class: "seat", "data-people": String(people), title: hint, on: { click: () => take(people, made) } }, says);
    return made;
  };
  return element(
    "div",
    { class: "seats", role: "group", "aria-label": `Play ${title} as` },
    playable.length > 1 && playable.map((role) => seat(role, [role], `You play ${role}`)),
    playable.length > 1 && seat(playable.length === 2 ? "both" : "all", "all", "All roles are played at this board"),
    seat("watch", "none", "Panza plays by itself"),
  );
}

/**
 * Offers the roles of the rulesheet in the field, as soon as it can be read, with what there is to
 * say about it.
 * @param {HTMLElement} field
 * @param {Choose} choose
 */
function offerOwnSeats(field, choose) {
  /** @type {number | undefined} */
  let typing;
  const read = async () => {
    const { rules, name, file } = ownRules();
    if (rules.trim() === "") return fill(byId("own-seats"));
    const { roles, diagnostics } = await checkRules({ text: rules, file });
    if (rules !== ownRules().rules) return null;
    const anyway = diagnostics.some(({ severity }) => severity === "error");
    const sheet = { name, rules, file, anyway };
    const game = { name, title: name, about: "", rules: [], roles, sheet };
    /** @param {Diagnostic[]} found */
    const show = (found) =>
      fill(
        byId("own-seats"),
        roles.length > 0 && (anyway ? "play it all the same as " : "or as "),
        roles.length > 0 && seats(roles, name, (people, button) => choose(game, button, people)),
        found.map(({ line, column, message, help }) =>
          element("span", { class: "fault" }, `line ${line}, column ${column}: ${message}${help === "" ? "" : `; ${help}`}`),
        ),
        found.length > 0 && element("a", { href: "/edit", on: { click: () => bring(sheet) } }, "mend it on Write"),
      );
    show(diagnostics);
    const seen = anyway ? { diagnostics: [] } : await askTrial({ text: rules, file });
    if (rules === ownRules().rules && !("busy" in seen) && seen.diagnostics.length > 0) show([...seen.diagnostics, ...diagnostics]);
    return null;
  };
  const later = () => {
    clearTimeout(typing);
    // What the server does not answer is said by the button that plays.
    typing = setTimeout(() => read().catch(() => {}), TYPING);
  };
  for (const event of ["input", "change"]) field.addEventListener(event, later);
}

/** @param {OfferedGame} game */
function showRules({ title, rules }) {
  showDialog(title, ...rulesInWords(rules));
}

/**
 * The paragraphs of rules; drawings among them keep their lines.
 * @param {string[]} paragraphs
 */
export function rulesInWords(paragraphs) {
  return paragraphs.map((said) =>
    said.includes("\n") ? element("pre", { tabindex: 0, role: "group", "aria-label": "Drawing" }, said) : element("p", null, said),
  );
}

/**
 * Draws the pictures of tiles that come into view, one after the other.
 * @param {OfferedGame[]} games
 * @param {HTMLElement[]} tiles in the same order
 */
function drawInView(games, tiles) {
  /** @type {Set<Element>} */
  const wanted = new Set();
  let isDrawing = false;
  const draw = async () => {
    if (isDrawing) return;
    isDrawing = true;
    for (const tile of wanted) {
      wanted.delete(tile);
      const game = games[tiles.findIndex((other) => other === tile)];
      const found = game.picture ?? (game.sheet === undefined ? await askPicture(game.name).catch(() => null) : null);
      if (found !== null && "busy" in found) setTimeout(() => (wanted.add(tile), draw()), AGAIN);
      else if (found !== null) drawPicture(tile, found);
    }
    isDrawing = false;
  };
  const observer = new IntersectionObserver(
    (seen) => {
      for (const { target, isIntersecting } of seen) {
        if (!isIntersecting) continue;
        observer.unobserve(target);
        wanted.add(target);
      }
      draw();
    },
    { rootMargin: AHEAD },
  );
  for (const tile of tiles) observer.observe(tile);
}

/**
 * @param {Element} tile
 * @param {Picture} picture
 */
function drawPicture(tile, { shapes, facts }) {
  /** @type {HTMLElement | null} */
  const place = tile.querySelector(".picture");
  if (place === null) return;
  const boards = drawBoards(layOut(list(facts).map(String), readShapes(shapes)));
  const rows = boards.map((of) => Math.ceil(of.childElementCount / Number(of.style.getPropertyValue("--boards-abreast"))));
  place.style.setProperty("--rows", String(rows.reduce((sum, count) => sum + count, 0)));
  fill(place, boards);
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
