// Requests to the player's server. A match's files are followed by requesting the bytes after those
// already read; an answer ends with a whole line, so that it can be decoded on its own. What is sent
// carries a header that pages of other origins may not send.

/** @import { MatchRecord } from "./record.js" */
/** @import { Checked, Diagnostic, FileName, Layout, MatchEntry, MatchList, Offer } from "./types.d.ts" */
/** @import { Meaning, Order, Picture, Preview, Proposals, Report, Setting, Sheet } from "./types.d.ts" */
/** @import { TableView, TrainedGame } from "./types.d.ts" */

/**
 * Every how many times a file is asked for. Events come first; figures can wait, and the readable
 * log repeats the events. Requests take processor time from the player.
 */
const EVERY = { events: 1, series: 2, log: 4, debug: 8 };

/** The files of a match. @type {FileName[]} */
export const FILE_NAMES = ["events", "series", "log", "debug"];

/** The server's word on a request that it does not follow. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {string} text
   */
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

/** The server cannot be reached. */
export class Away extends Error {
  constructor() {
    super("Panza does not answer; it may have been stopped");
  }
}

/** What answers: the server, or in the one file what is put here (`offline/panza.js`). */
export const source = {
  /** @type {(address: string, options: RequestInit) => Promise<Response>} */
  answer: (address, options) => fetch(address, { cache: "no-store", ...options }),
};

/**
 * @param {string} address
 * @param {RequestInit} [options]
 */
async function ask(address, options = {}) {
  const answer = await source.answer(address, options).catch(() => {
    throw new Away();
  });
  if (!answer.ok) throw new Refused(answer.status, (await answer.text()).trim());
  return answer;
}

/**
 * @param {string} address
 * @param {unknown} body
 */
async function post(address, body) {
  const headers = { "Content-Type": "application/json", "panza-page": "1" };
  return (await ask(address, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

/**
 * A page of the list of matches.
 * @param {{ offset: number, limit: number, search: string }} wanted
 * @returns {Promise<MatchList>}
 */
export async function askMatches({ offset, limit, search }) {
  const query = new URLSearchParams({ offset: String(offset), limit: String(limit), search });
  return (await ask(`/api/matches?${query}`)).json();
}

/** Follows the files of one match. */
export class Follower {
  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder;
    this.address = `/api/matches/${encodeURIComponent(folder)}`;
    this.taken = { events: 0, series: 0, log: 0, debug: 0 };
    this.times = 0;
    /** Whether the game's own boards were asked for. */
    this.hasAsked = false;
    this.decoders = {
      events: new TextDecoder(),
      series: new TextDecoder(),
      log: new TextDecoder(),
      debug: new TextDecoder(),
    };
  }

  /**
   * The summary of the match.
   * @returns {Promise<MatchEntry>}
   */
  async summary() {
    return (await ask(this.address)).json();
  }

  /**
   * How the match's game wants to be drawn, where it is one of the program that says so.
   * @returns {Promise<Layout[]>}
   */
  async shapes() {
    return (await (await ask(`${this.address}/board`)).json()).shapes;
  }

  /**
   * Where a file, or the bundle of all, can be downloaded.
   * @param {FileName | "bundle"} file
   */
  download(file) {
    return `${this.address}/${file}`;
  }

  /**
   * Takes what is new in the files into a record, and returns which have grown; `isLast`, where
   * nothing may be left.
   * @param {MatchRecord} record
   * @param {boolean} isLast
   */
  async take(record, isLast) {
    const wanted = FILE_NAMES.filter((file) => isLast || this.times % EVERY[file] === 0);
    this.times += 1;
    const updates = await Promise.all(wanted.map((file) => this.takeFile(file, record)));
    return wanted.filter((_, index) => updates[index]);
  }

  /**
   * @param {FileName} file
   * @param {MatchRecord} record
   */
  async takeFile(file, record) {
    for (let isNew = false; ; isNew = true) {
      const bytes = await this.more(file);
      if (bytes.byteLength === 0) return isNew;
      this.taken[file] += bytes.byteLength;
      record.push(file, this.decoders[file].decode(bytes, { stream: true }));
    }
  }

  /**
   * The bytes after those already read; nothing for a missing file.
   * @param {FileName} file
   */
  async more(file) {
    try {
      const answer = await ask(`${this.address}/${file}?from=${this.taken[file]}`);
      return await answer.arrayBuffer();
    } catch (problem) {
      if (problem instanceof Refused && problem.status === 404) return new ArrayBuffer(0);
      throw problem;
    }
  }

  /**
   * Files of which the server holds more than whole lines.
   * @param {MatchEntry["files"]} files
   */
  leftOver(files) {
    return FILE_NAMES.filter((file) => (files?.[file] ?? 0) > this.taken[file]);
  }
}

/**
 * Unpacks a log that is packed with bzip2 and written in base64.
 * @param {string} packed
 * @returns {Promise<{ text: string, problem: string | null }>}
 */
export function unpack(packed) {
  return post("/api/unpack", packed);
}

/**
 * The trained games in the player's memory.
 * @returns {Promise<{ games: TrainedGame[] }>}
 */
export async function askTraining() {
  return (await ask("/api/training")).json();
}

/**
 * The games inside the program, and the levels that Panza plays at.
 * @returns {Promise<Offer>}
 */
export async function askGames() {
  return (await ask("/api/games")).json();
}

/**
 * The initial position of one of them, or `{ busy: true }` while a match is played.
 * @param {string} game
 * @returns {Promise<Picture | { busy: true }>}
 */
export async function askPicture(game) {
  return (await ask(`/api/games/${encodeURIComponent(game)}/picture`)).json();
}

/**
 * Which of these tables there are.
 * @param {string[]} tables
 * @returns {Promise<string[]>}
 */
export async function askKnown(tables) {
  return (await (await ask(`/api/tables?${new URLSearchParams({ names: tables.join(",") })}`)).json()).tables;
}

/**
 * Opens a table, where people play, and gives its name.
 * @param {Setting} setting
 * @returns {Promise<string>}
 */
export async function openTable(setting) {
  return (await post("/api/tables", setting)).table;
}

/**
 * What a table shows, once that is newer than a version; after a while also if it is not.
 * @param {string} table
 * @param {number} after
 * @returns {Promise<TableView>}
 */
export async function askTable(table, after) {
  return (await ask(`/api/tables/${encodeURIComponent(table)}?after=${after}`)).json();
}

/**
 * The facts of an earlier turn at a table.
 * @param {string} table
 * @param {number} turn
 * @returns {Promise<string[]>}
 */
export async function askTurn(table, turn) {
  return (await (await ask(`/api/tables/${encodeURIComponent(table)}/turns?turn=${turn}`)).json()).facts;
}

/**
 * What Panza thinks at a study table, once that is newer than a version; null before it has said
 * something.
 * @param {string} table
 * @param {number} after
 * @returns {Promise<Report | null>}
 */
export async function askReport(table, after) {
  return (await ask(`/api/tables/${encodeURIComponent(table)}/report?after=${after}`)).json();
}

/**
 * The tree of lines of a study table; null where none is kept.
 * @param {string} table
 * @returns {Promise<unknown>}
 */
export async function askLines(table) {
  return (await (await ask(`/api/tables/${encodeURIComponent(table)}/lines`)).json()).lines;
}

/**
 * The rulesheet of a table; its rules are null where the game is inside the program.
 * @param {string} table
 * @returns {Promise<{ rules: string | null, dialect: string }>}
 */
export async function askSheet(table) {
  return (await ask(`/api/tables/${encodeURIComponent(table)}/rules`)).json();
}

/**
 * Tells a table what a person does there.
 * @param {string} table
 * @param {Order} order
 */
export function tellTable(table, order) {
  return post(`/api/tables/${encodeURIComponent(table)}`, order);
}

/**
 * The rulesheet of a game inside the program.
 * @param {string} game
 */
export async function askRules(game) {
  return (await ask(`/api/games/${encodeURIComponent(game)}`)).text();
}

/**
 * What is wrong with a sheet.
 * @param {Sheet} sheet
 * @returns {Promise<Checked>}
 */
export function checkRules(sheet) {
  return post("/api/check", sheet);
}

/**
 * A sheet in the canonical layout, or null where it cannot be read.
 * @param {Sheet} sheet
 * @returns {Promise<string | null>}
 */
export async function layOutRules(sheet) {
  return (await post("/api/format", sheet)).text;
}

/**
 * What may be written at a place of a sheet.
 * @param {Sheet} sheet
 * @param {number} at
 * @returns {Promise<Proposals>}
 */
export function askProposals(sheet, at) {
  return post("/api/complete", { ...sheet, at });
}

/**
 * What the name at a place of a sheet means, or null.
 * @param {Sheet} sheet
 * @param {number} at
 * @returns {Promise<Meaning | null>}
 */
export function askMeaning(sheet, at) {
  return post("/api/explain", { ...sheet, at });
}

/**
 * The first position of a game and some random games, or `{ busy: true }` while a match is played.
 * @param {Sheet} sheet
 * @returns {Promise<Preview | { busy: true }>}
 */
export function askPreview(sheet) {
  return post("/api/preview", sheet);
}

/**
 * What random games show to be wrong with a sheet without errors, or `{ busy: true }` while a match
 * or another game is played.
 * @param {Sheet} sheet
 * @returns {Promise<{ diagnostics: Diagnostic[] } | { busy: true }>}
 */
export function askTrial(sheet) {
  return post("/api/trial", sheet);
}
