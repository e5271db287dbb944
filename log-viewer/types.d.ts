// The shapes of what the pages work with: what the player's server sends, what a log holds, and
// what the pages make of both. Only the type check reads this file; it is not served.
//
// A log may be damaged or of another version. What is read from one is `unknown` until a function
// of `format.js` has said what it is. What the server makes itself is taken at its word.

import type { MatchRecord } from "./record.js";
import type uPlot from "./uplot.js";
import type { Variations } from "./variations.js";

// Values of any kind.

/** An object of a log or of another page, any member of which may be missing or of another type. */
export interface Members {
  [name: string]: unknown;
}

/** Goals by role. */
export interface Goals {
  [role: string]: unknown;
}

/** The name of a file of a match, as the server calls it. */
export type FileName = "events" | "series" | "log" | "debug";

/** A joint move: the texts of the moves, in the order of the roles. */
export type Joint = string[];

/** An expression of the Game Description Language. */
export type Expression = string | Expression[];

// The list of matches (`/api/matches`).

export interface MatchList {
  total: number;
  found: number;
  player: PlayerState;
  matches: MatchEntry[];
}

export interface PlayerState {
  name: string;
  status: "available" | "busy";
  version: string;
  commit: string;
  dropped_lines: number;
  disk: string;
}

/** A match as `summary.json` has it. */
export interface Summary {
  match_id: string;
  game: string | null;
  role: string;
  roles: string[];
  players: string[] | null;
  host: string | null;
  started: string;
  seconds: number | null;
  steps: number;
  how: string | null;
  goals: Goals | null;
  value: number | null;
  start_clock: number;
  play_clock: number;
  errors: number;
  lost_lines: number;
}

export interface MatchEntry extends Summary {
  folder: string;
  live: boolean;
  bytes: number;
  damaged?: string;
  /** The lengths of the files; only where a single match is asked for. */
  files?: Record<FileName, number>;
}

// The record of a match, put together from its log.

export interface Turn {
  step: number;
  /** Seconds since the log was opened, of the first event of the turn. */
  from: number | null;
  /** The position before the moves. */
  facts: string[] | null;
  isTerminal: boolean;
  answer: Answer | null;
  root: RootMove[];
  plan: Plan | null;
  /** The joint move, in the order of the roles. */
  played: Joint | null;
}

/** What the player answered. */
export interface Answer {
  at: number | null;
  move: string | null;
  value: number | null;
  visits: number | null;
  seconds: number | null;
  isProven: boolean;
  isOnly: boolean;
}

export interface RootMove {
  move: string;
  visits: number;
  value: number | null;
}

/** What the planner of a single-player match has found. */
export interface Plan {
  step: number;
  goal: number | null;
  bound: number | null;
  isBest: boolean;
  solver: string | null;
  states: number | null;
  moves: string[];
  /** The number of the moves, which may be more than are listed. */
  length: number;
}

export interface Machine {
  kind: string | null;
  isFallback: boolean;
  seconds: number | null;
}

/** An error or a warning of a match. */
export interface Problem {
  kind: "error" | "warning";
  at: number | null;
  text: string;
}

/** A line of `match.log`, with the lines that belong to it. */
export interface Message {
  time: string | null;
  at: number | null;
  level: string | null;
  text: string;
}

// The charts of a match.

/** A line of a chart, or bars, or points. */
export interface Trace {
  name: string;
  x: number[];
  /** Null is a gap. */
  y: (number | null)[];
  /** What is said of each point. */
  text: string[];
  /** A number of the palette, or `strong`. */
  colour: number | "strong";
  /** Whether it belongs to the axis on the right. */
  right?: boolean;
  filled?: boolean;
  dashed?: boolean;
  /** Whether it stands on the stacked lines before it. */
  stacked?: boolean;
  bars?: boolean;
  points?: boolean;
}

/** What the upright axes of a chart show. */
export interface ChartAxes {
  left: string;
  right?: string;
  leftIsShare?: boolean;
  rightIsShare?: boolean;
  /** Whether the values are goals, from 0 to 100. */
  isGoal?: boolean;
}

export interface Drawing {
  traces: Trace[];
  axes: ChartAxes;
}

/** A chart as data: `scope` is a turn, or null for the whole match. */
export interface Figure {
  id: string;
  title: string;
  /** Of what it is; a function where that depends on the record. */
  note: string | ((record: MatchRecord) => string);
  over: "time" | "turns";
  exists(record: MatchRecord): boolean;
  build(record: MatchRecord, scope: Turn | null): Drawing;
}

/** From where to where an axis goes. */
export type Span = [from: number, to: number];

/** A chart on the page. */
export interface Card {
  figure: Figure;
  frame: HTMLElement;
  legend: HTMLElement;
  /** The element that the chart is drawn into; `plot` is missing until then. */
  chart: HTMLDivElement & { plot?: uPlot };
  hover: HTMLElement;
  isSeen: boolean;
  /** Whether it has to be drawn again once it is seen. */
  isStale: boolean;
  /** The names of the lines that somebody has switched off. */
  hidden: Set<string>;
  /** What somebody has zoomed to on the upright axes. */
  heights: { left?: Span; right?: Span };
  /** What the options of its plot were made of. */
  key: string | null;
  traces: Trace[];
  /** The places on the horizontal axis, then a column for each trace. */
  data: [xs: number[], ...columns: (number | null | undefined)[][]];
  scope: Turn | null;
}

export interface Palette {
  lines: string[];
  strong: string;
  text: string;
  grid: string;
  marks: string;
  band: string;
  hover: string;
}

// Boards. `Layout` is what the server sends and a log holds; the rest is made of it.

export interface Layout {
  function: string;
  arity: number;
  n_board_arguments: number;
  n_cell_arguments: number;
  boards: { key: string; title: string; line: number; column: number }[];
  order?: number[];
  form: Form;
  cells: { [key: string]: [line: number, column: number] };
  links?: [string, string][];
  borders?: [top: string, right: string, bottom: string, left: string];
  grounds?: { [key: string]: string };
  lines: string[];
  columns: string[];
  contents: { [text: string]: { label: string; blank: boolean } };
  has_blanks: boolean;
}

/** What cells look like. */
export type Form = "square" | "hexagon" | "circle" | "stack";

/** Where a cell lies, line 0 on top. */
export interface Place {
  line: number;
  column: number;
}

/** The boards of one function, read from a `Layout`. */
export interface Shape {
  name: string;
  nBoardArguments: number;
  nCellArguments: number;
  boards: (Place & { key: string; title: string })[];
  cells: Map<string, Place>;
  contents: Map<string, Omit<Content, "text">>;
  hasContents: boolean;
  hasBlanks: boolean;
  order: number[];
  form: Form;
  links: [string, string][];
  /** The colours of the sides: top, right, bottom, left. */
  borders: string[] | null;
  /** What cells are made of, such as walls. */
  grounds: Map<string, string>;
  height: number;
  width: number;
  lineNames: string[];
  columnNames: string[];
  /** Its place among the shapes of the game. */
  rank: number;
  /** The shape on whose boards its facts are drawn, if not on its own. */
  host: Shape | null;
  /** Whether its boards fill a field and are drawn as one. */
  isJoined: boolean;
  /** What cells are called, by `board|cell`. */
  labels: Map<string, string>;
  /** Columns that have another name at the edge than in the rules. */
  columnWords: Map<string, string>;
  /** Which word of a cell's name tells its line, if one of two does, else -1. */
  lineAt: number;
}

/** What lies on a cell. */
export interface Content {
  text: string;
  label: string;
  isBlank: boolean;
  rank: number;
}

export interface Cell extends Place {
  key: string;
  contents: Content[];
}

export interface Board extends Place {
  shape: Shape;
  key: string;
  title: string;
  cells: Map<string, Cell>;
}

/** A position on its boards, with the facts that lie on none. */
export interface Laid {
  boards: Board[];
  rest: string[];
  shapes: Shape[];
}

/** Where a fact lies, and what it puts there. */
export interface Lying {
  board: Board;
  key: string;
  content: Content;
}

/** How a content looks; forms that have no colours of the game have none of the last three. */
export interface Look {
  form: string;
  label: string;
  fill?: string;
  edge?: string;
  ink?: string;
}

/**
 * A legal move with its clicks: for each step the names of cells that may be clicked. `lands` is the
 * cell of the last step that changes, where more may be clicked; `lane` is the argument that names
 * those, and which word of their names it is. `turns` is the board that a move without cells names.
 */
export interface Choice {
  text: string;
  steps: Set<string>[];
  lands?: string;
  lane?: { shape: Shape; coordinate: number; at: number };
  turns?: { board: Board; words: string };
}

/** What clicking on cells has come to: the moves that go on, and those that are complete. */
export interface Picked {
  picked: string[];
  open: Choice[];
  ready: Choice[];
}

// Tables (`/api/tables`), on which games are played or studied.

/** A game inside the program: `about` says in a line what its `rules` say in paragraphs. */
export interface KnownGame {
  name: string;
  title: string;
  about: string;
  rules: string[];
  roles: string[];
}

/** What there is to choose from. */
export interface Offer {
  games: KnownGame[];
  /** For each level its Elo above the first, by classes of games. */
  levels: [games: string, elo: number][][];
}

/** A game that is offered on a tile: one of the program, or one with a rulesheet of a person's own. */
export interface OfferedGame extends KnownGame {
  sheet?: KeptSheet;
  picture?: Picture;
}

/** The initial position of a game. */
export interface Picture {
  shapes: Layout[];
  facts: string[];
}

/** A rulesheet that the browser keeps; the rest is known once its table has shown it. */
export interface KeptSheet {
  name: string;
  rules: string;
  file?: string;
  dialect?: string;
  /** Whether it is played in spite of errors. */
  anyway?: boolean;
  /** The table at which it was opened last. */
  table?: string;
  title?: string;
  words?: string[];
  roles?: string[];
  picture?: Picture;
}

/** A table that the browser keeps: how far it was when it was seen last, and when that was. */
export interface KeptTable {
  table: string;
  title: string;
  turns: number;
  roles: string[];
  at: number;
}

/** A game that was trained (`/api/training`). */
export interface TrainedGame {
  signature: string;
  name: string | null;
  generation: number;
  elo: number;
  games: number;
  seconds: number;
}

/** What a table is opened with. */
export interface Setting {
  /** A table, whose game is played again. */
  table?: string;
  game?: string | null;
  rules?: string;
  name?: string;
  file?: string;
  dialect?: string;
  anyway?: boolean;
  people?: string | string[];
  /** How strong Panza plays, from 1 on, or how long it thinks. */
  level?: number;
  seconds?: number;
  study?: { match?: string; table?: string; facts?: string; turn?: number };
}

/** What a person does at a table. */
export type Order =
  | { do: "undo" | "switch" | "now" | "close" | "endreview" }
  | { do: "lines"; lines: unknown }
  | { do: "move"; turn: number; role: string; text: string }
  | { do: "hint" | "resign" | "watch"; role: string }
  | { do: "think"; seconds: number }
  | { do: "pause"; on: boolean }
  | { do: "go"; line: Joint[]; start: { chapter: number; facts: string } }
  | { do: "check"; number: number; chapters: LineTree[] }
  | { do: "review"; line: Joint[]; ms: number };

/** What a table shows. Lists by role are in the order of the roles. */
export interface TableView {
  version: number;
  table: string;
  game: string;
  title: string;
  about: string[];
  phase: "building" | "training" | "playing" | "over" | "failed";
  problem: string | null;
  /** The number of commands that were followed or refused; the problem is about the last one. */
  told: number;
  roles: string[];
  people: boolean[];
  shapes: Layout[];
  facts: string[];
  last: Effect;
  moves: Joint[];
  legal: string[][];
  effects: Effect[][];
  n_legal: number[];
  chosen: boolean[];
  thinks_for: string | null;
  /** The seconds since that began. */
  thinks_since: number | null;
  paused: boolean;
  waits: boolean;
  answer: Found | null;
  hint: Found | null;
  goals: (number | null)[] | null;
  decisive: string[];
  resigned: string | null;
  log: string | null;
  study?: Study;
}

/** What a move does: the facts that no longer hold after it, and those that then do. */
export interface Effect {
  went: string[];
  came: string[];
}

/** What a search at a table found. */
export interface Found {
  turn: number;
  role: string;
  text: string;
  value: number | null;
  visits: number;
  is_proven: boolean;
  plan: string[];
  candidates: [text: string, visits: number, value: number | null][];
}

/** What a study begins with, and the number of the position that is shown. */
export interface Study {
  facts: string | null;
  chapter: number;
  line: Joint[];
  turn: number;
  role: string | null;
  values: (number | null)[];
  players: string[];
  position: number;
  /** Greater with each change of the tree of lines; 0 where none is kept. */
  lines: number;
  checked: Checked | null;
}

/** The first node of the lines in a question that cannot be reached, and why, if there is one. */
export interface Checked {
  number: number;
  chapter: number;
  node: number;
  problem: string | null;
}

/** What Panza thinks about a position that is studied. */
export interface Report {
  version: number;
  position: number;
  state: "searching" | "proven" | "done" | "paused" | "waiting" | "over";
  seconds: number;
  iterations: number;
  nodes: number;
  method: string;
  step: string;
  why_tree: string | null;
  depth: number;
  selective_depth: number;
  role: string | null;
  worth: Worth;
  moves: Candidate[];
  outcomes: Outcome[];
  line: Joint[];
  lines: ShownLine[];
  plan: ShownPlan | null;
  alternatives: ShownPlan[];
  review: Review | null;
}

/** A line of the search: its first move, the value of that, and its joint moves. */
export interface ShownLine {
  text: string;
  value: number;
  is_bound: boolean;
  line: Joint[];
}

/** What a position is worth to each role. */
export interface Worth {
  values: (number | null)[];
  proven: (number | null)[];
}

export interface Candidate {
  text: string;
  visits: number;
  value: number | null;
  proven: number | null;
  share: number | null;
  is_bound: boolean;
}

/** What chance may draw: how likely it is, 0 to 1, and what the position after it is worth. */
export interface Outcome {
  text: string;
  probability: number;
  worth: Worth;
}

export interface ShownPlan {
  goal: number | null;
  bound: number;
  is_best: boolean;
  solver: string;
  moves: string[];
  n_moves: number;
}

/** A look for blunders in a line. */
export interface Review {
  done: number;
  of: number;
  /** The moves in doubt that were searched again, and all so far. */
  doubts: [done: number, of: number];
  is_finished: boolean;
  worths: (Worth | null)[];
  graded: GradedMove[];
  summary: RoleSummary[];
}

export type Grade = "inaccuracy" | "mistake" | "blunder";

/** A move that lost value. */
export interface GradedMove {
  turn: number;
  role: string;
  grade: Grade;
  played: string;
  better: string;
  value: number;
  after: number;
  is_proven: boolean;
  line: Joint[];
}

/** How a role played; the grades are the numbers of inaccuracies, mistakes and blunders. */
export interface RoleSummary {
  role: string;
  moves: number;
  grades: [number, number, number];
  mean_loss: number | null;
  accuracy: number | null;
}

/** What a person has written at a position: a text, a mark of the move, and marked cells by name. */
export interface Notes {
  text: string;
  mark: string;
  cells: string[];
}

/** The lines of a chapter, as they are sent to be checked. */
export interface LineTree {
  facts: string;
  lines: [parent: number, joint: Joint][];
}

/** A chapter of a study, with the facts that it begins with; "" for the initial position. */
export interface Chapter {
  id: number;
  name: string;
  start: string;
  tree: Variations;
}

/** A study as text, read: without rules the game is one of the program. */
export interface StudyText {
  game: string;
  rules: string | null;
  dialect: string;
  /** The places in the text of the joint moves, and of where a chapter begins. */
  chapters: (Omit<Chapter, "id"> & { places: Map<LineNode, number> })[];
}

/** A node of the tree of lines: the position behind a joint move, which only the root lacks. */
export interface LineNode extends Notes {
  parent: LineNode | null;
  joint: Joint;
  turn: number;
  children: LineNode[];
  /** The child that was looked at last. */
  last: LineNode | null;
  /** What the position is worth to each role; null before it was searched. */
  worth: Worth | null;
  /** What is shown of the position; null before it was asked for. */
  view: TableView | null;
  /** How bad the move was that leads here, and what is wrong with it; null where nothing is. */
  fault: { grade: Grade; says: string } | null;
}

// The page that plays in Gamemaster (`/gamemaster/message`).

/** A message of the manager to a player. */
export interface ManagerMessage {
  number: number;
  sender: string;
  content: string;
}

/** A message as the page passes it on; `waited` counts milliseconds since it came. */
export interface Relayed {
  player: string;
  number: number;
  content: string;
  waited: number;
}

/** The answer to it. */
export interface Relay {
  reply: string | null;
  /** The folder of the match's log. */
  match: string | null;
  /** The line has the moves that are expected; it may be empty. */
  thoughts: { move: string; value: number; iterations_per_second: number; line: string[] } | null;
}

/** Panza in the page itself, in place of a server. */
export interface OwnPlayer {
  /** The answer to a message, with a status as of HTTP. Fails where the module does. */
  ask(message: Relayed): Promise<{ status: number; text: string }>;
  /** The last message was not answered in time. */
  isLate(): void;
}

declare global {
  /** In the one file that plays in Gamemaster. */
  var ownPlayer: OwnPlayer | undefined;
}

/** What the worker with the rules is asked. */
export type RulesQuestion = { do: "start"; role: string; rules: string } | { do: "play"; move: string };

/** A term of the rules: a name, a variable that may be bound to a value, or what has parts. */
export type Term = string | Variable | Compound;

export interface Variable {
  variable: string;
  value?: Term;
  name?: undefined;
  parts?: undefined;
}

export interface Compound {
  name: string;
  parts: Term[];
  variable?: undefined;
}

// Rulesheets that are being written. Places count UTF-16 units; lines and columns count from 1.

export type Dialect = "kif" | "hrf";

/** A rulesheet. Without a dialect the name of its file and the text tell it. */
export interface Sheet {
  text: string;
  file?: string;
  dialect?: string;
}

/** What is wrong with a sheet. */
export interface Checked {
  dialect: Dialect;
  roles: string[];
  diagnostics: Diagnostic[];
  /** How many diagnostics are not listed. */
  more: number;
}

export interface Diagnostic {
  severity: "error" | "warning" | "note";
  code: string;
  from: number;
  to: number;
  line: number;
  column: number;
  message: string;
  help: string;
  fix: { title: string; edits: Edit[] } | null;
}

/** A change of a text. */
export interface Edit {
  from: number;
  to: number;
  text: string;
}

/** What may be written at a place. */
export interface Proposals {
  from: number;
  to: number;
  proposals: { label: string; kind: string; form: string; meaning: string; snippet: string }[];
}

/** What the name at a place means. */
export interface Meaning {
  from: number;
  to: number;
  form: string;
  kind: string;
  meaning: string;
}

/** The first position of a game, and some random games. */
export interface Preview {
  roles: string[];
  shapes: Layout[];
  facts: string[];
  legal: string[][];
  n_legal: number[];
  terminal: boolean;
  is_slow: boolean;
  playouts: {
    games: number;
    cut_off: number;
    /** The mean length of the games that ended; null where none did. */
    length: number | null;
    shortest: number;
    longest: number;
    goals: number[];
  };
}

// Parts of a page.

/** A child of an element. What is null, undefined or false is left out. */
export type Child = Node | string | number | false | null | undefined | Child[];

/** The attributes of an element; `on` holds listeners by the name of their event. */
export interface Attributes {
  on?: Listeners;
  [name: string]: string | number | boolean | null | undefined | Listeners;
}

export interface Listeners {
  [event: string]: () => void;
}
