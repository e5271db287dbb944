//! Score ranges: the goals that a role can still reach once certain facts are settled.
//!
//! A latch that holds in a state still holds at the end of the game ([`Latches`]). Its value is
//! assumed, unit propagation finds which goals it makes true or false ([`Implications`]), and so
//! the lowest and highest final goal follow.
//!
//! Invariants: from every state in which the settings of a range hold, every game ends with a goal
//! in the range; an undefined goal counts as 0.

use super::implications::{Implications, Outcome, Scope};
use super::latches::{Latches, Setting};
use panza_gdl::{Id, RoleId};
use panza_propnet::{Network, Node};
use panza_sync::Budget;

/// The range of a role's final goal, from states in which two settings hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScoreRange {
    /// A setting that lasts while `given` holds.
    pub setting: Setting,
    /// A latch; equal to `setting` if that is a latch itself.
    pub given: Setting,
    /// The role.
    pub role: RoleId,
    /// The lowest goal.
    pub lower: u8,
    /// The highest goal.
    pub upper: u8,
}

impl ScoreRange {
    /// Whether the range applies from this state on.
    #[inline]
    pub fn holds_in(&self, state: &[u64]) -> bool {
        self.setting.holds_in(state) && self.given.holds_in(state)
    }
}

/// Finds the score ranges of latches that are narrower than the range of all games. Those found
/// before the budget is spent are right.
pub fn score_ranges(network: &Network, latches: &Latches, budget: &mut Budget) -> Vec<ScoreRange> {
    let mut found = Vec::new();
    let Some(mut known) = Implications::new(network, Scope::States, budget) else {
        return found;
    };
    let may_be_undefined = may_be_undefined(network, &mut known, budget);
    let ranges = |known: &Implications<'_>| -> Vec<(u8, u8)> {
        let roles = network.roles.ids();
        roles
            .map(|role| range(network, known, role, may_be_undefined[role.index()]))
            .collect()
    };
    let widest = ranges(&known);
    let is_read = read_by_goals(network);
    let unconditional = latches.settings().map(|latch| (latch, latch));
    let conditional = latches.conditional.iter();
    let conditional = conditional.map(|conditional| (conditional.latch, conditional.given));
    for (setting, given) in unconditional.chain(conditional) {
        if !is_read[setting.signal().node_number()] {
            continue;
        }
        let mark = known.mark();
        known.assume(setting.signal());
        known.assume(given.signal());
        let outcome = known.propagate(budget);
        if outcome == Outcome::Consistent {
            let narrowed = ranges(&known)
                .into_iter()
                .zip(&widest)
                .zip(network.roles.ids());
            let narrowed = narrowed.filter(|((range, widest), _)| range != *widest);
            found.extend(narrowed.map(|(((lower, upper), _), role)| ScoreRange {
                setting,
                given,
                role,
                lower,
                upper,
            }));
        }
        known.undo_to(mark);
        if outcome == Outcome::BudgetSpent {
            break;
        }
    }
    found.sort_by_key(|range| (range.setting, range.given, range.role));
    found
}

/// The lowest and highest goal of a role, as far as the values of goals are known.
fn range(
    network: &Network,
    known: &Implications<'_>,
    role: RoleId,
    may_be_undefined: bool,
) -> (u8, u8) {
    let goals = network.goals.iter().filter(|goal| goal.0 == role);
    let possible = goals
        .clone()
        .filter(|goal| known.value(goal.2) != Some(false));
    let certain = goals.filter(|goal| known.value(goal.2) == Some(true));
    let lowest = possible.clone().map(|goal| goal.1).min().unwrap_or(0);
    let certain = certain.map(|goal| goal.1).max();
    (
        certain.unwrap_or(if may_be_undefined { 0 } else { lowest }),
        possible.map(|goal| goal.1).max().unwrap_or(0),
    )
}

/// Per node, whether some goal depends on its value in the same state.
fn read_by_goals(network: &Network) -> Vec<bool> {
    let n_nodes = 1 + network.facts.len() + network.moves.len() + network.gates.len();
    let mut is_read = vec![false; n_nodes];
    let mut open: Vec<_> = network.goals.iter().map(|goal| goal.2).collect();
    while let Some(signal) = open.pop() {
        if !std::mem::replace(&mut is_read[signal.node_number()], true)
            && let Node::Gate(gate) = network.node(signal)
        {
            open.extend(network.inputs(gate));
        }
    }
    is_read
}

/// Per role, whether all its goals may be off in one state.
fn may_be_undefined(
    network: &Network,
    known: &mut Implications<'_>,
    budget: &mut Budget,
) -> Vec<bool> {
    let of_role = |role: RoleId| {
        let mark = known.mark();
        for goal in network.goals.iter().filter(|goal| goal.0 == role) {
            known.assume(!goal.2);
        }
        let outcome = known.propagate(budget);
        known.undo_to(mark);
        outcome != Outcome::Contradiction
    };
    network.roles.ids().map(of_role).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latches::latches;
    use crate::testing::{base, budget, each_game, network, play, state_of};
    use panza_gdl::BaseId;
    use panza_sync::Budget;

    fn ranges_of(network: &Network) -> Vec<ScoreRange> {
        let found = latches(network, &mut budget());
        score_ranges(network, &found, &mut budget())
    }

    /// The bounds of a role's goal from this state on.
    fn bounds(ranges: &[ScoreRange], role: RoleId, state: &[u64]) -> (u8, u8) {
        let ranges = ranges.iter().filter(|range| range.role == role);
        let ranges = ranges.filter(|range| range.holds_in(state));
        ranges.fold((0, 100), |(lower, upper), range| {
            (lower.max(range.lower), upper.min(range.upper))
        })
    }

    #[test]
    fn a_broken_seal_bounds_the_goal() {
        let seals = "
            (role a) (role b) (init sealed) (init (step 1)) (succ 1 2) (succ 2 3)
            (legal a open) (legal a wait) (legal b wait)
            (<= (next sealed) (true sealed) (not (does a open)))
            (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n)) (<= terminal (true (step 3)))
            (<= (goal a 100) (true sealed)) (<= (goal a 20) (not (true sealed)))
            (<= (goal b 50) (true (step 3)))";
        let network = network(seals);
        let broken = Setting {
            base: base(&network, "sealed"),
            value: false,
        };
        assert_eq!(
            ranges_of(&network),
            [ScoreRange {
                setting: broken,
                given: broken,
                role: RoleId(0),
                lower: 20,
                upper: 20
            }]
        );
    }

    #[test]
    fn a_fact_that_may_still_change_bounds_nothing() {
        // Nobody takes the prize once the door is shut; before that anybody may.
        let prize = "
            (role a) (init open) (legal a shut) (<= (legal a take) (true open))
            (<= (next open) (true open) (does a take)) (<= (next taken) (does a take))
            (<= (next taken) (true taken)) (init (step 1)) (succ 1 2) (succ 2 3)
            (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n)) (<= terminal (true (step 3)))
            (<= (goal a 100) (true taken)) (<= (goal a 0) (not (true taken)))";
        let network = network(prize);
        let ranges = ranges_of(&network);
        let at = |facts: &[&str]| {
            let bases: Vec<BaseId> = facts.iter().map(|fact| base(&network, fact)).collect();
            bounds(&ranges, RoleId(0), &state_of(&network, &bases))
        };
        assert_eq!(at(&["open"]), (0, 100));
        assert_eq!(at(&[]), (0, 0));
        assert_eq!(at(&["open", "taken"]), (100, 100));
    }

    #[test]
    fn without_latches_there_are_no_ranges() {
        let lamp = "
            (role r) (legal r switch) (legal r wait)
            (<= (next lit) (does r switch) (not (true lit)))
            (<= (next lit) (does r wait) (true lit))
            (<= terminal (true lit)) (<= (goal r 100) (true lit)) (<= (goal r 0) (not (true lit)))";
        assert_eq!(ranges_of(&network(lamp)), []);
    }

    #[test]
    fn random_games_end_within_all_ranges_on_their_way() {
        each_game(|name, network| {
            let mut budget = Budget::of_steps(1 << 27);
            let found = latches(network, &mut budget);
            let ranges = score_ranges(network, &found, &mut budget);
            for game in play(network, 4, 150) {
                let Some(goals) = &game.goals else { continue };
                for state in &game.states {
                    for range in ranges.iter().filter(|range| range.holds_in(state)) {
                        let goal = goals[range.role.index()];
                        let is_within = (range.lower..=range.upper).contains(&goal);
                        assert!(is_within, "{name}: {goal} is not in {range:?}");
                    }
                }
            }
        });
    }
}
