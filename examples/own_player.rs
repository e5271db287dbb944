//! A player of one's own behind the server: Panza's machine and search, with another playout
//! policy.
//!
//! The policy is the Move-Average Sampling Technique (MAST; Finnsson and Björnsson 2008): a role
//! mostly plays the legal move with the best mean goal over all earlier playouts. The server, the
//! clocks and the search stay as they are.
//!
//! ```text
//! cargo run --release --example own_player
//! cargo run --release -- match connectFour --player http://127.0.0.1:9147 --player random
//! ```

use std::error::Error;
use std::sync::Arc;

use panza_config::Settings;
use panza_game::{BuildError, BuiltGame};
use panza_gdl::{Id, MoveId, RoleId, Rules};
use panza_machine::{Expander, GameInfo, Machine, PlayoutEnd, Reasoner};
use panza_player::GameBuilders;
use panza_sync::{Budget, Random};

/// One move in so many is drawn at random.
const EXPLORATION: u32 = 5;

/// A machine with the playouts of [`MastReasoner`].
struct MastMachine(Arc<dyn Machine>);

impl Machine for MastMachine {
    fn kind(&self) -> &'static str {
        "mast"
    }

    fn info(&self) -> &dyn GameInfo {
        self.0.info()
    }

    fn initial_state(&self) -> Vec<u64> {
        self.0.initial_state()
    }

    fn reasoner(self: Arc<Self>) -> Box<dyn Reasoner> {
        Box::new(MastReasoner {
            inner: self.0.clone().reasoner(),
            n_roles: self.info().n_roles(),
            means: Vec::new(),
        })
    }

    // `playouts` keeps its default: none at once, so the search takes those of the reasoner.

    fn expander(self: Arc<Self>) -> Box<dyn Expander> {
        self.0.clone().expander()
    }
}

struct MastReasoner {
    inner: Box<dyn Reasoner>,
    n_roles: usize,
    /// For each move, the sum of its role's goals and the number of playouts it was in.
    means: Vec<(f32, f32)>,
}

impl MastReasoner {
    /// The mean goal of a move; moves that were never played come first.
    fn mean(&self, mv: MoveId) -> f32 {
        let (sum, count) = self.means.get(mv.index()).copied().unwrap_or_default();
        if count > 0.0 { sum / count } else { 100.0 }
    }

    /// The move of a role; nothing where it has none.
    fn choose(&mut self, role: RoleId, random: &mut Random) -> Option<MoveId> {
        let legal = self.inner.legal_moves(role).to_vec();
        if legal.is_empty() {
            return None;
        }
        if random.below(EXPLORATION) == 0 {
            return Some(legal[random.below(legal.len() as u32) as usize]);
        }
        legal
            .into_iter()
            .max_by(|&a, &b| self.mean(a).total_cmp(&self.mean(b)))
    }
}

impl Reasoner for MastReasoner {
    fn set_state(&mut self, state: &[u64]) {
        self.inner.set_state(state);
    }

    fn is_terminal(&mut self) -> bool {
        self.inner.is_terminal()
    }

    fn goals(&mut self, out: &mut [Option<u8>]) {
        self.inner.goals(out);
    }

    fn legal_moves(&mut self, role: RoleId) -> &[MoveId] {
        self.inner.legal_moves(role)
    }

    fn next_state(&mut self, joint_move: &[MoveId], out: &mut Vec<u64>) {
        self.inner.next_state(joint_move, out);
    }

    fn playout(&mut self, random: &mut Random, max_steps: u32, goals: &mut [u8]) -> PlayoutEnd {
        let mut played = Vec::new();
        let mut state = Vec::new();
        let mut end = PlayoutEnd::CutOff;
        for steps in 0..=max_steps {
            let is_terminal = self.inner.is_terminal();
            let roles = (0..self.n_roles).map(RoleId::from_index);
            let joint_move: Option<Vec<MoveId>> =
                roles.map(|role| self.choose(role, random)).collect();
            let Some(joint_move) = joint_move.filter(|_| !is_terminal) else {
                end = PlayoutEnd::Finished { steps };
                break;
            };
            if steps < max_steps {
                self.inner.next_state(&joint_move, &mut state);
                self.inner.set_state(&state);
                played.push(joint_move);
            }
        }
        let mut found = vec![None; self.n_roles];
        self.inner.goals(&mut found);
        for (role, goal) in found.into_iter().enumerate() {
            goals[role] = goal.unwrap_or(0);
            for joint_move in &played {
                let index = joint_move[role].index();
                if self.means.len() <= index {
                    self.means.resize(index + 1, (0.0, 0.0));
                }
                self.means[index].0 += f32::from(goals[role]);
                self.means[index].1 += 1.0;
            }
        }
        end
    }
}

fn build_mast(rules: &Rules, budget: &Budget) -> Result<BuiltGame, BuildError> {
    let game = panza_game::build(rules, budget)?;
    let machine: Arc<dyn Machine> = Arc::new(MastMachine(game.machine));
    // Without the network and the factors of the game nothing is learned, and it is searched whole.
    Ok(BuiltGame::from(machine))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let settings = Settings::load(None, &["server.name=Mast".to_string()])?;
    let builders = GameBuilders {
        main: Arc::new(build_mast),
        // When a build fails or is late, the prover plays.
        fallback: GameBuilders::standard().fallback,
    };
    let shutdown = async {
        let _ = tokio::signal::ctrl_c().await;
    };
    let announce = |listens: panza_server::Listening| println!("http://{}", listens.address);
    panza_server::serve(&settings, builders, shutdown, announce).await?;
    Ok(())
}
