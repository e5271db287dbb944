//! From networks to straight-line programs.
//!
//! A phase has up to three programs. `look` counts the legal moves and finds roles without one,
//! `step` computes the next state for the drawn ranks, `end` computes terminality. Where
//! terminality shares most logic with legality, `look` computes it, and a lane is refilled a step
//! later.
//!
//! The lanes of a gang are in one phase, so phases are used only where each has the same successor
//! whatever is played. Other games run on the whole game's network.
//!
//! Invariants: the programs run in the order look, step (and end, on the next state); values passed
//! between them are in slots of the phase. Never uses: processors, widths.

mod at_once;
mod block;
mod choice;
mod circuit;
mod cover;
mod emit;
mod expander;
mod wins;

use super::program::{Location, Program};
use at_once::{LegalMoves, choosing_at_once, preferred_at_once};
use choice::Choice;
use circuit::{Circuit, Literal, Stage};
use cover::LutCover;
pub use expander::{ExpanderPrograms, LegalSlots, compile_expander};
use panza_gdl::{BaseId, IdVec, MoveId, RoleId};
use panza_propnet::{Network, Node, Phases, Signal};
use panza_sync::Budget;
use wins::{CandidateScope, DecisiveTurn, Mover};

/// Programs that run one after the other.
pub type SectionedProgram = Vec<Program>;

/// One role's choice in a phase.
#[derive(Clone, Debug)]
pub struct ChoiceSlots {
    /// The role.
    pub role: RoleId,
    /// The slots with the digits of the number of legal moves, lowest first.
    pub count: std::ops::Range<u32>,
    /// The slots for the digits of the rank.
    pub rank: std::ops::Range<u32>,
    /// The moves in the order of ranks.
    pub moves: Vec<MoveId>,
}

/// The programs of a phase.
#[derive(Clone, Debug)]
pub struct PhasePrograms {
    /// Counts the legal moves.
    pub look: SectionedProgram,
    /// The slot that `look` sets where the playout is over, if that is possible.
    pub over: Option<u32>,
    /// Computes the next state.
    pub step: SectionedProgram,
    /// Computes terminality of a state that a step led to.
    pub end: Option<SectionedProgram>,
    /// The slot that `end` sets where the game has ended.
    pub ended: u32,
    /// The roles that have a choice.
    pub choices: Vec<ChoiceSlots>,
    /// The next phase.
    pub successor: usize,
    /// The number of named slots.
    pub n_slots: u32,
}

/// The program of the goals of final states.
#[derive(Clone, Debug)]
pub struct GoalPrograms {
    /// The bases that goals depend on: the n-th is at `Location::Now(n)`.
    pub bases: Vec<BaseId>,
    /// The program.
    pub program: SectionedProgram,
    /// The first of the slots that the program stores.
    pub first: u32,
    /// Role and value of each slot; in each lane at most one of a role's is on.
    pub values: Vec<(RoleId, u8)>,
}

/// The programs of a gang.
#[derive(Clone, Debug)]
pub struct GangPrograms {
    /// The bases that say which phase a state is in; none if there is one phase.
    pub mutex_group: Vec<BaseId>,
    /// The phases, in the order of the mutex group.
    pub phases: Vec<PhasePrograms>,
    /// The goals.
    pub goals: GoalPrograms,
    /// Vectors of a state.
    pub n_bases: usize,
}

/// How roles choose among their legal moves in playouts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlayoutPolicy {
    /// Uniformly.
    Uniform,
    /// Decisive and anti-decisive moves (Teytaud and Teytaud, 2010), in phases where one role has a
    /// choice; where several choose at once, those that decide whatever the others do. Only where
    /// the detection is cheap enough.
    Decisive,
}

/// The most that a step with decisive moves may cost, in uniform steps.
const DECISIVE_COST: f64 = 8.0;

/// Games with larger programs are left to other engines.
const MAX_OPERATIONS: usize = 1 << 20;
/// The same for the programs of all phases together, which become machine code.
const MAX_OPERATIONS_OF_PHASES: usize = 1 << 22;

/// The slot that `look` sets where the playout is over.
const OVER: u32 = 0;
/// The slot that `end` sets where the game has ended.
const ENDED: u32 = 1;
const FIRST_FREE: u32 = 2;

/// The operations of a piece, those of a loop counted once.
pub fn n_operations(piece: &[Program]) -> usize {
    piece.iter().map(|program| program.operations.len()).sum()
}

/// Compiles a game, whole or in phases with fixed successors. `mean_length` is the approximate
/// length of a playout in steps. `None` when the programs would be too large, a phase has several
/// successors, or the game is no longer needed.
pub fn compile(
    network: &Network,
    phases: Option<&Phases>,
    mean_length: f64,
    policy: PlayoutPolicy,
    limits: &Budget,
) -> Option<GangPrograms> {
    let networks = phases.map_or(&[][..], |split| &split.networks);
    let are_monotone = block::are_monotone(network) && networks.iter().all(block::are_monotone);
    if !is_small_enough(network) || !are_monotone || limits.is_stopped() {
        return None;
    }
    let whole = (policy == PlayoutPolicy::Decisive).then_some(network);
    let (mutex_group, phases) = match phases {
        None => (
            Vec::new(),
            vec![phase(network, whole, None, 0, mean_length)],
        ),
        Some(split) => {
            let networks = split.networks.iter().zip(successors(split)?);
            let mut phases = Vec::new();
            let mut left = MAX_OPERATIONS_OF_PHASES;
            for (network, successor) in networks {
                let after = Some(&split.networks[successor]);
                let made = phase(network, whole, after, successor, mean_length);
                left = left.checked_sub(made.n_operations())?;
                if limits.is_stopped() {
                    return None;
                }
                phases.push(made);
            }
            (split.mutex_group.clone(), phases)
        }
    };
    let programs = GangPrograms {
        mutex_group,
        phases,
        goals: goals(network),
        n_bases: network.facts.len(),
    };
    (programs.n_operations() <= MAX_OPERATIONS).then_some(programs)
}

fn is_small_enough(network: &Network) -> bool {
    network.gates.len() + network.n_edges() + network.moves.len() <= 4 * MAX_OPERATIONS
}

/// Whether each phase has one successor, whatever is played.
pub fn is_in_lockstep(phases: &Phases) -> bool {
    successors(phases).is_some()
}

/// The successor of each phase, if there are phases and each has only one.
fn successors(phases: &Phases) -> Option<Vec<usize>> {
    if phases.networks.is_empty() {
        return None;
    }
    phases
        .networks
        .iter()
        .map(|network| {
            let mut next = phases.mutex_group.iter().map(|&base| network.next[base]);
            let successor = next.position(|signal| signal == Signal::TRUE)?;
            let mut others = phases.mutex_group.iter().enumerate();
            let is_sure = others
                .all(|(index, &base)| index == successor || network.next[base] == Signal::FALSE);
            is_sure.then_some(successor)
        })
        .collect()
}

impl GangPrograms {
    /// The operations of a step, on average over the phases.
    pub fn n_operations(&self) -> usize {
        let sum: usize = self.phases.iter().map(PhasePrograms::n_operations).sum();
        sum / self.phases.len().max(1)
    }
}

impl PhasePrograms {
    /// The operations of a step.
    pub fn n_operations(&self) -> usize {
        let end = self.end.as_deref().unwrap_or_default();
        n_operations(&self.look) + n_operations(&self.step) + n_operations(end)
    }
}

#[derive(Clone, Copy)]
struct DecisiveMoves<'a> {
    whole: &'a Network,
    after: Option<&'a Network>,
    scope: CandidateScope,
    max_operations: usize,
}

/// Compiles one phase; with decisive moves if the whole game is given and they are cheap enough.
fn phase(
    network: &Network,
    whole: Option<&Network>,
    after: Option<&Network>,
    successor: usize,
    mean_length: f64,
) -> PhasePrograms {
    let together = phase_with(network, None, successor, true);
    let apart = phase_with(network, None, successor, false);
    // With `end` merged into `look`, a lane idles for a step after each playout.
    let idle = 1.0 + 1.0 / mean_length.max(1.0);
    let is_end_in_look = together.n_operations() as f64 * idle < apart.n_operations() as f64;
    let uniform = if is_end_in_look { together } else { apart };
    let Some(whole) = whole else { return uniform };
    let n_uniform = uniform.n_operations();
    let max_operations = (DECISIVE_COST * n_uniform as f64) as usize;
    let scopes = [CandidateScope::All, CandidateScope::Cheap];
    let mut phases = scopes.into_iter().map(|scope| {
        let decisive = DecisiveMoves {
            whole,
            after,
            scope,
            max_operations,
        };
        phase_with(network, Some(decisive), successor, is_end_in_look)
    });
    // Phases without decisive moves have the size of the uniform one.
    let is_worth_it =
        |phase: &PhasePrograms| (n_uniform + 1..=max_operations).contains(&phase.n_operations());
    phases.find(is_worth_it).unwrap_or(uniform)
}

/// The slots of counts and ranks of each role's possible moves, from `n_slots` on, which grows.
fn slots_of_roles(
    network: &Network,
    possible: &[MoveId],
    n_slots: &mut u32,
) -> Vec<(RoleId, Vec<MoveId>, u32)> {
    let of_role = |role: RoleId| {
        let moves = possible.iter().copied();
        let moves: Vec<MoveId> = moves.filter(|&mv| network.moves[mv].0 == role).collect();
        let n_digits = usize::BITS - moves.len().leading_zeros();
        let first = *n_slots;
        *n_slots += 2 * n_digits;
        (role, moves, first)
    };
    network.roles.ids().map(of_role).collect()
}

fn phase_with(
    network: &Network,
    decisive: Option<DecisiveMoves<'_>>,
    successor: usize,
    is_end_in_look: bool,
) -> PhasePrograms {
    let mut circuit = Circuit::new();
    let bases = current_bases(network, &mut circuit);
    let possible: Vec<MoveId> = network
        .legal
        .ids()
        .filter(|&mv| network.legal[mv] != Signal::FALSE)
        .collect();
    let legal: Vec<Signal> = possible.iter().map(|&mv| network.legal[mv]).collect();
    let mut n_slots = FIRST_FREE;
    // The slots of counts and ranks come first.
    let locations = slots_of_roles(network, &possible, &mut n_slots);
    let mut in_look = legal.clone();
    if is_end_in_look {
        in_look.push(network.terminal);
    }
    let outputs: Vec<Signal> = in_look
        .iter()
        .copied()
        .chain(network.next.iter().copied())
        .collect();
    let mut cover = LutCover::new(network, bases.clone(), &outputs, n_slots);
    let look_loops = cover.make(&mut circuit, &in_look);
    let mut over = Literal::FALSE;
    if is_end_in_look {
        over = cover.literal(network.terminal);
    }
    let mut look_outputs = Vec::new();
    let mut choices = Vec::new();
    let legal_moves = legal_moves(network, decisive, &bases, &cover, &locations, &mut circuit);
    for (role, moves, first) in locations {
        let mut legal: Vec<Literal> = legal_moves[role].iter().map(|&(_, legal)| legal).collect();
        match (&moves[..], &legal[..]) {
            ([], _) => over = Literal::TRUE,
            (&[mv], &[legal]) => {
                // The role's only move is made wherever it is legal.
                cover.set_move(mv, Literal::TRUE);
                over = circuit.or(over, !legal);
            }
            _ => {
                if let Some(decisive) = decisive {
                    prefer_decisive(network, decisive, &bases, &mut legal, &mut circuit);
                }
                let choice = Choice::count(&mut circuit, legal);
                let n_digits = choice.total().len() as u32;
                let is_some = circuit.any(choice.total());
                over = circuit.or(over, !is_some);
                for (index, &digit) in choice.total().iter().enumerate() {
                    look_outputs.push((digit, Location::Slot(first + index as u32)));
                }
                let rank: Vec<Literal> = (0..n_digits)
                    .map(|index| circuit.location(Location::Slot(first + n_digits + index)))
                    .collect();
                let picked = choice.pick(&mut circuit, &rank);
                for (&mv, literal) in moves.iter().zip(picked) {
                    cover.set_move(mv, literal);
                }
                choices.push(ChoiceSlots {
                    role,
                    count: first..first + n_digits,
                    rank: first + n_digits..first + 2 * n_digits,
                    moves,
                });
            }
        }
    }
    let is_over_possible = over != Literal::FALSE;
    if is_over_possible {
        look_outputs.push((over, Location::Slot(OVER)));
    }
    let next: Vec<Signal> = network.next.iter().copied().collect();
    let step_loops = cover.make(&mut circuit, &next);
    let step_outputs: Vec<(Literal, Location)> = network
        .next
        .enumerate()
        .map(|(base, &signal)| (cover.literal(signal), Location::Next(base.0)))
        .collect();
    let n_slots = cover.n_slots();
    let (pieces, n_slots) = sectioned_programs(
        &circuit,
        vec![(look_loops, look_outputs), (step_loops, step_outputs)],
        n_slots,
    );
    let [look, step] = <[SectionedProgram; 2]>::try_from(pieces).unwrap_or_default();
    let mut phase = PhasePrograms {
        look,
        over: is_over_possible.then_some(OVER),
        step,
        end: None,
        ended: ENDED,
        choices,
        successor,
        n_slots,
    };
    if !is_end_in_look && network.terminal != Signal::FALSE {
        add_end(network, &mut phase);
    }
    phase
}

/// The legality of each role's possible moves; where several roles choose at once, of those that
/// are preferred.
fn legal_moves(
    network: &Network,
    decisive: Option<DecisiveMoves<'_>>,
    bases: &IdVec<BaseId, Literal>,
    cover: &LutCover<'_>,
    locations: &[(RoleId, Vec<MoveId>, u32)],
    circuit: &mut Circuit,
) -> LegalMoves {
    let mut legal: LegalMoves = locations
        .iter()
        .map(|(_, moves, _)| {
            let legal = |&mv: &MoveId| (mv, cover.literal(network.legal[mv]));
            moves.iter().map(legal).collect()
        })
        .collect();
    if let Some(decisive) = decisive {
        prefer_at_once(network, decisive, bases, &mut legal, circuit);
    }
    legal
}

/// Leaves only the moves that are preferred as decisive ones, where that is no circuit too large.
fn prefer_decisive(
    network: &Network,
    decisive: DecisiveMoves<'_>,
    bases: &IdVec<BaseId, Literal>,
    legal: &mut Vec<Literal>,
    circuit: &mut Circuit,
) {
    let mover = Mover::of(network).zip(decisive.after);
    let Some((mover, replier)) = mover.and_then(|(mover, after)| {
        let replier = mover.replier(after)?;
        Some((mover, replier))
    }) else {
        return;
    };
    let turn = DecisiveTurn {
        whole: decisive.whole,
        mover,
        replier,
        scope: decisive.scope,
        max_nodes: 2 * decisive.max_operations,
    };
    let mut tried = circuit.clone();
    if let Some(preferred) = wins::preferred(&turn, bases, legal, &mut tried) {
        *legal = preferred;
        *circuit = tried;
    }
}

/// The same where several roles choose at once.
fn prefer_at_once(
    network: &Network,
    decisive: DecisiveMoves<'_>,
    bases: &IdVec<BaseId, Literal>,
    legal: &mut LegalMoves,
    circuit: &mut Circuit,
) {
    if decisive.scope == CandidateScope::Cheap {
        return;
    }
    let (whole, max_nodes) = (decisive.whole, 2 * decisive.max_operations);
    let Some(choosing) = choosing_at_once(whole, network, legal) else {
        return;
    };
    let mut tried = circuit.clone();
    let preferred = preferred_at_once(
        whole, network, bases, legal, &choosing, &mut tried, max_nodes,
    );
    if let Some(preferred) = preferred {
        *legal = preferred;
        *circuit = tried;
    }
}

/// Adds the program that computes which lanes are terminal.
fn add_end(network: &Network, phase: &mut PhasePrograms) {
    let mut circuit = Circuit::new();
    let bases = current_bases(network, &mut circuit);
    let mut cover = LutCover::new(network, bases, &[network.terminal], phase.n_slots);
    let loops = cover.make(&mut circuit, &[network.terminal]);
    let outputs = vec![(cover.literal(network.terminal), Location::Slot(ENDED))];
    let (pieces, n_slots) = sectioned_programs(&circuit, vec![(loops, outputs)], cover.n_slots());
    phase.end = pieces.into_iter().next();
    phase.n_slots = n_slots;
}

/// The literals of the bases in the current state.
fn current_bases(network: &Network, circuit: &mut Circuit) -> IdVec<BaseId, Literal> {
    let bases = network.facts.ids();
    bases
        .map(|base| circuit.location(Location::Now(base.0)))
        .collect()
}

type Outputs = Vec<(Literal, Location)>;

/// The programs of consecutive pieces, each after its loops.
fn sectioned_programs(
    circuit: &Circuit,
    wanted: Vec<(Vec<Stage>, Outputs)>,
    first_slot: u32,
) -> (Vec<SectionedProgram>, u32) {
    let n_pieces = wanted.len();
    let mut stages = Vec::new();
    let mut piece_of = Vec::new();
    for (piece, (loops, outputs)) in wanted.into_iter().enumerate() {
        for repeated in loops {
            stages.push(Stage {
                early: circuit.loop_invariants(&repeated),
                ..Stage::default()
            });
            stages.push(repeated);
        }
        stages.push(Stage {
            outputs,
            ..Stage::default()
        });
        piece_of.resize(stages.len(), piece);
    }
    let (programs, n_slots) = circuit.stages(&stages, first_slot);
    let mut pieces: Vec<SectionedProgram> = vec![Vec::new(); n_pieces];
    for (piece, program) in piece_of.into_iter().zip(programs) {
        debug_assert_eq!(program.check(), Ok(()));
        if !program.stores.is_empty() {
            pieces[piece].push(program);
        }
    }
    (pieces, n_slots)
}

/// Compiles the goals of the whole game, except those of value 0.
fn goals(network: &Network) -> GoalPrograms {
    let signals: Vec<Signal> = network.goals.iter().map(|&(_, _, signal)| signal).collect();
    let (bases, _) = leaves_under(network, &signals);
    let mut circuit = Circuit::new();
    let mut literals: IdVec<BaseId, Literal> =
        network.facts.iter().map(|_| Literal::FALSE).collect();
    for (index, &base) in bases.iter().enumerate() {
        literals[base] = circuit.location(Location::Now(index as u32));
    }
    let (program, goals, _) = goal_program(network, circuit, literals, 0, 1);
    GoalPrograms {
        bases,
        program,
        first: goals.first().map_or(0, |&(_, _, slot)| slot),
        values: goals
            .iter()
            .map(|&(role, value, _)| (role, value))
            .collect(),
    }
}

/// The program of goals of at least `min_value`; role, value and slot of each, the slots
/// consecutive; and the first slot above. Slots from `first_slot` on are free.
fn goal_program(
    network: &Network,
    mut circuit: Circuit,
    bases: IdVec<BaseId, Literal>,
    first_slot: u32,
    min_value: u8,
) -> (SectionedProgram, Vec<(RoleId, u8, u32)>, u32) {
    let signals: Vec<Signal> = network.goals.iter().map(|&(_, _, signal)| signal).collect();
    let mut cover = LutCover::new(network, bases, &signals, first_slot);
    let loops = cover.make(&mut circuit, &signals);
    let mut highest = highest_goals(network, &mut circuit, &cover);
    highest.retain(|&(_, value, _)| value >= min_value);
    let mut outputs: Outputs = Vec::with_capacity(highest.len());
    let mut goals = Vec::with_capacity(highest.len());
    for ((role, value, literal), slot) in highest.into_iter().zip(cover.n_slots()..) {
        outputs.push((literal, Location::Slot(slot)));
        goals.push((role, value, slot));
    }
    let n_named = cover.n_slots() + goals.len() as u32;
    let (programs, n_slots) = sectioned_programs(&circuit, vec![(loops, outputs)], n_named);
    (
        programs.into_iter().next().unwrap_or_default(),
        goals,
        n_slots,
    )
}

/// Per role and value, from the highest down, whether it is the highest that holds. The goals'
/// literals have to be made before.
fn highest_goals(
    network: &Network,
    circuit: &mut Circuit,
    cover: &LutCover<'_>,
) -> Vec<(RoleId, u8, Literal)> {
    let mut made = Vec::new();
    for role in network.roles.ids() {
        let mut of_role: Vec<(u8, Literal)> = network
            .goals
            .iter()
            .filter(|&&(of, _, _)| of == role)
            .map(|&(_, value, signal)| (value, cover.literal(signal)))
            .collect();
        of_role.sort_by_key(|&(value, _)| std::cmp::Reverse(value));
        let mut higher = Literal::FALSE;
        for same in of_role.chunk_by(|left, right| left.0 == right.0) {
            let all: Vec<Literal> = same.iter().map(|&(_, literal)| literal).collect();
            let any = circuit.any(&all);
            made.push((role, same[0].0, circuit.and(any, !higher)));
            higher = circuit.or(higher, any);
        }
    }
    made
}

/// The bases and moves that signals depend on, in rising order.
fn leaves_under(network: &Network, signals: &[Signal]) -> (Vec<BaseId>, Vec<MoveId>) {
    let (mut bases, mut moves) = (Vec::new(), Vec::new());
    let mut visited = vec![false; network.n_nodes()];
    let mut stack: Vec<Signal> = signals.to_vec();
    while let Some(signal) = stack.pop() {
        if std::mem::replace(&mut visited[signal.node_number()], true) {
            continue;
        }
        match network.node(signal) {
            Node::Gate(gate) => stack.extend(network.inputs(gate)),
            Node::Base(base) => bases.push(base),
            Node::Move(mv) => moves.push(mv),
            Node::False => {}
        }
    }
    bases.sort_unstable();
    moves.sort_unstable();
    (bases, moves)
}
