// The timers of the page that plays in Gamemaster, as a worker. Browsers run the timers of a page in
// the background once a second at most; those of a worker stay exact. A message `{ id, after }` is
// answered by `{ id }` after that many milliseconds.

addEventListener("message", ({ data: { id, after } }) => {
  setTimeout(() => postMessage({ id }), after);
});
