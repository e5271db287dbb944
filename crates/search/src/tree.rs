//! The tree as one of the searches of this crate.

use super::config::{RootEstimates, RootReport, SearchStatistics, StopReason};
use super::searcher::{Line, LineLimits, SearchReport, Searcher};
use super::{Method, MoveStats, Search};
use panza_gdl::{Id, MoveId, RoleId};
use panza_sync::Budget;

impl Searcher for Search {
    fn method(&self) -> Method {
        Method::Tree
    }

    fn run(&mut self, budget: &Budget) -> StopReason {
        Search::run(self, budget)
    }

    fn advance(&mut self, joint_move: &[MoveId], _: &[u64]) {
        Search::advance(self, joint_move);
    }

    fn set_state(&mut self, state: &[u64]) {
        Search::set_state(self, state);
    }

    fn set_role(&mut self, role: RoleId) {
        Search::set_role(self, role);
    }

    fn choose(&mut self) -> Option<MoveStats> {
        let best = self.best_move()?;
        let root = self.root();
        Some(MoveStats {
            is_proven_best: self.is_proven(),
            ..stats_of(&root, best)
        })
    }

    fn report(&mut self, limits: LineLimits) -> SearchReport {
        let best = self.best_move();
        let root = self.root();
        let roles = self.outlook();
        let line = match limits.lines {
            0 => Vec::new(),
            _ => self.principal_line(limits.moves),
        };
        let first = line.first().and_then(|joint| joint.get(self.role.index()));
        let lines = first.map(|&mv| Line {
            first: stats_of(&root, mv),
            joint_moves: line.clone(),
        });
        let mut outcomes = self.outcomes();
        outcomes.sort_by_key(|it| it.mv.0);
        SearchReport {
            method: Method::Tree,
            steps: root.iterations,
            playouts: root.playouts,
            nodes: root.nodes.into(),
            bytes: self.statistics().bytes,
            depth: root.max_depth,
            selective_depth: root.max_depth,
            best,
            value: root.value,
            proven: root.proven,
            roles,
            moves: root.moves,
            outcomes,
            lines: lines.into_iter().collect(),
            sum: self.sure_sum(),
            times: self.times(),
            shares: Vec::new(),
        }
    }

    fn statistics(&self) -> SearchStatistics {
        Search::statistics(self)
    }

    fn estimates(&mut self) -> Option<RootEstimates> {
        Search::estimates(self)
    }

    fn settle(&mut self) {
        Search::settle(self);
    }

    fn ask_first(&mut self, role: RoleId, goal: u8) {
        Search::ask_first(self, role, goal);
    }

    fn knows(&self, role: RoleId, goal: u8) -> bool {
        Search::knows(self, role, goal)
    }
}

/// A move of ours, with the value of the state where it has none.
fn stats_of(root: &RootReport, mv: MoveId) -> MoveStats {
    let stats = root.moves.iter().find(|stats| stats.mv == mv);
    let stats = stats.copied().unwrap_or(MoveStats::new(mv));
    MoveStats {
        value: stats.value.or(root.value),
        ..stats
    }
}
