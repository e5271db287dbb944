//! Rules that are made to exhaust time and memory, sent to a player server of its own process.
//!
//! The games are made here. Times and sizes are bounds for a busy machine and an unoptimised build;
//! `docs/reliability.md` has measured ones.

use std::fmt::Write as _;
use std::time::Duration;

use panza_cli::Game;
use rustix::process::Resource;

use crate::support::client::read_to_end;
use crate::support::process::PlayerProcess;

/// A player whose rollouts have one thread and whose builds have little memory.
struct Server {
    player: PlayerProcess,
    /// Holds logs and the memory of matches.
    _folder: tempfile::TempDir,
}

impl std::ops::Deref for Server {
    type Target = PlayerProcess;

    fn deref(&self) -> &PlayerProcess {
        &self.player
    }
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = ["search.threads=1", "player.build_memory_mib=256"];
        Self {
            player: PlayerProcess::start(folder.path(), &settings),
            _folder: folder,
        }
    }

    /// A player of the default settings whose process has 4 GiB of address space.
    fn start_with_little_address_space() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let player = PlayerProcess::start(folder.path(), &[]);
        player.limit(Resource::As, Some(4 << 30));
        Self {
            player,
            _folder: folder,
        }
    }

    /// Memory in RAM, in MiB.
    fn resident(&self) -> u64 {
        self.kibibytes("VmRSS:") / 1024
    }

    /// The most memory that was in RAM, in MiB.
    fn peak(&self) -> u64 {
        self.kibibytes("VmHWM:") / 1024
    }

    /// Starts a match with a long start clock and aborts it after a while.
    fn start_and_abort(&self, name: &str, role: &str, rules: &str, after: Duration) {
        // The clock is longer than this test waits for an answer.
        let start = self.send(&format!("( START {name} {role} ( {rules} ) 600 10 )"));
        std::thread::sleep(after);
        let answer = self.ask(&format!("( ABORT {name} )"));
        assert!(answer == "aborted" || answer == "busy", "{name}: {answer}");
        read_to_end(start);
        self.wait_for_end(name);
    }

    /// The answer to the first PLAY of a match that is then aborted.
    fn first_move(&self, name: &str, role: &str, rules: &str, clocks: &str) -> String {
        let start = format!("( START {name} {role} ( {rules} ) {clocks} )");
        assert_eq!(self.ask(&start), "ready", "{name}");
        let answer = self.ask(&format!("( PLAY {name} NIL )"));
        self.ask(&format!("( ABORT {name} )"));
        answer
    }
}

/// A constant for each number below `n`.
fn values(n: usize) -> String {
    let facts = (0..n).map(|value| format!("(d v{value})"));
    facts.collect::<Vec<_>>().join(" ")
}

/// Terms that grow without end, two from any two.
fn unbounded_terms() -> String {
    "(role r) (init (n y)) (init (n z)) (legal r go) (<= terminal (true (n stop))) (goal r 50)
     (<= (next (n (f ?x ?y))) (true (n ?x)) (true (n ?y)))"
        .to_string()
}

/// The same in every state.
fn unbounded_static_terms() -> String {
    "(role r) (init (n z)) (legal r go) (<= terminal (true (n stop))) (goal r 50) (t a) (t b)
     (<= (t (f ?x ?y)) (t ?x) (t ?y)) (<= (next (n ?x)) (t ?x))"
        .to_string()
}

/// A rule with `100^6` instances.
fn six_variables() -> String {
    let facts = values(100);
    format!(
        "(role r) {facts} (init (n z)) (legal r go) (<= terminal (true (n stop))) (goal r 50)
         (<= (next (p ?a ?b ?c ?d ?e ?f)) (d ?a) (d ?b) (d ?c) (d ?d) (d ?e) (d ?f))"
    )
}

/// A rule with `n_conditions` conditions, each of which matches three facts.
fn long_rule(n_conditions: usize) -> String {
    let facts = values(3);
    let mut body = String::new();
    for condition in 0..n_conditions {
        let _ = write!(body, " (d ?x{condition})");
    }
    format!(
        "(role r) {facts} (init (n z)) (legal r go) (<= terminal (true (n stop))) (goal r 50)
         (<= (next (n y)) (true (n z)) {body})"
    )
}

fn many_roles(n: usize) -> String {
    let roles = (0..n).map(|role| format!("(role r{role})"));
    let roles = roles.collect::<Vec<_>>().join(" ");
    format!(
        "{roles} (init (n z)) (<= (legal ?r (go ?r)) (role ?r)) (<= (legal ?r stay) (role ?r))
         (<= (next (n (did ?r))) (does ?r (go ?r))) (<= terminal (true (n stop)))
         (<= (goal ?r 50) (role ?r))"
    )
}

/// Roles that have two moves each, in rules without variables.
fn roles_without_variables(n: usize) -> String {
    let role =
        |role| format!("(role r{role}) (legal r{role} x) (legal r{role} y) (goal r{role} 50)");
    let roles = (0..n).map(role).collect::<Vec<_>>().join(" ");
    format!("{roles} (init (n z)) (<= (next (n z)) (true (n z))) (<= terminal (true (n stop)))")
}

/// A fact of `n` arguments that stays, and more such facts than fit into memory.
fn long_facts(n: usize) -> [String; 2] {
    let constants = (0..n).map(|place| format!("c{}", place % 50));
    let constants = constants.collect::<Vec<_>>().join(" ");
    let variables = (0..n).map(|place| format!("?x{place}"));
    let variables = variables.collect::<Vec<_>>().join(" ");
    let rules = "(role r) (init (n z)) (legal r go) (legal r stay) (goal r 50)
        (<= terminal (true (n stop)))";
    let facts = values(10);
    [
        format!(
            "{rules} (init (w {constants})) (<= (next (w {variables})) (true (w {variables})))"
        ),
        format!(
            "{rules} {facts} (<= (next (w ?a ?b ?c ?e ?f ?g {constants}))
             (d ?a) (d ?b) (d ?c) (d ?e) (d ?f) (d ?g))"
        ),
    ]
}

/// A state with `10^n_digits` legal moves.
fn many_moves(n_digits: usize) -> String {
    let facts = values(10);
    let variables: Vec<String> = (0..n_digits).map(|digit| format!("?x{digit}")).collect();
    let domains: Vec<String> = variables.iter().map(|name| format!("(d {name})")).collect();
    let (variables, domains) = (variables.join(" "), domains.join(" "));
    format!(
        "(role r) {facts} (init (n z)) (<= (legal r (m {variables})) {domains})
         (<= (next (p ?x0)) (does r (m {variables}))) (<= terminal (true (p v3)))
         (<= (goal r 100) (true (p v3))) (<= (goal r 0) (not (true (p v3))))"
    )
}

/// The transitive closure of a graph of `n` nodes.
fn recursion(n: usize) -> String {
    let mut edges = String::new();
    for node in 0..n {
        let (left, right) = ((node * 7 + 1) % n, (node * 3 + 2) % n);
        let _ = write!(edges, "(succ v{node} v{left}) (succ v{node} v{right}) ");
    }
    format!(
        "(role r) {edges} (init (n v0)) (<= (legal r (go ?y)) (true (n ?x)) (path ?x ?y))
         (<= (path ?x ?y) (succ ?x ?y)) (<= (path ?x ?z) (path ?x ?y) (path ?y ?z))
         (<= (next (n ?y)) (does r (go ?y))) (<= terminal (true (n v5)))
         (<= (goal r 100) (true (n v5))) (<= (goal r 0) (not (true (n v5))))"
    )
}

/// `n` facts that never become false again, each set by a move of its own.
fn many_latches(n: usize) -> String {
    let facts = values(n);
    format!(
        "(role r) {facts} (<= (init (off ?x)) (d ?x)) (<= (legal r (flip ?x)) (true (off ?x)))
         (<= (next (on ?x)) (does r (flip ?x))) (<= (next (on ?x)) (true (on ?x)))
         (<= (next (off ?x)) (true (off ?x)) (not (does r (flip ?x)))) (<= open (true (off ?x)))
         (<= terminal (not open)) (<= (goal r 100) (not open)) (<= (goal r 0) open)"
    )
}

/// A recursion of which each level takes one more function term, and a move that needs none of it.
fn deep_recursion(depth: usize) -> String {
    let mut chain = String::new();
    for node in 0..depth {
        let _ = write!(chain, "(succ n{node} n{}) ", node + 1);
    }
    format!(
        "(role r) {chain} (init (n z)) (legal r go) (<= (deep n0 z))
         (<= (deep ?y (s ?t)) (deep ?x ?t) (succ ?x ?y) (true (n ?any)))
         (<= (next (n ?t)) (deep n{depth} ?t)) (<= (next (n z)) (true (n z)))
         (legal r stay) (<= (legal r jump) (deep n{depth} ?t)) (<= terminal (true (n stop))) (goal r 50)"
    )
}

/// Each step doubles the facts of the state; the moves are facts of the rules.
fn doubling() -> String {
    "(role r) (init (n z)) (legal r go) (legal r stay) (<= terminal (true (n stop))) (goal r 50)
     (<= (next (n (a ?x))) (true (n ?x))) (<= (next (n (b ?x))) (true (n ?x)))"
        .to_string()
}

fn tic_tac_toe() -> String {
    Game::load("ticTacToe").unwrap().sheet.text
}

/// A match of tic-tac-toe is answered as ever.
fn assert_plays(server: &Server, place: &str) {
    let answer = server.first_move("ordinary", "xplayer", &tic_tac_toe(), "5 2");
    assert!(answer.starts_with("(mark "), "{place}: {answer}");
    server.wait_for_end(place);
}

#[test]
fn aborted_builds_of_hostile_rules_end_and_leave_nothing_behind() {
    let server = Server::start();
    assert_plays(&server, "before");
    let second = Duration::from_secs(1);
    let games = [
        ("unbounded-terms", "r", unbounded_terms()),
        ("static-terms", "r", unbounded_static_terms()),
        ("six-variables", "r", six_variables()),
        ("long-rule", "r", long_rule(300)),
        ("many-roles", "r0", many_roles(3000)),
        ("many-moves", "r", many_moves(6)),
        ("recursion", "r", recursion(1000)),
        ("many-latches", "r", many_latches(10_000)),
    ];
    for (name, role, rules) in &games {
        server.start_and_abort(name, role, rules, second);
    }
    assert_plays(&server, "after");
    let resident = server.resident();
    assert!(resident < 300, "{resident} MiB are held after the matches");
}

#[test]
fn a_state_of_a_million_moves_gets_a_legal_answer_after_hostile_matches() {
    let server = Server::start();
    let while_building = Duration::from_millis(300);
    server.start_and_abort("unbounded-terms", "r", &unbounded_terms(), while_building);
    server.start_and_abort("six-variables", "r", &six_variables(), while_building);
    let answer = server.first_move("many-moves", "r", &many_moves(6), "30 20");
    let digits = answer
        .strip_prefix("(m ")
        .and_then(|rest| rest.strip_suffix(')'));
    let digits: Vec<&str> = digits.unwrap_or_default().split(' ').collect();
    let is_digit = |digit: &&str| digit.len() == 2 && digit.starts_with('v');
    assert!(digits.len() == 6 && digits.iter().all(is_digit), "{answer}");
    server.wait_for_end("many-moves");
}

#[test]
fn a_game_beyond_every_machine_is_played_with_any_legal_move() {
    let server = Server::start();
    for (name, rules) in [
        ("unbounded-terms", unbounded_terms()),
        ("static-terms", unbounded_static_terms()),
    ] {
        // The only move leaves as soon as it is known.
        assert_eq!(
            server.first_move(name, "r", &rules, "12 60"),
            "go",
            "{name}"
        );
        server.wait_for_end(name);
    }
    assert_plays(&server, "after");
    // Besides what builds may have, the prover has limits of its own.
    let peak = server.peak();
    assert!(peak < 1500, "{peak} MiB");
}

#[test]
fn an_unconditional_move_is_answered_where_the_state_is_beyond_the_limits() {
    let server = Server::start();
    let games = [
        ("deep-recursion", deep_recursion(3000)),
        ("doubling", doubling()),
    ];
    for (name, rules) in games {
        let start = format!("( START {name} r ( {rules} ) 12 1 )");
        assert_eq!(server.ask(&start), "ready", "{name}");
        let mut last = "NIL".to_string();
        for step in 0..22 {
            let answer = server.ask(&format!("( PLAY {name} {last} )"));
            let is_legal = ["go", "stay", "jump"].contains(&answer.as_str());
            assert!(is_legal, "{name}, step {step}: {answer:.40}");
            last = format!("( {answer} )");
        }
        server.ask(&format!("( ABORT {name} )"));
        server.wait_for_end(name);
    }
    assert_plays(&server, "after");
}

#[test]
fn a_thousand_roles_are_played_in_little_address_space_and_more_are_refused() {
    let server = Server::start_with_little_address_space();
    for (name, n) in [("few", 1001), ("many", 6000)] {
        let rules = roles_without_variables(n);
        let answer = server.ask(&format!("( START {name} r0 ( {rules} ) 5 2 )"));
        let reason = format!("there are {n} roles, at most 1000 can be played");
        assert!(answer.contains(&reason), "{name}: {answer}");
        server.wait_for_end(name);
    }
    for (name, rules) in [
        ("shared", many_roles(1000)),
        ("apart", roles_without_variables(1000)),
    ] {
        let answer = server.first_move(name, "r0", &rules, "12 16");
        let legal = ["(go r0)", "stay", "x", "y"];
        assert!(legal.contains(&answer.as_str()), "{name}: {answer}");
        server.wait_for_end(name);
    }
    assert_plays(&server, "after");
    let peak = server.peak();
    assert!(peak < 2048, "{peak} MiB");
}

#[test]
fn facts_of_twenty_thousand_arguments_are_played_in_little_address_space() {
    let server = Server::start_with_little_address_space();
    for (number, rules) in long_facts(20_000).iter().enumerate() {
        let name = format!("long-facts-{number}");
        let answer = server.first_move(&name, "r", rules, "12 16");
        assert!(answer == "go" || answer == "stay", "{name}: {answer}");
        server.wait_for_end(&name);
    }
    assert_plays(&server, "after");
    let peak = server.peak();
    assert!(peak < 1400, "{peak} MiB");
}

#[test]
fn rules_without_a_legal_move_are_refused_and_wrong_goals_are_not() {
    let server = Server::start();
    let stuck = "(role r) (init (n z)) (<= (legal r go) (true (n y))) (<= terminal (true (n q)))
        (<= (next (n z)) (does r go)) (goal r 0)";
    let answer = server.ask(&format!("( START stuck r ( {stuck} ) 20 5 )"));
    assert!(answer.contains("no legal move of r"), "{answer}");
    server.wait_for_end("stuck");
    let goals = "(role r) (init (n z)) (legal r go) (legal r stay) (<= (next (n y)) (does r go))
        (<= (next (n z)) (does r stay)) (<= terminal (true (n y))) (goal r 400) (goal r -3)";
    let answer = server.first_move("goals", "r", goals, "3 2");
    assert!(answer == "go" || answer == "stay", "{answer}");
    server.wait_for_end("goals");
}

#[test]
fn memory_is_given_back_between_matches() {
    let server = Server::start();
    let rules = tic_tac_toe();
    let mut largest = Vec::new();
    for batch in 0..4 {
        let mut most = 0;
        for number in 0..5 {
            let name = format!("m{batch}.{number}");
            let answer = server.first_move(&name, "xplayer", &rules, "0.5 0.2");
            assert!(answer.starts_with("(mark "), "{answer}");
            server.wait_for_end(&name);
            most = most.max(server.resident());
        }
        largest.push(most);
    }
    // Without that it grows by some ten MiB from match to match.
    assert!(
        largest[3] < largest[0] + 40,
        "{largest:?} MiB after batches of matches"
    );
}
