//! Figures of the process in the text format of Prometheus.

use std::fmt::Write;

use crate::telemetry::{COMMIT, Health, peak_resident_bytes, resident_bytes};

pub(super) fn text(health: &Health, is_busy: bool) -> String {
    let mut out = String::new();
    let version = env!("CARGO_PKG_VERSION");
    let commit = COMMIT.unwrap_or("unknown");
    let _ = writeln!(
        out,
        "# HELP panza_build_info What was built.\n# TYPE panza_build_info gauge\n\
         panza_build_info{{version=\"{version}\",commit=\"{commit}\"}} 1"
    );
    let latest = health.latest.unwrap_or_default();
    let rows: [(&str, &str, &str, f64); 14] = [
        (
            "busy",
            "gauge",
            "Whether a match runs.",
            f64::from(u8::from(is_busy)),
        ),
        (
            "matches_started_total",
            "counter",
            "Matches begun.",
            health.matches_started as f64,
        ),
        (
            "matches_ended_total",
            "counter",
            "Matches ended.",
            health.matches_ended as f64,
        ),
        (
            "moves_answered_total",
            "counter",
            "Moves answered.",
            health.moves_answered as f64,
        ),
        (
            "match_errors_total",
            "counter",
            "Errors and warnings of matches.",
            health.errors as f64,
        ),
        (
            "iterations_total",
            "counter",
            "Iterations of all searches.",
            health.iterations as f64,
        ),
        (
            "playouts_total",
            "counter",
            "Playouts of all searches.",
            health.playouts as f64,
        ),
        (
            "iterations_per_second",
            "gauge",
            "Iterations a second of the search that runs.",
            latest.iterations_per_second,
        ),
        (
            "playouts_per_second",
            "gauge",
            "Playouts a second of the search that runs.",
            latest.playouts_per_second,
        ),
        (
            "nodes",
            "gauge",
            "Nodes in the game graph.",
            latest.nodes as f64,
        ),
        (
            "pool_used_ratio",
            "gauge",
            "The share of the node pool that is in use.",
            latest.pool_used,
        ),
        (
            "lost_log_lines_total",
            "counter",
            "Lines of match logs that were lost.",
            health.lost_lines as f64,
        ),
        (
            "log_problem",
            "gauge",
            "Whether match logs cannot be written.",
            f64::from(u8::from(health.problem.is_some())),
        ),
        (
            "resident_bytes",
            "gauge",
            "Memory in use.",
            resident_bytes().map_or(f64::NAN, |bytes| bytes as f64),
        ),
    ];
    let peak = peak_resident_bytes().map_or(f64::NAN, |bytes| bytes as f64);
    let peak = (
        "peak_resident_bytes",
        "gauge",
        "The most memory that was in use.",
        peak,
    );
    for (name, kind, help, value) in rows.into_iter().chain([peak]) {
        let _ = writeln!(
            out,
            "# HELP panza_{name} {help}\n# TYPE panza_{name} {kind}\npanza_{name} {value}"
        );
    }
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
