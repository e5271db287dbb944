// The page to play on: choosing a game, and a table. A table is followed by requests that wait for
// news; what it shows is drawn anew with each version. Moves are made on the board or from a list
// (`board_panel.js`).

import { addressOf, goToTable, here, tableHere } from "./address.js";
import { factsBefore, layOut, readShapes } from "./board.js";
import { turnedRound } from "./board_panel.js";
import { filledCells, readChoices } from "./choices.js";
import { offerGames, ownRules, settingOf } from "./choose_game.js";
import { isIdle, spoken } from "./expressions.js";
import { ago, count, counted, goal, list, messageOf } from "./format.js";
import { forgetTable, keepView, keptTables, openAndKeep } from "./kept.js";
import { attempt, byId, complain, copyText, element, factsText, fill, forgive, keepFocus, offerKeys, setText, skipInPlace, wordmark } from "./page.js";
import { CHANCE, moveSaid, paintRoles, passerOf, resultText, roleKey } from "./roles.js";
import { askKnown, askTable, askTurn, tellTable } from "./server.js";
import { makeSound, offerSound } from "./sound.js";
import { TablePage, cellsOfFacts, follow, own } from "./table_page.js";

/** @import { Child, Found, Laid, Setting, TableView } from "./types.d.ts" */

/** The buttons beside what the page says, and those of the controls, in their order. */
const controls = () => ["pause", "stop", "undo", "hint", "switch", "resign", "again"].map((id) => byId(id, "button"));

class PlayPage extends TablePage {
  /** @param {string} table */
  constructor(table) {
    super(table, "The table is being opened …", { play: (text) => this.play(text) });
    /** The position that the game is at, and the one before it. */
    this.shown = /** @type {Laid} */ (layOut([], []));
    this.before = /** @type {Laid | null} */ (null);
    this.turnShown = -1;
    /** Which knowledge of moves the list of turns was made with. */
    this.spokenWith = -1;
    /** The earlier turn that is looked at, or null, and its facts. */
    this.lookedAt = /** @type {number | null} */ (null);
    this.factsBefore = /** @type {string[]} */ ([]);
    /**
     * Whether the board is turned round, so that the person's side is at the bottom; null before
     * that is known.
     */
    this.isTurned = /** @type {boolean | null} */ (null);
    /** When Panza began to think, by the clock of this page. */
    this.thinksSince = NaN;
    this.ticking = /** @type {number | undefined} */ (undefined);
    this.listen();
    this.showSays();
  }

  listen() {
    /** @type {(id: string, act: (button: HTMLElement) => void) => void} */
    const click = (id, act) => byId(id).addEventListener("click", () => act(byId(id)));
    click("undo", (button) => this.tell({ do: "undo" }, button));
    click("hint", (button) => this.tellOfRole("hint", button));
    click("switch", (button) => this.tell({ do: "switch" }, button));
    click("stop", (button) => this.tell({ do: "now" }, button));
    click("pause", (button) => this.tell({ do: "pause", on: !this.view.paused }, button));
    click("now", () => this.goTo(null));
    click("resign", () => this.askToResign(true));
    click("resign-no", () => this.askToResign(false));
    click("resign-yes", () => {
      this.askToResign(false);
      this.tellOfRole("resign", byId("resign"));
    });
    click("again", (button) => open({ table: this.table }, button));
    click("copy", () => copyText(factsText(this.lookedAt === null ? this.view.facts : this.factsBefore), byId("copied")));
    byId("filter").addEventListener("input", () => {
      if (this.seen !== null) this.showMoves();
    });
  }

  /** The place of the role whose choice is wanted from a person, or -1. */
  get place() {
    return list(this.seen?.legal).findIndex((moves) => moves.length > 0);
  }

  get role() {
    return this.seen?.roles[this.place] ?? null;
  }

  /**
   * @param {"hint" | "resign"} what
   * @param {Element} beside
   */
  tellOfRole(what, beside) {
    const { role } = this;
    if (role !== null) this.tell({ do: what, role }, beside);
  }

  /** @param {string} text */
  play(text) {
    const { role } = this;
    if (role === null) return;
    const beside = byId("moves").contains(document.activeElement) ? byId("moves") : byId("board");
    this.tell({ do: "move", turn: this.view.moves.length, role, text }, beside);
  }

  /** @param {boolean} isAsked */
  askToResign(isAsked) {
    const hadFocus = byId("resign-asks").contains(document.activeElement);
    byId("resign-asks").hidden = !isAsked;
    byId("resign").hidden = isAsked || !this.view.people.includes(true);
    if (isAsked) byId("resign-no").focus();
    else if (hadFocus) byId("resign").focus();
  }

  /**
   * @override
   * @param {string} why
   */
  fallSilent(why) {
    super.fallSilent(why);
    this.thinksSince = NaN;
    this.showClock();
    this.showControls();
  }

  /** @param {TableView} view */
  show(view) {
    if (view.phase === "building" && this.turnShown >= 0) {
      this.comeBack(view, "this game");
      return;
    }
    const people = JSON.stringify(view.people);
    if (people !== JSON.stringify(this.seen?.people)) this.isTurned = null;
    const wasOver = this.seen === null || this.seen.phase === "over";
    this.see(view);
    keepView(view);
    const turn = view.moves.length;
    this.showTitle("");
    this.showProblem(view.phase === "failed");
    this.shapes = readShapes(view.shapes);
    paintRoles(view.roles, this.shapes);
    this.panel.speaker.setShapes(this.shapes);
    if (this.isTurned === null && view.facts.length > 0) {
      this.isTurned = isOnTop(layOut(view.facts, this.shapes), view.roles, view.people);
    }
    if (this.isTurned) this.shapes = this.shapes.map(turnedRound);
    const laid = layOut(view.facts, this.shapes);
    if (turn !== this.turnShown) this.lookedAt = null;
    const isMoved = turn !== this.turnShown;
    if (this.turnShown >= 0 && turn > this.turnShown) this.sound(laid, view.phase === "over" && !wasOver);
    if (view.phase !== "building") this.turnShown = turn;
    this.shown = laid;
    this.before = turn === 0 ? null : layOut(factsBefore(view.facts, view.last), this.shapes);
    const { place } = this;
    const isFirst = this.counts.counts.length === 0;
    const { speaker } = this.panel;
    if (isMoved) speaker.learnLine(view.roles, isFirst ? view.moves : view.moves.slice(-1), view.facts, view.last);
    if (isFirst) this.panel.learnPast(this.table, view.roles, view.moves).then(() => this.showCourse(), () => {});
    this.counts.take(laid, view.roles);
    const choices = place < 0 ? [] : readChoices(view.legal[place], laid, view.effects[place]);
    this.panel.roles = view.roles;
    this.panel.role = this.role ?? "";
    this.panel.turn = turn;
    this.panel.movers = view.phase === "over" ? view.roles : view.roles.filter((role, at) => view.legal[at].length > 0 || role === view.thinks_for);
    this.panel.offer(choices, !isMoved && place >= 0);
    if (this.lookedAt === null) this.draw(laid);
    this.thinksSince = view.thinks_since === null ? NaN : performance.now() - 1000 * view.thinks_since;
    if (isMoved || view.phase !== "playing") this.askToResign(false);
    this.showSays();
    this.showClock();
    this.showFound();
    this.showMoves();
    this.showSides();
    this.showCourse();
    this.showControls();
  }

  /** The roles with their colours, who plays them, and their pieces where those are counted. */
  showSides() {
    const { view, counts } = this;
    const isMixed = view.people.includes(true) && view.people.some((isPerson, place) => !isPerson && view.roles[place] !== CHANCE);
    fill(
      byId("sides"),
      view.roles.length > 1 &&
        view.roles.map((role, place) =>
          element(
            "li",
            { "aria-current": view.phase === "playing" && this.panel.movers.includes(role) ? "true" : null },
            roleKey(place),
            role,
            isMixed && role !== CHANCE && element("small", null, view.people[place] ? " you" : " Panza"),
            counts.isTelling && counts.counts[place] > 0 && element("b", { title: "pieces on the board" }, ` ${counts.counts[place]}`),
          ),
        ),
    );
  }

  /**
   * The sound of moves that lead to this position.
   * @param {Laid} laid
   * @param {boolean} isEnd
   */
  sound(laid, isEnd) {
    /** @param {Laid} at */
    const pieces = ({ boards }) =>
      boards.flatMap(({ cells }) => [...cells.values()].flatMap(({ contents }) => contents.filter(({ isBlank }) => !isBlank))).length;
    makeSound(isEnd ? "end" : pieces(laid) < pieces(this.shown) ? "capture" : "move");
  }

  /**
   * @param {Laid} laid
   * @param {Laid | null} before
   */
  draw(laid, before = this.before) {
    this.panel.isLocked = this.lookedAt !== null;
    this.panel.own = filledCells(this.view.moves.slice(0, this.lookedAt ?? undefined), laid);
    this.panel.marks = this.marks();
    this.panel.draw(laid, before);
  }

  /**
   * Shows an earlier turn, or with null the game as it is.
   * @param {number | null} turn
   */
  async goTo(turn) {
    forgive();
    this.lookedAt = turn === this.view.moves.length ? null : turn;
    const isBack = document.activeElement === byId("now");
    byId("earlier").hidden = this.lookedAt === null;
    for (const [index, item] of [...byId("course").children].entries()) {
      item.toggleAttribute("aria-current", this.lookedAt === index + 1);
    }
    if (turn === null || this.lookedAt === null) {
      this.draw(this.shown);
      if (isBack) this.panel.focus();
      return;
    }
    try {
      const [facts, before] = await Promise.all([askTurn(this.table, turn), turn > 0 ? askTurn(this.table, turn - 1) : null]);
      if (this.lookedAt !== turn) return;
      this.factsBefore = facts;
      setText(byId("earlier-says"), turn === 0 ? "The start" : `After turn ${turn}`);
      this.draw(layOut(facts, this.shapes), before === null ? null : layOut(before, this.shapes));
    } catch (problem) {
      complain(byId("course"), messageOf(problem));
    }
  }

  /** The cells of a hint, and those that decided the game. */
  marks() {
    const { hint, decisive } = this.view;
    const isNew = hint !== null && hint.turn === this.turnShown;
    return new Map([
      ["hinted", new Set(isNew ? this.panel.cellsOf(hint.text) : [])],
      ["decisive", cellsOfFacts(this.lookedAt === null ? decisive : [], this.shown)],
    ]);
  }

  showSays() {
    setText(byId("says"), this.silence ?? this.says());
  }

  /** The seconds that Panza has thought so far; they are counted only while it does. */
  showClock() {
    clearTimeout(this.ticking);
    const seconds = (performance.now() - this.thinksSince) / 1000;
    const isThinking = !Number.isNaN(seconds);
    setText(byId("clock"), isThinking ? `${Math.floor(seconds)} s` : "");
    if (isThinking) this.ticking = setTimeout(() => this.showClock(), 1000 * (1 - (seconds % 1)));
  }

  /** What goes on at the table, or what is asked of the person. */
  says() {
    const { view, role } = this;
    if (this.beginning !== null) return this.beginning;
    if (view.phase === "failed") return "This game cannot go on.";
    if (view.phase === "over") return view.resigned === null ? `The game is over: ${this.result()}` : this.resignation(view.resigned);
    return role === null ? this.saysOfPanza() : this.saysOfPerson(role);
  }

  /**
   * What is asked of a person.
   * @param {string} role
   */
  saysOfPerson(role) {
    const { view } = this;
    const isOnlyPerson = view.people.filter(Boolean).length === 1;
    const chosen = view.roles.filter((_, place) => view.chosen[place] && view.people[place]);
    const hint = view.thinks_for === null ? "" : view.waits ? " The hint comes after the match that Panza plays." : " Panza looks for a hint …";
    const now = this.secondHalf();
    if (!isOnlyPerson) return `${chosen.length > 0 ? `${chosen.join(", ")} chose. ` : this.passed()}${role} is to move${now === "" ? "" : `: now ${now}`}.${hint}`;
    if (now !== "") return `Your move goes on: now ${now}.${hint}`;
    return `${view.roles.length === 1 ? "Your move." : `${this.passed()}Your turn: you play ${role}.`}${hint}`;
  }

  /** The word of the second half of a turn, such as `rotate` after a stone was placed, or "". */
  secondHalf() {
    const { view, place } = this;
    const last = list(view.moves.at(-1));
    const heads = new Set(view.legal[place].map(head));
    const isOwn = last[place] !== undefined && last.every((move, at) => isIdle(move) !== (at === place));
    const [only] = heads;
    return isOwn && heads.size === 1 && only !== head(last[place]) && /^[a-z]{3,}$/i.test(only) ? only : "";
  }

  /** What Panza does, or the game by itself. */
  saysOfPanza() {
    const { view } = this;
    if (view.paused) return "Paused: nothing is moved before you go on.";
    if (view.waits) return "Waiting for a match: this game goes on once Panza has played it.";
    if (view.thinks_for === null) return "Nobody has a choice: the game goes on by itself.";
    const own = view.roles.filter((_, place) => view.people[place]);
    const isChosen = own.some((role) => view.chosen[view.roles.indexOf(role)]);
    if (isChosen) return `You have chosen. Panza searches for ${view.thinks_for} …`;
    return own.length === 1 ? `You play ${own[0]}. Panza searches for ${view.thinks_for} …` : `Panza plays ${view.thinks_for} by search …`;
  }

  /** @param {string} role */
  resignation(role) {
    const { roles, people } = this.view;
    const others = roles.filter((other) => other !== role);
    const who = people[roles.indexOf(others[0])] ? "" : " (Panza)";
    return `${role} has resigned.${others.length === 1 ? ` ${others[0]}${who} wins.` : ""}`;
  }

  /** Who had to pass last. */
  passed() {
    const { roles, moves } = this.view;
    const role = roles[passerOf(moves, moves.length - 1)];
    return role === undefined ? "" : `${role} had to pass. `;
  }

  /** Who has won. */
  result() {
    const { roles, people } = this.view;
    const goals = roles.map((_, place) => this.view.goals?.[place] ?? null);
    const best = goals.indexOf(Math.max(...goals.map((reached) => reached ?? 0)));
    const isWon = goals.filter((reached) => reached === goals[best]).length === 1 && roles.length > 1;
    const isMixed = people.includes(true) && people.includes(false);
    const who = isWon && isMixed ? (people[best] ? " (you)" : " (Panza)") : "";
    return `${resultText(roles, goals, this.counts.result)}${who}.`;
  }

  showFound() {
    const { answer, hint } = this.view;
    /** @type {(title: string, found: Found | null) => Child} */
    const part = (title, found) =>
      found !== null && [
        element("h2", null, title, element("small", null, roleKey(this.view.roles.indexOf(found.role)), found.role)),
        element(
          "p",
          { title: found.text },
          this.panel.speaker.say(found.role, found.text),
          found.value !== null && `, worth ${goal(found.value)} of 100 to ${found.role}`,
          found.is_proven ? ", proven" : `, ${counted(found.visits, "visit")}`,
        ),
        found.value !== null &&
          element("meter", { min: 0, max: 100, value: found.value, "aria-label": `Value for ${found.role}` }),
        list(found.candidates).length > 1 &&
          element(
            "details",
            null,
            element("summary", null, `Other moves, and their value for ${found.role}`),
            element(
              "ol",
              { class: "candidates" },
              found.candidates.map(([text, visits, value]) =>
                element("li", { title: text }, `${this.panel.speaker.say(found.role, text)}: ${value === null ? "" : `${goal(Math.round(value))}, `}${counted(visits, "visit")}`),
              ),
            ),
          ),
        found.plan.length > 1 &&
          element(
            "details",
            null,
            element("summary", null, `A plan of ${count(found.plan.length)} moves`),
            element("p", { title: found.plan.join(" ") }, found.plan.map((text) => this.panel.speaker.say(found.role, text)).join(", ")),
          ),
      ];
    byId("found").hidden = answer === null && hint === null;
    fill(byId("found"), part("Hint", hint), part("Panza's last move", answer));
  }

  showMoves() {
    this.listMoves(this.view, this.place, "It is not your turn.");
  }

  showCourse() {
    const { moves, roles } = this.view;
    const { speaker } = this.panel;
    const course = byId("course");
    if (this.spokenWith !== speaker.version && !course.contains(document.activeElement)) course.replaceChildren();
    this.spokenWith = speaker.version;
    if (course.childElementCount === moves.length) return;
    while (course.childElementCount > moves.length) course.lastElementChild?.remove();
    for (const joint of moves.slice(course.childElementCount)) {
      const turn = course.childElementCount + 1;
      const go = { type: "button", class: "plain", on: { click: () => this.goTo(turn) } };
      const says = moveSaid(speaker, roles, joint, passerOf(moves, turn - 1));
      course.append(element("li", { "aria-current": this.lookedAt === turn ? "" : null }, element("button", go, says)));
    }
    course.scrollTop = course.scrollHeight;
  }

  showControls() {
    if (this.seen === null) return;
    const { view, role } = this;
    const focused = document.activeElement;
    const isPlaying = view.phase === "playing" && this.silence === null;
    for (const id of ["pause", "stop"]) byId(id).hidden = ["over", "failed"].includes(view.phase);
    byId("stop", "button").disabled = !isPlaying || view.thinks_for === null || view.waits;
    setText(byId("stop"), role === null ? "Move now" : "Stop");
    byId("pause", "button").disabled = !isPlaying || role !== null;
    setText(byId("pause"), view.paused ? "Go on" : "Pause");
    byId("undo", "button").disabled = view.moves.length === 0 || !view.people.includes(true);
    for (const id of ["hint", "resign", "switch"]) byId(id, "button").disabled = !isPlaying || role === null;
    byId("switch").hidden = !view.people.includes(true) || !view.people.includes(false);
    for (const id of ["undo", "hint"]) byId(id).hidden = !view.people.includes(true);
    byId("resign").hidden = !view.people.includes(true) || !byId("resign-asks").hidden;
    keepFocus(controls(), focused);
    const leave = byId("leave");
    while (leave.nextElementSibling !== null) leave.nextElementSibling.remove();
    const studied = addressOf("/study", { query: { table: this.table } });
    leave.after(element("a", { class: "button", href: studied, id: "study" }, "Study this position"));
    if (view.log !== null) {
      const address = `/matches/${encodeURIComponent(view.log)}`;
      leave.after(element("a", { class: "button", href: address }, "Log"));
      // The list of matches leads back here.
      sessionStorage.setItem(`panza-log-${view.log}`, this.table);
    }
  }

  /**
   * @override
   * @param {string} why
   */
  end(why) {
    super.end(why);
    const focused = document.activeElement;
    for (const id of ["undo", "hint", "switch", "resign"]) byId(id).hidden = true;
    keepFocus(controls(), focused);
    if (this.seen === null) return;
    Object.assign(this.seen, { legal: this.seen.legal.map(() => []), hint: null });
    this.panel.offer([]);
    this.panel.marks = this.marks();
    this.panel.mark();
    this.showMoves();
  }
}

/**
 * Whether the pieces named after the only person's role lie above those of the other role.
 * @param {Laid} laid
 * @param {string[]} roles
 * @param {boolean[]} people
 */
function isOnTop(laid, roles, people) {
  if (people.filter(Boolean).length !== 1 || roles.length !== 2 || laid.boards.length !== 1) return false;
  const lines = roles.map((role) => {
    const cells = [...laid.boards[0].cells.values()];
    const name = role.toLowerCase();
    const own = cells.filter(({ contents }) => contents.some(({ text }) => text.toLowerCase().includes(name)));
    return own.map(({ line }) => line);
  });
  if (lines.some((of) => of.length < 2)) return false;
  /** @param {number[]} of */
  const mean = (of) => of.reduce((sum, line) => sum + line, 0) / of.length;
  const own = people.indexOf(true);
  return mean(lines[1 - own]) - mean(lines[own]) > laid.boards[0].shape.height / 3;
}

/**
 * The choices of the form, as the server takes them.
 * @returns {Setting}
 */
function options() {
  return { people: "first", level: Number(byId("level", "select").value) };
}

/**
 * @param {Setting} setting
 * @param {Element} beside
 */
function open(setting, beside) {
  return attempt(beside, async () => {
    goToTable(await openAndKeep(setting));
  });
}

/** Shows the games of this browser that go on, with a way back to each. */
async function showRunning() {
  const kept = keptTables();
  const known = kept.length === 0 ? [] : await askKnown(kept.map(({ table }) => table)).catch(() => []);
  const there = kept.filter(({ table }) => known.includes(table));
  byId("running").hidden = there.length === 0;
  fill(
    byId("tables"),
    there.map(({ table, title, turns, roles, at }) => {
      const told = [turns === 0 ? "at its start" : counted(turns, "turn"), roles.length > 0 && `you play ${roles.join(", ")}`, ago(new Date(at).toISOString())];
      const forget = () => {
        forgetTable(table);
        showRunning();
      };
      return element(
        "li",
        { class: "card" },
        element("a", { href: tableHere(table) }, title),
        element("span", { class: "quiet" }, told.filter(Boolean).join(", ")),
        element("button", { type: "button", class: "plain", "aria-label": `Forget this game of ${title}`, on: { click: forget } }, "Forget"),
      );
    }),
  );
}

/** Shows the table that the address names, or the games. */
async function route() {
  const { table } = here();
  const focused = document.activeElement;
  forgive();
  byId("choose").hidden = table !== "";
  byId("table").hidden = table === "";
  if (table === "") {
    own.page = null;
    document.title = "Panza: play";
    await showRunning();
    return;
  }
  if (own.page !== null) {
    // Listeners of another table would answer too.
    location.reload();
    return;
  }
  // What was pressed to choose a game is hidden.
  if (byId("choose").contains(focused)) byId("main").focus();
  const page = new PlayPage(table);
  own.page = page;
  await follow(page, askTable, (view) => page.show(view));
}

async function start() {
  byId("wordmark").replaceWith(wordmark());
  skipInPlace();
  byId("options").addEventListener("submit", (event) => event.preventDefault());
  byId("leave").addEventListener("click", () => {
    if (own.page !== null) tellTable(own.page.table, { do: "close" }).catch(() => {});
  });
  byId("own-play").addEventListener("click", () => open({ ...ownRules(), ...options() }, byId("own-play")));
  offerSound(byId("sound"));
  offerKeys(
    ["Arrow keys", "on the board: from cell to cell"],
    ["Enter or Space", "on the board: clicks the cell; elsewhere: presses the button"],
  );
  window.addEventListener("hashchange", route);
  const choices = offerGames((game, button, people = "first") => open({ ...settingOf(game), ...options(), people }, button), true);
  await Promise.all([route(), choices]);
}

/**
 * The word that a move begins with.
 * @param {string} move
 */
function head(move) {
  return spoken(move).split(" ")[0];
}

start();
