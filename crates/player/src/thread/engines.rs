//! The engines of a match in order of preference, and the one in use.
//!
//! An engine is a build of the game with one of the searches. When its code panics, the next one
//! takes over at the position of the match. The order is: the preferred search on the main build
//! (a planner, a search by parts, alpha-beta or the tree search), the tree search on it, the flat
//! search on it; then the same three on the fallback. When none is left, there is no engine.

use std::sync::Arc;

use crossbeam::channel::Sender;

use super::engine::Engine;
use super::tasks::drop_elsewhere;
use crate::common::{MatchSetup, OurRole, Record};
use crate::companions::{Companions, SharedGame, SharedSearch};
use crate::messages::SentMoves;
use crate::search::{MatchConfig, PreparationOf, SearchKind};
use panza_game::{BuildKind, BuiltGame};
use panza_search::SearchConfig;
use panza_sync::{Instant, catch_panic};

/// The state of a build.
pub(crate) enum Build {
    NotStarted,
    Running,
    Done(BuiltGame),
    Failed,
}

/// A build and a search, by their places in order of preference.
#[derive(Clone, Copy, PartialEq, Eq)]
struct EngineRank {
    build: BuildKind,
    search: usize,
}

/// The engines of a match.
pub(crate) struct Engines {
    role: OurRole,
    record: Record,
    main: Build,
    fallback: Build,
    /// The searches in order of preference.
    searches: &'static [SearchKind],
    config: MatchConfig,
    /// The rulesheet, for companions.
    rules: Arc<str>,
    /// Other processes that search too.
    companions: Option<Arc<dyn Companions>>,
    /// All joint moves that were played.
    moves: Vec<SentMoves>,
    current: Option<(EngineRank, Engine)>,
    /// Whether `current` was replaced since the last check.
    is_new: bool,
    /// Dropped when the last thread of the match is gone.
    alive: Sender<()>,
}

impl Engines {
    /// No engine yet.
    pub fn new(
        setup: &MatchSetup,
        config: SearchConfig,
        companions: Option<Arc<dyn Companions>>,
        alive: Sender<()>,
    ) -> Self {
        Self {
            role: setup.role.clone(),
            record: setup.record.clone(),
            main: Build::NotStarted,
            fallback: Build::NotStarted,
            searches: match setup.settings.search.factored {
                true => &[SearchKind::Best, SearchKind::Tree, SearchKind::Flat],
                false => &[SearchKind::Whole, SearchKind::Tree, SearchKind::Flat],
            },
            config: config.into(),
            rules: Arc::clone(&setup.rules.text),
            companions,
            moves: Vec::new(),
            current: None,
            is_new: false,
            alive,
        }
    }

    /// The moves played so far.
    pub fn moves(&self) -> &[SentMoves] {
        &self.moves
    }

    /// The engine in use.
    pub fn current(&self) -> Option<&Engine> {
        self.current.as_ref().map(|(_, engine)| engine)
    }

    /// The state of a build.
    pub fn build_mut(&mut self, kind: BuildKind) -> &mut Build {
        match kind {
            BuildKind::Main => &mut self.main,
            BuildKind::Fallback => &mut self.fallback,
        }
    }

    /// Whether the main build runs.
    pub fn is_main_running(&self) -> bool {
        matches!(self.main, Build::Running)
    }

    /// Whether the fallback must be built: it is not, and there is no game yet.
    pub fn needs_fallback(&self) -> bool {
        matches!(self.fallback, Build::NotStarted) && !matches!(self.main, Build::Done(_))
    }

    /// Whether no game can be played: no build is left that could become one.
    pub fn are_all_failed(&self) -> bool {
        matches!(self.main, Build::Failed) && matches!(self.fallback, Build::Failed)
    }

    /// Puts the fallback in use where it is there and the main build failed or is late.
    pub fn fall_back(&mut self, main_until: Instant) {
        let is_awaited = self.is_main_running() && Instant::now() < main_until;
        if self.current.is_none() && !is_awaited && matches!(self.fallback, Build::Done(_)) {
            self.install_first(BuildKind::Fallback);
        }
    }

    /// Whether the engine was replaced since the last call.
    pub fn take_new(&mut self) -> bool {
        std::mem::take(&mut self.is_new)
    }

    /// Runs game code. After a panic the next engine is in use, and the result is `None`.
    pub fn attempt<T>(&mut self, action: impl FnOnce(&mut Engine) -> T) -> Option<T> {
        let (rank, engine) = self.current.as_mut()?;
        let rank = *rank;
        match catch_panic(|| action(engine)) {
            Ok(result) => Some(result),
            Err(text) => {
                let name = engine.searcher.name();
                self.record.error(&format!("the {name} panicked: {text}"));
                self.install_after(rank);
                None
            }
        }
    }

    /// Follows played moves and returns what is wrong with them.
    pub fn advance(&mut self, moves: SentMoves) -> Vec<String> {
        // First into the list: should the engine fail, its successor replays the list.
        self.moves.push(moves.clone());
        let faults = self.attempt(|engine| engine.advance(&moves));
        faults.unwrap_or_default()
    }

    /// Adds a build. The main build is put in use and replaces the fallback, however late it comes;
    /// the fallback is kept for [`fall_back`](Self::fall_back). Returns whether the fallback is not
    /// needed any more; it is built again should the machine fail.
    pub fn add(&mut self, kind: BuildKind, game: BuiltGame) -> bool {
        *self.build_mut(kind) = Build::Done(game);
        if kind == BuildKind::Fallback {
            return false;
        }
        self.install_first(BuildKind::Main);
        let is_main_in_use = matches!(self.main, Build::Done(_));
        if is_main_in_use {
            let fallback = std::mem::replace(&mut self.fallback, Build::NotStarted);
            drop_elsewhere(fallback, self.alive.clone());
        }
        is_main_in_use
    }

    /// Whether the fallback is there and no search has used it.
    pub fn has_idle_fallback(&self) -> bool {
        let current = self.current.as_ref();
        let is_in_use = current.is_some_and(|(rank, _)| rank.build == BuildKind::Fallback);
        matches!(self.fallback, Build::Done(_)) && !is_in_use
    }

    /// Replaces the engine in use by the next one, after a panic beside its code.
    pub fn replace(&mut self) {
        if let Some((rank, _)) = self.current {
            self.install_after(rank);
        }
    }

    /// Whether the preferred engine is in use.
    pub fn is_first(&self) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|(rank, _)| rank.build == BuildKind::Main && rank.search == 0)
    }

    /// The settings of the searches.
    #[cfg(test)]
    pub fn config(&self) -> &MatchConfig {
        &self.config
    }

    /// Changes the settings of the searches, and restarts the engine in use if `restart` is set.
    pub fn set_config(&mut self, config: MatchConfig, restart: bool) {
        self.config = config;
        if restart {
            self.install_first(BuildKind::Main);
        }
    }

    /// Drops the engine in use.
    pub fn discard(&mut self) {
        if let Some((_, engine)) = self.current.take() {
            drop_elsewhere(engine, self.alive.clone());
        }
    }

    fn install_first(&mut self, build: BuildKind) {
        self.install(EngineRank { build, search: 0 });
    }

    /// Replaces a failed engine by the next one.
    fn install_after(&mut self, failed: EngineRank) {
        let next = EngineRank {
            search: failed.search + 1,
            ..failed
        };
        if next.search < self.searches.len() {
            self.install(next);
            return;
        }
        *self.build_mut(failed.build) = Build::Failed;
        match failed.build {
            BuildKind::Main => self.install_first(BuildKind::Fallback),
            BuildKind::Fallback => self.discard(),
        }
    }

    /// Puts an engine in use, at the position of the match. One that fails at once is replaced by
    /// the next, one level of recursion each.
    fn install(&mut self, rank: EngineRank) {
        self.discard();
        // What a preparation has found holds for the main build.
        let (build, config) = match rank.build {
            BuildKind::Main => (&self.main, self.config.clone()),
            BuildKind::Fallback => {
                let config = self.config.whole.for_other_machine();
                (&self.fallback, config.into())
            }
        };
        let (Build::Done(game), Some(search)) = (build, self.searches.get(rank.search)) else {
            return;
        };
        let is_tree = config.whole.is_of_tree();
        let made = catch_panic(|| {
            let mut engine = Engine::new(game, &self.role, |role, state| {
                let inner = search.start(game, role, state, &config);
                match &self.companions {
                    // They search the whole game too, by trees whose statistics add up.
                    Some(companions)
                        if inner.preparation_of() == PreparationOf::Game && is_tree =>
                    {
                        let (info, config) = (game.info(), &config.whole);
                        let shared = SharedGame::new(&self.rules, &self.role, info, config);
                        Box::new(SharedSearch::new(
                            inner,
                            &game.machine,
                            state,
                            shared,
                            companions,
                        ))
                    }
                    _ => inner,
                }
            });
            for moves in &self.moves {
                // Faults were logged when the moves came.
                engine.advance(moves);
            }
            let reason = engine.searcher.why_tree();
            let names = (engine.searcher.name(), engine.position.kind(), reason);
            (engine, names)
        });
        match made {
            Ok((engine, (name, kind, reason))) => {
                let reason = reason.map_or(String::new(), |reason| format!("; {reason}"));
                self.record.note(&format!(
                    "plays with the {name} on the {kind} machine{reason}"
                ));
                self.current = Some((rank, engine));
                self.is_new = true;
            }
            Err(text) => {
                self.record
                    .error(&format!("replaying the match panicked: {text}"));
                self.install_after(rank);
            }
        }
    }
}
