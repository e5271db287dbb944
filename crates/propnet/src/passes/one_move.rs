//! Each role makes exactly one move, so a role's moves exclude each other.
//!
//! Patterns, inside one AND: two moves of a role never hold together; a move of a role makes 'not
//! that other move' redundant; 'none of these moves' over more than half of a role's moves becomes
//! 'one of the others', which takes fewer edges (a large OR of moves is, inverted, such an AND).
//! Sound because `legal`, `terminal` and `goal` do not depend on moves, and `next` is evaluated
//! only with one move made per role. It saves nearly all edges of the frame rules of a board game,
//! where a square keeps its content under every move but a few.
//!
//! Gain, with all other passes: a phase of breakthrough 10,526 edges become 1,286, of skirmish
//! 206,218 become 98,698.

use super::{Context, rewrite};
use crate::{Network, NetworkError, Node, Signal};
use panza_gdl::{Id, MoveId, RoleId};
use panza_sync::Budget;

pub(super) fn one_move(network: &Network, budget: &Budget) -> Result<Network, NetworkError> {
    let role_moves = network.role_moves();
    let mut is_excluded = vec![false; network.moves.len()];
    let mut others: Vec<Signal> = Vec::new();
    let mut roles: Vec<RoleId> = Vec::new();
    rewrite(network, budget, |context: &mut Context<'_>, inputs| {
        // A replaced input may be the inverse of another input, which the rules below would hide,
        // or equal to it: the same move twice is not two moves.
        inputs.sort_unstable();
        inputs.dedup();
        if inputs.windows(2).any(|pair| pair[0] == !pair[1]) {
            return Signal::FALSE;
        }
        // Only roles with a move among the inputs: there may be many roles.
        roles.clear();
        roles.extend(
            inputs
                .iter()
                .filter_map(|&input| match context.network.node(input) {
                    Node::Move(mv) => Some(context.network.moves[mv].0),
                    _ => None,
                }),
        );
        roles.sort_unstable();
        roles.dedup();
        for &role in &roles {
            let moves = role_moves[role].clone().map(MoveId);
            let of_role = |signal: Signal| match context.network.node(signal) {
                Node::Move(mv) if context.network.moves[mv].0 == role => Some(mv),
                _ => None,
            };
            let n_plain = inputs
                .iter()
                .filter(|&&input| !input.is_inverted() && of_role(input).is_some())
                .count();
            if n_plain > 1 {
                return Signal::FALSE;
            }
            let n_excluded = inputs
                .iter()
                .filter(|&&input| input.is_inverted() && of_role(input).is_some())
                .count();
            let is_large = n_excluded >= 2 && n_excluded * 2 > moves.len();
            if n_excluded == 0 || (n_plain == 0 && !is_large) {
                continue;
            }
            others.clear();
            if n_plain == 0 {
                let excluded = inputs
                    .iter()
                    .filter(|input| input.is_inverted())
                    .filter_map(|&input| of_role(input));
                excluded
                    .clone()
                    .for_each(|mv| is_excluded[mv.index()] = true);
                let rest = moves.filter(|mv| !is_excluded[mv.index()]);
                others.extend(rest.map(|mv| Signal::of_node(context.network.move_node(mv))));
                excluded.for_each(|mv| is_excluded[mv.index()] = false);
            }
            inputs.retain(|&input| !(input.is_inverted() && of_role(input).is_some()));
            if n_plain == 0 {
                let one_of_others = context.builder.or(&mut others);
                inputs.push(one_of_others);
            }
        }
        context.builder.and(inputs)
    })
}
