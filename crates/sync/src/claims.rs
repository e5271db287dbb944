//! What threads are at work on, so that another thread begins with something else.
//!
//! A claim is a key in a small table. Claims are hints: one may be lost to another, and a thread
//! that meets a claim does the work all the same, only later (Tom Kerrigan, Simplified ABDADA).
//!
//! | field | written by | read by | ordering | pairs with |
//! |---|---|---|---|---|
//! | `keys` | `claim`, `release` | all | Relaxed | nothing: a key is all there is |
//!
//! Invariant: `is_claimed` is true only of keys that a thread has claimed.
//!
//! Never uses: what the keys mean. It allocates when it is made and never after.

use super::primitives::{AtomicU64, Ordering};

/// Claims that share a cache line. Models have few, since each is looked at.
const WAYS: usize = if cfg!(panza_loom) { 2 } else { 8 };
/// Cache lines.
const LINES: usize = if cfg!(panza_loom) { 1 } else { 1 << 9 };

#[repr(align(64))]
struct Line([AtomicU64; WAYS]);

/// The keys that threads work on. 0 is no key.
///
/// ```
/// let claims = panza_sync::Claims::new();
/// claims.claim(7);
/// assert!(claims.is_claimed(7) && !claims.is_claimed(8));
/// claims.release(7);
/// assert!(!claims.is_claimed(7));
/// ```
pub struct Claims {
    lines: Box<[Line]>,
}

impl Claims {
    /// No claims.
    pub fn new() -> Self {
        let line = |_| Line(std::array::from_fn(|_| AtomicU64::new(0)));
        Self {
            lines: (0..LINES).map(line).collect(),
        }
    }

    #[inline]
    fn line(&self, key: u64) -> &[AtomicU64; WAYS] {
        &self.lines[key as usize % LINES].0
    }

    /// Claims a key. Where there is no place, another claim is lost.
    #[inline]
    pub fn claim(&self, key: u64) {
        let line = self.line(key);
        let is_free = |place: &&AtomicU64| place.load(Ordering::Relaxed) == 0;
        let place = line.iter().find(is_free).unwrap_or(&line[0]);
        place.store(key, Ordering::Relaxed);
    }

    /// Ends the claims of a key.
    #[inline]
    pub fn release(&self, key: u64) {
        for place in self.line(key) {
            if place.load(Ordering::Relaxed) == key {
                place.store(0, Ordering::Relaxed);
            }
        }
    }

    /// Whether a thread has claimed a key.
    #[inline]
    pub fn is_claimed(&self, key: u64) -> bool {
        let mut keys = self.line(key).iter();
        keys.any(|place| place.load(Ordering::Relaxed) == key)
    }
}

impl Default for Claims {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(panza_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_full_line_loses_a_claim_and_nothing_else() {
        let claims = Claims::new();
        let key = |number: u64| number * LINES as u64;
        (1..=9).for_each(|number| claims.claim(key(number)));
        let held = (1..=9).filter(|&number| claims.is_claimed(key(number)));
        assert!(held.eq(2..=9));
        (2..=9).for_each(|number| claims.release(key(number)));
        assert!((1..=9).all(|number| !claims.is_claimed(key(number))));
    }
}
