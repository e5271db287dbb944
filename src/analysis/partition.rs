//! Partitioned choices: puzzles in which the order of moves does not matter and one of certain
//! moves must be made.
//!
//! In a Sudoku each square must be filled, in whatever order, so a search may take up any one
//! square and try its digits, best that with the fewest; trying all squares at each step would look
//! at the same positions in every order. (Sancho's partitioned choices.)
//!
//! It is proven from the network, for games of one role:
//! - each fact is only ever set by moves, or only ever cleared by moves, or goes its way by itself
//!   ([`Autonomous`]) and is read by no `legal`;
//! - a move is legal as long as certain facts were neither set nor cleared, and if one move rules
//!   out another, that one rules out this one;
//! - the game ends when time is up, by a move that always ends it, or when no other move is legal.
//!
//! Then every order of the moves of a game is a game with the same end. When the goal needs one of
//! some facts, a move that brings one of them about can come first.
//!
//! Invariants: if the best goal can be reached from a state, it can be reached with one of the
//! moves that [`Partitions::smallest`] tells there. Nothing is said of lesser goals.
//!
//! Never knows: searching.

use super::autonomous::Autonomous;
use super::effort::Effort;
use super::implications::{Implications, Outcome, Scope};
use super::latches::Setting;
use crate::ids::{BaseId, Id, IdVec, MoveId};
use crate::propnet::{GateKind, Network, Node, Signal};

/// The most moves that one fact by which the game ends may come from.
const MAX_LAST: usize = 4;

/// What to try in a state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choice {
    /// All moves: nothing is known to be needed.
    Any,
    /// One of these must be made sooner or later, and may as well be made now.
    OneOf(Vec<MoveId>),
    /// The best goal cannot be reached any more.
    OutOfReach,
}

/// Something that the best goal needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requirement {
    /// One of these has to hold in the end.
    pub settings: Vec<Setting>,
    /// One of these moves has to be made if none of them holds.
    pub movers: Vec<MoveId>,
}

/// A game's partitioned choices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partitions {
    /// The best goal, which all this is about.
    pub goal: u8,
    /// What it needs.
    pub requirements: Vec<Requirement>,
}

impl Partitions {
    /// Finds them. Nothing when they could not be proven, or the effort is spent.
    pub fn find(network: &Network, autonomous: &Autonomous, effort: &mut Effort) -> Option<Self> {
        if network.roles.len() != 1 || !network.blocks.is_empty() {
            return None;
        }
        let mut reader = Reader { network, effort };
        let effects = reader.effects(autonomous)?;
        let last = reader.ends_with_the_moves(autonomous, &effects)?;
        reader.orders_do_not_matter(&effects, &last)?;
        let best = network.goals.iter().max_by_key(|goal| goal.1)?;
        let mut requirements = Vec::new();
        for need in reader.parts(best.2, true)? {
            // One of several things is needed; of other needs nothing is said.
            let Some(alternatives) = reader.parts(need, false) else {
                continue;
            };
            let settings = alternatives.iter().map(|&signal| setting(network, signal));
            let Some(settings) = settings.collect::<Option<Vec<Setting>>>() else {
                continue;
            };
            if settings
                .iter()
                .any(|setting| effects.moves[setting.base].is_none())
            {
                continue;
            }
            let mut movers = Vec::new();
            for setting in &settings {
                if effects.is_set[setting.base] == setting.value {
                    movers.extend(effects.moves[setting.base].iter().flatten());
                }
            }
            movers.sort_unstable();
            movers.dedup();
            if movers.iter().any(|mv| last.contains(mv)) {
                continue;
            }
            requirements.push(Requirement { settings, movers });
        }
        requirements.retain(|requirement| requirement.movers.len() > 1);
        (!requirements.is_empty() && !reader.effort.is_spent()).then_some(Self {
            goal: best.1,
            requirements,
        })
    }

    /// The fewest moves of which one must be made.
    pub fn smallest(&self, state: &[u64], legal: &[MoveId]) -> Choice {
        let is_open = |requirement: &&Requirement| {
            let mut settings = requirement.settings.iter();
            !settings.any(|setting| setting.holds_in(state))
        };
        let open = self.requirements.iter().filter(is_open);
        let moves = open.map(|requirement| {
            let is_mover = |mv: &&MoveId| requirement.movers.binary_search(mv).is_ok();
            legal
                .iter()
                .filter(is_mover)
                .copied()
                .collect::<Vec<MoveId>>()
        });
        match moves.min_by_key(Vec::len) {
            None => Choice::Any,
            Some(moves) if moves.is_empty() => Choice::OutOfReach,
            Some(moves) => Choice::OneOf(moves),
        }
    }
}

/// What moves do to facts.
struct Effects {
    /// Per base the moves that set or clear it; nothing for those that go their way by themselves.
    moves: IdVec<BaseId, Option<Vec<MoveId>>>,
    /// Per base whether these moves set it.
    is_set: IdVec<BaseId, bool>,
}

/// The base that a signal tells, and how.
fn setting(network: &Network, signal: Signal) -> Option<Setting> {
    match network.node(signal) {
        Node::Base(base) => Some(Setting {
            base,
            value: !signal.is_inverted(),
        }),
        _ => None,
    }
}

struct Reader<'a> {
    network: &'a Network,
    effort: &'a mut Effort,
}

impl Reader<'_> {
    /// The signals of which a signal is the conjunction (or the disjunction), as far down as the
    /// gates are of that kind. Nothing when the effort is spent.
    fn parts(&mut self, signal: Signal, is_conjunction: bool) -> Option<Vec<Signal>> {
        let network = self.network;
        let mut parts = Vec::new();
        let mut open = vec![signal];
        while let Some(signal) = open.pop() {
            if !self.effort.spend(1) {
                return None;
            }
            match network.node(signal) {
                Node::Gate(gate)
                    if network.gates[gate].kind == GateKind::And
                        && signal.is_inverted() != is_conjunction =>
                {
                    let inputs = network.inputs(gate).iter();
                    open.extend(inputs.map(|&input| if is_conjunction { input } else { !input }));
                }
                _ => parts.push(signal),
            }
        }
        parts.sort_unstable();
        parts.dedup();
        Some(parts)
    }

    /// What moves do to each fact. Nothing when some fact is both set and cleared, or not for good.
    fn effects(&mut self, autonomous: &Autonomous) -> Option<Effects> {
        let network = self.network;
        let mut goes_by_itself = vec![false; network.facts.len()];
        for facts in [
            &autonomous.step_counter,
            &autonomous.turn,
            &autonomous.others,
        ] {
            facts
                .iter()
                .for_each(|base| goes_by_itself[base.index()] = true);
        }
        let mut effects = Effects {
            moves: network.facts.iter().map(|_| None).collect(),
            is_set: network.facts.iter().map(|_| false).collect(),
        };
        let mut others = Vec::new();
        for (base, &next) in network.next.enumerate() {
            let itself = Signal::of_node(1 + base.index());
            let setters = self.parts(next, false)?;
            let clearers = self.parts(next, true)?;
            let moves_of = |parts: &[Signal], inverted: bool| {
                if !parts.contains(&itself) {
                    return None;
                }
                let others = parts.iter().filter(|&&part| part != itself);
                let as_move = |&part: &Signal| match network.node(part) {
                    Node::Move(mv) if part.is_inverted() == inverted => Some(mv),
                    _ => None,
                };
                others.map(as_move).collect::<Option<Vec<MoveId>>>()
            };
            if let Some(setters) = moves_of(&setters, false) {
                effects.moves[base] = Some(setters);
                effects.is_set[base] = true;
            } else if let Some(clearers) = moves_of(&clearers, true) {
                effects.moves[base] = Some(clearers);
            } else if !goes_by_itself[base.index()] {
                others.push(base);
            }
        }
        self.effects_by_trial(&others, &mut effects)?;
        Some(effects)
    }

    /// What moves do to facts whose form does not tell it: each move is assumed, and each fact with
    /// each value.
    fn effects_by_trial(&mut self, bases: &[BaseId], effects: &mut Effects) -> Option<()> {
        if bases.is_empty() {
            return Some(());
        }
        let network = self.network;
        let mut known = Implications::new(network, Scope::Transitions, self.effort)?;
        let (mut setters, mut clearers) =
            (vec![Vec::new(); bases.len()], vec![Vec::new(); bases.len()]);
        for mv in network.moves.ids() {
            let mark = known.mark();
            known.assume(known.mv(mv));
            match known.propagate(self.effort) {
                Outcome::OutOfEffort => return None,
                Outcome::Contradiction => {
                    // It is never made.
                    known.undo_to(mark);
                    continue;
                }
                Outcome::Consistent => {}
            }
            for (place, &base) in bases.iter().enumerate() {
                let sets = self.result(&mut known, Setting { base, value: false })?;
                let keeps = self.result(&mut known, Setting { base, value: true })?;
                if sets == Some(true) {
                    setters[place].push(mv);
                    if keeps == Some(false) {
                        return None;
                    }
                } else if keeps == Some(false) {
                    clearers[place].push(mv);
                }
            }
            known.undo_to(mark);
        }
        for (place, &base) in bases.iter().enumerate() {
            effects.is_set[base] = !setters[place].is_empty();
            effects.moves[base] = Some(match effects.is_set[base] {
                true => std::mem::take(&mut setters[place]),
                false => clearers[place].clone(),
            });
        }
        // A fact that is set must not be cleared: each move that would needs something that was
        // lost when the fact was set.
        for (place, &base) in bases.iter().enumerate() {
            if !effects.is_set[base] {
                continue;
            }
            for &mv in &clearers[place] {
                let needs = self.parts(network.legal[mv], true)?;
                let needs = needs.iter().filter_map(|&need| setting(network, need));
                let excludes = |need: Setting| {
                    let (Some(losers), Some(setters)) =
                        (&effects.moves[need.base], &effects.moves[base])
                    else {
                        return false;
                    };
                    let is_initial = |base| network.initial.contains(base);
                    need.value
                        && !effects.is_set[need.base]
                        && !(is_initial(&need.base) && is_initial(&base))
                        && setters.iter().all(|setter| losers.contains(setter))
                };
                if !needs.into_iter().any(excludes) {
                    return None;
                }
            }
        }
        Some(())
    }

    /// What becomes of a fact with this value under what is assumed; inside, nothing where it
    /// cannot have that value. Nothing when it is not known.
    fn result(&mut self, known: &mut Implications<'_>, from: Setting) -> Option<Option<bool>> {
        let next = self.network.next[from.base];
        let mark = known.mark();
        known.assume(from.signal());
        let outcome = known.propagate(self.effort);
        let found = known.value(next);
        known.undo_to(mark);
        match outcome {
            Outcome::OutOfEffort => None,
            Outcome::Contradiction => Some(None),
            Outcome::Consistent => found.map(Some),
        }
    }

    /// Whether moves stay legal until a move is made that rules them out, and rule out each other
    /// mutually.
    fn orders_do_not_matter(&mut self, effects: &Effects, last: &[MoveId]) -> Option<()> {
        let network = self.network;
        let mut ruled_out: Vec<(MoveId, MoveId)> = Vec::new();
        for (mv, &legal) in network.legal.enumerate() {
            if last.contains(&mv) {
                continue;
            }
            for part in self.parts(legal, true)? {
                if part == Signal::TRUE {
                    continue;
                }
                let setting = setting(network, part)?;
                let by = effects.moves[setting.base].as_ref()?;
                if effects.is_set[setting.base] == setting.value && !by.is_empty() {
                    // A move that others make legal.
                    return None;
                }
                if !self.effort.spend(by.len() as u64) {
                    return None;
                }
                let by = by.iter().filter(|by| !last.contains(by));
                ruled_out.extend(by.map(|&by| (mv, by)));
            }
        }
        ruled_out.sort_unstable();
        ruled_out.dedup();
        let is_mutual =
            |&(one, other): &(MoveId, MoveId)| ruled_out.binary_search(&(other, one)).is_ok();
        ruled_out.iter().all(is_mutual).then_some(())
    }

    /// Whether the game ends only by time, by a move that always ends it, or when no other move is
    /// legal: then tells the moves that always end it.
    fn ends_with_the_moves(
        &mut self,
        autonomous: &Autonomous,
        effects: &Effects,
    ) -> Option<Vec<MoveId>> {
        let network = self.network;
        let ends = self.parts(network.terminal, false)?;
        let mut last: Vec<MoveId> = Vec::new();
        let by_move = |&end: &Signal| {
            let setting = setting(network, end)?;
            let moves = effects.moves[setting.base].as_ref()?;
            // What always held ends every game, and what a move undoes is no end.
            let is_it = effects.is_set[setting.base] == setting.value && moves.len() <= MAX_LAST;
            is_it.then_some(moves)
        };
        last.extend(ends.iter().filter_map(by_move).flatten());
        let mut known = Implications::new(network, Scope::States, self.effort)?;
        let by_itself = [
            &autonomous.step_counter,
            &autonomous.turn,
            &autonomous.others,
        ];
        for end in ends {
            if by_move(&end).is_some() {
                continue;
            }
            let is_time = |signal: Signal| match setting(network, signal) {
                Some(Setting { base, .. }) => by_itself.iter().any(|facts| facts.contains(&base)),
                None => signal.is_constant(),
            };
            if self.parts(end, true)?.into_iter().all(is_time) {
                continue;
            }
            let mark = known.mark();
            known.assume(end);
            let outcome = known.propagate(self.effort);
            let mut legal = network
                .legal
                .enumerate()
                .filter(|(mv, _)| !last.contains(mv));
            let ends_moves = outcome == Outcome::Contradiction
                || outcome == Outcome::Consistent
                    && legal.all(|(_, &legal)| known.value(legal) == Some(false));
            known.undo_to(mark);
            if !ends_moves {
                return None;
            }
        }
        Some(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::autonomous;
    use crate::analysis::testing::{base, effort, mv, network, own_game, state_of};

    fn partitions(network: &Network) -> Option<Partitions> {
        let autonomous = autonomous::find(network, &mut effort()).unwrap();
        Partitions::find(network, &autonomous, &mut effort())
    }

    #[test]
    fn a_sudoku_is_filled_square_by_square() {
        let network = own_game("sudoku4");
        let found = partitions(&network).expect("a square takes one digit");
        assert_eq!(found.goal, 100);
        // Four squares are given, and those with one possible digit leave no choice.
        assert!(found.requirements.len() > 4);
        let start = state_of(&network, &network.initial);
        let all: Vec<MoveId> = network.moves.ids().collect();
        let Choice::OneOf(moves) = found.smallest(&start, &all) else {
            panic!("there is a square to fill");
        };
        let square = |mv: &MoveId| {
            network.moves[*mv]
                .1
                .rsplit_once(' ')
                .map(|(square, _)| square.to_string())
        };
        assert!((1..4).contains(&moves.len()));
        assert!(
            moves.iter().all(|mv| square(mv) == square(&moves[0])),
            "all of one square"
        );
        assert_eq!(found.smallest(&start, &[]), Choice::OutOfReach);
    }

    /// Three of four posts must be painted, red or blue, neighbours differently.
    const POSTS: &str = "
        (role r) (post 1) (post 2) (post 3) (colour red) (colour blue)
        (next_to 1 2) (next_to 2 1) (next_to 2 3) (next_to 3 2)
        (<= (legal r (paint ?p ?c)) (post ?p) (colour ?c) (not (painted ?p)) (not (ruledOut ?p ?c)))
        (<= (painted ?p) (true (is ?p ?c)))
        (<= (ruledOut ?p ?c) (next_to ?p ?q) (true (is ?q ?c)))
        (<= (next (is ?p ?c)) (does r (paint ?p ?c)))
        (<= (next (is ?p ?c)) (true (is ?p ?c)))
        (<= canPaint (legal r ?m)) (<= terminal (not canPaint))
        (<= done (painted 1) (painted 2) (painted 3))
        (<= (goal r 100) done) (<= (goal r 0) (not done))";

    #[test]
    fn the_post_with_fewest_colours_comes_first() {
        let network = network(POSTS);
        let found = partitions(&network).unwrap();
        assert_eq!(found.requirements.len(), 3);
        let state = state_of(&network, &[base(&network, "(is 1 red)")]);
        let legal = ["(paint 2 blue)", "(paint 3 red)", "(paint 3 blue)"];
        let legal = legal.map(|text| mv(&network, text));
        assert_eq!(
            found.smallest(&state, &legal),
            Choice::OneOf(vec![legal[0]])
        );
        let done = ["(is 1 red)", "(is 2 blue)", "(is 3 red)"].map(|text| base(&network, text));
        assert_eq!(found.smallest(&state_of(&network, &done), &[]), Choice::Any);
    }

    /// The same posts with a mark on those that are bare, rules that say which facts stay by naming
    /// all other moves, and a way out.
    #[test]
    fn facts_that_stay_while_others_move_are_understood() {
        let bare = "
            (role r) (post 1) (post 2) (post 3) (colour red) (colour blue)
            (next_to 1 2) (next_to 2 1) (next_to 2 3) (next_to 3 2)
            (init (is 1 bare)) (init (is 2 bare)) (init (is 3 bare))
            (<= (legal r (paint ?p ?c)) (true (is ?p bare)) (colour ?c) (not (ruledOut ?p ?c)))
            (legal r quit)
            (<= (ruledOut ?p ?c) (next_to ?p ?q) (true (is ?q ?c)))
            (<= (next (is ?p ?c)) (does r (paint ?p ?c)))
            (<= (next (is ?p ?c)) (true (is ?p ?c)) (does r (paint ?q ?d)) (distinct ?p ?q))
            (<= (next (is ?p ?c)) (true (is ?p ?c)) (does r quit))
            (<= (next over) (does r quit)) (<= (next over) (true over))
            (<= open (true (is ?p bare)))
            (<= terminal (not open)) (<= terminal (true over))
            (<= (goal r 100) (not open)) (<= (goal r 0) open)";
        let network = network(bare);
        let found = partitions(&network).unwrap();
        assert_eq!(found.requirements.len(), 3);
        let facts = ["(is 1 red)", "(is 2 bare)", "(is 3 bare)"].map(|text| base(&network, text));
        let state = state_of(&network, &facts);
        let legal = ["(paint 2 blue)", "(paint 3 red)", "(paint 3 blue)", "quit"];
        let legal = legal.map(|text| mv(&network, text));
        assert_eq!(
            found.smallest(&state, &legal),
            Choice::OneOf(vec![legal[0]])
        );
    }

    #[test]
    fn where_order_matters_nothing_is_said() {
        let changes = [
            // One rules out the other, but not the other way round.
            ("(next_to 1 2) (next_to 2 1)", "(next_to 1 2)"),
            // Paint can be washed off.
            (
                "(true (is ?p ?c)))\n        (<= canPaint",
                "(true (is ?p ?c)) (not (does r (paint 1 red))))\n        (<= canPaint",
            ),
            // A post can be painted after its neighbour alone.
            ("(not (painted ?p))", "(not (painted ?p)) (true (is 1 red))"),
            // The game ends early.
            (
                "(<= terminal (not canPaint))",
                "(<= terminal (not canPaint)) (<= terminal (true (is 1 red)) (true (is 2 blue)))",
            ),
            // There is somebody else.
            ("(role r)", "(role r) (role s) (legal s wait) (goal s 50)"),
        ];
        for (from, to) in changes {
            assert!(POSTS.contains(from), "{from}");
            let changed = POSTS.replace(from, to);
            assert_eq!(partitions(&network(&changed)), None, "{to}");
        }
    }
}
