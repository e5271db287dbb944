//! Giving memory that was freed back to the system.
//!
//! The allocator of glibc has several heaps, gives each thread one of them, and keeps what is freed
//! there. From match to match all heaps grow to the most that any thread has used.
//!
//! Never knows: what was freed.

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
