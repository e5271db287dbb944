// Lanes that are compiled while the program runs, in Node.js: the same totals as by tables, for
// every width; what is put into the table of functions is taken out again; a host that refuses
// leaves the tables. The module is the example `lanes` of `panza-machine`, which `scripts/wasm
// --test` builds.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { lanes } from "../lanes.js";

const FILE = process.env.PANZA_LANES ??
  new URL("../../target-wasm/wasm32-unknown-unknown/wasm-test/examples/lanes.wasm", import.meta.url).pathname;
const main = new WebAssembly.Module(readFileSync(FILE));
const WIDTHS = [4, 8, 16];

/** The main module, on a host that compiles modules or refuses them. */
function started(refuses) {
  let exports;
  const counts = { installed: 0, removed: 0 };
  const host = lanes(() => exports);
  const panza = {
    panza_install(start, length) {
      const place = refuses ? -1 : host.panza_install(start, length);
      counts.installed += Number(place >= 0);
      return place;
    },
    panza_remove(place) {
      counts.removed += 1;
      host.panza_remove(place);
    },
  };
  // What else the module imports is the time.
  const imports = { panza };
  for (const { module, name } of WebAssembly.Module.imports(main)) {
    imports[module] ??= {};
    imports[module][name] ??= () => performance.now();
  }
  exports = new WebAssembly.Instance(main, imports).exports;
  return { exports, counts };
}

test("modules give the results of tables", () => {
  const { exports, counts } = started(false);
  assert.ok(exports.has_modules());
  for (let game = 0; game < exports.n_games(); game++) {
    for (const width of WIDTHS) {
      const before = counts.installed;
      assert.ok(exports.is_same(game, width), `game ${game}, ${width} words`);
      assert.ok(counts.installed > before, "there are modules");
    }
  }
  assert.equal(counts.removed, counts.installed);
});

test("indices of the table of functions are used again", () => {
  const { exports, counts } = started(false);
  exports.is_same(0, 8);
  const { length } = exports.__indirect_function_table;
  exports.is_same(0, 8);
  assert.equal(exports.__indirect_function_table.length, length);
  assert.ok(counts.removed > 0);
});

test("a host that refuses leaves the tables", () => {
  const { exports, counts } = started(true);
  assert.ok(!exports.has_modules());
  assert.ok(exports.is_same(0, 8));
  assert.equal(counts.installed, 0);
});
