// The page on which a game is studied. It keeps the tree of lines (`variations.js`) and sends the
// server the line to the position that is shown. The server answers with the facts and legal moves
// of that position, and with the values of its search (`thoughts.js`). Positions that were shown
// are drawn again at once.

import { goToTable, here, tableHere } from "./address.js";
import { factsBefore, layOut, readShapes } from "./board.js";
import { turnedRound } from "./board_panel.js";
import { Chapters } from "./chapters.js";
import { filledCells, readChoices } from "./choices.js";
import { offerGames, ownRules, settingOf } from "./choose_game.js";
import { drawCurve, turnAt } from "./curve.js";
import { Exchange, offerFile, openText, texts } from "./exchange.js";
import { isIdle } from "./expressions.js";
import { count, counted, goal, list, object } from "./format.js";
import { openAndKeep } from "./kept.js";
import { ChapterList, NoteField, noteSaid } from "./notes.js";
import { unpackStudy } from "./notation.js";
import { around, attempt, byId, complain, copyText, element, factsText, fill, forgive, keepFocus, offerKeys, refill, setText, skipInPlace, table, wordmark } from "./page.js";
import { Reviewing, gradeTag } from "./review.js";
import { moveSaid, paintRoles, passerOf, resultText, roleKey } from "./roles.js";
import { askLines, askReport, askTable, tellTable } from "./server.js";
import { Setup } from "./setup.js";
import { RETRY, TablePage, cellsOfFacts, follow, own } from "./table_page.js";
import { previewed, showPlans, showThoughts, showWorth, thinkingText } from "./thoughts.js";
import { MARKS, endOf, findNode, lineText, lineTo, nextOf, pathTo, readLine, worthOf } from "./variations.js";

/** @import { Chapter, Checked, Joint, Laid, LineNode, LineTree, Report, Setting, Study, TableView } from "./types.d.ts" */

/** The buttons that step along the line, in their order. */
const steps = () => ["first", "previous", "next", "last"].map((id) => byId(id, "button"));
/** Lines that are compared, at most. */
const MOST_COMPARED = 12;
/** Characters of what is kept, at most: the server takes no longer request. */
const MOST_KEPT = 1_900_000;

export class StudyPage extends TablePage {
  /** @param {string} table */
  constructor(table) {
    super(table, "The study is being opened …", { play: (text) => this.choose(text), circle: (name) => this.notes.circle(name) });
    this.isLost = false;
    /** Whether the line is known that the study begins with. */
    this.isBegun = false;
    this.chapters = new Chapters();
    this.node = this.chapters.list[0].tree.root;
    /** What the player of the match thought, where there is a log. */
    this.logged = { role: -1, values: /** @type {(number | null)[]} */ ([]) };
    this.report = /** @type {Report | null} */ (null);
    /** The choices of roles that choose at once, by the place of the role. */
    this.chosen = /** @type {Map<number, string>} */ (new Map());
    this.isTurned = false;
    this.laid = /** @type {Laid} */ (layOut([], []));
    this.isGoing = false;
    this.isBehind = false;
    /** Whether the server has shown the position that this page asked for last. */
    this.isSettled = false;
    /** The version of the chapters that this page has, and the last change that it has sent. */
    this.lines = 0;
    this.sent = 0;
    this.isKeeping = false;
    /** By what this page knows the chapters that it has sent itself. */
    this.mark = String(Math.random());
    /** The turns of the line that was pasted last, until the server has shown it. */
    this.pasted = 0;
    /** A chapter whose position is being set up, and from where a person went there. */
    this.begun = /** @type {{ chapter: Chapter, from: LineNode } | null} */ (null);
    /** The question whether lines are legal. */
    this.question = { number: 0, answer: (/** @type {Checked} */ _) => {} };
    /** Whether a pointer is down on what Panza thinks, which is then not drawn anew beneath it. */
    this.isHeld = false;
    this.setup = new Setup();
    this.notes = new NoteField(this);
    this.chapterList = new ChapterList(this);
    this.reviewing = new Reviewing(this);
    this.exchange = new Exchange(this);
    this.listen();
  }

  /** The chapter that is shown, and its tree. */
  get chapter() {
    return this.chapters.of(this.node);
  }

  get tree() {
    return this.chapter.tree;
  }

  /** How moves are said, and what is done with lines. */
  get acts() {
    return {
      speaker: this.panel.speaker,
      roles: this.view.roles,
      playMove: (/** @type {string} */ text) => this.playMove(text),
      playLine: (/** @type {Joint[]} */ line) => this.playLine(line),
      preview: (/** @type {Joint[]} */ line) => this.panel.preview(line),
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
    click("copy", () => this.copy(lineText(lineTo(endOf(this.node)), this.remarks()), "The line is in the text and on the clipboard."));
    click("copy-facts", () => copyText(factsText(list(this.node.view?.facts)), byId("copied")));
    click("set-up", () => this.openSetup(true));
    click("setup-cancel", () => this.openSetup(false));
    click("setup-start", () => this.startAt(this.setup.text));
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
   * Left and right go along the line, up and down to the variations of this turn; a digit marks the
   * move by its number in chess.
   * @param {KeyboardEvent} event
   */
  key(event) {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
    if (!this.isBegun || around(event, "input, select, textarea, dialog")) return;
    /** @type {Record<string, (() => void) | undefined>} */
    const acts = {
      ArrowLeft: () => this.move(-1),
      ArrowRight: () => this.move(1),
      ArrowUp: () => this.turnAside(-1),
      ArrowDown: () => this.turnAside(1),
      Home: () => this.goTo(this.tree.root),
      End: () => this.goTo(endOf(this.node)),
      c: () => byId("note").focus(),
    };
    const act = /^[0-6]$/.test(event.key) ? () => this.notes.mark(MARKS[Number(event.key) - 1] ?? "") : acts[event.key];
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
      const { id, start } = this.chapter;
      await this.tell({ do: "go", line: lineTo(this.node), start: { chapter: id, facts: start } }, beside);
    }
    this.isGoing = false;
  }

  /**
   * @override
   * @param {string} why
   */
  fallSilent(why) {
    super.fallSilent(why);
    setText(byId("thinking"), "");
  }

  /** Says what came of what a person did; returns whether it was answered. */
  showAnswer() {
    const { problem, moves } = this.view;
    const isAnswer = this.showProblem(!this.isBegun);
    if (isAnswer && this.pasted > 0) {
      const all = counted(this.pasted, "turn");
      setText(byId("text-says"), problem === null ? `${all} shown.` : `${moves.length} of ${all} shown.`);
      this.pasted = 0;
    }
    return isAnswer;
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
   * What a role that moves alone, or chance, plays, from the list of Panza's moves.
   * @param {string} text
   */
  playMove(text) {
    this.isHeld = false;
    leaveFocus();
    const place = this.view.roles.indexOf(this.report?.role ?? "");
    if (place < 0 || place === this.place) this.choose(text);
  }

  /**
   * The server shows a position: that of the node it was asked for, or of what was legal of a line.
   * @param {TableView} view
   */
  show(view) {
    const { study } = view;
    if (view.phase === "building" && this.isBegun) {
      this.comeBack(view, "studying");
      return;
    }
    if (this.silence !== null && this.isBegun) this.send(byId("board"));
    this.see(view);
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
    if (study.checked?.number === this.question.number) this.question.answer(study.checked);
    const isAnswer = this.showAnswer();
    if (isAnswer && view.problem !== null && this.begun !== null && this.begun.chapter.id !== study.chapter) this.undoStart();
    this.arrive(view, study);
  }

  /**
   * The server is at a position of a chapter.
   * @param {TableView} view
   * @param {Study} study
   */
  arrive(view, study) {
    const chapter = this.chapters.list.find(({ id }) => id === study.chapter);
    const known = chapter && findNode(chapter.tree.root, view.moves);
    // A line that was taken away here does not come back before the server has left it.
    const isLeft = known === undefined && !this.isSettled;
    if (chapter === undefined || isLeft || chapter.start !== (study.facts ?? "")) {
      // The chapters are on their way, or the server is on its way to this one.
      this.showHead();
      return;
    }
    if (this.begun?.chapter === chapter) {
      this.begun = null;
      this.openSetup(false);
    }
    const node = known ?? chapter.tree.add(chapter.tree.root, view.moves);
    node.view = view;
    const wanted = lineTo(this.node);
    const isAhead = chapter === this.chapter && wanted.length > view.moves.length && view.moves.every((joint, at) => String(joint) === String(wanted[at]));
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
    const [first] = this.chapters.list;
    if (this.chapters.isUntouched) {
      first.start = study.facts ?? "";
      first.tree.add(first.tree.root, study.line);
    }
    this.panel.speaker.setShapes(readShapes(view.shapes));
    this.panel.learnPast(this.table, view.roles, view.moves).then(() => this.showLines(), () => {});
    const { tree } = this.chapters.list.find(({ id }) => id === study.chapter) ?? first;
    this.node = tree.add(tree.root, view.moves);
    this.sent = this.chapters.changes;
    const role = view.roles.indexOf(study.role ?? "");
    this.logged = { role, values: list(study.values) };
    fill(byId("watch"), view.roles.map((name) => element("option", { value: name }, name)));
    if (texts.brought !== "") this.exchange.take(texts.brought, byId("bring"));
    texts.brought = "";
  }

  /** Has the table keep the chapters, for other pages there and for later. */
  async keep() {
    if (this.isKeeping) return;
    this.isKeeping = true;
    while (this.sent !== this.chapters.changes) {
      this.sent = this.chapters.changes;
      const lines = { ...this.chapters.kept(), by: this.mark };
      const isLong = JSON.stringify(lines).length > MOST_KEPT;
      if (isLong) complain(byId("chapters"), "This study is too long to be kept: save it as a file, and go on in another one.");
      // What goes wrong shows with the next request for news.
      else await tellTable(this.table, { do: "lines", lines }).catch(() => {});
    }
    this.isKeeping = false;
  }

  /**
   * Takes the chapters that the table keeps: at first, and where another page has changed them.
   * @param {number} version
   */
  async takeLines(version) {
    if (this.isBegun) this.lines = version;
    let chapters = null;
    try {
      const kept = await askLines(this.table);
      // What this page has sent may be older than what it shows.
      if (this.isBegun && object(kept).by === this.mark) return;
      chapters = Chapters.read(kept, this.view.study?.facts ?? "");
    } catch {
      setTimeout(() => this.takeLines(version), RETRY);
      return;
    }
    this.lines = version;
    if (!this.isBegun) {
      this.chapters = chapters ?? this.chapters;
      this.show(this.view);
      return;
    }
    // What this page has changed meanwhile is kept next.
    if (chapters === null || this.isKeeping || this.sent !== this.chapters.changes || JSON.stringify(chapters.kept()) === JSON.stringify(this.chapters.kept())) return;
    chapters.learn(this.chapters);
    const { id } = this.chapter;
    const { tree } = chapters.list.find((other) => other.id === id) ?? chapters.list[0];
    this.node = findNode(tree.root, lineTo(this.node)) ?? tree.root;
    this.chapters = chapters;
    this.sent = chapters.changes;
    this.reviewing.nodes = [];
    if (this.node.view === null) this.send(byId("board"));
    this.showAll();
  }

  /**
   * Asks the table whether the lines of chapters are legal.
   * @param {Pick<Chapter, "start" | "tree">[]} chapters
   * @returns {Promise<Checked>}
   */
  check(chapters) {
    return new Promise((answer, fail) => {
      const number = Date.now();
      this.question = { number, answer };
      /** @param {Pick<Chapter, "start" | "tree">} chapter @returns {LineTree} */
      const lines = ({ start, tree }) => ({ facts: start, lines: tree.kept().map(([parent, joint]) => [parent, joint]) });
      tellTable(this.table, { do: "check", number, chapters: chapters.map(lines) }).catch(fail);
    });
  }

  /**
   * Opens the board on which a position is set up in place of that of the study, or goes back.
   * @param {boolean} isOpen
   */
  openSetup(isOpen) {
    if (byId("setup").hidden !== isOpen || (isOpen && this.node.view === null)) return;
    byId("setup").hidden = !isOpen;
    byId("board-card").hidden = isOpen;
    if (isOpen) this.setup.open(list(this.node.view?.facts), this.shapes, this.view.roles);
    byId(isOpen ? "setup-start" : "set-up").focus({ preventScroll: !isOpen });
  }

  /**
   * Begins a chapter with a position that was set up. It goes again where the table says that there
   * is no such position.
   * @param {string} facts
   */
  startAt(facts) {
    const from = this.node;
    if (this.chapters.isFull) complain(byId("setup-start"), "This study has as many chapters as it may have.");
    if (this.chapters.isFull || this.begun !== null) return;
    const chapter = this.chapters.add(`Position ${this.chapters.list.length}`, facts);
    this.begun = { chapter, from };
    this.goTo(chapter.tree.root, byId("setup-start"));
  }

  undoStart() {
    const { chapter, from } = this.begun ?? {};
    this.begun = null;
    if (chapter === undefined || from === undefined) return;
    this.node = from;
    this.chapters.remove(chapter);
    this.isSettled = true;
    this.showAll();
    this.keep();
  }

  /**
   * What Panza thinks, of the position that is shown or of one before.
   * @param {Report} report
   */
  hear(report) {
    if (!this.isBegun) return;
    this.reviewing.show(report.review);
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
    this.notes.show();
    this.chapterList.show();
    this.drawPosition();
    this.showReport();
    this.showLines();
    this.showCurve();
  }

  showHead() {
    this.showTitle("study · ");
    setText(byId("says"), this.silence ?? this.says());
    if (!this.isBegun) this.showAnswer();
  }

  says() {
    const { view } = this;
    if (this.beginning !== null) return this.beginning;
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
      this.listMoves(null, -1, null);
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
    this.panel.circled = node.cells;
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
    const moves = this.view.roles[this.place] === report?.role ? list(report?.moves) : [];
    const known = moves.filter(({ visits, proven }) => visits > 0 || proven !== null);
    const values = known.flatMap(({ text, proven, value, is_bound }) => {
      const worth = proven ?? (is_bound ? null : value);
      return worth === null ? [] : [{ text, worth }];
    });
    this.panel.values = new Map(values.map(({ text, worth }) => [text, worth]));
    this.panel.marks = new Map([
      ["decisive", cellsOfFacts(list(node.view?.decisive), this.laid)],
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
    this.listMoves(this.node.view, this.place, "There are no moves here.");
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
    const { root } = this.tree;
    fill(place, root.text !== "" && element("li", { class: "at-start" }, noteSaid(root)), this.itemsFrom(root));
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
        node.mark !== "" && element("b", { class: "sign" }, node.mark),
        node.fault !== null && gradeTag(node.fault.grade),
      ),
      worth !== null && element("small", { class: isProven ? "proven-value" : null, title: `worth to ${this.view.roles[this.viewer]}` }, goal(Math.round(worth))),
      noteSaid(node),
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
    const compared = table({ class: "root" }, names, element("tbody", null, rows));
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

  remarks() {
    const { view } = this;
    return [`${view.game}: ${view.roles.join(", ")}`, ...(this.chapter.start !== "" ? ["from a position of its own"] : [])];
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
   * A study that has ended is opened again where the address says how.
   * @override
   * @param {string} why
   */
  async lost(why) {
    if (this.isLost) return;
    this.isLost = true;
    const setting = asked();
    if (setting === null) this.end(why);
    else await open(setting);
  }
}

/**
 * The focus leaves a button that is about to be drawn anew, for the tree of lines, where the arrow
 * keys go on.
 */
function leaveFocus() {
  const isByKeyboard = document.activeElement?.matches(":focus-visible") === true;
  byId("lines").focus({ preventScroll: !isByKeyboard });
}

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
 * Opens the study that a link holds.
 * @param {string} packed
 */
async function openLink(packed) {
  byId("choose").hidden = false;
  await attempt(byId("about-choices"), async () => {
    location.replace(tableHere(await openText(await unpackStudy(packed))));
  });
}

async function route() {
  const { table, packed } = here();
  if (packed !== "") {
    if (own.page === null) await openLink(packed);
    else location.reload();
    return;
  }
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
  await Promise.all([follow(page, askTable, (view) => page.show(view)), follow(page, askReport, (report) => page.hear(report))]);
}

async function start() {
  byId("wordmark").replaceWith(wordmark());
  skipInPlace();
  byId("options").addEventListener("submit", (event) => event.preventDefault());
  byId("leave").addEventListener("click", () => {
    if (own.page !== null) tellTable(own.page.table, { do: "close" }).catch(() => {});
  });
  byId("brought-open").addEventListener("click", () =>
    attempt(byId("brought-open"), async () => {
      goToTable(await openText(byId("brought-text", "textarea").value));
    }),
  );
  offerFile(byId("brought-file", "input"), byId("brought-text", "textarea"));
  byId("own-study").addEventListener("click", () => open({ ...ownRules(), study: position() }, byId("own-study")));
  offerKeys(
    ["Left, Right", "one turn back, one turn on"],
    ["Home, End", "the start and the end of the line"],
    ["Up, Down", "among the variations of a turn"],
    ["1 to 6, 0", `marks the move: ${MARKS.join(" ")}, or none`],
    ["c", "to the comment"],
    ["Alt-click, Alt-Enter", "on the board: marks a cell"],
    ["Arrow keys", "on the board: from cell to cell"],
    ["Enter or Space", "on the board: clicks the cell; elsewhere: presses the button"],
  );
  window.addEventListener("hashchange", route);
  await Promise.all([route(), offerGames((game, button) => open({ ...settingOf(game), study: position() }, button))]);
}

start();
