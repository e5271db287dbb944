//! The legal moves of each role in the initial state, straight from the rules.
//!
//! ```text
//! cargo run -p panza-prover --example legal_moves -- gdl-games/ticTacToe.gdl
//! ```

use std::error::Error;

use panza_gdl::{Id, RoleId};
use panza_prover::Prover;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args()
        .nth(1)
        .unwrap_or("gdl-games/ticTacToe.gdl".into());
    let text = std::fs::read_to_string(&path)?;
    let (rules, diagnostics) = panza_gdl::load(&text);
    for diagnostic in &diagnostics {
        println!("{}", diagnostic.one_line(&path, &text));
    }
    let mut prover = Prover::new(&rules)?;
    let state = prover.initial_state();
    for (place, role) in prover.roles().to_vec().into_iter().enumerate() {
        let moves = prover.legal_moves(&state, RoleId::from_index(place))?;
        let moves: Vec<String> = moves.into_iter().map(|term| prover.show(term)).collect();
        println!("{}: {}", prover.show(role), moves.join(" "));
    }
    Ok(())
}
