//! The pipeline: every request is answered or counted as lost, and `in_flight` returns to 0.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::games::{Endless, Game, Nim, panicking, slow, stopping};
use super::{config, iterations, mv, self_play, tic_tac_toe};
use crate::{Search, SearchConfig, SearchStatistics, StopReason};
use panza_gdl::RoleId;
use panza_sync::Budget;

pub(super) fn threaded(rollout_threads: usize) -> SearchConfig {
    SearchConfig {
        rollout_threads,
        ..config()
    }
}

/// Asserts the invariants of a search without requests in flight.
pub(super) fn check_settled(search: &mut Search) -> SearchStatistics {
    search.settle();
    let statistics = search.statistics();
    assert_eq!(statistics.in_flight, 0);
    assert_eq!(
        statistics.requests,
        statistics.answers + statistics.lost_requests
    );
    assert_eq!(search.total_in_flight(), 0);
    search.check();
    statistics
}

/// Runs the search until a deadline finds requests in flight. On a busy machine a run may end
/// before its first request, or after its last answer.
pub(super) fn run_until_in_flight(search: &mut Search) {
    let is_in_flight = (0..400).any(|_| {
        let limit = Budget::generous().until(Some(Instant::now() + Duration::from_millis(5)));
        assert_eq!(search.run(&limit), StopReason::Deadline);
        search.statistics().in_flight > 0
    });
    assert!(is_in_flight, "no request was in flight at any deadline");
}

#[test]
fn every_request_is_answered_and_in_flight_returns_to_zero() {
    for (threads, samples) in [(1, 1), (2, 3), (5, 1)] {
        let config = SearchConfig {
            samples_per_request: samples,
            pin_threads: true,
            ..threaded(threads)
        };
        let mut search = Search::new(Game::new(Endless), RoleId(0), config);
        assert_eq!(search.run(&iterations(2_000)), StopReason::Iterations);
        let statistics = check_settled(&mut search);
        assert!(statistics.requests > 0);
        assert_eq!(statistics.iterations, 2_000);
        assert_eq!(statistics.playouts, 2_000 * u64::from(samples));
        assert_eq!(statistics.ring_slots, 8 * threads as u32);
        let visits: f64 = search.root().moves.iter().map(|report| report.visits).sum();
        assert_eq!(visits, 2_000.0);
    }
}

#[test]
fn threads_play_as_well_as_one() {
    assert_eq!(self_play(&tic_tac_toe(), 20_000, &threaded(2)), [50, 50]);
    let mut search = Search::new(Game::new(Nim::new(2, &[2, 3, 4])), RoleId(0), threaded(2));
    assert_eq!(search.run(&iterations(1_000_000)), StopReason::Proven);
    assert_eq!(search.best_move(), Some(mv(0, Nim::mv(2, 3))));
    check_settled(&mut search);
}

#[test]
fn answers_for_an_earlier_root_are_stale() {
    let machine = slow(Endless, Duration::from_micros(200));
    let config = SearchConfig {
        max_nodes: 300,
        ..threaded(2)
    };
    let mut search = Search::new(machine, RoleId(0), config);
    let mut stale = 0;
    for step in 0..20 {
        let limit = Budget::generous().until(Some(Instant::now() + Duration::from_millis(5)));
        assert_eq!(search.run(&limit), StopReason::Deadline);
        let before = search.statistics();
        stale += before.in_flight;
        if step % 2 == 0 {
            search.set_state(&[step]);
        } else {
            let best = search.best_move().expect("a move");
            search.advance(&[best, mv(1, 0)]);
        }
        search.check();
        if step % 3 == 0 {
            let after = check_settled(&mut search);
            assert_eq!(
                after.stale_answers - before.stale_answers,
                u64::from(before.in_flight)
            );
        }
    }
    assert!(stale > 0, "no request was in flight at any deadline");
    check_settled(&mut search);
}

#[test]
fn the_search_goes_on_when_rollout_threads_panic() {
    for count in [1, 40] {
        let mut search = Search::new(panicking(Endless, count), RoleId(0), threaded(2));
        assert_eq!(search.run(&iterations(3_000)), StopReason::Iterations);
        // Both threads fail at their next playout, so more requests bring the second to its end
        // too.
        while search.statistics().rollout_threads > 0 {
            search.run(&iterations(50));
        }
        let statistics = check_settled(&mut search);
        assert!(statistics.lost_requests > 0);
        assert_eq!(statistics.ring_slots, 0);
        let before = statistics.writer_playouts;
        assert_eq!(search.run(&iterations(500)), StopReason::Iterations);
        assert_eq!(search.statistics().writer_playouts, before + 500);
    }
}

#[test]
fn dropping_a_search_with_requests_in_flight_joins_its_threads() {
    let machine = slow(Endless, Duration::from_millis(1));
    let mut search = Search::new(Arc::clone(&machine), RoleId(0), threaded(3));
    run_until_in_flight(&mut search);
    drop(search);
    // Rollout threads hold the machine as long as they live.
    assert_eq!(Arc::strong_count(&machine), 1);
}

#[test]
fn the_stop_flag_and_the_deadline_end_a_run_with_threads() {
    let flag = Arc::new(AtomicBool::new(false));
    let mut search = Search::new(stopping(Endless, 500, flag.clone()), RoleId(0), threaded(2));
    let limit = Budget::generous().stopped_by(&flag);
    assert_eq!(search.run(&limit), StopReason::Flag);
    check_settled(&mut search);

    // The iterations would take the one rollout thread a minute.
    let playout = Duration::from_millis(60);
    let mut search = Search::new(slow(Endless, playout), RoleId(0), threaded(1));
    let limit = Budget::lasting(playout).with_steps(1000);
    assert_eq!(search.run(&limit), StopReason::Deadline);
    assert!(search.statistics().iterations < 1000);
    check_settled(&mut search);
}
