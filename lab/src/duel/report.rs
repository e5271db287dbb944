//! The results of a duel: a row for each game and one for all, as a page and as objects.

use panza_cli::output::grouped;
use serde_json::{Value, json};

use super::classes::class_of;
use super::opening::is_balanced;
use super::record::{PairRecord, Terms, Usage};
use crate::page::{Page, Table, count, or_dash, quantity};
use panza_metagame::sprt::{Hypotheses, PairTally, bound, elo};

/// Visits of a played move below which a search decided on too little.
const FEW_VISITS: u64 = 500;

/// All pairs of a game.
pub(super) struct GameResult {
    pub game: String,
    tally: PairTally,
    /// Of A and B.
    usage: [Usage; 2],
    joint_moves: u32,
    /// Pairs whose opening the reference search did not call open.
    unbalanced: u32,
}

impl GameResult {
    pub fn new(game: &str) -> Self {
        Self {
            game: game.to_string(),
            tally: PairTally::default(),
            usage: Default::default(),
            joint_moves: 0,
            unbalanced: 0,
        }
    }

    pub fn add(&mut self, record: PairRecord) {
        self.tally.add(record.points.iter().sum());
        self.usage[0].merge(&record.a);
        self.usage[1].merge(&record.b);
        self.joint_moves += record.lengths.iter().sum::<u32>();
        self.unbalanced += u32::from(!is_balanced(record.opening_value));
    }

    /// The mean number of joint moves of a game.
    fn length(&self) -> f64 {
        f64::from(self.joint_moves) / f64::from(2 * self.tally.pairs().max(1))
    }
}

impl Usage {
    fn iterations_per_second(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.iterations as f64 / self.seconds)
    }

    /// The smallest and the median number of visits, and the share of moves with few visits.
    fn visits(&self) -> Option<(u64, u64, f64)> {
        let mut visits = self.visits.clone();
        visits.sort_unstable();
        let few = visits.partition_point(|&visits| visits < FEW_VISITS);
        let share = few as f64 / visits.len() as f64;
        Some((*visits.first()?, visits[visits.len() / 2], share))
    }

    /// The mean numbers of training games and shares of the evaluation over the pairs.
    fn mean_study(&self) -> Option<(f64, f64)> {
        let n = self.studies.len() as f64;
        let games: f64 = self.studies.iter().map(|study| study.games as f64).sum();
        let shares = self.studies.iter().map(|study| study.evaluation_share);
        (n > 0.0).then(|| (games / n, shares.sum::<f64>() / n))
    }
}

pub(super) fn about(terms: &Terms, hypotheses: Hypotheses) -> String {
    format!(
        "A: {}. B: {}.\nBudget of a move: {}. Studies of each engine: {}. Seed {}.\nHypotheses: {:+} and {:+} Elo, errors of 5 %, decided at a log-likelihood ratio (LLR) of ±{:.2}.",
        terms.a,
        terms.b,
        terms.budget,
        terms.study,
        terms.seed,
        hypotheses.elo0,
        hypotheses.elo1,
        bound()
    )
}

const ABOUT_RESULTS: &str = "A pair is an opening played twice with roles swapped; its results are \
    counted by A's points. The score is A's points per\ngame; its interval (95 %) and the LLR follow \
    from the variance of the pairs.";

const ABOUT_ENGINES: &str = "Rates are per second of processor time. Visits are those of the \
    played move, where it was not proven.\nStudies are means over the pairs.";

const ALL_GAMES: &str = "all games";

/// Writes the tables of a duel.
pub(super) fn write(
    page: &mut Page,
    results: &[GameResult],
    pooled: &PairTally,
    hypotheses: Hypotheses,
) {
    let heads = [
        "game",
        "class",
        "pairs",
        "0 / ½ / 1 / 1½ / 2",
        "score",
        "95 % interval",
        "Elo",
        "LLR",
        "verdict",
        "length",
    ];
    let mut table = Table::new(heads).with_text_columns(&[0, 1, 8]);
    let row = |game: &str, class: Option<&str>, tally: &PairTally, length: Option<f64>| {
        vec![
            game.to_string(),
            or_dash(class),
            count(tally.pairs()),
            tally.counts.map(|count| count.to_string()).join(" / "),
            percent(tally.score()),
            or_dash(
                tally
                    .interval()
                    .map(|(low, high)| format!("{:.1} to {:.1} %", 100.0 * low, 100.0 * high)),
            ),
            elo_text(tally),
            // The ratio of pairs that are all alike says nothing.
            or_dash(
                tally
                    .interval()
                    .map(|_| format!("{:+.2}", tally.llr(hypotheses))),
            ),
            tally.verdict(hypotheses).name().to_string(),
            or_dash(length.map(|length| format!("{length:.1}"))),
        ]
    };
    for result in results {
        let (game, length) = (result.game.as_str(), Some(result.length()));
        table.push(row(game, class_of(game), &result.tally, length));
    }
    if results.len() > 1 {
        table.push(row(ALL_GAMES, None, pooled, None));
    }
    page.section("Results", ABOUT_RESULTS, &table);
    page.list(&remarks(results));

    let heads = [
        "game",
        "engine",
        "iterations / s",
        "least visits",
        "median visits",
        "study games",
        "evaluation share",
    ];
    let mut table = Table::new(heads).with_text_columns(&[0, 1]);
    let mut alarms = Vec::new();
    for result in results {
        for (name, usage) in ["A", "B"].into_iter().zip(&result.usage) {
            let (visits, studied) = (usage.visits(), usage.mean_study());
            table.push(vec![
                result.game.clone(),
                name.to_string(),
                or_dash(usage.iterations_per_second().map(quantity)),
                or_dash(visits.map(|(least, _, _)| grouped(least))),
                or_dash(visits.map(|(_, median, _)| grouped(median))),
                or_dash(studied.map(|(games, _)| count(games.round() as u64))),
                or_dash(studied.map(|(_, share)| format!("{share:.2}"))),
            ]);
            if let Some((_, median, share)) = visits
                && share > 0.0
            {
                let urgent = if median < FEW_VISITS { "ALARM: " } else { "" };
                alarms.push(format!(
                    "{urgent}{}, {name}: {} of the played moves had fewer than {FEW_VISITS} visits",
                    result.game,
                    percent(Some(share))
                ));
            }
        }
    }
    page.section("Engines", ABOUT_ENGINES, &table);
    page.list(&alarms);
}

/// The worst game, and games with unbalanced openings.
fn remarks(results: &[GameResult]) -> Vec<String> {
    let mut remarks = Vec::new();
    let score = |result: &&GameResult| result.tally.score().unwrap_or(1.0);
    let worst = results.iter().min_by(|x, y| score(x).total_cmp(&score(y)));
    if let Some(worst) = worst.filter(|_| results.len() > 1) {
        remarks.push(format!(
            "worst game of A: {}, {}",
            worst.game,
            percent(worst.tally.score())
        ));
    }
    for result in results.iter().filter(|result| result.unbalanced > 0) {
        remarks.push(format!(
            "{}: no balanced opening was found for {} of {} pairs",
            result.game,
            result.unbalanced,
            result.tally.pairs()
        ));
    }
    remarks
}

/// The rows for scripts.
pub(super) fn objects(
    results: &[GameResult],
    pooled: &PairTally,
    hypotheses: Hypotheses,
) -> Vec<Value> {
    let row = |game: &str, tally: &PairTally| {
        json!({
            "game": game,
            "pairs": tally.pairs(),
            "counts": tally.counts,
            "score": tally.score(),
            "interval": tally.interval(),
            "elo": tally.score().map(elo).filter(|elo| elo.is_finite()),
            "llr": tally.llr(hypotheses),
            "verdict": tally.verdict(hypotheses),
        })
    };
    let engine = |usage: &Usage| {
        let visits = usage.visits();
        json!({
            "iterations_per_second": usage.iterations_per_second(),
            "least_visits": visits.map(|(least, _, _)| least),
            "median_visits": visits.map(|(_, median, _)| median),
            "study_games": usage.mean_study().map(|(games, _)| games),
            "evaluation_share": usage.mean_study().map(|(_, share)| share),
        })
    };
    let games = results.iter().map(|result| {
        let mut object = row(&result.game, &result.tally);
        object["class"] = class_of(&result.game).into();
        object["length"] = result.length().into();
        object["unbalanced"] = result.unbalanced.into();
        object["a"] = engine(&result.usage[0]);
        object["b"] = engine(&result.usage[1]);
        object
    });
    let mut objects: Vec<Value> = games.collect();
    objects.push(row(ALL_GAMES, pooled));
    objects
}

pub(super) fn percent(share: Option<f64>) -> String {
    or_dash(share.map(|share| format!("{:.1} %", 100.0 * share)))
}

/// The Elo difference with its interval.
fn elo_text(tally: &PairTally) -> String {
    let Some(score) = tally.score() else {
        return "-".to_string();
    };
    match tally.interval() {
        Some((low, high)) => format!("{:+.0} ({:+.0} to {:+.0})", elo(score), elo(low), elo(high)),
        None => or_dash(
            Some(elo(score))
                .filter(|elo| elo.is_finite())
                .map(|elo| format!("{elo:+.0}")),
        ),
    }
}
