// What most tests of pages begin with and end with: a server with a folder of its own, and a browser.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { closeBrowser, openBrowser } from "./page.mjs";
import { serve } from "./server.mjs";

/**
 * Starts both before the tests of a file, and ends them after. The folder and the address of the
 * server are there once the tests run.
 * @param {string} name
 */
export function served(name) {
  const own = { folder: "", address: "" };
  let server;
  before(async () => {
    own.folder = await mkdtemp(join(tmpdir(), `panza-${name}-`));
    server = await serve(join(own.folder, "logs"));
    own.address = server.address;
    await openBrowser();
  });
  after(async () => {
    await closeBrowser();
    await server?.stop();
    if (own.folder !== "") await rm(own.folder, { recursive: true, force: true });
  });
  return own;
}
