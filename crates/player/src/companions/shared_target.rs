//! What companions are to search now, and what they have found there.
//!
//! Invariant: what was found of a target counts for that target only.
//!
//! Never uses: how companions are reached, threads, clocks.

use std::sync::Arc;

use super::shared_search::{SharedGame, SharedRoot};

/// What is to be searched.
#[derive(Clone, Debug)]
pub struct SearchedState {
    /// The number of the search.
    pub search: u64,
    /// Its game.
    pub game: Arc<SharedGame>,
    /// Its state.
    pub state: Arc<[u64]>,
}

/// What the companions of a player are to search, and what each has found.
#[derive(Debug)]
pub struct SharedTarget {
    number: u64,
    /// The search, and its game.
    game: Option<(u64, Arc<SharedGame>)>,
    state: Option<Arc<[u64]>>,
    found: Vec<Option<Arc<SharedRoot>>>,
}

impl SharedTarget {
    /// For this number of companions, which have nothing to search yet.
    pub fn new(companions: usize) -> Self {
        Self {
            number: 0,
            game: None,
            state: None,
            found: vec![None; companions],
        }
    }

    /// The number of the target: greater after each change, 0 before the first.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What is to be searched, if anything is.
    pub fn now(&self) -> Option<SearchedState> {
        let (search, game) = self.game.as_ref()?;
        Some(SearchedState {
            search: *search,
            game: Arc::clone(game),
            state: Arc::clone(self.state.as_ref()?),
        })
    }

    /// As [`Companions::begin`](crate::Companions::begin).
    pub fn begin(&mut self, search: u64, game: Arc<SharedGame>) {
        self.game = Some((search, game));
        // That of the search before is of another game.
        self.state = None;
        self.renew();
    }

    /// As [`Companions::go_to`](crate::Companions::go_to). Nothing for a search that is not the
    /// present one.
    pub fn go_to(&mut self, search: u64, state: &[u64]) {
        if self.is_of(search) {
            self.state = Some(state.into());
            self.renew();
        }
    }

    /// As [`Companions::end`](crate::Companions::end). Nothing for a search that is not the present
    /// one.
    pub fn end(&mut self, search: u64) {
        if self.is_of(search) {
            self.game = None;
            self.renew();
        }
    }

    /// Keeps what a companion, from 0, has found of the target with this number.
    pub fn take(&mut self, companion: usize, number: u64, root: SharedRoot) {
        let found = self.found.get_mut(companion);
        if let Some(found) = found.filter(|_| number == self.number) {
            *found = Some(Arc::new(root));
        }
    }

    /// What a companion, from 0, has found.
    pub fn found_by(&self, companion: usize) -> Option<&SharedRoot> {
        self.found.get(companion)?.as_deref()
    }

    /// What all have found in this search.
    pub fn found(&self, search: u64) -> Vec<Arc<SharedRoot>> {
        let found = self.found.iter().filter(|_| self.is_of(search));
        found.flatten().cloned().collect()
    }

    fn is_of(&self, search: u64) -> bool {
        self.game.as_ref().is_some_and(|(now, _)| *now == search)
    }

    /// Counts a change. What was found before is of another target.
    fn renew(&mut self) {
        self.number += 1;
        self.found.fill(None);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn game() -> Arc<SharedGame> {
        let game = json!({ "rules": "(role a)", "role": ["a", 0], "facts": 1, "settings": null });
        Arc::new(serde_json::from_value(game).unwrap())
    }

    #[test]
    fn what_is_found_counts_for_its_target() {
        let mut target = SharedTarget::new(2);
        assert_eq!(target.number(), 0);
        target.begin(7, game());
        assert!(target.now().is_none());
        target.go_to(7, &[1]);
        let number = target.number();
        target.take(1, number, SharedRoot::default());
        target.take(9, number, SharedRoot::default());
        assert_eq!(target.found(7).len(), 1);
        assert!(target.found_by(1).is_some() && target.found_by(0).is_none());
        assert!(target.found(6).is_empty());
        target.go_to(7, &[2]);
        target.take(1, number, SharedRoot::default());
        assert!(target.found(7).is_empty());
    }

    #[test]
    fn a_search_that_has_ended_changes_nothing() {
        let mut target = SharedTarget::new(1);
        target.begin(7, game());
        target.begin(8, game());
        target.go_to(8, &[1]);
        let number = target.number();
        target.go_to(7, &[2]);
        target.end(7);
        assert_eq!(target.number(), number);
        let now = target.now().unwrap();
        assert_eq!((now.search, &*now.state), (8, &[1][..]));
        target.end(8);
        assert!(target.now().is_none());
    }
}
