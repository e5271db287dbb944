//! Giving memory that was freed back to the system.
//!
//! The allocator of glibc has several heaps, gives each thread one of them, and keeps what is freed
//! there. From match to match all heaps grow to the most that any thread has used.
//!
//! It gives back the pages of freed blocks, but keeps the end of each heap up to a limit that it
//! raises to twice the largest block that was ever freed. Fixed limits keep that small. The end of
//! a heap is given back only as blocks are freed that touch it. Small blocks that are put off in
//! fast bins are merged later, and then nothing is given back, so there are none of these bins.
//!
//! Never uses: what was freed.

/// Allocations of at least this many bytes get a mapping of their own, unmapped when freed.
#[cfg(all(target_os = "linux", target_env = "gnu", not(any(miri, panza_loom))))]
const MAPPED_BYTES: i32 = 4 << 20;
/// Free bytes at the end of a heap that are kept.
#[cfg(all(target_os = "linux", target_env = "gnu", not(any(miri, panza_loom))))]
const KEPT_BYTES: i32 = 1 << 20;

/// Fixes how much free memory the heaps keep, for a process that runs for long. Does nothing with
/// other allocators than that of glibc.
pub fn keep_little() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(any(miri, panza_loom))))]
    // SAFETY: the function may be called at any time from any thread, and changes later allocations
    // only. A parameter that is refused stays as it was.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
        libc::mallopt(libc::M_MXFAST, 0);
    }
}

/// Gives free memory of all heaps back to the system. Takes some milliseconds, in which other
/// threads may have to wait for memory. Does nothing with other allocators than that of glibc.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(any(miri, panza_loom))))]
    // SAFETY: the function may be called at any time from any thread, and changes nothing of memory
    // that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}
