//! The results of a duel: a row for each game and one for all, as a page and as objects.

use panza_cli::output::{counted, grouped};
use serde_json::{Value, json};

use super::opening::is_balanced;
use super::record::{PairRecord, Terms, Usage};
use super::statistics::{PairScore, Tally};
use crate::page::{Page, Table, count, or_dash, quantity};
use crate::pool::{Stratum, is_held_out, stratum_of};
use panza_metagame::sprt::{Hypotheses, Verdict, bound, elo};

/// Visits of a played move below which a search decided on too little.
const FEW_VISITS: u64 = 500;

/// All results of a duel.
pub(super) struct Results {
    /// The games in the order of the arguments, those that are held out as one at the end.
    games: Vec<GameResult>,
    /// The place in `games` of each game.
    places: Vec<usize>,
    pub pooled: Tally,
    /// Those of each stratum of the pool.
    strata: Vec<(&'static str, Tally)>,
    points: f64,
}

/// All pairs of a game, or of those held out.
struct GameResult {
    name: String,
    stratum: Option<&'static str>,
    tally: Tally,
    points: f64,
    /// Of A and B.
    usage: [Usage; 2],
    joint_moves: u32,
    /// Pairs whose opening the reference search did not call open.
    unbalanced: u32,
}

impl Results {
    pub fn new(names: &[String]) -> Self {
        let mut results = Self {
            games: Vec::new(),
            places: Vec::new(),
            pooled: Tally::default(),
            strata: Vec::new(),
            points: 0.0,
        };
        for name in names.iter().filter(|name| !is_held_out(name)) {
            let stratum = stratum_of(name).map(Stratum::name);
            results.games.push(GameResult::new(name.clone(), stratum));
        }
        let n_held_out = names.len() - results.games.len();
        if n_held_out > 0 {
            let name = format!("held out: {}", counted(n_held_out as u64, "game"));
            results.games.push(GameResult::new(name, None));
        }
        let last = results.games.len().saturating_sub(1);
        let place = |name: &String| match is_held_out(name) {
            true => last,
            false => (results.games.iter().position(|it| it.name == *name)).unwrap_or(last),
        };
        results.places = names.iter().map(place).collect();
        results
    }

    /// Whether the test has found A stronger.
    pub fn is_stronger(&self, hypotheses: Hypotheses) -> bool {
        self.pooled.verdict(hypotheses) == Verdict::Stronger
    }

    /// Adds a pair of a game, by its place in the arguments.
    pub fn add(&mut self, game: usize, record: PairRecord) {
        let pair = PairScore {
            game,
            study: record.study,
            won: record.won.iter().sum(),
        };
        let points: f64 = record.points.iter().sum();
        self.pooled.add(pair);
        self.points += points;
        if let Some(stratum) = stratum_of(&record.game).map(Stratum::name) {
            let known = self.strata.iter().position(|(name, _)| *name == stratum);
            let place = known.unwrap_or_else(|| {
                self.strata.push((stratum, Tally::default()));
                self.strata.len() - 1
            });
            self.strata[place].1.add(pair);
        }
        let result = &mut self.games[self.places[game]];
        result.tally.add(pair);
        result.points += points;
        result.usage[0].merge(&record.a);
        result.usage[1].merge(&record.b);
        result.joint_moves += record.lengths.iter().sum::<u32>();
        result.unbalanced += u32::from(!is_balanced(&record.opening_values));
    }
}

impl GameResult {
    fn new(name: String, stratum: Option<&'static str>) -> Self {
        Self {
            name,
            stratum,
            tally: Tally::default(),
            points: 0.0,
            usage: Default::default(),
            joint_moves: 0,
            unbalanced: 0,
        }
    }

    /// The mean number of joint moves of a game.
    fn length(&self) -> f64 {
        f64::from(self.joint_moves) / (2 * self.tally.n_pairs().max(1)) as f64
    }
}

/// A's points per game.
fn points(sum: f64, tally: &Tally) -> Option<f64> {
    (tally.n_pairs() > 0).then(|| sum / 2.0 / tally.n_pairs() as f64)
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
    fn mean_preparation(&self) -> Option<(f64, f64)> {
        let n = self.studies.len() as f64;
        let games: f64 = self.studies.iter().map(|study| study.games as f64).sum();
        let shares = self.studies.iter().map(|study| study.evaluation_share);
        (n > 0.0).then(|| (games / n, shares.sum::<f64>() / n))
    }
}

pub(super) fn about(terms: &Terms, hypotheses: Hypotheses) -> String {
    format!(
        "A: {}. B: {}.\nBudget of a move: {}. Studies of each engine: {}. Seed {}. {}.\nHypotheses: {:+} and {:+} Elo, errors of 5 %, decided at a log-likelihood ratio (LLR) of ±{:.2}.",
        terms.a,
        terms.b,
        terms.budget,
        terms.study,
        terms.seed,
        match terms.book {
            Some((openings, _)) => format!("A book of {openings} openings"),
            None => "Openings found on the way".to_string(),
        },
        hypotheses.elo0,
        hypotheses.elo1,
        bound()
    )
}

const ABOUT_RESULTS: &str = "A pair is an opening played twice with sides swapped. The higher goal wins a game; \
    with more than two roles, where one\nengine has one role and the other has all others, the higher \
    mean goal. Pairs are counted by A's wins, a draw counting half.\nThe score is A's share of wins, \
    its interval (95 %) a bootstrap by games and studies. Points are A's goals / 100 per game.\nThe \
    LLR is that of the five results of pairs, divided by the design effect where pairs share \
    studies. Games held out are shown\nonly together.";

const ABOUT_STRATA: &str = "The same by strata of the pool, with the games that are held out.";

const ABOUT_ENGINES: &str = "Rates are per second of processor time. Visits are those of the \
    played move, where it was not proven.\nStudies are means over the pairs.";

const ALL_GAMES: &str = "all games";

/// Writes the tables of a duel.
pub(super) fn write(page: &mut Page, results: &Results, hypotheses: Hypotheses) {
    let heads = [
        "game",
        "stratum",
        "pairs",
        "0 / ½ / 1 / 1½ / 2",
        "score",
        "95 % interval",
        "points",
        "Elo",
        "LLR",
        "verdict",
        "length",
    ];
    let mut table = Table::new(heads).with_text_columns(&[0, 1, 9]);
    let row = |name: &str, stratum, tally: &Tally, sum, length: Option<f64>| {
        let mut row = vec![name.to_string(), or_dash(stratum)];
        row.extend(scores(tally, points(sum, tally), hypotheses));
        row.push(or_dash(length.map(|length| format!("{length:.1}"))));
        row
    };
    for it in &results.games {
        let length = Some(it.length());
        table.push(row(&it.name, it.stratum, &it.tally, it.points, length));
    }
    if results.games.len() > 1 {
        let (pooled, sum) = (&results.pooled, results.points);
        table.push(row(ALL_GAMES, None, pooled, sum, None));
    }
    page.section("Results", ABOUT_RESULTS, &table);
    page.list(&remarks(results));
    if results.strata.len() > 1 {
        let heads = ["stratum", "pairs", "score", "95 % interval", "Elo"];
        let mut table = Table::new(heads);
        for (name, tally) in &results.strata {
            table.push(vec![
                name.to_string(),
                count(tally.n_pairs()),
                percent(tally.score()),
                interval_text(tally),
                elo_text(tally),
            ]);
        }
        page.section("Strata", ABOUT_STRATA, &table);
    }
    write_engines(page, &results.games);
}

/// The cells of a tally from the number of pairs to the verdict.
fn scores(tally: &Tally, points: Option<f64>, hypotheses: Hypotheses) -> [String; 8] {
    // The ratio of pairs that are all alike says nothing.
    let llr = tally.interval().map(|_| tally.llr(hypotheses));
    [
        count(tally.n_pairs()),
        tally.counts().map(|count| count.to_string()).join(" / "),
        percent(tally.score()),
        interval_text(tally),
        or_dash(points.map(|points| format!("{points:.3}"))),
        elo_text(tally),
        or_dash(llr.map(|llr| format!("{llr:+.2}"))),
        tally.verdict(hypotheses).name().to_string(),
    ]
}

fn interval_text(tally: &Tally) -> String {
    let interval = tally.interval();
    or_dash(interval.map(|(low, high)| format!("{:.1} to {:.1} %", 100.0 * low, 100.0 * high)))
}

/// Writes what the engines did in each game.
fn write_engines(page: &mut Page, results: &[GameResult]) {
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
            let (visits, studied) = (usage.visits(), usage.mean_preparation());
            table.push(vec![
                result.name.clone(),
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
                    result.name,
                    percent(Some(share))
                ));
            }
        }
    }
    page.section("Engines", ABOUT_ENGINES, &table);
    page.list(&alarms);
}

/// The worst game, games with unbalanced openings, and how much pairs depend on studies.
fn remarks(results: &Results) -> Vec<String> {
    let mut remarks = Vec::new();
    let games = &results.games;
    let score = |result: &&GameResult| result.tally.score().unwrap_or(1.0);
    let worst = games.iter().min_by(|x, y| score(x).total_cmp(&score(y)));
    if let Some(worst) = worst.filter(|_| games.len() > 1) {
        let score = percent(worst.tally.score());
        remarks.push(format!("worst game of A: {}, {score}", worst.name));
    }
    for result in games.iter().filter(|result| result.unbalanced > 0) {
        remarks.push(format!(
            "{}: no balanced opening was found for {} of {} pairs",
            result.name,
            result.unbalanced,
            result.tally.n_pairs()
        ));
    }
    let effect = results.pooled.design_effect();
    if effect > 1.0 {
        remarks.push(format!(
            "pairs that share a study are alike: the variance is {effect:.1} times that of independent pairs"
        ));
    }
    remarks
}

/// The rows for scripts.
pub(super) fn objects(results: &Results, hypotheses: Hypotheses) -> Vec<Value> {
    let row = |game: &str, tally: &Tally, sum: f64| {
        json!({
            "game": game,
            "pairs": tally.n_pairs(),
            "counts": tally.counts(),
            "score": tally.score(),
            "interval": tally.interval(),
            "points": points(sum, tally),
            "elo": tally.score().map(elo).filter(|elo| elo.is_finite()),
            "llr": tally.llr(hypotheses),
            "design_effect": tally.design_effect(),
            "verdict": tally.verdict(hypotheses),
        })
    };
    let engine = |usage: &Usage| {
        let visits = usage.visits();
        json!({
            "iterations_per_second": usage.iterations_per_second(),
            "least_visits": visits.map(|(least, _, _)| least),
            "median_visits": visits.map(|(_, median, _)| median),
            "study_games": usage.mean_preparation().map(|(games, _)| games),
            "evaluation_share": usage.mean_preparation().map(|(_, share)| share),
        })
    };
    let games = results.games.iter().map(|result| {
        let mut object = row(&result.name, &result.tally, result.points);
        object["stratum"] = result.stratum.into();
        object["length"] = result.length().into();
        object["unbalanced"] = result.unbalanced.into();
        object["a"] = engine(&result.usage[0]);
        object["b"] = engine(&result.usage[1]);
        object
    });
    let mut objects: Vec<Value> = games.collect();
    objects.push(row(ALL_GAMES, &results.pooled, results.points));
    objects
}

pub(super) fn percent(share: Option<f64>) -> String {
    or_dash(share.map(|share| format!("{:.1} %", 100.0 * share)))
}

/// The Elo difference with its interval.
fn elo_text(tally: &Tally) -> String {
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
