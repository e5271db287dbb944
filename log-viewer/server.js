// Requests to the player's server. A match's files are followed by requesting the bytes after those
// already read; an answer ends with a whole line, so that it can be decoded on its own. What is sent
// carries a header that pages of other origins may not send.

/**
 * Every how many times a file is asked for. Events come first; figures can wait, and the readable
 * log repeats the events. Requests take processor time from the player.
 */
const EVERY = { events: 1, series: 2, log: 4 };

const FILES = Object.keys(EVERY);

/** The server's word on a request that it does not follow. */
export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function ask(address, options) {
  const answer = await fetch(address, { cache: "no-store", ...options });
  if (!answer.ok) throw new Refused(answer.status, (await answer.text()).trim());
  return answer;
}

async function post(address, body) {
  const headers = { "Content-Type": "application/json", "panza-page": "1" };
  return (await ask(address, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

/** A page of the list of matches. */
export async function askMatches({ offset, limit, search }) {
  const query = new URLSearchParams({ offset, limit, search });
  return (await ask(`/api/matches?${query}`)).json();
}

/** Follows the files of one match. */
export class Follower {
  constructor(folder) {
    this.folder = folder;
    this.address = `/api/matches/${encodeURIComponent(folder)}`;
    this.taken = { events: 0, series: 0, log: 0 };
    this.times = 0;
    /** Whether the game's own boards were asked for. */
    this.hasAsked = false;
    this.decoders = Object.fromEntries(FILES.map((file) => [file, new TextDecoder()]));
  }

  /** The summary of the match. */
  async summary() {
    return (await ask(this.address)).json();
  }

  /** How the match's game wants to be drawn, where it is one of the program that says so. */
  async shapes() {
    return (await (await ask(`${this.address}/board`)).json()).shapes;
  }

  /** Where a file, or the bundle of all, can be downloaded. */
  download(file) {
    return `${this.address}/${file}`;
  }

  /** Takes what is new in the files into a record, and returns which have grown; `isLast`, where nothing may be left. */
  async take(record, isLast) {
    const wanted = FILES.filter((file) => isLast || this.times % EVERY[file] === 0);
    this.times += 1;
    const updates = await Promise.all(wanted.map((file) => this.takeFile(file, record)));
    return wanted.filter((_, index) => updates[index]);
  }

  async takeFile(file, record) {
    for (let isNew = false; ; isNew = true) {
      const bytes = await this.more(file);
      if (bytes.byteLength === 0) return isNew;
      this.taken[file] += bytes.byteLength;
      record.push(file, this.decoders[file].decode(bytes, { stream: true }));
    }
  }

  /** The bytes after those already read; nothing for a missing file. */
  async more(file) {
    try {
      const answer = await ask(`${this.address}/${file}?from=${this.taken[file]}`);
      return await answer.arrayBuffer();
    } catch (problem) {
      if (problem instanceof Refused && problem.status === 404) return new ArrayBuffer(0);
      throw problem;
    }
  }

  /** Files of which the server holds more than whole lines. */
  leftOver(files) {
    return FILES.filter((file) => (files?.[file] ?? 0) > this.taken[file]);
  }
}

/** Unpacks a log that is packed with bzip2 and written in base64: `{ text, problem }`. */
export function unpack(packed) {
  return post("/api/unpack", packed);
}

/** The trained games in the player's memory. */
export async function askTraining() {
  return (await ask("/api/training")).json();
}

/** The games inside the program. */
export async function askGames() {
  return (await (await ask("/api/games")).json()).games;
}

/** Opens a table, where people play, and gives its name. */
export async function openTable(setting) {
  return (await post("/api/tables", setting)).table;
}

/** What a table shows, once that is newer than a version; after a while also if it is not. */
export async function askTable(table, after) {
  return (await ask(`/api/tables/${encodeURIComponent(table)}?after=${after}`)).json();
}

/** The facts of an earlier turn at a table. */
export async function askTurn(table, turn) {
  return (await (await ask(`/api/tables/${encodeURIComponent(table)}/turns?turn=${turn}`)).json()).facts;
}

/** What Panza thinks at a study table, once that is newer than a version; null before it has said something. */
export async function askReport(table, after) {
  return (await ask(`/api/tables/${encodeURIComponent(table)}/report?after=${after}`)).json();
}

/** Tells a table what a person does there. */
export function tellTable(table, order) {
  return post(`/api/tables/${encodeURIComponent(table)}`, order);
}

/** The rulesheet of a game inside the program. */
export async function askRules(game) {
  return (await ask(`/api/games/${encodeURIComponent(game)}`)).text();
}

// A sheet is `{ text, file, dialect }`. Without a dialect the name of the file and the text tell
// it.

/** What is wrong with a sheet: `{ dialect, diagnostics, more }`, with places in UTF-16 units. */
export function checkRules(sheet) {
  return post("/api/check", sheet);
}

/** A sheet in the canonical layout, or null where it cannot be read. */
export async function layOutRules(sheet) {
  return (await post("/api/format", sheet)).text;
}

/** What may be written at a place of a sheet: `{ from, to, proposals }`. */
export function askProposals(sheet, at) {
  return post("/api/complete", { ...sheet, at });
}

/** What the name at a place of a sheet means, or null. */
export function askMeaning(sheet, at) {
  return post("/api/explain", { ...sheet, at });
}

/** The first position of a game and some random games, or `{ busy: true }` while a match is played. */
export function askPreview(sheet) {
  return post("/api/preview", sheet);
}
