//! The variables of a sentence, numbered in the order of their first occurrence.
//!
//! Never uses: terms, syntax.

use std::collections::HashMap;

/// The variables met so far.
#[derive(Default)]
pub struct Scope {
    /// Their names, by number.
    pub names: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
}

impl Scope {
    /// The number of a variable.
    pub fn variable(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }

    /// The number of a variable that occurs nowhere else. Its name is the prefix and the number.
    pub fn fresh(&mut self, prefix: &str) -> u32 {
        let number = self.names.len() as u32;
        self.names.push(format!("{prefix}{number}").into());
        number
    }
}
