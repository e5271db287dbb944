//! Who won how often in a series of matches.

/// Results of each player.
#[derive(Clone, PartialEq, Debug)]
pub struct Scores {
    players: Vec<Score>,
}

/// Results of one player.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Score {
    matches: u32,
    wins: u32,
    draws: u32,
    losses: u32,
    goal_sum: u64,
}

impl Scores {
    /// No results yet.
    pub fn new(n_players: usize) -> Self {
        Self {
            players: vec![Score::default(); n_players],
        }
    }

    /// Adds a match: which player had each role, and each role's goal. A role without a goal counts
    /// as 0. Who alone has the highest goal wins, who shares it draws, all others lose; a single
    /// player wins with 100.
    pub fn add(&mut self, seated: &[usize], goals: &[Option<u8>]) {
        let goals: Vec<u8> = goals.iter().map(|goal| goal.unwrap_or(0)).collect();
        let highest = goals.iter().copied().max().unwrap_or(0);
        let n_highest = goals.iter().filter(|&&goal| goal == highest).count();
        for (&player, &goal) in seated.iter().zip(&goals) {
            let score = &mut self.players[player];
            score.matches += 1;
            score.goal_sum += u64::from(goal);
            let is_win = match goals.len() {
                1 => goal == 100,
                _ => goal == highest && n_highest == 1,
            };
            if is_win {
                score.wins += 1;
            } else if goals.len() > 1 && goal == highest {
                score.draws += 1;
            } else {
                score.losses += 1;
            }
        }
    }

    /// A table with one line per player.
    pub fn table(&self, names: &[String]) -> String {
        let width = names.iter().map(String::len).max().unwrap_or(0).max(6);
        let mut text = format!(
            "{:<width$} {:>8} {:>6} {:>6} {:>6} {:>10}",
            "player", "matches", "wins", "draws", "losses", "mean goal"
        );
        for (name, score) in names.iter().zip(&self.players) {
            let Score {
                matches,
                wins,
                draws,
                losses,
                goal_sum,
            } = *score;
            let mean = goal_sum as f64 / f64::from(matches.max(1));
            text.push_str(&format!(
                "\n{name:<width$} {matches:>8} {wins:>6} {draws:>6} {losses:>6} {mean:>10.2}"
            ));
        }
        text
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
        assert_eq!(lines[1], ["panza", "4", "2", "1", "1", "55.00"]);
        assert_eq!(lines[2], ["random", "4", "1", "1", "2", "45.00"]);
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
        assert_eq!(scores.players, [expected]);
    }
}
