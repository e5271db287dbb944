//! AMAF: the results of playouts in which a move was made at any time (all moves as first; Brügmann
//! 1993), as in GRAVE (Cazenave 2015).
//!
//! Where moves make lasting facts true (`structure::placements`), the final states of playouts show
//! which moves were made. A node with enough visits has a table: for each fact the playouts that
//! ended with it, and their goals. Below it, moves without results of their own are valued by the
//! table of the nearest node above that has one. Values are relative to the mean of all playouts of
//! the table, since the playouts below another node have another mean.
//!
//! Results that do not depend on the facts say nothing of moves: in Dots and Boxes every line is
//! drawn in the end, so each fact has the mean of all playouts. A table is used only if its facts
//! tell results apart better than chance, and of its facts only those that are neither nearly
//! always nor nearly never true at the end.
//!
//! Invariant: the tables take at most [`MAX_BYTES`].
//!
//! Never uses: selection, threads.

use std::ops::RangeInclusive;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use panza_analysis::Placements;
use panza_gdl::{MoveId, NodeId};
use panza_machine::PlayoutTotals;

/// Bytes of all tables. When they are reached, all tables are dropped and grow again.
const MAX_BYTES: usize = 64 << 20;
/// Visits from which on a node has a table.
const MIN_VISITS: u32 = 4;
/// Playouts from which on a table is used.
const MIN_PLAYOUTS: f32 = 48.0;
/// Playouts without an advantage that each fact starts with.
const PRIOR_PLAYOUTS: f32 = 8.0;
/// The shares of a table's playouts between which a fact says something of a move.
const INFORMATIVE_SHARES: RangeInclusive<f32> = 0.02..=0.9;
/// The mean square of the advantages of a table's facts, in units of their noise, from which on the
/// table is used. It is 1 where results do not depend on the facts.
const MIN_SIGNAL: f32 = 1.2;
/// The numbers of a table before the sums of goals: its playouts, those at the last test of its
/// signal, and whether it passed, 1 or 0.
const HEAD: usize = 3;
const PLAYOUTS: usize = 0;
const TESTED_AT: usize = 1;
const HAS_SIGNAL: usize = 2;

/// A table: its place in [`Amaf::tables`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TableId(u32);

/// The advantage of a move.
#[derive(Clone, Copy, Debug)]
pub(super) struct Advantage {
    /// The mean of the playouts with the move above the mean of all, in points.
    pub(super) points: f32,
    /// The playouts with the move.
    pub(super) playouts: f32,
}

/// The tables of all nodes.
pub(super) struct Amaf {
    placements: Arc<Placements>,
    n_roles: usize,
    /// Own playouts that an AMAF value counts for at most.
    max_playouts: f32,
    /// Tables of [`Self::table_len`] numbers each: the [`HEAD`]; the sum of the playouts' goals for
    /// each role; for each fact the playouts that ended with it; for each fact and role, roles
    /// innermost, the sum of the goals of these.
    tables: Vec<f32>,
    /// The table of each node, with the node's generation.
    of_node: FxHashMap<NodeId, (u16, TableId)>,
}

/// Greatest number of numbers in a table. Every request carries as many.
const MAX_NUMBERS: usize = 1 << 14;

/// Whether moves have AMAF values: their tables, and the counts of playouts, are not too large.
pub(super) fn fits(placements: &Placements, n_roles: usize) -> bool {
    placements.facts.len().saturating_mul(1 + n_roles) <= MAX_NUMBERS
}

impl Amaf {
    /// No tables. `max_playouts` is [`SearchConfig::amaf_playouts`].
    ///
    /// [`SearchConfig::amaf_playouts`]: super::SearchConfig::amaf_playouts
    pub(super) fn new(placements: &Arc<Placements>, n_roles: usize, max_playouts: f32) -> Self {
        Self {
            placements: Arc::clone(placements),
            n_roles,
            max_playouts,
            tables: Vec::new(),
            of_node: FxHashMap::default(),
        }
    }

    /// Where the counts of facts start in a table.
    fn counts_start(&self) -> usize {
        HEAD + self.n_roles
    }

    /// Where the goals of playouts with each fact start in a table.
    fn fact_totals_start(&self) -> usize {
        self.counts_start() + self.placements.facts.len()
    }

    fn table_len(&self) -> usize {
        self.fact_totals_start() + self.placements.facts.len() * self.n_roles
    }

    fn numbers(&self, table: TableId) -> &[f32] {
        &self.tables[table.0 as usize * self.table_len()..][..self.table_len()]
    }

    /// The table of a node, if it has one that tells moves apart.
    #[inline]
    pub(super) fn table(&self, node: NodeId, generation: u16) -> Option<TableId> {
        let &(of, table) = self.of_node.get(&node)?;
        let has_signal = self.numbers(table)[HAS_SIGNAL] > 0.0;
        (of == generation && has_signal).then_some(table)
    }

    /// Adds playouts through a node that has had `visits` visits.
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
        let (counts_start, length) = (self.counts_start(), self.table_len());
        let numbers = &mut self.tables[table.0 as usize * length..][..length];
        let (of_all, of_facts) = numbers.split_at_mut(counts_start);
        of_all[PLAYOUTS] += playouts.playouts as f32;
        for (sum, &total) in of_all[HEAD..].iter_mut().zip(&playouts.totals) {
            *sum += total as f32;
        }
        let added = playouts.observed.iter().chain(&playouts.observed_totals);
        for (sum, &number) in of_facts.iter_mut().zip(added) {
            *sum += number as f32;
        }
        let of_all = &self.numbers(table)[..HEAD];
        let (count, tested_at) = (of_all[PLAYOUTS], of_all[TESTED_AT]);
        if count >= MIN_PLAYOUTS.max(2.0 * tested_at) {
            let has_signal = self.signal(table) >= MIN_SIGNAL;
            let numbers = &mut self.tables[table.0 as usize * length..][..length];
            numbers[TESTED_AT] = count;
            numbers[HAS_SIGNAL] = f32::from(u8::from(has_signal));
        }
    }

    /// The mean square of the advantages of a table's informative facts, in units of their standard
    /// errors, for the role that it is greatest for. Goals count as if they were all 0 or 100.
    fn signal(&self, table: TableId) -> f32 {
        let numbers = self.numbers(table);
        let of_role = |role: usize| {
            let (count, mean) = (numbers[PLAYOUTS], self.mean(table, role));
            let variance = (mean * (100.0 - mean)).max(1.0);
            let (mut sum, mut n) = (0.0, 0.0);
            for fact in 0..self.placements.facts.len() {
                let with = numbers[self.counts_start() + fact];
                if !INFORMATIVE_SHARES.contains(&(with / count)) {
                    continue;
                }
                let total = numbers[self.fact_totals_start() + fact * self.n_roles + role];
                let difference = total / with - mean;
                // The playouts with the fact are part of all.
                let error = variance * (1.0 / with - 1.0 / count);
                sum += difference * difference / error;
                n += 1.0;
            }
            if n > 0.0 { sum / n } else { 0.0 }
        };
        (0..self.n_roles).map(of_role).fold(0.0, f32::max)
    }

    /// The mean goal of a role in the playouts of a table.
    fn mean(&self, table: TableId, role: usize) -> f32 {
        let numbers = self.numbers(table);
        numbers[HEAD + role] / numbers[PLAYOUTS]
    }

    fn add_table(&mut self, node: NodeId, generation: u16) -> TableId {
        let length = self.table_len();
        if (self.tables.len() + length) * size_of::<f32>() > MAX_BYTES {
            self.tables.clear();
            self.of_node.clear();
        }
        let table = TableId((self.tables.len() / length) as u32);
        self.tables.resize(self.tables.len() + length, 0.0);
        self.of_node.insert(node, (generation, table));
        table
    }

    /// The advantage of a move of a role; `None` for a move that leaves no fact, or one that says
    /// nothing.
    #[inline]
    pub(super) fn advantage(&self, table: TableId, role: usize, mv: MoveId) -> Option<Advantage> {
        let fact = self.placements.of(mv)?;
        let numbers = self.numbers(table);
        let playouts = numbers[self.counts_start() + fact];
        if !INFORMATIVE_SHARES.contains(&(playouts / numbers[PLAYOUTS])) {
            return None;
        }
        let mean = self.mean(table, role);
        let total = numbers[self.fact_totals_start() + fact * self.n_roles + role];
        Some(Advantage {
            points: (total - playouts * mean) / (playouts + PRIOR_PLAYOUTS),
            playouts,
        })
    }

    /// Mixes the `value` of a move, found in `playouts` playouts through it, with its AMAF value:
    /// the `mean` of the node plus the advantage. Returns the mixed value and the weight of the
    /// AMAF value in it, which falls with the playouts (Gelly and Silver 2007).
    #[inline]
    pub(super) fn mixed(
        &self,
        advantage: Advantage,
        mean: f32,
        value: f32,
        playouts: f32,
    ) -> (f32, f32) {
        let share = match playouts {
            0.0 => 1.0,
            _ => 1.0 / (1.0 + playouts / advantage.playouts + playouts / self.max_playouts),
        };
        let of_amaf = mean + advantage.points;
        (value + (of_amaf - value) * share, share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_gdl::{BaseId, Id};

    /// Two moves with a fact each, and one without.
    fn amaf() -> Amaf {
        let placements = Placements::new(vec![Some(BaseId(7)), Some(BaseId(9)), None], 2);
        Amaf::new(&Arc::new(placements), 2, 200.0)
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
        assert!(amaf.advantage(table, 0, MoveId(2)).is_none());
        let of = |role, mv| amaf.advantage(table, role, MoveId(mv)).unwrap();
        assert_eq!(of(0, 0).points, 32.0 * 25.0 / (32.0 + PRIOR_PLAYOUTS));
        assert_eq!(of(0, 1).points, -of(0, 0).points);
        assert_eq!(of(1, 0).points, -of(0, 0).points);
        assert_eq!(of(0, 0).playouts, 32.0);
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
        let many = playouts(640, 32_000, [320, 320], [24_000, 8_000]);
        amaf.add(node, 1, MIN_VISITS, &many);
        assert!(amaf.table(node, 1).is_some());
        assert_eq!(amaf.table(node, 2), None);
        amaf.add(node, 2, MIN_VISITS, &few);
        assert_eq!(amaf.table(node, 1), None, "the node was freed");
    }

    #[test]
    fn facts_that_do_not_tell_results_apart_have_no_say() {
        let mut amaf = amaf();
        let node = NodeId::from_index(3);
        let even = playouts(640, 32_000, [320, 320], [16_000, 16_000]);
        amaf.add(node, 1, MIN_VISITS, &even);
        assert_eq!(amaf.table(node, 1), None, "no fact matters");
        // The first fact is in all playouts, as a line of Dots and Boxes.
        let node = NodeId::from_index(4);
        let drawn = playouts(640, 32_000, [640, 320], [32_000, 24_000]);
        amaf.add(node, 1, MIN_VISITS, &drawn);
        let table = amaf.table(node, 1).unwrap();
        assert!(amaf.advantage(table, 0, MoveId(0)).is_none());
        assert!(amaf.advantage(table, 0, MoveId(1)).is_some());
    }

    #[test]
    fn own_playouts_take_over() {
        let amaf = amaf();
        let share = |of_move, own| {
            let advantage = Advantage {
                points: 5.0,
                playouts: of_move,
            };
            let (value, share) = amaf.mixed(advantage, 50.0, 60.0, own);
            assert_eq!(value, 60.0 - 5.0 * share);
            share
        };
        assert_eq!(share(100.0, 0.0), 1.0);
        assert_eq!(share(0.0, 16.0), 0.0);
        assert!(share(1000.0, 16.0) > 0.9);
        assert!(share(1000.0, 2000.0) < 0.1);
    }
}
