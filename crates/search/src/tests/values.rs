//! Tests of the values of nodes, and of what selection makes of them.

use super::{config, iterations, tic_tac_toe};
use crate::Search;
use crate::record::{Bounds, EdgeBlock, Prior, SIMULTANEOUS, UntriedMove};
use crate::spread::Spread;
use panza_gdl::{Id, MoveId, NodeId, RoleId};

#[test]
fn the_mean_of_a_node_is_that_of_its_own_results_and_its_edges() {
    let mut search = Search::new(tic_tac_toe(), RoleId(0), config());
    search.run(&iterations(3_000));
    search.settle();
    let graph = &search.graph;
    let mut n_checked = 0;
    for index in 0..graph.nodes.created {
        let node = NodeId::from_index(index);
        let record = &graph.nodes[node];
        if !record.is_expanded() || record.mover == SIMULTANEOUS {
            continue;
        }
        let mover = record.mover as usize;
        let role_moves = graph.role_moves(node, mover);
        let blocks = graph.blocks_of(role_moves);
        let slots = |block: &EdgeBlock| 0..block.len as usize;
        let edges: Vec<(&EdgeBlock, usize)> = blocks
            .flat_map(|(_, block)| slots(block).map(move |slot| (block, slot)))
            .collect();
        let is_exact = |&(block, slot): &(&EdgeBlock, usize)| block.bounds(slot).is_exact();
        let is_proven = graph.bounds[node][mover] != Bounds::UNKNOWN || edges.iter().any(is_exact);
        if is_proven || record.visits == 0 {
            continue;
        }
        let value = graph.values[node][mover];
        let own_visits = record.own_visits as f32;
        let (mut sum, mut visits) = (value.own * own_visits, own_visits);
        for (block, slot) in edges {
            let of_edge = block.visits[slot] as f32;
            sum += of_edge * block.bounds(slot).clamp(block.means[slot]);
            visits += of_edge;
        }
        assert!((value.mean - sum / visits).abs() < 0.01, "{node:?}");
        n_checked += 1;
    }
    assert!(n_checked > 100, "{n_checked}");
}

#[test]
fn priors_keep_small_probabilities() {
    for probability in [0.0, 0.000_1, 0.001, 0.03, 0.5, 1.0f32] {
        let kept = Prior::new(probability).probability();
        assert!(
            (kept - probability).abs() <= 0.01 * probability.sqrt(),
            "{probability}: {kept}"
        );
    }
    assert_eq!(Prior::NONE.probability(), 0.0);
}

#[test]
fn untried_moves_keep_their_values() {
    for value in [0.0, 12.34, 50.0, 100.0] {
        let untried = UntriedMove::valued(MoveId(3), value);
        assert!((untried.value().unwrap() - value).abs() < 0.01);
        assert_eq!(untried.value_or(7.0), untried.value().unwrap());
    }
    assert_eq!(UntriedMove::unknown(MoveId(3)).value(), None);
    assert_eq!(UntriedMove::unknown(MoveId(3)).value_or(7.0), 7.0);
}

#[test]
fn the_spread_follows_the_results_within_its_limits() {
    let mut spread = Spread::new();
    assert_eq!(spread.deviation(), 25.0);
    for _ in 0..100_000 {
        spread.add(10.0);
        spread.add(-10.0);
    }
    assert!((spread.deviation() - 10.0).abs() < 0.1, "{spread:?}");
    for _ in 0..100_000 {
        spread.add(0.0);
    }
    assert_eq!(spread.deviation(), 1.0);
}
