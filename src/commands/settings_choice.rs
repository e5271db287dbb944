//! Settings as a command line names them: a file, and single keys over it.

use std::path::PathBuf;

use clap::Args;

use crate::config::Settings;

/// Where settings come from.
#[derive(Args, Clone, Default, Debug)]
pub struct SettingsChoice {
    /// A file with settings that differ from the defaults.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// One setting, such as search.exploration=0.4; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

impl SettingsChoice {
    /// The settings, with `last` over all others.
    ///
    /// # Errors
    /// A file that cannot be read, or a setting that is unknown or out of its range.
    pub fn load(&self, last: impl IntoIterator<Item = String>) -> anyhow::Result<Settings> {
        let mut overrides = self.set.clone();
        overrides.extend(last);
        Ok(Settings::load(self.config.as_deref(), &overrides)?)
    }
}
