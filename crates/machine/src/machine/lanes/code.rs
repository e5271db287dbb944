//! Programs compiled for one processor at one width.
//!
//! Never uses: what the programs compute.

use super::compile::{FixpointLoop, ProgramSection};
use super::interpret::{Features, Interpreted};
use super::memory::{Memory, Side};
use super::native::Native;
use super::rank::is_any;

#[derive(Clone, Debug)]
enum Form {
    Native(Native),
    Interpreted(Interpreted),
}

#[derive(Clone, Debug)]
struct Section {
    form: Form,
    repeat: Option<FixpointLoop>,
}

#[derive(Clone, Debug)]
pub(super) struct Code {
    sections: Vec<Section>,
    features: Features,
}

impl Code {
    /// Compiles sections for vectors of `n_words` words and memories with `n_state` vectors per
    /// state, to machine code where the features allow it.
    pub(super) fn new(
        sections: &[ProgramSection],
        features: Features,
        n_words: usize,
        n_state: usize,
    ) -> Self {
        let form = |section: &ProgramSection| {
            let native = Native::new(&section.program, features, n_words);
            let interpreted = || Interpreted::new(&section.program, n_state);
            native.map_or_else(|| Form::Interpreted(interpreted()), Form::Native)
        };
        let sections = sections.iter().map(|section| Section {
            form: form(section),
            repeat: section.repeat,
        });
        Self {
            sections: sections.collect(),
            features,
        }
    }

    /// The slots that its memory needs.
    pub(super) fn n_slots(&self) -> usize {
        let slots = self.sections.iter().map(|section| match &section.form {
            Form::Native(native) => native.n_slots(),
            Form::Interpreted(interpreted) => interpreted.n_slots(),
        });
        slots.max().unwrap_or(0)
    }

    #[inline(always)]
    pub(super) fn run<const N: usize>(&self, memory: &mut Memory<N>, side: Side) {
        for section in &self.sections {
            match section.repeat {
                None => section.run(self.features, memory, side),
                Some(repeat) => section.run_to_rest(self.features, memory, side, repeat),
            }
        }
    }
}

impl Section {
    #[inline(always)]
    fn run<const N: usize>(&self, features: Features, memory: &mut Memory<N>, side: Side) {
        match &self.form {
            Form::Native(native) => native.run(memory, side),
            Form::Interpreted(interpreted) => interpreted.run(features, memory, side),
        }
    }

    /// Iterates a block from all gates off until no lane changes. That is the least fixpoint, since
    /// the block is monotone.
    fn run_to_rest<const N: usize>(
        &self,
        features: Features,
        memory: &mut Memory<N>,
        side: Side,
        repeat: FixpointLoop,
    ) {
        let FixpointLoop { old, new, n_gates } = repeat;
        let (old, new, n_gates) = (old as usize, new as usize, n_gates as usize);
        memory.slots()[old..old + n_gates].fill([0; N]);
        // Each iteration but the last switches a gate on in some lane.
        for _ in 0..=n_gates * 64 * N {
            self.run(features, memory, side);
            let slots = memory.slots();
            let mut changed = [0u64; N];
            for gate in 0..n_gates {
                for word in 0..N {
                    changed[word] |= slots[old + gate][word] ^ slots[new + gate][word];
                }
                slots[old + gate] = slots[new + gate];
            }
            if !is_any(&changed) {
                return;
            }
        }
    }
}
