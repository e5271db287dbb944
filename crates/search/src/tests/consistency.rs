//! A full check of a graph: links, counts, and that no record is lost.

use std::collections::HashSet;

use crate::Search;
use crate::graph::Graph;
use crate::pool::PoolId;
use crate::record::SIMULTANEOUS;
use panza_gdl::{Id, NodeId};

/// The records reached by a traversal.
#[derive(Default)]
struct Met {
    nodes: HashSet<NodeId>,
    edge_blocks: usize,
    open: usize,
}

impl Search {
    /// Asserts the invariants of the graph, and returns the number of nodes below the root.
    pub(super) fn check(&self) -> usize {
        let graph = &self.graph;
        let mut reached = Met::default();
        visit(graph, graph.root, &mut reached);
        let reachable = reached.nodes.len();
        // Nodes that are not below the root stay until they are evicted.
        let mut met = Met::default();
        let mut in_table = 0;
        for index in 0..graph.nodes.created {
            let node = NodeId::from_index(index);
            let record = &graph.nodes[node];
            assert!(!record.pinned);
            if record.terminal || record.state.is_some() {
                visit(graph, node, &mut met);
                assert_eq!(record.in_table, !record.terminal);
                if record.in_table {
                    in_table += 1;
                    assert!(graph.find(graph.state(node)).is_some());
                }
            }
        }
        assert_eq!(graph.table_len(), in_table, "table");
        assert_eq!(
            graph.nodes.in_use,
            met.nodes.len() + graph.retired as usize,
            "nodes"
        );
        assert_eq!(graph.edge_blocks.in_use, met.edge_blocks, "edge_blocks");
        assert_eq!(graph.role_moves_pool.in_use, met.open, "choices");
        reachable
    }

    pub(super) fn total_in_flight(&mut self) -> u64 {
        self.graph.total_in_flight()
    }
}

fn visit(graph: &Graph, node: NodeId, met: &mut Met) {
    let mut stack = vec![node];
    while let Some(node) = stack.pop() {
        if !met.nodes.insert(node) {
            continue;
        }
        let record = &graph.nodes[node];
        for bounds in &graph.bounds[node] {
            assert!(bounds.lower <= bounds.upper && bounds.upper <= 100);
        }
        assert!(!(record.terminal && record.is_expanded()));
        if !record.is_expanded() {
            assert_eq!(graph.children(node).count(), 0);
            continue;
        }
        met.open += 1;
        let mut movers = 0;
        for role in 0..graph.roles {
            let choice = graph.role_moves(node, role);
            let edges = graph.edges(choice).count();
            let untried = graph.untried(choice).count();
            met.edge_blocks += graph.blocks_of(choice).count();
            if choice.has_choice() {
                movers += 1;
                assert_eq!(edges, choice.n_edges as usize);
                let sure = record.solved && (edges, untried) == (1, 0);
                assert!(sure || edges + untried == choice.n_legal as usize);
            } else {
                assert_eq!((choice.n_legal, edges, untried), (1, 0, 0));
            }
            for (_, block) in graph.blocks_of(choice) {
                assert_eq!(block.role as usize, role);
                let in_flight: u32 = block.in_flight.iter().map(|&count| u32::from(count)).sum();
                assert!(in_flight <= record.in_flight);
            }
        }
        assert_eq!(record.mover == SIMULTANEOUS, movers > 1);
        stack.extend(graph.children(node));
    }
}
