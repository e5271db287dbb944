//! Which match runs, for every thread to read.
//!
//! The lock is held to compare or replace the id only.

use panza_sync::lock;
use std::sync::{Arc, Mutex, MutexGuard};

/// The id of the match that runs, if one does.
#[derive(Default)]
pub(crate) struct RunningMatch {
    id: Mutex<Option<Arc<str>>>,
}

impl RunningMatch {
    pub fn set(&self, id: Option<Arc<str>>) {
        *self.locked() = id;
    }

    pub fn is_some(&self) -> bool {
        self.locked().is_some()
    }

    /// Whether the match of this id runs.
    pub fn is(&self, id: &str) -> bool {
        self.locked().as_deref() == Some(id)
    }

    fn locked(&self) -> MutexGuard<'_, Option<Arc<str>>> {
        lock(&self.id)
    }
}
