//! Programs compiled for one processor at one width.
//!
//! Never uses: what the programs compute.

use super::interpret::{Features, Interpreted};
use super::memory::{Memory, Side};
#[cfg(not(target_family = "wasm"))]
use super::native::Native as Compiled;
use super::program::Program;
#[cfg(target_family = "wasm")]
use super::wasm::WasmModule as Compiled;

#[derive(Clone, Debug)]
enum Form {
    Compiled(Compiled),
    Interpreted(Interpreted),
}

#[derive(Clone, Debug)]
pub(super) struct Code {
    sections: Vec<Form>,
    features: Features,
}

impl Code {
    /// Compiles sections for vectors of `n_words` words and memories with `n_state` vectors per
    /// state, to machine code or WebAssembly where the features allow it.
    pub(super) fn new(
        sections: &[Program],
        features: Features,
        n_words: usize,
        n_state: usize,
    ) -> Self {
        let form = |program| {
            let compiled = Compiled::new(program, features, n_words);
            let interpreted = || Interpreted::new(program, n_state);
            compiled.map_or_else(|| Form::Interpreted(interpreted()), Form::Compiled)
        };
        Self {
            sections: sections.iter().map(form).collect(),
            features,
        }
    }

    /// The slots that its memory needs.
    pub(super) fn n_slots(&self) -> usize {
        let slots = self.sections.iter().map(|section| match section {
            Form::Compiled(compiled) => compiled.n_slots(),
            Form::Interpreted(interpreted) => interpreted.n_slots(),
        });
        slots.max().unwrap_or(0)
    }

    #[inline(always)]
    pub(super) fn run<const N: usize>(&self, memory: &mut Memory<N>, side: Side) {
        for section in &self.sections {
            match section {
                Form::Compiled(compiled) => compiled.run(memory, side),
                Form::Interpreted(interpreted) => interpreted.run(self.features, memory, side),
            }
        }
    }
}
