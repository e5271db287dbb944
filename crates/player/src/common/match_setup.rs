//! What a match is started with.

use std::io;
use std::sync::Arc;

use super::link::Link;
use super::record::Record;
use super::role::OurRole;
use crate::messages::StartRules;
use panza_config::Settings;
use panza_sync::Instant;

/// A match that begins.
pub(crate) struct MatchSetup {
    pub match_id: String,
    pub rules: StartRules,
    pub role: OurRole,
    /// Deadline of builds; the fallback is played from then on while there is no other game.
    pub build_until: Instant,
    /// When START is answered.
    pub ready_by: Instant,
    pub settings: Arc<Settings>,
    pub record: Record,
}

/// Starts the threads of matches; tests have an implementation of their own.
pub(crate) trait StartMatch: Send {
    /// Starts the thread of a match.
    ///
    /// # Errors
    /// The system gives no thread.
    fn start(&mut self, setup: MatchSetup) -> io::Result<Link>;
}
