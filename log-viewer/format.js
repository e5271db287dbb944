// Formats numbers, durations and times. Every function accepts what a damaged log may hold (null, a
// text, not a number) and returns a dash for it.

const NOTHING = "–";

// Made once: making one of these takes longer than using it.
const COUNTS = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const MOMENTS = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const UNITS = [
  { unit: 1e9, letter: "G" },
  { unit: 1e6, letter: "M" },
  { unit: 1e3, letter: "k" },
];
const DATES = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** @import { Members } from "./types.d.ts" */

/**
 * A finite number, or null.
 * @param {unknown} value
 */
export function number(value) {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/**
 * A text, or null.
 * @param {unknown} value
 */
export function text(value) {
  return typeof value === "string" ? value : null;
}

/**
 * A list, or an empty one.
 * @template Entry
 * @overload
 * @param {Entry[] | null | undefined} value
 * @returns {Entry[]}
 */
/**
 * @overload
 * @param {unknown} value
 * @returns {unknown[]}
 */
/** @param {unknown} value */
export function list(value) {
  return Array.isArray(value) ? value : [];
}

/**
 * The texts of a list.
 * @param {unknown} value
 */
export function texts(value) {
  return list(value).filter((entry) => typeof entry === "string");
}

/**
 * An object with named members, or an empty one.
 * @param {unknown} value
 * @returns {Members}
 */
export function object(value) {
  const isObject = value !== null && typeof value === "object" && !Array.isArray(value);
  return isObject ? /** @type {Members} */ (value) : {};
}

/**
 * What an error says, and anything else that is thrown as a text.
 * @param {unknown} error
 */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/**
 * 1234567 as 1,234,567.
 * @param {unknown} value
 */
export function count(value) {
  const known = number(value);
  return known === null ? NOTHING : COUNTS.format(known);
}

/**
 * 1234567 as 1.23 M.
 * @param {unknown} value
 */
export function short(value) {
  const known = number(value);
  if (known === null) return NOTHING;
  const size = Math.abs(known);
  for (const { unit, letter } of UNITS) {
    if (size >= unit * 0.9995) return `${significant(known / unit)} ${letter}`;
  }
  return Number.isInteger(known) ? String(known) : significant(known);
}

/** @param {number} value */
function significant(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

/**
 * A goal or an estimate of one, from 0 to 100, to a tenth.
 * @param {unknown} value
 */
export function goal(value) {
  const known = number(value);
  return known === null ? NOTHING : String(Math.round(known * 10) / 10);
}

/**
 * A fraction with few digits, whatever its size.
 * @param {unknown} value
 */
export function fraction(value, digits = 4) {
  const known = number(value);
  if (known === null) return NOTHING;
  return Number.isInteger(known) ? count(known) : String(Number(known.toPrecision(digits)));
}

/**
 * 1234567 as 1.23 MB.
 * @param {unknown} value
 */
export function bytes(value) {
  const known = number(value);
  if (known === null) return NOTHING;
  if (known < 1000) return `${known} B`;
  return `${short(known)}B`;
}

/**
 * 0.0123 as 12 ms, 75 as 1:15, 4000 as 1:06:40.
 * @param {unknown} value
 */
export function duration(value) {
  const known = number(value);
  if (known === null || known < 0) return NOTHING;
  if (known < 0.0005) return "0 ms";
  if (known < 1) return `${(known * 1000).toFixed(known < 0.01 ? 1 : 0)} ms`;
  if (known < 10) return `${known.toFixed(2)} s`;
  if (known < 59.95) return `${known.toFixed(1)} s`;
  const whole = Math.round(known);
  const [hours, minutes, seconds] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  /** @param {number} figure */
  const two = (figure) => String(figure).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`;
}

/**
 * A clock: 15 as 15 s.
 * @param {unknown} value
 */
export function clock(value) {
  const known = number(value);
  return known === null ? NOTHING : `${Number(known.toFixed(2))} s`;
}

/**
 * An ISO 8601 text as milliseconds since 1970; NaN where it is none.
 * @param {unknown} value
 */
function milliseconds(value) {
  const known = text(value) ?? "";
  return /^\d{4}-\d\d-\d\dT/.test(known) ? Date.parse(known) : NaN;
}

/**
 * The moment of an ISO 8601 text in the person's own time zone.
 * @param {unknown} value
 */
export function moment(value) {
  const known = milliseconds(value);
  if (Number.isNaN(known)) return NOTHING;
  return MOMENTS.format(known);
}

/**
 * How long ago that was, as far as it matters: a moment, minutes, hours, days, or the date.
 * @param {unknown} value
 */
export function ago(value, now = Date.now()) {
  const known = milliseconds(value);
  if (Number.isNaN(known)) return NOTHING;
  const seconds = (now - known) / 1000;
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  if (seconds < 7 * 86400) return `${Math.floor(seconds / 86400)} d ago`;
  return DATES.format(known);
}

/**
 * `requests_per_second` as "Requests per second".
 * @param {string} name
 */
export function words(name) {
  const spaced = name.replaceAll("_", " ").trim();
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

/**
 * "1 line", "2 lines".
 * @param {number} amount
 * @param {string} one
 */
export function counted(amount, one, many = `${one}s`) {
  return `${count(amount)} ${amount === 1 ? one : many}`;
}
