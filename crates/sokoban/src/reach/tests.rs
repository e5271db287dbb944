use proptest::prelude::*;

use super::{MAX_SIDE, Reach, Rows};

/// A fill cell by cell.
fn slow(free: &Rows, start: (usize, usize)) -> Rows {
    let mut found = Rows::new(free.len());
    let mut waiting = vec![start];
    while let Some((row, column)) = waiting.pop() {
        let is_new = free.contains((row, column)) && !found.contains((row, column));
        if !is_new {
            continue;
        }
        found.insert((row, column));
        waiting.extend([(row, column + 1), (row + 1, column)]);
        waiting.extend(row.checked_sub(1).map(|row| (row, column)));
        waiting.extend(column.checked_sub(1).map(|column| (row, column)));
        waiting.retain(|&(row, column)| row < free.len() && column < MAX_SIDE);
    }
    found
}

proptest! {
    #[test]
    fn a_fill_finds_what_a_slow_one_finds(
        words in proptest::collection::vec((any::<u64>(), any::<u64>()), 1..=20),
        start in any::<proptest::sample::Index>(),
    ) {
        let mut free = Rows::new(words.len());
        for (row, (one, other)) in words.iter().enumerate() {
            // Three of four cells are free; the last column never is.
            for column in 0..MAX_SIDE - 1 {
                if (one | other) >> column & 1 != 0 {
                    free.insert((row, column));
                }
            }
        }
        let cells: Vec<(usize, usize)> = (0..words.len())
            .flat_map(|row| (0..MAX_SIDE).map(move |column| (row, column)))
            .filter(|&cell| free.contains(cell))
            .collect();
        prop_assume!(!cells.is_empty());
        let start = *start.get(&cells);
        let mut reach = Reach::new(words.len());
        reach.fill(&free, start);
        prop_assert_eq!(reach.rows(), &slow(&free, start));
    }
}
