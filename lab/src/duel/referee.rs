//! The position of a game between two players: legal moves, the end, who has won.

use std::sync::Arc;

use anyhow::{Context, bail};
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Machine, Reasoner};
use panza_sync::Random;

use super::builds::NamedGame;

pub(crate) struct Referee {
    pub name: String,
    pub machine: Arc<dyn Machine>,
    pub n_roles: usize,
    reasoner: Box<dyn Reasoner>,
    state: Vec<u64>,
}

/// What a player has of a game.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Outcome {
    /// 1 for a win, a half for a draw.
    pub won: f64,
    /// The mean goal of its roles, divided by 100.
    pub points: f64,
}

impl Referee {
    /// A referee of a game of at least two roles without chance. Fails for other games.
    pub fn new(game: &NamedGame) -> anyhow::Result<Self> {
        let machine = Arc::clone(&game.built.machine);
        let (name, n_roles) = (game.name.clone(), machine.info().n_roles());
        if n_roles < 2 || machine.info().chance_role().is_some() {
            bail!("`{name}`: expected a game of two or more roles without chance");
        }
        let reasoner = Arc::clone(&machine).reasoner();
        let mut referee = Self {
            name,
            machine,
            n_roles,
            reasoner,
            state: Vec::new(),
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
        let roles = (0..self.n_roles).map(RoleId::from_index);
        roles
            .map(|role| self.reasoner.legal_moves(role).to_vec())
            .collect()
    }

    /// A random joint move; `None` where a role has no legal move.
    pub fn random_joint_move(&mut self, random: &mut Random) -> Option<Vec<MoveId>> {
        self.reasoner.random_joint_move(self.n_roles, random)
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

    /// The facts that hold, sorted.
    pub fn facts(&self) -> Vec<String> {
        self.machine.info().state_facts(&self.state)
    }

    /// What A has at the end of a game with these roles.
    pub fn outcome(&mut self, roles_of_a: &[bool]) -> Outcome {
        let mut goals = vec![None; self.n_roles];
        self.reasoner.goals(&mut goals);
        let goals: Vec<u8> = goals.into_iter().map(|goal| goal.unwrap_or(0)).collect();
        outcome(&goals, roles_of_a)
    }
}

/// What A has: it wins if the mean goal of its roles is above that of the others.
fn outcome(goals: &[u8], roles_of_a: &[bool]) -> Outcome {
    let mean = |of_a: bool| {
        let own = goals.iter().zip(roles_of_a);
        let own = own.filter(|(_, is_of_a)| **is_of_a == of_a);
        let (sum, n) = own.fold((0.0, 0), |(sum, n), (&goal, _)| {
            (sum + f64::from(goal), n + 1)
        });
        sum / f64::from(n.max(1)) / 100.0
    };
    let (points, other) = (mean(true), mean(false));
    let won = match points.total_cmp(&other) {
        std::cmp::Ordering::Greater => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Less => 0.0,
    };
    Outcome { won, points }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, outcome};

    #[test]
    fn the_higher_mean_goal_wins_and_equal_ones_are_half_a_win() {
        for (goals, roles_of_a, won, points) in [
            (&[73, 27][..], &[true, false][..], 1.0, 0.73),
            (&[73, 27], &[false, true], 0.0, 0.27),
            (&[90, 90], &[true, false], 0.5, 0.9),
            (&[0, 10], &[true, false], 0.0, 0.0),
            (&[0, 100, 0], &[true, false, false], 0.0, 0.0),
            (&[0, 100, 0], &[true, false, true], 0.0, 0.0),
            (&[50, 50, 0], &[true, false, false], 1.0, 0.5),
        ] {
            let found = outcome(goals, roles_of_a);
            assert_eq!(found, Outcome { won, points }, "{goals:?} {roles_of_a:?}");
        }
    }
}
