//! The machine code back-end.
//!
//! A program becomes one function, whose only branch is that of its loop. Each operation is one
//! three-input logic instruction where the processor has them (`vpternlog` of AVX-512), else a few
//! two-input ones (AVX2).
//!
//! Invariants: the code is immutable once it is executable; it accesses only locations counted when
//! it was made, and each run checks that the memory has them. Never uses: games.

mod encode;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use memmap2::{Mmap, MmapMut};

use super::interpret::Features;
use super::lower::{Lowered, Target, lower};
use super::memory::{Memory, Side};
use super::program::Program;

/// Processors with AVX-512.
const AVX512: Target = Target {
    n_registers: 32,
    has_tables: true,
};
/// Processors with AVX2.
const AVX2: Target = Target {
    n_registers: 16,
    has_tables: false,
};

/// A program as machine code. A clone shares the code.
#[derive(Clone, Debug)]
pub struct Native {
    code: Arc<Mmap>,
    n_words: usize,
    /// Calls per run, each for the part of the vectors that fits a register, and the bytes of such
    /// a part.
    n_calls: usize,
    width: usize,
    /// The vectors that a bank of states needs.
    n_state: usize,
    n_slots: usize,
}

impl Native {
    /// Machine code for vectors of `n_words` words, 4, 8 or 16. `None` for the portable features or
    /// features that the processor lacks, where the system permits no executable memory, for other
    /// widths, and for programs too large for the addressing.
    pub fn new(program: &Program, features: Features, n_words: usize) -> Option<Self> {
        if cfg!(miri) || !matches!(n_words, 4 | 8 | 16) || features > Features::detect() {
            return None;
        }
        let target = match features {
            Features::Avx512 => AVX512,
            Features::Avx2 => AVX2,
            Features::Simd128 | Features::Portable => return None,
        };
        let Lowered {
            ops,
            n_state,
            n_slots,
        } = lower(program, target)?;
        let encoded = encode::encode(&ops, target.has_tables, n_words).ok()?;
        let mut writable = MmapMut::map_anon(encoded.bytes.len()).ok()?;
        writable.copy_from_slice(&encoded.bytes);
        let code = writable.make_exec().ok()?;
        Some(Self {
            code: Arc::new(code),
            n_words,
            n_calls: 8 * n_words / encoded.width,
            width: encoded.width,
            n_state,
            n_slots,
        })
    }

    /// The slots that its memory needs.
    pub fn n_slots(&self) -> usize {
        self.n_slots
    }

    /// Runs the program.
    ///
    /// # Panics
    /// When the memory's vectors have another width, or it is too small.
    pub fn run<const N: usize>(&self, memory: &mut Memory<N>, side: Side) {
        let n_state = memory.n_state();
        assert!(
            N == self.n_words && n_state >= self.n_state && memory.slots().len() >= self.n_slots,
            "the memory does not fit the code"
        );
        let (now, next) = match side {
            Side::Even => (0, n_state),
            Side::Odd => (n_state, 0),
        };
        let all = memory.all().as_mut_ptr();
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the bytes are a whole function of this calling convention for this processor:
        // `new` made them after detecting the processor's features, and nothing writes to them
        // since. Of memory a call accesses only parts of vectors below `n_state` of each bank and
        // below `n_slots` of the slots (`lower` counts every op): the first `width` bytes of each,
        // further on by `part` bytes, which together are no more than a vector. The assertion above
        // ensures that the memory, which is borrowed mutably, has those vectors. All addresses are
        // derived from one pointer to the whole memory, whose vectors are aligned to `width`. The
        // function does not use the stack and writes no registers but the vector registers, a mask
        // register and those general ones that the convention lets a function overwrite, and it
        // ends by clearing the vector registers' upper halves, as code without wide vectors
        // expects. Its one jump leads back to the start of the loop, inside the function.
        unsafe {
            let function: extern "sysv64" fn(*const u8, *mut u8, *mut u8) =
                std::mem::transmute(self.code.as_ptr());
            for call in 0..self.n_calls {
                let part = call * self.width;
                function(
                    all.add(now).cast_const().cast::<u8>().add(part),
                    all.add(next).cast::<u8>().add(part),
                    all.add(2 * n_state).cast::<u8>().add(part),
                );
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (all, now, next, self.n_calls, self.width);
    }
}
