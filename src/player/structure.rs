//! What the rules alone say, for the search of a match: what settled facts make certain of goals,
//! and which moves are alike.
//!
//! The network is built once more from the rules, as they are written, since the passes that make a
//! machine's network small hide what is alike. Facts and moves have the same numbers in both, which
//! is checked.
//!
//! Invariant: all of it holds in every game that can be played; what was not found in time is left
//! out.
//!
//! Never knows: playing.

use std::sync::Arc;
use std::time::Instant;

use crate::analysis::effort::Effort;
use crate::analysis::latches::latches;
use crate::analysis::score_ranges::{Effect, ScoreRanges};
use crate::analysis::symmetry::Symmetries;
use crate::gdl::Rules;
use crate::ground::{self, Budget};
use crate::machine::Machine;
use crate::propnet::{self, Network};

/// Steps that each analysis may take.
const STEPS: u64 = 1 << 28;
/// Larger networks would take too long to build a second time.
const MOST_BASES: usize = 2000;
/// Each new position is looked at for so many settled facts at most.
const MOST_EFFECTS: usize = 64;

/// What the rules alone say.
#[derive(Clone, Debug, Default)]
pub struct Structure {
    /// What settled facts make certain of goals.
    pub score_ranges: Arc<[Effect]>,
    /// Which moves are alike; nothing where none are.
    pub symmetries: Option<Arc<Symmetries>>,
    /// Facts that stay once they are true, that stay once they are false, and that stay once
    /// another does.
    pub latches: [usize; 3],
}

impl Structure {
    /// What the rules say of the machine's game, as far as it is found by then.
    pub(super) fn of(
        rules: &Rules,
        machine: &Arc<dyn Machine>,
        memory: usize,
        until: Instant,
    ) -> Self {
        let Some(facts) = machine
            .info()
            .facts()
            .filter(|facts| facts.len() <= MOST_BASES)
        else {
            return Self::default();
        };
        let limits = Budget {
            until: Some(until),
            max_bytes: memory,
        };
        let network = ground::ground(rules, limits)
            .ok()
            .and_then(|program| propnet::build(&program, limits).ok());
        match network {
            Some(network) if is_numbered_alike(&network, facts, machine) => {
                Self::read(&network, until)
            }
            _ => Self::default(),
        }
    }

    fn read(network: &Network, until: Instant) -> Self {
        let effort = || Effort::new(STEPS, Some(until));
        let latches = latches(network, &mut effort());
        let mut effects = ScoreRanges::new(network, &latches, &mut effort())
            .map_or_else(Vec::new, |ranges| ranges.effects());
        // The narrowest first, should there be too many.
        effects.sort_by_key(|effect| effect.range.upper - effect.range.lower);
        effects.truncate(MOST_EFFECTS);
        let symmetries = Symmetries::find(network, &mut effort());
        Self {
            score_ranges: effects.into(),
            symmetries: (!symmetries.is_trivial()).then(|| Arc::new(symmetries)),
            latches: [
                latches.positive.len(),
                latches.negative.len(),
                latches.conditional.len(),
            ],
        }
    }

    /// Whether there is anything in it.
    pub fn is_empty(&self) -> bool {
        self.score_ranges.is_empty() && self.symmetries.is_none()
    }
}

/// Whether facts and moves have the same numbers in the network and in the machine.
fn is_numbered_alike(network: &Network, facts: &[String], machine: &Arc<dyn Machine>) -> bool {
    let same_facts = network.facts.iter().eq(facts);
    same_facts
        && network
            .moves
            .enumerate()
            .all(|(mv, (_, text))| machine.info().move_text(mv) == *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gdl;
    use std::time::Duration;

    /// Two cells, of which each player marks one; a marked cell stays marked.
    const CELLS: &str =
        "(role x) (role o) (cell a) (cell b) (init (turn x)) (<= (init (free ?c)) (cell ?c))
        (<= (legal ?p (mark ?c)) (true (turn ?p)) (true (free ?c)))
        (<= (legal x wait) (true (turn o))) (<= (legal o wait) (true (turn x)))
        (<= (next (free ?c)) (true (free ?c)) (not (does x (mark ?c))) (not (does o (mark ?c))))
        (<= (next (has ?p ?c)) (does ?p (mark ?c))) (<= (next (has ?p ?c)) (true (has ?p ?c)))
        (<= (next (turn o)) (true (turn x))) (<= (next (turn x)) (true (turn o)))
        (<= some (true (free ?c))) (<= terminal (not some))
        (<= (goal x 100) (true (has x a))) (<= (goal x 0) (not (true (has x a)))) (goal o 50)";

    fn structure(text: &str) -> (Structure, Arc<dyn Machine>) {
        let (rules, faults) = gdl::load(text);
        assert!(faults.is_empty(), "{faults:?}");
        let limits = Budget::generous();
        let machine: Arc<dyn Machine> =
            Arc::new(super::super::compile(&rules, limits).unwrap().machine);
        let until = Instant::now() + Duration::from_secs(20);
        (Structure::of(&rules, &machine, 1 << 30, until), machine)
    }

    #[test]
    fn what_is_settled_and_what_is_alike_is_found() {
        let (found, machine) = structure(CELLS);
        let state = machine
            .info()
            .state_from_facts(&["(has x a)".into(), "(turn o)".into(), "(free b)".into()])
            .unwrap();
        let won = |effect: &&Effect| effect.setting.holds_in(&state) && effect.range.lower == 100;
        assert!(
            found.score_ranges.iter().any(|effect| won(&effect)),
            "{found:?}"
        );
        assert!(found.symmetries.is_none(), "which cell is marked matters");
        let alike = CELLS.replace(
            "(goal x 100) (true (has x a))",
            "(goal x 100) (true (has x ?c))",
        );
        let alike = alike.replace("(<= (goal x 0) (not (true (has x a))))", "");
        let (found, machine) = structure(&alike);
        let symmetries = found.symmetries.unwrap();
        let mut reasoner = Arc::clone(&machine).reasoner();
        let legal = reasoner.legal_moves(crate::ids::RoleId(0)).to_vec();
        assert_eq!(
            symmetries.equivalent_moves(&machine.initial_state(), &legal),
            [0, 0]
        );
    }

    #[test]
    fn without_time_nothing_is_said() {
        let (rules, _) = gdl::load(CELLS);
        let (_, machine) = structure(CELLS);
        let found = Structure::of(&rules, &machine, 1 << 30, Instant::now());
        assert!(found.is_empty());
    }
}
