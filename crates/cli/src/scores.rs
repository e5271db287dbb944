//! Wins, draws and losses of the players of a series of matches.

use super::output::{Column, table};

/// The scores of all players.
#[derive(Clone, PartialEq, Debug)]
pub struct Scores(Vec<Score>);

#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Score {
    matches: u32,
    wins: u32,
    draws: u32,
    losses: u32,
    goal_sum: u64,
}

impl Score {
    /// Wins per match, a draw counting half.
    fn share(self) -> f64 {
        let wins = f64::from(self.wins) + f64::from(self.draws) / 2.0;
        wins / f64::from(self.matches.max(1))
    }
}

impl Scores {
    /// Nothing played yet.
    pub fn new(n_players: usize) -> Self {
        Self(vec![Score::default(); n_players])
    }

    /// Adds a match: the player and the goal of each role. A role without a goal counts as 0. The
    /// highest goal wins, or draws where several roles have it; a single player wins with 100.
    pub fn add(&mut self, seated: &[usize], goals: &[Option<u8>]) {
        let goals: Vec<u8> = goals.iter().map(|goal| goal.unwrap_or(0)).collect();
        let highest = match goals.as_slice() {
            [_] => 100,
            goals => goals.iter().copied().max().unwrap_or(0),
        };
        let n_highest = goals.iter().filter(|&&goal| goal == highest).count();
        for (&player, &goal) in seated.iter().zip(&goals) {
            let score = &mut self.0[player];
            score.matches += 1;
            score.goal_sum += u64::from(goal);
            match (goal == highest, n_highest) {
                (true, 1) => score.wins += 1,
                (true, _) => score.draws += 1,
                (false, _) => score.losses += 1,
            }
        }
    }

    /// A table for people; the players by these names.
    pub fn table(&self, names: &[String]) -> String {
        let heads = ["matches", "wins", "draws", "losses", "share", "mean goal"];
        let mut columns = vec![Column::text("player")];
        columns.extend(heads.map(Column::figure));
        let rows = names.iter().zip(&self.0).map(|(name, score)| {
            let mean = score.goal_sum as f64 / f64::from(score.matches.max(1));
            let counts = [score.matches, score.wins, score.draws, score.losses];
            let mut row = vec![name.clone()];
            row.extend(counts.map(|count| count.to_string()));
            row.push(format!("{:.1} %", 100.0 * score.share()));
            row.push(format!("{mean:.2}"));
            row
        });
        table(&columns, &rows.collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wins_draws_and_losses_follow_the_player_through_the_roles() {
        let mut scores = Scores::new(2);
        scores.add(&[0, 1], &[Some(100), Some(0)]);
        scores.add(&[1, 0], &[Some(30), Some(70)]);
        scores.add(&[0, 1], &[Some(50), Some(50)]);
        scores.add(&[1, 0], &[Some(100), None]);
        let table = scores.table(&["panza".into(), "random".into()]);
        let lines: Vec<Vec<&str>> = table
            .lines()
            .map(|l| l.split_whitespace().collect())
            .collect();
        assert_eq!(
            lines[1],
            ["panza", "4", "2", "1", "1", "62.5", "%", "55.00"]
        );
        assert_eq!(
            lines[2],
            ["random", "4", "1", "1", "2", "37.5", "%", "45.00"]
        );
    }

    #[test]
    fn a_single_player_wins_with_all_points_only() {
        let mut scores = Scores::new(1);
        scores.add(&[0], &[Some(100)]);
        scores.add(&[0], &[Some(99)]);
        let expected = Score {
            matches: 2,
            wins: 1,
            draws: 0,
            losses: 1,
            goal_sum: 199,
        };
        assert_eq!(scores.0, [expected]);
    }
}
