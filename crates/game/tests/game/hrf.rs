//! Our own games in the dialect HRF play as they do in KIF.

use std::collections::BTreeSet;

use panza_game::turns::find_turns;
use panza_gdl::{Id, RoleId, Rules, Severity, Term, TermId};
use panza_gdl_games::EMBEDDED;
use panza_hrf::NOOP;
use panza_prover::{Prover, State};
use panza_sync::Random;
use panza_testing::rules_of;

/// Games that HRF cannot have: roles move at the same time, or one draws its moves.
const REFUSED: [&str; 6] = [
    "biddingTicTacToe",
    "connectFourSimultaneous",
    "diceRace",
    "pathRace",
    "pearlDiver",
    "roshamboTen",
];

struct Played {
    prover: Prover,
    state: State,
}

impl Played {
    fn new(rules: &Rules) -> Self {
        let prover = Prover::new(rules).expect("the prover takes the rules");
        let state = prover.initial_state();
        Self { prover, state }
    }

    fn texts(&self, terms: &[TermId]) -> BTreeSet<String> {
        terms.iter().map(|&term| self.prover.show(term)).collect()
    }

    fn facts(&self) -> BTreeSet<String> {
        self.texts(self.prover.facts(&self.state))
    }

    fn legal(&mut self, role: usize) -> BTreeSet<String> {
        let role = RoleId::from_index(role);
        let moves = self.prover.legal_moves(&self.state, role);
        self.texts(&moves.expect("moves can be proven"))
    }

    fn is_over(&mut self) -> bool {
        let is_over = self.prover.is_terminal(&self.state);
        is_over.expect("terminality can be proven")
    }

    fn goal(&mut self, role: usize) -> Option<u8> {
        let goal = self.prover.goal(&self.state, RoleId::from_index(role));
        goal.expect("goals can be proven")
    }

    fn play(&mut self, moves: &[String]) {
        let moves = moves.iter().flat_map(|text| self.prover.read_term(text));
        let moves: Vec<TermId> = moves.collect();
        let next = self.prover.next_state(&self.state, &moves);
        self.state = next.expect("the next state can be proven");
    }
}

/// Plays random games of both at once.
fn compare(name: &str, own: &Rules, waits: &[Term], other: &Rules) {
    let (mut own_game, mut other_game) = (Played::new(own), Played::new(other));
    let waits: Vec<String> = waits.iter().map(|wait| own.show_term(wait, &[])).collect();
    let n_roles = own.roles().len();
    let mut random = Random::new(1);
    for game in 0..3 {
        own_game.state = own_game.prover.initial_state();
        other_game.state = other_game.prover.initial_state();
        for step in 0..25 {
            let place = format!("{name}, game {game}, step {step}");
            assert_eq!(own_game.facts(), other_game.facts(), "{place}");
            let is_over = own_game.is_over();
            assert_eq!(is_over, other_game.is_over(), "{place}");
            for role in 0..n_roles {
                assert_eq!(
                    own_game.goal(role),
                    other_game.goal(role),
                    "{place}, {role}"
                );
            }
            if is_over {
                break;
            }
            let (mut moves, mut other_moves) = (Vec::new(), Vec::new());
            let mut n_movers = 0;
            for role in 0..n_roles {
                let (legal, found) = (own_game.legal(role), other_game.legal(role));
                let is_mover = found != BTreeSet::from([NOOP.to_string()]);
                n_movers += usize::from(is_mover);
                match is_mover {
                    true => assert_eq!(legal, found, "{place}, {role}"),
                    false => assert_eq!(
                        legal,
                        waits.get(role).cloned().into_iter().collect(),
                        "{place}"
                    ),
                }
                let number = random.below(legal.len() as u32) as usize;
                moves.extend(legal.iter().nth(number).cloned());
                other_moves.extend(found.iter().nth(number).cloned());
            }
            assert_eq!(n_movers, 1, "{place}");
            own_game.play(&moves);
            other_game.play(&other_moves);
        }
    }
}

#[test]
fn our_own_games_play_the_same_in_hrf_where_one_role_moves() {
    let mut refused = Vec::new();
    for (name, text) in EMBEDDED {
        let game = rules_of(text);
        let turns = match find_turns(&game) {
            Ok(turns) => turns,
            Err(why) => {
                println!("{name}: {why}");
                refused.push(*name);
                continue;
            }
        };
        let text = match panza_hrf::write(&game, &turns) {
            Ok(text) => text,
            Err(faults) => {
                println!("{name}: {}", faults[0].message);
                refused.push(*name);
                continue;
            }
        };
        assert_eq!(panza_hrf::format(&text).as_ref(), Ok(&text), "{name}");
        let (rules, faults) = panza_hrf::load(&text);
        let error = faults
            .iter()
            .find(|fault| fault.severity == Severity::Error);
        assert_eq!(error.map(|error| error.one_line(name, &text)), None);
        assert_eq!(rules.role_names(), game.role_names(), "{name}");
        compare(name, &game, &turns.waits, &rules);
    }
    assert_eq!(refused, REFUSED);
}
