//! The fixpoint: every atom that can ever hold, and every instance of a rule.
//!
//! New atoms wait in a queue. An atom that is dequeued enters the indexes and triggers the plans of
//! its relation; the atoms they derive join the queue. The order of dequeuing says which atoms are
//! older, so that an instance with several new atoms is found once.

use std::collections::{HashSet, VecDeque};

use rustc_hash::FxHashMap;

use super::index::{Indexes, hash_of_keys};
use super::pattern::unbound;
use super::plan::{Context, JoinPlan, Step, plans_of};
use super::prepare::PreparedRules;
use super::program::{AtomKind, BodyLiteral, GroundAtom, GroundProgram, GroundRule, Move};
use super::relations::Relations;
use super::{Budget, GroundError};
use panza_gdl::{
    AtomId, BaseId, Id, IdVec, MAX_ROLES, MoveId, RoleId, Rules, Signature, Symbols, TermId,
    TermTable, keyword,
};

/// Deeper terms come from a rule that builds terms without end.
const MAX_DEPTH: usize = 200;
/// New instances and atoms between two budget checks.
const CHECK_EVERY: usize = 1 << 12;

/// Arguments of terms that count as one instance in the check of the budget.
const LONG: usize = 16;

/// Bytes that a name takes in the text of a fact or move, about.
const BYTES_PER_NAME: usize = 4;

/// Candidates after which a rule is split.
const SPLIT_ABOVE: u32 = 60_000;
/// Candidates of a helper rule that cannot be split, above which the split is taken back.
const MAX_SPLIT_WORK: u32 = 64 * SPLIT_ABOVE;

/// Why an evaluation stopped early.
pub(super) enum Stop {
    Error(GroundError),
    Split(usize),
    /// Take back the split that this rule came from.
    TakeBack(usize),
}

/// Order of an atom never derived.
const UNKNOWN: u32 = u32::MAX;
/// Order of an atom in the queue.
const WAITING: u32 = u32::MAX - 1;

#[derive(Default)]
struct Instances {
    heads: Vec<TermId>,
    ends: Vec<u32>,
    /// Positive atoms as `2·atom`, negated ones as `2·atom + 1`, like [`BodyLiteral`] but over
    /// terms.
    literals: Vec<u32>,
}

impl Instances {
    /// The rules over atoms by their numbers, and the literals of their bodies.
    fn rules(&self, atom_of: &[u32]) -> (Vec<GroundRule>, Vec<BodyLiteral>) {
        let mut rules = Vec::with_capacity(self.heads.len());
        let mut bodies = Vec::with_capacity(self.literals.len());
        let mut from = 0;
        for (head, &end) in self.heads.iter().zip(&self.ends) {
            let literals = &self.literals[from..end as usize];
            from = end as usize;
            let start = bodies.len() as u32;
            for literal in literals {
                let atom = atom_of[(literal >> 1) as usize];
                // What was never found never holds: its negation says nothing.
                if atom != UNKNOWN {
                    bodies.push(BodyLiteral::new(AtomId(atom), literal & 1 == 1));
                }
            }
            let head = atom_of[head.index()];
            if head != UNKNOWN {
                rules.push(GroundRule {
                    head: AtomId(head),
                    start,
                    end: bodies.len() as u32,
                });
            }
        }
        (rules, bodies)
    }
}

pub(super) struct Evaluation<'a> {
    prepared: &'a PreparedRules,
    symbols: Symbols,
    relations: Relations,
    budget: &'a Budget,
    terms: TermTable,
    indexes: Indexes,
    /// Per term, its number in the order of dequeuing, `WAITING` or `UNKNOWN`.
    order: Vec<u32>,
    n_taken: u32,
    queue: VecDeque<TermId>,
    instances: Instances,
    is_recording: bool,
    /// Work since the budget was checked.
    unchecked: usize,
    /// Arguments of terms that were counted as work, in units of [`LONG`].
    arguments_charged: usize,
    /// Names in the texts of all facts and moves.
    n_names: usize,
    /// Candidates per rule.
    work_of: Vec<u32>,
    bindings: Vec<TermId>,
    matched: Vec<TermId>,
    trigger_order: u32,
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(source: &Rules, prepared: &'a PreparedRules, budget: &'a Budget) -> Self {
        let relations = Relations::new(prepared);
        let mut symbols = source.symbols.clone();
        for name in prepared.names() {
            symbols.intern(name);
        }
        Self {
            prepared,
            work_of: vec![0; prepared.rules().len()],
            symbols,
            relations,
            budget,
            terms: TermTable::new(),
            indexes: Indexes::default(),
            order: Vec::new(),
            n_taken: 0,
            queue: VecDeque::new(),
            instances: Instances::default(),
            is_recording: false,
            unchecked: 0,
            arguments_charged: 0,
            n_names: 0,
            bindings: Vec::new(),
            matched: Vec::new(),
            trigger_order: 0,
        }
    }

    pub(super) fn run(mut self) -> Result<GroundProgram, Stop> {
        for group in std::mem::take(&mut self.relations.static_groups) {
            let rules = group.iter().map(|&rule| &self.prepared.rules()[rule]);
            let heads: HashSet<Signature> = rules.map(|rule| rule.head.signature()).collect();
            self.fixpoint(&group, &|signature| heads.contains(&signature), &[])?;
        }
        if self.indexes.atoms((keyword::ROLE, 1)).len() > MAX_ROLES {
            return Err(Stop::Error(GroundError::TooManyRoles));
        }
        // What depends on a state, or on its own negation, has no value before the first state.
        if self.relations.is_dynamic.get(&(keyword::INIT, 1)) == Some(&true) {
            return Err(Stop::Error(GroundError::DynamicInit));
        }
        let mut seeds = self.indexes.atoms((keyword::INIT, 1)).to_vec();
        for seed in &mut seeds {
            let fact = self.terms.arguments(*seed)[0];
            *seed = self.terms.intern(keyword::TRUE, &[fact]);
        }
        self.is_recording = true;
        let dynamic_rules = std::mem::take(&mut self.relations.dynamic_rules);
        let is_dynamic = self.relations.is_dynamic.clone();
        let growing = |signature: Signature| is_dynamic.get(&signature).copied().unwrap_or(false);
        let first_dynamic = self.n_taken;
        self.fixpoint(&dynamic_rules, &growing, &seeds)?;
        Ok(self.program(first_dynamic))
    }

    /// Evaluates a group of rules from `seeds` until nothing new is found.
    fn fixpoint(
        &mut self,
        group: &[usize],
        is_growing: &dyn Fn(Signature) -> bool,
        seeds: &[TermId],
    ) -> Result<(), Stop> {
        let mut at_start: Vec<JoinPlan> = Vec::new();
        let mut by_trigger: FxHashMap<Signature, Vec<JoinPlan>> = FxHashMap::default();
        let context = Context {
            is_growing,
            is_dynamic: &self.relations.is_dynamic,
            domains: self.prepared.domains(),
            budget: self.budget,
        };
        for &rule in group {
            let number = rule;
            let rule = &self.prepared.rules()[number];
            let plans = plans_of(number, rule, &context, &mut self.indexes, &mut self.terms);
            let Some(plans) = plans else {
                self.check_time()?;
                return Err(Stop::Error(GroundError::RuleTooLong {
                    head: self.symbols.name(rule.head.relation).to_string(),
                    conditions: rule.body.len(),
                }));
            };
            for plan in plans {
                let trigger = rule.body.get(plan.trigger_place);
                match trigger.and_then(|literal| literal.atom()) {
                    Some(atom) => by_trigger.entry(atom.signature()).or_default().push(plan),
                    None => at_start.push(plan),
                }
            }
        }
        seeds.iter().for_each(|&seed| self.enqueue(seed));
        self.trigger_order = UNKNOWN;
        for plan in at_start {
            self.start(&plan, None)?;
        }
        while let Some(atom) = self.queue.pop_front() {
            self.trigger_order = self.n_taken;
            self.order[atom.index()] = self.n_taken;
            self.n_taken += 1;
            self.indexes.insert(atom, &self.terms);
            let signature = (self.terms.name(atom), self.terms.arguments(atom).len());
            self.follow(atom, signature);
            for plan in by_trigger.get(&signature).into_iter().flatten() {
                self.start(plan, Some(atom))?;
            }
            self.charge()?;
        }
        Ok(())
    }

    /// The relaxed game: `true` follows from `next`, `does` from `legal`.
    fn follow(&mut self, atom: TermId, signature: Signature) {
        let arguments = self.terms.arguments(atom);
        match signature {
            (keyword::NEXT, 1) => {
                let fact = arguments[0];
                self.n_names += self.terms.size(fact);
                let then = self.terms.intern(keyword::TRUE, &[fact]);
                self.enqueue(then);
            }
            (keyword::LEGAL, 2) => {
                let (role, mv) = (arguments[0], arguments[1]);
                self.n_names += self.terms.size(mv);
                let role_atom = self.terms.find(keyword::ROLE, &[role]);
                if role_atom.is_some_and(|atom| self.is_taken(atom)) {
                    let then = self.terms.intern(keyword::DOES, &[role, mv]);
                    self.enqueue(then);
                }
            }
            _ => {}
        }
    }

    fn is_taken(&self, atom: TermId) -> bool {
        let order = self.order.get(atom.index());
        order.is_some_and(|&order| order < WAITING)
    }

    fn enqueue(&mut self, atom: TermId) {
        if self.order.len() <= atom.index() {
            self.order
                .resize(self.terms.len().max(atom.index() + 1), UNKNOWN);
        }
        if self.order[atom.index()] == UNKNOWN {
            self.order[atom.index()] = WAITING;
            self.queue.push_back(atom);
        }
    }

    fn check_time(&self) -> Result<(), Stop> {
        match self.budget.is_over() {
            true => Err(Stop::Error(GroundError::OutOfTime {
                atoms: self.n_taken as usize,
                rules: self.instances.heads.len(),
            })),
            false => Ok(()),
        }
    }

    fn charge(&mut self) -> Result<(), Stop> {
        // What new terms have in arguments counts too, since a term may have thousands.
        let work = 1 + self.terms.n_arguments() / LONG - self.arguments_charged;
        self.arguments_charged += work - 1;
        self.unchecked += work;
        if self.unchecked < CHECK_EVERY {
            return Ok(());
        }
        self.unchecked = 0;
        self.check_time()?;
        let Instances {
            heads,
            ends,
            literals,
        } = &self.instances;
        let n_numbers = self.order.capacity() + self.queue.capacity();
        let n_numbers = n_numbers + heads.capacity() + ends.capacity() + literals.capacity();
        let of_texts = self.n_names * BYTES_PER_NAME;
        let bytes = self.terms.bytes() + self.indexes.bytes() + n_numbers * 4 + of_texts;
        // Terms are numbered with a sign beside them, and tables with 32 bits, however much memory
        // there is.
        if bytes > self.budget.max_bytes
            || self.instances.literals.len() > (u32::MAX / 4) as usize
            || self.terms.len() > (u32::MAX / 4) as usize
            || self.terms.n_arguments() > (u32::MAX / 2) as usize
        {
            return Err(Stop::Error(GroundError::OutOfMemory {
                max_bytes: self.budget.max_bytes,
                atoms: self.n_taken as usize,
                rules: self.instances.heads.len(),
            }));
        }
        Ok(())
    }

    /// Counts a candidate of a rule; a rule with too many stops the evaluation.
    fn charge_rule(&mut self, rule: usize) -> Result<(), Stop> {
        self.work_of[rule] = self.work_of[rule].saturating_add(1);
        if self.work_of[rule] >= SPLIT_ABOVE {
            if self.prepared.may_split(rule) {
                return Err(Stop::Split(rule));
            }
            if self.work_of[rule] == MAX_SPLIT_WORK && self.prepared.may_take_back(rule) {
                return Err(Stop::TakeBack(rule));
            }
        }
        self.charge()
    }

    fn start(&mut self, plan: &JoinPlan, trigger: Option<TermId>) -> Result<(), Stop> {
        self.bindings.clear();
        self.bindings.resize(plan.n_variables, unbound());
        self.matched.clear();
        self.matched.resize(plan.n_literals, unbound());
        if let (Some(pattern), Some(atom)) = (&plan.trigger, trigger) {
            if !pattern.matches(atom, &self.terms, &mut self.bindings) {
                return Ok(());
            }
            self.matched[plan.trigger_place] = atom;
        }
        self.extend(plan, 0)
    }

    /// Runs the plan from step `at`.
    fn extend(&mut self, plan: &JoinPlan, at: usize) -> Result<(), Stop> {
        let Some(step) = plan.steps.get(at) else {
            return self.emit(plan);
        };
        match step {
            Step::Join {
                index,
                keys,
                pattern,
                place,
                excludes_trigger,
            } => {
                let mut hasher_keys = [unbound(); 16];
                let mut many_keys = Vec::new();
                for (n, key) in keys.iter().enumerate() {
                    let Some(term) = key.find(&self.terms, &self.bindings) else {
                        return Ok(());
                    };
                    match hasher_keys.get_mut(n) {
                        Some(slot) => *slot = term,
                        None => many_keys.push(term),
                    }
                }
                let inline = keys.len().min(hasher_keys.len());
                let hash = hash_of_keys(hasher_keys[..inline].iter().copied().chain(many_keys));
                let len = self.indexes.bucket_len(*index, hash);
                for n in 0..len {
                    self.charge_rule(plan.rule)?;
                    let Some(atom) = self.indexes.in_bucket(*index, hash, n) else {
                        break;
                    };
                    if *excludes_trigger && self.order[atom.index()] == self.trigger_order {
                        continue;
                    }
                    if pattern.matches(atom, &self.terms, &mut self.bindings) {
                        self.matched[*place] = atom;
                        self.extend(plan, at + 1)?;
                    }
                }
                Ok(())
            }
            Step::Holds {
                pattern,
                place,
                excludes_trigger,
            } => {
                let Some(atom) = pattern.find(&self.terms, &self.bindings) else {
                    return Ok(());
                };
                let is_there = self.is_taken(atom)
                    && !(*excludes_trigger && self.order[atom.index()] == self.trigger_order);
                if !is_there {
                    return Ok(());
                }
                self.matched[*place] = atom;
                self.extend(plan, at + 1)
            }
            Step::Fails(pattern) => {
                let atom = pattern.find(&self.terms, &self.bindings);
                if atom.is_some_and(|atom| self.is_taken(atom)) {
                    return Ok(());
                }
                self.extend(plan, at + 1)
            }
            Step::Distinct(left, right) => {
                // Terms are unique, so the ids tell; one that is in no table differs from all that
                // are.
                let left = left.build(&mut self.terms, &self.bindings);
                let right = right.build(&mut self.terms, &self.bindings);
                if left == right {
                    return Ok(());
                }
                self.extend(plan, at + 1)
            }
        }
    }

    fn emit(&mut self, plan: &JoinPlan) -> Result<(), Stop> {
        self.charge_rule(plan.rule)?;
        let head = plan.head.build(&mut self.terms, &self.bindings);
        if !self.terms.fits(self.terms.arguments(head), MAX_DEPTH) {
            return Err(Stop::Error(GroundError::TermsTooDeep {
                max_depth: MAX_DEPTH,
                example: self.growing(head),
            }));
        }
        self.enqueue(head);
        if !self.is_recording {
            return Ok(());
        }
        let start = self.instances.literals.len();
        for &place in &plan.kept_places {
            self.instances.literals.push(self.matched[place].0 << 1);
        }
        for pattern in &plan.kept_negatives {
            let atom = pattern.build(&mut self.terms, &self.bindings);
            self.instances.literals.push(atom.0 << 1 | 1);
        }
        let body = &mut self.instances.literals[start..];
        body.sort_unstable();
        // An atom together with its negation never holds; sorting makes the two neighbours.
        let mut pairs = body.windows(2);
        let is_contradiction = pairs.any(|pair| pair[0] ^ 1 == pair[1] && pair[1] & 1 == 1);
        // A head in its own body adds nothing.
        let is_tautology = body.contains(&(head.0 << 1));
        if is_contradiction || is_tautology {
            self.instances.literals.truncate(start);
            return Ok(());
        }
        self.instances.heads.push(head);
        let end = self.instances.literals.len();
        self.instances.ends.push(end as u32);
        Ok(())
    }

    /// The relation of an atom, or of its fact where it says what is in a state.
    fn growing(&self, atom: TermId) -> String {
        let terms = &self.terms;
        let shown = match (terms.name(atom), terms.arguments(atom)) {
            (keyword::NEXT | keyword::INIT, &[fact]) => fact,
            _ => atom,
        };
        let arity = terms.arguments(shown).len();
        format!("{}/{arity}", self.symbols.name(terms.name(shown)))
    }

    fn program(mut self, first_dynamic: u32) -> GroundProgram {
        self.order.resize(self.terms.len(), UNKNOWN);
        let roles = self.indexes.atoms((keyword::ROLE, 1)).iter();
        let roles = roles.map(|&atom| self.terms.arguments(atom)[0]);
        let roles: IdVec<RoleId, TermId> = roles.collect();
        let role_of: FxHashMap<TermId, RoleId> =
            roles.enumerate().map(|(id, &term)| (term, id)).collect();
        let is_found = |atom: &TermId| (first_dynamic..WAITING).contains(&self.order[atom.index()]);
        let found = (0..self.terms.len())
            .map(TermId::from_index)
            .filter(is_found);
        let mut found: Vec<TermId> = found.collect();
        found.sort_unstable_by_key(|atom| self.order[atom.index()]);
        let mut atom_of: Vec<u32> = vec![UNKNOWN; self.terms.len()];
        for (index, atom) in found.iter().enumerate() {
            atom_of[atom.index()] = index as u32;
        }
        let known = |term: Option<TermId>| {
            let atom = *atom_of.get(term?.index())?;
            (atom != UNKNOWN).then_some(AtomId(atom))
        };
        let kind = AtomKind::Derived;
        let atoms = found.iter().map(|&term| GroundAtom { term, kind });
        let mut atoms: IdVec<AtomId, GroundAtom> = atoms.collect();
        let mut bases: IdVec<BaseId, TermId> = IdVec::new();
        let mut next = IdVec::new();
        let mut initial = Vec::new();
        let mut moves: Vec<Move> = Vec::new();
        let mut goals = Vec::new();
        let mut terminal = None;
        for id in atoms.ids() {
            let term = atoms[id].term;
            let arguments = self.terms.arguments(term);
            match (self.terms.name(term), arguments) {
                (keyword::TRUE, &[fact]) => {
                    let base = bases.push(fact);
                    atoms[id].kind = AtomKind::Base(base);
                    next.push(known(self.terms.find(keyword::NEXT, &[fact])));
                    let init = self.terms.find(keyword::INIT, &[fact]);
                    if init.is_some_and(|init| self.order[init.index()] < WAITING) {
                        initial.push(base);
                    }
                }
                (keyword::DOES, &[role, mv]) => {
                    let legal = known(self.terms.find(keyword::LEGAL, &[role, mv]));
                    if let (Some(&role), Some(legal)) = (role_of.get(&role), legal) {
                        let term = mv;
                        moves.push(Move { role, term, legal });
                    }
                }
                (keyword::TERMINAL, []) => terminal = Some(id),
                (keyword::GOAL, &[role, value]) if self.terms.arguments(value).is_empty() => {
                    let value = self.symbols.name(self.terms.name(value)).parse::<u8>().ok();
                    if let (Some(&role), Some(value @ 0..=100)) = (role_of.get(&role), value) {
                        goals.push((role, value, id));
                    }
                }
                _ => {}
            }
        }
        // Stable, so a role's moves keep the order in which they were found.
        moves.sort_by_key(|mv| mv.role);
        goals.sort_unstable();
        let moves: IdVec<MoveId, Move> = IdVec::from_vec(moves);
        for (id, mv) in moves.enumerate() {
            let does = self.terms.find(keyword::DOES, &[roles[mv.role], mv.term]);
            if let Some(atom) = known(does) {
                atoms[atom].kind = AtomKind::Does(id);
            }
        }
        let (rules, bodies) = self.instances.rules(&atom_of);
        GroundProgram {
            symbols: self.symbols,
            terms: self.terms,
            roles,
            atoms,
            bases,
            next,
            moves,
            initial,
            terminal,
            goals,
            rules,
            bodies,
        }
    }
}
