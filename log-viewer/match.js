// The page of one match. It shows a record (`record.js`) at a chosen turn. The record comes from
// the player's server, which is polled while the match is live, from files that the user opens, or
// from an object that the enclosing page posts. When the record grows, only the changed parts are
// redrawn.

import { analysisCards } from "./analysis.js";
import { compare, layOut } from "./board.js";
import { Charts } from "./charts.js";
import { drawBoards } from "./drawing.js";
import { ago, bytes, clock, counted, duration, goal, list, moment, number, object, text } from "./format.js";
import { LogPanel } from "./log_panel.js";
import { around, beat, byId, drawn, element, fill, offerKeys, pairs, setText, wordmark } from "./page.js";
import { showPlan } from "./plan.js";
import { MatchRecord, PERSON, outcome, outcomeText, tableResult } from "./record.js";
import { PieceCounts, paintRoles, resultText, roleKey } from "./roles.js";
import { FILE_NAMES, Follower, Refused } from "./server.js";
import { Speaker } from "./speaker.js";
import { FILES, NotALog, isForUs, openFiles, openMessage } from "./stored.js";
import { TurnList, factTable, playedMoves, rootTable } from "./turns.js";

/** @import { FileName, Goals, MatchEntry, Turn } from "./types.d.ts" */

const POLL_INTERVAL = 1000;
const HIDDEN_POLL_INTERVAL = 5000;
const SUMMARY_EVERY = 5000;
const DRAW_EVERY = 4000;
const DRAW_AT_LEAST_EVERY = 15_000;
/** Drawing charts of a live match takes no more than this part of the time: the processor is the player's. */
const DRAWING_SHARE = 0.005;
const SLOWEST_RETRY = 10_000;
/** Turns whose positions tell what moves are called. */
const MOST_LEARNED = 300;
const LARGEST_FILE = 400 * 1024 * 1024;

class MatchPage {
  constructor() {
    this.record = new MatchRecord();
    /** @type {Partial<MatchEntry>} */
    this.summary = {};
    /** @type {Follower | null} */
    this.follower = null;
    this.isLive = false;
    this.speaker = new Speaker();
    /** The turns whose moves the speaker knows. */
    this.spokenOf = /** @type {Set<Turn>} */ (new Set());
    this.step = 0;
    /** Whether the newest turn is shown, whichever it is. */
    this.isNewest = true;
    /** When the charts of a live match are drawn again. */
    this.chartsDue = -Infinity;
    /**
     * The input of each part of the page; a part is redrawn when its input changes.
     * @type {Map<string, string>}
     */
    this.made = new Map();
    this.turnList = new TurnList(byId("turns"), (step) => this.choose(step));
    this.charts = new Charts(byId("charts"), (step) => this.choose(step));
    this.logPanel = new LogPanel(byId("log"));
    this.debugPanel = new LogPanel(byId("debug"));
    this.listen();
  }

  listen() {
    byId("first").addEventListener("click", () => this.goTo(0));
    byId("previous").addEventListener("click", () => this.move(-1));
    byId("next").addEventListener("click", () => this.move(1));
    byId("last").addEventListener("click", () => this.goTo(Infinity));
    const slider = byId("slider", "input");
    slider.addEventListener("input", () => this.goTo(Number(slider.value)));
    byId("whole").addEventListener("click", () => this.setScope(false));
    byId("alone").addEventListener("click", () => this.setScope(true));
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => this.readAddress());
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || around(event, "input, select, textarea, pre, dialog")) return;
    /** @type {Record<string, (() => void) | undefined>} */
    const acts = {
      ArrowLeft: () => this.move(-1),
      ArrowRight: () => this.move(1),
      Home: () => this.goTo(0),
      End: () => this.goTo(Infinity),
    };
    const act = acts[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  }

  readAddress() {
    const step = /^#turn=(\d{1,7})$/.exec(location.hash)?.[1];
    if (step === undefined) return;
    this.step = Number(step);
    this.isNewest = false;
    this.showTurn();
  }

  get turns() {
    return this.record.turns;
  }

  /** The place among the turns of the one that is shown: the chosen one, or the last before it. */
  get place() {
    if (this.isNewest) return this.turns.length - 1;
    const place = this.turns.findLastIndex((turn) => turn.step <= this.step);
    return Math.max(0, place);
  }

  get turn() {
    return this.turns[this.place] ?? null;
  }

  /** @param {number} by */
  move(by) {
    this.goTo(this.place + by);
  }

  /** @param {number} place */
  goTo(place) {
    const within = Math.max(0, Math.min(this.turns.length - 1, place));
    const turn = this.turns[within];
    if (turn !== undefined) this.choose(turn.step);
  }

  /**
   * A person chooses a turn. On the newest turn of a live match they stay on the newest.
   * @param {number} step
   */
  choose(step) {
    this.step = step;
    this.isNewest = this.isLive && step === this.turns.at(-1)?.step;
    const address = this.isNewest ? location.pathname + location.search : `#turn=${step}`;
    history.replaceState(null, "", address);
    this.showTurn();
  }

  /** @param {boolean} isAlone */
  setScope(isAlone) {
    byId("whole").setAttribute("aria-pressed", String(!isAlone));
    byId("alone").setAttribute("aria-pressed", String(isAlone));
    this.charts.setScope(isAlone ? this.turn : null);
  }

  /**
   * Another record takes the place of the one shown.
   * @param {MatchRecord} record
   */
  open(record) {
    this.record = record;
    this.isNewest = true;
    this.made.clear();
    this.chartsDue = -Infinity;
    this.setScope(false);
    byId("match").hidden = false;
    this.readAddress();
    this.show();
  }

  /** What moves are called is learned from the turns that are new. */
  learn() {
    const { record, speaker } = this;
    speaker.setShapes(record.shapes);
    paintRoles(record.roles, record.shapes);
    record.say = (move, role = record.role) => speaker.say(role ?? "", move);
    for (const [place, turn] of record.turns.entries()) {
      const next = record.turns[place + 1];
      if (turn.played === null || next === undefined || this.spokenOf.has(turn)) continue;
      this.spokenOf.add(turn);
      for (const { move } of turn.root) speaker.learn(record.role ?? "", [{ text: move }]);
      const isKnown = turn.facts !== null && next.facts !== null && this.spokenOf.size < MOST_LEARNED;
      const { came, went } = isKnown ? compare(list(next.facts), list(turn.facts)) : { came: [], went: [] };
      speaker.learnLine(record.roles, [turn.played], isKnown ? list(next.facts) : undefined, { came, went });
    }
  }

  show() {
    this.learn();
    this.showHead();
    this.showBanners();
    this.showTurn();
    this.turnList.show(this.record, this.turn);
    this.showCharts();
    this.showAnalysis();
    this.logPanel.show(this.record.messages);
    byId("debug-section").hidden = this.record.debug.entries.length === 0;
    this.debugPanel.show(this.record.debug);
  }

  /**
   * Whether a part of the page is to be made of something else than before.
   * @param {string} part
   * @param {unknown[]} from
   */
  isNew(part, ...from) {
    const said = JSON.stringify(from);
    if (this.made.get(part) === said) return false;
    this.made.set(part, said);
    return true;
  }

  showCharts() {
    const start = performance.now();
    if (this.isLive && start < this.chartsDue) return;
    this.charts.show(this.record, this.turn);
    // Painting is part of the price.
    this.chartsDue = Infinity;
    requestAnimationFrame(() =>
      setTimeout(() => {
        const now = performance.now();
        const pause = Math.max(DRAW_EVERY, (now - start) / DRAWING_SHARE);
        this.chartsDue = now + Math.min(DRAW_AT_LEAST_EVERY, pause);
      }),
    );
  }

  showAnalysis() {
    const { machines, parts, studies, ready, settings, start, others } = this.record;
    if (!this.isNew("analysis", machines, parts.length, studies.length, ready, settings?.length, Object.keys(start), [...others]))
      return;
    const cards = analysisCards(this.record);
    fill(byId("analysis"), cards.length === 0 ? element("p", { class: "quiet" }, "The log says nothing about the game.") : cards);
  }

  showHead() {
    const { record, summary } = this;
    const began = ago(record.started ?? summary.started);
    // A link there that has the keyboard focus keeps it.
    if (byId("head").contains(document.activeElement)) return;
    if (!this.isNew("head", summary, this.isLive, record.matchId, record.start.role, record.machines, record.end, began))
      return;
    const game = text(record.start.game) ?? text(summary.game);
    const matchId = record.matchId ?? text(summary.match_id) ?? "";
    const goals = record.end?.goals ?? summary.goals ?? null;
    const title = game ?? (matchId === "" ? "A match" : matchId);
    document.title = `${title} · Panza`;
    const seconds = number(summary.seconds) ?? (record.seconds > 0 ? record.seconds : null);
    /** @type {[name: string, value: string | null | undefined, hint?: string][]} */
    const facts = [
      ["Match", matchId],
      ["Began", record.started === null && !summary.started ? null : moment(record.started ?? summary.started), began],
      ["Lasted", this.isLive ? null : seconds === null ? null : duration(seconds)],
      [
        "Clocks",
        record.start.start_clock === undefined
          ? null
          : `${clock(record.start.start_clock)} + ${clock(record.start.play_clock)} a move`,
      ],
      ["Machine", record.machines.findLast(({ isFallback }) => !isFallback)?.kind ?? record.machines.at(-1)?.kind],
      ["Host", text(record.start.host) ?? text(summary.host)],
      ["Version", [text(record.start.version), text(record.start.commit)?.slice(0, 12)].filter(Boolean).join(" · ")],
    ];
    const known = facts.filter(([, value]) => value);
    fill(
      byId("head"),
      element(
        "div",
        { class: "title-line" },
        element("h1", null, title),
        this.resultBadge(goals),
        this.follower !== null && this.downloads(this.follower),
      ),
      element("div", { class: "roles" }, this.roleChips(goals)),
      pairs(known, "match-facts"),
    );
  }

  /** @param {Goals | null} goals */
  resultBadge(goals) {
    const { record } = this;
    const role = record.role ?? text(this.summary.role);
    if (this.isLive)
      return element("span", { class: "badge live" }, element("span", { class: "pulse", "aria-hidden": "true" }), "live");
    const how = record.end?.how ?? text(this.summary.how);
    const ofTable = tableResult(record.roles, this.players, goals);
    if (ofTable !== null) return element("span", { class: "badge none" }, ofTable);
    const result = outcome(goals, role);
    if (result !== null) {
      const roles = record.roles.length > 0 ? record.roles : Object.keys(goals ?? {});
      const counts = new PieceCounts();
      for (const turn of [this.turns[0], this.turns.at(-1)]) counts.take(layOut(list(turn?.facts), record.shapes), roles);
      const says = resultText(roles, roles.map((name) => number(goals?.[name])), counts.result);
      return [element("span", { class: `badge ${result}` }, outcomeText(goals, role)), element("span", { class: "quiet" }, says)];
    }
    return element("span", { class: "badge none" }, how === null || how === "stopped" ? "no result" : how);
  }

  /** The names of the players, in the order of the roles, as far as they are known. */
  get players() {
    return this.record.players.length > 0 ? this.record.players : list(this.summary.players);
  }

  /** @param {Goals | null} goals */
  roleChips(goals) {
    const roles = this.record.roles.length > 0 ? this.record.roles : list(this.summary.roles);
    const { players } = this;
    const own = this.record.role ?? text(this.summary.role);
    return roles.map((role, place) =>
      element(
        "span",
        { class: role === own ? "role ours" : "role" },
        roles.length > 1 && roleKey(place),
        element("b", null, role),
        players[place] ? element("span", null, players[place]) : null,
        role === own && players[place] !== PERSON && element("small", null, "us"),
        number(goals?.[role]) !== null && element("span", { class: "goal" }, goal(goals?.[role])),
      ),
    );
  }

  /** @param {Follower} follower */
  downloads(follower) {
    const { folder, files } = this.summary;
    const whole = { href: follower.download("bundle"), class: "button", download: `${folder ?? "match"}.json` };
    return element(
      "p",
      { class: "downloads" },
      element("a", whole, "Download all"),
      FILE_NAMES.map((file) =>
        element(
          "a",
          { href: follower.download(file), class: "plain" },
          FILES[file],
          number(files?.[file]) !== null && element("small", null, bytes(files?.[file])),
        ),
      ),
    );
  }

  showBanners() {
    const { record } = this;
    const notes = record.notes();
    const damaged = text(this.summary.damaged);
    if (damaged !== null && notes.length === 0) notes.push(damaged);
    const lost = Math.max(record.lostLines, number(this.summary.lost_lines) ?? 0);
    if (lost > 0) {
      const are = lost === 1 ? "is" : "are";
      notes.push(`${counted(lost, "line")} of this log could not be written and ${are} missing.`);
    }
    if (!this.isNew("banners", notes, record.problems.length)) return;
    const problems = record.problems.slice(0, 200);
    const errors = record.problems.filter(({ kind }) => kind === "error").length;
    const warnings = record.problems.length - errors;
    const heading = [errors > 0 && counted(errors, "error"), warnings > 0 && counted(warnings, "warning")]
      .filter(Boolean)
      .join(" and ");
    fill(
      byId("banners"),
      notes.map((note) => element("p", { class: "banner note" }, note)),
      problems.length > 0 &&
        element(
          "details",
          { class: errors > 0 ? "banner error" : "banner warning" },
          element("summary", null, `${heading} in this match`),
          element(
            "ul",
            null,
            problems.map(({ kind, at, text }) =>
              element("li", { class: kind }, element("small", null, at === null ? "" : `${at.toFixed(1)} s`), text),
            ),
          ),
        ),
    );
  }

  showTurn() {
    const { turn, turns, place } = this;
    byId("turn-section").hidden = turn === null;
    if (turn === null) return;
    const last = turns[turns.length - 1];
    setText(byId("turn-name"), `Turn ${turn.step} of ${last.step}`);
    const slider = byId("slider", "input");
    slider.max = String(turns.length - 1);
    slider.value = String(place);
    slider.setAttribute("aria-valuetext", `Turn ${turn.step} of ${last.step}`);
    byId("first", "button").disabled = byId("previous", "button").disabled = place <= 0;
    byId("last", "button").disabled = byId("next", "button").disabled = place >= turns.length - 1;
    const study = byId("study", "a");
    study.hidden = this.follower === null;
    if (this.follower !== null) {
      study.href = `/study?${new URLSearchParams({ match: this.follower.folder, turn: String(turn.step) })}`;
    }
    this.showStrip();
    this.showPosition(turn);
    this.showConsidered(turn);
    const { record } = this;
    const plan = record.planOf(turn);
    if (this.isNew("plan", plan, turn.step, this.speaker.version)) showPlan(byId("plan"), plan, turn.step, record.say);
    this.turnList.setTurn(turn);
    this.charts.setTurn(turn);
  }

  /** The value of our answers along the slider. */
  showStrip() {
    const points = this.turns.flatMap(({ answer }, place) =>
      answer?.value == null ? [] : [{ place, value: answer.value }],
    );
    const strip = byId("strip");
    strip.style.setProperty("--line-colour", `var(--role-${this.record.roles.indexOf(this.record.role ?? "")}-line, var(--accent))`);
    if (!this.isNew("strip", this.turns.length, points)) return;
    strip.setAttribute("viewBox", `0 0 ${Math.max(1, this.turns.length - 1)} 100`);
    const line = points.map(({ place, value }) => `${place},${100 - value}`).join(" ");
    fill(
      strip,
      points.length > 1 &&
        drawn("polygon", { points: `${points[0].place},100 ${line} ${points[points.length - 1].place},100` }),
      points.length > 1 && drawn("polyline", { points: line, "vector-effect": "non-scaling-stroke" }),
    );
  }

  /** @param {Turn} turn */
  showPosition(turn) {
    const { record } = this;
    const earlier = record.before(turn);
    if (!this.isNew("position", turn.step, turn.facts, turn.isTerminal, earlier?.step, record.shapes.length)) return;
    if (turn.facts === null) {
      const says = element("p", { class: "quiet" }, "The log does not say what the position was at this turn.");
      fill(byId("position"), element("h2", null, "Position"), says);
      return;
    }
    const laid = layOut(turn.facts, record.shapes);
    const before = earlier === null ? null : layOut(list(earlier.facts), record.shapes);
    const boards = drawBoards(laid, before);
    const title = turn.isTerminal ? "Final position" : "Position";
    const hasFacts = laid.rest.length > 0 || (before?.rest.length ?? 0) > 0;
    fill(
      byId("position"),
      element("h2", null, title, earlier !== null && element("small", null, `changes since turn ${earlier.step} are marked`)),
      boards,
      hasFacts && boards.length > 0 && element("h3", null, "Other facts"),
      hasFacts && factTable(laid.rest, before === null ? null : before.rest, record.roles),
      !hasFacts && boards.length === 0 && element("p", { class: "quiet" }, "Nothing is true in this position."),
    );
  }

  /** The goals of all roles, in place of moves. */
  goalsReached() {
    const { record } = this;
    const goals = object(record.end?.goals ?? this.summary.goals);
    const us = element("small", null, "us");
    return pairs(
      record.roles.map((role, place) => [[record.roles.length > 1 && roleKey(place), role, role === record.role && us], goal(goals[role])]),
      "played",
    );
  }

  /** @param {Turn} turn */
  showConsidered(turn) {
    const { answer } = turn;
    const moves = this.record.rootOf(turn);
    if (
      !this.isNew(
        "considered",
        turn.step,
        turn.isTerminal,
        answer,
        turn.played,
        moves,
        this.record.end,
        this.summary.goals,
        this.speaker.version,
      )
    )
      return;
    const said = [
      answer?.value != null && `worth ${goal(answer.value)} to ${this.record.role ?? "us"}`,
      answer?.seconds != null && `answered after ${duration(answer.seconds)}`,
      answer?.isProven && "proven",
      answer?.isOnly && "the only move",
    ].filter(Boolean);
    fill(
      byId("considered"),
      element("h2", null, turn.isTerminal ? "The end" : "Moves", said.length > 0 && element("small", null, said.join(", "))),
      turn.isTerminal ? this.goalsReached() : playedMoves(this.record, turn),
      moves.length > 0 && element("div", { class: "root-frame" }, rootTable(this.record, moves, answer?.move ?? null)),
      moves.length === 0 &&
        !turn.isTerminal &&
        element("p", { class: "quiet" }, "No moves at the root are known for this turn."),
    );
  }
}

/**
 * Follows a match of the player's as long as it goes on.
 * @param {MatchPage} page
 * @param {string} folder
 */
async function follow(page, folder) {
  const follower = new Follower(folder);
  page.follower = follower;
  let askedSummary = -Infinity;
  let failures = 0;
  let isShown = false;
  for (;;) {
    const isDue = performance.now() - askedSummary >= SUMMARY_EVERY || page.record.end !== null;
    const updates = await fetchUpdates(follower, page.record, { isDue, isLast: isDue || !page.isLive });
    if (updates.problem instanceof Refused && updates.problem.status === 404 && !isShown) {
      showUnknown();
      return;
    }
    if (updates.problem === null) {
      failures = 0;
      say("");
      if (updates.grown.length > 0) beat();
      if (isDue) {
        page.summary = updates.summary;
        page.isLive = page.summary.live === true;
        askedSummary = performance.now();
      }
      if (!page.isLive && follower.leftOver(page.summary.files).every((file) => !updates.grown.includes(file))) break;
      if (!isShown) page.open(page.record);
      else if (updates.grown.length > 0 || isDue) page.show();
      isShown = true;
    } else {
      failures += 1;
      say("no answer from the player, trying again");
    }
    const pause = document.hidden ? HIDDEN_POLL_INTERVAL : POLL_INTERVAL;
    await pauseFor(Math.min(SLOWEST_RETRY, pause * 2 ** Math.min(4, failures)));
  }
  page.record.finish();
  for (const file of follower.leftOver(page.summary.files)) {
    const over = counted((page.summary.files?.[file] ?? 0) - follower.taken[file], "byte");
    page.record.remarks.push(`${FILES[file]}: its end, ${over}, is no whole line and is left out`);
  }
  if (isShown) page.show();
  else page.open(page.record);
}

/**
 * The changes of a match: its summary if due, and the files that have grown; or the error.
 * @param {Follower} follower
 * @param {MatchRecord} record
 * @param {{ isDue: boolean, isLast: boolean }} when
 * @returns {Promise<{ summary: Partial<MatchEntry>, grown: FileName[], problem: unknown }>}
 */
async function fetchUpdates(follower, record, { isDue, isLast }) {
  try {
    const [summary, grown] = await Promise.all([isDue ? follower.summary() : null, follower.take(record, isLast)]);
    if (record.start.rules !== undefined && !follower.hasAsked) {
      follower.hasAsked = true;
      record.drawBy(await follower.shapes());
    }
    return { summary: summary ?? {}, grown, problem: null };
  } catch (problem) {
    return { summary: {}, grown: [], problem };
  }
}

function showUnknown() {
  byId("opener").hidden = false;
  fill(
    byId("opener"),
    element("h1", null, "There is no such match"),
    element("p", null, element("a", { href: "/", class: "button primary" }, "All matches")),
  );
}

/**
 * Waits, or until the page comes into sight again.
 * @param {number} milliseconds
 * @returns {Promise<void>}
 */
function pauseFor(milliseconds) {
  return new Promise((done) => {
    const timer = setTimeout(finish, milliseconds);
    function finish() {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", wake);
      done();
    }
    function wake() {
      if (!document.hidden) finish();
    }
    document.addEventListener("visibilitychange", wake);
  });
}

/** @param {string} words */
function say(words) {
  setText(byId("status"), words);
}

/**
 * The page that opens what was stored.
 * @param {MatchPage} page
 */
function openStored(page) {
  const problem = byId("opener-problem");
  byId("opener").hidden = false;
  let nOpened = 0;
  /** @param {() => Promise<MatchRecord>} open */
  const tryTo = async (open) => {
    nOpened += 1;
    const place = nOpened;
    setText(problem, "");
    try {
      const record = await open();
      // What was chosen last is shown.
      if (place !== nOpened) return;
      page.open(record);
      byId("opener").classList.add("small");
    } catch (error) {
      if (!(error instanceof NotALog)) throw error;
      if (place !== nOpened) return;
      byId("opener").hidden = false;
      setText(problem, `This cannot be shown: ${error.message}`);
    }
  };
  /** @param {FileList | null | undefined} chosen */
  const openChosen = (chosen) => {
    const files = [...(chosen ?? [])];
    if (files.length > 0) tryTo(() => readFiles(files));
  };
  const input = byId("files", "input");
  input.addEventListener("change", () => {
    openChosen(input.files);
    input.value = "";
  });
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    openChosen(event.dataTransfer?.files);
  });
  window.addEventListener("message", (event) => {
    // The server says which pages may show this one in a frame; no other page may choose a log.
    const isFromFrame = window.parent !== window && event.source === window.parent;
    if (!isFromFrame && event.origin !== location.origin) return;
    if (!isForUs(event.data)) return;
    // The page around this one has chosen what is shown.
    byId("opener").hidden = true;
    tryTo(() => openMessage(event.data));
  });
}

/** @param {File[]} files */
async function readFiles(files) {
  const large = files.find((file) => file.size > LARGEST_FILE);
  if (large !== undefined) throw new NotALog(`${large.name} is larger than ${bytes(LARGEST_FILE)}`);
  return openFiles(await Promise.all(files.map(async (file) => ({ name: file.name, text: await file.text() }))));
}

/** The folder that the address names, or null. */
function folderOfAddress() {
  const named = /^\/matches\/([^/]+)\/?$/.exec(location.pathname)?.[1];
  if (named === undefined) return null;
  try {
    return decodeURIComponent(named);
  } catch {
    return named;
  }
}

function begin() {
  byId("wordmark").replaceWith(wordmark());
  const page = new MatchPage();
  const folder = folderOfAddress();
  document.querySelector(`.top nav a[href="${folder === null ? "/viewer" : "/"}"]`)?.setAttribute("aria-current", "page");
  offerKeys(["Left, Right", "one turn back, one turn on"], ["Home, End", "the first and the last turn"]);
  if (folder === null) openStored(page);
  else follow(page, folder);
}

begin();
