//! An analysis of a position: the legal moves with their values after a short search, and what is
//! proven.
//!
//! The position is given by the moves that lead to it. In each state they are moves of the roles
//! with a choice; all other roles have one legal move.
//!
//! ```text
//! cargo run --release -p panza-search --example position -- \
//!     gdl-games/connectFour.gdl '(drop 4)' '(drop 4)'
//! ```

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use panza_gdl::{Id, RoleId};
use panza_search::{Search, SearchConfig};
use panza_sync::Budget;

const TIME: Duration = Duration::from_secs(2);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .unwrap_or("gdl-games/connectFour.gdl".to_string());
    let (rules, _) = panza_gdl::load(&std::fs::read_to_string(&path)?);
    let budget = Budget::within(Duration::from_secs(60), 4 << 30);
    let machine = panza_game::build(&rules, &budget)?.machine;
    let info = machine.info();
    let roles: Vec<RoleId> = (0..info.n_roles()).map(RoleId::from_index).collect();

    // From the initial state by the given moves.
    let mut state = machine.initial_state();
    let mut reasoner = machine.clone().reasoner();
    while !reasoner.is_terminal() {
        let mut joint_move = Vec::new();
        for &role in &roles {
            let legal = reasoner.legal_moves(role).to_vec();
            joint_move.push(match legal[..] {
                [only] => only,
                _ => match arguments.next() {
                    Some(text) => info
                        .find_move(role, &text)
                        .filter(|mv| legal.contains(mv))
                        .ok_or(format!(
                            "`{text}` is not legal for {}",
                            info.role_name(role)
                        ))?,
                    None => break,
                },
            });
        }
        if joint_move.len() < roles.len() {
            break;
        }
        reasoner.next_state(&joint_move, &mut state);
        reasoner.set_state(&state);
    }
    for fact in info.state_facts(&state) {
        println!("{fact}");
    }
    let Some(&role) = roles
        .iter()
        .find(|&&role| reasoner.legal_moves(role).len() > 1)
    else {
        println!("no role has a choice here");
        return Ok(());
    };

    // A search of this position for the first role with a choice.
    let config = SearchConfig::deterministic(1);
    let mut search = Search::new(Arc::clone(&machine), role, config);
    search.set_state(&state);
    search.run(&Budget::lasting(TIME));
    search.settle();
    let root = search.root();
    println!("\n{}: {} iterations", info.role_name(role), root.iterations);
    for report in &root.moves {
        let value = report
            .value
            .map_or("-".to_string(), |value| format!("{value:.1}"));
        let proven = report
            .proven()
            .map_or(String::new(), |goal| format!("  proven {goal}"));
        let name = info.move_text(report.mv);
        println!(
            "{name:20} {:>10} visits  value {value:>5}{proven}",
            report.visits
        );
    }
    Ok(())
}
