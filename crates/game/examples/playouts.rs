//! Random games of any rulesheet: how many in a second, and the mean goal of each role.
//!
//! ```text
//! cargo run --release -p panza-game --example playouts -- gdl-games/connectFour.gdl
//! ```

#![expect(clippy::disallowed_methods, reason = "time is measured")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use panza_gdl::{Id, RoleId};
use panza_machine::{Machine, PlayoutEnd};
use panza_sync::{Budget, Random};

const TIME: Duration = Duration::from_secs(2);
/// Longer games are left out: a game may have no end.
const MAX_STEPS: u32 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1);
    let path = path.unwrap_or("gdl-games/connectFour.gdl".into());
    let (rules, _) = panza_gdl::load(&std::fs::read_to_string(path)?);
    let machine = Arc::new(panza_game::compile(&rules, &Budget::generous())?.machine);
    let n_roles = machine.info().n_roles();
    let mut reasoner = Arc::clone(&machine).reasoner();
    let mut random = Random::new(1);
    let (mut n_games, mut sums, mut goals) = (0_u64, vec![0_u64; n_roles], vec![0; n_roles]);
    let begin = Instant::now();
    while begin.elapsed() < TIME {
        reasoner.set_state(&machine.initial_state());
        let end = reasoner.playout(&mut random, MAX_STEPS, &mut goals);
        if let PlayoutEnd::Finished { .. } = end {
            n_games += 1;
            let both = sums.iter_mut().zip(&goals);
            both.for_each(|(sum, &goal)| *sum += u64::from(goal));
        }
    }
    println!(
        "{:.0} games a second",
        n_games as f64 / begin.elapsed().as_secs_f64()
    );
    for (role, sum) in sums.into_iter().enumerate() {
        let name = machine.info().role_name(RoleId::from_index(role));
        println!("{name}: mean goal {:.1}", sum as f64 / n_games as f64);
    }
    Ok(())
}
