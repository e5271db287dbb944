//! What it costs to see wins in playouts: steps a second of playouts that take and shun them, beside those that do not look.
//!
//! Never knows: how playouts see wins.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::ground;
use crate::machine::Machine;
use crate::machine::lanes::compile::{Playing, Programs};
use crate::machine::lanes::gang;
use crate::machine::lanes::interpret::Features;
use crate::player::lanes::{LanesSource, gang_speed};

/// Lanes that both kinds of playouts are measured with.
const WIDTH: usize = 512;
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

/// Measures both kinds of playouts; nothing where they are the same, where the game has no lanes, or where time is short.
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
    let started = Instant::now();
    let even = source.programs(limits, Playing::Evenly)?;
    // The other kind takes about twice as long to make.
    if left() < started.elapsed() * 3 + MEASURED * 4 {
        return None;
    }
    let decisive = source.programs(limits, Playing::Decisively)?;
    if decisive.n_operations() == even.n_operations() {
        return None;
    }
    let speed = |programs: &Programs| {
        let layout = gang::Layout::new(programs, machine.n_roles(), Features::detect(), WIDTH / 64);
        gang_speed(&Arc::new(layout), &machine.initial_state(), MEASURED).steps_per_second
    };
    let (steps_per_second, even_steps_per_second) = (speed(&decisive), speed(&even));
    Some(Deciding {
        steps_per_second,
        even_steps_per_second,
        cost: even_steps_per_second / steps_per_second.max(1e-9),
    })
}
