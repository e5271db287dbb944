// The script of the one file that plays in Gamemaster: the page's own, with Panza in it. It reads
// texts of the file that stand behind it.

document.addEventListener("DOMContentLoaded", async () => {
  await import("./own_player.js");
  await import("../gamemaster.js");
});
