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
    let latest = health.latest.unwrap_or_default();
    let rates = (latest.iterations_per_second, latest.playouts_per_second);
    let bytes = |bytes: Option<u64>| bytes.map_or(f64::NAN, |bytes| bytes as f64);
    let flag = |is_set: bool| f64::from(u8::from(is_set));
    let count = |count: u64| count as f64;
    #[rustfmt::skip]
    let figures = [
        ("busy", "Whether a match runs.", flag(is_busy)),
        ("matches_started_total", "Matches started.", count(health.matches_started)),
        ("matches_ended_total", "Matches ended.", count(health.matches_ended)),
        ("moves_answered_total", "Moves answered.", count(health.moves_answered)),
        ("match_errors_total", "Errors and warnings of matches.", count(health.errors)),
        ("iterations_total", "Iterations of all searches.", count(health.iterations)),
        ("playouts_total", "Playouts of all searches.", count(health.playouts)),
        ("iterations_per_second", "Iterations per second of the running search.", rates.0),
        ("playouts_per_second", "Playouts per second of the running search.", rates.1),
        ("nodes", "Nodes in the game graph.", count(latest.nodes)),
        ("pool_used_ratio", "Used share of the node pool.", latest.pool_used),
        ("lost_log_lines_total", "Lost lines of match logs.", count(health.lost_lines)),
        ("log_problem", "Whether match logs cannot be written.", flag(health.problem.is_some())),
        ("resident_bytes", "Resident memory.", bytes(resident_bytes())),
        ("peak_resident_bytes", "Peak resident memory.", bytes(peak_resident_bytes())),
    ];
    for (name, help, value) in figures {
        // A counter is a total.
        let kind = match name.ends_with("_total") {
            true => "counter",
            false => "gauge",
        };
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
