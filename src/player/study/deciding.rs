//! What it costs to see wins in playouts: steps a second of playouts that take and shun them,
//! beside those that do not look.
//!
//! Never knows: how playouts see wins.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::ground;
use crate::machine::lanes::compile::Playing;
use crate::machine::lanes::gang;
use crate::machine::lanes::interpret::Features;
use crate::machine::random::Random;
use crate::machine::{Machine, Playouts, Tally};
use crate::player::lanes::{LanesSource, playouts_speed};

/// Playouts that are compared and measured are cut off after so many joint moves.
const MAX_STEPS: u32 = 500;
/// How long each is measured.
const MEASURED: Duration = Duration::from_millis(20);
/// What making programs takes for an edge of the network on a slow day.
const AN_EDGE: Duration = Duration::from_micros(20);

/// The price of playouts that take wins and shun losses in one move.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Deciding {
    /// Joint moves a second where wins are seen.
    pub steps_per_second: f64,
    /// Joint moves a second where all moves are equally likely.
    pub even_steps_per_second: f64,
    /// How many times as long a step takes for it.
    pub cost: f64,
}

/// Measures playouts of the machine beside even ones; nothing where they are the same, where the
/// machine has no lanes, or where time is short.
pub(super) fn measure(
    machine: &Arc<dyn Machine>,
    source: &LanesSource,
    until: Option<Instant>,
) -> Option<Deciding> {
    let limits = ground::Budget {
        until,
        ..ground::Budget::generous()
    };
    let left = || {
        until.map_or(Duration::MAX, |until| {
            until.saturating_duration_since(Instant::now())
        })
    };
    // Making programs cannot be broken off.
    let takes = AN_EDGE * u32::try_from(source.network.n_edges()).unwrap_or(u32::MAX);
    if machine.kind() != "lanes" || left() < takes {
        return None;
    }
    let initial = machine.initial_state();
    let abreast = || Arc::clone(machine).playouts(&mut Random::new(1), MAX_STEPS);
    let mut deciding = abreast()?;
    let programs = source.programs(limits, Playing::Evenly)?;
    if left() < MEASURED * 4 {
        return None;
    }
    let n_words = deciding.width() / 64;
    let n_roles = machine.info().n_roles();
    let layout = gang::Layout::new(&programs, n_roles, Features::detect(), n_words);
    let layout = Arc::new(layout);
    let even = || layout.gang(&mut Random::new(1), MAX_STEPS);
    // The same seed plays the same games, if roles choose in the same way.
    if played(deciding.as_mut(), &initial) == played(even().as_mut(), &initial) {
        return None;
    }
    let speed = |playouts: &mut dyn Playouts| playouts_speed(playouts, &initial, MEASURED);
    let steps_per_second = speed(abreast()?.as_mut());
    let even_steps_per_second = speed(even().as_mut());
    Some(Deciding {
        steps_per_second,
        even_steps_per_second,
        cost: even_steps_per_second / steps_per_second.max(1e-9),
    })
}

/// What comes of a playout in each lane.
fn played(playouts: &mut dyn Playouts, state: &[u64]) -> Option<Tally> {
    let mut tally = Tally::default();
    playouts.submit(state, playouts.width() as u32)?;
    // A lane that is free takes up a playout at the next step.
    for _ in 0..2 * MAX_STEPS {
        playouts.advance();
        if playouts.take_done(&mut tally).is_some() {
            return Some(tally);
        }
    }
    None
}
