//! The position of a game between two engines: legal moves, the end, points.

use std::sync::Arc;

use anyhow::{Context, bail};
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Machine, PlayoutEnd, Reasoner};
use panza_sync::Random;

use super::engine::NamedGame;

/// Random games by which zero-sum goals are recognised, and their greatest length.
const SUM_GAMES: u32 = 200;
const SUM_STEPS: u32 = 1_000;

pub(super) struct Referee {
    pub name: String,
    pub machine: Arc<dyn Machine>,
    reasoner: Box<dyn Reasoner>,
    state: Vec<u64>,
    /// Whether goals add up to 100.
    is_zero_sum: bool,
}

impl Referee {
    /// A referee of a game of two roles. Fails for other games.
    pub fn new(game: &NamedGame) -> anyhow::Result<Self> {
        let machine = Arc::clone(&game.built.machine);
        let n_roles = machine.info().n_roles();
        if n_roles != 2 {
            bail!(
                "`{}` has {n_roles} roles; a duel needs a game of two",
                game.name
            );
        }
        let mut reasoner = Arc::clone(&machine).reasoner();
        let initial = machine.initial_state();
        let mut random = Random::new(1);
        let is_zero_sum = (0..SUM_GAMES).all(|_| {
            let mut goals = [0; 2];
            reasoner.set_state(&initial);
            let end = reasoner.playout(&mut random, SUM_STEPS, &mut goals);
            end == PlayoutEnd::CutOff || goals[0] + goals[1] == 100
        });
        let mut referee = Self {
            name: game.name.clone(),
            machine,
            reasoner,
            state: Vec::new(),
            is_zero_sum,
        };
        referee.restart();
        Ok(referee)
    }

    /// Goes back to the initial state.
    pub fn restart(&mut self) {
        self.state = self.machine.initial_state();
        self.reasoner.set_state(&self.state);
    }

    pub fn state(&self) -> &[u64] {
        &self.state
    }

    pub fn is_over(&mut self) -> bool {
        self.reasoner.is_terminal()
    }

    /// The legal moves of each role.
    pub fn legal(&mut self) -> Vec<Vec<MoveId>> {
        let roles = (0..2).map(RoleId::from_index);
        roles
            .map(|role| self.reasoner.legal_moves(role).to_vec())
            .collect()
    }

    /// The role's legal move of this text.
    pub fn find(&mut self, role: usize, text: &str) -> anyhow::Result<MoveId> {
        let role = RoleId::from_index(role);
        let mv = self.machine.info().find_move(role, text);
        mv.filter(|mv| self.reasoner.legal_moves(role).contains(mv))
            .with_context(|| format!("`{text}` is not legal"))
    }

    /// Plays a joint move.
    pub fn play(&mut self, joint_move: &[MoveId]) {
        let mut next = Vec::with_capacity(self.state.len());
        self.reasoner.next_state(joint_move, &mut next);
        self.reasoner.set_state(&next);
        self.state = next;
    }

    pub fn texts(&self, joint_move: &[MoveId]) -> Vec<String> {
        let info = self.machine.info();
        joint_move.iter().map(|&mv| info.move_text(mv)).collect()
    }

    /// The first role's points at the end of a game, 0 to 1.
    pub fn points(&mut self) -> f64 {
        let mut goals = [None; 2];
        self.reasoner.goals(&mut goals);
        points(goals.map(|goal| goal.unwrap_or(0)), self.is_zero_sum)
    }
}

/// The first role's points: its goal where goals are zero-sum, else 1 for the greater goal.
pub fn points(goals: [u8; 2], is_zero_sum: bool) -> f64 {
    match goals[0].cmp(&goals[1]) {
        _ if is_zero_sum => f64::from(goals[0]) / 100.0,
        std::cmp::Ordering::Greater => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Less => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::points;

    #[test]
    fn goals_are_points_where_they_are_zero_sum() {
        assert_eq!(points([73, 27], true), 0.73);
        assert_eq!(points([73, 72], false), 1.0);
        assert_eq!(points([40, 40], false), 0.5);
        assert_eq!(points([0, 10], false), 0.0);
    }
}
