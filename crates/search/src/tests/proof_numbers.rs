//! Proof-number search against minimax over the whole game, and beside a search.

use std::sync::Arc;

use proptest::prelude::*;

use super::games::{Game, Nim, Rules, Table, TableNode};
use super::proofs::{shape, table};
use super::{config, iterations, mv, tic_tac_toe};
use crate::proof_numbers::{Answer, ProofNumberSearch, Question};
use crate::{Search, SearchConfig, StopReason};
use panza_gdl::RoleId;
use panza_machine::Machine;

/// The goal that a role can force when all others play against it.
fn forced(table: &Table, node: usize, role: usize) -> u8 {
    match &table.nodes[node] {
        TableNode::End(goals) => goals[role],
        TableNode::Choice(counts, next) => {
            let goals = next.iter().map(|&child| forced(table, child, role));
            let best = match counts[role] > 1 {
                true => goals.max(),
                false => goals.min(),
            };
            best.expect("a choice has moves")
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn answers_are_those_of_minimax(
        shape in shape(), role in 0usize..2, goal in prop_oneof![Just(50u8), Just(100u8)],
        // The smallest table has two buckets, in which most of what is known is lost.
        bytes in prop_oneof![Just(0usize), Just(1 << 16)], slice in 1u32..50,
    ) {
        let table = table(shape, 2, false);
        let machine: Arc<dyn Machine> = Game::new(table.clone());
        let mut proofs = ProofNumberSearch::new(&machine, bytes);
        proofs.ask(&table.initial(), Question { role, goal });
        let answer = (0..100_000).find_map(|_| proofs.work(slice));
        let value = forced(&table, 0, role);
        match answer {
            Some(Answer::Yes(found, mv)) => {
                prop_assert!(found >= goal && found <= value);
                if let TableNode::Choice(counts, next) = &table.nodes[0] && counts[role] > 1 {
                    let child = next[(mv.0 % super::games::ROLE) as usize];
                    prop_assert!(forced(&table, child, role) >= found);
                }
            }
            Some(Answer::No(found)) => prop_assert!(found < goal && found >= value),
            answer => {
                let is_over = matches!(table.nodes[0], TableNode::End(_));
                prop_assert!(is_over, "{:?}", answer);
            }
        }
    }

    #[test]
    fn a_question_that_was_left_is_taken_up_again(shape in shape(), slice in 10u32..50) {
        let table = table(shape, 2, false);
        let machine: Arc<dyn Machine> = Game::new(table.clone());
        let mut proofs = ProofNumberSearch::new(&machine, 1 << 16);
        let questions = [0, 1].map(|role| Question { role, goal: 100 });
        let mut answers = [None; 2];
        for _ in 0..100_000 {
            for (question, answer) in questions.iter().zip(&mut answers) {
                if answer.is_none() {
                    proofs.ask(&table.initial(), *question);
                    *answer = proofs.work(slice);
                }
            }
        }
        if matches!(table.nodes[0], TableNode::Choice(..)) {
            for (question, answer) in questions.iter().zip(answers) {
                let is_yes = forced(&table, 0, question.role) == 100;
                prop_assert_eq!(is_yes, matches!(answer, Some(Answer::Yes(100, _))));
            }
        }
    }
}

#[test]
fn a_search_with_proof_numbers_proves_sooner() {
    let nim = || Game::new(Nim::new(2, &[1, 4, 6]));
    let iterations_of = |proof_effort: f32| {
        let config = SearchConfig {
            proof_effort,
            ..config()
        };
        let mut search = Search::new(nim(), RoleId(0), config);
        assert_eq!(search.run(&iterations(1_000_000)), StopReason::Proven);
        assert_eq!(search.root().proven, Some(100));
        assert_eq!(search.best_move(), Some(mv(0, Nim::mv(2, 1))));
        search.check();
        search.statistics().iterations
    };
    let (without, with) = (iterations_of(0.0), iterations_of(1.0));
    assert!(with < without, "{with} {without}");
}

#[test]
fn what_is_asked_first_is_known_sooner() {
    // Whether the first role can force a draw and whether it can win take turns otherwise.
    let iterations_until_known = |is_asked: bool| {
        let config = SearchConfig {
            proof_effort: 1.0,
            ..config()
        };
        let mut search = Search::new(tic_tac_toe(), RoleId(0), config);
        if is_asked {
            search.ask_first(RoleId(0), 100);
        }
        while !search.knows(RoleId(0), 100) {
            search.run(&iterations(1));
        }
        assert!(search.outlook()[0].bounds.1 < 100);
        search.statistics().iterations
    };
    let (plain, asked) = (iterations_until_known(false), iterations_until_known(true));
    assert!(asked < plain, "{asked} {plain}");
}
