//! Grounding stays within its budget on rules of extreme cost.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::{GroundError, ground};
use panza_gdl::Rules;
use panza_sync::{Budget, thread_cpu_time};

/// A game with one rule of so many conditions on the state.
fn with_long_rule(n: usize) -> Rules {
    let mut text = String::from("(role r) (legal r m) (goal r 1) (init (p 0)) (<= terminal");
    for index in 0..n {
        let _ = write!(text, " (true (p {index}))");
    }
    text.push(')');
    panza_gdl::load(&text).0
}

#[test]
fn a_rule_of_many_conditions_is_joined_or_refused() {
    let program = ground(&with_long_rule(300), &Budget::generous());
    assert!(program.is_ok(), "{:?}", program.err());
    let refused = ground(&with_long_rule(20_000), &Budget::generous());
    assert!(
        matches!(
            refused,
            Err(GroundError::RuleTooLong {
                conditions: 20_000,
                ..
            })
        ),
        "{:?}",
        refused.err()
    );
}

#[test]
fn planning_a_long_rule_ends_with_the_time() {
    let rules = with_long_rule(2000);
    let limits = Budget::generous().until(Some(Instant::now() + Duration::from_millis(50)));
    let begin = thread_cpu_time();
    let ended = ground(&rules, &limits);
    assert!(
        matches!(ended, Err(GroundError::OutOfTime { .. })),
        "{:?}",
        ended.err()
    );
    // Other processes lengthen the processor time little.
    let time = thread_cpu_time().zip(begin).map(|(end, begin)| end - begin);
    assert!(time < Some(Duration::from_secs(5)), "{time:?}");
}

#[test]
fn what_is_stopped_ends_without_a_result() {
    let stop = Arc::new(AtomicBool::new(true));
    let stopped = Budget::generous().stopped_by(&stop);
    let rules = with_long_rule(300);
    let ended = ground(&rules, &stopped).err();
    assert!(
        matches!(ended, Some(GroundError::OutOfTime { .. })),
        "{ended:?}"
    );
}

#[test]
fn growing_terms_are_refused_by_name_however_they_grow() {
    for grown in ["(s ?x)", "(g ?x ?x)"] {
        let text = format!(
            "(role r) (init (t z)) (legal r m) (goal r 0) (<= terminal (true (t q)))
             (<= (next (t {grown})) (true (t ?x)))"
        );
        let refused = ground(&panza_gdl::load(&text).0, &Budget::generous());
        let error = refused.expect_err("the terms grow").to_string();
        assert!(error.ends_with("as in `t/1`"), "{error}");
    }
}

#[test]
fn texts_of_facts_count_as_memory() {
    let digits: String = (0..256).map(|digit| format!("(d {digit}) ")).collect();
    let long = (0..12).fold("?x".to_string(), |term, _| format!("(g {term} ?y)"));
    let double = (0..10).fold("?x".to_string(), |term, n| format!("(e{n} {term} ?x)"));
    let text = format!(
        "(role r) (legal r m) (goal r 0) (<= terminal (true (t q))) {digits}
         (<= (two ?x (h ?x ?y)) (d ?x) (d ?y))
         (<= (init (t {long} {double})) (two ?y ?x))"
    );
    let budget = Budget::generous().with_bytes(24 << 20);
    let refused = ground(&panza_gdl::load(&text).0, &budget);
    assert!(
        matches!(refused, Err(GroundError::OutOfMemory { .. })),
        "{:?}",
        refused.err()
    );
}

#[test]
fn a_first_state_that_needs_a_state_is_refused() {
    let text = "(role r) (legal r m) (goal r 0) (<= terminal (true p)) (<= (init p) q) ";
    for rule in ["(<= q (legal r m))", "(<= q (not q))"] {
        let (rules, _) = panza_gdl::load(&format!("{text} {rule}"));
        let refused = ground(&rules, &Budget::generous());
        assert_eq!(refused.err(), Some(GroundError::DynamicInit), "{rule}");
    }
}

#[test]
fn grounding_without_end_stops_soon_after_its_flag() {
    let text = "(role r) (init (n y)) (init (n z)) (legal r go) (<= terminal (true (n stop)))
        (<= (next (n (f ?x ?y))) (true (n ?x)) (true (n ?y)))";
    let (rules, _) = panza_gdl::load(text);
    let stop = Arc::new(AtomicBool::new(false));
    let budget = Budget::generous().stopped_by(&stop);
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        stop.store(true, Ordering::Relaxed);
        Instant::now()
    });
    let ended = ground(&rules, &budget).err();
    let now = Instant::now();
    let stopped = stopper.join().expect("it only sleeps");
    let late = now.saturating_duration_since(stopped);
    assert!(
        matches!(ended, Some(GroundError::OutOfTime { .. })),
        "{ended:?}"
    );
    // Other processes may hold both threads up.
    assert!(late < Duration::from_secs(3), "{late:?}");
}

#[test]
fn a_goal_value_is_a_constant() {
    let (rules, _) =
        panza_gdl::load("(role r) (legal r m) (init p) (goal r (100 p)) (goal r 40) terminal");
    let program = ground(&rules, &Budget::generous()).expect("the game can be grounded");
    let values: Vec<u8> = program.goals.iter().map(|&(_, value, _)| value).collect();
    assert_eq!(values, [40]);
}
