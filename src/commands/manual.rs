//! `panza manual`: completions for shells, and the manual page.

use clap::builder::PossibleValue;
use clap::{Args, Command, ValueEnum};
use clap_complete::Shell;

use panza_cli::{Outcome, Output};

#[derive(Args, Debug)]
pub struct ManualArguments {
    /// What to write.
    form: Form,
}

/// A form of the manual.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// The manual page, in roff.
    Man,
    /// The completions of a shell.
    Shell(Shell),
}

impl ValueEnum for Form {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [Form; 6] = [
            Form::Man,
            Form::Shell(Shell::Bash),
            Form::Shell(Shell::Elvish),
            Form::Shell(Shell::Fish),
            Form::Shell(Shell::PowerShell),
            Form::Shell(Shell::Zsh),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Form::Man => Some(PossibleValue::new("man")),
            Form::Shell(shell) => shell.to_possible_value(),
        }
    }
}

/// Runs the command; `command` is the whole command line.
pub fn run(
    arguments: &ManualArguments,
    mut command: Command,
    output: Output,
) -> anyhow::Result<Outcome> {
    let mut written = Vec::new();
    match arguments.form {
        Form::Man => clap_mangen::Man::new(command).render(&mut written)?,
        Form::Shell(shell) => clap_complete::generate(shell, &mut command, "panza", &mut written),
    }
    output.text(&String::from_utf8(written)?)?;
    Ok(Outcome::Holds)
}
