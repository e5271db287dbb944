//! Joint families: which moves are left out, what is known of the rest, and what that changes.

use std::sync::Arc;

use proptest::prelude::*;

use super::games::{Game, Table, TableNode, matrix};
use super::{config, iterations, mv};
use crate::joint_family::{JointFamily, n_joint_moves, push_joint_moves};
use crate::request::{PositionInfo, RolloutRequest};
use crate::{Search, SearchConfig};
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{
    Expander, ExpansionStep, GameInfo, Machine, PositionBatch, Reasoner, SequentialExpander,
};
use panza_testing::matrix_game::solve;

/// A machine whose expander says that it is a wide one, so that families are generated.
struct WideExpander(Arc<dyn Machine>);

struct Expanding(SequentialExpander);

impl Expander for Expanding {
    fn width(&self) -> usize {
        2
    }
    fn expand(
        &mut self,
        steps: &[ExpansionStep<'_>],
        with_legal: bool,
        positions: &mut PositionBatch,
    ) {
        self.0.expand(steps, with_legal, positions);
    }
}

impl Machine for WideExpander {
    fn kind(&self) -> &'static str {
        "wide"
    }
    fn info(&self) -> &dyn GameInfo {
        self.0.info()
    }
    fn initial_state(&self) -> Vec<u64> {
        self.0.initial_state()
    }
    fn reasoner(self: Arc<Self>) -> Box<dyn Reasoner> {
        Arc::clone(&self.0).reasoner()
    }
    fn expander(self: Arc<Self>) -> Box<dyn Expander> {
        let reasoner = Arc::clone(&self.0).reasoner();
        let n_roles = self.info().n_roles();
        Box::new(Expanding(SequentialExpander::new(n_roles, reasoner)))
    }
}

fn wide(table: Table) -> Arc<dyn Machine> {
    Arc::new(WideExpander(Game::new(table)))
}

/// What a family says of the start of a table.
fn family(table: &Table) -> RolloutRequest {
    let machine: Arc<dyn Machine> = Game::new(table.clone());
    let mut reasoner = Arc::clone(&machine).reasoner();
    let mut position = PositionInfo {
        state: machine.initial_state(),
        ..PositionInfo::default()
    };
    reasoner.set_state(&position.state);
    for role in 0..table.roles {
        let legal = reasoner.legal_moves(RoleId::from_index(role));
        position.legal.extend_from_slice(legal);
        position.legal_ends.push(position.legal.len() as u32);
    }
    let count = n_joint_moves(&position, None, 1_000);
    let mut joint_moves = Vec::new();
    push_joint_moves(&position, &mut joint_moves);
    assert_eq!(joint_moves.len(), count * table.roles);
    let steps: Vec<ExpansionStep<'_>> = joint_moves
        .chunks(table.roles)
        .map(|joint_move| ExpansionStep {
            state: &position.state,
            joint_move: Some(joint_move),
        })
        .collect();
    let mut positions = PositionBatch::default();
    SequentialExpander::new(table.roles, reasoner).expand(&steps, false, &mut positions);
    let mut request = RolloutRequest {
        position,
        ..RolloutRequest::default()
    };
    JointFamily::default().read(&mut request, &positions, 0, None, None);
    request
}

fn kept(request: &RolloutRequest, role: usize) -> Vec<u32> {
    let moves = request.position.moves_of(role).iter();
    moves.map(|mv| mv.0 % super::games::ROLE).collect()
}

/// A table of one choice: `None` is a second round in which one goal or the other may come.
fn round(cells: &[Vec<Option<u8>>]) -> Table {
    let (n_rows, n_columns) = (cells.len(), cells[0].len());
    let mut nodes = vec![TableNode::Choice(
        vec![n_rows as u32, n_columns as u32],
        (1..=n_rows * n_columns).collect(),
    )];
    let more = 1 + n_rows * n_columns;
    for column in 0..n_columns {
        for row in cells {
            nodes.push(match row[column] {
                Some(goal) => TableNode::End(vec![goal, 100 - goal]),
                None => TableNode::Choice(vec![2, 2], vec![more, more + 1, more + 1, more]),
            });
        }
    }
    nodes.push(TableNode::End(vec![100, 0]));
    nodes.push(TableNode::End(vec![0, 100]));
    Table { roles: 2, nodes }
}

#[test]
fn moves_into_a_wall_are_left_out() {
    // As in Tron: the last move of each role ends the game, with a loss or a draw.
    let table = round(&[
        vec![None, None, Some(100)],
        vec![None, Some(50), Some(100)],
        vec![Some(0), Some(0), Some(50)],
    ]);
    let request = family(&table);
    assert_eq!(kept(&request, 0), [0, 1]);
    assert_eq!(kept(&request, 1), [0, 1]);
    let position = &request.position;
    assert!(position.has_joint_moves && !request.is_proven);
    assert_eq!(position.terminal_places, [1, 1]);
    assert_eq!(position.terminal_goals, [50, 50]);
}

#[test]
fn a_position_of_one_good_move_each_keeps_a_choice() {
    let table = round(&[vec![None, Some(100)], vec![Some(0), Some(50)]]);
    let request = family(&table);
    let counts = [0, 1].map(|role| kept(&request, role).len());
    assert_eq!(counts.iter().sum::<usize>(), 3);
    assert!(!request.position.has_joint_moves);
    assert_eq!(request.position.mover(), Some(usize::from(counts[1] == 2)));
}

#[test]
fn what_might_be_better_is_kept() {
    let table = round(&[vec![None, Some(0)], vec![Some(50), Some(50)]]);
    let request = family(&table);
    assert_eq!(kept(&request, 0), [0, 1]);
}

#[test]
fn the_other_roles_must_not_lose_by_a_dominated_move() {
    // The first role has the same in both rows, but the second does not: nothing is left out of a
    // game in which goals do not add up.
    let table = matrix(&[&[(50, 100), (50, 0)], &[(50, 0), (50, 100)]]);
    let request = family(&table);
    assert_eq!(
        (kept(&request, 0), kept(&request, 1)),
        (vec![0, 1], vec![0, 1])
    );
    assert!(!request.is_proven);
}

#[test]
fn a_matrix_of_ends_is_worth_its_value() {
    let table = matrix(&[&[(100, 0), (50, 50)], &[(0, 100), (100, 0)]]);
    let request = family(&table);
    assert!(request.is_proven);
    let value = &request.position.value;
    assert!((value[0] - 200.0 / 3.0).abs() < 1e-3 && (value[1] - 100.0 / 3.0).abs() < 1e-3);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn moves_that_are_left_out_change_no_value(
        cells in (2usize..5, 2usize..5).prop_flat_map(|(rows, columns)| {
            let cell = prop_oneof![
                Just(None), Just(Some(0u8)), Just(Some(50)), Just(Some(100)),
            ];
            prop::collection::vec(prop::collection::vec(cell, columns), rows)
        }),
        unknown in prop::collection::vec(0u8..=100, 16),
    ) {
        let request = family(&round(&cells));
        // For any values of the cells that do not end the game.
        let value = |rows: &[u32], columns: &[u32]| {
            let cell = |row: u32, column: u32| {
                let known = cells[row as usize][column as usize];
                f64::from(known.unwrap_or(unknown[(row * 4 + column) as usize]))
            };
            let row = |&row: &u32| columns.iter().map(|&column| cell(row, column)).collect();
            solve(&rows.iter().map(row).collect::<Vec<Vec<f64>>>()).value
        };
        let all: Vec<u32> = (0..5).collect();
        let before = value(&all[..cells.len()], &all[..cells[0].len()]);
        let after = value(&kept(&request, 0), &kept(&request, 1));
        prop_assert!((before - after).abs() < 1e-6, "{before} became {after}");
    }
}

#[test]
fn a_search_with_joint_families_finds_the_equilibrium_of_the_second_round() {
    // The value of the second round is 50, so the first is a matrix of known values.
    let cells = [
        vec![None, Some(100), Some(0)],
        vec![Some(0), None, Some(100)],
        vec![Some(0), Some(0), Some(50)],
    ];
    let points: Vec<Vec<f64>> = cells
        .iter()
        .map(|row| {
            row.iter()
                .map(|cell| f64::from(cell.unwrap_or(50)))
                .collect()
        })
        .collect();
    let expected = solve(&points).value;
    for role in 0..2u32 {
        let config = SearchConfig {
            samples_per_request: 0,
            ..config()
        };
        let mut search = Search::new(wide(round(&cells)), RoleId(role), config);
        search.run(&iterations(4_000));
        search.check();
        let bounds = search.graph.bounds[search.graph.root][role as usize];
        let own = if role == 0 {
            expected
        } else {
            100.0 - expected
        };
        assert!(f64::from(bounds.lower) <= own + 1e-6 && own - 1e-6 <= f64::from(bounds.upper));
        assert!(bounds.upper - bounds.lower <= 1, "{bounds:?}");
    }
}

#[test]
fn the_only_move_worth_playing_is_played() {
    // First both choose without an effect; then moves 1 of both roles are walls.
    let wall = round(&[vec![None, Some(100)], vec![Some(0), Some(50)]]);
    let mut nodes = vec![TableNode::Choice(vec![2, 2], vec![1; 4])];
    nodes.extend(wall.nodes.into_iter().map(|node| match node {
        TableNode::Choice(counts, next) => {
            TableNode::Choice(counts, next.into_iter().map(|node| node + 1).collect())
        }
        end => end,
    }));
    for role in 0..2u32 {
        let table = Table {
            roles: 2,
            nodes: nodes.clone(),
        };
        let mut search = Search::new(wide(table), RoleId(role), config());
        search.run(&iterations(200));
        search.advance(&[mv(0, 0), mv(1, 0)]);
        assert_eq!(search.best_move(), Some(mv(role, 0)));
        let report = search.root();
        assert_eq!(report.moves[0].mv, mv(role, 0));
        search.run(&iterations(200));
        assert_eq!(search.best_move(), Some(mv(role, 0)));
        search.check();
    }
}

#[test]
fn small_graphs_evict_terminal_children() {
    let cells: Vec<Vec<Option<u8>>> = (0..4)
        .map(|row| {
            (0..4)
                .map(|column| ((row + column) % 3 == 0).then_some(50))
                .collect()
        })
        .collect();
    for max_nodes in 2..12 {
        let config = SearchConfig {
            max_nodes,
            ..config()
        };
        let mut search = Search::new(wide(round(&cells)), RoleId(0), config);
        search.run(&iterations(500));
        search.check();
        let _: Option<MoveId> = search.best_move();
    }
}
