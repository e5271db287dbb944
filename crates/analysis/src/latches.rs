//! Latches: facts that keep their value once they have it.
//!
//! A positive latch stays true once it is true, a negative one stays false once it is false: a mark
//! on a board that is never removed, a square that is never blank again. A conditional latch stays
//! only while another latch holds: no mark comes to a square that is not blank. Each is proven on
//! the network by unit propagation ([`Implications`]): the fact is assumed, everything else is
//! unknown, and the value of the fact's `next` follows. (Latches are Sancho's term.)
//!
//! Invariants: a latch holds from every state, reachable or not, as long as legal moves are made
//! and the game goes on. The proof is incomplete: other facts may be latches too.

use super::csr::Csr;
use super::implications::{Implications, Outcome, Scope};
use panza_gdl::{BaseId, Id};
use panza_propnet::{Network, Signal};
use panza_sync::Budget;

/// A fact with a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Setting {
    /// The fact.
    pub base: BaseId,
    /// Whether it is true.
    pub value: bool,
}

impl Setting {
    /// Whether the fact has this value in a state.
    #[inline]
    pub fn holds_in(self, state: &[u64]) -> bool {
        let index = self.base.index();
        let word = state.get(index / 64).copied().unwrap_or(0);
        (word >> (index % 64) & 1 == 1) == self.value
    }

    /// The signal that is on when the fact has this value.
    pub(super) fn signal(self) -> Signal {
        let plain = Signal::of_node(1 + self.base.index());
        if self.value { plain } else { !plain }
    }
}

/// A setting that stays while a latch holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Conditional {
    /// The setting that stays.
    pub latch: Setting,
    /// The latch that has to hold.
    pub given: Setting,
}

/// The latches of a game.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Latches {
    /// Facts that stay true once they are true.
    pub positive: Vec<BaseId>,
    /// Facts that stay false once they are false.
    pub negative: Vec<BaseId>,
    /// Settings that stay while a latch holds, without those that always stay.
    pub conditional: Vec<Conditional>,
    /// Whether all facts were examined before the budget was spent.
    pub is_complete: bool,
}

impl Latches {
    /// The unconditional latches.
    pub fn settings(&self) -> impl Iterator<Item = Setting> + '_ {
        let with = |value| move |&base: &BaseId| Setting { base, value };
        let positive = self.positive.iter().map(with(true));
        positive.chain(self.negative.iter().map(with(false)))
    }
}

/// Finds latches. Those found before the budget is spent are right.
pub fn latches(network: &Network, budget: &mut Budget) -> Latches {
    let mut found = Latches::default();
    let Some(mut known) = Implications::new(network, Scope::Transitions, budget) else {
        return found;
    };
    known.assume(!network.terminal);
    if known.propagate(budget) != Outcome::Consistent {
        return found;
    }
    for base in network.facts.ids() {
        for value in [true, false] {
            let setting = Setting { base, value };
            match stays(network, &mut known, setting, budget) {
                None => return found,
                Some(true) if value => found.positive.push(base),
                Some(true) => found.negative.push(base),
                Some(false) => {}
            }
        }
    }
    found.is_complete = conditional(network, &mut known, &mut found, budget).is_some();
    found.conditional.sort_unstable();
    found.conditional.dedup();
    found
}

/// Whether the setting stays under the current assumptions; `None` when the budget is spent.
fn stays(
    network: &Network,
    known: &mut Implications<'_>,
    setting: Setting,
    budget: &mut Budget,
) -> Option<bool> {
    let next = network.next[setting.base];
    if let Some(value) = known.value(next) {
        return Some(value == setting.value);
    }
    let mark = known.mark();
    known.assume(setting.signal());
    let outcome = known.propagate(budget);
    // A setting that contradicts the assumptions, as one that ends the game, is no latch.
    let stays = outcome != Outcome::Contradiction && known.value(next) == Some(setting.value);
    known.undo_to(mark);
    (outcome != Outcome::BudgetSpent || stays).then_some(stays)
}

/// Finds conditional latches; `None` when the budget is spent.
fn conditional(
    network: &Network,
    known: &mut Implications<'_>,
    found: &mut Latches,
    budget: &mut Budget,
) -> Option<()> {
    let pairs: Vec<(u32, u32)> = network
        .next
        .enumerate()
        .map(|(base, next)| (next.node_number() as u32, base.0))
        .collect();
    let n_nodes = 1 + network.facts.len() + network.moves.len() + network.gates.len();
    let next_of = Csr::new(n_nodes, &pairs);
    let mut is_latch = vec![[false; 2]; network.facts.len()];
    for latch in found.settings() {
        is_latch[latch.base.index()][usize::from(latch.value)] = true;
    }
    let latches: Vec<Setting> = found.settings().collect();
    let mut near: Vec<usize> = Vec::new();
    for given in latches {
        let mark = known.mark();
        known.assume(given.signal());
        let outcome = known.propagate(budget);
        if outcome == Outcome::BudgetSpent {
            return None;
        }
        near.clear();
        if outcome == Outcome::Consistent {
            // Candidates are facts whose `next` is known, or at most two gates away from a known
            // node.
            near.extend(
                known
                    .known_since(mark)
                    .iter()
                    .map(|signal| signal.node_number()),
            );
            let mut from = 0;
            for _ in 0..2 {
                let end = near.len();
                for place in from..end {
                    near.extend(known.users(near[place]));
                }
                from = end;
            }
            near.sort_unstable();
            near.dedup();
        }
        let mut failed = budget.spend(near.len()).is_none();
        for &node in &near {
            if failed {
                break;
            }
            for &base in next_of.row(node) {
                let base = BaseId(base);
                for value in [true, false] {
                    let latch = Setting { base, value };
                    if base == given.base || is_latch[base.index()][usize::from(value)] {
                        continue;
                    }
                    match stays(network, known, latch, budget) {
                        None => failed = true,
                        Some(true) => found.conditional.push(Conditional { latch, given }),
                        Some(false) => {}
                    }
                }
            }
        }
        known.undo_to(mark);
        if failed {
            return None;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{base, budget, each_game, network, own_game, play, texts};
    use panza_sync::Budget;

    #[test]
    fn marks_stay_and_blanks_do_not_come_back() {
        let network = own_game("ticTacToe");
        let found = latches(&network, &mut budget());
        assert!(found.is_complete);
        assert_eq!(found.positive.len(), 18);
        assert_eq!(found.negative.len(), 9);
        let blanks = texts(&network, found.negative.clone());
        assert!(
            blanks.iter().all(|fact| fact.ends_with("blank)")),
            "{blanks:?}"
        );
        let taken = Conditional {
            latch: Setting {
                base: base(&network, "(cell 2 3 x)"),
                value: false,
            },
            given: Setting {
                base: base(&network, "(cell 2 3 blank)"),
                value: false,
            },
        };
        assert!(
            found.conditional.contains(&taken),
            "a marked cell gets no other mark"
        );
    }

    #[test]
    fn a_fact_that_moves_can_reverse_is_no_latch() {
        let lamp = "
            (role r) (init (power on)) (legal r switch) (legal r wait) (legal r cut)
            (<= (next lit) (does r switch) (not (true lit)))
            (<= (next lit) (not (does r switch)) (true lit))
            (<= (next (power on)) (true (power on)) (not (does r cut)))
            (<= (next (power off)) (does r cut)) (<= (next (power off)) (true (power off)))
            (<= terminal (true (power off)) (true lit)) (goal r 50)";
        let network = network(lamp);
        let found = latches(&network, &mut budget());
        assert_eq!(texts(&network, found.positive), ["(power off)"]);
        assert_eq!(texts(&network, found.negative), ["(power on)"]);
    }

    #[test]
    fn a_spent_budget_keeps_the_latches_found() {
        let network = own_game("ticTacToe");
        let all = latches(&network, &mut budget());
        let mut n_found = 0;
        for steps in (0..200).map(|n| n * 50) {
            let some = latches(&network, &mut Budget::of_steps(steps));
            let count = some.positive.len() + some.negative.len() + some.conditional.len();
            assert!(count >= n_found, "more budget finds more");
            n_found = count;
            assert!(
                some.settings()
                    .all(|setting| all.settings().any(|other| other == setting))
            );
            assert!(some.is_complete == (some == all));
        }
        assert!(n_found > 0);
        assert!(!latches(&network, &mut Budget::of_steps(200)).is_complete);
    }

    #[test]
    fn no_random_game_contradicts_a_latch() {
        each_game(|name, network| {
            let found = latches(network, &mut Budget::of_steps(1 << 26));
            for game in play(network, 3, 150) {
                let mut settled: Vec<Setting> = Vec::new();
                for state in &game.states {
                    let broken = settled.iter().find(|setting| !setting.holds_in(state));
                    let broken = broken.map(|setting| &network.facts[setting.base]);
                    assert_eq!(broken, None, "{name}");
                    let holds = |latch: &Setting| latch.holds_in(state);
                    settled = found.settings().filter(holds).collect();
                    let conditional = found.conditional.iter();
                    let conditional = conditional.filter(|found| holds(&found.given));
                    settled.extend(conditional.map(|found| found.latch).filter(holds));
                }
            }
        });
    }
}
