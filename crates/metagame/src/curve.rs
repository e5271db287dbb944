//! The learning curve of a training, as a picture in SVG.
//!
//! Above is the Elo difference of the best generation to generation 0 over the hours of training,
//! a step at each test that it passed. Below is the correlation of the newest evaluation with
//! games outside the training, a point at each test. The picture is one file, needs no script, and
//! follows the colours of the page.
//!
//! Invariants: the size is bounded by that of the progress; texts cannot break out of their
//! element.
//!
//! Never uses: files, games.

use std::fmt::Write;

use super::training::{Progress, Test};

/// The picture, in its own units.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
/// The left and right edge of both panels.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 700.0;
/// Steps of a scale, at most, and those that are easy to read.
const MOST_STEPS: f64 = 6.0;
const EASY: [f64; 4] = [1.0, 2.0, 5.0, 10.0];

/// One of the two panels: its edges in the picture, and the values there.
struct Panel {
    top: f64,
    bottom: f64,
    low: f64,
    high: f64,
    hours: f64,
}

impl Panel {
    fn x(&self, hours: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * hours / self.hours
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        self.bottom - (self.bottom - self.top) * share.clamp(0.0, 1.0)
    }

    /// The scale on the left, with a heading.
    fn scale(&self, heading: &str) -> String {
        let mut out = String::new();
        let step = easy_step(self.high - self.low);
        let mut value = (self.low / step).ceil() * step;
        while value <= self.high + 1e-9 {
            let y = self.y(value);
            let (at, text) = (LEFT - 8.0, number(value, step));
            let _ = writeln!(
                out,
                r#"<line class="grid" x1="{LEFT}" y1="{y:.1}" x2="{RIGHT}" y2="{y:.1}"/>
<text class="end" x="{at}" y="{:.1}">{text}</text>"#,
                y + 4.0
            );
            value += step;
        }
        let y = self.top - 10.0;
        let _ = writeln!(
            out,
            r#"<text class="head" x="{LEFT}" y="{y}">{heading}</text>"#
        );
        out
    }
}

/// The curve of a training of the game of this name.
pub fn curve(name: &str, progress: &Progress) -> String {
    let hours = |test: &Test| test.seconds / 3600.0;
    let tests: Vec<&Test> = progress
        .tests
        .iter()
        .filter(|test| test.seconds.is_finite() && test.elo.is_finite())
        .collect();
    let span = (progress.seconds / 3600.0).max(1e-3);
    let elos = tests.iter().map(|test| test.elo);
    let most = elos.clone().fold(progress.elo.max(1.0), f64::max);
    let panel = |top, bottom, low: f64, high: f64| Panel {
        top,
        bottom,
        low,
        high: high.max(low + 1e-6),
        hours: span,
    };
    let elo = panel(72.0, 250.0, elos.fold(0.0, f64::min), most);
    let correlations = tests.iter().map(|test| test.correlation);
    let correlation = panel(306.0, 396.0, correlations.fold(0.0, f64::min), 1.0);

    let title = format!("{}: training", escaped(name));
    let about = format!(
        "generation {}, {:+.0} Elo against the search without an evaluation, {} games in {:.2} h",
        progress.generation, progress.elo, progress.games, span
    );
    let mut out = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}, {about}">
<style>
text {{ font: 13px system-ui, sans-serif; fill: #46515f; }}
.title {{ font-size: 17px; font-weight: 600; fill: #1b2430; }}
.head {{ font-weight: 600; }}
.end {{ text-anchor: end; }}
.middle {{ text-anchor: middle; }}
.back {{ fill: #ffffff; }}
.grid {{ stroke: #e2e6eb; }}
.line {{ fill: none; stroke: #2f6bd8; stroke-width: 2; }}
.passed {{ fill: #2f6bd8; }}
.failed {{ fill: none; stroke: #8a94a3; }}
@media (prefers-color-scheme: dark) {{
text {{ fill: #a9b4c2; }}
.title {{ fill: #eef2f7; }}
.back {{ fill: #171c23; }}
.grid {{ stroke: #2b323c; }}
.line {{ stroke: #6ea2ff; }}
.passed {{ fill: #6ea2ff; }}
}}
</style>
<rect class="back" width="{WIDTH}" height="{HEIGHT}"/>
<text class="title" x="{LEFT}" y="28">{title}</text>
<text x="{LEFT}" y="47">{about}</text>
"##
    );
    out += &elo.scale("Elo of the best generation");
    out += &correlation.scale("correlation with games outside the training");

    // The Elo difference stays until the next test that is passed.
    let mut path = format!("M{:.1},{:.1}", elo.x(0.0), elo.y(0.0));
    for test in tests.iter().filter(|test| test.is_stronger) {
        let _ = write!(path, " H{:.1} V{:.1}", elo.x(hours(test)), elo.y(test.elo));
    }
    let _ = write!(path, " H{:.1}", elo.x(span));
    let _ = writeln!(out, r#"<path class="line" d="{path}"/>"#);
    let mut points = String::new();
    for test in &tests {
        let (class, verdict) = match test.is_stronger {
            true => ("passed", "stronger"),
            false => ("failed", "not stronger"),
        };
        let _ = writeln!(
            out,
            r#"<circle class="{class}" cx="{:.1}" cy="{:.1}" r="3.5"><title>{} games: {verdict}, {:.1} % of {} pairs against generation {}</title></circle>"#,
            elo.x(hours(test)),
            elo.y(test.elo),
            test.games,
            100.0 * test.score,
            test.pairs,
            test.against
        );
        let (x, y) = (correlation.x(hours(test)), correlation.y(test.correlation));
        let _ = write!(points, "{x:.1},{y:.1} ");
    }
    let _ = writeln!(
        out,
        r#"<polyline class="line" points="{}"/>"#,
        points.trim_end()
    );

    let step = easy_step(span);
    let mut at = 0.0;
    while at <= span + 1e-9 {
        let (x, y, text) = (elo.x(at), HEIGHT - 24.0, number(at, step));
        let _ = writeln!(
            out,
            r#"<text class="middle" x="{x:.1}" y="{y}">{text}</text>"#
        );
        at += step;
    }
    let _ = writeln!(
        out,
        r#"<text class="end" x="{RIGHT}" y="{}">hours of training</text>
</svg>"#,
        HEIGHT - 7.0
    );
    out
}

/// The step of a scale over this span: 1, 2 or 5 times a power of ten.
fn easy_step(span: f64) -> f64 {
    let rough = span / MOST_STEPS;
    let power = 10f64.powf(rough.log10().floor());
    let easy = EASY.iter().find(|&&easy| easy * power >= rough - 1e-12);
    easy.unwrap_or(&10.0) * power
}

/// A number of a scale with this step.
fn number(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    // No scale shows a negative zero.
    format!("{:.decimals$}", value + 0.0)
}

fn escaped(text: &str) -> String {
    let replaced = text.replace('&', "&amp;").replace('<', "&lt;");
    let replaced = replaced.replace('>', "&gt;").replace('"', "&quot;");
    replaced.chars().filter(|it| !it.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(seconds: f64, elo: f64, is_stronger: bool) -> Test {
        Test {
            games: 1000,
            seconds,
            against: 0,
            pairs: 20,
            score: 0.6,
            is_stronger,
            elo,
            correlation: 0.5,
        }
    }

    #[test]
    fn a_curve_rises_at_passed_tests() {
        let progress = Progress {
            seconds: 7200.0,
            games: 5000,
            generation: 1,
            elo: 120.0,
            tests: vec![test(1800.0, 120.0, true), test(3600.0, 120.0, false)],
            ..Progress::default()
        };
        let text = curve("a<b>\"&", &progress);
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
        assert!(text.contains("a&lt;b&gt;&quot;&amp;: training"));
        // A quarter of the way from left to right, from the bottom to the top.
        assert!(text.contains("M64.0,250.0 H223.0 V72.0 H700.0"), "{text}");
        assert_eq!(text.matches(r#"class="passed""#).count(), 1);
        assert_eq!(text.matches(r#"class="failed""#).count(), 1);
    }

    #[test]
    fn nothing_is_drawn_where_nothing_is_known() {
        let broken = Progress {
            tests: vec![test(f64::NAN, 0.0, true)],
            ..Progress::default()
        };
        for progress in [Progress::default(), broken] {
            let text = curve("game", &progress);
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }

    #[test]
    fn scales_have_easy_steps() {
        for (span, expected) in [
            (6.0, 1.0),
            (7.0, 2.0),
            (100.0, 20.0),
            (0.5, 0.1),
            (850.0, 200.0),
        ] {
            let step = easy_step(span);
            assert!((step - expected).abs() < 1e-9, "{span}: {step}");
        }
        assert_eq!([number(0.3, 0.1), number(-0.0, 1.0)], ["0.3", "0"]);
    }
}
