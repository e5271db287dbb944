//! Learning: an evaluation from games that a machine plays against itself, hundreds abreast.
//!
//! In each state every move is made and what it leads to is evaluated; a good one is taken, not
//! always the best. When a game is over, each of its states is shown to the evaluation with the
//! goals that came of it, mixed with what was thought of the states in between (Sutton's temporal
//! differences, 1988). What is learned is played at once, so that both get better together, as
//! Tesauro's backgammon player did (1995), at the speed at which a machine looks at positions.
//!
//! Invariants: the same machine, seed and number of games learn the same; each game has a bound in
//! moves.
//!
//! Never knows: trees, GDL text, what a fact means.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::evaluation::{Evaluation, Teacher, fraction};
use super::foresight::{self, Foresight};
use crate::ids::{Id, MoveId, RoleId};
use crate::machine::random::Random;
use crate::machine::wide::widely;
use crate::machine::{Expander, Machine, Positions, Step};

/// How much may be learned.
#[derive(Clone, Copy, Debug)]
pub struct LearningBudget<'a> {
    /// Games.
    pub games: usize,
    /// No state is looked at after this time.
    pub until: Option<Instant>,
    /// True once nobody waits for it any more.
    pub cancelled: Option<&'a AtomicBool>,
    /// Fixes the games.
    pub seed: u64,
}

impl LearningBudget<'_> {
    pub(super) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
            || self
                .cancelled
                .is_some_and(|cancelled| cancelled.load(Ordering::Relaxed))
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Learned {
    /// What states promise.
    pub evaluation: Evaluation,
    /// Games that it was learned from, those from before included.
    pub games: usize,
    /// Joint moves of a game, on average over all that were played this time.
    pub mean_length: f64,
    /// How well it foretells games that it was not taught by, beside playouts.
    pub foresight: Foresight,
}

/// Positions by which foresight is compared.
const COMPARED: usize = 1500;
/// One in so many positions of a game is taken: neighbours tell the same.
const TAKEN: u32 = 4;
/// The share of the time that comparing may take.
const COMPARING: u32 = 6;

/// Games abreast.
const ABREAST: usize = 128;
/// About so many joint moves are looked at before the clock is: some milliseconds of even a slow
/// game.
const AT_ONCE: usize = 2048;
/// A game with more joint moves is given up.
const LONGEST: usize = 500;
/// So many of a role's moves are looked at, drawn at random where there are more.
const MOST_MOVES: usize = 64;
/// How much what happened counts against what was thought a move later.
const TRUST: f32 = 0.85;
/// For so many games what was thought counts for nothing, since nothing is known yet; after as many
/// more it counts in full.
const GREEN: usize = 3000;
/// How far chance moves the choice between moves; in units before the squash.
const WARMTH: f32 = 0.3;
/// Joint moves at the start that are made at random, at most.
const OPENING: u32 = 10;
/// Length of a step.
const RATE: f32 = 0.08;
/// Games from which on it is told whether goals always have the same sum.
const GAMES_FOR_SUM: usize = 256;

/// Learns from games of the machine, further from what is known where something is: an evaluation,
/// and the games it was learned from.
///
/// Nothing for games of more roles than are evaluated, and for machines whose states are not sets
/// of facts.
pub fn learn(
    machine: &Arc<dyn Machine>,
    known: Option<(Evaluation, usize)>,
    budget: LearningBudget<'_>,
) -> Option<Learned> {
    let n_facts = machine.info().facts()?.len();
    let mut random = Random::new(budget.seed);
    let n_roles = machine.info().n_roles();
    let initial = machine.initial_state();
    let known = known.filter(|(known, _)| known.n_roles() == n_roles && known.n_facts() == n_facts);
    let (evaluation, experience) = match known {
        Some(known) => known,
        None => {
            let sum = constant_sum(machine, &mut random, budget);
            (Evaluation::new(n_roles, n_facts, sum, &mut random)?, 0)
        }
    };
    let mut school = School {
        expander: Arc::clone(machine).expander(),
        n_roles,
        initial,
        teacher: Teacher::new(evaluation, RATE),
        random,
        games: Vec::new(),
        positions: Positions::default(),
        experience,
        finished: 0,
        moves: 0,
        given_up: 0,
        taken: None,
    };
    let started = Instant::now();
    let taught_until = budget
        .until
        .map(|until| until - until.saturating_duration_since(started) / COMPARING);
    school.run(LearningBudget {
        until: taught_until,
        ..budget
    });
    let games = experience + school.finished;
    school.games.clear();
    school.taken = Some(Vec::new());
    let played_until = taught_until.zip(budget.until);
    school.run(LearningBudget {
        games: usize::MAX,
        // Half of what is left is for the playouts.
        until: played_until.map(|(from, to)| from + (to - from) / 2),
        ..budget
    });
    let taken = school.taken.take().unwrap_or_default();
    let evaluation = school.teacher.evaluation;
    let foresight = foresight::compare(machine, &evaluation, &taken, &mut school.random, budget);
    Some(Learned {
        evaluation,
        games,
        mean_length: school.moves as f64 / school.finished.max(1) as f64,
        foresight,
    })
}

/// The sum of two roles' goals, if it is the same in some random games.
fn constant_sum(
    machine: &Arc<dyn Machine>,
    random: &mut Random,
    budget: LearningBudget<'_>,
) -> Option<u32> {
    if machine.info().n_roles() != 2 {
        return None;
    }
    let mut reasoner = Arc::clone(machine).reasoner();
    let initial = machine.initial_state();
    let mut goals = [0; 2];
    let mut sum = None;
    for _ in 0..GAMES_FOR_SUM {
        if budget.is_over() {
            break;
        }
        reasoner.set_state(&initial);
        reasoner.playout(random, LONGEST as u32, &mut goals);
        if !reasoner.is_terminal() {
            continue;
        }
        let found = u32::from(goals[0]) + u32::from(goals[1]);
        if *sum.get_or_insert(found) != found {
            return None;
        }
    }
    sum.filter(|&sum| sum > 0)
}

/// A game under way.
struct Game {
    /// The states that were met, one behind the other, the last one being where it stands.
    states: Vec<u64>,
    /// What was thought of each of them for each role, but for the first.
    thoughts: Vec<f32>,
    length: usize,
    /// States before this one were reached at random.
    opening: usize,
    /// The legal moves of all roles, one role after the other, and where each role's end.
    legal: Vec<MoveId>,
    ends: Vec<u32>,
}

struct School {
    expander: Box<dyn Expander>,
    n_roles: usize,
    initial: Vec<u64>,
    teacher: Teacher,
    random: Random,
    games: Vec<Game>,
    positions: Positions,
    /// Games that were learned from before.
    experience: usize,
    finished: usize,
    /// Joint moves of finished games.
    moves: u64,
    given_up: usize,
    /// Where nothing is taught but positions are taken: those, and the first role's goal that came
    /// of each.
    taken: Option<Vec<(Vec<u64>, f32)>>,
}

impl School {
    fn run(&mut self, budget: LearningBudget<'_>) {
        let mut n_started = 0;
        let mut refresh_at = 1000;
        loop {
            while self.games.len() < ABREAST && n_started < budget.games {
                let game = self.new_game();
                self.games.push(game);
                n_started += 1;
            }
            if self.games.is_empty()
                || self.given_up > 4 * ABREAST + self.finished
                || self
                    .taken
                    .as_ref()
                    .is_some_and(|taken| taken.len() >= COMPARED)
                || budget.is_over()
            {
                return;
            }
            self.look();
            if self.games.is_empty() {
                continue;
            }
            if !self.play(budget) {
                return;
            }
            if self.finished >= refresh_at {
                refresh_at *= 2;
                self.teacher.refresh();
            }
        }
    }

    fn new_game(&mut self) -> Game {
        Game {
            states: self.initial.clone(),
            thoughts: Vec::new(),
            length: 0,
            opening: self.random.below(OPENING + 1) as usize,
            legal: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Looks at where all games stand; those that are over are learned from and leave.
    fn look(&mut self) {
        let words = self.initial.len();
        let steps: Vec<Step<'_>> = self
            .games
            .iter()
            .map(|game| Step {
                state: &game.states[game.length * words..],
                joint_move: None,
            })
            .collect();
        self.expander.expand(&steps, true, &mut self.positions);
        drop(steps);
        let mut games = std::mem::take(&mut self.games);
        let mut index = 0;
        games.retain_mut(|game| {
            let goes_on = self.note(game, index);
            index += 1;
            goes_on
        });
        self.games = games;
    }

    /// Whether a game goes on, with its legal moves written down; else it is learned from.
    fn note(&mut self, game: &mut Game, index: usize) -> bool {
        if self.positions.terminal[index] {
            let goals = self.positions.goals(index);
            let goals: Vec<f32> = goals
                .iter()
                .map(|goal| f32::from(goal.unwrap_or(0).min(100)))
                .collect();
            widely(|| self.learn_from(game, &goals));
            self.finished += 1;
            self.moves += game.length as u64;
            return false;
        }
        game.legal.clear();
        game.ends.clear();
        for role in 0..self.n_roles {
            let moves = self.positions.legal(index, RoleId::from_index(role));
            if moves.is_empty() {
                self.given_up += 1;
                return false;
            }
            game.legal.extend_from_slice(moves);
            game.ends.push(game.legal.len() as u32);
        }
        if game.length >= LONGEST {
            self.given_up += 1;
            return false;
        }
        true
    }

    /// Shows the states of a game, the last ones first; or takes some of them, where nothing is
    /// taught.
    fn learn_from(&mut self, game: &Game, goals: &[f32]) {
        let words = self.initial.len();
        if let Some(taken) = &mut self.taken {
            for index in game.opening.min(game.length)..game.length {
                if self.random.below(TAKEN) == 0 {
                    taken.push((game.states[index * words..][..words].to_vec(), goals[0]));
                }
            }
            return;
        }
        let mut promised = goals.to_vec();
        let experience = self.experience + self.finished;
        let ripeness = experience.saturating_sub(GREEN) as f32 / GREEN as f32;
        let doubt = (1.0 - TRUST) * ripeness.min(1.0);
        // The end itself needs no evaluation.
        for index in (game.opening.min(game.length)..game.length).rev() {
            let state = &game.states[index * words..][..words];
            self.teacher.show(state, &promised);
            if index > 0 {
                let thoughts = &game.thoughts[(index - 1) * self.n_roles..][..self.n_roles];
                for (promise, &thought) in promised.iter_mut().zip(thoughts) {
                    *promise += (thought - *promise) * doubt;
                }
            }
        }
    }

    /// The joint moves to be looked at for the games from this one on, as many games as are looked
    /// at together.
    fn ask(&mut self, from: usize) -> Asked {
        let n_roles = self.n_roles;
        let mut asked = Asked {
            joint_moves: Vec::new(),
            whose: Vec::new(),
            end: from,
        };
        for (index, game) in self.games.iter().enumerate().skip(from) {
            if asked.whose.len() >= AT_ONCE {
                break;
            }
            asked.end = index + 1;
            if game.length < game.opening {
                continue;
            }
            for role in 0..n_roles {
                let moves = moves_of(game, role);
                if moves.len() < 2 {
                    continue;
                }
                for place in 0..moves.len().min(MOST_MOVES) {
                    let mv = match moves.len() > MOST_MOVES {
                        true => moves[self.random.below(moves.len() as u32) as usize],
                        false => moves[place],
                    };
                    for other in 0..n_roles {
                        asked.joint_moves.push(match other == role {
                            true => mv,
                            false => any_of(moves_of(game, other), &mut self.random),
                        });
                    }
                    asked.whose.push((index as u32, role as u32, mv));
                }
            }
        }
        asked
    }

    /// Makes a joint move in each game; false, with none made, when the budget ends first.
    fn play(&mut self, budget: LearningBudget<'_>) -> bool {
        let n_roles = self.n_roles;
        let words = self.initial.len();
        let mut best: Vec<Best> = vec![None; self.games.len() * n_roles];
        let mut from = 0;
        while from < self.games.len() {
            if budget.is_over() {
                return false;
            }
            let asked = self.ask(from);
            let joint_moves = asked.joint_moves.chunks(n_roles);
            let steps: Vec<Step<'_>> = asked
                .whose
                .iter()
                .zip(joint_moves)
                .map(|(&(game, _, _), joint_move)| {
                    let game = &self.games[game as usize];
                    Step {
                        state: &game.states[game.length * words..],
                        joint_move: Some(joint_move),
                    }
                })
                .collect();
            self.expander.expand(&steps, false, &mut self.positions);
            drop(steps);
            widely(|| self.choose(&asked, &mut best));
            from = asked.end;
        }
        let mut joint_moves: Vec<MoveId> = Vec::with_capacity(self.games.len() * n_roles);
        for (index, game) in self.games.iter().enumerate() {
            for role in 0..n_roles {
                let moves = moves_of(game, role);
                let chosen = best[index * n_roles + role].map(|(_, mv)| mv);
                joint_moves.push(chosen.unwrap_or_else(|| any_of(moves, &mut self.random)));
            }
        }
        let steps: Vec<Step<'_>> = self
            .games
            .iter()
            .zip(joint_moves.chunks(n_roles))
            .map(|(game, joint_move)| Step {
                state: &game.states[game.length * words..],
                joint_move: Some(joint_move),
            })
            .collect();
        self.expander.expand(&steps, false, &mut self.positions);
        drop(steps);
        let mut values = [0.0; super::evaluation::MOST_ROLES];
        for (index, game) in self.games.iter_mut().enumerate() {
            let state = self.positions.state(index);
            self.teacher.evaluation.values(state, &mut values);
            game.states.extend_from_slice(state);
            game.thoughts.extend_from_slice(&values[..n_roles]);
            game.length += 1;
        }
        true
    }

    /// Takes the moves asked for into the best of each game and role. What they lead to is in
    /// `positions`.
    #[inline]
    fn choose(&mut self, asked: &Asked, best: &mut [Best]) {
        let (n_roles, words) = (self.n_roles, self.initial.len());
        let mut urges = [0.0; super::evaluation::MOST_ROLES];
        let mut stand = None;
        for (position, &(game, role, mv)) in asked.whose.iter().enumerate() {
            let role = role as usize;
            let at = &self.games[game as usize];
            let near = &at.states[at.length * words..];
            let stand = match stand {
                Some((of, stand)) if of == game => stand,
                _ => {
                    let there = self.teacher.evaluation.stand_on(near);
                    stand = Some((game, there));
                    there
                }
            };
            let mut urge = if self.positions.terminal[position] {
                let goal = self.positions.goals(position)[role].unwrap_or(0);
                // Beyond what is only thought.
                (f32::from(goal.min(100)) - 50.0) * 0.4
            } else {
                let state = self.positions.state(position);
                let evaluation = &self.teacher.evaluation;
                evaluation.urges_near(&stand, near, state, &mut urges);
                urges[role]
            };
            urge -= WARMTH * (-(fraction(&mut self.random).max(1e-7)).ln()).ln();
            let best = &mut best[game as usize * n_roles + role];
            if best.is_none_or(|(most, _)| urge > most) {
                *best = Some((urge, mv));
            }
        }
    }
}

/// The best move so far of a role in a game, and how good it is.
type Best = Option<(f32, MoveId)>;

/// What is looked at together.
struct Asked {
    /// Joint moves, one behind the other.
    joint_moves: Vec<MoveId>,
    /// For each of them the game, the role and the move that it is looked at for.
    whose: Vec<(u32, u32, MoveId)>,
    /// The first game that is not asked for.
    end: usize,
}

fn any_of(moves: &[MoveId], random: &mut Random) -> MoveId {
    match moves.len() {
        1 => moves[0],
        len => moves[random.below(len as u32) as usize],
    }
}

fn moves_of(game: &Game, role: usize) -> &[MoveId] {
    let start = role.checked_sub(1).map_or(0, |before| game.ends[before]);
    &game.legal[start as usize..game.ends[role] as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gdl;
    use crate::ground;
    use crate::machine::compile::Layout;
    use crate::machine::counter::CounterMachine;
    use crate::propnet;

    /// Two players take flags in turn, and who has the gold one wins.
    const FLAGS: &str =
        "(role left) (role right) (flag gold) (flag red) (flag blue) (flag green) (flag white)
        (init (turn left)) (<= (init (lies ?f)) (flag ?f))
        (<= (legal ?p (take ?f)) (true (turn ?p)) (true (lies ?f)))
        (<= (legal left wait) (true (turn right))) (<= (legal right wait) (true (turn left)))
        (<= (next (turn left)) (true (turn right))) (<= (next (turn right)) (true (turn left)))
        (<= (taken ?f) (does ?p (take ?f)))
        (<= (next (lies ?f)) (true (lies ?f)) (not (taken ?f)))
        (<= (next (has ?p ?f)) (does ?p (take ?f))) (<= (next (has ?p ?f)) (true (has ?p ?f)))
        (<= some (true (lies ?f))) (<= terminal (not some))
        (<= (goal ?p 100) (true (has ?p gold)))
        (<= (goal ?p 0) (role ?p) (not (true (has ?p gold))))";

    fn machine(text: &str) -> Arc<dyn Machine> {
        let (rules, faults) = gdl::load(text);
        assert!(faults.is_empty(), "{faults:?}");
        let limits = ground::Budget::generous();
        let program = ground::ground(&rules, limits).unwrap();
        let network = propnet::build(&program, limits).unwrap();
        Arc::new(CounterMachine::new(Layout::compile(&network)))
    }

    fn games(games: usize) -> LearningBudget<'static> {
        LearningBudget {
            games,
            until: Some(Instant::now() + std::time::Duration::from_secs(60)),
            cancelled: None,
            seed: 1,
        }
    }

    /// The bit of a fact.
    fn bit(machine: &Arc<dyn Machine>, fact: &str) -> usize {
        let state = machine
            .info()
            .state_from_facts(&[fact.to_string()])
            .unwrap();
        (0..state.len() * 64)
            .find(|bit| state[bit / 64] >> (bit % 64) & 1 == 1)
            .unwrap()
    }

    #[test]
    fn the_fact_that_decides_a_game_is_found_to_be_worth_most() {
        let machine = machine(FLAGS);
        let learned = learn(&machine, None, games(3000)).unwrap();
        assert_eq!(learned.games, 3000);
        let worth = |fact: &str| learned.evaluation.worth(bit(&machine, fact))[0];
        let gold = worth("(has left gold)");
        assert!(gold > 10.0, "{gold}");
        assert!(gold > 2.0 * worth("(has left red)").abs());
        assert!(worth("(has right gold)") < -10.0);
        let mut values = [0.0; 2];
        let ours = machine
            .info()
            .state_from_facts(&["(has left gold)".to_string(), "(turn right)".to_string()]);
        learned.evaluation.values(&ours.unwrap(), &mut values);
        assert!(values[0] > 80.0, "{values:?}");
        assert!((values[0] + values[1] - 100.0).abs() < 0.01);
        assert!(
            learned.foresight.evaluation > 0.5,
            "{:?}",
            learned.foresight
        );
    }

    #[test]
    fn what_is_learned_repeats_with_a_seed() {
        let machine = machine(FLAGS);
        let twice = [0, 1].map(|_| learn(&machine, None, games(300)).unwrap().evaluation);
        assert_eq!(twice[0], twice[1]);
    }

    #[test]
    fn learning_ends_when_its_time_is_over() {
        let machine = machine(FLAGS);
        let now = Instant::now();
        let budget = LearningBudget {
            games: usize::MAX,
            until: Some(now),
            cancelled: None,
            seed: 1,
        };
        let learned = learn(&machine, None, budget).unwrap();
        assert_eq!(learned.games, 0);
        assert_eq!(learned.foresight, Foresight::default());
    }

    #[test]
    fn learning_ends_when_nobody_waits_for_it() {
        let cancelled = AtomicBool::new(true);
        let budget = LearningBudget {
            cancelled: Some(&cancelled),
            ..games(usize::MAX)
        };
        let learned = learn(&machine(FLAGS), None, budget).unwrap();
        assert_eq!(learned.games, 0);
    }

    #[test]
    fn a_game_without_end_is_given_up() {
        let endless = "(role one) (init p) (legal one a) (legal one b) (<= (next p) (true p)) (<= terminal (true q))
            (<= (next q) (does one c)) (goal one 50)";
        let (rules, _) = gdl::load(endless);
        let limits = ground::Budget::generous();
        let program = ground::ground(&rules, limits).unwrap();
        let network = propnet::build(&program, limits).unwrap();
        let machine: Arc<dyn Machine> = Arc::new(CounterMachine::new(Layout::compile(&network)));
        let learned = learn(&machine, None, games(usize::MAX)).unwrap();
        assert_eq!(learned.games, 0);
    }
}
