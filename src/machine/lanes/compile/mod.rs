//! From networks to programs.
//!
//! A phase of a game becomes up to three pieces: one looks at a state (who may do what, and is
//! anybody stuck), one makes the step that the drawn ranks choose, and one sees whether the game is
//! over. Where ending and legality need the same logic, the first sees to the end too, and a lane
//! that has ended is then refilled a step later.
//!
//! Phases go in lockstep or not at all: the lanes of a gang share a phase only where each phase,
//! whatever is played, leads to the same next one. Games of any other kind run on the whole game's
//! network.
//!
//! Invariants: pieces are run in the order look, step (and end, on the state that the step led to);
//! what they hand on to each other lies in slots of the phase's own. Never knows: processors,
//! widths.

mod choice;
mod circuit;
mod cover;
mod emit;
mod expander;
mod wins;

use super::program::{Place, Program};
use crate::ids::{BaseId, IdVec, MoveId, RoleId};
use crate::propnet::{Network, Node, Phases, Signal};
use choice::Choice;
use circuit::{Circuit, Literal};
use cover::{Cover, Loop};
pub use expander::{ExpanderPrograms, LegalPlaces, compile_expander};
use wins::{Mover, Seen, Turn};

/// A program, and whether it is to be run again.
#[derive(Clone, Debug)]
pub struct Part {
    /// The program.
    pub program: Program,
    /// A loop's gates: run until they do not change, from all of them off.
    pub repeat: Option<Repeat>,
}

/// The slots of a loop.
#[derive(Clone, Copy, Debug)]
pub struct Repeat {
    /// The first slot of what the gates were.
    pub old: u32,
    /// The first slot of what they become.
    pub new: u32,
    /// How many there are.
    pub n_gates: u32,
}

/// Parts to be run one after the other.
pub type Piece = Vec<Part>;

/// One role's choice in a phase.
#[derive(Clone, Debug)]
pub struct ChoicePlaces {
    /// The role.
    pub role: RoleId,
    /// The slots with the digits of the number of legal moves, lowest first.
    pub count: std::ops::Range<u32>,
    /// The slots for the digits of the rank.
    pub rank: std::ops::Range<u32>,
    /// The moves in the order that ranks count.
    pub moves: Vec<MoveId>,
}

/// A phase as programs.
#[derive(Clone, Debug)]
pub struct PhasePrograms {
    /// Counts the legal moves.
    pub look: Piece,
    /// A slot that `look` sets where nothing more can be played, if that can be so.
    pub over: Option<u32>,
    /// Makes the next state.
    pub step: Piece,
    /// Looks at a state that a step led into this phase.
    pub end: Option<Piece>,
    /// The slot that `end` sets where the game has ended.
    pub ended: u32,
    /// The roles that have a choice.
    pub choices: Vec<ChoicePlaces>,
    /// The phase that comes next.
    pub successor: usize,
    /// Slots that are named.
    pub n_slots: u32,
}

/// Goals of final states.
#[derive(Clone, Debug)]
pub struct GoalPrograms {
    /// The bases that goals hang on: the n-th is `Place::Now(n)`.
    pub bases: Vec<BaseId>,
    /// The program.
    pub piece: Piece,
    /// The first of the slots that the program stores.
    pub first: u32,
    /// Role and value of each of those slots; in each lane at most one of a role's is on.
    pub values: Vec<(RoleId, u8)>,
}

/// A game as programs.
#[derive(Clone, Debug)]
pub struct Programs {
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
pub enum Playing {
    /// All are equally likely.
    Evenly,
    /// Those that win at once come first and those that let the next role win at once come last, in
    /// phases where one role has a choice and seeing them costs little.
    Decisively,
}

/// What a step may cost in which roles win where they can, in steps in which all moves are equally
/// likely.
const DECISIVE_COST: f64 = 8.0;

/// Games whose pieces have more operations are left to other engines.
const MAX_OPERATIONS: usize = 1 << 20;

/// The slot that `look` sets where nothing more can be played.
const OVER: u32 = 0;
/// The slot that `end` sets where the game has ended.
const ENDED: u32 = 1;
/// Slots from here on are given out.
const FIRST_FREE: u32 = 2;

/// Operations of a piece, those of a loop counted once.
pub fn n_operations(piece: &[Part]) -> usize {
    piece.iter().map(|part| part.program.operations.len()).sum()
}

/// Compiles a game, whole or in phases that go in lockstep. `mean_length` is how many steps a
/// playout takes on average, roughly. Nothing when the programs would be too large, or the phases
/// do not go in lockstep.
pub fn compile(
    network: &Network,
    phases: Option<&Phases>,
    mean_length: f64,
    playing: Playing,
) -> Option<Programs> {
    if !is_small_enough(network) {
        return None;
    }
    let whole = (playing == Playing::Decisively).then_some(network);
    let (mutex_group, phases) = match phases {
        None => (Vec::new(), vec![phase(network, None, None, 0, mean_length)]),
        Some(split) => {
            let networks = split.networks.iter().zip(successors(split)?);
            let phases = networks.map(|(network, successor)| {
                let after = Some(&split.networks[successor]);
                phase(network, whole, after, successor, mean_length)
            });
            (split.mutex_group.clone(), phases.collect())
        }
    };
    let programs = Programs {
        mutex_group,
        phases,
        goals: goals(network),
        n_bases: network.facts.len(),
    };
    (programs.n_operations() <= MAX_OPERATIONS).then_some(programs)
}

/// Whether it is worth trying to compile a network.
fn is_small_enough(network: &Network) -> bool {
    network.gates.len() + network.n_edges() + network.moves.len() <= 4 * MAX_OPERATIONS
}

/// Whether each phase, whatever is played, leads to the same next one.
pub fn is_in_lockstep(phases: &Phases) -> bool {
    successors(phases).is_some()
}

/// The phase after each, if there are phases and that is always the same one.
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

impl Programs {
    /// Operations of a step, on average over the phases.
    pub fn n_operations(&self) -> usize {
        let sum: usize = self.phases.iter().map(PhasePrograms::n_operations).sum();
        sum / self.phases.len().max(1)
    }
}

impl PhasePrograms {
    /// Operations of a step.
    pub fn n_operations(&self) -> usize {
        let end = self.end.as_deref().unwrap_or_default();
        n_operations(&self.look) + n_operations(&self.step) + n_operations(end)
    }
}

/// What is known where roles win where they can.
#[derive(Clone, Copy)]
struct Decisive<'a> {
    /// The whole game.
    whole: &'a Network,
    /// The phase that comes next.
    after: Option<&'a Network>,
    seen: Seen,
    /// Operations of a step, at most.
    most: usize,
}

/// Compiles one phase; with the whole game, so that roles win in it where they can, as far as that
/// costs little.
fn phase(
    network: &Network,
    whole: Option<&Network>,
    after: Option<&Network>,
    successor: usize,
    mean_length: f64,
) -> PhasePrograms {
    let (even, is_end_in_look) = cheaper_phase(network, successor, mean_length);
    let Some(whole) = whole else { return even };
    let n_even = even.n_operations();
    let most = (DECISIVE_COST * n_even as f64) as usize;
    let mut decisive = [Seen::All, Seen::Cheap].into_iter().map(|seen| {
        let decisive = Decisive {
            whole,
            after,
            seen,
            most,
        };
        phase_with(network, Some(decisive), successor, is_end_in_look)
    });
    // Where nothing is to be seen, they are the same.
    let is_worth_it = |phase: &PhasePrograms| (n_even + 1..=most).contains(&phase.n_operations());
    decisive.find(is_worth_it).unwrap_or(even)
}

/// Compiles one phase, with the end seen to in the cheaper way, and whether that is in `look`.
fn cheaper_phase(network: &Network, successor: usize, mean_length: f64) -> (PhasePrograms, bool) {
    let together = phase_with(network, None, successor, true);
    let apart = phase_with(network, None, successor, false);
    // Together, a lane idles for a step after each playout.
    let idle = 1.0 + 1.0 / mean_length.max(1.0);
    if together.n_operations() as f64 * idle < apart.n_operations() as f64 {
        (together, true)
    } else {
        (apart, false)
    }
}

fn phase_with(
    network: &Network,
    decisive: Option<Decisive<'_>>,
    successor: usize,
    is_end_in_look: bool,
) -> PhasePrograms {
    let mut circuit = Circuit::new();
    let bases: IdVec<BaseId, Literal> = network
        .facts
        .ids()
        .map(|base| circuit.place(Place::Now(base.0)))
        .collect();
    let possible: Vec<MoveId> = network
        .legal
        .ids()
        .filter(|&mv| network.legal[mv] != Signal::FALSE)
        .collect();
    let legal: Vec<Signal> = possible.iter().map(|&mv| network.legal[mv]).collect();
    let mut n_slots = FIRST_FREE;
    // Digits of counts and ranks come before all else.
    let mut places: Vec<(RoleId, Vec<MoveId>, u32)> = Vec::new();
    for role in network.roles.ids() {
        let moves: Vec<MoveId> = possible
            .iter()
            .copied()
            .filter(|&mv| network.moves[mv].0 == role)
            .collect();
        let n_digits = usize::BITS - moves.len().leading_zeros();
        places.push((role, moves, n_slots));
        n_slots += 2 * n_digits;
    }
    let mut in_look = legal.clone();
    if is_end_in_look {
        in_look.push(network.terminal);
    }
    let outputs: Vec<Signal> = in_look
        .iter()
        .copied()
        .chain(network.next.iter().copied())
        .collect();
    let mut cover = Cover::new(network, bases.clone(), &outputs, n_slots);
    let look_loops = cover.make(&mut circuit, &in_look);
    let mut over = Literal::FALSE;
    if is_end_in_look {
        over = cover.literal(network.terminal);
    }
    let mut look_outputs = Vec::new();
    let mut choices = Vec::new();
    for (role, moves, first) in places {
        let mut legal: Vec<Literal> = moves
            .iter()
            .map(|&mv| cover.literal(network.legal[mv]))
            .collect();
        match (&moves[..], &legal[..]) {
            ([], _) => over = Literal::TRUE,
            (&[mv], &[legal]) => {
                // It is made where it can be made at all.
                cover.set_move(mv, Literal::TRUE);
                over = circuit.or(over, !legal);
            }
            _ => {
                if let Some(decisive) = decisive
                    && let Some(mover) = Mover::of(network)
                    && let Some(replier) = decisive.after.and_then(Mover::of)
                {
                    let turn = Turn {
                        whole: decisive.whole,
                        mover,
                        replier,
                        seen: decisive.seen,
                        most: 2 * decisive.most,
                    };
                    let mut tried = circuit.clone();
                    let preferred = wins::preferred(&turn, &bases, &legal, &mut tried);
                    if let Some(preferred) = preferred {
                        legal = preferred;
                        circuit = tried;
                    }
                }
                let choice = Choice::count(&mut circuit, legal);
                let n_digits = choice.total().len() as u32;
                let is_some = circuit.any(choice.total());
                over = circuit.or(over, !is_some);
                for (index, &digit) in choice.total().iter().enumerate() {
                    look_outputs.push((digit, Place::Slot(first + index as u32)));
                }
                let rank: Vec<Literal> = (0..n_digits)
                    .map(|index| circuit.place(Place::Slot(first + n_digits + index)))
                    .collect();
                let picked = choice.pick(&mut circuit, &rank);
                for (&mv, literal) in moves.iter().zip(picked) {
                    cover.set_move(mv, literal);
                }
                choices.push(ChoicePlaces {
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
        look_outputs.push((over, Place::Slot(OVER)));
    }
    let next: Vec<Signal> = network.next.iter().copied().collect();
    let step_loops = cover.make(&mut circuit, &next);
    let step_outputs: Vec<(Literal, Place)> = network
        .next
        .enumerate()
        .map(|(base, &signal)| (cover.literal(signal), Place::Next(base.0)))
        .collect();
    let n_slots = cover.n_slots();
    let (pieces, n_slots) = pieces(
        &circuit,
        vec![(look_loops, look_outputs), (step_loops, step_outputs)],
        n_slots,
    );
    let [look, step] = <[Piece; 2]>::try_from(pieces).unwrap_or_default();
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
        let mut circuit = Circuit::new();
        let bases = network
            .facts
            .ids()
            .map(|base| circuit.place(Place::Now(base.0)))
            .collect();
        let mut cover = Cover::new(network, bases, &[network.terminal], n_slots);
        let loops = cover.make(&mut circuit, &[network.terminal]);
        let outputs = vec![(cover.literal(network.terminal), Place::Slot(ENDED))];
        let (pieces, n_slots) = self::pieces(&circuit, vec![(loops, outputs)], cover.n_slots());
        phase.end = pieces.into_iter().next();
        phase.n_slots = n_slots;
    }
    phase
}

/// What a program stores, and where.
type Outputs = Vec<(Literal, Place)>;

/// The programs of pieces that are run one after the other, each after its loops.
fn pieces(
    circuit: &Circuit,
    wanted: Vec<(Vec<Loop>, Outputs)>,
    first_slot: u32,
) -> (Vec<Piece>, u32) {
    let mut stages = Vec::new();
    let mut repeats = Vec::new();
    for (piece, (loops, outputs)) in wanted.into_iter().enumerate() {
        for one in loops {
            repeats.push((
                piece,
                Some(Repeat {
                    old: one.old,
                    new: one.new,
                    n_gates: one.n_gates,
                }),
            ));
            stages.push(one.outputs);
        }
        repeats.push((piece, None));
        stages.push(outputs);
    }
    let (programs, n_slots) = circuit.stages(&stages, first_slot);
    let n_pieces = repeats.last().map_or(0, |&(piece, _)| piece + 1);
    let mut pieces: Vec<Piece> = vec![Vec::new(); n_pieces];
    for ((piece, repeat), program) in repeats.into_iter().zip(programs) {
        debug_assert_eq!(program.check(), Ok(()));
        pieces[piece].push(Part { program, repeat });
    }
    (pieces, n_slots)
}

/// Compiles the goals of the whole game.
fn goals(network: &Network) -> GoalPrograms {
    let signals: Vec<Signal> = network.goals.iter().map(|&(_, _, signal)| signal).collect();
    let bases = bases_under(network, &signals);
    let mut circuit = Circuit::new();
    let mut literals: IdVec<BaseId, Literal> =
        network.facts.iter().map(|_| Literal::FALSE).collect();
    for (index, &base) in bases.iter().enumerate() {
        literals[base] = circuit.place(Place::Now(index as u32));
    }
    let mut cover = Cover::new(network, literals, &signals, 0);
    let loops = cover.make(&mut circuit, &signals);
    let mut highest = highest_goals(network, &mut circuit, &cover);
    highest.retain(|&(_, value, _)| value > 0);
    let values = highest.iter().map(|&(role, value, _)| (role, value));
    let values = values.collect();
    let made: Vec<Literal> = highest.iter().map(|&(_, _, literal)| literal).collect();
    let first = cover.n_slots();
    let outputs: Vec<(Literal, Place)> = made
        .iter()
        .enumerate()
        .map(|(index, &literal)| (literal, Place::Slot(first + index as u32)))
        .collect();
    let n_slots = first + outputs.len() as u32;
    let (pieces, _) = pieces(&circuit, vec![(loops, outputs)], n_slots);
    GoalPrograms {
        bases,
        piece: pieces.into_iter().next().unwrap_or_default(),
        first,
        values,
    }
}

/// Per role and value, from the highest down, whether it is the highest that holds, after the goals
/// were made.
fn highest_goals(
    network: &Network,
    circuit: &mut Circuit,
    cover: &Cover<'_>,
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

/// The bases that signals hang on, in rising order.
fn bases_under(network: &Network, signals: &[Signal]) -> Vec<BaseId> {
    let mut bases = Vec::new();
    visit_under(network, signals, |node| {
        if let Node::Base(base) = node {
            bases.push(base);
        }
    });
    bases.sort_unstable();
    bases
}

/// Visits each base and move that signals hang on once.
fn visit_under(network: &Network, signals: &[Signal], mut visit: impl FnMut(Node)) {
    let n_nodes = 1 + network.facts.len() + network.moves.len() + network.gates.len();
    let mut seen = vec![false; n_nodes];
    let mut stack: Vec<Signal> = signals.to_vec();
    while let Some(signal) = stack.pop() {
        if std::mem::replace(&mut seen[signal.node_number()], true) {
            continue;
        }
        match network.node(signal) {
            Node::Gate(gate) => stack.extend(network.inputs(gate)),
            node => visit(node),
        }
    }
}
