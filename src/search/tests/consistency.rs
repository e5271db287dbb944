//! A full check of a tree: links, counts, and that no record is lost.

use std::collections::HashSet;

use crate::ids::NodeId;
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
    /// Checks every invariant of the tree that can be seen from outside, and returns how many nodes it has.
    pub(super) fn check(&self) -> usize {
        let graph = &self.graph;
        let mut met = Met::default();
        visit(graph, graph.root, &mut met);
        let reachable = met.nodes.len();
        let mut garbage = graph.garbage;
        while garbage.is_some() {
            visit(graph, garbage, &mut met);
            garbage = graph.nodes[garbage].link;
        }
        assert_eq!(graph.nodes.in_use(), met.nodes.len(), "nodes");
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
        assert!(met.nodes.insert(node), "{node:?} has two parents");
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
                assert_eq!(entries + untried, choice.legal as usize);
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
        for child in graph.children(node) {
            assert!(graph.nodes[child].in_flight <= record.in_flight);
            stack.push(child);
        }
    }
}
