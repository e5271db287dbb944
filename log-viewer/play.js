// The page to play on: choosing a game, and a table. A table is followed by requests that wait for
// news; what it shows is drawn anew with each version. Moves are made on the board or from a list
// (`board_panel.js`).

import { factsBefore, layOut, placeOf, readShapes } from "./board.js";
import { BoardPanel, turnedRound } from "./board_panel.js";
import { filledCells, readChoices } from "./choices.js";
import { offerGames, ownRules } from "./choose_game.js";
import { count, counted, goal, list, messageOf } from "./format.js";
import { cellName } from "./labels.js";
import { byId, element, fill, keepFocus, setText, skipInPlace, wordmark } from "./page.js";
import { CHANCE, PieceCounts, moveSaid, paintRoles, passerOf, resultText, roleKey } from "./roles.js";
import { Refused, askTable, askTurn, openTable, tellTable } from "./server.js";

/** @import { Child, Found, Laid, Order, Setting, Shape, TableView } from "./types.d.ts" */

const RETRY = 1000;
/** The buttons of the controls, in their order. */
const controls = () => ["undo", "hint", "switch", "resign", "again"].map((id) => byId(id, "button"));

class TablePage {
  /** @param {string} table */
  constructor(table) {
    this.table = table;
    /**
     * What the table has shown last; null before it has shown anything.
     * @type {TableView | null}
     */
    this.seen = null;
    this.panel = new BoardPanel({ board: byId("board"), which: byId("which"), play: (text) => this.play(text) });
    /** @type {Shape[]} */
    this.shapes = [];
    /**
     * The position that the game is at, and the one before it.
     * @type {Laid}
     */
    this.shown = layOut([], []);
    /** @type {Laid | null} */
    this.before = null;
    this.turnShown = -1;
    this.counts = new PieceCounts();
    /** Which knowledge of moves the list of turns was made with. */
    this.spokenWith = -1;
    /**
     * The earlier turn that is looked at, or null.
     * @type {number | null}
     */
    this.lookedAt = null;
    /**
     * Whether the board is turned round, so that the person's side is at the bottom; null before
     * that is known.
     * @type {boolean | null}
     */
    this.isTurned = null;
    this.listen();
  }

  listen() {
    byId("undo").addEventListener("click", () => this.tell({ do: "undo" }));
    byId("hint").addEventListener("click", () => this.tellOfRole("hint"));
    byId("switch").addEventListener("click", () => this.tell({ do: "switch" }));
    byId("now").addEventListener("click", () => this.goTo(null));
    byId("resign").addEventListener("click", () => this.tellOfRole("resign"));
    byId("again").addEventListener("click", () => again());
    byId("filter").addEventListener("input", () => {
      if (this.seen !== null) this.showMoves();
    });
  }

  /** What the table shows. */
  get view() {
    if (this.seen === null) throw new Error("the table has shown nothing");
    return this.seen;
  }

  /** The place of the role whose choice is wanted from a person, or -1. */
  get place() {
    return list(this.seen?.legal).findIndex((moves) => moves.length > 0);
  }

  get role() {
    return this.seen?.roles[this.place] ?? null;
  }

  /** @param {Order} order */
  async tell(order) {
    setText(byId("problem"), "");
    try {
      await tellTable(this.table, order);
    } catch (problem) {
      setText(byId("problem"), messageOf(problem));
    }
  }

  /** @param {"hint" | "resign"} what */
  tellOfRole(what) {
    const { role } = this;
    if (role !== null) this.tell({ do: what, role });
  }

  /** @param {string} text */
  play(text) {
    const { role } = this;
    if (role === null) return;
    this.tell({ do: "move", turn: this.view.moves.length, role, text });
  }

  /** @param {TableView} view */
  show(view) {
    const people = JSON.stringify(view.people);
    if (people !== JSON.stringify(this.seen?.people)) this.isTurned = null;
    this.seen = view;
    const turn = view.moves.length;
    const title = view.title === "" ? view.game : view.title;
    setText(byId("name"), title);
    document.title = `${title} · Panza`;
    byId("rules").hidden = view.about.length === 0;
    if (byId("about").childElementCount === 0) fill(byId("about"), view.about.map((text) => element("p", null, text)));
    if (view.problem !== null) setText(byId("problem"), view.problem);
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
    this.turnShown = turn;
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
    this.showSays();
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
      const [facts, before] = await Promise.all([
        askTurn(this.table, turn),
        turn > 0 ? askTurn(this.table, turn - 1) : null,
      ]);
      if (this.lookedAt !== turn) return;
      setText(byId("earlier-says"), turn === 0 ? "The start" : `After turn ${turn}`);
      this.draw(layOut(facts, this.shapes), before === null ? null : layOut(before, this.shapes));
    } catch (problem) {
      setText(byId("problem"), messageOf(problem));
    }
  }

  /** The cells of a hint, and those that decided the game. */
  marks() {
    const { hint, decisive } = this.view;
    const isNew = hint !== null && hint.turn === this.turnShown;
    const places = this.lookedAt === null ? decisive.map((fact) => placeOf(fact, this.shown)) : [];
    return new Map([
      ["hinted", new Set(isNew ? this.panel.cellsOf(hint.text) : [])],
      ["decisive", new Set(places.filter((place) => place !== null).map(({ board, key }) => cellName(board, key)))],
    ]);
  }

  showSays() {
    const { view, role } = this;
    const chosen = view.roles.filter((_, place) => view.chosen[place] && view.people[place]);
    const isOnlyPerson = view.people.filter(Boolean).length === 1;
    const own = view.roles.filter((_, place) => view.people[place]);
    const says = () => {
      if (view.phase === "building") {
        return view.waits ? "Waiting for a match: the game is opened once Panza has played it." : "Panza reads the rules …";
      }
      if (view.phase === "training") {
        return view.waits ? "Waiting for a match: training begins again once Panza has played it." : "Panza trains …";
      }
      if (view.phase === "failed") return "This game cannot go on.";
      if (view.resigned !== null) return `${view.resigned} has resigned.`;
      if (view.phase === "over") return `The game is over: ${this.result()}`;
      if (view.waits) return "Waiting for a match: this game goes on once Panza has played it.";
      if (role !== null && isOnlyPerson) return view.roles.length === 1 ? "Your move." : `${this.passed()}Your turn: you play ${role}.`;
      if (role !== null) return chosen.length > 0 ? `${chosen.join(", ")} chose. ${role} is to move.` : `${this.passed()}${role} is to move.`;
      if (view.thinks_for !== null) {
        return isOnlyPerson ? `You play ${own[0]}. Panza searches for ${view.thinks_for} …` : `Panza plays ${view.thinks_for} by search …`;
      }
      return "";
    };
    setText(byId("says"), says());
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
                element("li", { title: text }, `${this.panel.speaker.say(found.role, text)}: ${goal(Math.round(value))}, ${counted(visits, "visit")}`),
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
    const { view, place } = this;
    this.panel.listMoves(byId("moves"), {
      wanted: byId("filter", "input").value,
      unlisted: place < 0 ? 0 : view.n_legal[place] - view.legal[place].length,
      nothing: "It is not your turn.",
    });
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
    const { view, role } = this;
    const focused = document.activeElement;
    const isPlaying = view.phase === "playing";
    byId("undo", "button").disabled = view.moves.length === 0 || !view.people.includes(true);
    for (const id of ["hint", "resign", "switch"]) byId(id, "button").disabled = !isPlaying || role === null;
    byId("switch").hidden = !view.people.includes(true) || !view.people.includes(false);
    for (const id of ["undo", "hint", "resign"]) byId(id).hidden = !view.people.includes(true);
    keepFocus(controls(), focused);
    const leave = byId("leave");
    while (leave.nextElementSibling !== null) leave.nextElementSibling.remove();
    const studied = `/study?table=${encodeURIComponent(this.table)}`;
    leave.after(element("a", { class: "button", href: studied, id: "study" }, "Study this position"));
    if (view.log !== null) {
      const address = `/matches/${encodeURIComponent(view.log)}`;
      leave.after(element("a", { class: "button", href: address }, "Log"));
      // The list of matches leads back here.
      sessionStorage.setItem(`panza-log-${view.log}`, this.table);
    }
  }

  /**
   * The table is not there any more: nothing can be done at it.
   * @param {string} why
   */
  end(why) {
    setText(byId("problem"), `${why}; choose a game again`);
    setText(byId("says"), "");
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

/** @type {{ page: TablePage | null }} */
const own = { page: null };

/**
 * The choices of the form, as the server takes them.
 * @returns {Setting}
 */
function options() {
  const people = byId("people", "select").value;
  const effort = byId("effort", "select").value;
  const amount = Number(effort.slice(1));
  const training = Number(byId("training", "select").value);
  return { people, training, ...(effort[0] === "s" ? { seconds: amount } : { iterations: amount }) };
}

/** @param {Setting} setting */
async function open(setting) {
  setText(byId("choose-problem"), "");
  try {
    const table = await openTable(setting);
    sessionStorage.setItem(`panza-table-${table}`, JSON.stringify(setting));
    location.hash = table;
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    setText(byId("choose-problem"), problem.message);
    setText(byId("problem"), problem.message);
  }
}

/** The same game from its start. */
async function again() {
  const kept = sessionStorage.getItem(`panza-table-${own.page?.table}`);
  if (kept === null) location.hash = "";
  else await open(JSON.parse(kept));
}

/** @param {TablePage} page */
async function follow(page) {
  let version = 0;
  while (own.page === page) {
    try {
      const view = await askTable(page.table, version);
      if (own.page !== page) return;
      if (view.version !== version) page.show(view);
      version = view.version;
    } catch (problem) {
      if (own.page !== page) return;
      if (problem instanceof Refused && problem.status === 404) {
        page.end(problem.message);
        return;
      }
      await new Promise((done) => setTimeout(done, RETRY));
    }
  }
}

/** Shows the table that the address names, or the games. */
async function route() {
  const table = location.hash.slice(1);
  const focused = document.activeElement;
  byId("choose").hidden = table !== "";
  byId("table").hidden = table === "";
  if (table === "") {
    own.page = null;
    document.title = "Panza: play";
    return;
  }
  if (own.page !== null) {
    // Listeners of another table would answer too.
    location.reload();
    return;
  }
  // What was pressed to choose a game is hidden.
  if (byId("choose").contains(focused)) byId("main").focus();
  own.page = new TablePage(table);
  await follow(own.page);
}

async function start() {
  byId("wordmark").replaceWith(wordmark());
  skipInPlace();
  byId("options").addEventListener("submit", (event) => event.preventDefault());
  byId("leave").addEventListener("click", () => {
    if (own.page !== null) tellTable(own.page.table, { do: "close" }).catch(() => {});
  });
  byId("own-play").addEventListener("click", () => open({ ...ownRules(), ...options() }));
  window.addEventListener("hashchange", route);
  await Promise.all([route(), offerGames((game) => open({ game: game.name, ...options() }))]);
}

start();
