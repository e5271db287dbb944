"""A player in Python, over the protocol of general game playing (HTTP).

Subclass `Player` and say how a move is chosen; the class reads the messages of a game manager,
keeps the state, and sends legal moves. Without a subclass it searches until the clock ends:

    from panza_ggp.player import Player
    Player().serve(port=9147)

It plays one match at a time. Requests of more than `MAX_BODY` bytes are refused, and more than
`MAX_REQUESTS` at once.

Where rules do not load or a method of the subclass fails, the traceback goes to standard error, and
the game manager gets an HTTP status of failure in place of an answer. It plays another move then, and
the match goes on.
"""

from __future__ import annotations

import math
import re
import threading
import time
import traceback
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer

import numpy as np

import panza_ggp

MAX_BODY = 4 << 20
"""Bytes of a request, at most."""
MAX_DEPTH = 1_000
"""Lists inside lists of a message, at most."""
MAX_REQUESTS = 16
"""Connections at once, at most; further ones are closed."""
MAX_CLOCK = 86_400
"""Seconds of a clock, at most."""
MAX_REASON = 300
"""Characters of the reason that a game manager gets, at most."""
MARGIN = 0.5
"""Seconds of the play clock that are left for the way of an answer."""

_TOKEN = re.compile(r"[()]|[^\s()]+")
_COMMENT = re.compile(r";[^\n]*")


class MessageError(ValueError):
    """A message that the player cannot read; the text says what was expected."""


class PlayerError(RuntimeError):
    """A method of the player that failed; the cause is its error."""


def _split(text: str) -> list[str]:
    """The elements of a list, as canonical text: one space between elements, none inside."""
    elements: list[str] = []
    parts: list[str] = []
    depth = 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == "(":
            depth += 1
            if depth > MAX_DEPTH:
                raise MessageError(f"more than {MAX_DEPTH} lists inside each other")
        elif token == ")":
            depth -= 1
            if depth < 0:
                raise MessageError("a `)` without a `(`")
        is_attached = token == ")" or not parts or parts[-1].endswith("(")
        parts.append(token if is_attached else " " + token)
        if depth == 0:
            elements.append("".join(parts))
            parts = []
    if depth:
        raise MessageError("a `(` without a `)`")
    return elements


def _elements(text: str) -> list[str]:
    """The elements of the one list that a text is."""
    text = text.strip()
    if not (text.startswith("(") and text.endswith(")")):
        raise MessageError("expected a list in parentheses")
    return _split(text[1:-1])


class Player:
    """A player of one match at a time. Override `start`, `play` and `stop` as needed.

    `game` is the game of the match, `role` the index of the role that is played.
    """

    name = "panza-python"

    def __init__(self) -> None:
        self.game: panza_ggp.Game | None = None
        self.role = 0
        self._match: str | None = None
        self._state: panza_ggp.States | None = None
        self._play_clock = 0.0
        self._lock = threading.Lock()

    def start(self, start_clock: float, play_clock: float) -> None:
        """A match begins; `self.game` and `self.role` are set. It has the start clock's seconds."""

    def play(self, state: panza_ggp.States, legal: list[int], deadline: float) -> int:
        """The action to make in `state`, a batch of one: one of the actions `legal`, at least two.

        `deadline` is a time of `time.monotonic()`.
        """
        assert self.game is not None
        ms = max(10.0, 1000 * (deadline - time.monotonic()))
        found = self.game.search(state, role=self.role, ms=ms)["action"]
        return legal[0] if found is None else found

    def stop(self, goals: list[int] | None) -> None:
        """The match is over, with the goals of all roles; `None` where it ended early."""

    def answer(self, message: str) -> str:
        """The answer to a message.

        Raises `MessageError`, the error of rules that do not load, or `PlayerError`.
        """
        received = time.monotonic()
        elements = _elements(_COMMENT.sub("", message.removeprefix("\ufeff")))
        kind = elements[0].lower() if elements else ""
        if kind == "info":
            status = "available" if self._match is None else "busy"
            return f"((name {self.name}) (status {status}))"
        if kind not in ("start", "play", "stop", "abort", "preview"):
            raise MessageError("expected INFO, START, PLAY, STOP, ABORT or PREVIEW")
        if kind == "preview":
            return "done"
        expected = {"start": 6, "play": 3, "stop": 3, "abort": 2}[kind]
        if len(elements) != expected:
            raise MessageError(f"{kind.upper()} has {expected} elements, not {len(elements)}")
        with self._lock:
            if kind == "start":
                return self._start(*elements[1:])
            if elements[1] != self._match:
                return "busy"
            if kind == "abort":
                self._end(None)
                return "aborted"
            self._advance(elements[2])
            if kind == "stop":
                self._end(self._goals())
                return "done"
            return self._choose(received + self._play_clock - MARGIN)

    def serve(self, port: int = 9147, host: str = "127.0.0.1") -> None:
        """Answers messages until interrupted; clients of this machine only, unless `host` differs."""
        with self.server(port, host) as server:
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                pass

    def server(self, port: int = 9147, host: str = "127.0.0.1") -> HTTPServer:
        """A server of the standard library that is not running yet. Port 0 is any free one."""
        player = self

        class Handler(_Handler):
            answer = staticmethod(player.answer)

        return _Server((host, port), Handler)

    def _start(self, match: str, role: str, rules: str, start_clock: str, play_clock: str) -> str:
        if self._match is not None:
            return "ready" if match == self._match else "busy"
        try:
            clocks = [float(start_clock), float(play_clock)]
        except ValueError:
            raise MessageError("clocks are numbers of seconds") from None
        if not all(math.isfinite(clock) and 0 <= clock <= MAX_CLOCK for clock in clocks):
            raise MessageError(f"clocks are 0 to {MAX_CLOCK} seconds")
        game = panza_ggp.load(" ".join(_elements(rules)), seconds=max(1.0, clocks[0] - 1))
        names = [name.lower() for name in game.roles]
        if role.lower() not in names:
            raise MessageError(f"no role `{role}`, only {', '.join(game.roles)}")
        self.game, self.role = game, names.index(role.lower())
        self._match, self._play_clock = match, clocks[1]
        self._state = game.init(1)
        self._checked("start", lambda: self.start(*clocks))
        return "ready"

    def _advance(self, moves: str) -> None:
        """Makes the joint move of the last turn; nothing for NIL."""
        if moves.lower() == "nil" or moves == "()":
            return
        assert self.game is not None and self._state is not None
        texts = _elements(moves)
        if len(texts) != self.game.n_roles:
            raise MessageError(f"expected {self.game.n_roles} moves, not {len(texts)}")
        try:
            actions = [self.game.action(role, text) for role, text in enumerate(texts)]
            self._state.step(np.array([actions], dtype=np.int32))
        except (KeyError, ValueError) as error:
            raise MessageError(str(error)) from None

    def _choose(self, deadline: float) -> str:
        assert self.game is not None and self._state is not None
        mask = self._state.legal_action_mask[0, self.role]
        legal = [int(action) for action in np.flatnonzero(mask)]
        if not legal:
            raise MessageError("the game is over")
        action = legal[0]
        if len(legal) > 1:
            action = self._checked("play", lambda: self._played(legal, deadline))
        return self.game.move_text(self.role, action)

    def _played(self, legal: list[int], deadline: float) -> int:
        """The action that `play` chooses, which has to be legal."""
        chosen = self.play(self._state, legal, deadline)
        if chosen not in legal:
            raise ValueError(f"play returned {chosen!r}, which is none of the actions {legal}")
        return int(chosen)

    def _goals(self) -> list[int] | None:
        assert self._state is not None
        return self._state.goals[0].tolist() if self._state.terminated[0] else None

    def _end(self, goals: list[int] | None) -> None:
        try:
            self.stop(goals)
        except Exception:
            # The match is over, so nobody has to know.
            traceback.print_exc()
        self.game = self._state = self._match = None

    @staticmethod
    def _checked(name, call):
        """What a method of a subclass returns; its error becomes a `PlayerError`."""
        try:
            return call()
        except Exception as error:
            raise PlayerError(f"{name} failed: {type(error).__name__}: {error}") from error


class _Server(ThreadingHTTPServer):
    """A thread for each connection, with a bound."""

    daemon_threads = True

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self._free = threading.BoundedSemaphore(MAX_REQUESTS)

    def process_request(self, request, client_address) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request, client_address) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()


def _reason(error: Exception) -> str:
    """An error on one line, for the game manager."""
    lines = str(error).splitlines()
    return (lines[0] if lines else type(error).__name__)[:MAX_REASON]


class _Handler(BaseHTTPRequestHandler):
    timeout = 30

    def do_POST(self) -> None:
        try:
            length = int(self.headers.get("Content-Length", ""))
        except ValueError:
            return self._send(411, "expected a Content-Length")
        if not 0 <= length <= MAX_BODY:
            return self._send(413, f"a message has at most {MAX_BODY} bytes")
        message = self.rfile.read(length).decode("utf-8", errors="replace")
        try:
            status, text = 200, self.answer(message)
        except MessageError as error:
            status, text = 400, _reason(error)
        except Exception as error:
            traceback.print_exc()
            status = 400 if isinstance(error, panza_ggp.GdlError) else 500
            text = _reason(error)
        return self._send(status, text)

    def _send(self, status: int, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/acl")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Requests are not logged."""
