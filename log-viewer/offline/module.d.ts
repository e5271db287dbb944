// The module of Panza as `worker.js` opens it. Only the type check reads this file.

declare module "panza" {
  import type { Module } from "./messages.d.ts";

  /**
   * Compiles and starts it with what was kept; `keep` is called with what is to be kept from now on.
   */
  export function open(
    bytes: ArrayBuffer,
    kept: [name: string, text: string][],
    keep: (changes: [name: string, text: string | null][]) => void,
  ): Promise<Module>;
}
