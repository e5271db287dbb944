// The page that lists matches: live ones first, then the newest. The first hundred are reloaded
// every few seconds; further ones are added on request. Only rows that change are updated.

import { ago, count, counted, duration, goal, list, moment, number, text } from "./format.js";
import { beat, byId, element, fill, offerKeys, setText, table, wordmark } from "./page.js";
import { PERSON, outcome, outcomeText, tableResult } from "./record.js";
import { askMatches } from "./server.js";

/** @import { Child, MatchEntry, MatchList, PlayerState } from "./types.d.ts" */

const PAGE = 100;
const POLL_INTERVAL = 3000;
const HIDDEN_POLL_INTERVAL = 15_000;
const TYPING = 200;

const state = {
  /** @type {MatchEntry[]} */
  matches: [],
  found: 0,
  search: "",
  asked: 0,
  /** What was shown of the player last, as JSON. */
  player: "",
  /**
   * The rows by the folder of the match: what each was made of, and its cell that says when.
   * @type {Map<string, { row: HTMLTableRowElement, said: string, when: HTMLElement }>}
   */
  rows: new Map(),
  /** @type {HTMLElement | null} */
  table: null,
};

async function ask() {
  state.asked += 1;
  const turn = state.asked;
  const { search } = state;
  let answer;
  try {
    answer = await askMatches({ offset: 0, limit: PAGE, search });
  } catch {
    showSilence();
    return;
  }
  // Somebody has typed on in the meantime.
  if (turn !== state.asked || search !== state.search) return;
  beat();
  const first = summaries(answer);
  const fresh = new Set(first.map((match) => match.folder));
  const further = state.matches.slice(PAGE).filter((match) => !fresh.has(match.folder));
  const dropped = state.matches.slice(0, PAGE).filter((match) => !fresh.has(match.folder));
  // What newer ones have pushed beyond the first page is shown on if more than that page is.
  const isLonger = state.matches.length > PAGE;
  state.matches = isLonger ? [...first, ...dropped.filter((match) => !match.live), ...further] : first;
  show(answer);
}

async function loadMore() {
  const { search } = state;
  try {
    const answer = await askMatches({ offset: state.matches.length, limit: PAGE, search });
    if (search !== state.search) return;
    const known = new Set(state.matches.map((match) => match.folder));
    state.matches.push(...summaries(answer).filter((match) => !known.has(match.folder)));
    show(answer);
  } catch {
    showSilence();
  }
}

/** @param {MatchList} answer */
function summaries(answer) {
  return list(answer.matches).filter((match) => text(match?.folder) !== null);
}

function showSilence() {
  setText(byId("player"), "no answer from the player, trying again");
  byId("player").className = "player silent";
}

/** @param {MatchList} answer */
function show(answer) {
  state.found = number(answer.found) ?? state.matches.length;
  showPlayer(answer.player);
  const total = number(answer.total) ?? state.found;
  setText(
    byId("found"),
    state.search === ""
      ? counted(total, "match", "matches")
      : `${count(state.found)} of ${counted(total, "match", "matches")}`,
  );
  byId("more").hidden = state.matches.length >= state.found;
  if (state.matches.length === 0) showNone(total);
  else showMatches();
}

/** @param {PlayerState} player */
function showPlayer(player) {
  const name = text(player.name) ?? "Panza";
  const status = text(player.status) ?? "";
  const version = [text(player.version), text(player.commit)?.slice(0, 12)].filter(Boolean).join(" · ");
  const said = JSON.stringify(player);
  if (state.player === said && !byId("player").classList.contains("silent")) return;
  state.player = said;
  byId("player").className = `player ${status === "busy" ? "busy" : "available"}`;
  fill(
    byId("player"),
    element("span", { class: "lamp", "aria-hidden": "true" }),
    element("b", null, name),
    ` ${status}`,
    version !== "" && element("small", null, version),
  );
  const disk = text(player.disk);
  const dropped = number(player.dropped_lines) ?? 0;
  fill(
    byId("banners"),
    disk !== null &&
      disk !== "ok" &&
      element("p", { class: "banner error" }, `Logs cannot be written: ${disk}. Matches are played on without.`),
    dropped > 0 &&
      element(
        "p",
        { class: "banner warning" },
        `${counted(dropped, "log line")} could not be written in time since the player began.`,
      ),
  );
}

/** @param {number} total */
function showNone(total) {
  state.table = null;
  state.rows.clear();
  if (state.search !== "" && total > 0) {
    fill(byId("matches"), element("p", { class: "quiet empty" }, `No match has “${state.search}” in its names.`));
    return;
  }
  const command = `panza match connectFour --player ${location.origin} --player random`;
  fill(
    byId("matches"),
    element(
      "section",
      { class: "opener" },
      element("h2", null, "No match has been played yet"),
      element("p", null, "A game manager with this player's address can start one. From a terminal:"),
      element("pre", { class: "command" }, command),
      element("p", null, "Or ", element("a", { href: "/play" }, "play against it yourself"), "."),
    ),
  );
}

function showMatches() {
  const body = state.table ?? element("tbody");
  if (state.table === null) {
    const names = ["Game", "Role", "Opponents", "Result", "Steps", "Length", "Began"];
    state.table = body;
    state.rows.clear();
    fill(byId("matches"), table({ class: "match-list" }, names, body));
  }
  const wanted = new Set(state.matches.map((match) => match.folder));
  for (const [folder, { row }] of state.rows) {
    if (wanted.has(folder)) continue;
    row.remove();
    state.rows.delete(folder);
  }
  let place = body.firstChild;
  for (const match of state.matches) {
    const row = rowOf(match);
    if (place !== row) body.insertBefore(row, place);
    place = row.nextSibling;
  }
}

/** @param {MatchEntry} match */
function rowOf(match) {
  const began = ago(match.started);
  const said = JSON.stringify(match);
  const known = state.rows.get(match.folder);
  if (known?.said === said) {
    setText(known.when, began);
    return known.row;
  }
  const when = element("td", { class: "when", title: moment(match.started) }, began);
  const row = known?.row ?? element("tr");
  row.className = match.live === true ? "live" : "";
  const matchId = text(match.match_id) ?? match.folder;
  const address = `/matches/${encodeURIComponent(match.folder)}`;
  fill(
    row,
    element(
      "td",
      { class: "game" },
      match.live === true &&
        element("span", { class: "pulse", title: "live" }, element("span", { class: "unseen" }, "live")),
      element("a", { href: address }, text(match.game) ?? matchId),
      match.live === true && backTo(match.folder),
      element("small", null, matchId),
    ),
    cell("Role", text(match.role) ?? "–", "role-cell"),
    opponentsCell(match),
    element("td", { class: "result" }, result(match), troubles(match)),
    cell("Steps", count(match.steps), "figure"),
    cell("Length", duration(match.seconds), "figure"),
    when,
  );
  state.rows.set(match.folder, { row, said, when });
  return row;
}

/**
 * The way back to a table that this browser has opened.
 * @param {string} folder
 */
function backTo(folder) {
  const table = sessionStorage.getItem(`panza-log-${folder}`);
  return table === null ? null : element("a", { class: "back", href: `/play/${table}` }, "Play on");
}

/**
 * @param {string} name
 * @param {Child} content
 * @param {string} kind
 */
function cell(name, content, kind) {
  return element("td", { class: kind, "data-name": name }, content);
}

/**
 * Who plays the other roles, or which roles those are.
 * @param {MatchEntry} match
 */
function opponentsCell(match) {
  const roles = list(match.roles);
  const players = list(match.players);
  const seats = roles.map((role, place) => ({ role, player: text(players[place]) }));
  const others = seats.filter(({ role }) => role !== match.role);
  if (others.length === 0) return cell("Opponents", roles.length === 1 ? (players[0] === PERSON ? "a person, alone" : "alone") : "–", "opponents nobody");
  return cell("Opponents", others.map(({ role, player }) => player ?? role).join(", "), "opponents");
}

/** @param {MatchEntry} match */
function result(match) {
  if (match.live === true) {
    const value = number(match.value);
    return element("span", { class: "badge live" }, value === null ? "playing" : `expects ${goal(Math.round(value))}`);
  }
  const kind = outcome(match.goals, match.role);
  const ofTable = tableResult(list(match.roles), list(match.players), match.goals);
  if (ofTable !== null) return element("span", { class: "badge none" }, ofTable);
  if (kind !== null) return element("span", { class: `badge ${kind}` }, outcomeText(match.goals, match.role));
  return element("span", { class: "badge none" }, text(match.how) ?? "broken off");
}

/** @param {MatchEntry} match */
function troubles(match) {
  const errors = number(match.errors) ?? 0;
  const damaged = text(match.damaged);
  return [
    errors > 0 && element("span", { class: "tag trouble" }, counted(errors, "error")),
    damaged !== null && element("span", { class: "tag trouble", title: damaged }, "damaged log"),
  ];
}

async function keepAsking() {
  for (;;) {
    await ask();
    await new Promise((done) => setTimeout(done, document.hidden ? HIDDEN_POLL_INTERVAL : POLL_INTERVAL));
  }
}

function begin() {
  byId("wordmark").replaceWith(wordmark());
  offerKeys();
  /** @type {number | undefined} */
  let typing;
  const search = byId("search", "input");
  const searchNow = () => {
    if (search.value.trim() === state.search) return;
    state.search = search.value.trim();
    state.matches = [];
    ask();
  };
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(searchNow, TYPING);
  });
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    searchNow();
  });
  byId("more").addEventListener("click", loadMore);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) ask();
  });
  keepAsking();
}

begin();
