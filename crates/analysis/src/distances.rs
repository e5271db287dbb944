//! Dependency distances: how many transitions before a goal or the end a fact or a move matters.
//!
//! The network is walked backwards from the role's greatest goal, or from the end. What a target
//! reads has distance 0. The `next` of a fact costs one transition: what it reads, facts of the
//! state before and moves made there, is one farther away than the fact. A move is made in the
//! state in which it is legal, so `legal` costs nothing. The walk keeps apart what has to hold and
//! what must not: an AND is on when its inputs are, and off when one of them is off. (The idea is
//! Sancho's, which measures distances between moves.)
//!
//! A target that any one of a few conditions makes true has distances for each of them too: in
//! Breakthrough a piece on the last row, or the loss of all pieces by the other player. The last
//! makes all pieces near, and the first alone says how far each row is.
//!
//! Invariants: the work is linear in the network for each target and condition. A fact or move that
//! matters for the target at all has a distance, whether or not a game can be played so. Where a
//! conjunction needs many facts, each of them counts as one that would do: the distance is the
//! least number of transitions, not the effort.
//!
//! Only people read them. On boards nearly all facts have one of two distances, which says less
//! than the weight that the evaluation learns for each fact (`docs/experiments.md`).

use panza_gdl::{BaseId, IdVec, MoveId, RoleId};
use panza_propnet::{GateKind, Network, Node, Signal};
use panza_sync::Budget;

/// What facts and moves can matter for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// The role has this goal, its greatest.
    Goal(RoleId, u8),
    /// The game is over.
    End,
}

/// The distance of a fact or move that has to hold (`on`) and of one that must not (`off`). `None`
/// where that never matters.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Distance {
    /// Of its being true or made.
    pub on: Option<u16>,
    /// Of its being false or not made.
    pub off: Option<u16>,
}

impl Distance {
    fn set(&mut self, is_inverted: bool, distance: u16) {
        *(if is_inverted {
            &mut self.off
        } else {
            &mut self.on
        }) = Some(distance);
    }
}

/// Conditions of a target that are looked at alone, at most.
const MAX_CONDITIONS: usize = 8;

/// The distances to one target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Distances {
    /// The target.
    pub target: Target,
    /// Of each fact.
    pub facts: IdVec<BaseId, Distance>,
    /// Of each move.
    pub moves: IdVec<MoveId, Distance>,
    /// The distances to each of the conditions any of which is enough; empty where there is only
    /// one, or more than a few. Facts that are enough by themselves count as one condition.
    pub conditions: Vec<Distances>,
}

/// The distances to the greatest goal of each role that has one, then to the end. `None` when the
/// budget is spent.
pub fn distances(network: &Network, budget: &mut Budget) -> Option<Vec<Distances>> {
    let mut targets: Vec<(Target, Signal)> = Vec::new();
    for role in network.roles.ids() {
        if let Some((goal, signal)) = network.greatest_goal(role) {
            targets.push((Target::Goal(role, goal), signal));
        }
    }
    targets.push((Target::End, network.terminal));
    let found = targets.into_iter().map(|(target, signal)| {
        let mut found = to_target(network, target, vec![signal], budget)?;
        let conditions = conditions(network, signal, budget)?;
        if (2..=MAX_CONDITIONS).contains(&conditions.len()) {
            let conditions = conditions.into_iter();
            let alone = conditions.map(|signals| to_target(network, target, signals, budget));
            found.conditions = alone.collect::<Option<_>>()?;
        }
        Some(found)
    });
    found.collect()
}

/// Signals that a walk has come to.
struct SeenSignals(Vec<[bool; 2]>);

impl SeenSignals {
    fn new(network: &Network) -> Self {
        Self(vec![[false; 2]; network.n_nodes()])
    }

    /// Adds a signal; false where it was there.
    fn insert(&mut self, signal: Signal) -> bool {
        let seen = &mut self.0[signal.node_number()][usize::from(signal.is_inverted())];
        !std::mem::replace(seen, true)
    }
}

/// The conditions of a signal, any of which makes it true: all facts that do so alone, and each
/// conjunction.
fn conditions(network: &Network, signal: Signal, budget: &mut Budget) -> Option<Vec<Vec<Signal>>> {
    let mut seen = SeenSignals::new(network);
    let (mut facts, mut others) = (Vec::new(), Vec::new());
    let mut open = vec![signal];
    while let Some(signal) = open.pop() {
        budget.spend(1)?;
        if !seen.insert(signal) {
            continue;
        }
        let is_inverted = signal.is_inverted();
        match network.node(signal) {
            Node::Gate(gate) if (network.gates[gate].kind == GateKind::And) == is_inverted => {
                let inputs = network.inputs(gate).iter();
                open.extend(inputs.map(|input| input.inverted_if(is_inverted)));
            }
            Node::Base(_) => facts.push(signal),
            _ => others.push(vec![signal]),
        }
    }
    if !facts.is_empty() {
        others.insert(0, facts);
    }
    Some(others)
}

/// Walks backwards from signals, one transition after another.
fn to_target(
    network: &Network,
    target: Target,
    mut open: Vec<Signal>,
    budget: &mut Budget,
) -> Option<Distances> {
    let mut found = Distances {
        target,
        facts: network.facts.iter().map(|_| Distance::default()).collect(),
        moves: network.moves.iter().map(|_| Distance::default()).collect(),
        conditions: Vec::new(),
    };
    let mut seen = SeenSignals::new(network);
    let mut before = Vec::new();
    let mut distance = 0;
    while !open.is_empty() {
        while let Some(signal) = open.pop() {
            budget.spend(1)?;
            if !seen.insert(signal) {
                continue;
            }
            let is_inverted = signal.is_inverted();
            match network.node(signal) {
                Node::False => {}
                Node::Base(base) => {
                    found.facts[base].set(is_inverted, distance);
                    before.push(network.next[base].inverted_if(is_inverted));
                }
                Node::Move(mv) => {
                    found.moves[mv].set(is_inverted, distance);
                    open.push(network.legal[mv].inverted_if(is_inverted));
                }
                Node::Gate(gate) => {
                    let inputs = network.inputs(gate).iter();
                    open.extend(inputs.map(|input| input.inverted_if(is_inverted)));
                }
            }
        }
        std::mem::swap(&mut open, &mut before);
        distance = distance.saturating_add(1);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{base, budget, each_game, mv, network, own_game};
    use panza_sync::Budget;

    fn on(distance: u16) -> Option<u16> {
        Some(distance)
    }

    #[test]
    fn rows_nearer_to_the_last_one_are_nearer_to_the_goal() {
        let race = panza_gdl_games::rulesheet("breakthrough").expect("the game is there");
        // Without the other way to win, by capturing the last piece.
        let race = race.replace(
            "(not (hasPiece ?other))",
            "(true (cell 1 1 ?other)) (not (true (cell 1 1 ?other)))",
        );
        let network = network(&race);
        let found = distances(&network, &mut budget()).unwrap();
        let [white, black, end] = &found[..] else {
            panic!("two roles and the end: {}", found.len())
        };
        assert_eq!(
            white.target,
            Target::Goal(network.roles.ids().next().unwrap(), 100)
        );
        assert_eq!(end.target, Target::End);
        for row in 1..=8 {
            let fact = |player: &str| base(&network, &format!("(cell 3 {row} {player})"));
            assert_eq!(white.facts[fact("white")].on, on(8 - row), "row {row}");
            assert_eq!(black.facts[fact("black")].on, on(row - 1), "row {row}");
        }
        for last in ["(cell 3 8 white)", "(cell 3 1 black)"] {
            assert_eq!(end.facts[base(&network, last)].on, on(0));
        }
        let last = mv(&network, "(move 3 7 4 8)");
        assert_eq!(white.moves[last].on, on(1));
        assert_eq!(white.moves[mv(&network, "(move 3 2 4 3)")].on, on(6));
    }

    #[test]
    fn the_last_piece_makes_all_pieces_near() {
        let network = own_game("breakthrough");
        let found = distances(&network, &mut budget()).unwrap();
        let white = &found[0];
        let black = base(&network, "(cell 3 4 black)");
        assert_eq!(white.facts[black].off, on(0));
        assert_eq!(white.facts[base(&network, "(cell 3 8 white)")].on, on(0));
        assert_eq!(white.facts[base(&network, "(cell 3 3 white)")].on, on(1));
        assert_eq!(
            white.facts[black].on,
            on(1),
            "a piece of its own is in its way"
        );
    }

    #[test]
    fn each_way_to_win_has_distances_of_its_own() {
        let network = own_game("breakthrough");
        let found = distances(&network, &mut budget()).unwrap();
        let [last_row, last_piece] = &found[0].conditions[..] else {
            panic!("two ways to win: {}", found[0].conditions.len())
        };
        for row in 1..=8 {
            let fact = |player: &str| base(&network, &format!("(cell 3 {row} {player})"));
            assert_eq!(last_row.facts[fact("white")].on, on(8 - row), "row {row}");
            assert_eq!(last_piece.facts[fact("black")].off, on(0), "row {row}");
        }
        assert_eq!(last_row.target, found[0].target);
    }

    #[test]
    fn what_never_matters_has_no_distance() {
        let lamp = "
            (role r) (init (hour 1)) (legal r press) (legal r wait) (legal r sing)
            (<= (next charged) (does r press)) (<= (next charged) (true charged))
            (<= (next lit) (true charged) (does r press)) (<= (next sung) (does r sing))
            (<= (next (hour 2)) (true (hour 1))) (<= terminal (true (hour 2)))
            (<= (goal r 100) (true lit)) (<= (goal r 0) (not (true lit)))";
        let network = network(lamp);
        let found = distances(&network, &mut budget()).unwrap();
        let goal = &found[0];
        let of = |text: &str| goal.facts[base(&network, text)];
        assert_eq!(of("lit").on, on(0));
        assert_eq!(of("charged").on, on(1));
        assert_eq!(of("charged").off, None);
        assert_eq!(of("sung"), Distance::default());
        assert_eq!(of("(hour 1)"), Distance::default());
        assert_eq!(goal.moves[mv(&network, "press")].on, on(1));
        assert_eq!(goal.moves[mv(&network, "sing")].on, None);
        let end = &found[1];
        assert_eq!(end.facts[base(&network, "(hour 1)")].on, on(1));
        assert_eq!(end.moves[mv(&network, "press")], Distance::default());
    }

    #[test]
    fn the_work_is_linear() {
        each_game(|name, network| {
            let n_targets = (network.roles.len() + 1) * (MAX_CONDITIONS + 2);
            // Each input is read once plain and once inverted, and each fact and move once more.
            let most = 2 * (network.n_edges() + network.n_nodes()) + 1;
            let mut budget = Budget::of_steps((n_targets * most) as u64);
            assert!(distances(network, &mut budget).is_some(), "{name}");
            let mut budget = Budget::of_steps(0);
            assert!(distances(network, &mut budget).is_none(), "{name}");
        });
    }
}
