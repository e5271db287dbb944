//! The store where there are no files: opening it is an error, so that nothing is remembered.

use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use super::{GameRecord, GameSummary, Kind, MemoryError, PastMatch};

/// What a database failed with.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("there are no files here")]
pub struct DatabaseError;

/// An open memory file, of which there is none.
#[derive(Debug)]
pub struct Store(Infallible);

#[expect(missing_docs, reason = "the store with files says it")]
#[expect(clippy::missing_errors_doc, reason = "the store with files says it")]
impl Store {
    pub fn open(path: &Path, _: usize, _: Duration) -> Result<Store, MemoryError> {
        Err(MemoryError::Database {
            path: path.to_path_buf(),
            reason: DatabaseError,
        })
    }

    pub fn set_timeout(&mut self, _: Duration) {
        match self.0 {}
    }

    pub fn read(&mut self, _: &str) -> Result<Option<GameRecord>, MemoryError> {
        match self.0 {}
    }

    pub fn list(&mut self) -> Result<Vec<GameSummary>, MemoryError> {
        match self.0 {}
    }

    pub fn remove(&mut self, _: &str) -> Result<bool, MemoryError> {
        match self.0 {}
    }

    pub fn write(
        &mut self,
        _: &str,
        _: &str,
        _: &[(Kind, serde_json::Value)],
        _: Option<&PastMatch>,
    ) -> Result<(), MemoryError> {
        match self.0 {}
    }
}
