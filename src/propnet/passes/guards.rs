//! A signal that flips often reaches gates that are mostly off through a guard.
//!
//! Pattern: gates `c ∧ x`, `c ∧ y`, ... become `d ∧ x`, `d ∧ y`, ... with `d = c ∧ (x ∨ y ∨ ...)`.
//! Sound because `x` implies the OR it stands in. When `c` flips it tells the guard `d` alone, and
//! as long as none of `x`, `y`, ... is on the guard tells nobody: whose turn it is matters to the
//! moves of the few pieces that can move, not to all moves of the game. A group whose gates depend
//! on each other is passed over, lest the guard depend on itself. Gates that follow each other make
//! a group, since the moves of one piece do; how large it is, and whether it is made at all, is
//! decided by counting the updates with and without it in a sample of random play.
//!
//! Gain in updates per step: racer 1,941 to 656, English draughts 342 to 276, cephalopod 230 to
//! 225, reversi 423 to
//! 421. Guards that save less than half of what a group costs, or for signals that cause less than
//!      three updates per step, made chess and skirmish worse by 3 to 13 %: the sample is too small
//!      to tell.

use super::weighed::{Weighed, weighed};
use crate::ground::Budget;
use crate::propnet::{BuildError, Network, Signal};

/// Gates in one group.
const SIZES: [usize; 4] = [2, 4, 8, 16];
/// With fewer users a signal needs no guard.
const MIN_USERS: usize = 6;
/// Updates that a signal causes per step before guards are thought of.
const HEAVY: i64 = 3;
/// A new gate has its own cost when it flips, as many updates as this.
const GATE_COST: i64 = 2;
/// What a group has to gain: one update in so many steps.
const WORTHWHILE: i64 = 100;
/// Signals that are looked at, guards included.
const MAX_SIGNALS: usize = 1000;

/// Applies the pass.
///
/// # Errors
/// When the budget ends.
pub fn guards(network: &Network, budget: Budget) -> Result<Network, BuildError> {
    weighed(network, budget, |gates| {
        let mut heavy = heavy(gates);
        let mut is_changed = false;
        let mut n_looked_at = 0;
        while let Some(signal) = heavy.pop()
            && n_looked_at < MAX_SIGNALS
        {
            n_looked_at += 1;
            if guarded(gates, signal) {
                is_changed = true;
                // Guards may have a guard of their own.
                heavy.push(signal);
            }
        }
        is_changed
    })
}

/// Signals that cause many updates, the worst last.
fn heavy(gates: &mut Weighed<'_>) -> Vec<Signal> {
    let least = gates.n_changes() * HEAVY;
    let mut found: Vec<(i64, Signal)> = Vec::new();
    for signal in gates.signals() {
        let flips = gates.flips_of(signal);
        if gates.max_users(signal) >= MIN_USERS && flips * gates.max_users(signal) as i64 >= least {
            found.push((flips * gates.max_users(signal) as i64, signal));
        }
    }
    found.sort_unstable();
    found.into_iter().map(|(_, signal)| signal).collect()
}

/// Guards a signal from groups of its users where that gains; returns whether it did.
fn guarded(gates: &mut Weighed<'_>, signal: Signal) -> bool {
    let users: Vec<(usize, Signal)> = gates
        .users_of(signal)
        .to_vec()
        .into_iter()
        .filter_map(|gate| match *gates.inputs_of(gate as usize) {
            [left, right] => Some((gate as usize, if left == signal { right } else { left })),
            _ => None,
        })
        .collect();
    let mut is_changed = false;
    let mut at = 0;
    while at + 1 < users.len() {
        let groups = SIZES.iter().filter_map(|&size| users.get(at..at + size));
        let groups = groups.filter(|group| is_below(gates, signal, group));
        let weighed = groups.map(|group| (gain(gates, signal, group), group));
        // What is gained per gate, so that a large group does not win by its size.
        let best = weighed.max_by_key(|&(gain, group)| gain * 16 / group.len() as i64);
        match best {
            Some((gain, group)) if is_worthwhile(gates, signal, group, gain) => {
                let none: Vec<Signal> = group.iter().map(|&(_, other)| !other).collect();
                let some = !gates.and(&none);
                let guard = gates.and(&[signal, some]);
                for &(gate, _) in group {
                    gates.replace(gate, &[signal], guard);
                }
                is_changed = true;
                at += group.len();
            }
            _ => at += 1,
        }
    }
    is_changed
}

/// Whether all that the guard would depend on lies below all that would depend on the guard: no
/// gate may come to depend on itself.
fn is_below(gates: &Weighed<'_>, signal: Signal, group: &[(usize, Signal)]) -> bool {
    let others = group.iter().map(|&(_, other)| gates.height_of(other));
    let top = others.chain([gates.height_of(signal)]).max().unwrap_or(0);
    // The guard and its OR stand on top of one another.
    group
        .iter()
        .all(|&(gate, _)| top + 2 < gates.height_of(gates.signal_of(gate)))
}

/// Little is not worth it: the sample is of early states, and small.
fn is_worthwhile(
    gates: &Weighed<'_>,
    signal: Signal,
    group: &[(usize, Signal)],
    gain: i64,
) -> bool {
    let now = group.len() as i64 * gates.flips_of(signal);
    gain >= gates.n_changes() / WORTHWHILE && gain * 2 >= now
}

/// Updates saved by guarding a group.
fn gain(gates: &Weighed<'_>, signal: Signal, group: &[(usize, Signal)]) -> i64 {
    let n = group.len() as i64;
    let of_signal = gates.flips_of(signal);
    let of_others: i64 = group.iter().map(|&(_, other)| gates.flips_of(other)).sum();
    let none: Vec<Signal> = group.iter().map(|&(_, other)| !other).collect();
    let (of_some, of_guard) = gates.flips_of_guard(signal, &none);
    (n - 1) * of_signal - of_others - (1 + GATE_COST) * of_some - (n + GATE_COST) * of_guard
}
