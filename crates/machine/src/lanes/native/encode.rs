//! Encoding of instructions as machine code.
//!
//! The function takes the addresses of the two banks of states and of the slots, in the System V
//! calling convention. An address near a base register takes three bytes less, so base registers
//! are set up front to where most accesses are: a displacement of one byte reaches 256 bytes, in
//! AVX-512 256 vectors.
//!
//! Invariants: the code accesses only the locations that its ops name; it calls nothing, jumps only
//! back to the start of its loop, leaves the stack unchanged, and preserves the registers that the
//! convention requires. Never knows: values.

use iced_x86::{Code, Encoder, IcedError, Instruction, MemoryOperand, Register as Name};

use super::super::lower::{BinaryOp, Operand, Register, VectorOp, location_of};
use super::super::program::Location;

/// The units that a displacement of one byte reaches.
const REACH: usize = 256;
/// The accesses that make a base register worth setting, which takes seven bytes.
const MIN_USES: u32 = 8;
/// The registers that hold the banks' addresses on entry: now, next, slots.
const BANKS: [Name; 3] = [Name::RDI, Name::RSI, Name::RDX];
/// Further base registers that a function need not preserve.
const SPARE: [Name; 6] = [
    Name::RAX,
    Name::RCX,
    Name::R8,
    Name::R9,
    Name::R10,
    Name::R11,
];

fn bank(location: Location) -> (usize, usize) {
    match location {
        Location::Now(index) => (0, index as usize),
        Location::Next(index) => (1, index as usize),
        Location::Slot(index) => (2, index as usize),
    }
}

#[derive(Clone, Copy, Debug)]
struct Window {
    name: Name,
    bank: usize,
    start: usize,
}

#[derive(Debug)]
struct Windows {
    windows: Vec<Window>,
    length: usize,
    /// Per bank, the window of each of its vectors.
    of_index: [Vec<u8>; 3],
}

impl Windows {
    fn new(ops: &[VectorOp], length: usize) -> Self {
        let mut counts: [Vec<u32>; 3] = Default::default();
        for (bank, index) in ops.iter().filter_map(location_of).map(bank) {
            let counts = &mut counts[bank];
            if counts.len() <= index {
                counts.resize(index + 1, 0);
            }
            counts[index] += 1;
        }
        let mut this = Self {
            windows: Vec::new(),
            length,
            of_index: [0, 1, 2].map(|bank| vec![bank as u8; counts[bank].len()]),
        };
        for (bank, &name) in BANKS.iter().enumerate() {
            let (start, _) = densest(&counts[bank], length);
            this.open(name, bank, start, &mut counts);
        }
        for name in SPARE {
            let found = [0, 1, 2].map(|bank| densest(&counts[bank], length));
            let bank = (0..3).max_by_key(|&bank| found[bank].1).unwrap_or(0);
            let (start, uses) = found[bank];
            if uses < MIN_USES {
                break;
            }
            this.open(name, bank, start, &mut counts);
        }
        this
    }

    fn open(&mut self, name: Name, bank: usize, start: usize, counts: &mut [Vec<u32>; 3]) {
        let number = self.windows.len() as u8;
        self.windows.push(Window { name, bank, start });
        for index in start..counts[bank].len().min(start + self.length) {
            if counts[bank][index] > 0 {
                self.of_index[bank][index] = number;
                counts[bank][index] = 0;
            }
        }
    }
}

/// The start of the window with the most uses, and their number.
fn densest(counts: &[u32], length: usize) -> (usize, u32) {
    let mut uses: u32 = counts.iter().take(length).sum();
    let mut best = (0, uses);
    for start in 1..(counts.len() + 1).saturating_sub(length) {
        uses = uses - counts[start - 1] + counts[start + length - 1];
        if uses > best.1 {
            best = (start, uses);
        }
    }
    best
}

struct Codes {
    first: Name,
    width: usize,
    /// The unit of one-byte displacements, in bytes.
    unit: usize,
    load: Code,
    store: Code,
    pairs: [Code; 4],
    /// `INVALID` where there is none.
    table: Code,
    /// Sets all bits of a register, which is all three operands.
    ones: Code,
    /// Tests a register against itself: the zero flag, or a mask register with a bit for each word.
    test: Code,
}

const AVX512: Codes = Codes {
    first: Name::ZMM0,
    width: 64,
    unit: 64,
    load: Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512,
    store: Code::EVEX_Vmovdqa64_zmmm512_k1z_zmm,
    pairs: [
        Code::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64,
        Code::EVEX_Vpandnq_zmm_k1z_zmm_zmmm512b64,
        Code::EVEX_Vporq_zmm_k1z_zmm_zmmm512b64,
        Code::EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64,
    ],
    table: Code::EVEX_Vpternlogq_zmm_k1z_zmm_zmmm512b64_imm8,
    ones: Code::INVALID,
    test: Code::EVEX_Vptestmq_kr_k1_zmm_zmmm512b64,
};

const AVX512_HALF: Codes = Codes {
    first: Name::YMM0,
    width: 32,
    unit: 32,
    load: Code::EVEX_Vmovdqa64_ymm_k1z_ymmm256,
    store: Code::EVEX_Vmovdqa64_ymmm256_k1z_ymm,
    pairs: [
        Code::EVEX_Vpandq_ymm_k1z_ymm_ymmm256b64,
        Code::EVEX_Vpandnq_ymm_k1z_ymm_ymmm256b64,
        Code::EVEX_Vporq_ymm_k1z_ymm_ymmm256b64,
        Code::EVEX_Vpxorq_ymm_k1z_ymm_ymmm256b64,
    ],
    table: Code::EVEX_Vpternlogq_ymm_k1z_ymm_ymmm256b64_imm8,
    ones: Code::INVALID,
    test: Code::EVEX_Vptestmq_kr_k1_ymm_ymmm256b64,
};

const AVX2: Codes = Codes {
    first: Name::YMM0,
    width: 32,
    unit: 1,
    load: Code::VEX_Vmovdqa_ymm_ymmm256,
    store: Code::VEX_Vmovdqa_ymmm256_ymm,
    pairs: [
        Code::VEX_Vpand_ymm_ymm_ymmm256,
        Code::VEX_Vpandn_ymm_ymm_ymmm256,
        Code::VEX_Vpor_ymm_ymm_ymmm256,
        Code::VEX_Vpxor_ymm_ymm_ymmm256,
    ],
    table: Code::INVALID,
    ones: Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256,
    test: Code::VEX_Vptest_ymm_ymmm256,
};

#[derive(Debug)]
pub(super) struct Encoded {
    pub bytes: Vec<u8>,
    /// Bytes of each vector that one call works on. Further calls take addresses advanced by this.
    pub width: usize,
}

/// The function of some ops for vectors of `n_words` words, 4, 8 or 16. Lines with tables are for
/// AVX-512, others for AVX2.
///
/// # Errors
/// When an instruction has no encoding, such as a displacement above 32 bits. `lower` excludes
/// those.
pub(super) fn encode(
    ops: &[VectorOp],
    has_tables: bool,
    n_words: usize,
) -> Result<Encoded, IcedError> {
    let codes = match (has_tables, n_words) {
        (false, _) => AVX2,
        (true, 4) => AVX512_HALF,
        (true, _) => AVX512,
    };
    let stride = 8 * n_words;
    let mut writer = Writer {
        encoder: Encoder::try_with_capacity(64, ops.len() * 9 + 64)?,
        windows: Windows::new(ops, REACH * codes.unit / stride),
        stride,
        length: 0,
        loop_start: 0,
        codes,
    };
    writer.enter()?;
    for op in ops {
        writer.op(op)?;
    }
    writer.push(&Instruction::with(Code::VEX_Vzeroupper))?;
    writer.push(&Instruction::with(Code::Retnq))?;
    Ok(Encoded {
        bytes: writer.encoder.take_buffer(),
        width: writer.codes.width,
    })
}

struct Writer {
    encoder: Encoder,
    codes: Codes,
    windows: Windows,
    /// Bytes from one vector to the next.
    stride: usize,
    length: u64,
    /// Where the loop begins, in bytes.
    loop_start: u64,
}

impl Writer {
    fn push(&mut self, instruction: &Instruction) -> Result<(), IcedError> {
        let length = self.encoder.encode(instruction, self.length)?;
        self.length += length as u64;
        Ok(())
    }

    /// Points the base registers to their windows. Those that hold the banks' addresses come last,
    /// since the others are computed from them.
    fn enter(&mut self) -> Result<(), IcedError> {
        for number in (0..self.windows.windows.len()).rev() {
            let Window { name, bank, start } = self.windows.windows[number];
            let distance = ((start + self.windows.length / 2) * self.stride) as i64;
            let from = MemoryOperand::with_base_displ(BANKS[bank], distance);
            self.push(&Instruction::with2(Code::Lea_r64_m, name, from)?)?;
        }
        Ok(())
    }

    fn name(&self, register: Register) -> Name {
        self.codes.first + u32::from(register)
    }

    fn memory(&self, location: Location) -> MemoryOperand {
        let (bank, index) = bank(location);
        let window = self.windows.windows[usize::from(self.windows.of_index[bank][index])];
        let vectors = index as i64 - (window.start + self.windows.length / 2) as i64;
        MemoryOperand::with_base_displ(window.name, vectors * self.stride as i64)
    }

    /// Jumps to the start of the loop if a register has a bit that is on.
    fn loop_while_any(&mut self, register: Register) -> Result<(), IcedError> {
        let from = self.name(register);
        if self.codes.table == Code::INVALID {
            self.push(&Instruction::with2(self.codes.test, from, from)?)?;
        } else {
            let mask = Name::K0;
            self.push(&Instruction::with3(self.codes.test, mask, from, from)?)?;
            self.push(&Instruction::with2(Code::VEX_Kortestb_kr_kr, mask, mask)?)?;
        }
        self.push(&Instruction::with_branch(
            Code::Jne_rel32_64,
            self.loop_start,
        )?)
    }

    fn op(&mut self, op: &VectorOp) -> Result<(), IcedError> {
        let instruction = match *op {
            VectorOp::LoopStart => {
                self.loop_start = self.length;
                return Ok(());
            }
            VectorOp::LoopWhileAny(register) => return self.loop_while_any(register),
            VectorOp::Zeros(to) => {
                let to = self.name(to);
                Instruction::with3(self.codes.pairs[BinaryOp::Xor as usize], to, to, to)?
            }
            VectorOp::Ones(to) => {
                let to = self.name(to);
                match self.codes.ones {
                    Code::INVALID => Instruction::with4(self.codes.table, to, to, to, 0xff)?,
                    code => Instruction::with3(code, to, to, to)?,
                }
            }
            VectorOp::Load(to, from) => {
                Instruction::with2(self.codes.load, self.name(to), self.memory(from))?
            }
            VectorOp::Store(to, from) => {
                Instruction::with2(self.codes.store, self.memory(to), self.name(from))?
            }
            VectorOp::Copy(to, from) => {
                Instruction::with2(self.codes.load, self.name(to), self.name(from))?
            }
            VectorOp::BinaryOp(pair, to, a, b) => {
                let code = self.codes.pairs[pair as usize];
                let (to, a) = (self.name(to), self.name(a));
                match b {
                    Operand::Register(b) => Instruction::with3(code, to, a, self.name(b))?,
                    Operand::Location(b) => Instruction::with3(code, to, a, self.memory(b))?,
                }
            }
            VectorOp::Table { table, to, b, c } => {
                let code = self.codes.table;
                let (to, b, table) = (self.name(to), self.name(b), u32::from(table));
                match c {
                    Operand::Register(c) => Instruction::with4(code, to, b, self.name(c), table)?,
                    Operand::Location(c) => Instruction::with4(code, to, b, self.memory(c), table)?,
                }
            }
        };
        self.push(&instruction)
    }
}
