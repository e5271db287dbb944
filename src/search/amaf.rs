//! AMAF: the results of playouts in which a move was made at any time (all moves as first; Brügmann
//! 1993), as in GRAVE (Cazenave 2015).
//!
//! Where moves make lasting facts true (`analysis::placements`), the final states of playouts show
//! which moves were made. A node with enough visits has a table: for each fact the playouts that
//! ended with it, and their goals. Below it, moves without results of their own are valued by the
//! table of the nearest node above that has one. Values are relative to the mean of all playouts of
//! the table, since the playouts below another node have another mean.
//!
//! Invariant: the tables take at most [`MAX_BYTES`].
//!
//! Never knows: selection, threads.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::analysis::placements::Placements;
use crate::ids::{MoveId, NodeId};
use crate::machine::PlayoutTotals;

/// Bytes of all tables. When they are reached, all tables are dropped and grow again.
const MAX_BYTES: usize = 64 << 20;
/// Visits from which on a node has a table.
const MIN_VISITS: u32 = 4;
/// Playouts from which on a table is used.
const MIN_PLAYOUTS: f32 = 48.0;
/// Playouts without an advantage that each fact starts with.
const PRIOR_PLAYOUTS: f32 = 8.0;

/// A table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TableId(u32);

/// The playouts through a node.
struct Table {
    playouts: f32,
    /// The sum of their goals, for each role.
    totals: Vec<f32>,
    /// For each fact the playouts that ended with it.
    counts: Vec<f32>,
    /// For each fact and role, roles innermost, the sum of the goals of these playouts.
    fact_totals: Vec<f32>,
}

/// The advantage of a move.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Advantage {
    /// The mean of the playouts with the move above the mean of all, in points.
    pub(super) points: f32,
    /// The playouts with the move.
    pub(super) playouts: f32,
}

impl Advantage {
    /// The weight of the AMAF value of a move with so many playouts of its own (Gelly and Silver
    /// 2007). `limit` is the number of own playouts that it counts for at most.
    #[inline]
    pub(super) fn share(self, playouts: f32, limit: f32) -> f32 {
        if playouts == 0.0 {
            return 1.0;
        }
        1.0 / (1.0 + playouts / self.playouts + playouts / limit)
    }
}

/// The tables of all nodes.
pub(super) struct Amaf {
    placements: Arc<Placements>,
    n_roles: usize,
    tables: Vec<Table>,
    /// The table of each node, with the node's generation.
    of_node: FxHashMap<NodeId, (u16, TableId)>,
}

impl Amaf {
    pub(super) fn new(placements: &Arc<Placements>, n_roles: usize) -> Self {
        Self {
            placements: Arc::clone(placements),
            n_roles,
            tables: Vec::new(),
            of_node: FxHashMap::default(),
        }
    }

    /// The table of a node, if it has one with enough playouts.
    #[inline]
    pub(super) fn table(&self, node: NodeId, generation: u16) -> Option<TableId> {
        let &(of, table) = self.of_node.get(&node)?;
        let has_enough = self.tables[table.0 as usize].playouts >= MIN_PLAYOUTS;
        (of == generation && has_enough).then_some(table)
    }

    /// Adds playouts through a node with so many visits.
    pub(super) fn add(
        &mut self,
        node: NodeId,
        generation: u16,
        visits: u32,
        playouts: &PlayoutTotals,
    ) {
        if visits < MIN_VISITS {
            return;
        }
        let table = match self.of_node.get(&node) {
            Some(&(of, table)) if of == generation => table,
            _ => self.add_table(node, generation),
        };
        let table = &mut self.tables[table.0 as usize];
        table.playouts += playouts.playouts as f32;
        for (sum, &total) in table.totals.iter_mut().zip(&playouts.totals) {
            *sum += total as f32;
        }
        for (sum, &count) in table.counts.iter_mut().zip(&playouts.observed) {
            *sum += count as f32;
        }
        let totals = table.fact_totals.iter_mut();
        for (sum, &total) in totals.zip(&playouts.observed_totals) {
            *sum += total as f32;
        }
    }

    fn add_table(&mut self, node: NodeId, generation: u16) -> TableId {
        let n_facts = self.placements.facts.len();
        let n_numbers = 1 + self.n_roles + n_facts * (1 + self.n_roles);
        if (self.tables.len() + 1) * n_numbers * size_of::<f32>() > MAX_BYTES {
            self.tables.clear();
            self.of_node.clear();
        }
        let table = TableId(self.tables.len() as u32);
        self.tables.push(Table {
            playouts: 0.0,
            totals: vec![0.0; self.n_roles],
            counts: vec![0.0; n_facts],
            fact_totals: vec![0.0; n_facts * self.n_roles],
        });
        self.of_node.insert(node, (generation, table));
        table
    }

    /// The advantage of a move of a role.
    #[inline]
    pub(super) fn advantage(&self, table: TableId, role: usize, mv: MoveId) -> Advantage {
        let Some(fact) = self.placements.of(mv) else {
            return Advantage::default();
        };
        let table = &self.tables[table.0 as usize];
        let playouts = table.counts[fact];
        let mean = table.totals[role] / table.playouts;
        let total = table.fact_totals[fact * self.n_roles + role];
        Advantage {
            points: (total - playouts * mean) / (playouts + PRIOR_PLAYOUTS),
            playouts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{BaseId, Id};

    /// Two moves with a fact each, and one without.
    fn amaf() -> Amaf {
        let placements = Placements::new(vec![Some(BaseId(7)), Some(BaseId(9)), None]);
        Amaf::new(&Arc::new(placements), 2)
    }

    fn playouts(count: u32, total: u64, observed: [u32; 2], of_first: [u32; 2]) -> PlayoutTotals {
        let full = 100 * count;
        PlayoutTotals {
            playouts: count,
            totals: vec![total, u64::from(full) - total],
            observed: observed.to_vec(),
            observed_totals: (0..2)
                .flat_map(|fact| [of_first[fact], 100 * observed[fact] - of_first[fact]])
                .collect(),
            ..PlayoutTotals::default()
        }
    }

    #[test]
    fn a_move_is_worth_what_playouts_with_it_score_above_the_others() {
        let mut amaf = amaf();
        let node = NodeId::from_index(3);
        // The first role wins half of all, and three quarters with the first fact.
        let result = playouts(64, 3_200, [32, 32], [2_400, 800]);
        amaf.add(node, 1, MIN_VISITS, &result);
        let table = amaf.table(node, 1).unwrap();
        let of = |role, mv| amaf.advantage(table, role, MoveId(mv));
        assert_eq!(of(0, 0).points, 32.0 * 25.0 / (32.0 + PRIOR_PLAYOUTS));
        assert_eq!(of(0, 1).points, -of(0, 0).points);
        assert_eq!(of(1, 0).points, -of(0, 0).points);
        assert_eq!(of(0, 0).playouts, 32.0);
        assert_eq!((of(0, 2).points, of(0, 2).playouts), (0.0, 0.0));
    }

    #[test]
    fn a_table_belongs_to_one_generation_of_a_node_and_needs_playouts() {
        let mut amaf = amaf();
        let node = NodeId::from_index(3);
        let few = playouts(16, 800, [8, 8], [400, 400]);
        amaf.add(node, 1, MIN_VISITS - 1, &few);
        assert_eq!(amaf.table(node, 1), None);
        amaf.add(node, 1, MIN_VISITS, &few);
        assert_eq!(amaf.table(node, 1), None, "too few playouts");
        let many = playouts(640, 32_000, [320, 320], [16_000, 16_000]);
        amaf.add(node, 1, MIN_VISITS, &many);
        assert!(amaf.table(node, 1).is_some());
        assert_eq!(amaf.table(node, 2), None);
        amaf.add(node, 2, MIN_VISITS, &few);
        assert_eq!(amaf.table(node, 1), None, "the node was freed");
    }

    #[test]
    fn own_playouts_take_over() {
        let of = |playouts| Advantage {
            points: 5.0,
            playouts,
        };
        assert_eq!(of(100.0).share(0.0, 200.0), 1.0);
        assert_eq!(of(0.0).share(16.0, 200.0), 0.0);
        assert!(of(1000.0).share(16.0, 200.0) > 0.9);
        assert!(of(1000.0).share(2000.0, 200.0) < 0.1);
    }
}
