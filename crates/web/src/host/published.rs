//! What the thread of a table publishes for all who ask for it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use super::report::Report;
use super::view::View;
use panza_machine::Machine;
use panza_sync::{Instant, lock};

/// A table that nobody has asked for ends after this time.
pub(crate) const MAX_IDLE: Duration = Duration::from_secs(30 * 60);
/// A table that somebody has asked for within this time makes no room for one that comes back. A
/// page asks at least three times in it.
pub(crate) const IN_USE: Duration = Duration::from_secs(60);

/// What a table publishes. A new version is sent after its view or report is stored.
pub(crate) struct Published {
    pub(crate) version: watch::Sender<u64>,
    pub(crate) view: Mutex<Arc<View>>,
    /// When somebody last asked for it.
    pub(crate) asked: Mutex<Instant>,
    /// The machine and the states of all turns so far.
    pub(crate) turns: Mutex<Option<Turns>>,
    pub(crate) report_version: watch::Sender<u64>,
    /// What Panza thinks, at a study table.
    pub(crate) report: Mutex<Option<Arc<Report>>>,
    /// The tree of lines there.
    pub(crate) lines: Mutex<Option<Arc<Value>>>,
}

/// The states of a game at a table, from the first turn to the present one.
pub(crate) struct Turns {
    pub(crate) machine: Arc<dyn Machine>,
    pub(crate) states: Vec<Arc<[u64]>>,
}

impl Published {
    pub(crate) fn new(view: View) -> Self {
        Self {
            version: watch::Sender::new(view.version),
            view: Mutex::new(Arc::new(view)),
            asked: Mutex::new(Instant::now()),
            turns: Mutex::new(None),
            report_version: watch::Sender::new(0),
            report: Mutex::new(None),
            lines: Mutex::new(None),
        }
    }

    /// Notes the states of all turns so far.
    pub(crate) fn note_turns(&self, machine: &Arc<dyn Machine>, states: &[Arc<[u64]>]) {
        *lock(&self.turns) = Some(Turns {
            machine: Arc::clone(machine),
            states: states.to_vec(),
        });
    }

    pub(crate) fn last_report(&self) -> Option<Arc<Report>> {
        lock(&self.report).clone()
    }

    pub(crate) fn publish_report(&self, report: Report) {
        let version = report.version;
        *lock(&self.report) = Some(Arc::new(report));
        self.report_version.send_replace(version);
    }

    pub(crate) fn publish(&self, view: View) {
        let version = view.version;
        *lock(&self.view) = Arc::new(view);
        self.version.send_replace(version);
    }

    pub(crate) fn is_idle(&self) -> bool {
        lock(&self.asked).elapsed() > MAX_IDLE
    }

    pub(crate) fn is_in_use(&self) -> bool {
        lock(&self.asked).elapsed() < IN_USE
    }
}
