// The page that plays in Gamemaster. Gamemaster's players are pages that share its origin: a
// message to a player is written to `localStorage` under the player's identifier, and a reply under
// the manager's. This page passes each message to Panza, and writes Panza's answer as the reply.
// Where Panza cannot be reached it plays a legal move of its own, and says so. Saved as one file it
// works at Gamemaster's origin; opened on Panza's own it shows how to save it. In the one file with
// Panza in it (`offline/gamemaster_file.js`) that Panza answers, and no server is asked.
//
// It imports nothing, so that it can be saved with all it needs.

/** Part of each clock that is left to Gamemaster, in milliseconds. */
const MARGIN = 300;
/** The longest wait for an answer that has no clock, and the pause before Panza is tried again. */
const WITHOUT_CLOCK = 5_000;
const PAUSE = 500;
/** Messages and turns that are shown at most. */
const MOST_LINES = 200;
const MOST_TURNS = 1_000;
/** Files that a saved page holds, beside its own script and style. */
const WORKERS = ["gamemaster_clock.js", "gamemaster_rules.js"];

/** @import { ManagerMessage, Relay, Relayed, RulesQuestion } from "./types.d.ts" */

/**
 * The element with an id, which the page is sure to have.
 * @param {string} id
 */
function at(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element with the id ${id}`);
  return found;
}

/**
 * The field with an id, which the page is sure to have.
 * @param {string} id
 */
function field(id) {
  const found = at(id);
  if (!(found instanceof HTMLInputElement)) throw new Error(`${id} is no field`);
  return found;
}

/** The address of Panza, which a saved page holds. */
const address = document.documentElement.dataset.panza ?? location.origin;
const isSaved = document.documentElement.dataset.panza !== undefined;
/** Panza in this page, in place of one at an address. */
const own = globalThis.ownPlayer;

/**
 * A worker from a file of the player, or of the saved page.
 * @param {string} name
 */
function worker(name) {
  const kept = document.getElementById(name);
  if (kept === null) return new Worker(`/assets/${name}`);
  return new Worker(URL.createObjectURL(new Blob([kept.textContent], { type: "text/javascript" })));
}

/**
 * What stands between the outer commas of `word(...)`: `[word, ...arguments]`, or null.
 * @param {string} text
 */
function applied(text) {
  const found = /^\s*(\w+)\s*\(([\s\S]*)\)\s*$/u.exec(text);
  if (found === null) return null;
  const parts = [];
  let [depth, start] = [0, 0];
  let isQuoted = false;
  const inner = found[2];
  for (let index = 0; index < inner.length; index += 1) {
    const character = inner[index];
    if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if ("([".includes(character)) depth += 1;
    else if (")]".includes(character)) depth -= 1;
    else if (character === "," && depth === 0) {
      parts.push(inner.slice(start, index).trim());
      start = index + 1;
    }
    if (depth < 0) return null;
  }
  if (depth !== 0 || isQuoted) return null;
  const last = inner.slice(start).trim();
  if (last !== "" || parts.length > 0) parts.push(last);
  return [found[1], ...parts];
}

/**
 * The message to this page in what was written, or null.
 * @param {string} written
 * @returns {ManagerMessage | null}
 */
function toUs(written) {
  const envelope = applied(written);
  if (envelope === null || envelope[0] !== "message" || envelope.length !== 5) return null;
  const [, number, sender, receiver, content] = envelope;
  const isOurs = sender === field("manager").value && receiver === field("player").value;
  return isOurs && /^\d{1,15}$/u.test(number) ? { number: Number(number), sender, content } : null;
}

// What Panza answers.

/** The window of Panza, where one was opened. @type {Window | null} */
let bridge = null;
let nextAsk = 0;
/** @typedef {{ status: number, text: string }} Answered */
/**
 * Questions that wait for an answer from the window of Panza.
 * @type {Map<number, (answer: Answered) => void>}
 */
const waiting = new Map();

class Refused extends Error {}

/** The window of Panza, if it is open. */
const openBridge = () => (bridge?.closed === false ? bridge : null);

/**
 * Asks Panza by a request of this page.
 * @param {Relayed} body
 * @returns {Promise<Answered>}
 */
async function askByRequest(body) {
  const headers = new Headers({ "Content-Type": "application/json" });
  if (isSaved) headers.set("Authorization", `Bearer ${field("key").value.trim()}`);
  else headers.set("panza-page", "1");
  const answer = await fetch(`${address}/gamemaster/message`, { method: "POST", headers, body: JSON.stringify(body) });
  return { status: answer.status, text: await answer.text() };
}

/**
 * The same through a window of Panza, where the browser lets no page of the network reach this
 * machine.
 * @param {Window} window
 * @param {Relayed} body
 * @returns {Promise<Answered>}
 */
function askByWindow(window, body) {
  const id = (nextAsk += 1);
  return new Promise((done) => {
    waiting.set(id, done);
    window.postMessage({ id, key: field("key").value.trim(), body }, address);
  });
}

/**
 * @param {Relayed} body
 * @returns {Promise<Answered>}
 */
function sent(body) {
  if (own !== undefined) return own.ask(body);
  const window = openBridge();
  return window === null ? askByRequest(body) : askByWindow(window, body);
}

/**
 * Passes a message on; throws `Refused` with the reason where Panza has one, and another error
 * where it is not reached.
 * @param {Relayed} body
 * @returns {Promise<Relay>}
 */
async function ask(body) {
  const { status, text } = await sent(body);
  if (status === 0) throw new Error(text);
  if (status !== 200) throw new Refused(text.trim());
  return JSON.parse(text);
}

// The match.

const clock = worker("gamemaster_clock.js");
/** @type {Map<number, () => void>} */
const timers = new Map();
let nextTimer = 0;

/**
 * Resolves after this many milliseconds, also in a page in the background.
 * @param {number} milliseconds
 * @returns {Promise<void>}
 */
function after(milliseconds) {
  const id = (nextTimer += 1);
  return new Promise((done) => {
    timers.set(id, done);
    clock.postMessage({ id, after: milliseconds });
  });
}

clock.addEventListener("message", ({ data: { id } }) => {
  timers.get(id)?.();
  timers.delete(id);
});

/** @type {Worker | null} */
let rules = null;
/**
 * Questions that wait for an answer of the worker with the rules.
 * @type {Map<number, (move: string | null) => void>}
 */
const questions = new Map();
let nextQuestion = 0;
let playClock = 0;
/** The last legal move of our own that was found. @type {Promise<string | null>} */
let ownMove = Promise.resolve(null);

/**
 * Asks the worker with the rules for a move; it answers one question after the other.
 * @param {Worker} rules
 * @param {RulesQuestion} question
 * @returns {Promise<string | null>}
 */
function askRules(rules, question) {
  const id = (nextQuestion += 1);
  return new Promise((done) => {
    questions.set(id, done);
    rules.postMessage({ ...question, id });
  });
}

/**
 * @param {string} role
 * @param {string} ruleset
 */
function beginRules(role, ruleset) {
  rules?.terminate();
  rules = worker("gamemaster_rules.js");
  questions.clear();
  rules.addEventListener("message", ({ data: { id, move } }) => {
    questions.get(id)?.(move);
    questions.delete(id);
  });
  const sentences = applied(ruleset)?.slice(1) ?? [];
  ownMove = askRules(rules, { do: "start", role, rules: sentences.join("\n") });
}

/**
 * @param {ManagerMessage} message
 * @param {string} text
 */
function reply(message, text) {
  const line = `message(${message.number},${field("player").value},${message.sender},${text})`;
  localStorage.setItem(message.sender, line);
  note(line);
}

/** @param {string} text */
function say(text) {
  at("says").textContent = text;
}

/**
 * Says what is wrong; where Panza is not reached, a saved page offers the other way.
 * @param {string} why
 */
function complain(why, isReached = true) {
  at("problem").textContent = why;
  at("bridge").hidden = isReached || !isSaved || openBridge() !== null;
}

/** @param {string} line */
function note(line) {
  const lines = at("messages").textContent.split("\n").slice(1 - MOST_LINES);
  at("messages").textContent = [...lines, line].join("\n");
}

/**
 * Adds a row to the list of turns: the last move, our answer, the milliseconds until then, and
 * whose answer it is.
 * @param {ManagerMessage} message
 * @param {string} what
 * @param {string} last
 * @param {string} answer
 * @param {number | null} took
 * @param {string} from
 */
function show(message, what, last, answer, took, from) {
  const turns = at("turns");
  const row = document.createElement("tr");
  const seconds = took === null ? "" : `${(took / 1000).toFixed(2)} s`;
  for (const text of [String(message.number), last, answer, seconds, from]) row.insertCell().textContent = text;
  row.dataset.what = what;
  turns.append(row);
  while (turns.childElementCount > MOST_TURNS) turns.firstElementChild?.remove();
}

/** @param {Relay} found */
function showThoughts(found) {
  // What was thought last stays where there is nothing new, as while another role is in control.
  if (found.thoughts === null && found.match === null) return;
  const thoughts = at("thoughts");
  thoughts.replaceChildren();
  if (found.thoughts !== null) {
    const { move, value, iterations_per_second: rate, line } = found.thoughts;
    thoughts.append(`Panza would play ${move}, worth ${value.toFixed(1)}, at ${Math.round(rate)} iterations a second. `);
    if (line.length > 0) thoughts.append(`It expects ${line.join(" ")}. `);
  }
  if (found.match !== null) {
    const link = document.createElement("a");
    link.href = `${address}/matches/${encodeURIComponent(found.match)}`;
    link.target = "_blank";
    link.rel = "noopener";
    link.textContent = "See what Panza thinks";
    thoughts.append(link);
  }
}

/** @typedef {{ found: Relay, why?: undefined } | { found?: undefined, why: string }} Outcome */

/** @type {Outcome} */
const LATE = { why: "Panza did not answer in time" };
/** The number of the last message. */
let newest = 0;

/**
 * Says that there is no answer.
 * @param {unknown} error
 */
function unreached(error) {
  return own === undefined || !(error instanceof Error) ? `Panza cannot be reached at ${address}` : error.message;
}

/**
 * Asks Panza until it answers or the time is over: `{ found }`, or `{ why }` where it does not
 * play.
 * @param {ManagerMessage} message
 * @param {number} began
 * @param {number} due
 * @returns {Promise<Outcome>}
 */
async function answerOfPanza(message, began, due) {
  for (;;) {
    const waited = Math.round(performance.now() - began);
    const body = { player: field("player").value, number: message.number, content: message.content, waited };
    try {
      return { found: await ask(body) };
    } catch (error) {
      if (error instanceof Refused) return { why: error.message };
      const left = due - performance.now();
      if (left < 2 * PAUSE || message.number < newest) return { why: unreached(error) };
      complain(`${unreached(error)}; it is tried again`, false);
      await after(PAUSE);
    }
  }
}

/**
 * The answer of Panza, or by the end of the clock the reason why there is none.
 * @param {ManagerMessage} message
 * @param {number} began
 * @param {number} clockLength
 */
async function answerInTime(message, began, clockLength) {
  const due = began + clockLength - MARGIN;
  const late = after(Math.max(0, due - performance.now())).then(() => LATE);
  const outcome = await Promise.race([answerOfPanza(message, began, due), late]);
  if (outcome === LATE) own?.isLate();
  return outcome;
}

/**
 * @param {ManagerMessage} message
 * @param {string[]} parts
 * @param {number} began
 */
async function start(message, [role, ruleset, startClock, newPlayClock], began) {
  playClock = 1000 * Number(newPlayClock);
  at("turns").replaceChildren();
  at("thoughts").replaceChildren();
  at("match").textContent = `Role ${role}, ${startClock} s to start and ${newPlayClock} s a move.`;
  say("getting ready");
  beginRules(role, ruleset);
  const { found, why } = await answerInTime(message, began, 1000 * Number(startClock));
  complain(why === undefined ? "" : `${why}. Moves are this page's own, until Panza answers.`);
  reply(message, "ready");
  say("ready");
  show(message, "start", "", "ready", performance.now() - began, why === undefined ? "Panza" : "this page");
  if (found !== undefined) showThoughts(found);
}

/**
 * @param {ManagerMessage} message
 * @param {string[]} parts
 * @param {number} began
 */
async function play(message, [last], began) {
  say("thinking");
  if (rules !== null) ownMove = askRules(rules, { do: "play", move: last });
  const ours = ownMove;
  const { found, why } = await answerInTime(message, began, playClock);
  const took = () => performance.now() - began;
  if (found !== undefined) {
    complain("");
    if (found.reply !== null) reply(message, found.reply);
    show(message, "play", last, found.reply ?? "", found.reply === null ? null : took(), found.reply === null ? "" : "Panza");
    showThoughts(found);
  } else {
    complain(why);
    // A worker that has found nothing by the end of the clock finds nothing in time.
    const left = Math.max(0, playClock - MARGIN - took());
    const move = await Promise.race([ours, after(left).then(() => null)]);
    if (move !== null) reply(message, move);
    show(message, "play", last, move ?? "", move === null ? null : took(), move === null ? "" : "this page");
  }
  say("waiting");
}

/**
 * Tells Panza of the end of a match, which nobody waits for.
 * @param {ManagerMessage} message
 * @param {number} began
 */
async function tell(message, began) {
  say("the match is over");
  rules?.terminate();
  rules = null;
  ownMove = Promise.resolve(null);
  const { why } = await answerInTime(message, began, WITHOUT_CLOCK);
  if (why !== undefined) complain(why);
}

/**
 * @param {string} written
 * @param {number} began
 */
function handle(written, began) {
  const message = toUs(written);
  if (message === null) return;
  newest = message.number;
  note(written.length > 500 ? `${written.slice(0, 500)} ...` : written);
  const [word, ...parts] = applied(message.content) ?? [];
  if (word === "ping") reply(message, "ready");
  else if (word === "start" && parts.length === 4) start(message, parts, began);
  else if (word === "play" && parts.length === 1) play(message, parts, began);
  else if (word === "stop" || word === "abort") tell(message, began);
}

addEventListener("storage", ({ key, newValue, storageArea }) => {
  const isOurs = storageArea === localStorage && key === field("player").value;
  if (isOurs && newValue !== null) handle(newValue, performance.now());
});

// The setup.

/** This page as one file, with the player's address. */
async function saved() {
  /** @param {string} path */
  const get = async (path) => (await fetch(path)).text();
  const [page, style, script] = await Promise.all(["/gamemaster", "/assets/style.css", "/assets/gamemaster.js"].map(get));
  const workers = await Promise.all(WORKERS.map(async (name) => [name, await get(`/assets/${name}`)]));
  const texts = workers.map(([name, text]) => `<script type="text/plain" id="${name}">\n${text}<\/script>\n`).join("");
  return page
    .replace('<html lang="en">', () => `<html lang="en" data-panza="${location.origin}">`)
    .replace(/<link rel="stylesheet"[^>]*>/u, () => `<style>\n${style}</style>`)
    .replace(/<script type="module"[^>]*><\/script>/u, () => `${texts}<script type="module">\n${script}<\/script>`)
    .replaceAll('href="/', () => `href="${location.origin}/`);
}

at("save").addEventListener("click", async () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([await saved()], { type: "text/html" }));
  link.download = "panza.html";
  link.click();
  URL.revokeObjectURL(link.href);
});

at("copy").addEventListener("click", () => navigator.clipboard?.writeText(at("shown-key").textContent));

at("options").addEventListener("submit", (event) => event.preventDefault());

/** Whether Panza is there and takes the key. */
async function look() {
  const body = { player: field("player").value || "panza", number: 0, content: "ping()", waited: 0 };
  try {
    await ask(body);
    complain("");
    say("Panza is there");
  } catch (error) {
    const isReached = error instanceof Refused;
    complain(isReached ? error.message : unreached(error), isReached);
    say("without Panza");
  }
}

at("bridge").addEventListener("click", () => {
  bridge = window.open(`${address}/gamemaster?bridge`, "panza-bridge", "width=480,height=320");
  if (bridge === null) complain("the browser has not let this page open a window");
});

/**
 * As the window of a saved page, its opener: passes its questions on, with its key.
 * @param {Window} opener
 */
async function serveBridge(opener) {
  document.body.replaceChildren(at("main"));
  at("main").textContent = "Panza answers the page in Gamemaster through this window. Leave it open.";
  const { origins } = await (await fetch("/api/gamemaster")).json();
  addEventListener("message", async ({ origin, source, data }) => {
    if (!origins.includes(origin) || source !== opener || typeof data?.id !== "number") return;
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${data.key}` };
    const body = JSON.stringify(data.body);
    try {
      const answer = await fetch("/gamemaster/message", { method: "POST", headers, body });
      opener.postMessage({ id: data.id, status: answer.status, text: await answer.text() }, origin);
    } catch (error) {
      opener.postMessage({ id: data.id, status: 0, text: String(error) }, origin);
    }
  });
  for (const origin of origins) opener.postMessage({ panza: "bridge" }, origin);
}

addEventListener("message", ({ origin, source, data }) => {
  if (origin !== address || source !== bridge) return;
  if (data?.panza === "bridge") look();
  waiting.get(data?.id)?.(data);
  waiting.delete(data?.id);
});

async function setUp() {
  if (own !== undefined) {
    at("pages").hidden = true;
    at("key-field").hidden = true;
  } else if (isSaved) {
    at("pages").hidden = true;
    const key = field("key");
    key.value = sessionStorage.getItem("panza-key") ?? key.value;
    key.addEventListener("change", () => {
      // Other pages of Gamemaster see what is in `localStorage`; this is for this tab.
      sessionStorage.setItem("panza-key", key.value.trim());
      look();
    });
    if (key.value === "") {
      complain("Give this page the key that Panza's own page shows.");
      return;
    }
  } else {
    at("key-field").hidden = true;
    at("setup").hidden = false;
    const { key } = await (await fetch("/api/gamemaster")).json();
    at("shown-key").textContent = key ?? "none: the system gave no random numbers";
  }
  await look();
}

if (!isSaved && new URLSearchParams(location.search).has("bridge") && opener !== null) serveBridge(opener);
else setUp();
