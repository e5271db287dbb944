// The page on which a game is studied. It keeps the tree of lines (`variations.js`) and sends the
// server the line to the position that is shown. The server answers with the facts and legal moves
// of that position, and with the values of its search (`thoughts.js`). Positions that were shown
// are drawn again at once.

import { goToTable, here, tableHere } from "./address.js";
import { factsBefore, layOut, placeOf, readShapes } from "./board.js";
import { BoardPanel, turnedRound } from "./board_panel.js";
import { filledCells, readChoices } from "./choices.js";
import { offerGames, ownRules, rulesInWords, settingOf } from "./choose_game.js";
import { drawCurve, turnAt } from "./curve.js";
import { isIdle } from "./expressions.js";
import { count, counted, goal, list, messageOf } from "./format.js";
import { openAndKeep } from "./kept.js";
import { cellName } from "./labels.js";
import { around, attempt, byId, complain, copyText, element, factsText, fill, forgive, keepFocus, offerKeys, refill, setText, skipInPlace, table, wordmark } from "./page.js";
import { PieceCounts, moveSaid, paintRoles, passerOf, resultText, roleKey } from "./roles.js";
import { Refused, askLines, askReport, askTable, tellTable } from "./server.js";
import { previewed, showPlans, showThoughts, showWorth, thinkingText } from "./thoughts.js";
import { Variations, endOf, lineText, lineTo, nextOf, nodesOf, pathTo, readLine, worthOf } from "./variations.js";

/** @import { Grade, GradedMove, Joint, Laid, LineNode, Order, Report, Review } from "./types.d.ts" */
/** @import { RoleSummary, Setting, Shape, Study, TableView } from "./types.d.ts" */

/** Milliseconds after which a server that did not answer, or has no room, is asked again. */
const RETRY = 500;
const UNAVAILABLE = 503;
/** The buttons that step along the line, in their order. */
const steps = () => ["first", "previous", "next", "last"].map((id) => byId(id, "button"));
/** Lines that are compared, at most. */
const MOST_COMPARED = 12;
/**
 * Grades of moves as chess players write them.
 * @type {Record<Grade, string>}
 */
const SIGNS = { inaccuracy: "?!", mistake: "?", blunder: "??" };

class StudyPage {
  /** @param {string} table */
  constructor(table) {
    this.table = table;
    this.isLost = false;
    /** Whether the line is known that the study begins with. */
    this.isBegun = false;
    this.tree = new Variations();
    this.node = this.tree.root;
    /** What the player of the match thought, where there is a log. */
    this.logged = { role: -1, values: /** @type {(number | null)[]} */ ([]) };
    /**
     * What was shown last of any position; null before anything was shown.
     * @type {TableView | null}
     */
    this.seen = null;
    /** @type {Report | null} */
    this.report = null;
    /**
     * The choices of roles that choose at once, by the place of the role.
     * @type {Map<number, string>}
     */
    this.chosen = new Map();
    this.isTurned = false;
    this.counts = new PieceCounts();
    /** @type {Shape[]} */
    this.shapes = [];
    /** @type {Laid} */
    this.laid = layOut([], []);
    /**
     * The nodes that a look for blunders goes through, in the order of the turns.
     * @type {LineNode[]}
     */
    this.reviewed = [];
    /** What was shown of it last, as JSON. */
    this.reviewShown = "";
    this.isGoing = false;
    this.isBehind = false;
    /** Whether the server has shown the position that this page asked for last. */
    this.isSettled = false;
    /** The version of the tree of lines that this page has, and the last change that it has sent. */
    this.lines = 0;
    this.sent = 0;
    this.isKeeping = false;
    /**
     * Why nothing can be done for now, such as a server that does not answer; null otherwise.
     * @type {string | null}
     */
    this.silence = "The study is being opened …";
    /**
     * What a person has done last, and how many commands the table had been told before; null once
     * it has answered.
     * @type {{ beside: Element, told: number } | null}
     */
    this.acted = null;
    /** The turns of the line that was pasted last, until the server has shown it. */
    this.pasted = 0;
    /** Whether a pointer is down on what Panza thinks, which is then not drawn anew beneath it. */
    this.isHeld = false;
    this.panel = new BoardPanel({ board: byId("board"), which: byId("which"), play: (text) => this.choose(text) });
    this.listen();
  }

  /** What the table shows. */
  get view() {
    if (this.seen === null) throw new Error("the table has shown nothing");
    return this.seen;
  }

  /** How moves are said, and what is done with lines. */
  get acts() {
    return {
      speaker: this.panel.speaker,
      roles: this.view.roles,
      playMove: (/** @type {string} */ text) => this.playMove(text),
      playLine: (/** @type {Joint[]} */ line) => this.playLine(line),
      preview: (/** @type {Joint[]} */ line) => this.panel.preview(line),
      playOutcome: (/** @type {string} */ text) => this.playOutcome(text),
      viewer: this.viewer,
    };
  }

  listen() {
    /** @type {(id: string, act: () => void) => void} */
    const click = (id, act) => byId(id).addEventListener("click", act);
    click("first", () => this.goTo(this.tree.root));
    click("previous", () => this.move(-1));
    click("next", () => this.move(1));
    click("last", () => this.goTo(endOf(this.node)));
    click("round", () => {
      this.isTurned = !this.isTurned;
      byId("round").setAttribute("aria-pressed", String(this.isTurned));
      this.drawPosition();
    });
    click("pause", () => this.tell({ do: "pause", on: byId("pause").getAttribute("aria-pressed") !== "true" }, byId("pause")));
    const [thinkTime, watch] = [byId("think-time", "select"), byId("watch", "select")];
    thinkTime.addEventListener("change", () => this.tell({ do: "think", seconds: Number(thinkTime.value) }, thinkTime));
    watch.addEventListener("change", () => this.tell({ do: "watch", role: watch.value }, watch));
    byId("filter").addEventListener("input", () => this.showMoves());
    byId("curve").addEventListener("click", (event) => {
      const path = pathTo(endOf(this.node));
      this.goTo(path[turnAt(byId("curve"), event.clientX, path.length - 1)]);
    });
    click("review", () => this.review());
    click("copy", () => this.copy(lineText(lineTo(endOf(this.node)), this.remarks()), "The line is in the text and on the clipboard."));
    click("copy-facts", () => copyText(factsText(list(this.node.view?.facts)), byId("copied")));
    click("paste", () => this.paste());
    click("forget", () => this.forget());
    for (const id of ["thoughts", "plan", "lines"]) byId(id).addEventListener("pointerdown", () => (this.isHeld = true));
    for (const kind of ["pointerup", "pointercancel"]) {
      // The click comes after it.
      window.addEventListener(kind, () => setTimeout(() => (this.isHeld = false)));
    }
    document.addEventListener("keydown", (event) => this.key(event));
  }

  /**
   * Left and right go along the line, up and down to the variations of this turn.
   * @param {KeyboardEvent} event
   */
  key(event) {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
    if (!this.isBegun || around(event, "input, select, textarea, dialog, [data-name]")) return;
    /** @type {Record<string, (() => void) | undefined>} */
    const acts = {
      ArrowLeft: () => this.move(-1),
      ArrowRight: () => this.move(1),
      ArrowUp: () => this.turnAside(-1),
      ArrowDown: () => this.turnAside(1),
      Home: () => this.goTo(this.tree.root),
      End: () => this.goTo(endOf(this.node)),
    };
    const act = acts[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  }

  /** @param {number} by */
  move(by) {
    const to = by < 0 ? this.node.parent : nextOf(this.node);
    if (to !== null) this.goTo(to);
  }

  /**
   * Goes to another move of the turn before.
   * @param {number} by
   */
  turnAside(by) {
    const beside = this.node.parent?.children ?? [];
    const to = beside[beside.indexOf(this.node) + by];
    if (to !== undefined) this.goTo(to);
  }

  /**
   * @param {LineNode | undefined} node
   * @param {Element} [beside] the element with which a person goes there
   */
  goTo(node, beside = byId("board")) {
    if (node === this.node || node === undefined) return;
    this.node = node;
    for (const at of pathTo(node)) if (at.parent !== null) at.parent.last = at;
    this.chosen.clear();
    this.report = null;
    this.send(beside);
    this.showAll();
    this.keep();
  }

  /**
   * Tells the server which position is shown. Of several in a row it hears of the last.
   * @param {Element} beside
   */
  async send(beside) {
    this.isSettled = false;
    this.isBehind = true;
    if (this.isGoing) return;
    this.isGoing = true;
    while (this.isBehind) {
      this.isBehind = false;
      await this.tell({ do: "go", line: lineTo(this.node) }, beside);
    }
    this.isGoing = false;
  }

  /**
   * @param {Order} order
   * @param {Element} beside
   */
  async tell(order, beside) {
    this.acted = { beside, told: this.seen?.told ?? 0 };
    await attempt(beside, () => tellTable(this.table, order));
  }

  /**
   * Nothing can be done for now; what was shown stays.
   * @param {string} why
   */
  fallSilent(why) {
    this.silence = why;
    this.panel.isLocked = true;
    this.panel.mark();
    setText(byId("says"), why);
    setText(byId("thinking"), "");
  }

  /** What went wrong with what a person did here; and what is wrong with the table itself. */
  showProblem() {
    const { problem, told, moves } = this.view;
    if (this.acted !== null && told !== this.acted.told) {
      if (problem !== null) complain(this.acted.beside, problem);
      this.acted = null;
      if (this.pasted > 0) {
        const all = counted(this.pasted, "turn");
        setText(byId("text-says"), problem === null ? `${all} shown.` : `${moves.length} of ${all} shown.`);
        this.pasted = 0;
      }
    }
    setText(byId("problem"), !this.isBegun || told === 0 ? (problem ?? "") : "");
  }

  /** The place of the role that chooses next; -1 where nobody does. */
  get place() {
    const legal = list(this.node.view?.legal);
    /** @param {number} place */
    const isOpen = (place) => legal[place].length > 1 && !this.chosen.has(place);
    const places = legal.map((_, place) => place);
    const wanted = this.view.roles.indexOf(this.report?.role ?? "");
    if (wanted >= 0 && legal[wanted] !== undefined && isOpen(wanted)) return wanted;
    const open = places.find(isOpen);
    // Where no role has a choice, the role whose only move is not idle makes the next move.
    const acting = places.find((place) => legal[place].length === 1 && !isIdle(legal[place][0]));
    return open ?? acting ?? (legal[0]?.length > 0 ? 0 : -1);
  }

  /**
   * A role's move; once all have one, the line goes on with them.
   * @param {string} text
   */
  choose(text) {
    const legal = list(this.node.view?.legal);
    const { place } = this;
    if (place < 0) return;
    this.chosen.set(place, text);
    const joint = legal.flatMap((moves, role) => this.chosen.get(role) ?? (moves.length === 1 ? moves : []));
    if (joint.length < legal.length) this.offer();
    else this.goTo(this.tree.child(this.node, joint));
  }

  /**
   * Adds joint moves behind the position and goes to the first of them.
   * @param {Joint[]} line
   */
  playLine(line) {
    this.isHeld = false;
    leaveFocus();
    const from = this.node;
    this.tree.add(from, line);
    const first = from.children.find(({ joint }) => String(joint) === String(line[0]));
    if (first !== undefined) this.goTo(first);
  }

  /**
   * What a role that moves alone plays, from the list of Panza's moves.
   * @param {string} text
   */
  playMove(text) {
    this.isHeld = false;
    leaveFocus();
    const place = this.view.roles.indexOf(this.report?.role ?? "");
    if (place === this.place) this.choose(text);
  }

  /**
   * What chance draws.
   * @param {string} text
   */
  playOutcome(text) {
    this.isHeld = false;
    leaveFocus();
    this.choose(text);
  }

  /**
   * The server shows a position: that of the node it was asked for, or of what was legal of a line.
   * @param {TableView} view
   */
  show(view) {
    const { study } = view;
    if (view.phase === "building" && this.isBegun) {
      // The study comes back; what was shown before stays until its game is there.
      this.fallSilent(view.waits ? "Waiting for a match: studying goes on once Panza has played it." : "Panza reads the rules again …");
      return;
    }
    if (this.silence !== null && this.isBegun) this.send(byId("board"));
    this.silence = null;
    this.seen = view;
    if (study === undefined) {
      this.end("this table is for playing");
      return;
    }
    const isReady = view.phase !== "building" && (study.position > 0 || view.phase === "failed");
    if (study.lines !== this.lines && isReady && !this.isKeeping) {
      this.takeLines(study.lines);
      if (!this.isBegun) return;
    }
    if (!this.isBegun && isReady) this.begin(view, study);
    if (!this.isBegun) {
      this.showHead();
      return;
    }
    const node = this.tree.add(this.tree.root, view.moves);
    node.view = view;
    this.showProblem();
    const wanted = lineTo(this.node);
    const isAhead = wanted.length > view.moves.length && view.moves.every((joint, at) => String(joint) === String(wanted[at]));
    if (isAhead && view.problem !== null) {
      // What is not legal is taken away with all that follows it.
      this.tree.remove(pathTo(this.node)[view.moves.length + 1]);
      this.node = node;
      this.report = null;
    }
    if (node === this.node) {
      this.isSettled = true;
      this.showAll();
    } else if (this.isSettled && !this.isGoing) {
      // Another page at this table has gone there.
      this.node = node;
      this.chosen.clear();
      this.report = null;
      this.showAll();
    } else {
      this.showHead();
    }
  }

  /**
   * The line that the study begins with.
   * @param {TableView} view
   * @param {Study} study
   */
  begin(view, study) {
    this.isBegun = true;
    this.tree.add(this.tree.root, study.line);
    this.panel.speaker.setShapes(readShapes(view.shapes));
    this.panel.learnPast(this.table, view.roles, view.moves).then(() => this.showLines(), () => {});
    this.node = this.tree.add(this.tree.root, view.moves);
    this.sent = this.tree.changes;
    const role = view.roles.indexOf(study.role ?? "");
    this.logged = { role, values: list(study.values) };
    fill(byId("watch"), view.roles.map((name) => element("option", { value: name }, name)));
  }

  /** Has the table keep the tree of lines, for other pages there and for later. */
  async keep() {
    if (this.isKeeping) return;
    this.isKeeping = true;
    while (this.sent !== this.tree.changes) {
      this.sent = this.tree.changes;
      // What goes wrong shows with the next request for news.
      await tellTable(this.table, { do: "lines", lines: this.tree.kept() }).catch(() => {});
    }
    this.isKeeping = false;
  }

  /**
   * Takes the tree of lines that the table keeps: at first, and where another page has changed it.
   * @param {number} version
   */
  async takeLines(version) {
    if (this.isBegun) this.lines = version;
    let tree = null;
    try {
      tree = Variations.read(await askLines(this.table));
    } catch {
      setTimeout(() => this.takeLines(version), RETRY);
      return;
    }
    this.lines = version;
    if (!this.isBegun) {
      this.tree = tree ?? this.tree;
      this.show(this.view);
      return;
    }
    // What this page has changed meanwhile is kept next.
    if (tree === null || this.isKeeping || JSON.stringify(tree.kept()) === JSON.stringify(this.tree.kept())) return;
    const known = new Map(nodesOf(this.tree.root).map((node) => [String(lineTo(node)), node]));
    for (const node of nodesOf(tree.root)) {
      const { worth = null, view = null, fault = null } = known.get(String(lineTo(node))) ?? {};
      Object.assign(node, { worth, view, fault });
    }
    const here = lineTo(this.node);
    this.tree = tree;
    this.sent = tree.changes;
    this.reviewed = [];
    this.node = tree.add(tree.root, here);
    this.showAll();
  }

  /**
   * What Panza thinks, of the position that is shown or of one before.
   * @param {Report} report
   */
  hear(report) {
    if (!this.isBegun) return;
    this.showReview(report.review);
    if (report.position !== this.node.view?.study?.position) return;
    this.report = report;
    const shown = JSON.stringify(this.node.worth);
    if (report.worth.values.some((value) => value !== null)) this.node.worth = report.worth;
    this.showReport();
    if (JSON.stringify(this.node.worth) === shown) return;
    this.showLines();
    this.showCurve();
  }

  showAll() {
    this.showHead();
    this.drawPosition();
    this.showReport();
    this.showLines();
    this.showCurve();
  }

  showHead() {
    const { view } = this;
    const title = view.title === "" ? view.game : view.title;
    setText(byId("name"), title);
    document.title = `${title} · study · Panza`;
    byId("rules").hidden = view.about.length === 0;
    if (byId("about").childElementCount === 0) fill(byId("about"), rulesInWords(view.about));
    setText(byId("says"), this.silence ?? this.says());
    if (!this.isBegun) this.showProblem();
  }

  says() {
    const { view } = this;
    if (view.phase === "building") {
      return view.waits ? "Waiting for a match: the game is opened once Panza has played it." : "Panza reads the rules …";
    }
    if (!this.isBegun || view.phase === "failed") return "This game cannot be studied.";
    const shown = this.node.view;
    if (shown === null) return "The position is being set up …";
    if (shown.phase === "over") {
      return `The game is over: ${resultText(view.roles, view.roles.map((_, place) => shown.goals?.[place] ?? null), this.counts.result)}.`;
    }
    if (view.waits) return "Waiting for a match: studying goes on once Panza has played it.";
    const players = list(view.study?.players);
    const to = view.roles.filter((_, place) => shown.legal[place].length > 1);
    const named = to.map((role) => {
      const player = players[view.roles.indexOf(role)];
      return player ? `${role} (${player})` : role;
    });
    return named.length === 0 ? "Nobody has a choice here." : `${named.join(" and ")} to move.`;
  }

  drawPosition() {
    const { node } = this;
    const end = endOf(node);
    const focused = document.activeElement;
    setText(byId("turn-name"), node.turn === 0 ? `Start of ${end.turn}` : `After turn ${node.turn} of ${end.turn}`);
    const [first, previous, next, last] = steps();
    first.disabled = previous.disabled = node.parent === null;
    last.disabled = next.disabled = node.children.length === 0;
    keepFocus([first, previous, next, last], focused);
    const forget = byId("forget", "button");
    forget.disabled = node.parent === null || node.parent.children[0] === node;
    if (focused === forget && forget.disabled) byId("lines").focus();
    if (node.view === null) {
      // The board of before stays until the next one is there, and no moves are made on it.
      this.panel.isLocked = true;
      this.panel.offer([]);
      this.panel.mark();
      this.panel.listMoves(byId("moves"), { wanted: "", unlisted: 0, nothing: null });
      return;
    }
    this.panel.isLocked = false;
    this.shapes = readShapes(node.view.shapes);
    paintRoles(this.view.roles, this.shapes);
    this.panel.speaker.setShapes(this.shapes);
    this.panel.turn = node.turn;
    this.panel.speaker.learnLine(this.view.roles, lineTo(node), node.view.facts, node.view.last);
    if (this.isTurned) this.shapes = this.shapes.map(turnedRound);
    this.laid = layOut(node.view.facts, this.shapes);
    const { facts, last: change } = node.view;
    this.counts.take(this.laid, this.view.roles);
    this.panel.own = filledCells(lineTo(node), this.laid);
    this.offer(false);
    this.panel.draw(this.laid, node.parent === null ? null : layOut(factsBefore(facts, change), this.shapes));
    this.showMoves();
  }

  /** The moves of the role that chooses. */
  offer(isDrawn = true) {
    const { view } = this.node;
    const { place } = this;
    const { roles } = this.view;
    this.panel.roles = roles;
    this.panel.role = roles[place] ?? "";
    this.panel.movers = view?.phase === "over" ? roles : roles.filter((_, at) => list(view?.legal[at]).some((text) => !isIdle(text)));
    this.panel.offer(view === null || place < 0 ? [] : readChoices(view.legal[place], this.laid, view.effects[place]));
    this.setMarks();
    if (!isDrawn) return;
    this.panel.mark();
    this.showMoves();
  }

  /** The cells that decided the game, those of the best move, and what moves are worth. */
  setMarks() {
    const { node, report } = this;
    const places = list(node.view?.decisive).map((fact) => placeOf(fact, this.laid));
    const moves = this.view.roles[this.place] === report?.role ? list(report?.moves) : [];
    const known = moves.filter(({ visits, proven }) => visits > 0 || proven !== null);
    const values = known.flatMap(({ text, proven, value, is_bound }) => {
      const worth = proven ?? (is_bound ? null : value);
      return worth === null ? [] : [{ text, worth }];
    });
    this.panel.values = new Map(values.map(({ text, worth }) => [text, worth]));
    this.panel.marks = new Map([
      ["decisive", new Set(places.filter((place) => place !== null).map(({ board, key }) => cellName(board, key)))],
      ["best-1", new Set(known.length > 0 ? this.panel.cellsOf(known[0].text) : [])],
    ]);
  }

  showReport() {
    const { report, node, view } = this;
    showWorth(byId("worth"), view.roles, node.worth, this.counts.isTelling ? this.counts.counts : null);
    const isPaused = report?.state === "paused";
    byId("pause").setAttribute("aria-pressed", String(isPaused));
    setText(byId("pause"), isPaused ? "Think" : "Stop thinking");
    byId("watch-label").hidden = view.roles.filter((_, place) => list(node.view?.legal[place]).length > 1).length < 2;
    setText(byId("thinking"), report === null ? "" : thinkingText(report));
    // A button that a person is about to press is not replaced.
    const isUsed = this.isHeld || ["thoughts", "plan"].some((id) => byId(id).contains(document.activeElement));
    if (report === null) {
      if (!isUsed) fill(byId("thoughts"));
      byId("plan").hidden = true;
      return;
    }
    const watch = byId("watch", "select");
    if (report.role !== null && document.activeElement !== watch) watch.value = report.role;
    if (!isUsed) {
      showThoughts(byId("thoughts"), report, this.acts);
      showPlans(byId("plan"), report, this.acts);
    }
    if (node.view !== null) {
      this.setMarks();
      this.panel.mark();
    }
  }

  showMoves() {
    const { place } = this;
    const { view } = this.node;
    this.panel.listMoves(byId("moves"), {
      wanted: byId("filter", "input").value,
      unlisted: view === null || place < 0 ? 0 : view.n_legal[place] - view.legal[place].length,
      nothing: "There are no moves here.",
    });
  }

  /** The role that values are shown for: the player's of the match, else the first. */
  get viewer() {
    return Math.max(0, this.logged.role);
  }

  /** The tree: the main line with the variations behind the moves that they take the place of. */
  showLines() {
    const place = byId("lines");
    const isUsed = place.contains(document.activeElement) && document.activeElement !== place;
    if (this.isHeld || isUsed) return;
    const { scrollTop } = place;
    fill(place, this.itemsFrom(this.tree.root));
    place.scrollTop = scrollTop;
    /** @type {HTMLElement | null} */
    const here = place.querySelector("[aria-current]");
    if (here !== null) {
      const top = here.offsetTop - place.offsetTop;
      if (top < place.scrollTop) place.scrollTop = top;
      else if (top + here.offsetHeight > place.scrollTop + place.clientHeight) place.scrollTop = top + here.offsetHeight - place.clientHeight;
    }
    this.showCompared();
  }

  /**
   * The items of the line behind a node, with its variations in lists of their own.
   * @param {LineNode} node
   */
  itemsFrom(node) {
    /** @type {HTMLElement[]} */
    const items = [];
    for (let at = node; at.children.length > 0; [at] = at.children) {
      items.push(this.item(at.children[0]));
      for (const other of at.children.slice(1)) {
        items.push(element("li", { class: "variation" }, element("ol", null, this.item(other), this.itemsFrom(other))));
      }
    }
    return items;
  }

  /** @param {LineNode} node */
  item(node) {
    const worth = worthOf(node, this.viewer);
    const isProven = node.worth?.proven[this.viewer] != null;
    return element(
      "li",
      { "aria-current": node === this.node ? "step" : null },
      element("small", null, `${node.turn}.`),
      element(
        "button",
        { type: "button", class: "plain", title: node.fault?.says, on: { click: () => this.goFrom(node) } },
        moveSaid(this.panel.speaker, this.view.roles, node.joint, passerOf(lineTo(node), node.turn - 1)),
        node.fault !== null && gradeTag(node.fault.grade),
      ),
      worth !== null && element("small", { class: isProven ? "proven-value" : null, title: `worth to ${this.view.roles[this.viewer]}` }, goal(Math.round(worth))),
    );
  }

  /** @param {LineNode} node */
  goFrom(node) {
    this.isHeld = false;
    leaveFocus();
    this.goTo(node);
  }

  /** The ends of the lines beside each other. */
  showCompared() {
    const ends = this.tree.leaves();
    const role = this.viewer;
    const rows = ends.slice(0, MOST_COMPARED).map((end) => {
      // The line is named after the move with which it leaves the main line.
      const leaves = pathTo(end).find((node) => node.parent !== null && node.parent.children[0] !== node);
      const valued = pathTo(end).findLast((node) => worthOf(node, role) !== null);
      const name = leaves === undefined ? "Main line" : `${leaves.turn}. ${this.panel.speaker.sayJoint(this.view.roles, leaves.joint)}`;
      return element(
        "tr",
        { class: pathTo(end).includes(this.node) ? "answered" : null, ...(pathTo(end).includes(this.node) ? previewed(this.acts, lineTo(end).slice(this.node.turn)) : {}) },
        element("td", { class: "move" }, element("button", { type: "button", class: "plain", on: { click: () => this.goFrom(end) } }, name)),
        element("td", { class: "figure" }, count(end.turn)),
        element("td", { class: "figure" }, valued === undefined ? "" : goal(Math.round(worthOf(valued, role) ?? 0))),
        element("td", { class: "figure" }, valued === undefined ? "" : valued === end ? "at its end" : `after turn ${valued.turn}`),
      );
    });
    const names = ["Line", "Turns", `Value for ${this.view.roles[role]}`, ""];
    const compared = element("table", { class: "root" }, element("thead", null, element("tr", null, names.map((name) => element("th", { scope: "col" }, name)))), element("tbody", null, rows));
    refill(
      byId("compared"),
      ends.length > 1 && [element("h3", null, "Compared"), element("div", { class: "root-frame" }, compared)],
      ends.length > MOST_COMPARED && element("p", { class: "quiet" }, `and ${counted(ends.length - MOST_COMPARED, "further line")}`),
    );
  }

  showCurve() {
    const role = this.viewer;
    const end = endOf(this.node);
    /** @type {(path: LineNode[]) => [turn: number, value: number | null][]} */
    const points = (path) => path.map((node) => [node.turn, worthOf(node, role)]);
    const others = this.tree.leaves().filter((leaf) => leaf !== end);
    const main = pathTo(end);
    const last = Math.max(end.turn, ...others.slice(0, MOST_COMPARED).map(({ turn }) => turn));
    /** @type {[turn: number, value: number | null][]} */
    const logged = this.logged.role < 0 ? [] : this.logged.values.map((value, turn) => [turn, value]);
    fill(byId("curve-role"), roleKey(role), `for ${this.view.roles[role]}, turn by turn`);
    fill(byId("lines-role"), roleKey(role), `values for ${this.view.roles[role]}`);
    byId("curve").style.setProperty("--line-colour", `var(--role-${role}-line)`);
    const own = worthOf(this.node, role);
    drawCurve(byId("curve"), {
      lines: [
        { kind: "logged", points: logged.filter(([turn]) => turn <= last) },
        ...others.slice(0, MOST_COMPARED).map((leaf) => ({ kind: "other", points: points(pathTo(leaf)) })),
        { kind: "own", points: points(main) },
      ],
      last,
      at: this.node.turn,
      marks: main.flatMap(({ turn, fault }) => (fault === null ? [] : [{ turn, kind: fault.grade }])),
      label: `The value for ${this.view.roles[role]} over ${counted(last, "turn")}${own === null ? "" : `; ${Math.round(own)} at turn ${this.node.turn}`}`,
    });
  }

  /** Looks for blunders in the line that is shown. */
  review() {
    if (byId("review").getAttribute("aria-pressed") === "true") {
      this.tell({ do: "endreview" }, byId("review"));
      this.reviewed = [];
      this.showReview(null);
      return;
    }
    const end = endOf(this.node);
    this.reviewed = pathTo(end);
    this.reviewShown = "";
    this.tell({ do: "review", line: lineTo(end), ms: Number(byId("review-effort", "select").value) }, byId("review"));
  }

  /** @param {Review | null} review */
  showReview(review) {
    const isRunning = review !== null && !review.is_finished;
    byId("review").setAttribute("aria-pressed", String(isRunning));
    setText(byId("review"), isRunning ? "Stop" : "Look for blunders");
    const progress = byId("review-progress", "progress");
    progress.hidden = !isRunning;
    if (review === null || this.reviewed.length !== review.of) {
      setText(byId("review-says"), "");
      if (review === null) {
        fill(byId("blunders"));
        fill(byId("review-summary"));
      }
      return;
    }
    const [settled, doubts] = review.doubts;
    progress.max = review.of + doubts;
    progress.value = review.done + settled;
    const blunders = review.graded.filter(({ grade }) => grade === "blunder").length;
    const found = `${blunders === 0 ? "No blunders" : counted(blunders, "blunder")} in ${counted(review.of - 1, "turn")}.`;
    const left = doubts === 0 ? `${review.done} of ${review.of} positions` : `${settled} of ${counted(doubts, "move")} in doubt`;
    setText(byId("review-says"), review.is_finished ? found : left);
    const key = JSON.stringify([review.graded, review.done, settled, review.is_finished]);
    if (key === this.reviewShown) return;
    this.reviewShown = key;
    for (const [turn, worth] of review.worths.entries()) {
      const node = this.reviewed[turn];
      // What the search of the position itself has proven is not forgotten.
      if (worth !== null && !(node.worth?.proven.some((proven) => proven !== null) ?? false)) node.worth = worth;
    }
    for (const node of this.reviewed) node.fault = null;
    for (const { turn, role, grade, better, value, after } of review.graded) {
      const says = `${this.panel.speaker.say(role, better)} was better: ${goal(Math.round(value))}, not ${goal(Math.round(after))}`;
      this.reviewed[turn + 1].fault = { grade, says };
    }
    refill(byId("review-summary"), review.summary.length > 0 && summaryTable(review.summary));
    refill(byId("blunders"), review.graded.map((found) => this.gradedItem(found)));
    this.showLines();
    this.showCurve();
  }

  /** @param {GradedMove} found */
  gradedItem(found) {
    const before = this.reviewed[found.turn];
    const values = `${goal(Math.round(found.value))} → ${goal(Math.round(found.after))}`;
    return element(
      "li",
      null,
      element(
        "button",
        { type: "button", class: "plain", on: { click: () => this.goTo(before) } },
        `${found.turn + 1}. ${found.role}: ${this.panel.speaker.say(found.role, found.played)}`,
      ),
      gradeTag(found.grade),
      ` ${values}`,
      found.is_proven && element("span", { class: "tag proven" }, "proven"),
      `; better: ${this.panel.speaker.say(found.role, found.better)} `,
      found.line.length > 0 &&
        element(
          "button",
          {
            type: "button",
            class: "button",
            on: {
              click: () => {
                this.goTo(before);
                this.playLine(found.line);
              },
            },
          },
          "Show it",
        ),
    );
  }

  remarks() {
    const { view } = this;
    const isOwn = view.study !== undefined && view.study.facts !== null;
    return [`${view.game}: ${view.roles.join(", ")}`, ...(isOwn ? ["from a position of its own"] : [])];
  }

  /**
   * @param {string} text
   * @param {string} says
   */
  async copy(text, says) {
    const field = byId("text", "textarea");
    field.value = text;
    try {
      await navigator.clipboard.writeText(text);
      setText(byId("text-says"), says);
    } catch {
      field.select();
      setText(byId("text-says"), "It is in the text, to be copied from there.");
    }
  }

  paste() {
    const { line, problem } = readLine(byId("text", "textarea").value, this.view.roles.length);
    setText(byId("text-says"), "");
    forgive();
    if (problem !== null || line.length === 0) complain(byId("paste"), problem ?? "There are no moves in the text.");
    if (problem !== null || line.length === 0) return;
    const node = this.tree.add(this.tree.root, line);
    if (node === this.node) setText(byId("text-says"), `${counted(line.length, "turn")} shown.`);
    else this.pasted = line.length;
    this.goTo(node, byId("paste"));
  }

  /** Takes the variation of this position away, from where it leaves the line before it. */
  forget() {
    const { node } = this;
    if (node.parent === null) return;
    this.goTo(node.parent);
    this.tree.remove(node);
    this.showAll();
    this.keep();
  }

  /**
   * The study is not there any more: nothing can be done here.
   * @param {string} why
   */
  end(why) {
    this.fallSilent(`${why[0].toUpperCase()}${why.slice(1)}. Choose a game again.`);
  }
}

/** @param {Grade} grade */
function gradeTag(grade) {
  return element("span", { class: `tag ${grade}`, title: grade, "aria-label": grade, role: "img" }, SIGNS[grade]);
}

/**
 * How each role played.
 * @param {RoleSummary[]} summary
 */
function summaryTable(summary) {
  const rows = summary.map(({ role, moves, grades, mean_loss, accuracy }) =>
    element(
      "tr",
      null,
      element("th", { scope: "row" }, role),
      [accuracy === null ? "" : `${Math.round(accuracy)} %`, ...grades.toReversed(), mean_loss === null ? "" : mean_loss.toFixed(1), moves].map((figure) =>
        element("td", { class: "figure" }, String(figure)),
      ),
    ),
  );
  const counts = Object.entries(SIGNS).map(([grade, sign]) => element("abbr", { title: grade }, sign));
  const names = ["Role", "Accuracy", ...counts.reverse(), element("abbr", { title: "points lost a move" }, "Lost"), "Moves"];
  const frame = { class: "root-frame", tabindex: "0", role: "region", "aria-label": "How the roles played" };
  return element("div", frame, table({ class: "root" }, names, element("tbody", null, rows)));
}

/**
 * The focus leaves a button that is about to be drawn anew, for the tree of lines, where the arrow
 * keys go on.
 */
function leaveFocus() {
  const isByKeyboard = document.activeElement?.matches(":focus-visible") === true;
  byId("lines").focus({ preventScroll: !isByKeyboard });
}

/** @type {{ page: StudyPage | null }} */
const own = { page: null };

/** What was pasted as a position. */
function position() {
  const facts = byId("facts", "textarea").value.trim();
  return facts === "" ? {} : { facts };
}

/**
 * @param {Setting} setting
 * @param {Element} [beside] the element with which a person chose it
 */
async function open(setting, beside) {
  const opened = untilThere(setting).then(() => openAndKeep({ ...setting, seconds: 30 }));
  // What the address asks for fails in place of a choice.
  if (beside === undefined) opened.catch(() => (byId("choose").hidden = false));
  await attempt(beside ?? byId("about-choices"), async () => {
    // An address that asks for a study would ask again on the way back.
    if (beside === undefined) location.replace(tableHere(await opened));
    else goToTable(await opened);
  });
}

/**
 * Waits for the table that is to be studied: one that comes back has its moves once its game is there.
 * @param {Setting} setting
 */
async function untilThere({ study }) {
  if (typeof study?.table !== "string") return;
  let view = await askTable(study.table, 0);
  while (view.phase === "building" && !view.waits) view = await askTable(study.table, view.version);
}

/**
 * What the address asks to study: a match or what is played at a table; null where it asks for
 * nothing.
 * @returns {Setting | null}
 */
function asked() {
  const { query } = here();
  const turn = query.get("turn");
  const study = Object.fromEntries(["match", "table"].filter((name) => query.has(name)).map((name) => [name, query.get(name)]));
  if (query.has("game")) return { game: query.get("game"), study };
  if (Object.keys(study).length === 0) return null;
  return { study: { ...study, ...(/^\d{1,6}$/.test(turn ?? "") ? { turn: Number(turn) } : {}) } };
}

/**
 * Asks for news of one kind, again and again, until the page shows something else.
 * @template {{ version: number }} News
 * @param {StudyPage} page
 * @param {(table: string, after: number) => Promise<News | null>} ask
 * @param {(news: News) => void} take
 */
async function follow(page, ask, take) {
  let version = 0;
  while (own.page === page) {
    let news = null;
    try {
      news = await ask(page.table, version);
    } catch (problem) {
      if (own.page !== page) return;
      if (problem instanceof Refused && problem.status !== UNAVAILABLE) {
        await lost(page, problem);
        return;
      }
      page.fallSilent(problem instanceof Refused ? `Waiting: ${problem.message}.` : `${messageOf(problem)}. This page goes on when it is back.`);
      // A server that is back counts anew.
      version = 0;
      await new Promise((done) => setTimeout(done, RETRY));
      continue;
    }
    if (own.page !== page) return;
    if (news !== null && news.version !== version) take(news);
    version = news?.version ?? 0;
  }
}

/**
 * A study that has ended is opened again where the address says how.
 * @param {StudyPage} page
 * @param {Refused} problem
 */
async function lost(page, problem) {
  if (page.isLost) return;
  page.isLost = true;
  const setting = asked();
  if (setting === null) page.end(problem.message);
  else await open(setting);
}

async function route() {
  const { table } = here();
  const focused = document.activeElement;
  const setting = asked();
  forgive();
  byId("choose").hidden = table !== "" || setting !== null;
  byId("table").hidden = table === "";
  if (table === "") {
    own.page = null;
    document.title = "Panza: study";
    if (setting !== null) await open(setting);
    return;
  }
  if (own.page !== null) {
    // Listeners of another study would answer too.
    location.reload();
    return;
  }
  // What was pressed to choose a game is hidden.
  if (byId("choose").contains(focused)) byId("main").focus();
  const page = new StudyPage(table);
  own.page = page;
  await Promise.all([
    follow(page, askTable, (view) => page.show(view)),
    follow(page, askReport, (report) => page.hear(report)),
  ]);
}

async function start() {
  byId("wordmark").replaceWith(wordmark());
  skipInPlace();
  byId("options").addEventListener("submit", (event) => event.preventDefault());
  byId("leave").addEventListener("click", () => {
    if (own.page !== null) tellTable(own.page.table, { do: "close" }).catch(() => {});
  });
  byId("own-study").addEventListener("click", () => open({ ...ownRules(), study: position() }, byId("own-study")));
  offerKeys(
    ["Left, Right", "one turn back, one turn on"],
    ["Home, End", "the start and the end of the line"],
    ["Up, Down", "among the variations of a turn"],
    ["Arrow keys", "on the board: from cell to cell"],
    ["Enter or Space", "on the board: clicks the cell; elsewhere: presses the button"],
  );
  window.addEventListener("hashchange", route);
  await Promise.all([route(), offerGames((game, button) => open({ ...settingOf(game), study: position() }, button))]);
}

start();
