//! How a command ends, and the exit status that says so.

use std::io;
use std::process::ExitCode;

use super::interrupt;
use super::output::complain;

/// How a command that could do its work ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Done without findings: exit status 0.
    Holds,
    /// Done, with a finding such as a fault in the rules or a match without a result: exit status
    /// 1.
    DoesNotHold,
    /// Ended by Ctrl-C: exit status 130.
    Interrupted,
}

impl Outcome {
    /// [`Outcome::Holds`] or [`Outcome::DoesNotHold`].
    pub fn holds_if(holds: bool) -> Self {
        if holds {
            Self::Holds
        } else {
            Self::DoesNotHold
        }
    }
}

/// The exit status for arguments or input that cannot be used.
pub const UNUSABLE: u8 = 2;

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Holds => ExitCode::SUCCESS,
            Outcome::DoesNotHold => ExitCode::from(1),
            Outcome::Interrupted => ExitCode::from(interrupt::EXIT_STATUS),
        }
    }
}

/// The exit status of a command, whose error goes to standard error.
pub fn exit_code(result: anyhow::Result<Outcome>) -> ExitCode {
    match result {
        Ok(outcome) => outcome.into(),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(format_args!("error: {error:#}"));
            ExitCode::from(UNUSABLE)
        }
    }
}

/// Whether the reader of the output closed it, as `head` does when it has enough.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
