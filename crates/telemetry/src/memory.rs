//! The memory of this process, as the system counts it.

use std::fs;

/// The memory of this process that lies in RAM now, in bytes; `None` where the system does not tell
/// (only Linux does).
pub fn resident_bytes() -> Option<u64> {
    status_field(&status()?, "VmRSS:")
}

/// The most memory that this process has had in RAM, in bytes; `None` where the system does not
/// tell (only Linux does).
pub fn peak_resident_bytes() -> Option<u64> {
    status_field(&status()?, "VmHWM:")
}

fn status() -> Option<String> {
    fs::read_to_string("/proc/self/status").ok()
}

/// Reads a field such as `VmRSS: 1234 kB`.
fn status_field(status: &str, name: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_name_and_counted_in_bytes() {
        let status = "Name:\tpanza\nVmHWM:\t    9000 kB\nVmRSS:\t    1234 kB\n";
        assert_eq!(status_field(status, "VmRSS:"), Some(1234 * 1024));
        assert_eq!(status_field(status, "VmHWM:"), Some(9000 * 1024));
        assert_eq!(status_field(status, "VmSwap:"), None);
        assert_eq!(status_field("VmRSS: many kB", "VmRSS:"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn memory_that_is_written_to_is_counted() {
        let block = vec![1_u8; 64 << 20];
        let resident = resident_bytes().unwrap();
        let peak = peak_resident_bytes().unwrap();
        assert!(std::hint::black_box(&block).iter().all(|&byte| byte == 1));
        assert!(resident >= 64 << 20, "{resident}");
        // Linux counts in batches, so the two may differ by a little.
        assert!(peak >= 60 << 20, "{peak}");
    }
}
