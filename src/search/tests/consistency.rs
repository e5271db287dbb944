//! A full check of a graph: links, counts, and that no record is lost.

use std::collections::HashSet;

use crate::ids::{Id, NodeId};
use crate::search::Search;
use crate::search::graph::Graph;
use crate::search::pool::Place;
use crate::search::record::SEVERAL;

/// What a walk over nodes has met.
#[derive(Default)]
struct Met {
    nodes: HashSet<NodeId>,
    chunks: usize,
    open: usize,
}

impl Search {
    /// Checks every invariant of the graph that can be seen from outside, and returns how many
    /// nodes it has.
    pub(super) fn check(&self) -> usize {
        let graph = &self.graph;
        let mut reached = Met::default();
        visit(graph, graph.root, &mut reached);
        let reachable = reached.nodes.len();
        // What no longer is below the root is kept until memory is needed.
        let mut met = Met::default();
        let mut listed = 0;
        for index in 0..graph.nodes.made() {
            let node = NodeId::from_index(index);
            let record = &graph.nodes[node];
            assert!(!record.spared);
            if record.terminal || record.state.is_some() {
                visit(graph, node, &mut met);
                assert_eq!(record.listed, !record.terminal);
                if record.listed {
                    listed += 1;
                    let mut buffer = Vec::new();
                    assert!(graph.find(graph.state(node, &mut buffer)).is_some());
                }
            }
        }
        assert_eq!(graph.in_table(), listed, "table");
        assert_eq!(
            graph.nodes.in_use(),
            met.nodes.len() + graph.retired as usize,
            "nodes"
        );
        assert_eq!(graph.chunks.in_use(), met.chunks, "chunks");
        assert_eq!(graph.choice_sets.in_use(), met.open, "choices");
        reachable
    }

    /// Everything that is marked as under way.
    pub(super) fn marks(&mut self) -> u64 {
        self.graph.marks()
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
        assert!(!(record.terminal && record.is_open()));
        if !record.is_open() {
            assert_eq!(graph.children(node).count(), 0);
            continue;
        }
        met.open += 1;
        let mut deciders = 0;
        for role in 0..graph.roles {
            let choice = graph.choice(node, role);
            let entries = graph.entries(choice).count();
            let untried = graph.untried(choice).count();
            met.chunks += graph.chunks_of(choice).count();
            if choice.decides() {
                deciders += 1;
                assert_eq!(entries, choice.tried as usize);
                let sure = record.solved && (entries, untried) == (1, 0);
                assert!(sure || entries + untried == choice.legal as usize);
            } else {
                assert_eq!((choice.legal, entries, untried), (1, 0, 0));
            }
            for (_, chunk) in graph.chunks_of(choice) {
                assert_eq!(chunk.role as usize, role);
                let in_flight: u32 = chunk.in_flight.iter().map(|&count| u32::from(count)).sum();
                assert!(in_flight <= record.in_flight);
            }
        }
        assert_eq!(record.decider == SEVERAL, deciders > 1);
        stack.extend(graph.children(node));
    }
}
