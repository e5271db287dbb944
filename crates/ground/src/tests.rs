//! Grounding stays within its budget on rules of extreme cost.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
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
fn a_goal_value_is_a_constant() {
    let (rules, _) =
        panza_gdl::load("(role r) (legal r m) (init p) (goal r (100 p)) (goal r 40) terminal");
    let program = ground(&rules, &Budget::generous()).expect("the game can be grounded");
    let values: Vec<u8> = program.goals.iter().map(|&(_, value, _)| value).collect();
    assert_eq!(values, [40]);
}
