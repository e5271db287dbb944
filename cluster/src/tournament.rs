//! `panza-mpi tournament`: `panza tournament` with each match on another rank.
//!
//! Rank 0 has the file of results and all that is shown. A worker reads the same tournament files
//! and plays a match in its own process. A match is named by its key and its seed, so that ranks
//! whose files differ are found out.
//!
//! Never uses: the file of results on other ranks.

use std::collections::HashMap;

use anyhow::{Context, ensure};
use panza_cli::{Outcome, Output, interrupt};
use panza_referee::tournament::plan::{Fixture, Schedule};
use panza_referee::tournament::results::Key;
use panza_referee::tournament::{Attempt, LocalVenue};
use panza_referee::{Spectator, TournamentArguments, Venue, tournament};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::pool::Pool;
use crate::worker::Obey;

/// A match to play.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    key: Key,
    seed: u64,
}

/// The other ranks.
struct Elsewhere<'a>(&'a Pool);

impl Venue for Elsewhere<'_> {
    fn parallel(&self, _plan: &Schedule) -> usize {
        self.0.n_workers()
    }

    fn play(
        &self,
        plan: &Schedule,
        fixture: &Fixture,
        place: usize,
        _clock: &mut dyn Spectator,
    ) -> anyhow::Result<Attempt> {
        ensure!(
            !plan.has_cores(),
            "expected a tournament without `cores`, since a rank cannot know which are its own; \
             mpirun and srun bind ranks to cores"
        );
        let request = Request {
            key: plan.key(fixture),
            seed: plan.seed(fixture),
        };
        let reply = self
            .0
            .begin(place, serde_json::to_vec(&request)?)
            .wait(None)?;
        let attempt: Attempt = serde_json::from_slice(&reply)?;
        if let Attempt::Finished(result) = &attempt {
            ensure!(
                result.key == request.key,
                "rank {}: expected a result of {:?}, found one of {:?}",
                place + 1,
                request.key,
                result.key
            );
        }
        Ok(attempt)
    }
}

/// Plays the tournament.
///
/// # Errors
/// Arguments or files cannot be used, or a worker failed.
pub fn lead(
    arguments: &TournamentArguments,
    output: Output,
    pool: &Pool,
) -> anyhow::Result<Outcome> {
    tournament::run_at(arguments, output, Some(&Elsewhere(pool)))
}

/// A rank that plays matches.
pub struct Worker {
    plans: Vec<Schedule>,
    /// The matches of all plans, each with the place of its plan.
    fixtures: HashMap<Key, Vec<(usize, Fixture)>>,
    runtime: Runtime,
    cancelled: watch::Receiver<bool>,
}

impl Worker {
    /// Reads the files.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn new(arguments: &TournamentArguments) -> anyhow::Result<Self> {
        let plans = arguments.files().iter();
        let plans = plans.map(|file| tournament::load_plan(file, Output::new(true)));
        let plans: Vec<Schedule> = plans.collect::<anyhow::Result<_>>()?;
        let mut fixtures: HashMap<Key, Vec<(usize, Fixture)>> = HashMap::new();
        for (number, plan) in plans.iter().enumerate() {
            for fixture in plan.fixtures() {
                let same = fixtures.entry(plan.key(&fixture)).or_default();
                same.push((number, fixture));
            }
        }
        let (runtime, cancelled) = interrupt::runtime()?;
        Ok(Self {
            plans,
            fixtures,
            runtime,
            cancelled,
        })
    }
}

impl Obey for Worker {
    fn obey(&mut self, request: &[u8]) -> anyhow::Result<Vec<u8>> {
        let Request { key, seed } = serde_json::from_slice(request)?;
        let mut same = self.fixtures.get(&key).into_iter().flatten();
        let (plan, fixture) = same
            .find(|(plan, fixture)| self.plans[*plan].seed(fixture) == seed)
            .with_context(|| format!("the files of this rank have no match {key:?}"))?;
        let here = LocalVenue::new(self.runtime.handle(), &self.cancelled);
        let attempt = here.play(&self.plans[*plan], fixture, 0, &mut ())?;
        Ok(serde_json::to_vec(&attempt)?)
    }
}
