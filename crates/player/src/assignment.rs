//! A match that begins, as it is handed on.

use std::sync::Arc;
use std::time::Instant;

use crossbeam::channel::Sender;

use super::companions::Companions;
use super::record::Record;
use panza_config::MetagameSettings;
use panza_game::GameBuilders;
use panza_gdl::Rules;
use panza_memory::MatchMemory;
use panza_search::SearchConfig;
use panza_telemetry::Archive;

/// A match that begins, as the conductor hands it on.
pub(super) struct NewMatch {
    pub match_id: String,
    pub rules: Arc<Rules>,
    /// The statements of the rulesheet.
    pub text: Arc<str>,
    /// Our role's name and its place in the rulesheet.
    pub role: (String, usize),
    /// Deadline of builds; without a game by then the fallback is built.
    pub build_until: Instant,
    /// When START is answered.
    pub ready_by: Instant,
    pub record: Record,
}

/// A match for a match thread.
pub(super) struct Assignment {
    pub start: NewMatch,
    /// Memory limit of builds, in bytes.
    pub build_memory: usize,
    pub builders: GameBuilders,
    /// The search settings of an unstudied game.
    pub search: SearchConfig,
    pub metagame: MetagameSettings,
    /// Whether games that factor are searched by parts.
    pub is_factored: bool,
    pub memory: MatchMemory,
    /// Other processes that search the match too.
    pub companions: Option<Arc<dyn Companions>>,
    /// All logs and their limit in bytes; `None` where this match has no log.
    pub archive: Option<(Arc<Archive>, u64)>,
    /// Called when the conductor should read the advice.
    pub wake: Arc<dyn Fn() + Send + Sync>,
    /// Dropped when the last thread of the match is gone.
    pub alive: Sender<()>,
}
