//! The back-end that writes machine code for the processor it runs on.
//!
//! A program becomes one function without branches: its operations in an order that keeps values
//! together with their uses, the values in vector registers as far as they go, one instruction of
//! three-input logic for each operation where the processor has such (AVX-512), else a few of two
//! inputs (AVX2).
//!
//! Invariants: the code never changes once it can be run; it touches only places that were counted
//! when it was made, and a run checks that the memory has them. Never knows: games.

mod allocate;
mod encode;
mod expand;
mod order;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use memmap2::{Mmap, MmapMut};

use super::interpret::Features;
use super::memory::{Memory, Side};
use super::program::{Place, Program};
use allocate::{Line, Target};

/// The processors of AVX-512.
const AVX512: Target = Target {
    n_registers: 32,
    has_tables: true,
};
/// Those of AVX2.
const AVX2: Target = Target {
    n_registers: 16,
    has_tables: false,
};

/// A program as machine code. A clone shares the code.
#[derive(Clone, Debug)]
pub struct Native {
    code: Arc<Mmap>,
    n_words: usize,
    /// How many calls a run takes, each for the part of the vectors that fits a register, and the
    /// bytes of such a part.
    n_calls: usize,
    width: usize,
    /// The vectors that a bank of states needs.
    n_state: usize,
    n_slots: usize,
}

impl Native {
    /// Machine code for vectors of `n_words` words, 4, 8 or 16. None where the features are the
    /// portable ones or the processor lacks them, where the system lets no memory be executed, for
    /// other widths, and for programs too large for the instructions' addresses.
    pub fn new(program: &Program, features: Features, n_words: usize) -> Option<Self> {
        if cfg!(miri) || !matches!(n_words, 4 | 8 | 16) || features > Features::detect() {
            return None;
        }
        let target = match features {
            Features::Avx512 => AVX512,
            Features::Avx2 => AVX2,
            Features::Portable => return None,
        };
        let expanded;
        let program = if target.has_tables {
            program
        } else {
            expanded = expand::expand(program);
            &expanded
        };
        let steps = order::order(program, target.n_registers);
        let allocated = allocate::allocate(program, &steps, target);
        let (n_state, n_slots) = extent(&allocated.lines)?;
        let encoded = encode::encode(&allocated.lines, target.has_tables, n_words).ok()?;
        let mut writable = MmapMut::map_anon(encoded.bytes.len()).ok()?;
        writable.copy_from_slice(&encoded.bytes);
        let code = writable.make_exec().ok()?;
        Some(Self {
            code: Arc::new(code),
            n_words,
            n_calls: 8 * n_words / encoded.width,
            width: encoded.width,
            n_state,
            n_slots: n_slots.max(allocated.n_slots as usize),
        })
    }

    /// How many slots a memory for it needs.
    pub fn n_slots(&self) -> usize {
        self.n_slots
    }

    /// How many bytes of machine code it is.
    pub fn n_bytes(&self) -> usize {
        self.code.len()
    }

    /// Runs the program.
    ///
    /// # Panics
    /// When the memory's vectors are of another width, or it is too small.
    pub fn run<const N: usize>(&self, memory: &mut Memory<N>, side: Side) {
        let n_state = memory.n_state();
        assert!(
            N == self.n_words && n_state >= self.n_state && memory.slots().len() >= self.n_slots,
            "the memory does not suit the code"
        );
        let (now, next) = match side {
            Side::Even => (0, n_state),
            Side::Odd => (n_state, 0),
        };
        let all = memory.all().as_mut_ptr();
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the bytes are a whole function of this convention for this processor: `new` made
        // them, after it had seen the processor's features, and nothing writes to them since. Of
        // memory a call touches only parts of vectors below `n_state` of each bank and below
        // `n_slots` of the slots (`extent` looked at every line): the first `width` bytes of each,
        // further on by `part` bytes, which together are no more than a vector. The assertion above
        // says that the memory, which is borrowed mutably, has those vectors. All addresses are
        // derived from one pointer to the whole memory, whose vectors start on multiples of
        // `width`. The function leaves the stack alone and writes no registers but the vector
        // registers and those general ones that the convention lets a function overwrite, and it
        // ends by clearing the vector registers' upper halves, as code without wide vectors
        // expects.
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

/// How many vectors of the states, of each bank, and of the slots the lines touch. None above what
/// can be addressed.
fn extent(lines: &[Line]) -> Option<(usize, usize)> {
    let (mut n_state, mut n_slots) = (0, 0);
    for place in lines.iter().filter_map(encode::place_of) {
        let (bank, index) = match place {
            Place::Now(index) | Place::Next(index) => (&mut n_state, index),
            Place::Slot(index) => (&mut n_slots, index),
        };
        *bank = (*bank).max(index as usize + 1);
    }
    (n_state.max(n_slots) <= encode::MAX_INDEX).then_some((n_state, n_slots))
}
