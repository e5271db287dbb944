//! Score ranges: which goals can still come about, told from a state.
//!
//! What is settled in a state ([`Latches`]) is so at the end of the game too, and a goal that it
//! makes false will not come about: a line that holds a mark of each side is nobody's any more. The
//! gates that goals read, as far as settled facts can ever say something of them, are laid out
//! once; for a state the settled facts are put in and what follows is followed.
//!
//! Invariants: the goals at the end of every game that goes on from the state, terminal or with a
//! role that has no legal move, lie within the range; an undefined goal counts as 0. A state with
//! nothing settled has the widest range, which is that of all values that the rules name.
//!
//! Never knows: trees.

use super::implications::{Implications, Outcome, Scope, run, runs};
use super::latches::{Latches, Setting};
use super::step_budget::StepBudget;
use crate::ids::{Id, RoleId};
use crate::propnet::{GateKind, Network, Node, Signal};

/// The least and the greatest goal that a role can end with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The least.
    pub lower: u8,
    /// The greatest.
    pub upper: u8,
}

/// What one settled fact alone does to a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effect {
    /// What is settled.
    pub setting: Setting,
    /// Whose goal it bounds.
    pub role: RoleId,
    /// The range from then on.
    pub range: Range,
}

/// A signal of the laid-out gates: twice the node's place, and whether it is inverted.
type Wire = u32;

/// A setting that counts when another one holds as well (or itself again).
#[derive(Clone, Copy, Debug)]
struct Watch {
    setting: Setting,
    given: Setting,
    wire: Wire,
}

/// What can be said of a goal.
#[derive(Clone, Copy, Debug)]
enum Goal {
    /// It is so in every state.
    Constant(bool),
    /// Settled facts may decide it.
    Wire(Wire),
    /// Nothing is known of it before the end.
    Open,
}

/// Tells score ranges. Shared by all who ask; each has a [`Scratch`] of its own.
#[derive(Clone, Debug)]
pub struct ScoreRanges {
    watches: Vec<Watch>,
    n_nodes: usize,
    /// Per gate what it drives, read as an AND, and how many of its inputs have to come on for
    /// that.
    outputs: Vec<Wire>,
    n_inputs: Vec<u32>,
    /// Per node the gates that read it: twice the gate, and whether inverted.
    user_ends: Vec<u32>,
    users: Vec<u32>,
    /// Per role its goals' values.
    goals: Vec<Vec<(u8, Goal)>>,
    /// Per role, whether it may end with no goal at all.
    may_be_undefined: Vec<bool>,
}

/// Room for one who asks.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    values: Vec<Option<bool>>,
    n_not_on: Vec<u32>,
    known: Vec<Wire>,
}

/// What settled facts can make of a node.
const CAN_BE_ON: u8 = 1;
const CAN_BE_OFF: u8 = 2;

impl ScoreRanges {
    /// Lays out what settled facts can say of goals. Nothing when they say nothing or the budget is
    /// spent.
    pub fn new(network: &Network, latches: &Latches, budget: &mut StepBudget) -> Option<Self> {
        let known = Implications::new(network, Scope::States, budget)?;
        let reach = reach(network, &known, latches, budget)?;
        let is_of_use =
            |signal: Signal| known.value(signal).is_none() && reach[signal.node_number()] != 0;
        if !network.goals.iter().any(|goal| is_of_use(goal.2)) {
            return None;
        }
        // The nodes that goals read and that settled facts may decide.
        let mut place_of: Vec<Option<u32>> = vec![None; reach.len()];
        let mut nodes: Vec<Signal> = Vec::new();
        let mut open: Vec<Signal> = network.goals.iter().map(|goal| goal.2).collect();
        while let Some(signal) = open.pop() {
            let node = signal.node_number();
            if !is_of_use(signal) || place_of[node].is_some() {
                continue;
            }
            place_of[node] = Some(nodes.len() as u32);
            nodes.push(Signal::of_node(node));
            if let Node::Gate(gate) = network.node(signal) {
                open.extend(network.inputs(gate).iter().copied());
                budget.spend(network.inputs(gate).len())?;
            }
        }
        let wire = |signal: Signal| {
            let place = place_of[signal.node_number()]?;
            Some(place * 2 + u32::from(signal.is_inverted()))
        };
        let (mut outputs, mut n_inputs, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
        for (place, &node) in nodes.iter().enumerate() {
            let Node::Gate(gate) = network.node(node) else {
                continue;
            };
            let turn = u32::from(network.gates[gate].kind == GateKind::Or);
            let inputs = network.inputs(gate).iter().copied();
            let waiting = inputs.filter(|&input| known.value(input).is_none());
            n_inputs.push(waiting.clone().count() as u32);
            pairs.extend(waiting.filter_map(wire).map(|input| {
                let item = outputs.len() as u32 * 2 + ((input & 1) ^ turn);
                (input >> 1, item)
            }));
            outputs.push(place as u32 * 2 + turn);
        }
        let (user_ends, users) = runs(nodes.len(), &pairs);
        let absolute = latches.settings().map(|setting| (setting, setting));
        let conditional = latches.conditional.iter();
        let conditional = conditional.map(|conditional| (conditional.latch, conditional.given));
        let watches = absolute.chain(conditional).filter_map(|(setting, given)| {
            let wire = wire(setting.signal())?;
            Some(Watch {
                setting,
                given,
                wire,
            })
        });
        let watches = watches.collect();
        let mut goals = vec![Vec::new(); network.roles.len()];
        for &(role, value, signal) in &network.goals {
            let goal = match (known.value(signal), wire(signal)) {
                (Some(value), _) => Goal::Constant(value),
                (None, Some(wire)) => Goal::Wire(wire),
                (None, None) => Goal::Open,
            };
            goals[role.index()].push((value, goal));
        }
        Some(Self {
            watches,
            n_nodes: nodes.len(),
            outputs,
            n_inputs,
            user_ends,
            users,
            goals,
            may_be_undefined: may_be_undefined(network, known, budget),
        })
    }

    /// Writes each role's range in this state over `out`, in role order.
    pub fn of(&self, state: &[u64], scratch: &mut Scratch, out: &mut Vec<Range>) {
        let holds = |watch: &&Watch| watch.setting.holds_in(state) && watch.given.holds_in(state);
        let settled = self.watches.iter().filter(holds).map(|watch| watch.wire);
        self.follow(settled, scratch);
        self.ranges(scratch, out);
    }

    /// The ranges from which all games start: those of a state with nothing settled.
    pub fn widest(&self) -> Vec<Range> {
        let (mut scratch, mut widest) = (Scratch::default(), Vec::new());
        self.follow(std::iter::empty(), &mut scratch);
        self.ranges(&scratch, &mut widest);
        widest
    }

    /// What single settled facts do to ranges, for those that do something.
    pub fn effects(&self) -> Vec<Effect> {
        let (mut scratch, mut ranges) = (Scratch::default(), Vec::new());
        let widest = self.widest();
        let mut effects = Vec::new();
        for watch in &self.watches {
            self.follow(std::iter::once(watch.wire), &mut scratch);
            self.ranges(&scratch, &mut ranges);
            let changed = ranges.iter().zip(&widest).enumerate();
            let changed = changed.filter(|(_, (range, widest))| range != widest);
            effects.extend(changed.map(|(role, (&range, _))| Effect {
                setting: watch.setting,
                role: RoleId::from_index(role),
                range,
            }));
        }
        effects.sort_by_key(|effect| (effect.setting, effect.role));
        effects.dedup();
        effects
    }

    /// Puts some wires on and finds which others are on or off then.
    fn follow(&self, settled: impl Iterator<Item = Wire>, scratch: &mut Scratch) {
        let Scratch {
            values,
            n_not_on,
            known,
        } = scratch;
        values.clear();
        values.resize(self.n_nodes, None);
        n_not_on.clone_from(&self.n_inputs);
        known.clear();
        known.extend(settled);
        while let Some(wire) = known.pop() {
            let (node, is_on) = ((wire >> 1) as usize, wire & 1 == 0);
            if values[node].replace(is_on).is_some() {
                continue;
            }
            for &item in &self.users[run(&self.user_ends, node)] {
                let gate = (item >> 1) as usize;
                if (item & 1 == 0) != is_on {
                    known.push(self.outputs[gate] ^ 1);
                } else {
                    n_not_on[gate] -= 1;
                    if n_not_on[gate] == 0 {
                        known.push(self.outputs[gate]);
                    }
                }
            }
        }
    }

    fn ranges(&self, scratch: &Scratch, out: &mut Vec<Range>) {
        out.clear();
        for (goals, &may_be_undefined) in self.goals.iter().zip(&self.may_be_undefined) {
            let known = |goal: Goal| match goal {
                Goal::Constant(value) => Some(value),
                Goal::Wire(wire) => {
                    scratch.values[(wire >> 1) as usize].map(|is_on| is_on == (wire & 1 == 0))
                }
                Goal::Open => None,
            };
            let possible = goals.iter().filter(|(_, goal)| known(*goal) != Some(false));
            let certain = goals.iter().filter(|(_, goal)| known(*goal) == Some(true));
            let least = possible.clone().map(|goal| goal.0).min().unwrap_or(0);
            let certain = certain.map(|goal| goal.0).max();
            out.push(Range {
                lower: certain.unwrap_or(if may_be_undefined { 0 } else { least }),
                upper: possible.map(|goal| goal.0).max().unwrap_or(0),
            });
        }
    }
}

/// Per node, what settled facts can make of it. Nothing when the budget is spent.
fn reach(
    network: &Network,
    known: &Implications<'_>,
    latches: &Latches,
    budget: &mut StepBudget,
) -> Option<Vec<u8>> {
    let first_gate = 1 + network.facts.len() + network.moves.len();
    let mut reach = vec![0u8; first_gate + network.gates.len()];
    let conditional = latches
        .conditional
        .iter()
        .map(|conditional| conditional.latch);
    for setting in latches.settings().chain(conditional) {
        let can_be = if setting.value { CAN_BE_ON } else { CAN_BE_OFF };
        reach[setting.signal().node_number()] |= can_be;
    }
    for (node, reach) in reach.iter_mut().enumerate() {
        match known.value(Signal::of_node(node)) {
            Some(true) => *reach = CAN_BE_ON,
            Some(false) => *reach = CAN_BE_OFF,
            None => {}
        }
    }
    // Once is enough but for blocks, whose gates do not stand in order.
    loop {
        let mut has_changed = false;
        budget.spend(network.n_edges())?;
        for (gate, content) in network.gates.enumerate() {
            let is_or = content.kind == GateKind::Or;
            let can_be = |signal: &Signal, on: bool| {
                let wanted = if on != signal.is_inverted() {
                    CAN_BE_ON
                } else {
                    CAN_BE_OFF
                };
                reach[signal.node_number()] & wanted != 0
            };
            let inputs = network.inputs(gate);
            let by_all = inputs.iter().all(|input| can_be(input, !is_or));
            let by_one = inputs.iter().any(|input| can_be(input, is_or));
            let (on, off) = if is_or {
                (by_one, by_all)
            } else {
                (by_all, by_one)
            };
            let node = first_gate + gate.index();
            let found = if on { CAN_BE_ON } else { 0 } | if off { CAN_BE_OFF } else { 0 };
            let is_open = known.value(Signal::of_node(node)).is_none();
            if is_open && reach[node] | found != reach[node] {
                reach[node] |= found;
                has_changed = true;
            }
        }
        if !has_changed || network.blocks.is_empty() {
            return Some(reach);
        }
    }
}

/// Per role, whether it could have no goal: whether all its goals can be off, as far as is seen.
fn may_be_undefined(
    network: &Network,
    mut known: Implications<'_>,
    budget: &mut StepBudget,
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
    use crate::analysis::latches::latches;
    use crate::analysis::testing::{base, budget, each_game, network, own_game, play, state_of};

    fn score_ranges(network: &Network) -> Option<ScoreRanges> {
        let found = latches(network, &mut budget());
        ScoreRanges::new(network, &found, &mut budget())
    }

    fn bounds(ranges: &ScoreRanges, state: &[u64]) -> Vec<(u8, u8)> {
        let mut found = Vec::new();
        ranges.of(state, &mut Scratch::default(), &mut found);
        found
            .iter()
            .map(|range| (range.lower, range.upper))
            .collect()
    }

    #[test]
    fn a_broken_seal_costs_the_prize() {
        let seals = "
            (role a) (role b) (init sealed) (init (step 1)) (succ 1 2) (succ 2 3)
            (legal a open) (legal a wait) (legal b wait)
            (<= (next sealed) (true sealed) (not (does a open)))
            (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n)) (<= terminal (true (step 3)))
            (<= (goal a 100) (true sealed)) (<= (goal a 20) (not (true sealed)))
            (<= (goal b 50) (true (step 3)))";
        let network = network(seals);
        let ranges = score_ranges(&network).expect("the seal decides");
        let start = state_of(&network, &network.initial);
        assert_eq!(bounds(&ranges, &start), [(20, 100), (0, 50)]);
        let broken = state_of(&network, &[base(&network, "(step 2)")]);
        assert_eq!(bounds(&ranges, &broken), [(20, 20), (0, 50)]);
        assert_eq!(
            ranges.effects(),
            [Effect {
                setting: Setting {
                    base: base(&network, "sealed"),
                    value: false
                },
                role: RoleId(0),
                range: Range {
                    lower: 20,
                    upper: 20
                },
            }]
        );
    }

    #[test]
    fn lines_that_hold_both_marks_are_nobodys() {
        let network = own_game("ticTacToe");
        let ranges = score_ranges(&network).expect("marks stay");
        let start = state_of(&network, &network.initial);
        assert_eq!(bounds(&ranges, &start), [(0, 100), (0, 100)]);
        // x o x / x o o / o x -: nobody can make a line any more.
        let rows = ["xox", "xoo", "oxb"];
        let mut bases = vec![base(&network, "(control xplayer)")];
        for (row, marks) in rows.iter().enumerate() {
            for (column, mark) in marks.chars().enumerate() {
                let mark = if mark == 'b' {
                    "blank".to_string()
                } else {
                    mark.to_string()
                };
                let text = format!("(cell {} {} {mark})", row + 1, column + 1);
                bases.push(base(&network, &text));
            }
        }
        assert_eq!(
            bounds(&ranges, &state_of(&network, &bases)),
            [(50, 50), (50, 50)]
        );
    }

    #[test]
    fn where_nothing_is_settled_nothing_is_said() {
        let lamp = "
            (role r) (legal r switch) (legal r wait)
            (<= (next lit) (does r switch) (not (true lit)))
            (<= (next lit) (does r wait) (true lit))
            (<= terminal (true lit)) (<= (goal r 100) (true lit)) (<= (goal r 0) (not (true lit)))";
        assert!(score_ranges(&network(lamp)).is_none());
    }

    #[test]
    fn games_end_within_all_ranges_on_their_way() {
        let mut scratch = Scratch::default();
        each_game(|name, network| {
            let mut budget = StepBudget::new(1 << 27, None);
            let found = latches(network, &mut budget);
            let Some(ranges) = ScoreRanges::new(network, &found, &mut budget) else {
                return;
            };
            let mut bounds = Vec::new();
            for game in play(network, 4, 150) {
                let Some(goals) = &game.goals else { continue };
                for state in &game.states {
                    ranges.of(state, &mut scratch, &mut bounds);
                    for (range, goal) in bounds.iter().zip(goals) {
                        let is_within = (range.lower..=range.upper).contains(goal);
                        assert!(is_within, "{name}: {goal} is not in {range:?}");
                    }
                }
            }
        });
    }
}
