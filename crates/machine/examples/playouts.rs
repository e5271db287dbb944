//! Random playouts of any game, hundreds at once by lanes.
//!
//! ```text
//! cargo run --release -p panza-ggp-machine --example playouts -- gdl-games/hex.gdl 1000000
//! ```

#![expect(clippy::disallowed_methods, reason = "it measures")]

use std::error::Error;
use std::time::{Duration, Instant};

use panza_machine::build::{self, BuildBudget};
use panza_machine::machine::random::Random;
use panza_machine::machine::{Machine, PlayoutEnd, PlayoutTotals};
use panza_rules::gdl;

/// A playout that is longer is cut off: a game may have no end.
const MAX_STEPS: u32 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .unwrap_or("gdl-games/connectFour.gdl".to_string());
    let n_playouts: u32 = arguments
        .next()
        .map_or(Ok(1_000_000), |text| text.parse())?;

    // Rules to a machine. Faults in the rules are diagnostics; what can be read is playable.
    let (rules, diagnostics) = gdl::load(&std::fs::read_to_string(&path)?);
    println!("{path}: {} diagnostics", diagnostics.len());
    let budget = BuildBudget {
        until: Instant::now() + Duration::from_secs(60),
        memory: 4 << 30,
        cancelled: Default::default(),
    };
    let machine = build::build(&rules, &budget)?.machine;
    println!("machine: {}", machine.kind());

    // Playouts from the initial state. Any state of the machine would do, and many requests may be
    // open at a time.
    let initial = machine.initial_state();
    let started = Instant::now();
    let tally = match machine.clone().playouts(&mut Random::new(1), MAX_STEPS) {
        Some(mut lanes) => {
            lanes.submit(&initial, n_playouts);
            let mut tally = PlayoutTotals::default();
            while lanes.take_finished(&mut tally).is_none() {
                lanes.advance();
            }
            tally
        }
        // This machine is not faster with many at once.
        None => one_after_the_other(machine.clone(), n_playouts),
    };
    let seconds = started.elapsed().as_secs_f64();

    println!(
        "{:.0} playouts a second",
        f64::from(tally.playouts) / seconds
    );
    println!(
        "{:.1} joint moves a playout",
        tally.steps as f64 / f64::from(tally.playouts)
    );
    for (role, total) in machine.info().roles().iter().zip(&tally.totals) {
        println!(
            "{role}: mean goal {:.2}",
            *total as f64 / f64::from(tally.playouts)
        );
    }
    Ok(())
}

fn one_after_the_other(machine: std::sync::Arc<dyn Machine>, n_playouts: u32) -> PlayoutTotals {
    let n_roles = machine.info().n_roles();
    let initial = machine.initial_state();
    let mut reasoner = machine.reasoner();
    let mut random = Random::new(1);
    let mut goals = vec![0; n_roles];
    let mut tally = PlayoutTotals::default();
    tally.clear(n_roles);
    for _ in 0..n_playouts {
        reasoner.set_state(&initial);
        if let PlayoutEnd::Finished { steps } = reasoner.playout(&mut random, MAX_STEPS, &mut goals)
        {
            tally.steps += u64::from(steps);
            tally.playouts += 1;
            for (total, &goal) in tally.totals.iter_mut().zip(&goals) {
                *total += u64::from(goal);
            }
        }
    }
    tally
}
