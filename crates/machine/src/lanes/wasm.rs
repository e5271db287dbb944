//! The WebAssembly back-end: modules that are made while the program runs, in a browser.
//!
//! A program becomes a module with vectors of 128 bits, which works on the memory that everything
//! else is in. The host compiles it and puts its function into the table of functions, so that a
//! run is a call through a pointer.
//!
//! Invariants: a module accesses only locations counted when it was made, and each run checks that
//! the memory has them. Never uses: games.

mod encode;
#[cfg(test)]
mod tests;

#[cfg(target_family = "wasm")]
pub use module::WasmModule;

#[cfg(target_family = "wasm")]
mod module {
    use std::sync::Arc;

    use super::super::host::{Installed, is_supported};
    use super::super::interpret::Features;
    use super::super::lower::lower;
    use super::super::memory::{Memory, Side};
    use super::super::program::Program;
    use super::encode::{TARGET, encode};

    /// A program as a module that the host has compiled. A clone shares it.
    #[derive(Clone, Debug)]
    pub struct WasmModule {
        function: Arc<Installed>,
        n_words: usize,
        /// The vectors that a bank of states needs.
        n_state: usize,
        n_slots: usize,
    }

    impl WasmModule {
        /// A module for vectors of `n_words` words, 2, 4, 8 or 16. `None` for the portable
        /// features, where the host compiles no such modules, for other widths, and for programs
        /// too large for the addressing.
        pub fn new(program: &Program, features: Features, n_words: usize) -> Option<Self> {
            let is_wanted = features == Features::Simd128 && matches!(n_words, 2 | 4 | 8 | 16);
            if !is_wanted || !is_supported() {
                return None;
            }
            let lowered = lower(program, TARGET)?;
            let encoded = encode(&lowered, n_words)?;
            Some(Self {
                function: Arc::new(Installed::new(&encoded.bytes)?),
                n_words,
                n_state: lowered.n_state,
                n_slots: encoded.n_slots,
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
                N == self.n_words
                    && n_state >= self.n_state
                    && memory.slots().len() >= self.n_slots,
                "the memory does not fit the code"
            );
            let (now, next) = match side {
                Side::Even => (0, n_state),
                Side::Odd => (n_state, 0),
            };
            let all = memory.all().as_mut_ptr();
            // SAFETY: a pointer to a function is its index in the table of functions. There the
            // host has put the function of a module from `encode`, which has this type, and leaves
            // it until `Installed` is dropped, which `self` holds. Of memory it accesses only
            // vectors below `n_state` of each bank and below `n_slots` of the slots: `lower` and
            // `encode` count every op. The assertion above ensures that the memory, which is
            // borrowed mutably, has those vectors. All addresses are derived from one pointer to
            // the whole memory.
            unsafe {
                let function: extern "C" fn(*const u8, *mut u8, *mut u8) =
                    std::mem::transmute(self.function.index());
                function(
                    all.add(now).cast_const().cast(),
                    all.add(next).cast(),
                    all.add(2 * n_state).cast(),
                );
            }
        }
    }
}
