//! Where and when a result was measured.

use std::fs;

use time::OffsetDateTime;

/// The processor's name, where the system has it (only Linux does).
pub fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

/// Today, as YYYY-MM-DD, in universal time.
pub fn today() -> String {
    OffsetDateTime::now_utc().date().to_string()
}
