//! Compares the counter engine, in every way in which it runs a network, and the lanes engine with
//! the prover.
//!
//! All machines of a game take the states of the same random playouts, and some unreachable states
//! and illegal moves beside them. The prover evaluates each once. The playouts of the machines must
//! agree to the last random draw.

use std::collections::BTreeSet;
use std::sync::Arc;

use panza_analysis::mutex_groups;
use panza_gdl::{BaseId, Id, MoveId, RoleId, Rules, TermId};
use panza_machine::lanes::compile::compile_expander;
use panza_machine::lanes::interpret::Features;
use panza_machine::{
    CounterLayout, CounterMachine, CounterReasoner, LanesMachine, Machine, PlayoutEnd, Reasoner,
    SpecialisedLayout,
};
use panza_propnet::{Network, Pass, PassSet, Phases, passes};
use panza_prover::{Prover, State};
use panza_sync::{Budget, Random};

/// Machines of one game, by what was done to its network and how that is run.
pub type Machines = Vec<(String, AnyMachine)>;

/// A machine to compare.
pub enum AnyMachine {
    /// It checks its counters as it goes.
    Counter(Box<CounterMachine>),
    /// It runs the compiled programs.
    Lanes(LanesMachine),
}

/// The role's legal moves, with which the questions about one move must agree. Those come first,
/// so that nothing is derived yet.
fn legal_moves(prover: &mut Prover, state: &State, role: RoleId) -> Vec<TermId> {
    let first = prover.first_legal(state, role).expect("it can be found");
    let legal = prover
        .legal_moves(state, role)
        .expect("legal moves can be proven");
    assert_eq!(first.is_some(), !legal.is_empty());
    for mv in first.iter().chain(&legal) {
        assert!(legal.contains(mv), "{} is not legal", prover.show(*mv));
        assert_eq!(prover.is_legal(state, role, *mv), Ok(true));
    }
    for other in (0..prover.roles().len()).map(RoleId::from_index) {
        for mv in prover
            .legal_moves(state, other)
            .expect("they can be proven")
        {
            let is_legal = prover.is_legal(state, role, mv).expect("it can be decided");
            assert_eq!(is_legal, legal.contains(&mv), "{}", prover.show(mv));
        }
    }
    legal
}

/// Machines with no pass, every pass and each pass alone, and in phases, each counted as a whole
/// and specialised; and by lanes.
pub fn machines(network: &Network) -> Machines {
    let mut machines = Vec::new();
    run_whole("plain", network, &mut machines);
    run_lanes("plain", network, (Features::Portable, 4), &mut machines);
    let mut sets = vec![
        ("no pass", PassSet::none()),
        ("every pass", PassSet::all()),
        ("passes as usual", PassSet::default()),
    ];
    sets.extend(Pass::all().map(|pass| (pass.name(), PassSet::only(pass))));
    for (name, set) in sets {
        let network = passes::optimise_with(network.clone(), &set, &Budget::generous());
        run_whole(name, &network, &mut machines);
    }
    let network = passes::optimise(network.clone(), &Budget::generous());
    let widest = (Features::detect(), 8);
    run_lanes("passes as usual", &network, widest, &mut machines);
    machines.extend(phased_machines(&network));
    machines
}

/// Machines in the phases that an optimised network's form shows, and in those that play shows.
pub fn phased_machines(network: &Network) -> Machines {
    let mut machines = Vec::new();
    if let Some(phases) = panza_propnet::phases(network, &Budget::generous()) {
        run_phases("phases by form", network, &phases, &mut machines);
    }
    for phases in phases_by_play(network) {
        run_phases("phases by play", network, &phases, &mut machines);
    }
    machines
}

/// Each of the phases that the player would weigh, the most promising first.
pub fn phases_by_play(network: &Network) -> Vec<Phases> {
    let whole: Arc<dyn Machine> = Arc::new(CounterMachine::new(CounterLayout::compile(network)));
    let found = mutex_groups::find(network, &whole, &Budget::generous());
    panza_propnet::shortlist(network, &found.groups, &found.played)
        .into_iter()
        .map(|group| phases_of(network, group))
        .collect()
}

/// The phases of this mutex group, with the passes as usual.
pub fn phases_of(network: &Network, group: &[BaseId]) -> Phases {
    panza_propnet::phases_of(network, group, &PassSet::default(), &Budget::generous())
        .expect("there is time")
}

/// The network counted, and specialised if it has no recursion.
fn run_whole(name: &str, network: &Network, machines: &mut Machines) {
    let layout = || CounterLayout::compile(network);
    let counted = CounterMachine::new(layout());
    machines.push((
        format!("{name}, counted"),
        AnyMachine::Counter(Box::new(counted)),
    ));
    let specialised =
        panza_propnet::specialise(network, None, &Budget::generous()).expect("there is time");
    assert_eq!(specialised.is_some(), network.blocks.is_empty(), "{name}");
    if let Some(specialised) = specialised {
        let specialised =
            SpecialisedLayout::compile(&specialised).expect("the pulled gates are not deep");
        let specialised = CounterMachine::new(layout()).specialise(Vec::new(), specialised);
        machines.push((
            format!("{name}, specialised"),
            AnyMachine::Counter(Box::new(specialised)),
        ));
    }
}

/// The network by lanes.
fn run_lanes(
    name: &str,
    network: &Network,
    (features, n_words): (Features, usize),
    machines: &mut Machines,
) {
    let counter = Arc::new(CounterMachine::new(CounterLayout::compile(network)));
    let programs = compile_expander(network).expect("the game is small enough for lanes");
    let lanes = LanesMachine::new(counter, programs, None, features, n_words);
    let name = format!("{name}, {} lanes", 64 * n_words);
    machines.push((name, AnyMachine::Lanes(lanes)));
}

/// The phases counted, and specialised if the game has no recursion.
pub fn run_phases(name: &str, network: &Network, phases: &Phases, machines: &mut Machines) {
    let group = &phases.mutex_group;
    let layouts = phases.networks.iter().map(CounterLayout::compile).collect();
    let counted =
        CounterMachine::with_phases(CounterLayout::compile(network), group.clone(), layouts);
    machines.push((
        format!("{name}, counted"),
        AnyMachine::Counter(Box::new(counted)),
    ));
    let specialised = panza_propnet::specialise(network, Some(phases), &Budget::generous())
        .expect("there is time");
    if let Some(specialised) = specialised {
        let specialised =
            SpecialisedLayout::compile(&specialised).expect("the pulled gates are not deep");
        let whole = CounterLayout::compile(network);
        let specialised = CounterMachine::new(whole).specialise(group.clone(), specialised);
        machines.push((
            format!("{name}, specialised"),
            AnyMachine::Counter(Box::new(specialised)),
        ));
    }
}

/// What the prover says of one state.
struct Answers {
    facts: BTreeSet<String>,
    is_terminal: bool,
    goals: Vec<Option<u8>>,
    /// Per role; empty when the game is over.
    legal: Vec<Vec<TermId>>,
    legal_texts: Vec<BTreeSet<String>>,
}

impl Answers {
    fn of(prover: &mut Prover, state: &State) -> Self {
        let roles = || (0..prover.roles().len()).map(RoleId::from_index);
        let (roles, facts) = (roles().collect::<Vec<_>>(), texts(prover, state));
        let is_terminal = prover.is_terminal(state).expect("terminal can be proven");
        let mut goal = |&role| prover.goal(state, role).expect("goals can be proven");
        let goals = roles.iter().map(&mut goal).collect();
        let legal: Vec<Vec<TermId>> = roles
            .iter()
            .map(|&role| match is_terminal {
                true => Vec::new(),
                false => legal_moves(prover, state, role),
            })
            .collect();
        let text = |moves: &Vec<TermId>| moves.iter().map(|&mv| prover.show(mv)).collect();
        Self {
            facts,
            is_terminal,
            goals,
            legal_texts: legal.iter().map(text).collect(),
            legal,
        }
    }

    fn is_over(&self) -> bool {
        self.is_terminal || self.legal.iter().any(Vec::is_empty)
    }
}

fn texts(prover: &Prover, state: &State) -> BTreeSet<String> {
    let facts = prover.facts(state).iter();
    facts.map(|&fact| prover.show(fact)).collect()
}

/// What a machine says of a state.
#[derive(PartialEq, Debug)]
struct Everything {
    is_terminal: bool,
    goals: Vec<Option<u8>>,
    legal: Vec<BTreeSet<String>>,
    /// The state after the first legal moves; empty when there is none.
    next: Vec<u64>,
}

/// A reasoner, in its own type where there is more to ask of it.
enum AnyReasoner {
    Counter(Box<CounterReasoner>),
    Other(Box<dyn Reasoner>),
}

impl AnyReasoner {
    fn get(&mut self) -> &mut dyn Reasoner {
        match self {
            AnyReasoner::Counter(reasoner) => reasoner.as_mut(),
            AnyReasoner::Other(reasoner) => reasoner.as_mut(),
        }
    }
}

/// One of the machines that are compared.
struct Runner {
    name: String,
    machine: Arc<dyn Machine>,
    reasoner: AnyReasoner,
    /// The state of the walk, in the machine's words.
    words: Vec<u64>,
}

impl Runner {
    fn new((name, machine): (String, AnyMachine)) -> Self {
        let (machine, reasoner): (Arc<dyn Machine>, AnyReasoner) = match machine {
            AnyMachine::Counter(machine) => {
                let machine: Arc<CounterMachine> = Arc::from(machine);
                let reasoner = Arc::clone(&machine).counter_reasoner();
                (machine, AnyReasoner::Counter(Box::new(reasoner)))
            }
            AnyMachine::Lanes(machine) => {
                let machine = Arc::new(machine);
                let reasoner = Arc::clone(&machine).reasoner();
                (machine, AnyReasoner::Other(reasoner))
            }
        };
        Self {
            name,
            reasoner,
            words: machine.initial_state(),
            machine,
        }
    }

    fn check(&self, place: &str) {
        if let AnyReasoner::Counter(reasoner) = &self.reasoner
            && let Err(error) = reasoner.check()
        {
            panic!("{place}, {}: {error}", self.name);
        }
    }

    /// The joint move in the machine's numbers. The machine has a number for each move that was
    /// ever legal.
    fn joint_move(&self, texts: &[String]) -> Vec<MoveId> {
        let texts = texts.iter().enumerate();
        let moves = texts.map(|(role, text)| {
            let mv = self
                .machine
                .info()
                .find_move(RoleId::from_index(role), text);
            mv.unwrap_or_else(|| panic!("{}: no move {text}", self.name))
        });
        moves.collect()
    }

    fn legal_texts(&mut self, role: usize) -> BTreeSet<String> {
        let legal = self.reasoner.get().legal_moves(RoleId::from_index(role));
        let legal = legal.to_vec();
        let texts: BTreeSet<String> = legal
            .iter()
            .map(|&mv| self.machine.info().move_text(mv))
            .collect();
        assert_eq!(texts.len(), legal.len(), "{}: a move twice", self.name);
        texts
    }

    /// Stands on a state and compares everything there is to say about it.
    fn compare_state(&mut self, place: &str, words: &[u64], answers: &Answers) {
        let place = format!("{place}, {}", self.name);
        self.reasoner.get().set_state(words);
        self.check(&place);
        let found: BTreeSet<String> = self.machine.info().state_facts(words).into_iter().collect();
        assert_eq!(found, answers.facts, "{place}: facts");
        assert_eq!(
            self.reasoner.get().is_terminal(),
            answers.is_terminal,
            "{place}"
        );
        let mut goals = vec![None; self.machine.info().n_roles()];
        self.reasoner.get().goals(&mut goals);
        for (role, expected) in answers.goals.iter().enumerate() {
            assert_eq!(goals[role], *expected, "{place}: goal of role {role}");
            if !answers.is_terminal {
                let (found, expected) = (self.legal_texts(role), &answers.legal_texts[role]);
                assert_eq!(found, *expected, "{place}: legal moves of role {role}");
            }
        }
    }

    /// The state after a joint move, from where the walk stands.
    fn next_state(&mut self, place: &str, moves: &[String]) -> Vec<u64> {
        let joint_move = self.joint_move(moves);
        let mut next = Vec::new();
        self.reasoner.get().next_state(&joint_move, &mut next);
        self.check(place);
        next
    }

    /// States of other widths are cut, or padded with false.
    fn compare_widths(&mut self, place: &str) {
        let place = format!("{place}, {}", self.name);
        let everywhere = vec![u64::MAX; self.words.len()];
        let n_bases = self.machine.info().state_facts(&everywhere).len();
        let mut wide = self.words.clone();
        wide.extend([u64::MAX, 5]);
        if !n_bases.is_multiple_of(64) {
            wide[n_bases / 64] |= u64::MAX << (n_bases % 64);
        }
        let (short, mut padded) = (
            self.words[..self.words.len() - 1].to_vec(),
            self.words.clone(),
        );
        padded.pop();
        padded.push(0);
        for (odd, same) in [(&wide, self.words.clone()), (&short, padded)] {
            self.reasoner.get().set_state(odd);
            self.check(&place);
            let found = self.everything();
            self.reasoner.get().set_state(&same);
            assert_eq!(found, self.everything(), "{place}: width");
        }
        self.machine.info().state_facts(&wide);
        assert!(self.machine.info().state_facts(&[]).is_empty());
    }

    /// What the reasoner says where it stands, and after the first legal moves.
    fn everything(&mut self) -> Everything {
        let n_roles = self.machine.info().n_roles();
        let mut goals = vec![None; n_roles];
        self.reasoner.get().goals(&mut goals);
        let legal: Vec<_> = (0..n_roles).map(|role| self.legal_texts(role)).collect();
        let first: Vec<String> = legal
            .iter()
            .flat_map(|legal| legal.first().cloned())
            .collect();
        let mut next = Vec::new();
        if first.len() == n_roles {
            next = self.next_state("another width", &first);
        }
        Everything {
            is_terminal: self.reasoner.get().is_terminal(),
            goals,
            legal,
            next,
        }
    }

    /// Plays from where the walk stands: how it ended, the goals, and the next random word.
    fn playout(&mut self, place: &str, seed: u64, max_steps: u32) -> (PlayoutEnd, Vec<u8>, u64) {
        let mut random = Random::new(seed);
        let mut goals = vec![0; self.machine.info().n_roles()];
        self.reasoner.get().set_state(&self.words);
        let end = self
            .reasoner
            .get()
            .playout(&mut random, max_steps, &mut goals);
        self.check(place);
        if end == PlayoutEnd::CutOff {
            goals.clear();
        }
        (end, goals, random.bits())
    }
}

/// Walks random playouts of up to `max_steps` joint moves with all machines until `max_states`
/// states were compared.
pub fn compare(name: &str, rules: &Rules, machines: Machines, max_states: usize, max_steps: usize) {
    let mut runners: Vec<Runner> = machines.into_iter().map(Runner::new).collect();
    assert!(!runners.is_empty(), "{name}: nothing to compare");
    let mut prover = Prover::new(rules).expect("the prover takes the game");
    let mut random = Random::new(1);
    let n_roles = prover.roles().len();
    let mut beside = Beside {
        moves: vec![BTreeSet::new(); n_roles],
        facts: BTreeSet::new(),
    };
    let mut states = 0;
    while states < max_states {
        let mut state = prover.initial_state();
        for runner in &mut runners {
            assert_eq!(runner.machine.info().n_roles(), n_roles, "{name}: roles");
            runner.words = runner.machine.initial_state();
        }
        for step in 0..=max_steps {
            let place = format!("{name}, state {states}, step {step}");
            states += 1;
            let answers = Answers::of(&mut prover, &state);
            for runner in &mut runners {
                let words = std::mem::take(&mut runner.words);
                runner.compare_state(&place, &words, &answers);
                runner.words = words;
            }
            beside.note(&prover, &state, &answers);
            match random.below(8) {
                0 => beside.compare_moves(&place, &mut prover, &state, &mut runners, &mut random),
                1 => beside.compare_states(&place, &mut prover, &mut runners, &mut random),
                2 => compare_playouts(&place, &mut runners, &mut random),
                3 => runners
                    .iter_mut()
                    .for_each(|runner| runner.compare_widths(&place)),
                _ => {}
            }
            if answers.is_over() || step == max_steps {
                break;
            }
            let moves: Vec<TermId> = answers
                .legal
                .iter()
                .map(|legal| legal[random.below(legal.len() as u32) as usize])
                .collect();
            let shown: Vec<String> = moves.iter().map(|&mv| prover.show(mv)).collect();
            state = prover
                .next_state(&state, &moves)
                .expect("the next state can be proven");
            for runner in &mut runners {
                // What was asked beside the walk may have left the reasoner anywhere.
                runner.reasoner.get().set_state(&runner.words);
                runner.words = runner.next_state(&place, &shown);
            }
        }
    }
}

/// Playouts from one state are the same on every machine: moves have the same numbers in all of
/// them.
fn compare_playouts(place: &str, runners: &mut [Runner], random: &mut Random) {
    let (seed, max_steps) = (random.bits(), [0, 1, 7, 2000][random.below(4) as usize]);
    let mut expected = None;
    for runner in runners {
        let found = runner.playout(place, seed, max_steps);
        let expected = expected.get_or_insert_with(|| found.clone());
        assert_eq!(found, *expected, "{place}, {}: playout", runner.name);
    }
}

/// Moves and facts that were met, from which to make what the game does not allow.
struct Beside {
    moves: Vec<BTreeSet<String>>,
    facts: BTreeSet<String>,
}

impl Beside {
    fn note(&mut self, prover: &Prover, state: &State, answers: &Answers) {
        self.facts.extend(texts(prover, state));
        for (known, legal) in self.moves.iter_mut().zip(&answers.legal_texts) {
            known.extend(legal.iter().cloned());
        }
    }

    /// After a joint move that is likely not to be legal, the rules still say what holds.
    fn compare_moves(
        &self,
        place: &str,
        prover: &mut Prover,
        state: &State,
        runners: &mut [Runner],
        random: &mut Random,
    ) {
        if self.moves.iter().any(BTreeSet::is_empty) {
            return;
        }
        let any = |moves: &BTreeSet<String>, random: &mut Random| {
            let place = random.below(moves.len() as u32) as usize;
            moves.iter().nth(place).cloned().expect("there are so many")
        };
        let moves: Vec<String> = self.moves.iter().map(|moves| any(moves, random)).collect();
        let terms: Vec<TermId> = moves
            .iter()
            .flat_map(|text| prover.read_term(text))
            .collect();
        let next = prover
            .next_state(state, &terms)
            .expect("the next state can be proven");
        let answers = Answers::of(prover, &next);
        for runner in runners {
            let place = format!("{place}, beside, {moves:?}");
            runner.reasoner.get().set_state(&runner.words);
            let words = runner.next_state(&place, &moves);
            runner.compare_state(&place, &words, &answers);
        }
    }

    /// States of facts thrown together, with all facts of the mutex group, some, or none.
    fn compare_states(
        &self,
        place: &str,
        prover: &mut Prover,
        runners: &mut [Runner],
        random: &mut Random,
    ) {
        let share = random.below(4);
        let facts: Vec<String> = self
            .facts
            .iter()
            .filter(|_| random.below(4) < share)
            .cloned()
            .collect();
        let terms: Vec<TermId> = facts
            .iter()
            .flat_map(|text| prover.read_term(text))
            .collect();
        let state = prover.state_from_facts(&terms);
        let answers = Answers::of(prover, &state);
        for runner in &mut *runners {
            let words = runner.machine.info().state_from_facts(&facts);
            let words = words.expect("the facts were met");
            runner.compare_state(&format!("{place}, beside"), &words, &answers);
            let before = std::mem::replace(&mut runner.words, words);
            runner.playout(place, 3, 20);
            runner.words = before;
        }
    }
}
