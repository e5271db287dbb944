// Unpacks bzip2. A stream is a sequence of blocks, each a Burrows-Wheeler transformed text with
// move-to-front and Huffman coding and a checksum. Damage ends the unpacking: the output up to
// there is returned with a sentence on the fault. The output is bounded, since a few bytes may
// unpack to very many.

const BLOCK = 0x314159265359;
const END = 0x177245385090;
const LONGEST_CODE = 20;
const GROUP = 50;

/** Checksums of bytes, most significant bit first. */
const CHECKSUMS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte << 24;
  for (let bit = 0; bit < 8; bit += 1) sum = sum & 0x80000000 ? (sum << 1) ^ 0x04c11db7 : sum << 1;
  return sum >>> 0;
});

class Damage extends Error {}

/** The bits of a text of bytes, most significant first. */
class Bits {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
    this.held = 0;
    this.left = 0;
  }

  bit() {
    if (this.left === 0) {
      if (this.at >= this.bytes.length) throw new Damage("it ends in the middle");
      this.held = this.bytes[this.at];
      this.at += 1;
      this.left = 8;
    }
    this.left -= 1;
    return (this.held >> this.left) & 1;
  }

  /** A number of up to 48 bits. */
  number(bits) {
    let value = 0;
    for (let bit = 0; bit < bits; bit += 1) value = value * 2 + this.bit();
    return value;
  }

  toByte() {
    this.left = 0;
  }
}

/** The unpacked bytes, in pieces, up to a bound. */
class Output {
  constructor(most) {
    this.most = most;
    this.bytes = new Uint8Array(1 << 16);
    this.length = 0;
  }

  push(byte) {
    if (this.length === this.bytes.length) {
      if (this.length >= this.most) throw new Damage(`it unpacks to more than ${this.most} bytes`);
      const larger = new Uint8Array(Math.min(this.most, this.bytes.length * 2));
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes[this.length] = byte;
    this.length += 1;
  }
}

/**
 * Unpacks bytes: `{ bytes, problem }`, the problem being null where everything was whole. Streams that follow each other
 * are one text, as bzip2 has it. A block with a wrong checksum is not part of what is returned.
 */
export function bunzip2(packed, most = 256 * 1024 * 1024) {
  const bits = new Bits(packed);
  const output = new Output(most);
  let problem = null;
  try {
    do {
      stream(bits, output);
      bits.toByte();
    } while (bits.at < packed.length);
  } catch (error) {
    if (!(error instanceof Damage)) throw error;
    problem = error.message;
  }
  return { bytes: output.bytes.subarray(0, output.length), problem };
}

function stream(bits, output) {
  if (bits.number(24) !== 0x425a68) throw new Damage("it is not packed with bzip2");
  const size = bits.number(8) - 0x30;
  if (size < 1 || size > 9) throw new Damage("it is not packed with bzip2");
  const cells = new Uint32Array(size * 100_000);
  let whole = 0;
  for (;;) {
    const mark = bits.number(48);
    if (mark === END) break;
    if (mark !== BLOCK) throw new Damage("a block does not begin where it should");
    const expected = bits.number(32);
    const start = output.length;
    try {
      const sum = block(bits, cells, output);
      if (sum !== expected) throw new Damage("a block's checksum is wrong");
    } catch (error) {
      output.length = start;
      throw error;
    }
    whole = (((whole << 1) | (whole >>> 31)) ^ expected) >>> 0;
  }
  if (bits.number(32) !== whole) throw new Damage("the checksum of the whole is wrong");
}

/** Unpacks a block and returns its checksum. */
function block(bits, cells, output) {
  if (bits.bit() === 1) throw new Damage("a block is of a kind that is not written any more");
  const origin = bits.number(24);
  const symbols = usedBytes(bits);
  const nCodes = symbols.length + 2;
  const nTables = bits.number(3);
  if (symbols.length === 0 || nTables < 2 || nTables > 6) throw new Damage("a block's tables make no sense");
  const selectors = readSelectors(bits, nTables);
  const tables = Array.from({ length: nTables }, () => readTable(bits, nCodes));
  const counts = new Uint32Array(256);
  const length = readCells(bits, cells, counts, { symbols, selectors, tables, end: nCodes - 1 });
  if (origin >= length) throw new Damage("a block's origin lies outside of it");
  link(cells, counts, length);
  return write(cells, length, origin, output);
}

function usedBytes(bits) {
  const rows = bits.number(16);
  const used = [];
  for (let row = 0; row < 16; row += 1) {
    if (((rows >> (15 - row)) & 1) === 0) continue;
    const places = bits.number(16);
    for (let place = 0; place < 16; place += 1) {
      if ((places >> (15 - place)) & 1) used.push(row * 16 + place);
    }
  }
  return used;
}

/** Which table each group of fifty codes is written with. */
function readSelectors(bits, nTables) {
  const order = Array.from({ length: nTables }, (_, table) => table);
  const selectors = new Uint8Array(bits.number(15));
  for (let index = 0; index < selectors.length; index += 1) {
    let place = 0;
    while (bits.bit() === 1) {
      place += 1;
      if (place >= nTables) throw new Damage("a block's tables make no sense");
    }
    const [table] = order.splice(place, 1);
    order.unshift(table);
    selectors[index] = table;
  }
  return selectors;
}

/** A Huffman table: for each length, the largest code of it, and where its codes begin among the sorted symbols. */
function readTable(bits, nCodes) {
  const lengths = new Uint8Array(nCodes);
  let length = bits.number(5);
  for (let code = 0; code < nCodes; code += 1) {
    for (;;) {
      if (length < 1 || length > LONGEST_CODE) throw new Damage("a block's codes make no sense");
      if (bits.bit() === 0) break;
      length += bits.bit() === 0 ? 1 : -1;
    }
    lengths[code] = length;
  }
  const sorted = [];
  const limit = new Int32Array(LONGEST_CODE + 1).fill(-1);
  const base = new Int32Array(LONGEST_CODE + 1);
  let next = 0;
  for (let bitsLong = 1; bitsLong <= LONGEST_CODE; bitsLong += 1) {
    base[bitsLong] = sorted.length - next;
    for (let code = 0; code < nCodes; code += 1) {
      if (lengths[code] !== bitsLong) continue;
      sorted.push(code);
      next += 1;
    }
    limit[bitsLong] = next - 1;
    next *= 2;
  }
  return { sorted, limit, base };
}

/** Reads a block's symbols into cells, undoing runs and move-to-front, and counts them. Returns how many there are. */
function readCells(bits, cells, counts, { symbols, selectors, tables, end }) {
  const order = Uint8Array.from(symbols);
  let length = 0;
  let run = 0;
  let weight = 1;
  let group = -1;
  let left = 0;
  let table = null;
  for (;;) {
    if (left === 0) {
      group += 1;
      if (group >= selectors.length) throw new Damage("a block has more codes than it says");
      table = tables[selectors[group]];
      left = GROUP;
    }
    left -= 1;
    const code = readCode(bits, table);
    if (code <= 1) {
      run += weight << code;
      weight *= 2;
      if (run > cells.length) throw new Damage("a block is longer than it may be");
      continue;
    }
    const more = run + (code === end ? 0 : 1);
    if (length + more > cells.length) throw new Damage("a block is longer than it may be");
    if (run > 0) {
      counts[order[0]] += run;
      cells.fill(order[0], length, length + run);
      length += run;
      run = 0;
      weight = 1;
    }
    if (code === end) return length;
    const symbol = order[code - 1];
    order.copyWithin(1, 0, code - 1);
    order[0] = symbol;
    counts[symbol] += 1;
    cells[length] = symbol;
    length += 1;
  }
}

function readCode(bits, table) {
  let code = 0;
  for (let length = 1; length <= LONGEST_CODE; length += 1) {
    code = (code << 1) | bits.bit();
    if (code <= table.limit[length]) {
      const symbol = table.sorted[code + table.base[length]];
      if (symbol === undefined) break;
      return symbol;
    }
  }
  throw new Damage("a block has a code that none of its tables names");
}

/** Puts beside each symbol, in the upper bits of its cell, where the next one is. */
function link(cells, counts, length) {
  const next = new Uint32Array(256);
  let sum = 0;
  for (let symbol = 0; symbol < 256; symbol += 1) {
    next[symbol] = sum;
    sum += counts[symbol];
  }
  for (let index = 0; index < length; index += 1) {
    const symbol = cells[index] & 0xff;
    cells[next[symbol]] |= index << 8;
    next[symbol] += 1;
  }
}

/** Writes a block's text, undoing runs of four and more, and returns its checksum. */
function write(cells, length, origin, output) {
  let sum = 0xffffffff;
  let at = cells[origin] >>> 8;
  let last = -1;
  let same = 0;
  for (let index = 0; index < length; index += 1) {
    const symbol = cells[at] & 0xff;
    at = cells[at] >>> 8;
    let times = 1;
    if (same === 4) {
      times = symbol;
      same = 0;
    } else {
      same = symbol === last ? same + 1 : 1;
      last = symbol;
    }
    const byte = last;
    for (let time = 0; time < times; time += 1) {
      output.push(byte);
      sum = ((sum << 8) ^ CHECKSUMS[(sum >>> 24) ^ byte]) >>> 0;
    }
    if (same === 0) last = -1;
  }
  return ~sum >>> 0;
}
