// A clock for the page that plays in Gamemaster, as a worker: browsers let the timers of a page in the background run
// once a second or slower, and those of a worker on time. `{ id, after }` comes back as `{ id }` after so many
// milliseconds.

addEventListener("message", ({ data: { id, after } }) => {
  setTimeout(() => postMessage({ id }), after);
});
