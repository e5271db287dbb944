// The first script of the one file: it shows the page that the address names, starts Panza in a
// worker in place of a server, and says what becomes of it. Another page, or another table, is shown
// by loading the file again: what is at the tables is kept.

import { here } from "../address.js";
import { byId, element } from "../page.js";
import { source } from "../server.js";
import { Panza } from "./panza.js";
import { Store } from "./store.js";
import { offerStudies } from "./studies.js";
import { offerWhole } from "./whole.js";

/**
 * The scripts of the pages.
 * @type {Record<string, () => Promise<unknown>>}
 */
const SCRIPTS = {
  "/play": () => import("../play.js"),
  "/study": () => import("../study.js"),
  "/edit": () => import("../edit.js"),
};

/** Where the page is that is shown. */
let shown = here();
if (!(shown.page in SCRIPTS)) {
  history.replaceState(null, "", "#/play");
  shown = here();
}

/** What stands in the file under an id, once it has been read to its end. */
async function part(/** @type {string} */ id) {
  if (document.readyState === "loading") await new Promise((done) => document.addEventListener("DOMContentLoaded", done, { once: true }));
  return byId(id).textContent;
}

async function start() {
  const store = await Store.open();
  const panza = new Panza({ script: await part("worker"), module: await part("module"), store, says: tell });
  /** @param {string} problem */
  function tell(problem) {
    const isOver = panza.worker === null;
    const again = () => {
      panza.start();
      said.remove();
    };
    const said = element(
      "p",
      { class: "card controls told", role: "alert" },
      element("span", null, problem, isOver && " Games and studies are kept."),
      isOver && element("button", { type: "button", class: "button primary", on: { click: again } }, "Start it again"),
    );
    document.querySelector(".told")?.remove();
    document.querySelector("main")?.prepend(said);
  }
  panza.start();
  window.addEventListener("beforeunload", () => store.carry());
  if (store.database === null) tell("This browser keeps nothing for this page: games and studies are lost when its tab is closed. Save them as a file on the page “Play”.");
  return panza;
}

/** @param {HTMLTemplateElement} template */
function show(template) {
  document.title = template.title;
  document.body.prepend(template.content);
}

show(byId(shown.page, "template"));
const started = start();
source.answer = async (address, options) => (await started).answer(address, options);
// Before the pages' own listeners.
window.addEventListener("hashchange", async (event) => {
  const before = shown;
  shown = here();
  if (shown.page === before.page && before.table === "") return;
  event.stopImmediatePropagation();
  const panza = await started;
  await panza.settled();
  panza.store.carry();
  location.reload();
});
started.then(({ store }) => {
  if (shown.page === "/play") offerWhole(byId("own"), store);
  if (shown.page === "/study") offerStudies(byId("about-choices"), store);
});
SCRIPTS[shown.page]();
