//! The prover as a machine, for games that no faster machine takes.
//!
//! The prover has states of any length and moves as terms; a machine has states of fixed width and
//! numbered moves. Both are numbered here as they come up: a state is one word, its number. States
//! inside playouts are not numbered, so the table grows with the search tree only. When it holds
//! too many facts it is emptied, and the numbers given out before stand for the initial state.
//!
//! One prover serves all threads in turn: urgent reasoners and questions about names, which are
//! short, before all others. A query beyond its limits gets the default answer: not over, no moves,
//! no goals, the same state. Once the game is no longer needed, every query does.
//!
//! Invariant: equal states have equal numbers, until the table is emptied.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use panza_gdl::{Id, IdVec, MoveId, RoleId, Rules, TermId};
use panza_machine::{GameInfo, Machine, PlayoutEnd, Reasoner, UnknownFact};
use panza_prover::{Limits, Prover, ProverError, State};
use panza_sync::{Budget, Random, lock, unpoisoned};

/// Facts in all numbered states, of four bytes each.
const MAX_FACTS: usize = 1 << 26;
/// Time between looks at whether an urgent query still waits.
const URGENT_LOOK: Duration = Duration::from_millis(10);

/// A game run by the prover.
pub struct ProverMachine {
    roles: Vec<String>,
    tables: Mutex<Tables>,
    /// Urgent queries that wait or run.
    n_urgent: AtomicUsize,
    /// Notified when one has ended.
    urgent_ended: Condvar,
    /// The first exceeded limit; it is logged.
    fault: OnceLock<String>,
    /// Set once the game is no longer needed.
    stop: Arc<AtomicBool>,
}

struct Tables {
    prover: Prover,
    is_tuned: bool,
    states: Vec<State>,
    /// The number of the first of the states.
    first: u64,
    /// Facts in all of them.
    n_facts: usize,
    state_numbers: HashMap<State, u64>,
    moves: IdVec<MoveId, TermId>,
    move_numbers: HashMap<(RoleId, TermId), MoveId>,
}

impl ProverMachine {
    /// A machine for these rules.
    ///
    /// # Errors
    /// As [`Prover::new`].
    pub fn new(rules: &Rules) -> Result<Self, ProverError> {
        Self::within(rules, &Budget::generous())
    }

    /// A machine for these rules that holds about as many bytes as the budget has. Its time does
    /// not count. Queries end soon after its stop flag is set, without an answer.
    ///
    /// # Errors
    /// As [`Prover::new`].
    pub fn within(rules: &Rules, budget: &Budget) -> Result<Self, ProverError> {
        let stop = budget.stop.clone().unwrap_or_default();
        let limits = Limits {
            stop: Arc::clone(&stop),
            ..Limits::within(budget.max_bytes)
        };
        let prover = Prover::untuned(rules, limits)?;
        let roles = prover
            .roles()
            .iter()
            .map(|&role| prover.show(role))
            .collect();
        let initial = prover.initial_state();
        let mut tables = Tables {
            prover,
            is_tuned: false,
            states: Vec::new(),
            first: 0,
            n_facts: 0,
            state_numbers: HashMap::new(),
            moves: IdVec::new(),
            move_numbers: HashMap::new(),
        };
        tables.number_of(&initial);
        Ok(Self {
            roles,
            tables: Mutex::new(tables),
            n_urgent: AtomicUsize::new(0),
            urgent_ended: Condvar::new(),
            fault: OnceLock::new(),
            stop,
        })
    }

    /// The tables, once no urgent query waits for them.
    fn tables(&self) -> MutexGuard<'_, Tables> {
        let mut tables = lock(&self.tables);
        while self.n_urgent.load(Ordering::Relaxed) > 0 {
            let waited = self.urgent_ended.wait_timeout(tables, URGENT_LOOK);
            tables = unpoisoned(waited).0;
        }
        tables
    }

    /// Runs a query, before all that are not urgent if `is_urgent` is set.
    fn query<T>(&self, is_urgent: bool, query: impl FnOnce(&mut Tables) -> T) -> T {
        if !is_urgent {
            return query(&mut self.tables());
        }
        let _urgency = Urgency::new(self);
        let mut tables = lock(&self.tables);
        query(&mut tables)
    }

    /// The answer, or `otherwise` after an exceeded limit.
    fn or<T>(&self, answer: Result<T, ProverError>, otherwise: T) -> T {
        answer.unwrap_or_else(|error| {
            if error != ProverError::Stopped && self.fault.set(error.to_string()).is_ok() {
                tracing::error!("the prover exceeded its limits: {error}");
            }
            otherwise
        })
    }
}

/// An urgent query, which may panic.
struct Urgency<'a>(&'a ProverMachine);

impl<'a> Urgency<'a> {
    fn new(machine: &'a ProverMachine) -> Self {
        machine.n_urgent.fetch_add(1, Ordering::Relaxed);
        Self(machine)
    }
}

impl Drop for Urgency<'_> {
    fn drop(&mut self) {
        self.0.n_urgent.fetch_sub(1, Ordering::Relaxed);
        self.0.urgent_ended.notify_all();
    }
}

impl Tables {
    fn tune(&mut self) {
        if !std::mem::replace(&mut self.is_tuned, true) {
            self.prover.tune();
        }
    }

    /// The number of a state, a new one if it has none.
    fn number_of(&mut self, state: &State) -> u64 {
        if let Some(&number) = self.state_numbers.get(state) {
            return number;
        }
        if self.n_facts > MAX_FACTS {
            self.first += self.states.len() as u64;
            self.n_facts = 0;
            self.states = Vec::new();
            self.state_numbers = HashMap::new();
        }
        let number = self.first + self.states.len() as u64;
        self.n_facts += self.prover.facts(state).len();
        self.states.push(state.clone());
        self.state_numbers.insert(state.clone(), number);
        number
    }

    /// The state of a number; the initial one for an unknown number.
    fn state_of(&self, words: &[u64]) -> State {
        let number = words.first().and_then(|&word| word.checked_sub(self.first));
        let number = number.and_then(|number| usize::try_from(number).ok());
        let known = number.and_then(|number| self.states.get(number));
        known
            .cloned()
            .unwrap_or_else(|| self.prover.initial_state())
    }

    fn move_number(&mut self, role: RoleId, term: TermId) -> MoveId {
        let moves = &mut self.moves;
        *self
            .move_numbers
            .entry((role, term))
            .or_insert_with(|| moves.push(term))
    }

    fn terms(&self, joint_move: &[MoveId]) -> Vec<TermId> {
        joint_move
            .iter()
            .filter_map(|&mv| self.moves.get(mv).copied())
            .collect()
    }
}

impl GameInfo for ProverMachine {
    fn n_roles(&self) -> usize {
        self.roles.len()
    }

    fn role_name(&self, role: RoleId) -> &str {
        self.roles.get(role.index()).map_or("", String::as_str)
    }

    fn move_text(&self, mv: MoveId) -> String {
        self.query(true, |tables| {
            let term = tables.moves.get(mv);
            term.map_or(String::new(), |&term| tables.prover.show(term))
        })
    }

    /// Finds moves that were legal in some state queried before; no others have numbers.
    fn find_move(&self, role: RoleId, text: &str) -> Option<MoveId> {
        self.query(true, |tables| {
            let term = tables.prover.read_term(text)?;
            tables.move_numbers.get(&(role, term)).copied()
        })
    }

    fn state_facts(&self, state: &[u64]) -> Vec<String> {
        let tables = self.tables();
        let state = tables.state_of(state);
        let facts = tables.prover.facts(&state).iter();
        let mut facts: Vec<String> = facts.map(|&fact| tables.prover.show(fact)).collect();
        facts.sort();
        facts
    }

    fn state_from_facts(&self, facts: &[String]) -> Result<Vec<u64>, UnknownFact> {
        let mut tables = self.tables();
        let terms: Result<Vec<TermId>, UnknownFact> = facts
            .iter()
            .map(|fact| {
                let term = tables.prover.read_term(fact);
                term.ok_or_else(|| UnknownFact(fact.clone()))
            })
            .collect();
        let state = tables.prover.state_from_facts(&terms?);
        Ok(vec![tables.number_of(&state)])
    }
}

impl Machine for ProverMachine {
    fn kind(&self) -> &'static str {
        "prover"
    }

    fn info(&self) -> &dyn GameInfo {
        self
    }

    fn initial_state(&self) -> Vec<u64> {
        vec![0]
    }

    fn reasoner(self: Arc<Self>) -> Box<dyn Reasoner> {
        let state = self.tables().prover.initial_state();
        Box::new(ProverReasoner {
            machine: self,
            state,
            legal: Vec::new(),
            is_urgent: false,
        })
    }

    fn unconditional_move(&self, role: RoleId) -> Option<MoveId> {
        let mut tables = self.tables();
        let term = tables.prover.unconditional_move(role).ok()??;
        Some(tables.move_number(role, term))
    }

    fn fault(&self) -> Option<String> {
        self.fault.get().cloned()
    }

    /// Tunes the prover.
    fn prepare(&self) {
        self.tables().tune();
    }
}

struct ProverReasoner {
    machine: Arc<ProverMachine>,
    state: State,
    legal: Vec<MoveId>,
    is_urgent: bool,
}

impl ProverReasoner {
    /// The state after a joint move; `None` after an invalid one, and where it is not found.
    fn after(&self, tables: &mut Tables, joint_move: &[TermId]) -> Option<State> {
        tables.tune();
        let next = tables.prover.next_state(&self.state, joint_move);
        self.machine.or(next.map(Some), None)
    }

    /// A random legal move of each role, unless one has none.
    fn random_terms(&self, tables: &mut Tables, random: &mut Random) -> Option<Vec<TermId>> {
        (0..self.machine.roles.len())
            .map(|role| {
                let legal = tables
                    .prover
                    .legal_moves(&self.state, RoleId::from_index(role));
                let legal = self.machine.or(legal, Vec::new());
                (!legal.is_empty()).then(|| *random.choose(&legal))
            })
            .collect()
    }
}

impl Reasoner for ProverReasoner {
    fn set_state(&mut self, state: &[u64]) {
        self.state = (self.machine).query(self.is_urgent, |tables| tables.state_of(state));
    }

    fn is_terminal(&mut self) -> bool {
        let is_terminal = (self.machine).query(self.is_urgent, |tables| {
            tables.prover.is_terminal(&self.state)
        });
        self.machine.or(is_terminal, false)
    }

    fn goals(&mut self, out: &mut [Option<u8>]) {
        let mut tables = self.machine.tables();
        for (role, goal) in out.iter_mut().enumerate() {
            let role = RoleId::from_index(role);
            let found = tables.prover.goal(&self.state, role);
            *goal = self.machine.or(found, None);
        }
    }

    fn legal_moves(&mut self, role: RoleId) -> &[MoveId] {
        let Self {
            machine,
            state,
            legal,
            is_urgent,
        } = self;
        machine.query(*is_urgent, |tables| {
            let found = machine.or(tables.prover.legal_moves(state, role), Vec::new());
            legal.clear();
            legal.extend(found.into_iter().map(|term| tables.move_number(role, term)));
        });
        legal
    }

    fn first_legal(&mut self, role: RoleId) -> Option<MoveId> {
        self.machine.query(self.is_urgent, |tables| {
            let first = tables.prover.first_legal(&self.state, role);
            let first = self.machine.or(first, None)?;
            Some(tables.move_number(role, first))
        })
    }

    fn is_legal(&mut self, role: RoleId, mv: MoveId) -> bool {
        self.machine.query(self.is_urgent, |tables| {
            let Some(&term) = tables.moves.get(mv) else {
                return false;
            };
            let is_legal = tables.prover.is_legal(&self.state, role, term);
            self.machine.or(is_legal, false)
        })
    }

    /// Gives a move that was in no list yet its number.
    fn find_legal(&mut self, role: RoleId, text: &str) -> Option<MoveId> {
        self.machine.query(self.is_urgent, |tables| {
            let term = tables.prover.read_term(text)?;
            let is_legal = tables.prover.is_legal(&self.state, role, term);
            let is_legal = self.machine.or(is_legal, false);
            is_legal.then(|| tables.move_number(role, term))
        })
    }

    fn next_state(&mut self, joint_move: &[MoveId], out: &mut Vec<u64>) {
        self.machine.query(self.is_urgent, |tables| {
            let terms = tables.terms(joint_move);
            let next = self.after(tables, &terms);
            let next = next.unwrap_or_else(|| self.state.clone());
            out.clear();
            out.push(tables.number_of(&next));
        });
    }

    fn set_urgent(&mut self) {
        self.is_urgent = true;
    }

    fn playout(&mut self, random: &mut Random, max_steps: u32, goals: &mut [u8]) -> PlayoutEnd {
        let mut steps = 0;
        let end = loop {
            if self.is_terminal() {
                break PlayoutEnd::Finished { steps };
            }
            if steps == max_steps || self.machine.stop.load(Ordering::Relaxed) {
                break PlayoutEnd::CutOff;
            }
            // Locked for each step, so that other threads have their turns.
            let mut tables = self.machine.tables();
            let Some(joint_move) = self.random_terms(&mut tables, random) else {
                break PlayoutEnd::Finished { steps };
            };
            let Some(next) = self.after(&mut tables, &joint_move) else {
                break PlayoutEnd::CutOff;
            };
            drop(tables);
            self.state = next;
            steps += 1;
        };
        goals.copy_from_slice(&self.final_goals(goals.len()));
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_queries_wait_while_an_urgent_one_does() {
        let rules = "(role r) (init on) (legal r go) (legal r stay) (<= terminal (true off))";
        let (rules, _) = panza_gdl::load(rules);
        let machine = Arc::new(ProverMachine::new(&rules).expect("the rules have a role"));
        let role = RoleId::from_index(0);
        let mut ordinary = Arc::clone(&machine).reasoner();
        let mut urgent = Arc::clone(&machine).reasoner();
        urgent.set_urgent();
        let waiting = Urgency::new(&machine);
        let listing = std::thread::spawn(move || ordinary.legal_moves(role).len());
        std::thread::sleep(5 * URGENT_LOOK);
        let first = urgent.first_legal(role).expect("two moves are legal");
        let text = machine.move_text(first);
        assert_eq!(machine.find_move(role, &text), Some(first));
        assert!(urgent.is_legal(role, first));
        assert!(!listing.is_finished());
        drop(waiting);
        assert_eq!(listing.join().expect("no query panics"), 2);
    }
}
