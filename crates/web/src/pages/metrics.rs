//! Figures of the process in the text format of Prometheus.

use std::fmt::Write;

use super::{PageReply, PageStatus};
use panza_telemetry::{COMMIT, Health, peak_resident_bytes, resident_bytes};

/// The figures.
pub(super) fn page(health: &Health, is_busy: bool) -> PageReply {
    let content_type = "text/plain; version=0.0.4; charset=utf-8";
    PageReply::new(
        PageStatus::Ok,
        content_type,
        text(health, is_busy).into_bytes(),
    )
}

/// Whether the process is well.
pub(super) fn liveness(health: &Health) -> PageReply {
    let text = match &health.problem {
        Some(problem) => format!("ok, but logs cannot be written: {problem}\n"),
        None => "ok\n".to_string(),
    };
    PageReply::text(PageStatus::Ok, text)
}

fn text(health: &Health, is_busy: bool) -> String {
    let mut out = String::new();
    let version = env!("CARGO_PKG_VERSION");
    let commit = COMMIT.unwrap_or("unknown");
    let _ = writeln!(
        out,
        "# HELP panza_build_info Version and commit.\n# TYPE panza_build_info gauge\n\
         panza_build_info{{version=\"{version}\",commit=\"{commit}\"}} 1"
    );
    // The type follows from the name: a counter is a total.
    let mut add = |name: &str, help: &str, value: f64| {
        let kind = if name.ends_with("_total") {
            "counter"
        } else {
            "gauge"
        };
        let _ = writeln!(
            out,
            "# HELP panza_{name} {help}\n# TYPE panza_{name} {kind}\npanza_{name} {value}"
        );
    };
    let latest = health.latest.unwrap_or_default();
    let bytes = |bytes: Option<u64>| bytes.map_or(f64::NAN, |bytes| bytes as f64);
    let has_problem = health.problem.is_some();
    add(
        "busy",
        "Whether a match runs.",
        f64::from(u8::from(is_busy)),
    );
    add(
        "matches_started_total",
        "Matches started.",
        health.matches_started as f64,
    );
    add(
        "matches_ended_total",
        "Matches ended.",
        health.matches_ended as f64,
    );
    add(
        "moves_answered_total",
        "Moves answered.",
        health.moves_answered as f64,
    );
    add(
        "match_errors_total",
        "Errors and warnings of matches.",
        health.errors as f64,
    );
    add(
        "iterations_total",
        "Iterations of all searches.",
        health.iterations as f64,
    );
    add(
        "playouts_total",
        "Playouts of all searches.",
        health.playouts as f64,
    );
    let help = "Iterations per second of the running search.";
    add("iterations_per_second", help, latest.iterations_per_second);
    let help = "Playouts per second of the running search.";
    add("playouts_per_second", help, latest.playouts_per_second);
    add("nodes", "Nodes in the game graph.", latest.nodes as f64);
    add(
        "pool_used_ratio",
        "Used share of the node pool.",
        latest.pool_used,
    );
    add(
        "lost_log_lines_total",
        "Lost lines of match logs.",
        health.lost_lines as f64,
    );
    let help = "Whether match logs cannot be written.";
    add("log_problem", help, f64::from(u8::from(has_problem)));
    add(
        "resident_bytes",
        "Resident memory.",
        bytes(resident_bytes()),
    );
    add(
        "peak_resident_bytes",
        "Peak resident memory.",
        bytes(peak_resident_bytes()),
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_a_help_a_type_and_a_number() {
        let health = Health {
            moves_answered: 7,
            problem: Some("disk full".into()),
            ..Health::default()
        };
        let text = text(&health, true);
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let name = name.split('{').next().unwrap();
            assert!(text.contains(&format!("# HELP {name} ")), "{line}");
            assert!(text.contains(&format!("# TYPE {name} ")), "{line}");
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
        assert!(text.contains("\npanza_moves_answered_total 7\n"));
        assert!(text.contains("\npanza_busy 1\n"));
        assert!(text.contains("\npanza_log_problem 1\n"));
    }
}
