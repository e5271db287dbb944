//! Reduced games: each state of the game has the same end, goals, moves and successors in the
//! reduced game, but for idle moves, and the same value by exhaustive search.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use panza_game::{BuiltGame, ReducedGame};
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Machine, Reasoner};
use panza_sync::{Budget, Random};
use panza_testing::corpus::corpus;
use panza_testing::dead_boards::{buttons, rows, tic_tac_toe, zugzwang};
use panza_testing::game_of;

/// States of random games that are compared.
const STATES: usize = 300;
/// Published games that take longer to build are left out.
const BUILT_WITHIN: Duration = Duration::from_secs(5);

/// Both games, side by side.
struct Pair {
    machine: Arc<dyn Machine>,
    whole: Box<dyn Reasoner>,
    part: Box<dyn Reasoner>,
    reduced: Arc<ReducedGame>,
    n_roles: usize,
}

impl Pair {
    /// `None` where the game is not reduced.
    fn new(game: &BuiltGame) -> Option<Self> {
        let reduced = game.reduced.clone()?;
        Some(Self {
            machine: Arc::clone(&game.machine),
            whole: Arc::clone(&game.machine).reasoner(),
            part: Arc::clone(&reduced.part.machine).reasoner(),
            n_roles: game.info().n_roles(),
            reduced,
        })
    }

    /// Compares one state, and returns its joint moves with the states after them; none where it
    /// is terminal.
    fn compare(&mut self, state: &[u64]) -> Vec<(Vec<MoveId>, Vec<u64>)> {
        let projected = self.reduced.state(state);
        assert!(self.reduced.is_proven_in(state));
        self.whole.set_state(state);
        self.part.set_state(&projected);
        let is_terminal = self.whole.is_terminal();
        assert_eq!(is_terminal, self.part.is_terminal());
        let (whole, part) = (&mut self.whole, &mut self.part);
        assert_eq!(
            whole.final_goals(self.n_roles),
            part.final_goals(self.n_roles)
        );
        if is_terminal {
            return Vec::new();
        }
        let mut joint_moves: Vec<Vec<MoveId>> = vec![Vec::new()];
        for role in (0..self.n_roles).map(RoleId::from_index) {
            let legal: Vec<MoveId> = whole.legal_moves(role).to_vec();
            let mapped = legal.iter().filter_map(|&mv| self.reduced.part.moves[mv]);
            let mapped: HashSet<MoveId> = mapped.collect();
            let of_part: HashSet<MoveId> = part.legal_moves(role).iter().copied().collect();
            assert_eq!(mapped, of_part, "role {role:?}");
            for &mv in &of_part {
                let back = self.reduced.legal_move(&mut **whole, role, mv);
                let back = back.expect("a move that it stands for is legal");
                assert!(legal.contains(&back) && self.reduced.part.moves[back] == Some(mv));
            }
            let longer = joint_moves
                .iter()
                .flat_map(|joint| legal.iter().map(|&mv| [joint.as_slice(), &[mv]].concat()));
            joint_moves = longer.collect();
        }
        let mut successors = Vec::new();
        for joint in joint_moves {
            let (mut next, mut predicted) = (Vec::new(), Vec::new());
            whole.next_state(&joint, &mut next);
            match self.reduced.joint_move(&joint) {
                Some(moves) => part.next_state(&moves, &mut predicted),
                None => predicted.clone_from(&projected),
            }
            assert_eq!(self.reduced.state(&next), predicted, "{joint:?}");
            successors.push((joint, next));
        }
        successors
    }

    /// Compares states of random games.
    fn compare_random(&mut self) {
        let mut random = Random::new(5);
        let initial = self.machine.initial_state();
        let mut state = initial.clone();
        for _ in 0..STATES {
            let successors = self.compare(&state);
            state = match successors.is_empty() {
                true => initial.clone(),
                false => random.choose(&successors).1.clone(),
            };
        }
    }
}

fn pair(rules: &str) -> Pair {
    Pair::new(&game_of(rules)).expect("the game is reduced")
}

/// The values of a game of two roles of opposite aims for the first, by exhaustive search.
struct Values {
    reasoner: Box<dyn Reasoner>,
    known: HashMap<Vec<u64>, u8>,
}

impl Values {
    fn of(machine: &Arc<dyn Machine>) -> Self {
        Self {
            reasoner: Arc::clone(machine).reasoner(),
            known: HashMap::new(),
        }
    }

    fn value(&mut self, state: &[u64]) -> u8 {
        if let Some(&value) = self.known.get(state) {
            return value;
        }
        self.reasoner.set_state(state);
        let legal = [RoleId(0), RoleId(1)].map(|role| self.reasoner.legal_moves(role).to_vec());
        let is_over = self.reasoner.is_terminal() || legal.iter().any(Vec::is_empty);
        let value = if is_over {
            self.reasoner.final_goals(2)[0]
        } else {
            let mut next = Vec::new();
            let mut values = Vec::new();
            for &first in &legal[0] {
                for &second in &legal[1] {
                    self.reasoner.set_state(state);
                    self.reasoner.next_state(&[first, second], &mut next);
                    values.push(self.value(&next.clone()));
                }
            }
            let best = match legal[0].len() {
                1 => values.iter().min(),
                _ => values.iter().max(),
            };
            *best.expect("there is a joint move")
        };
        self.known.insert(state.to_vec(), value);
        value
    }
}

/// Compares all states that can be reached, and their values; the value at the start, and the
/// numbers of states of both games.
fn compare_all(rules: &str) -> (u8, usize, usize) {
    let game = game_of(rules);
    let mut pair = Pair::new(&game).expect("the game is reduced");
    let mut values = Values::of(&game.machine);
    let mut of_part = Values::of(&pair.reduced.part.machine);
    let initial = game.machine.initial_state();
    let mut seen = HashSet::from([initial.clone()]);
    let mut open = vec![initial.clone()];
    while let Some(state) = open.pop() {
        let reduced = pair.reduced.state(&state);
        assert_eq!(values.value(&state), of_part.value(&reduced), "{state:?}");
        for (_, next) in pair.compare(&state) {
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    (values.value(&initial), seen.len(), of_part.known.len())
}

#[test]
fn the_number_of_passes_decides_a_zugzwang() {
    for (n_passes, value) in [(2, 0), (3, 100), (4, 0), (5, 100)] {
        let (found, n_states, n_reduced) = compare_all(&zugzwang(n_passes));
        assert_eq!(found, value, "{n_passes} passes");
        assert!(n_reduced < n_states, "{n_reduced} of {n_states}");
    }
}

#[test]
fn rows_with_dead_rows_beside_them_have_the_same_values() {
    let (found, n_states, n_reduced) = compare_all(&rows(3));
    assert!(
        2 * n_reduced < n_states,
        "{n_reduced} of {n_states}, {found}"
    );
}

#[test]
fn random_games_are_followed() {
    for rules in [tic_tac_toe(1), tic_tac_toe(4), buttons(9), rows(5)] {
        pair(&rules).compare_random();
    }
}

/// Published games, as far as they are built soon and reduced.
#[test]
#[ignore = "needs the published games, see CONTRIBUTING.md"]
fn published_games_are_followed() {
    let corpus = corpus();
    for key in corpus.keys() {
        let text = std::fs::read(corpus.rulesheet(key)).expect("the rulesheet can be read");
        let (rules, _) = panza_gdl::load(&panza_gdl::text::decode(&text).0);
        let budget = Budget::within(BUILT_WITHIN, 1 << 30);
        let game = panza_game::build(&rules, &budget).ok();
        if let Some(mut pair) = game.and_then(|game| Pair::new(&game)) {
            let part = &pair.reduced.part;
            let (n_bases, n_supplies) = (part.bases.len(), part.supplies.len());
            println!("{key}: {n_bases} facts, {n_supplies} supplies");
            pair.compare_random();
        }
    }
}

/// The games of Stanford's Gamemaster with boards on which nothing depends.
#[test]
fn games_of_gamemaster_are_followed() {
    let games = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/gamemaster/games");
    for name in [
        "multiplebuttonsandlights",
        "multiplehunter",
        "multipleknightthrough",
        "multiplesuicide",
        "multipletictactoe",
    ] {
        // Not every machine has them.
        if let Ok(text) = std::fs::read_to_string(games.join(format!("{name}.hrf"))) {
            let (rules, _) = panza_hrf::load(&text);
            let budget = Budget::within(Duration::from_secs(60), 1 << 30);
            let game = panza_game::build(&rules, &budget).expect("a machine");
            Pair::new(&game).expect(name).compare_random();
        }
    }
}
