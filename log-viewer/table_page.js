// What a page at a table does whether a game is played there or studied: it follows the table by
// requests that wait for news, says what goes on, and what went wrong with what a person did.

import { placeOf } from "./board.js";
import { BoardPanel } from "./board_panel.js";
import { rulesInWords } from "./choose_game.js";
import { messageOf } from "./format.js";
import { cellName } from "./labels.js";
import { attempt, byId, complain, fill, setText } from "./page.js";
import { PieceCounts } from "./roles.js";
import { Refused, tellTable } from "./server.js";

/** @import { Laid, Order, Shape, TableView } from "./types.d.ts" */

/** Milliseconds after which a server that did not answer, or has no room, is asked again. */
export const RETRY = 500;
const UNAVAILABLE = 503;

/** The page that is shown. @type {{ page: TablePage | null }} */
export const own = { page: null };

export class TablePage {
  /**
   * @param {string} table
   * @param {string} silence
   * @param {Omit<ConstructorParameters<typeof BoardPanel>[0], "board" | "which">} acts what is done on the board
   */
  constructor(table, silence, acts) {
    this.table = table;
    /** What was shown last; null before anything was. */
    this.seen = /** @type {TableView | null} */ (null);
    this.panel = new BoardPanel({ board: byId("board"), which: byId("which"), ...acts });
    this.shapes = /** @type {Shape[]} */ ([]);
    this.counts = new PieceCounts();
    /** Why nothing can be done for now, such as a server that does not answer; null otherwise. */
    this.silence = /** @type {string | null} */ (silence);
    /**
     * What a person has done last, and how many commands the table had been told before; null once
     * it has answered.
     */
    this.acted = /** @type {{ beside: Element, told: number } | null} */ (null);
  }

  /** What the table shows. */
  get view() {
    if (this.seen === null) throw new Error("the table has shown nothing");
    return this.seen;
  }

  /** @param {TableView} view */
  see(view) {
    this.silence = null;
    this.seen = view;
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
  }

  /**
   * The table is not there any more: nothing can be done at it.
   * @param {string} why
   */
  end(why) {
    this.fallSilent(`${why[0].toUpperCase()}${why.slice(1)}. Choose a game again.`);
  }

  /**
   * The server refuses to go on.
   * @param {string} why
   */
  lost(why) {
    this.end(why);
  }

  /**
   * Says what went wrong with what a person did here, and what is wrong with the table itself.
   * Returns whether that is the answer to what a person did.
   * @param {boolean} isOfTable
   */
  showProblem(isOfTable) {
    const { problem, told } = this.view;
    const isAnswer = this.acted !== null && told !== this.acted.told;
    if (this.acted !== null && isAnswer && problem !== null) complain(this.acted.beside, problem);
    if (isAnswer) this.acted = null;
    setText(byId("problem"), isOfTable || told === 0 ? (problem ?? "") : "");
    return isAnswer;
  }

  /**
   * Shows the title of the game and its rules in words.
   * @param {string} what
   */
  showTitle(what) {
    const { title, game, about } = this.view;
    setText(byId("name"), title === "" ? game : title);
    document.title = `${title === "" ? game : title} · ${what}Panza`;
    byId("rules").hidden = about.length === 0;
    if (byId("about").childElementCount === 0) fill(byId("about"), rulesInWords(about));
  }

  /** What is said while the game is not there; null once it is. */
  get beginning() {
    const { phase, waits } = this.view;
    if (phase === "training") return waits ? "Waiting for a match: training begins again once Panza has played it." : "Panza trains …";
    if (phase !== "building") return null;
    return waits ? "Waiting for a match: the game is opened once Panza has played it." : "Panza reads the rules …";
  }

  /**
   * The table comes back; what was shown before stays until its game is there.
   * @param {TableView} view
   * @param {string} what
   */
  comeBack({ waits }, what) {
    this.fallSilent(waits ? `Waiting for a match: ${what} goes on once Panza has played it.` : "Panza reads the rules again …");
  }

  /**
   * Lists the moves of the role at a place of a position.
   * @param {TableView | null} view
   * @param {number} place
   * @param {string | null} nothing
   */
  listMoves(view, place, nothing) {
    const unlisted = view === null || place < 0 ? 0 : view.n_legal[place] - view.legal[place].length;
    this.panel.listMoves(byId("moves"), { wanted: byId("filter", "input").value, unlisted, nothing });
  }
}

/**
 * The names of the cells on which facts lie.
 * @param {string[]} facts
 * @param {Laid} laid
 */
export function cellsOfFacts(facts, laid) {
  const places = facts.map((fact) => placeOf(fact, laid));
  return new Set(places.filter((place) => place !== null).map(({ board, key }) => cellName(board, key)));
}

/**
 * Asks for news of one kind, again and again, until the page shows something else.
 * @template {{ version: number }} News
 * @param {TablePage} page
 * @param {(table: string, after: number) => Promise<News | null>} ask
 * @param {(news: News) => void} take
 */
export async function follow(page, ask, take) {
  let version = 0;
  while (own.page === page) {
    let news = null;
    try {
      news = await ask(page.table, version);
    } catch (problem) {
      if (own.page !== page) return;
      if (problem instanceof Refused && problem.status !== UNAVAILABLE) {
        page.lost(problem.message);
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
