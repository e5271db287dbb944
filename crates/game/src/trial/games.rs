//! Random games, and what is seen in them.
//!
//! Invariant: for each fault the shortest game that shows it is kept, the earliest of several.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use panza_gdl::{Id, MoveId, RoleId, Rules, TermId, keyword};
use panza_machine::{Machine, Reasoner};
use panza_sync::{Budget, Random};

use super::lazy_prover::LazyProver;

/// Random games, at most.
const GAMES: u32 = 300;
/// Joint moves of a game, at most.
pub const STEPS: usize = 2000;
/// Ends whose goals are computed by the prover.
const ENDS: usize = 200;
/// States of which the facts are listed, on machines whose states are not bits.
const LISTED_STATES: u32 = 200;
/// Random games have the same seed each time.
const SEED: u64 = 11;

/// A state and the joint moves that lead to it.
#[derive(Clone, Debug)]
pub struct Reached {
    pub state: Vec<u64>,
    /// A move of every role for each joint move, one after the other.
    pub path: Vec<MoveId>,
}

/// What is not in a relation that should list it.
#[derive(Default)]
pub struct Outside {
    pub names: BTreeSet<String>,
    pub first: Option<Reached>,
}

/// What was seen in all games.
#[derive(Default)]
pub struct Seen {
    /// Games in which a move was made, or that were over at once.
    pub games: u32,
    pub ended: u32,
    /// The initial state, and the first joint move of the first game.
    pub first_step: Option<(Vec<u64>, Reached)>,
    /// Games that reached [`STEPS`].
    pub endless: u32,
    /// States in which the game went on.
    pub n_states: u64,
    /// By role: whether it ever had a choice.
    pub has_choice: Vec<bool>,
    /// By role: the goals at ends.
    pub goals: Vec<BTreeSet<u8>>,
    /// By role: a state without a legal move for it.
    pub stuck: BTreeMap<RoleId, Reached>,
    /// By role: an end without a goal for it.
    pub goalless: BTreeMap<RoleId, Reached>,
    /// Different ends, the shortest games first.
    pub ends: Vec<Reached>,
    /// Legal moves that are not in `input`.
    pub moves_outside: Outside,
    /// Facts that are not in `base`.
    pub facts_outside: Outside,
}

/// Plays the games.
pub fn play(
    rules: &Rules,
    machine: &Arc<dyn Machine>,
    budget: &Budget,
    prover: &mut LazyProver<'_>,
) -> Seen {
    let n_roles = machine.info().n_roles();
    let mut player = Player {
        machine: machine.as_ref(),
        reasoner: Arc::clone(machine).reasoner(),
        listed: Listed::of(rules, machine.as_ref(), prover),
        known_moves: HashSet::new(),
        n_listed: 0,
        random: Random::new(SEED),
        seen: Seen {
            has_choice: vec![false; n_roles],
            goals: vec![BTreeSet::new(); n_roles],
            ..Seen::default()
        },
        state: Vec::new(),
        path: Vec::new(),
    };
    let mut ends = BTreeMap::new();
    let mut steps_left = budget.max_steps;
    while player.seen.games < GAMES && steps_left > 0 && !budget.is_over() {
        player.game(&mut steps_left, budget, &mut ends);
        // What is stuck at the start is no game, and the next one would be stuck as well.
        if player.path.is_empty() && !player.seen.stuck.is_empty() {
            break;
        }
        player.seen.games += 1;
    }
    let mut ends: Vec<Reached> = ends
        .into_iter()
        .map(|(state, path)| Reached { state, path })
        .collect();
    ends.sort_by(|a, b| (a.path.len(), &a.state).cmp(&(b.path.len(), &b.state)));
    ends.truncate(ENDS);
    player.seen.ends = ends;
    player.seen
}

/// The moves and facts that the rules list, where they do.
struct Listed {
    /// From `input`: role number and move.
    moves: Option<HashSet<(usize, String)>>,
    /// From `base`.
    facts: Option<HashSet<String>>,
    /// The bits of facts outside `base`, on machines whose states are bits.
    outside: Option<Vec<u64>>,
}

impl Listed {
    fn of(rules: &Rules, machine: &dyn Machine, prover: &mut LazyProver<'_>) -> Self {
        let has = |relation, arity| {
            let mut heads = rules.rules.iter().map(|rule| rule.head.signature());
            heads.any(|head| head == (relation, arity))
        };
        let (has_input, has_base) = (has(keyword::INPUT, 2), has(keyword::BASE, 1));
        let mut instances = |is_there: bool, name, arity| {
            let prover = is_there.then(|| prover.get()).flatten()?;
            let found = prover.facts_of(name, arity).ok()?;
            let show = |terms: &[TermId]| -> Vec<String> {
                terms.iter().map(|&term| prover.show(term)).collect()
            };
            Some(found.iter().map(|terms| show(terms)).collect::<Vec<_>>())
        };
        let facts = instances(has_base, "base", 1);
        let facts: Option<HashSet<String>> =
            facts.map(|facts| facts.into_iter().flatten().collect());
        let roles = machine.info().roles();
        let moves = instances(has_input, "input", 2).map(|rows| {
            let rows = rows.into_iter().filter_map(|row| {
                let role = roles.iter().position(|role| *role == row[0])?;
                Some((role, row[1].clone()))
            });
            rows.collect()
        });
        let outside = facts.as_ref().and_then(|facts| {
            let own = machine.info().facts()?;
            let mut outside = vec![0; own.len().div_ceil(64).max(1)];
            for (index, fact) in own.iter().enumerate() {
                outside[index / 64] |= u64::from(!facts.contains(fact)) << (index % 64);
            }
            Some(outside)
        });
        Self {
            moves,
            facts,
            outside,
        }
    }
}

struct Player<'a> {
    machine: &'a dyn Machine,
    reasoner: Box<dyn Reasoner>,
    listed: Listed,
    /// Moves that were looked up in `input`.
    known_moves: HashSet<MoveId>,
    /// States whose facts were listed.
    n_listed: u32,
    random: Random,
    seen: Seen,
    state: Vec<u64>,
    path: Vec<MoveId>,
}

impl Player<'_> {
    /// Plays one game.
    fn game(
        &mut self,
        steps_left: &mut u64,
        budget: &Budget,
        ends: &mut BTreeMap<Vec<u64>, Vec<MoveId>>,
    ) {
        self.state = self.machine.initial_state();
        self.path.clear();
        let mut joint_move = Vec::new();
        let mut next = Vec::new();
        for step in 0..=STEPS {
            self.reasoner.set_state(&self.state);
            self.compare_facts();
            if self.reasoner.is_terminal() {
                self.end(ends);
                return;
            }
            if step == STEPS {
                self.seen.endless += 1;
                return;
            }
            if *steps_left == 0 || step % 16 == 15 && budget.is_over() {
                return;
            }
            *steps_left -= 1;
            if !self.choose(&mut joint_move) {
                return;
            }
            self.reasoner.next_state(&joint_move, &mut next);
            std::mem::swap(&mut self.state, &mut next);
            self.path.extend_from_slice(&joint_move);
            self.seen.first_step.get_or_insert_with(|| {
                let (state, path) = (self.state.clone(), joint_move.clone());
                (next.clone(), Reached { state, path })
            });
        }
    }

    /// Chooses a joint move; nothing where a role has no move.
    fn choose(&mut self, joint_move: &mut Vec<MoveId>) -> bool {
        joint_move.clear();
        let n_roles = self.seen.has_choice.len();
        let mut is_stuck = false;
        for role in (0..n_roles).map(RoleId::from_index) {
            let legal = self.reasoner.legal_moves(role);
            let Some(bound) = u32::try_from(legal.len()).ok().filter(|&n| n > 0) else {
                is_stuck = true;
                keep_shortest(&mut self.seen.stuck, role, &self.state, &self.path);
                continue;
            };
            self.seen.has_choice[role.index()] |= bound > 1;
            joint_move.push(legal[self.random.below(bound) as usize]);
            if let Some(listed) = &self.listed.moves {
                for &mv in legal {
                    if self.known_moves.insert(mv) {
                        let text = self.machine.info().move_text(mv);
                        let pair = (role.index(), text);
                        if !listed.contains(&pair) {
                            self.seen.moves_outside.add(pair.1, &self.state, &self.path);
                        }
                    }
                }
            }
        }
        self.seen.n_states += u64::from(!is_stuck);
        !is_stuck
    }

    /// Looks at the goals of an end.
    fn end(&mut self, ends: &mut BTreeMap<Vec<u64>, Vec<MoveId>>) {
        self.seen.ended += 1;
        let mut goals = vec![None; self.seen.goals.len()];
        self.reasoner.goals(&mut goals);
        for (index, goal) in goals.into_iter().enumerate() {
            match goal {
                Some(goal) => drop(self.seen.goals[index].insert(goal)),
                None => {
                    let role = RoleId::from_index(index);
                    keep_shortest(&mut self.seen.goalless, role, &self.state, &self.path);
                }
            }
        }
        match ends.get_mut(&self.state) {
            Some(path) if path.len() <= self.path.len() => {}
            Some(path) => path.clone_from(&self.path),
            None => drop(ends.insert(self.state.clone(), self.path.clone())),
        }
    }

    /// Looks for facts outside `base`.
    fn compare_facts(&mut self) {
        let Some(listed) = &self.listed.facts else {
            return;
        };
        match &self.listed.outside {
            Some(outside) => {
                let both = self
                    .state
                    .iter()
                    .zip(outside)
                    .map(|(state, outside)| state & outside);
                for (index, mut word) in both.enumerate() {
                    while word != 0 {
                        let bit = index * 64 + word.trailing_zeros() as usize;
                        word &= word - 1;
                        let Some(fact) = self.machine.info().facts().and_then(|all| all.get(bit))
                        else {
                            continue;
                        };
                        if !self.seen.facts_outside.names.contains(fact) {
                            let fact = fact.clone();
                            self.seen.facts_outside.add(fact, &self.state, &self.path);
                        }
                    }
                }
            }
            None if self.n_listed < LISTED_STATES => {
                self.n_listed += 1;
                for fact in self.machine.info().state_facts(&self.state) {
                    if !listed.contains(&fact) {
                        self.seen.facts_outside.add(fact, &self.state, &self.path);
                    }
                }
            }
            None => {}
        }
    }
}

impl Outside {
    fn add(&mut self, name: String, state: &[u64], path: &[MoveId]) {
        if self.names.insert(name)
            && self
                .first
                .as_ref()
                .is_none_or(|it| path.len() < it.path.len())
        {
            self.first = Some(Reached {
                state: state.to_vec(),
                path: path.to_vec(),
            });
        }
    }
}

fn keep_shortest(
    all: &mut BTreeMap<RoleId, Reached>,
    role: RoleId,
    state: &[u64],
    path: &[MoveId],
) {
    if all
        .get(&role)
        .is_none_or(|known| path.len() < known.path.len())
    {
        let (state, path) = (state.to_vec(), path.to_vec());
        all.insert(role, Reached { state, path });
    }
}
