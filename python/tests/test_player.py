"""A player in Python, over HTTP."""

import http.client
import socket
import threading
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

import panza_ggp
from panza_ggp import player as module
from panza_ggp.player import Player


class Served:
    """A player behind a free port of this machine."""

    def __init__(self, player):
        self.server = player.server(0)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def post(self, text):
        address = f"http://127.0.0.1:{self.server.server_address[1]}/"
        request = urllib.request.Request(address, data=text.encode())
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.read().decode()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Random(Player):
    name = "random"

    def __init__(self):
        super().__init__()
        self.ends = []

    def play(self, state, legal, deadline):
        return int(np.random.default_rng(len(legal)).choice(legal))

    def stop(self, goals):
        self.ends.append(goals)


@pytest.fixture
def served():
    players = [Random(), Player()]
    servers = [Served(player) for player in players]
    yield players, servers
    for server in servers:
        server.close()


def test_two_players_play_a_whole_match(served):
    players, servers = served
    g = panza_ggp.load("ticTacToe")
    for server, role in zip(servers, g.roles):
        assert server.post(f"( START m.1 {role} ({g.text}) 10 1 )") == "ready"
        assert "busy" in server.post("( INFO )")
    s, moves = g.init(1), "NIL"
    while not s.terminated[0]:
        answers = [server.post(f"( PLAY m.1 {moves} )") for server in servers]
        s.step(np.array([[g.action(role, text) for role, text in enumerate(answers)]]))
        moves = f"( {' '.join(answers)} )".replace("(", " ( ").replace(")", " ) ")
    for server in servers:
        assert server.post(f"( STOP m.1 {moves} )") == "done"
        assert "available" in server.post("( INFO )")
    assert players[0].ends == [s.goals[0].tolist()]


def test_what_is_no_message_is_refused_with_a_reason(served):
    (player, _), (server, _) = served
    g = panza_ggp.load("ticTacToe")
    for text, reason in [
        ("hello", "parentheses"),
        ("((", "parentheses"),
        ("( PLAY m.1 )", "3 elements"),
        ("( DANCE )", "expected INFO"),
        ("(" * 3000 + ")" * 3000, "lists inside"),
        ("( START m.1 x ((role x) (legal x go)) soon 1 )", "seconds"),
        ("( START m.1 x ((role x) (legal x go)) 10 inf )", "seconds"),
        ("( START m.1 x ((role x) (legal x go)) nan 1 )", "seconds"),
        (f"( START m.1 nobody ({g.text}) 10 1 )", "no role"),
        ("( START m.1 x ((role x) (<= (legal x ?y) (true ?z))) 10 1 )", ""),
    ]:
        with pytest.raises(urllib.error.HTTPError) as raised:
            server.post(text)
        assert raised.value.code == 400
        assert reason in raised.value.read().decode()
    assert server.post("( PLAY m.2 NIL )") == "busy"
    assert server.post(f"( START m.1 {g.roles[0]} ({g.text}) 10 1 )") == "ready"
    assert server.post(f"( START m.2 {g.roles[0]} ({g.text}) 10 1 )") == "busy"
    with pytest.raises(urllib.error.HTTPError):
        server.post("( PLAY m.1 ((mark 9 9) noop) )")
    assert server.post("( PLAY m.1 NIL )").startswith("(mark")
    assert server.post("( ABORT m.1 )") == "aborted"
    assert player.ends == [None]


def test_long_requests_are_refused(served, monkeypatch):
    _, (server, _) = served
    monkeypatch.setattr(module, "MAX_BODY", 100)
    with pytest.raises(urllib.error.HTTPError) as raised:
        server.post("( INFO " + " " * 100 + ")")
    assert raised.value.code == 413


def test_more_connections_than_allowed_are_closed(served):
    _, (server, _) = served
    held = [socket.create_connection(server.server.server_address) for _ in range(module.MAX_REQUESTS)]
    for connection in held:
        connection.sendall(b"POST / HTTP/1.0\r\n")
    with pytest.raises((OSError, http.client.HTTPException)):
        server.post("( INFO )")
    for connection in held:
        connection.close()
    for _ in range(1200):
        try:
            assert "available" in server.post("( INFO )")
            break
        except (OSError, http.client.HTTPException):
            time.sleep(0.1)
    else:
        pytest.fail("no connection is free again")


def failure(server, text):
    """The status and the reason of a message that is not answered."""
    with pytest.raises(urllib.error.HTTPError) as raised:
        server.post(text)
    return raised.value.code, raised.value.read().decode()


def test_errors_of_a_subclass_are_printed_and_told(served, capsys):
    (player, _), (server, _) = served
    g = panza_ggp.load("ticTacToe")
    begin = f"( START m.1 {g.roles[0]} ({g.text}) 10 1 )"
    player.start = lambda *clocks: 1 // 0
    code, reason = failure(server, begin)
    assert (code, reason.split(":")[:2]) == (500, ["start failed", " ZeroDivisionError"])
    error = capsys.readouterr().err
    assert "Traceback" in error and "1 // 0" in error
    # The match has begun all the same.
    assert server.post(begin) == "ready"
    player.play = lambda state, legal, deadline: {}["nothing"]
    code, reason = failure(server, "( PLAY m.1 NIL )")
    assert (code, reason) == (500, "play failed: KeyError: 'nothing'")
    assert '{}["nothing"]' in capsys.readouterr().err
    player.play = lambda state, legal, deadline: -7
    code, reason = failure(server, "( PLAY m.1 NIL )")
    assert code == 500 and "-7" in reason and len(reason) <= module.MAX_REASON
    assert "Traceback" in capsys.readouterr().err
    # The match goes on with what the game manager plays.
    player.play = lambda state, legal, deadline: legal[0]
    assert server.post("( PLAY m.1 ((mark 2 2) noop) )") == "noop"
    player.stop = lambda goals: 1 // 0
    assert server.post("( ABORT m.1 )") == "aborted"
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert "available" in server.post("( INFO )")


def test_rules_that_do_not_load_are_printed_and_told(served, capsys):
    _, (server, _) = served
    code, reason = failure(server, "( START m.1 x ((role x) (<= (legal x ?y) (true ?z))) 10 1 )")
    assert code == 400 and reason
    error = capsys.readouterr().err
    assert "Traceback" in error and "GdlError" in error
    assert "available" in server.post("( INFO )")
    # What is no message is a fault of who sent it.
    assert failure(server, "hello")[0] == 400
    assert capsys.readouterr().err == ""


def test_a_byte_order_mark_is_skipped(served):
    _, (server, _) = served
    assert "available" in server.post("\ufeff( INFO )")


def test_elements_are_canonical():
    assert module._elements(" ( a ( b  ( c d ) ) e\n()) ") == ["a", "(b (c d))", "e", "()"]
