// The compiler of lanes: the imports `panza` of the module, by which it hands over modules that it
// writes while it runs (`crates/machine/src/lanes/host.rs` says what each function promises).
//
// A module is compiled at once, which browsers allow in a worker only: on the page itself they
// refuse large ones. It works on the memory of the main module, and its function goes into the main
// module's table of functions, where the main module calls it without a detour through JavaScript.
// So the main module is linked with `--export-table --growable-table`.

/**
 * The imports of the namespace `panza`.
 *
 * @param {() => WebAssembly.Exports} main the exports of the main module, asked when they are there
 */
export function lanes(main) {
  /** @type {number[]} places in the table that nothing uses any more */
  const free = [];
  const table = () => /** @type {WebAssembly.Table} */ (main().__indirect_function_table);
  return {
    /**
     * Compiles the module in these bytes and puts its function `run` into the table.
     *
     * @param {number} start
     * @param {number} length
     * @returns {number} the function's place, or -1 where the browser refuses the module
     */
    panza_install(start, length) {
      const memory = /** @type {WebAssembly.Memory} */ (main().memory);
      try {
        const module = new WebAssembly.Module(new Uint8Array(memory.buffer, start, length));
        const { run } = new WebAssembly.Instance(module, { env: { memory } }).exports;
        const place = free.pop() ?? table().grow(1);
        table().set(place, run);
        return place;
      } catch {
        return -1;
      }
    },

    /**
     * Takes a function out of the table, so that the browser can free its code.
     *
     * @param {number} place
     */
    panza_remove(place) {
      table().set(place, null);
      free.push(place);
    },
  };
}
