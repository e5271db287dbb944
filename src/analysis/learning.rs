//! Learning: an evaluation from games that a machine plays against itself, hundreds abreast.
//!
//! In each state every move is made and what it leads to is evaluated; a good one is taken, not always the best. When
//! a game is over, each of its states is shown to the evaluation with the goals that came of it, mixed with what was thought
//! of the states in between (Sutton's temporal differences, 1988). What is learned is played at once, so that both get
//! better together, as Tesauro's backgammon player did (1995), at the speed at which a machine looks at positions.
//!
//! Invariants: the same machine, seed and number of games learn the same; each game has a bound in moves.
//!
//! Never knows: trees, GDL text, what a fact means.

use std::sync::Arc;
use std::time::Instant;

use super::evaluation::{Evaluation, Teacher, fraction};
use crate::ids::{Id, MoveId, RoleId};
use crate::machine::random::Random;
use crate::machine::wide::widely;
use crate::machine::{Expander, Machine, PlayoutEnd, Positions, Step, Tally};

/// How much may be learned.
#[derive(Clone, Copy, Debug)]
pub struct LearningBudget {
    /// Games.
    pub games: usize,
    /// No state is looked at after this time.
    pub until: Option<Instant>,
    /// Fixes the games.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Learned {
    /// What states promise.
    pub evaluation: Evaluation,
    /// Games that it was learned from, those from before included.
    pub games: usize,
    /// States that were shown this time.
    pub states: u64,
    /// Joint moves of a game, on average over all that were played this time.
    pub mean_length: f64,
    /// How well it foretells games that it was not taught by, beside playouts.
    pub foresight: Foresight,
}

/// How well the first role's goals are foretold in the midst of games, by what positions promise and by means of playouts. Each
/// is a correlation with what came of the games, -1 to 1.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Foresight {
    /// Positions that were looked at.
    pub positions: usize,
    /// Of what positions promise.
    pub evaluation: f64,
    /// Of means of [`PLAYOUTS`] playouts.
    pub playouts: f64,
    /// The weight of what positions promise, 0 to 1, in that mean of both that foretells best.
    pub share: f64,
}

/// Playouts from a position where foresight is compared.
pub const PLAYOUTS: u32 = 16;
/// Positions by which it is.
const COMPARED: usize = 1500;
/// One in so many positions of a game is taken: neighbours tell the same.
const TAKEN: u32 = 4;
/// The share of the time that comparing may take.
const COMPARING: u32 = 6;

/// Games abreast.
const ABREAST: usize = 128;
/// A game with more joint moves is given up.
const LONGEST: usize = 500;
/// So many of a role's moves are looked at, drawn at random where there are more.
const MOST_MOVES: usize = 64;
/// How much what happened counts against what was thought a move later.
const TRUST: f32 = 0.85;
/// For so many games what was thought counts for nothing, since nothing is known yet; after as many more it counts in full.
const GREEN: usize = 3000;
/// How far chance moves the choice between moves; in units before the squash.
const WARMTH: f32 = 0.3;
/// Joint moves at the start that are made at random, at most.
const OPENING: u32 = 10;
/// Length of a step.
const RATE: f32 = 0.08;
/// Games from which on it is told whether goals always have the same sum.
const GAMES_FOR_SUM: usize = 256;

/// Learns from games of the machine, further from what is known where something is: an evaluation, and the games it was learned
/// from.
///
/// Nothing for games of more roles than are evaluated, and for machines whose states are not sets of facts.
pub fn learn(
    machine: &Arc<dyn Machine>,
    known: Option<(Evaluation, usize)>,
    budget: LearningBudget,
) -> Option<Learned> {
    let n_facts = machine.facts()?.len();
    let mut random = Random::new(budget.seed);
    let n_roles = machine.n_roles();
    let initial = machine.initial_state();
    let sum = match &known {
        Some(_) => None,
        None => constant_sum(machine, &mut random, budget.until),
    };
    let (evaluation, experience) = match known {
        Some((known, games)) if known.n_roles() == n_roles && known.n_facts() == n_facts => {
            (known, games)
        }
        _ => (Evaluation::new(n_roles, n_facts, sum, &mut random)?, 0),
    };
    let mut school = School {
        expander: Arc::clone(machine).expander(),
        n_roles,
        initial,
        teacher: Teacher::new(evaluation, RATE),
        random,
        games: Vec::new(),
        positions: Positions::default(),
        states: 0,
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
    let (games, states) = (experience + school.finished, school.states);
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
    let foresight = compare(
        machine,
        &evaluation,
        &taken,
        &mut school.random,
        budget.until,
    );
    Some(Learned {
        evaluation,
        games,
        states,
        mean_length: school.moves as f64 / school.finished.max(1) as f64,
        foresight,
    })
}

/// Holds what positions promise and what playouts come to against what came of their games.
fn compare(
    machine: &Arc<dyn Machine>,
    evaluation: &Evaluation,
    taken: &[(Vec<u64>, f32)],
    random: &mut Random,
    until: Option<Instant>,
) -> Foresight {
    let mut reasoner = Arc::clone(machine).reasoner();
    let mut playouts = Arc::clone(machine).playouts(random, LONGEST as u32);
    let mut goals = vec![0; machine.n_roles()];
    let mut values = vec![0.0; machine.n_roles()];
    let mut tally = Tally::default();
    let mut means: Vec<Option<f64>> = vec![None; taken.len()];
    let mut tickets = std::collections::HashMap::new();
    let is_over = || until.is_some_and(|until| Instant::now() >= until);
    for (index, (state, _)) in taken.iter().enumerate() {
        if is_over() {
            break;
        }
        let ticket = playouts
            .as_mut()
            .and_then(|playouts| playouts.submit(state, PLAYOUTS));
        if let Some(ticket) = ticket {
            tickets.insert(ticket, index);
            let Some(playouts) = playouts.as_mut() else {
                continue;
            };
            while playouts.n_wanted() > 2 * playouts.width() as u64 {
                playouts.advance();
                while let Some(ticket) = playouts.take_done(&mut tally) {
                    if let Some(&index) = tickets.get(&ticket) {
                        means[index] = mean_of(&tally);
                    }
                }
            }
            continue;
        }
        let mut total = 0.0;
        for _ in 0..PLAYOUTS {
            reasoner.set_state(state);
            if reasoner.playout(random, LONGEST as u32, &mut goals) == PlayoutEnd::CutOff {
                continue;
            }
            total += f64::from(goals[0]);
        }
        means[index] = Some(total / f64::from(PLAYOUTS));
    }
    if let Some(playouts) = &mut playouts {
        while playouts.n_wanted() > 0 && !is_over() {
            playouts.advance();
            while let Some(ticket) = playouts.take_done(&mut tally) {
                if let Some(&index) = tickets.get(&ticket) {
                    means[index] = mean_of(&tally);
                }
            }
        }
    }
    let mut by_promise = Correlation::default();
    let mut by_playouts = Correlation::default();
    let mut between = Correlation::default();
    for ((state, goal), mean) in taken.iter().zip(&means) {
        let Some(mean) = *mean else {
            continue;
        };
        evaluation.values(state, &mut values);
        let promise = f64::from(values[0]);
        by_promise.add(promise, f64::from(*goal));
        by_playouts.add(mean, f64::from(*goal));
        between.add(promise, mean);
    }
    Foresight {
        positions: by_promise.n as usize,
        evaluation: by_promise.value(),
        playouts: by_playouts.value(),
        share: best_share(&by_promise, &by_playouts, &between),
    }
}

/// The weight of the first of two series in that mean of both that is nearest to a third: least squares, with weights that are not negative.
fn best_share(first: &Correlation, second: &Correlation, between: &Correlation) -> f64 {
    let (with_first, with_second, both) = (first.together(), second.together(), between.together());
    let (spread_first, spread_second) = (between.spread(0), between.spread(1));
    let weight_first = with_first * spread_second - with_second * both;
    let weight_second = with_second * spread_first - with_first * both;
    match (weight_first > 0.0, weight_second > 0.0) {
        (true, true) => weight_first / (weight_first + weight_second),
        (true, false) if with_first > 0.0 => 1.0,
        _ => 0.0,
    }
}

fn mean_of(tally: &Tally) -> Option<f64> {
    let ended = tally.playouts.checked_sub(tally.cut_off)?;
    (ended > 0).then(|| tally.totals[0] as f64 / f64::from(tally.playouts))
}

/// The sum of two roles' goals, if it is the same in some random games.
fn constant_sum(
    machine: &Arc<dyn Machine>,
    random: &mut Random,
    until: Option<Instant>,
) -> Option<u32> {
    if machine.n_roles() != 2 {
        return None;
    }
    let mut reasoner = Arc::clone(machine).reasoner();
    let initial = machine.initial_state();
    let mut goals = [0; 2];
    let mut sum = None;
    for game in 0..GAMES_FOR_SUM {
        if game > 8 && until.is_some_and(|until| Instant::now() >= until) {
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
    states: u64,
    /// Games that were learned from before.
    experience: usize,
    finished: usize,
    /// Joint moves of finished games.
    moves: u64,
    given_up: usize,
    /// Where nothing is taught but positions are taken: those, and the first role's goal that came of each.
    taken: Option<Vec<(Vec<u64>, f32)>>,
}

impl School {
    fn run(&mut self, budget: LearningBudget) {
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
                || budget.until.is_some_and(|until| Instant::now() >= until)
            {
                return;
            }
            self.look();
            if self.games.is_empty() {
                continue;
            }
            self.play();
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

    /// Shows the states of a game, the last ones first; or takes some of them, where nothing is taught.
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
            self.states += 1;
            if index > 0 {
                let thoughts = &game.thoughts[(index - 1) * self.n_roles..][..self.n_roles];
                for (promise, &thought) in promised.iter_mut().zip(thoughts) {
                    *promise += (thought - *promise) * doubt;
                }
            }
        }
    }

    /// Makes a joint move in each game.
    fn play(&mut self) {
        let n_roles = self.n_roles;
        let words = self.initial.len();
        // All joint moves to be looked at, and for each of them the game, the role and the move it is looked at for.
        let mut joint_moves: Vec<MoveId> = Vec::new();
        let mut asked: Vec<(u32, u32, MoveId)> = Vec::new();
        for (index, game) in self.games.iter().enumerate() {
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
                        let moves = moves_of(game, other);
                        joint_moves.push(match (other == role, moves.len()) {
                            (true, _) => mv,
                            (false, 1) => moves[0],
                            (false, len) => moves[self.random.below(len as u32) as usize],
                        });
                    }
                    asked.push((index as u32, role as u32, mv));
                }
            }
        }
        let steps: Vec<Step<'_>> = asked
            .iter()
            .zip(joint_moves.chunks(n_roles))
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
        let best = widely(|| self.choose(&asked));
        let mut joint_moves: Vec<MoveId> = Vec::with_capacity(self.games.len() * n_roles);
        for (index, game) in self.games.iter().enumerate() {
            for role in 0..n_roles {
                let moves = moves_of(game, role);
                let chosen = best[index * n_roles + role].map(|(_, mv)| mv);
                joint_moves.push(chosen.unwrap_or_else(|| match moves.len() {
                    1 => moves[0],
                    len => moves[self.random.below(len as u32) as usize],
                }));
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
    }
}

impl School {
    /// For each game and role the best of the moves asked for, each a game, a role and the move, and how good it is. What they lead
    /// to is in `positions`.
    #[inline]
    fn choose(&mut self, asked: &[(u32, u32, MoveId)]) -> Vec<Option<(f32, MoveId)>> {
        let (n_roles, words) = (self.n_roles, self.initial.len());
        let mut best: Vec<Option<(f32, MoveId)>> = vec![None; self.games.len() * n_roles];
        let mut urges = [0.0; super::evaluation::MOST_ROLES];
        let mut stand = None;
        for (position, &(game, role, mv)) in asked.iter().enumerate() {
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
        best
    }
}

fn moves_of(game: &Game, role: usize) -> &[MoveId] {
    let start = role.checked_sub(1).map_or(0, |before| game.ends[before]);
    &game.legal[start as usize..game.ends[role] as usize]
}

/// How two series of numbers go together.
#[derive(Clone, Copy, Default, Debug)]
struct Correlation {
    n: f64,
    sums: [f64; 2],
    squares: [f64; 2],
    products: f64,
}

impl Correlation {
    fn add(&mut self, left: f64, right: f64) {
        self.n += 1.0;
        self.sums[0] += left;
        self.sums[1] += right;
        self.squares[0] += left * left;
        self.squares[1] += right * right;
        self.products += left * right;
    }

    /// How far one of them strays, squared.
    fn spread(&self, index: usize) -> f64 {
        let n = self.n.max(1.0);
        self.squares[index] / n - (self.sums[index] / n).powi(2)
    }

    /// How far they stray together.
    fn together(&self) -> f64 {
        let n = self.n.max(1.0);
        self.products / n - self.sums[0] / n * (self.sums[1] / n)
    }

    /// -1 to 1; 0 where one of them never changes.
    fn value(&self) -> f64 {
        let spreads = self.spread(0) * self.spread(1);
        if spreads <= 1e-12 {
            return 0.0;
        }
        self.together() / spreads.sqrt()
    }
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

    fn games(games: usize) -> LearningBudget {
        LearningBudget {
            games,
            until: Some(Instant::now() + std::time::Duration::from_secs(60)),
            seed: 1,
        }
    }

    /// The bit of a fact.
    fn bit(machine: &Arc<dyn Machine>, fact: &str) -> usize {
        let state = machine.state_from_facts(&[fact.to_string()]).unwrap();
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
        let ours =
            machine.state_from_facts(&["(has left gold)".to_string(), "(turn right)".to_string()]);
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
            seed: 1,
        };
        let learned = learn(&machine, None, budget).unwrap();
        assert_eq!(learned.games, 0);
        assert_eq!(learned.foresight, Foresight::default());
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

    #[test]
    fn the_mean_of_two_series_leans_to_the_one_that_foretells() {
        let share = |good: f64, bad: f64| {
            let mut random = Random::new(3);
            let mut of = [Correlation::default(); 3];
            for _ in 0..5000 {
                let truth = f64::from(fraction(&mut random));
                let first = truth + good * f64::from(fraction(&mut random));
                let second = truth + bad * f64::from(fraction(&mut random));
                of[0].add(first, truth);
                of[1].add(second, truth);
                of[2].add(first, second);
            }
            best_share(&of[0], &of[1], &of[2])
        };
        assert!(share(0.1, 1.0) > 0.95);
        assert!((share(1.0, 1.0) - 0.5).abs() < 0.05);
        assert!(share(1.0, 0.1) < 0.05);
        assert_eq!(
            best_share(
                &Correlation::default(),
                &Correlation::default(),
                &Correlation::default()
            ),
            0.0
        );
    }
}
