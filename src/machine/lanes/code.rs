//! Pieces made ready to run on one processor at one width.
//!
//! Never knows: what the programs compute.

use super::compile::{Part, Repeat};
use super::interpret::{Features, Interpreted};
use super::memory::{Memory, Side};
use super::native::Native;
use super::rank::is_any;

/// How a program is run.
#[derive(Clone, Debug)]
enum Form {
    Native(Native),
    Interpreted(Interpreted),
}

/// A program made ready, and whether it is to be run again.
#[derive(Clone, Debug)]
struct Section {
    form: Form,
    repeat: Option<Repeat>,
}

/// A piece made ready.
#[derive(Clone, Debug)]
pub(super) struct Code {
    sections: Vec<Section>,
    features: Features,
}

impl Code {
    /// Makes a piece ready for vectors of `n_words`, for memories whose states have `n_state`
    /// vectors: as machine code where the features allow it.
    pub(super) fn new(piece: &[Part], features: Features, n_words: usize, n_state: usize) -> Self {
        let form = |part: &Part| {
            let native = Native::new(&part.program, features, n_words);
            let interpreted = || Interpreted::new(&part.program, n_state);
            native.map_or_else(|| Form::Interpreted(interpreted()), Form::Native)
        };
        let sections = piece.iter().map(|part| Section {
            form: form(part),
            repeat: part.repeat,
        });
        Self {
            sections: sections.collect(),
            features,
        }
    }

    /// How many slots a memory for it needs.
    pub(super) fn n_slots(&self) -> usize {
        let slots = self.sections.iter().map(|section| match &section.form {
            Form::Native(native) => native.n_slots(),
            Form::Interpreted(interpreted) => interpreted.n_slots(),
        });
        slots.max().unwrap_or(0)
    }

    /// How many bytes of machine code it is; nothing where some of it is none.
    pub(super) fn n_bytes(&self) -> Option<usize> {
        let bytes = self.sections.iter().map(|section| match &section.form {
            Form::Native(native) => Some(native.n_bytes()),
            Form::Interpreted(_) => None,
        });
        bytes.sum()
    }

    /// Runs the piece.
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

    /// Runs a loop from all gates off until no lane changes: the least fixpoint, since its gates
    /// only ever go on.
    fn run_to_rest<const N: usize>(
        &self,
        features: Features,
        memory: &mut Memory<N>,
        side: Side,
        repeat: Repeat,
    ) {
        let Repeat { old, new, n_gates } = repeat;
        let (old, new, n_gates) = (old as usize, new as usize, n_gates as usize);
        memory.slots()[old..old + n_gates].fill([0; N]);
        // Each round but the last switches on a gate in some lane.
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
