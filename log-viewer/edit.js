// The page to write rulesheets on. The text is checked a moment after each change and kept in the
// browser; a sound one is tried out: its first position, the moves there and some random games. When
// it rests, the faults that random games show are added to those of the text. One click opens a table
// with it.

import { addressOf } from "./address.js";
import { layOut, readShapes } from "./board.js";
import { drawBoards } from "./drawing.js";
import { RulesEditor } from "./editor.js";
import { spoken } from "./expressions.js";
import { count, counted, list, messageOf, object } from "./format.js";
import { brought, openAndKeep } from "./kept.js";
import { attempt, byId, element, fileName, fill, forgive, offerKeys, saveText, setText, skipInPlace, wordmark } from "./page.js";
import { Refused, askGames, askPreview, askRules, askTrial, checkRules, layOutRules } from "./server.js";

/** @import { Diagnostic, Dialect, Preview, Sheet } from "./types.d.ts" */

/** Milliseconds without a change, after which the text is checked, kept, and a sound one tried out. */
const CHECK_PAUSE = 30;
const STORE_PAUSE = 120;
const PREVIEW_PAUSE = 600;
/** The same, after which it is asked what random games show. */
const TRIAL_PAUSE = 1000;
/** After so long a server that did not answer is asked again. */
const RETRY = 2000;
/** After so long it is asked again whether a match is still being played. */
const BUSY_PAUSE = 5000;
const STORED = "panza-edit";
/** Problems in the list, and moves of a role, at most. */
const MOST_PROBLEMS = 100;
const MOST_MOVES = 100;

const FIRST = `; A game of your own. This one counts: its only player adds one until three is reached.

(role player)

(init (number 0))

(follows 0 1)
(follows 1 2)
(follows 2 3)

(<= (legal player add)
  (true (number ?n)))

(<= (next (number ?m))
  (does player add)
  (true (number ?n))
  (follows ?n ?m))

(<= terminal
  (true (number 3)))

(goal player 100)
`;

const kept = stored();

const own = {
  editor: new RulesEditor(byId("editor"), kept.text, { changed, sheet }),
  /** The name of the file that was opened, which may tell the dialect. */
  file: kept.file,
  /** The dialect that was found. @type {Dialect} */
  dialect: "kif",
  /** Counts changes of the text, so that an answer about an earlier one is known. */
  version: 0,
  /** The text that the diagnostics are about, and they. @type {string | null} */
  checked: null,
  /** @type {Diagnostic[]} */
  diagnostics: [],
  /** How many more there are. */
  more: 0,
  isChecking: false,
  /** The version of the text that was tried out last. @type {number | null} */
  previewed: null,
  isPreviewing: false,
  /** @type {Record<string, number | undefined>} */
  timers: {},
};

/**
 * Does something after a pause, and only once of several calls.
 * @param {string} name
 * @param {number} pause
 * @param {() => void} act
 */
function later(name, pause, act) {
  clearTimeout(own.timers[name]);
  own.timers[name] = setTimeout(act, pause);
}

function stored() {
  try {
    const found = object(JSON.parse(localStorage.getItem(STORED) ?? "null"));
    const { name, text, file = "", dialect = "" } = found;
    const isName = typeof name === "string" && typeof file === "string";
    if (isName && typeof text === "string" && typeof dialect === "string") return { name, text, file, dialect };
  } catch {
    // What is not readable was not written here.
  }
  return { name: "game", text: FIRST, file: "", dialect: "" };
}

function store() {
  try {
    localStorage.setItem(STORED, JSON.stringify({ name: byId("name", "input").value, ...sheet(), file: own.file }));
  } catch {
    say("This browser keeps no copy of the text: save it as a file.");
  }
}

/**
 * The text as the server takes it: with the dialect that was chosen, or what tells it.
 * @returns {Sheet}
 */
function sheet() {
  const chosen = byId("dialect", "select").value;
  return { text: own.editor.text, ...(chosen === "" ? { file: own.file } : { dialect: chosen }) };
}

const DIALECTS = { kif: "KIF", hrf: "HRF" };

/**
 * Shows the dialect that was found.
 * @param {Dialect} found
 */
function showDialect(found) {
  own.dialect = found;
  own.editor.speak(found);
  setText(byId("dialect", "select").options[0], `${DIALECTS[found]} (found)`);
}

/** @param {string} text */
function say(text) {
  forgive();
  setText(byId("says"), text);
}

function changed() {
  own.version += 1;
  forgive();
  clearTimeout(own.timers.preview);
  clearTimeout(own.timers.trial);
  later("store", STORE_PAUSE, store);
  later("check", CHECK_PAUSE, check);
}

/** Asks what is wrong, one question at a time. */
async function check() {
  if (own.isChecking) {
    later("check", CHECK_PAUSE, check);
    return;
  }
  own.isChecking = true;
  const { version } = own;
  const asked = sheet();
  try {
    const { dialect, diagnostics, more } = await checkRules(asked);
    if (version !== own.version) return;
    own.checked = asked.text;
    showDialect(dialect);
    own.more = more;
    showProblems(list(diagnostics));
    if (isSound()) {
      later("preview", PREVIEW_PAUSE, look);
      later("trial", TRIAL_PAUSE, tryOut);
    } else if (own.previewed !== null) setText(byId("preview-says"), "This is the game before the last changes.");
  } catch (problem) {
    setText(byId("counts"), `The rules could not be checked: ${messageOf(problem)}`);
    // The server may be away for a while.
    if (!(problem instanceof Refused)) later("check", RETRY, check);
  } finally {
    own.isChecking = false;
  }
}

function isSound() {
  return own.diagnostics.every(({ severity }) => severity !== "error");
}

/**
 * Marks and lists what is wrong.
 * @param {Diagnostic[]} diagnostics
 */
function showProblems(diagnostics) {
  own.diagnostics = diagnostics;
  own.editor.mark(diagnostics, mend);
  const errors = own.diagnostics.filter(({ severity }) => severity === "error").length;
  const notes = own.diagnostics.filter(({ severity }) => severity === "note").length;
  const warnings = own.diagnostics.length - errors - notes + own.more;
  const parts = [errors > 0 && counted(errors, "error"), warnings > 0 && counted(warnings, "warning"), notes > 0 && counted(notes, "note")];
  setText(byId("counts"), parts.filter(Boolean).join(", ") || "No errors and no warnings.");
  fill(
    byId("problems"),
    own.diagnostics.slice(0, MOST_PROBLEMS).map((found) =>
      element(
        "li",
        { class: found.severity },
        element(
          "button",
          { type: "button", class: "plain", on: { click: () => own.editor.goTo(found.from, found.to) } },
          element("small", null, `${found.line}:${found.column} `),
          found.message,
        ),
        found.help !== "" && element("span", { class: "quiet help" }, found.help),
        found.fix !== null &&
          element("button", { type: "button", class: "button fix", on: { click: () => mend(found) } }, found.fix.title),
      ),
    ),
  );
}

/**
 * Makes the changes that mend a fault, if the text is still the one in which it was found.
 * @param {Diagnostic} found
 */
function mend({ fix }) {
  if (fix === null || own.editor.text !== own.checked) return;
  own.editor.change(fix.edits);
  own.editor.focus();
}

const UNREAD = { kif: "The parentheses do not match", hrf: "A sentence cannot be read" };

function tidy() {
  const { version } = own;
  setText(byId("says"), "");
  return attempt(byId("tidy"), async () => {
    const text = await layOutRules(sheet());
    if (version !== own.version) return;
    if (text === null) throw new Error(`${UNREAD[own.dialect]}, so the text is left as it is.`);
    own.editor.replace(text);
    say("Laid out.");
  });
}

/** Tries the game out. */
async function look() {
  if (own.isPreviewing) {
    later("preview", PREVIEW_PAUSE, look);
    return;
  }
  own.isPreviewing = true;
  later("patience", PREVIEW_PAUSE, () => setText(byId("preview-says"), "Trying the game out …"));
  const { version } = own;
  try {
    const seen = await askPreview(sheet());
    if (version !== own.version) return;
    if ("busy" in seen) {
      setText(byId("preview-says"), "Panza plays a match; games are tried out after it.");
      later("preview", BUSY_PAUSE, look);
      return;
    }
    own.previewed = version;
    show(seen);
  } catch (problem) {
    if (version === own.version) setText(byId("preview-says"), messageOf(problem));
  } finally {
    own.isPreviewing = false;
    clearTimeout(own.timers.patience);
  }
}

/** Adds what random games show to what the text shows. */
async function tryOut() {
  // The server builds few games at a time.
  if (own.isPreviewing) {
    later("trial", TRIAL_PAUSE, tryOut);
    return;
  }
  const { version } = own;
  try {
    const seen = await askTrial(sheet());
    if (version !== own.version) return;
    if ("busy" in seen) later("trial", BUSY_PAUSE, tryOut);
    else if (seen.diagnostics.length > 0) showProblems([...seen.diagnostics, ...own.diagnostics]);
  } catch (problem) {
    // The preview says why a game cannot be played.
    if (!(problem instanceof Refused) && version === own.version) later("trial", BUSY_PAUSE, tryOut);
  }
}

/** @param {Preview} seen */
function show(seen) {
  const laid = layOut(list(seen.facts), readShapes(seen.shapes));
  setText(byId("preview-says"), seen.terminal ? "The game is over before it begins." : "");
  fill(
    byId("board"),
    drawBoards(laid),
    laid.rest.length > 0 &&
      element("ul", { class: "other-facts", "aria-label": "Other facts" }, laid.rest.map((fact) => element("li", null, spoken(fact)))),
  );
  fill(
    byId("legal"),
    seen.roles.map((role, place) => {
      const moves = list(seen.legal[place]);
      const more = seen.n_legal[place] - Math.min(moves.length, MOST_MOVES);
      return element(
        "details",
        { open: seen.n_legal[place] <= 40 },
        element("summary", null, `${role}: ${counted(seen.n_legal[place], "legal move")}`),
        element("p", { class: "moves-text" }, moves.slice(0, MOST_MOVES).map(spoken).join(" · "), more > 0 && ` and ${count(more)} more`),
      );
    }),
  );
  fill(byId("playouts"), told(seen));
}

/**
 * What random games have shown.
 * @param {Preview} seen
 */
function told({ roles, playouts, is_slow: isSlow }) {
  const { games, cut_off: cutOff, length, shortest, longest, goals } = playouts;
  if (length === null) {
    const why = cutOff > 0 ? `None of ${counted(cutOff, "random game")} came to an end.` : "No random game ended in time.";
    return element("p", null, why);
  }
  const of = shortest === longest ? "all" : `${count(shortest)} to ${count(longest)}, on average`;
  return [
    element(
      "p",
      null,
      `${counted(games, "random game")}: ${of} ${length.toFixed(shortest === longest ? 0 : 1)} turns long`,
      cutOff > 0 && `; ${count(cutOff)} more did not end`,
      ".",
    ),
    element(
      "ul",
      { class: "mean-goals" },
      roles.map((role, place) =>
        element(
          "li",
          null,
          element("span", null, `${role} ${goals[place].toFixed(1)}`),
          element("meter", { min: 0, max: 100, value: goals[place], "aria-label": `Mean goal of ${role}` }),
        ),
      ),
    ),
    isSlow && element("p", { class: "quiet" }, "The game is large: it was tried out straight from the rules."),
  ];
}

/**
 * Puts another text into the editor; undoing brings back the one before.
 * @param {string} name
 * @param {string} file
 * @param {string} text
 * @param {string} what
 */
function take(name, file, text, what) {
  byId("name", "input").value = name;
  own.file = file;
  byId("dialect", "select").value = "";
  own.editor.replace(text);
  say(`${what} The text before comes back with Ctrl-Z.`);
  own.editor.focus();
}

async function startFrom() {
  const { value: game } = byId("start", "select");
  if (game === "") return;
  await attempt(byId("start"), async () => take(game, "", await askRules(game), `This is a copy of ${game}.`));
  byId("start", "select").value = "";
}

async function openFile() {
  const input = byId("open", "input");
  const file = input.files?.[0];
  input.value = "";
  if (file === undefined) return;
  take(file.name.replace(/\.[a-z]+$/i, ""), file.name, await file.text(), `${file.name} is open.`);
}

function save() {
  const file = `${fileName(byId("name", "input").value) || "game"}.${own.dialect === "hrf" ? "hrf" : "gdl"}`;
  saveText(file, own.editor.text);
  say(`Saved as ${file}.`);
}

function play() {
  store();
  setText(byId("says"), "");
  const { text: rules, ...told } = sheet();
  const setting = { rules, ...told, name: byId("name", "input").value, people: "first", seconds: 1 };
  return attempt(byId("play"), async () => location.assign(addressOf("/play", { table: await openAndKeep(setting) })));
}

/** @type {Record<string, (() => void) | undefined>} */
const KEYS = { "shift f": tidy, s: save, enter: play };

/**
 * Keys that mean the same wherever the cursor is.
 * @param {KeyboardEvent} event
 */
function key(event) {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  const name = `${event.shiftKey ? "shift " : ""}${event.key.toLowerCase()}`;
  const act = KEYS[name];
  if (act === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  act();
}

async function start() {
  byId("wordmark").replaceWith(wordmark());
  skipInPlace();
  byId("name", "input").value = kept.name;
  byId("dialect", "select").value = kept.dialect;
  byId("dialect").addEventListener("change", changed);
  window.addEventListener("keydown", key, true);
  byId("name").addEventListener("input", () => later("store", STORE_PAUSE, store));
  byId("start").addEventListener("change", startFrom);
  byId("open").addEventListener("change", openFile);
  byId("save").addEventListener("click", save);
  byId("tidy").addEventListener("click", tidy);
  byId("play").addEventListener("click", play);
  byId("look").addEventListener("click", look);
  const mended = brought();
  if (mended !== undefined) take(mended.name, mended.file ?? "", mended.rules, `This is ${mended.name}.`);
  offerKeys(
    ["Ctrl-S", "saves the text as a file"],
    ["Ctrl-Shift-F", "lays the text out"],
    ["Ctrl-Enter", "plays the game"],
    ["Ctrl-Space", "completes a name"],
    ["F8", "goes to the next fault"],
    ["Ctrl-Shift-M", "lists all faults"],
    ["Ctrl-F", "searches the text"],
  );
  window.addEventListener("pagehide", store);
  check();
  const { games } = await askGames();
  byId("start").append(...games.map((game) => element("option", { value: game.name }, game.title)));
}

start();
