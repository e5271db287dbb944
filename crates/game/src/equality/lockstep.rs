//! Two games side by side: the same joint moves are made in both, and every state is compared.
//!
//! Invariants: both games are in states that the same joint moves lead to; memory for states that
//! were seen is bounded.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Machine, Reasoner};
use panza_sync::{Budget, Random, after, left_until};

use super::difference::{Aspect, CompareError, Comparison, Difference, Naming};
use crate::evidence::Evidence;

/// States of the breadth-first part, and the words they may have together.
const MAX_STATES: usize = 400_000;
const MAX_WORDS: usize = 24 << 20;
/// Joint moves of a state that the breadth-first part makes.
const MAX_JOINT_MOVES: usize = 4000;
/// Joint moves of a random game, at most.
const STEPS: usize = 5000;
/// Random games have the same seed each time.
const SEED: u64 = 5;
/// Names listed of a difference, at most.
const LISTED: usize = 20;

/// A move in both games.
type Pair = [MoveId; 2];

/// A state in both games.
type States = [Vec<u64>; 2];

/// Two games side by side.
pub struct Lockstep {
    machines: [Arc<dyn Machine>; 2],
    reasoners: [Box<dyn Reasoner>; 2],
    /// For each role of the first game its number in the second.
    roles: Vec<usize>,
    naming: Naming,
    facts: Facts,
    /// By move of the first game: the move of the second.
    known: Vec<Option<MoveId>>,
    compared: u64,
    /// By role of the first game: the legal moves of the current state.
    legal: Vec<Vec<Pair>>,
}

/// How the facts of two states are compared.
enum Facts {
    /// Not at all.
    Ignored,
    /// As texts.
    Texts,
    /// States are equal words.
    Words,
    /// By bit of the first game: the bit of the second, if it has one.
    Bits(Vec<Option<usize>>),
}

impl Facts {
    fn of(machines: &[Arc<dyn Machine>; 2], has_same: bool) -> Self {
        let facts = [0, 1].map(|side: usize| machines[side].info().facts());
        match facts {
            _ if !has_same => Self::Ignored,
            [Some(first), Some(second)] if first == second => Self::Words,
            [Some(first), Some(second)] => {
                let bits = second.iter().enumerate().map(|(bit, fact)| (fact, bit));
                let bits: HashMap<_, _> = bits.collect();
                Self::Bits(first.iter().map(|fact| bits.get(fact).copied()).collect())
            }
            _ => Self::Texts,
        }
    }
}

/// A state, the one before it, and the joint move between them.
struct Node {
    states: States,
    before: usize,
    joint_move: Vec<MoveId>,
}

/// The states of the breadth-first part, in the order in which they are compared.
struct Frontier {
    nodes: Vec<Node>,
    known: HashSet<States>,
    words: usize,
    /// Whether no state was left out.
    is_whole: bool,
}

impl Frontier {
    fn new(initial: States) -> Self {
        Self {
            words: initial.iter().map(Vec::len).sum(),
            known: HashSet::from([initial.clone()]),
            nodes: vec![Node {
                states: initial,
                before: 0,
                joint_move: Vec::new(),
            }],
            is_whole: true,
        }
    }

    fn has_room(&self) -> bool {
        self.nodes.len() < MAX_STATES && self.words < MAX_WORDS
    }

    /// The joint moves from the initial state to a node.
    fn path_to(&self, node: usize) -> Vec<Vec<MoveId>> {
        let mut path = Vec::new();
        let mut at = node;
        while let Some(node) = self.nodes.get(at).filter(|_| at > 0) {
            path.push(node.joint_move.clone());
            at = node.before;
        }
        path.reverse();
        path
    }
}

/// What a state is.
enum Seen {
    /// The game ends in both.
    End,
    /// It goes on in both.
    GoesOn,
    /// They differ.
    Differs(Box<Difference>),
}

impl Lockstep {
    /// Two games whose roles correspond in this way. `has_same_facts`: facts are compared.
    pub fn new(
        machines: [Arc<dyn Machine>; 2],
        roles: Vec<usize>,
        naming: Naming,
        has_same_facts: bool,
    ) -> Self {
        let reasoners = [0, 1].map(|side: usize| Arc::clone(&machines[side]).reasoner());
        Self {
            reasoners,
            facts: Facts::of(&machines, has_same_facts),
            legal: vec![Vec::new(); roles.len()],
            machines,
            roles,
            naming,
            known: Vec::new(),
            compared: 0,
        }
    }

    /// Compares all states, or as many as the budget allows. `stop` is set when the prover no
    /// longer answers.
    pub fn compare(
        &mut self,
        budget: &Budget,
        stop: &AtomicBool,
    ) -> Result<Comparison, CompareError> {
        let mut result = Comparison::default();
        let initial = [0, 1].map(|side: usize| self.machines[side].initial_state());
        self.check_names(&initial)?;
        // Slow machines see more in random games.
        let is_slow = self.machines.iter().any(|it| it.kind() == "prover");
        let share = if is_slow { 6 } else { 3 };
        let until = budget.until.map(|until| after(left_until(until) / share));
        let (difference, is_exhaustive) =
            self.breadth_first(initial.clone(), &budget.until(until), stop);
        result.is_exhaustive = is_exhaustive;
        result.difference = difference;
        let mut random = Random::new(SEED);
        while result.difference.is_none()
            && !result.is_exhaustive
            && !budget.is_over()
            && self.compared < budget.max_steps
        {
            result.games += 1;
            result.difference = self.random_game(&initial, &mut random, budget, stop);
        }
        result.states = self.compared;
        Ok(result)
    }

    /// Fails if a role has a choice at the start and no move has the same name in both games. Other
    /// numbers of moves are a difference under any names.
    fn check_names(&mut self, initial: &States) -> Result<(), CompareError> {
        self.set(initial);
        let legal: Vec<_> = (0..self.roles.len())
            .map(|role| self.legal_of(role))
            .collect();
        let has_same_numbers = legal.iter().all(|(own, other)| own.len() == other.len());
        if self.naming == Naming::Same || !has_same_numbers {
            return Ok(());
        }
        let is_apart =
            |(own, other): &(BTreeSet<String>, _)| own.len() > 1 && own.is_disjoint(other);
        match legal.iter().position(is_apart) {
            Some(role) => Err(CompareError::NoCommonNames {
                role: self.role_name(role).to_string(),
            }),
            None => Ok(()),
        }
    }

    fn role_name(&self, role: usize) -> &str {
        self.machines[0].info().role_name(RoleId::from_index(role))
    }

    /// The texts of a role's legal moves in both games.
    fn legal_of(&mut self, role: usize) -> (BTreeSet<String>, BTreeSet<String>) {
        let roles = [role, self.roles[role]].map(RoleId::from_index);
        let [own, other] = [0, 1].map(|side: usize| {
            let info = self.machines[side].info();
            let legal = self.reasoners[side].legal_moves(roles[side]).to_vec();
            legal.into_iter().map(|mv| info.move_text(mv)).collect()
        });
        (own, other)
    }

    fn set(&mut self, states: &States) {
        for (reasoner, state) in self.reasoners.iter_mut().zip(states) {
            reasoner.set_state(state);
        }
    }

    /// Compares the games in these states, and lists the legal moves where they go on.
    fn look(&mut self, states: &States) -> Seen {
        self.compared += 1;
        self.set(states);
        if let Some(difference) = self.compare_facts(states) {
            return Seen::Differs(Box::new(difference));
        }
        let [own, other] = [0, 1].map(|side: usize| self.reasoners[side].is_terminal());
        if own != other {
            let shown = |ends: bool| {
                if ends {
                    vec!["true".to_string()]
                } else {
                    Vec::new()
                }
            };
            let difference = self.difference(Aspect::Terminal, None, shown(own), shown(other));
            return Seen::Differs(Box::new(difference));
        }
        if own {
            return match self.compare_goals() {
                Some(difference) => Seen::Differs(Box::new(difference)),
                None => Seen::End,
            };
        }
        for role in 0..self.roles.len() {
            if !self.match_moves(role) {
                let (own, other) = self.legal_of(role);
                let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
                    one.difference(other).take(LISTED).cloned().collect()
                };
                let (first, second) = (only(&own, &other), only(&other, &own));
                let difference = self.difference(Aspect::Legal, Some(role), first, second);
                return Seen::Differs(Box::new(difference));
            }
        }
        Seen::GoesOn
    }

    fn difference(
        &self,
        aspect: Aspect,
        role: Option<usize>,
        first: Vec<String>,
        second: Vec<String>,
    ) -> Difference {
        Difference {
            aspect,
            role: role.map(|role| self.role_name(role).to_string()),
            first,
            second,
            evidence: Evidence::default(),
            statements: [None, None],
        }
    }

    fn compare_facts(&self, states: &States) -> Option<Difference> {
        let is_same = match &self.facts {
            Facts::Ignored => true,
            Facts::Words => states[0] == states[1],
            Facts::Bits(bits) => have_same_bits(states, bits),
            Facts::Texts => false,
        };
        if is_same {
            return None;
        }
        let [own, other] = [0, 1].map(|side: usize| {
            let facts = self.machines[side].info().state_facts(&states[side]);
            facts.into_iter().collect::<BTreeSet<String>>()
        });
        let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
            one.difference(other)
                .take(LISTED)
                .cloned()
                .collect::<Vec<_>>()
        };
        let (first, second) = (only(&own, &other), only(&other, &own));
        match first.is_empty() && second.is_empty() {
            true => None,
            false => Some(self.difference(Aspect::Facts, None, first, second)),
        }
    }

    fn compare_goals(&mut self) -> Option<Difference> {
        let n_roles = self.roles.len();
        let mut goals = [vec![None; n_roles], vec![None; n_roles]];
        for (reasoner, goals) in self.reasoners.iter_mut().zip(&mut goals) {
            reasoner.goals(goals);
        }
        let (role, own, other) = (0..n_roles).find_map(|role| {
            let (own, other) = (goals[0][role], goals[1][self.roles[role]]);
            (own != other).then_some((role, own, other))
        })?;
        let shown = |goal: Option<u8>| goal.iter().map(u8::to_string).collect();
        Some(self.difference(Aspect::Goal, Some(role), shown(own), shown(other)))
    }

    /// Lists a role's legal moves with those of the second game; false where they differ.
    fn match_moves(&mut self, role: usize) -> bool {
        let roles = [role, self.roles[role]].map(RoleId::from_index);
        let pairs = &mut self.legal[role];
        pairs.clear();
        let [first, second] = &mut self.reasoners;
        let own = first.legal_moves(roles[0]);
        let other = second.legal_moves(roles[1]);
        if let ([own], [other], Naming::Any) = (own, other, self.naming) {
            pairs.push([*own, *other]);
            return true;
        }
        if own.len() != other.len() {
            return false;
        }
        let mut sorted = other.to_vec();
        sorted.sort_unstable();
        for &mv in own {
            if self.known.len() <= mv.index() {
                self.known.resize(mv.index() + 1, None);
            }
            let matching = self.known[mv.index()].or_else(|| {
                let text = self.machines[0].info().move_text(mv);
                self.machines[1].info().find_move(roles[1], &text)
            });
            self.known[mv.index()] = matching;
            match matching {
                Some(matching) if sorted.binary_search(&matching).is_ok() => {
                    pairs.push([mv, matching]);
                }
                _ => return false,
            }
        }
        true
    }

    /// The states after a joint move: the index of a legal move for each role.
    fn next(&mut self, chosen: &[usize], next: &mut States) {
        let n_roles = self.roles.len();
        let mut joint = [vec![MoveId(0); n_roles], vec![MoveId(0); n_roles]];
        for (role, &index) in chosen.iter().enumerate() {
            let [own, other] = self.legal[role][index];
            joint[0][role] = own;
            joint[1][self.roles[role]] = other;
        }
        for side in 0..2 {
            self.reasoners[side].next_state(&joint[side], &mut next[side]);
        }
    }

    /// The moves of a joint move in the first game.
    fn own_moves(&self, chosen: &[usize]) -> Vec<MoveId> {
        let moves = chosen.iter().enumerate();
        moves
            .map(|(role, &index)| self.legal[role][index][0])
            .collect()
    }

    /// A difference with the position that shows it.
    fn shown(&self, difference: Difference, state: &[u64], path: &[Vec<MoveId>]) -> Difference {
        let path = path.iter().map(Vec::as_slice);
        Difference {
            evidence: Evidence::of(self.machines[0].info(), state, path),
            ..difference
        }
    }

    /// Compares states breadth-first: the first difference, and whether all states were seen.
    fn breadth_first(
        &mut self,
        initial: States,
        budget: &Budget,
        stop: &AtomicBool,
    ) -> (Option<Difference>, bool) {
        let mut frontier = Frontier::new(initial);
        let mut at = 0;
        while let Some(node) = frontier.nodes.get(at) {
            if budget.is_over() || self.compared >= budget.max_steps {
                return (None, false);
            }
            let states = node.states.clone();
            let seen = self.look(&states);
            // Without an answer of the prover nothing is known.
            if stop.load(Ordering::Relaxed) {
                return (None, false);
            }
            match seen {
                Seen::End => {}
                Seen::GoesOn => self.add_successors(at, &mut frontier, budget),
                Seen::Differs(difference) => {
                    let path = frontier.path_to(at);
                    return (Some(self.shown(*difference, &states[0], &path)), false);
                }
            }
            at += 1;
        }
        (None, frontier.is_whole)
    }

    /// Adds the states after every joint move of the current state, which is this node.
    fn add_successors(&mut self, at: usize, frontier: &mut Frontier, budget: &Budget) {
        if self.legal.iter().any(Vec::is_empty) {
            return;
        }
        let mut chosen = vec![0; self.roles.len()];
        let mut next = [Vec::new(), Vec::new()];
        for made in 1..=MAX_JOINT_MOVES {
            if !frontier.has_room() || made % 32 == 0 && budget.is_over() {
                break;
            }
            self.next(&chosen, &mut next);
            if frontier.known.insert(next.clone()) {
                frontier.words += next.iter().map(Vec::len).sum::<usize>();
                frontier.nodes.push(Node {
                    states: next.clone(),
                    before: at,
                    joint_move: self.own_moves(&chosen),
                });
            }
            if !self.advance(&mut chosen) {
                return;
            }
        }
        frontier.is_whole = false;
    }

    /// Goes on to the next joint move; false after the last one.
    fn advance(&self, chosen: &mut [usize]) -> bool {
        for (index, legal) in chosen.iter_mut().zip(&self.legal) {
            *index += 1;
            if *index < legal.len() {
                return true;
            }
            *index = 0;
        }
        false
    }

    /// Plays a random game and compares its states.
    fn random_game(
        &mut self,
        initial: &States,
        random: &mut Random,
        budget: &Budget,
        stop: &AtomicBool,
    ) -> Option<Difference> {
        let mut states = initial.clone();
        let mut next = [Vec::new(), Vec::new()];
        let mut path: Vec<Vec<MoveId>> = Vec::new();
        let mut chosen = Vec::new();
        for step in 0..STEPS {
            if step % 16 == 15 && budget.is_over() || self.compared >= budget.max_steps {
                return None;
            }
            let seen = self.look(&states);
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            match seen {
                Seen::End => return None,
                Seen::Differs(difference) => {
                    return Some(self.shown(*difference, &states[0], &path));
                }
                Seen::GoesOn => {}
            }
            chosen.clear();
            for legal in &self.legal {
                let bound = u32::try_from(legal.len()).ok().filter(|&bound| bound > 0)?;
                chosen.push(random.below(bound) as usize);
            }
            self.next(&chosen, &mut next);
            path.push(self.own_moves(&chosen));
            std::mem::swap(&mut states, &mut next);
        }
        None
    }
}

/// Whether the facts of the first state are those of the second.
fn have_same_bits(states: &States, bits: &[Option<usize>]) -> bool {
    let mut n_own = 0;
    for (index, &word) in states[0].iter().enumerate() {
        let mut word = word;
        while word != 0 {
            let bit = index * 64 + word.trailing_zeros() as usize;
            word &= word - 1;
            n_own += 1;
            let holds = |bit: usize| {
                let word = states[1].get(bit / 64).copied().unwrap_or(0);
                word >> (bit % 64) & 1 == 1
            };
            if !bits.get(bit).copied().flatten().is_some_and(holds) {
                return false;
            }
        }
    }
    n_own == states[1].iter().map(|word| word.count_ones()).sum::<u32>()
}
