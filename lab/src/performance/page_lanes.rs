//! What the page says of lanes: how fast they are, where the time of a pass goes and what sets its
//! pace, and several threads.
//!
//! Invariant: what a sentence says follows from the figures beside it, by rules that are the same
//! for every game.

use std::fmt::Write;

use super::caches::{Caches, USUAL, kib};
use super::lanes::{LanesReport, ProfileReport, ThreadsReport};
use super::measure::GameReport;
use super::page::{
    Conditions, cell, length_cell, numbered, one_line, rate_cells, rate_text, ratios_line,
};
use panza::commands::output::grouped;
use panza::machine::lanes::gang::profile::{Piece, Profile};

/// From so many playouts on, chance does not move a mean length by [`LENGTH_DIFFERENCE`].
const SURE_PLAYOUTS: u64 = 10_000;
/// A share by which mean lengths of the same game must not differ.
const LENGTH_DIFFERENCE: f64 = 0.03;
/// Below this share of lanes at work it is worth a word.
const FEW_BUSY: f64 = 0.9;
/// From so many instructions a cycle on, arithmetic itself sets the pace.
const MANY_INSTRUCTIONS: f64 = 1.0;

/// Playouts a second by lanes, beside the counter engine and the baselines.
pub fn rates_section(conditions: &Conditions, games: &[GameReport]) -> String {
    if conditions.widths.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "\n## Playouts per second: lanes\n\n| game | mean length | counter's | counter |",
    );
    for width in &conditions.widths {
        let _ = write!(out, " {width} lanes |");
    }
    out.push_str(" best | min - max | lanes / counter |");
    for name in &conditions.baselines {
        let _ = write!(out, " lanes / {name} |");
    }
    let n_columns = 6 + conditions.widths.len() + conditions.baselines.len();
    let _ = writeln!(out, "\n|---|{}", "---:|".repeat(n_columns));
    let mut footnotes: Vec<String> = Vec::new();
    let ratio_cell =
        |ratio: Option<f64>| ratio.map_or("-".to_string(), |ratio| format!("{ratio:.2}"));
    for game in games {
        let Some(lanes) = &game.lanes else { continue };
        let mut marks = String::new();
        for footnote in remarks(game, lanes) {
            footnotes.push(footnote);
            let _ = write!(marks, " ({})", footnotes.len());
        }
        let _ = write!(
            out,
            "| {}{marks} | {} | {} | {} |",
            cell(&game.game),
            length_cell(lanes.mean_length),
            length_cell(counters_length(game)),
            match &game.reason {
                None => rate_cells(game.playouts_per_cpu_s.as_ref()).0,
                Some(_) => "-".to_string(),
            }
        );
        for &width in &conditions.widths {
            let of_width = lanes.widths.iter().find(|one| one.width == width);
            let rate = of_width.map(|one| &one.playouts_per_cpu_s);
            let _ = write!(out, " {} |", rate_cells(rate).0);
        }
        let _ = write!(
            out,
            " {} | {} | {} |",
            lanes
                .best
                .map_or("-".to_string(), |width| width.to_string()),
            rate_cells(lanes.best_rate()).1,
            ratio_cell(lanes.ratio)
        );
        for baseline in &game.baselines {
            let _ = write!(out, " {} |", ratio_cell(baseline.lanes_ratio));
        }
        out.push('\n');
    }
    out.push_str(
        "\nAs many playouts abreast as there are lanes, in turn with the runs above, of which counter is the figure of panza there. The\n\
        least and the most are those of the best width, and so are the ratios.\n",
    );
    out.push_str(&numbered(&footnotes));
    let ratio = |game: &GameReport| game.lanes.as_ref()?.ratio;
    out.push_str(&ratios_line("lanes / counter", games, &ratio));
    for (index, name) in conditions.baselines.iter().enumerate() {
        let ratio = |game: &GameReport| game.baselines.get(index)?.lanes_ratio;
        out.push_str(&ratios_line(&format!("lanes / {name}"), games, &ratio));
    }
    out
}

/// What has to be said of a game.
fn remarks(game: &GameReport, lanes: &LanesReport) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(failure) = &lanes.failure {
        remarks.push(format!("{}: not by lanes: {failure}", game.game));
    }
    if lanes.cut_off > 0 {
        let count = grouped(lanes.cut_off);
        remarks.push(format!("{}: {count} playouts were cut off", game.game));
    }
    if let (Some(of_lanes), Some(of_counter)) = (lanes.mean_length, counters_length(game))
        && lanes.playouts.min(game.playouts) >= SURE_PLAYOUTS
        && (of_lanes / of_counter - 1.0).abs() > LENGTH_DIFFERENCE
    {
        remarks.push(format!("{}: mean lengths do not agree", game.game));
    }
    remarks
}

/// The mean length of playouts by the counter engine.
fn counters_length(game: &GameReport) -> Option<f64> {
    game.mean_length.filter(|_| game.reason.is_none())
}

/// A part of a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Share {
    Look,
    Ranks,
    Step,
    End,
    Caches,
    Goals,
    Rest,
}

impl Share {
    const ALL: [Share; 7] = [
        Share::Look,
        Share::Ranks,
        Share::Step,
        Share::End,
        Share::Caches,
        Share::Goals,
        Share::Rest,
    ];

    /// What a column is called.
    fn name(self) -> &'static str {
        match self {
            Share::Look => "look",
            Share::Ranks => "ranks",
            Share::Step => "step",
            Share::End => "end",
            Share::Caches => "caches",
            Share::Goals => "goals",
            Share::Rest => "rest",
        }
    }

    /// Nanoseconds of a pass.
    fn of(self, profile: &Profile) -> f64 {
        match self {
            Share::Look => profile.look.nanoseconds,
            Share::Ranks => profile.ranks,
            Share::Step => profile.step.nanoseconds,
            Share::End => profile.end.nanoseconds,
            Share::Caches => {
                let alone = [Share::Look, Share::Ranks, Share::Step, Share::End];
                let alone = alone.into_iter().map(|share| share.of(profile));
                profile.in_turn - alone.sum::<f64>()
            }
            Share::Goals => profile.goals.nanoseconds * profile.goals_per_pass,
            Share::Rest => profile.rest(),
        }
    }

    /// The program that it is the time of.
    fn piece(self, profile: &Profile) -> Option<Piece> {
        match self {
            Share::Look => Some(profile.look),
            Share::Step => Some(profile.step),
            Share::End => Some(profile.end),
            Share::Goals => Some(profile.goals),
            Share::Ranks | Share::Caches | Share::Rest => None,
        }
    }

    /// The part that takes most of a pass.
    fn largest(profile: &Profile) -> Self {
        let longer = |one: &Share, other: &Share| one.of(profile).total_cmp(&other.of(profile));
        Share::ALL.into_iter().max_by(longer).unwrap_or(Share::Rest)
    }
}

/// Where the time of a pass goes, and what sets its pace.
pub fn profile_section(conditions: &Conditions, profiles: &[ProfileReport]) -> String {
    if profiles.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "\n## What a pass of lanes takes\n\n\
        | game | lanes | phases | lanes busy | ns | cycles | cycles a joint move |",
    );
    for share in Share::ALL {
        let _ = write!(out, " {} |", share.name());
    }
    out.push_str(" playouts ended | code KiB | memory KiB |\n|---|");
    let _ = writeln!(out, "{}", "---:|".repeat(6 + Share::ALL.len() + 3));
    for report in profiles {
        let Some(profile) = &report.profile else {
            let _ = write!(out, "| {} |", cell(&report.game));
            let _ = writeln!(out, "{}", " - |".repeat(6 + Share::ALL.len() + 3));
            continue;
        };
        let cycles = report.cycles_per_ns.map(|pace| profile.pass * pace);
        let in_play = profile.busy * profile.width as f64;
        let number = |number: Option<f64>| number.map_or("-".to_string(), rate_text);
        let _ = write!(
            out,
            "| {} | {} | {} | {:.1} % | {} | {} | {} |",
            cell(&report.game),
            profile.width,
            profile.phases,
            100.0 * profile.busy,
            rate_text(profile.pass),
            number(cycles),
            number(cycles.map(|cycles| cycles / in_play))
        );
        for share in Share::ALL {
            let percent = 100.0 * share.of(profile) / profile.pass;
            let _ = write!(out, " {percent:.1} % |");
        }
        let _ = writeln!(
            out,
            " {} | {} | {} |",
            rate_text(profile.ended_per_pass),
            profile
                .code_bytes
                .map_or("-".to_string(), |bytes| kib(bytes as f64)),
            kib(profile.memory_bytes as f64)
        );
    }
    out.push_str(
        "\nA pass is a step of all lanes; figures are means over the phases. Look counts legal moves, ranks draws one for each lane and\n\
        role, step makes the next state, end sees whether the game is over (where look does not): each run over and over on the\n\
        memory of a gang that stands still between two passes. Caches is what the four take more in turn than each alone, goals the\n\
        program of goals as often as a pass needs it, and rest what whole passes take beyond: setting lanes aside, refilling them,\n\
        booking what came of them, and what goals and phases displace from the caches. Code is that of all phases but not of goals,\n\
        memory the two banks of states and the slots. ",
    );
    let paces: Vec<f64> = profiles
        .iter()
        .filter_map(|one| one.cycles_per_ns)
        .collect();
    match paces.is_empty() {
        true => out.push_str("Cycles cannot be told on this processor.\n"),
        false => {
            let _ = writeln!(
                out,
                "Cycles are estimated: beside each game, multiplications that\n\
                wait for each other are timed, three cycles each, which gave {:.2} cycles a nanosecond on average.",
                paces.iter().sum::<f64>() / paces.len() as f64
            );
        }
    }
    for report in profiles {
        if let Some(failure) = &report.failure {
            let _ = writeln!(out, "\n{}: {}", report.game, one_line(failure));
        }
    }
    let caches = conditions.caches.unwrap_or(USUAL);
    out.push_str(
        "\nWhat sets the pace, by rules from these figures and the sizes of the caches:\n\n",
    );
    for report in profiles {
        if let Some(profile) = &report.profile {
            let pace = pace(profile, report.cycles_per_ns, caches);
            let _ = writeln!(out, "- {}: {pace}.", report.game);
        }
    }
    out.push_str(&pieces_table(profiles));
    out
}

/// Sizes and durations of each program.
fn pieces_table(profiles: &[ProfileReport]) -> String {
    let mut out = String::from(
        "\n| game | piece | operations | bytes of code | ns | operations a ns | a cycle |\n|---|---|---:|---:|---:|---:|---:|\n",
    );
    for report in profiles {
        let Some(profile) = &report.profile else {
            continue;
        };
        let game = cell(&report.game);
        for share in Share::ALL {
            let name = share.name();
            if share == Share::Ranks {
                let _ = writeln!(
                    out,
                    "| {game} | {name}, {:.1} digits | - | - | {} | - | - |",
                    profile.rank_digits,
                    rate_text(profile.ranks)
                );
            }
            let Some(piece) = share.piece(profile) else {
                continue;
            };
            if piece.operations == 0.0 {
                continue;
            }
            // How often a loop goes round is not known.
            let a_ns = (!piece.has_loop).then(|| piece.operations / piece.nanoseconds);
            let two_digits = |number: Option<f64>| {
                number.map_or("-".to_string(), |number| format!("{number:.2}"))
            };
            let _ = writeln!(
                out,
                "| {game} | {name}{} | {} | {} | {} | {} | {} |",
                if piece.has_loop { ", a loop" } else { "" },
                grouped(piece.operations.round() as u64),
                piece
                    .bytes
                    .map_or("-".to_string(), |bytes| grouped(bytes.round() as u64)),
                rate_text(piece.nanoseconds),
                two_digits(a_ns),
                two_digits(
                    a_ns.zip(report.cycles_per_ns)
                        .map(|(a_ns, pace)| a_ns / pace)
                )
            );
        }
    }
    out.push_str(
        "\nAn operation is a function of up to three vectors, all lanes at once; those of loops are counted once, however often they\n\
        are run. Goals are worked out for many playouts at once, not in every pass.\n",
    );
    out
}

/// One sentence, without its full stop, on what sets the pace of a game.
fn pace(profile: &Profile, cycles_per_ns: Option<f64>, caches: Caches) -> String {
    let largest = Share::largest(profile);
    let percent = 100.0 * largest.of(profile) / profile.pass;
    let mut out = format!("{} takes {percent:.0} % of a pass", largest.name());
    match largest {
        Share::Look | Share::Step | Share::End | Share::Goals => {
            let reasons = program_reasons(largest, profile, cycles_per_ns, caches);
            let _ = write!(out, "; {reasons}");
        }
        Share::Ranks => {
            let _ = write!(
                out,
                "; what counts is the number of digits drawn, {:.1}",
                profile.rank_digits
            );
        }
        Share::Caches => {
            let reasons = too_large(profile, caches);
            let reasons = match reasons.is_empty() {
                true => "though code and memory fit the first-level caches one by one".to_string(),
                false => reasons.join(", and "),
            };
            let _ = write!(out, "; {reasons}");
        }
        Share::Rest => {
            let each = largest.of(profile) / profile.ended_per_pass.max(1e-9);
            let _ = write!(
                out,
                "; that is {} ns for each of the {} playouts that end in a pass and make room for others",
                rate_text(each),
                rate_text(profile.ended_per_pass)
            );
        }
    }
    if profile.busy < FEW_BUSY {
        let _ = write!(
            out,
            "; only {:.0} % of the lanes make a step in a pass",
            100.0 * profile.busy
        );
    }
    out
}

/// Why a program takes its time.
fn program_reasons(
    share: Share,
    profile: &Profile,
    cycles_per_ns: Option<f64>,
    caches: Caches,
) -> String {
    let piece = share.piece(profile).unwrap_or_default();
    if piece.has_loop {
        return format!(
            "it has a loop of {} operations or fewer, run until no lane changes",
            grouped(piece.operations.round() as u64)
        );
    }
    let mut reasons = too_large(profile, caches);
    if reasons.is_empty() {
        reasons.push("its code and memory fit the first-level caches".to_string());
    }
    let instructions = profile.registers as f64 * piece.operations / piece.nanoseconds;
    let instructions = cycles_per_ns.map(|pace| instructions / pace);
    reasons.extend(instructions.map(|instructions| {
        match instructions >= MANY_INSTRUCTIONS {
            true => format!(
                "at {instructions:.1} operations on registers a cycle it is the number of operations that counts"
            ),
            false => format!(
                "at only {instructions:.1} operations on registers a cycle it mostly waits"
            ),
        }
    }));
    reasons.join(", and ")
}

/// What does not fit its cache.
fn too_large(profile: &Profile, caches: Caches) -> Vec<String> {
    let Caches {
        instructions,
        data,
        second,
    } = caches;
    let exceeded = |bytes: usize, levels: [(&'static str, usize); 2]| {
        levels.into_iter().find(|&(_, size)| bytes > size)
    };
    let second = ("second level's", second);
    let code = profile.code_bytes.unwrap_or(0);
    let memory = profile.memory_bytes;
    [
        ("the code is", code, ("instruction cache's", instructions)),
        ("states and slots are", memory, ("data cache's", data)),
    ]
    .into_iter()
    .filter_map(|(what, bytes, first)| {
        let (cache, size) = exceeded(bytes, [second, first])?;
        let (bytes, size) = (kib(bytes as f64), kib(size as f64));
        Some(format!("{what} {bytes} KiB, more than the {cache} {size}"))
    })
    .collect()
}

/// Lanes on one thread and on two.
pub fn threads_section(reports: &[ThreadsReport]) -> String {
    if reports.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "\n## Playouts per second: lanes on two threads\n\n\
        | game | lanes | 1 thread | min - max | 2 threads | min - max | ratio |\n\
        |---|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut footnotes: Vec<String> = Vec::new();
    for report in reports {
        let mut marks = String::new();
        if let Some(failure) = &report.failure {
            footnotes.push(format!("{}: not by lanes: {failure}", report.game));
            let _ = write!(marks, " ({})", footnotes.len());
        }
        let (one, one_spread) = rate_cells(report.one.as_ref());
        let (two, two_spread) = rate_cells(report.two.as_ref());
        let ratio = report
            .ratio
            .map_or("-".to_string(), |ratio| format!("{ratio:.2}"));
        let _ = writeln!(
            out,
            "| {}{marks} | {} | {one} | {one_spread} | {two} | {two_spread} | {ratio} |",
            cell(&report.game),
            report.width
        );
    }
    out.push_str(
        "\nPer second of each thread's processor time, added up. What is below 2 is lost to what the threads share: memory, caches,\n\
        the processor's pace.\n",
    );
    out.push_str(&numbered(&footnotes));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        let piece = |operations: f64, nanoseconds: f64| Piece {
            operations,
            has_loop: false,
            bytes: Some(8.0 * operations),
            nanoseconds,
        };
        Profile {
            width: 512,
            registers: 1,
            phases: 1,
            pass: 1_000.0,
            look: piece(1_000.0, 300.0),
            ranks: 50.0,
            rank_digits: 4.0,
            step: piece(2_000.0, 400.0),
            end: piece(100.0, 20.0),
            in_turn: 800.0,
            goals: piece(100.0, 50.0),
            goals_per_pass: 0.5,
            busy: 0.95,
            ended_per_pass: 12.0,
            code_bytes: Some(24_800),
            memory_bytes: 20_000,
        }
    }

    #[test]
    fn shares_make_up_a_pass() {
        let profile = profile();
        let all: f64 = Share::ALL.into_iter().map(|share| share.of(&profile)).sum();
        assert!((all - profile.pass).abs() < 1e-9, "{all}");
        assert_eq!(Share::Caches.of(&profile), 30.0);
        assert_eq!(Share::Goals.of(&profile), 25.0);
        assert_eq!(Share::Rest.of(&profile), 175.0);
    }

    #[test]
    fn what_sets_the_pace_follows_from_the_figures() {
        let told = |change: &dyn Fn(&mut Profile)| {
            let mut profile = profile();
            change(&mut profile);
            pace(&profile, Some(2.5), USUAL)
        };
        assert_eq!(
            told(&|_| ()),
            "step takes 40 % of a pass; its code and memory fit the first-level caches, and at 2.0 operations on registers a cycle \
             it is the number of operations that counts"
        );
        assert_eq!(
            told(&|profile| {
                profile.code_bytes = Some(40 << 10);
                profile.memory_bytes = 2 << 20;
                profile.step.operations = 500.0;
                profile.busy = 0.5;
            }),
            "step takes 40 % of a pass; the code is 40 KiB, more than the instruction cache's 32, and states and slots are \
             2,048 KiB, more than the second level's 1,024, and at only 0.5 operations on registers a cycle it mostly waits; only 50 \
             % of the lanes make a step in a pass"
        );
        assert_eq!(
            told(&|profile| profile.step.has_loop = true),
            "step takes 40 % of a pass; it has a loop of 2,000 operations or fewer, run until no lane changes"
        );
        assert_eq!(
            told(&|profile| profile.pass = 5_000.0),
            "rest takes 84 % of a pass; that is 348 ns for each of the 12.0 playouts that end in a pass and make room for others"
        );
        assert_eq!(
            told(&|profile| {
                profile.pass = 5_000.0;
                profile.in_turn = 4_900.0;
                profile.code_bytes = Some(3 << 20);
            }),
            "caches takes 83 % of a pass; the code is 3,072 KiB, more than the second level's 1,024"
        );
        assert_eq!(
            told(&|profile| {
                profile.ranks = 900.0;
                profile.in_turn = 900.0;
            }),
            "ranks takes 90 % of a pass; what counts is the number of digits drawn, 4.0"
        );
    }

    #[test]
    fn a_vector_of_several_registers_takes_several_instructions() {
        let mut profile = profile();
        profile.step.operations = 900.0;
        let narrow = pace(&profile, Some(2.5), USUAL);
        assert!(narrow.contains("at only 0.9 "), "{narrow}");
        profile.registers = 2;
        let wide = pace(&profile, Some(2.5), USUAL);
        assert!(wide.contains("at 1.8 "), "{wide}");
    }
}
