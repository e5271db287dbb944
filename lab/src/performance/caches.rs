//! How large the caches of the processor are.

use std::fmt;
use std::fs;

use serde::Serialize;

use super::page::rate_text;
use panza::commands::output::grouped;

/// Sizes of the caches of one core, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Caches {
    /// The first level, of instructions.
    pub instructions: usize,
    /// The first level, of data.
    pub data: usize,
    /// The second level.
    pub second: usize,
}

/// What is taken for true where the system does not tell.
pub const USUAL: Caches = Caches {
    instructions: 32 << 10,
    data: 32 << 10,
    second: 1 << 20,
};

impl Caches {
    /// Those of the first core, if the system tells (only Linux does).
    pub fn detect() -> Option<Self> {
        let size_of = |level: &str, kind: &str| {
            (0..8).find_map(|index| {
                let folder = format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
                let read = |name: &str| fs::read_to_string(format!("{folder}/{name}")).ok();
                let is_it = read("level")?.trim() == level && read("type")?.trim() == kind;
                let size = read("size")?;
                let kibibytes: usize = size.trim().strip_suffix('K')?.parse().ok()?;
                is_it.then_some(kibibytes << 10)
            })
        };
        Some(Self {
            instructions: size_of("1", "Instruction")?,
            data: size_of("1", "Data")?,
            second: size_of("2", "Unified")?,
        })
    }
}

impl fmt::Display for Caches {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [instructions, data, second] =
            [self.instructions, self.data, self.second].map(|bytes| kib(bytes as f64));
        write!(
            out,
            "{instructions} KiB for instructions, {data} KiB for data, {second} KiB at the second level"
        )
    }
}

/// So many bytes in units of 1,024.
pub fn kib(bytes: f64) -> String {
    let kibibytes = bytes / 1024.0;
    match kibibytes.fract() == 0.0 {
        true => grouped(kibibytes as u64),
        false => rate_text(kibibytes),
    }
}
