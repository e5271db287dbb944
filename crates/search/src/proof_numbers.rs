//! Depth-first proof-number search (df-pn; Nagai 2002), of one question at a time.
//!
//! A question is whether a role can force at least some goal. Of each position the search knows a
//! *proof number* and a *disproof number*, estimates of the positions still to be solved for a yes
//! and for a no. It always expands the position on which both depend most. All children of a
//! position are generated in one pass of the expander, and a child begins with the number of its
//! legal moves. Numbers are kept in a hash table, so that a question that was left can be taken up
//! again. A child is left when its number exceeds that of the next best child by a quarter (the
//! 1 + epsilon trick; Pawlewicz and Lew 2006).
//!
//! A position in which several roles choose, one with too many moves, and one that lies too deep
//! are *closed*: they count as neither proven nor disproven.
//!
//! Invariants: an answer follows from terminal positions alone, so it holds whatever the other role
//! does; the same questions and limits give the same answers.
//!
//! Never uses: the graph of the search, clocks.

use std::hash::Hasher;
use std::sync::Arc;

use rustc_hash::FxHasher;

use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Expander, ExpansionStep, Machine, PositionBatch};

/// The number of a position that cannot be solved.
const INFINITE: u32 = u32::MAX;
/// Positions with more moves are closed.
const MAX_CHILDREN: usize = 512;
/// Positions more joint moves after the first are closed.
const MAX_DEPTH: usize = 200;
/// Entries of the hash table that share a place.
const BUCKET: usize = 4;

/// Whether a role can force at least this goal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Question {
    /// The role.
    pub(super) role: usize,
    /// The goal.
    pub(super) goal: u8,
}

/// What was found out about a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// Yes, by this move at the first position. The role can force this goal, which is at least
    /// that of the question.
    Yes(u8, MoveId),
    /// No: the other role can hold it to this goal, which is less.
    No(u8),
    /// Closed positions decide.
    Unknown,
}

/// The numbers of a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Numbers {
    proof: u32,
    disproof: u32,
    /// Once one of them is 0, the goal that the role can force, or to which it can be held.
    goal: u8,
}

impl Numbers {
    const CLOSED: Self = Self {
        proof: INFINITE,
        disproof: INFINITE,
        goal: 0,
    };

    /// The number to reduce by the role that moves, and that of the other side.
    fn of_mover(self, is_role: bool) -> (u32, u32) {
        if is_role {
            (self.proof, self.disproof)
        } else {
            (self.disproof, self.proof)
        }
    }
}

/// What the table knows of a position.
#[derive(Clone, Copy)]
struct Entry {
    /// Never 0.
    key: u64,
    numbers: Numbers,
    /// Positions expanded for it.
    effort: u32,
}

/// An entry as words, all 0 for none: the system commits zeroed memory when it is first written.
type PackedEntry = [u64; 3];

impl Entry {
    fn pack(self) -> PackedEntry {
        let Numbers {
            proof,
            disproof,
            goal,
        } = self.numbers;
        [
            self.key,
            u64::from(proof) << 32 | u64::from(disproof),
            u64::from(self.effort) << 32 | u64::from(goal),
        ]
    }

    fn unpack([key, numbers, rest]: PackedEntry) -> Self {
        Self {
            key,
            numbers: Numbers {
                proof: (numbers >> 32) as u32,
                disproof: numbers as u32,
                goal: rest as u8,
            },
            effort: (rest >> 32) as u32,
        }
    }
}

/// A child of a position on the line of the search.
#[derive(Clone, Copy)]
struct Child {
    key: u64,
    numbers: Numbers,
}

/// A position on the line of the search, whose children are known.
struct Frame {
    key: u64,
    /// Whether the role of the question moves.
    is_role: bool,
    /// The position is left once one of its numbers reaches its limit.
    proof_limit: u32,
    disproof_limit: u32,
    /// The children in the order of the moves of the role that chooses.
    positions: PositionBatch,
    children: Vec<Child>,
    /// The child on the line.
    selected: usize,
    effort: u32,
}

/// The proof-number search of one game of two roles.
pub(super) struct ProofNumberSearch {
    expander: Box<dyn Expander>,
    question: Question,
    /// The first position of the question.
    start: PositionBatch,
    /// The line of the search, the first `depth` of them.
    frames: Vec<Frame>,
    depth: usize,
    /// Joint moves of the longest line so far.
    max_depth: usize,
    table: Vec<PackedEntry>,
    n_entries: usize,
    /// The sum of the goals of all terminal positions seen, and whether it varied.
    sum: Option<u16>,
    has_varying_sum: bool,
    /// For each role the goals of terminal positions seen, as bits.
    goals: [u128; 2],
    joint_moves: Vec<MoveId>,
}

impl ProofNumberSearch {
    /// A search with an empty table of at most `max_bytes` bytes.
    pub(super) fn new(machine: &Arc<dyn Machine>, max_bytes: usize) -> Self {
        let most = (max_bytes / size_of::<PackedEntry>()).max(2 * BUCKET);
        Self {
            expander: Arc::clone(machine).expander(),
            question: Question { role: 0, goal: 0 },
            start: PositionBatch::default(),
            frames: Vec::new(),
            depth: 0,
            max_depth: 0,
            table: Vec::new(),
            n_entries: 1 << most.ilog2(),
            sum: None,
            has_varying_sum: false,
            goals: [0; 2],
            joint_moves: Vec::new(),
        }
    }

    /// The sum of the goals of all terminal positions seen, if it was always the same. Then what
    /// one role cannot force the other one gets.
    pub(super) fn fixed_sum(&self) -> Option<u16> {
        self.sum.filter(|_| !self.has_varying_sum)
    }

    /// The goals of a role in the terminal positions seen, in rising order.
    pub(super) fn goals_of(&self, role: usize) -> impl Iterator<Item = u8> {
        let seen = self.goals[role];
        (0..=100).filter(move |goal| seen >> goal & 1 == 1)
    }

    /// The joint moves of the longest line examined for the question.
    pub(super) fn max_depth(&self) -> usize {
        self.max_depth
    }

    /// Takes up a question about a state. The one before is left.
    pub(super) fn ask(&mut self, state: &[u64], question: Question) {
        self.leave();
        if self.table.is_empty() {
            self.table = vec![[0; 3]; self.n_entries];
        }
        self.question = question;
        self.max_depth = 0;
        let step = ExpansionStep {
            state,
            joint_move: None,
        };
        self.expander.expand(&[step], true, &mut self.start);
        self.push(self.key(state), INFINITE, INFINITE);
    }

    /// Keeps what was found out so far in the table.
    pub(super) fn leave(&mut self) {
        while self.depth > 0 {
            let numbers = self.frames[self.depth - 1].numbers(self.question);
            self.pop(numbers);
        }
    }

    /// Expands at most `n_expansions` positions. Returns the answer once it is found.
    pub(super) fn work(&mut self, mut n_expansions: u32) -> Option<Answer> {
        loop {
            let Some(frame) = self.frames[..self.depth].last_mut() else {
                return Some(Answer::Unknown);
            };
            let numbers = frame.numbers(self.question);
            if numbers.proof >= frame.proof_limit || numbers.disproof >= frame.disproof_limit {
                if self.depth == 1 {
                    let answer = self.answer(numbers);
                    self.pop(numbers);
                    return Some(answer);
                }
                self.pop(numbers);
                continue;
            }
            let (index, limits) = frame.select(numbers);
            frame.selected = index;
            let key = frame.children[index].key;
            let is_repeated = self.frames[..self.depth].iter().any(|it| it.key == key);
            if is_repeated || self.depth == MAX_DEPTH {
                self.frames[self.depth - 1].children[index].numbers = Numbers::CLOSED;
                continue;
            }
            if n_expansions == 0 {
                return None;
            }
            n_expansions -= 1;
            self.push(key, limits.0, limits.1);
        }
    }

    /// The answer by the numbers of the first position.
    fn answer(&self, numbers: Numbers) -> Answer {
        let first = &self.frames[0];
        if numbers.disproof == 0 {
            return Answer::No(numbers.goal);
        }
        if numbers.proof > 0 {
            return Answer::Unknown;
        }
        let mut children = first.children.iter();
        let is_best = |it: &Child| it.numbers.proof == 0 && it.numbers.goal == numbers.goal;
        let best = children.position(is_best).unwrap_or(0);
        let moves = (0..2).map(|role| self.start.legal(0, RoleId::from_index(role)));
        let of_mover = moves.max_by_key(|moves| moves.len()).unwrap_or_default();
        match of_mover.get(best) {
            Some(&mv) => Answer::Yes(numbers.goal, mv),
            None => Answer::Unknown,
        }
    }

    /// Generates the children of the selected position and adds it to the line.
    fn push(&mut self, key: u64, proof_limit: u32, disproof_limit: u32) {
        if self.depth == self.frames.len() {
            self.frames.push(Frame {
                key: 0,
                is_role: true,
                proof_limit: 0,
                disproof_limit: 0,
                positions: PositionBatch::default(),
                children: Vec::new(),
                selected: 0,
                effort: 0,
            });
        }
        let (line, rest) = self.frames.split_at_mut(self.depth);
        let frame = &mut rest[0];
        let (from, index) = match line.last() {
            Some(above) => (&above.positions, above.selected),
            None => (&self.start, 0),
        };
        let legal = [0, 1].map(|role| from.legal(index, RoleId::from_index(role)));
        let mover = usize::from(legal[1].len() > 1);
        self.joint_moves.clear();
        let is_open = legal.iter().all(|moves| !moves.is_empty()) && legal[1 - mover].len() == 1;
        if is_open && legal[mover].len() <= MAX_CHILDREN && !from.terminal[index] {
            for &mv in legal[mover] {
                let mut joint_move = [mv, mv];
                joint_move[1 - mover] = legal[1 - mover][0];
                self.joint_moves.extend(joint_move);
            }
        }
        let state = from.state(index);
        let steps = self.joint_moves.chunks(2).map(|joint_move| ExpansionStep {
            state,
            joint_move: Some(joint_move),
        });
        let steps: Vec<ExpansionStep<'_>> = steps.collect();
        let mut positions = std::mem::take(&mut frame.positions);
        self.expander.expand(&steps, true, &mut positions);
        let n_children = steps.len();
        drop(steps);
        frame.key = key;
        frame.is_role = mover == self.question.role;
        (frame.proof_limit, frame.disproof_limit) = (proof_limit, disproof_limit);
        frame.selected = 0;
        frame.effort = 1;
        let mut children = std::mem::take(&mut frame.children);
        children.clear();
        children.extend((0..n_children).map(|index| self.child(&positions, index)));
        let frame = &mut self.frames[self.depth];
        frame.positions = positions;
        frame.children = children;
        self.depth += 1;
        self.max_depth = self.max_depth.max(self.depth);
    }

    /// A new child: solved if it is terminal, else what the table knows of it, else as hard as it
    /// has moves.
    fn child(&mut self, positions: &PositionBatch, index: usize) -> Child {
        let key = self.key(positions.state(index));
        if positions.terminal[index] {
            let goals = positions.goals(index);
            let goals = [0, 1].map(|role| goals.get(role).copied().flatten().unwrap_or(0).min(100));
            self.see(goals);
            let goal = goals[self.question.role];
            let (proof, disproof) = match goal >= self.question.goal {
                true => (0, INFINITE),
                false => (INFINITE, 0),
            };
            let numbers = Numbers {
                proof,
                disproof,
                goal,
            };
            return Child { key, numbers };
        }
        if let Some(numbers) = self.find(key) {
            return Child { key, numbers };
        }
        let counts = [0, 1].map(|role| positions.legal(index, RoleId::from_index(role)).len());
        let n_moves = counts[0].max(counts[1]);
        if counts.contains(&0) || counts[0].min(counts[1]) > 1 || n_moves > MAX_CHILDREN {
            let numbers = Numbers::CLOSED;
            return Child { key, numbers };
        }
        let is_role = counts[self.question.role] > 1;
        let n_moves = n_moves as u32;
        let (proof, disproof) = if is_role { (1, n_moves) } else { (n_moves, 1) };
        let numbers = Numbers {
            proof,
            disproof,
            goal: 0,
        };
        Child { key, numbers }
    }

    /// Takes note of the goals of a terminal position.
    fn see(&mut self, goals: [u8; 2]) {
        let sum = u16::from(goals[0]) + u16::from(goals[1]);
        self.has_varying_sum |= *self.sum.get_or_insert(sum) != sum;
        for (seen, goal) in self.goals.iter_mut().zip(goals) {
            *seen |= 1 << goal;
        }
    }

    /// Removes the last position of the line, with these numbers.
    fn pop(&mut self, numbers: Numbers) {
        self.depth -= 1;
        let Frame { key, effort, .. } = self.frames[self.depth];
        self.store(Entry {
            key,
            numbers,
            effort,
        });
        if let Some(above) = self.frames[..self.depth].last_mut() {
            above.children[above.selected].numbers = numbers;
            above.effort = above.effort.saturating_add(effort);
        }
    }

    /// The key of a state for the question, never 0.
    fn key(&self, state: &[u64]) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write_u8(self.question.goal);
        hasher.write_usize(self.question.role);
        for &word in state {
            hasher.write_u64(word);
        }
        hasher.finish().max(1)
    }

    /// The entries of a key's bucket.
    fn bucket(&self, key: u64) -> usize {
        // The upper half of a product depends on all bits.
        let mixed = (u128::from(key) * 0x9e37_79b9_7f4a_7c15) >> 64;
        mixed as usize & (self.table.len() - 1) & !(BUCKET - 1)
    }

    fn find(&self, key: u64) -> Option<Numbers> {
        let first = self.bucket(key);
        let entries = self.table[first..first + BUCKET].iter();
        let mut entries = entries.map(|&entry| Entry::unpack(entry));
        entries.find(|it| it.key == key).map(|it| it.numbers)
    }

    /// Stores an entry in place of that of its key, or of the one with the least effort.
    fn store(&mut self, entry: Entry) {
        let first = self.bucket(entry.key);
        let bucket = &mut self.table[first..first + BUCKET];
        let order = |place: &&mut PackedEntry| {
            let known = Entry::unpack(**place);
            match known.key == entry.key {
                true => 0,
                false => known.effort.saturating_add(1),
            }
        };
        if let Some(place) = bucket.iter_mut().min_by_key(order) {
            *place = entry.pack();
        }
    }
}

impl Frame {
    /// The numbers of the position by those of its children.
    fn numbers(&self, question: Question) -> Numbers {
        let (mut own, mut other) = (INFINITE, 0u32);
        for child in &self.children {
            let (of_mover, of_other) = child.numbers.of_mover(self.is_role);
            own = own.min(of_mover);
            other = match of_other {
                INFINITE => INFINITE,
                // A sum of finite numbers is finite.
                _ if other < INFINITE => other.saturating_add(of_other).min(INFINITE - 1),
                _ => other,
            };
        }
        if self.children.is_empty() {
            return Numbers::CLOSED;
        }
        let (proof, disproof) = if self.is_role {
            (own, other)
        } else {
            (other, own)
        };
        let goal = match (proof, disproof) {
            (0, _) => self.bound(|it| it.proof == 0),
            (_, 0) => self.bound(|it| it.disproof == 0),
            _ => question.goal,
        };
        Numbers {
            proof,
            disproof,
            goal,
        }
    }

    /// The best goal for the mover among the children that are solved.
    fn bound(&self, is_solved: impl Fn(&Numbers) -> bool) -> u8 {
        let numbers = self.children.iter().map(|it| &it.numbers);
        let goals = numbers.filter(|&it| is_solved(it)).map(|it| it.goal);
        let best = if self.is_role {
            goals.max()
        } else {
            goals.min()
        };
        best.unwrap_or(0)
    }

    /// The child on which the numbers of the position depend, and its limits.
    fn select(&self, numbers: Numbers) -> (usize, (u32, u32)) {
        let mut best = 0;
        let (mut least, mut second) = (INFINITE, INFINITE);
        for (index, child) in self.children.iter().enumerate() {
            let (own, _) = child.numbers.of_mover(self.is_role);
            if own < least {
                second = least;
                (best, least) = (index, own);
            } else {
                second = second.min(own);
            }
        }
        let (proof, disproof) = (numbers.proof, numbers.disproof);
        let selected = self.children[best].numbers;
        // What the other children add to a sum stays.
        let rest = |limit: u32, sum: u32, own: u32| match limit {
            INFINITE => INFINITE,
            _ => limit - (sum - own),
        };
        let wider = second.saturating_add(second / 4).saturating_add(1);
        let limits = if self.is_role {
            let of_sum = rest(self.disproof_limit, disproof, selected.disproof);
            (self.proof_limit.min(wider), of_sum)
        } else {
            let of_sum = rest(self.proof_limit, proof, selected.proof);
            (of_sum, self.disproof_limit.min(wider))
        };
        (best, limits)
    }
}
