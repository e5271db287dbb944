//! Machine code against the interpreter, bit for bit.

use super::super::interpret::{Features, Interpreted};
use super::super::memory::{Memory, Side};
use super::super::program::{FixpointLoop, Input, Location, Operation, Program, Value, apply};
use super::super::random_programs::{Shape, programs_of_every_table, random_loop, random_program};
use super::Native;
use panza_sync::Random;

/// The features that there can be machine code for: the processor has them, and the system lets
/// memory be executed.
fn features() -> Vec<Features> {
    let mut found = vec![Features::Avx2, Features::Avx512];
    found.retain(|&features| Native::new(&Program::default(), features, 4).is_some());
    if found.is_empty() {
        println!("skipped: no machine code on this processor or system");
    }
    found
}

/// Runs machine code and the interpreter on equal random memories, for all features and widths.
fn compare(program: &Program, n_state: usize, random: &mut Random) {
    for features in features() {
        compare_at::<4>(features, program, n_state, random);
        compare_at::<8>(features, program, n_state, random);
        compare_at::<16>(features, program, n_state, random);
    }
}

/// Vectors behind the memory that the code counts, which it must not write.
const BEYOND: usize = 64;

/// Compares what they leave in the states and in the slots that the program names or reserves.
/// Code that read beyond its memory would find other bits than the interpreter; code that wrote
/// there would change bits that nothing else changes.
fn compare_at<const N: usize>(
    features: Features,
    program: &Program,
    n_state: usize,
    random: &mut Random,
) {
    let native = Native::new(program, features, N).expect("there is code");
    let interpreted = Interpreted::new(program, n_state);
    let n_slots = native.n_slots().max(interpreted.n_slots());
    let named = 2 * n_state + program.n_slots() as usize;
    for side in [Side::Even, Side::Odd] {
        let mut memory = Memory::<N>::new(n_state, n_slots + BEYOND);
        for word in memory.all().as_flattened_mut() {
            *word = random.bits();
        }
        let mut expected = memory.clone();
        let mut before = memory.clone();
        native.run(&mut memory, side);
        assert!(
            memory.slots()[native.n_slots()..] == before.slots()[native.n_slots()..],
            "{features:?}, {side:?}, {N} words: writes beyond its memory: {program:?}"
        );
        interpreted.run(Features::Portable, &mut expected, side);
        assert!(
            memory.all()[..named] == expected.all()[..named],
            "{features:?}, {side:?}, {N} words: {program:?}"
        );
    }
}

fn compare_shape(seed: u64, n_programs: usize, shape: &Shape) {
    if features().is_empty() {
        return;
    }
    let mut random = Random::new(seed);
    for _ in 0..n_programs {
        let program = random_program(&mut random, shape);
        compare(&program, shape.n_state as usize, &mut random);
    }
}

#[test]
fn small_programs_give_the_interpreters_bits() {
    let shape = Shape {
        n_state: 3,
        n_slots: 2,
        n_operations: 12,
        reach: 10,
        one_stored_in: 3,
    };
    compare_shape(1, 2_000, &shape);
}

#[test]
fn more_live_values_than_registers_give_the_interpreters_bits() {
    let shape = Shape {
        n_state: 60,
        n_slots: 40,
        n_operations: 600,
        reach: 150,
        one_stored_in: 6,
    };
    compare_shape(2, 100, &shape);
}

#[test]
fn long_programs_give_the_interpreters_bits() {
    let shape = Shape {
        n_state: 900,
        n_slots: 1200,
        n_operations: 20_000,
        reach: 1_000,
        one_stored_in: 10,
    };
    compare_shape(3, 2, &shape);
}

/// What a loop stores, one operation after the other and one lane word at a time.
fn fixpoint(program: &Program, now: &[u64]) -> Vec<(Location, u64)> {
    let FixpointLoop { carried, changed } = program.repeat.clone().expect("it is a loop");
    let mut slots = vec![0; carried.len()];
    loop {
        let mut values: Vec<u64> = Vec::new();
        for input in &program.inputs {
            values.push(match *input {
                Input::Zeros => 0,
                Input::Ones => u64::MAX,
                Input::Location(Location::Slot(slot)) => slots[slot as usize],
                Input::Location(Location::Now(index) | Location::Next(index)) => {
                    now[index as usize]
                }
            });
        }
        for operation in &program.operations {
            let [a, b, c] = operation
                .padded_inputs()
                .map(|input| values[input.0 as usize]);
            values.push(apply(operation.table, a, b, c));
        }
        let stores = program.stores.iter();
        let stored: Vec<(Location, u64)> = stores
            .map(|&(value, location)| (location, values[value.0 as usize]))
            .collect();
        for &(location, value) in &stored {
            match location {
                Location::Slot(slot) if carried.contains(&slot) => slots[slot as usize] = value,
                _ => {}
            }
        }
        if stored.contains(&(Location::Slot(changed), 0)) {
            return stored;
        }
    }
}

/// Loops with few and with many carried values, in machine code and by the interpreter, and each
/// word of lanes by itself.
#[test]
fn loops_come_to_the_same_fixpoint() {
    let mut random = Random::new(8);
    let n_programs = if cfg!(miri) { 3 } else { 400 };
    for _ in 0..n_programs {
        let most = if random.below(4) == 0 { 60 } else { 6 };
        let n_carried = 1 + random.below(most);
        let n_operations = 4 + random.below(150) as usize;
        let program = random_loop(&mut random, n_carried, n_operations);
        compare(&program, 5, &mut random);
        let interpreted = Interpreted::new(&program, 5);
        let mut memory = Memory::<4>::new(5, interpreted.n_slots());
        for word in memory.all().as_flattened_mut() {
            *word = random.bits();
        }
        let now = memory.now(Side::Even).to_vec();
        interpreted.run(Features::Portable, &mut memory, Side::Even);
        for word in 0..4 {
            let of_word: Vec<u64> = now.iter().map(|vector| vector[word]).collect();
            for (location, expected) in fixpoint(&program, &of_word) {
                let found = match location {
                    Location::Slot(slot) => memory.slots()[slot as usize][word],
                    Location::Now(index) => memory.now(Side::Even)[index as usize][word],
                    Location::Next(index) => memory.next(Side::Even)[index as usize][word],
                };
                assert_eq!(found, expected, "{location}, word {word}: {program:?}");
            }
        }
    }
}

#[test]
fn every_table_gives_the_interpreters_bits() {
    let mut random = Random::new(4);
    for program in programs_of_every_table() {
        compare(&program, 3, &mut random);
    }
}

#[test]
fn a_program_that_does_nothing_can_be_run() {
    let mut random = Random::new(5);
    compare(&Program::default(), 0, &mut random);
    compare(&Program::default(), 2, &mut random);
}

#[test]
fn only_three_widths_have_machine_code() {
    for n_words in [0, 1, 2, 3, 5, 12, 32] {
        assert!(Native::new(&Program::default(), Features::detect(), n_words).is_none());
    }
}

#[test]
fn a_memory_that_does_not_suit_is_refused() {
    let program = Program {
        inputs: vec![Input::Location(Location::Now(1))],
        operations: vec![],
        stores: vec![(Value(0), Location::Slot(2))],
        ..Program::default()
    };
    if features().is_empty() {
        return;
    }
    let native = Native::new(&program, Features::detect(), 8).expect("there is code");
    native.run(&mut Memory::<8>::new(2, 3), Side::Even);
    let is_refused = |run: &dyn Fn()| panza_sync::catch_panic(run).is_err();
    assert!(is_refused(
        &|| native.run(&mut Memory::<8>::new(1, 5), Side::Even)
    ));
    assert!(is_refused(
        &|| native.run(&mut Memory::<8>::new(2, 2), Side::Even)
    ));
    assert!(is_refused(
        &|| native.run(&mut Memory::<4>::new(2, 3), Side::Even)
    ));
}

/// What a program does with its own inputs' opposites and with constants comes to nothing without
/// three-input logic.
#[test]
fn operations_that_come_to_constants_give_the_interpreters_bits() {
    let mut random = Random::new(6);
    // Not the first input; the first and its opposite; the first or its opposite; the second with
    // each constant.
    let program = Program {
        inputs: vec![
            Input::Location(Location::Now(0)),
            Input::Location(Location::Now(1)),
            Input::Ones,
            Input::Zeros,
        ],
        operations: vec![
            Operation::new(0x0f, &[Value(0)]),
            Operation::new(0xc0, &[Value(0), Value(4)]),
            Operation::new(0xfc, &[Value(4), Value(0)]),
            Operation::new(0x3c, &[Value(1), Value(2)]),
            Operation::new(0x0c, &[Value(1), Value(2)]),
            Operation::new(0x80, &[Value(1), Value(2), Value(3)]),
            Operation::new(0x96, &[Value(0), Value(4), Value(1)]),
        ],
        stores: (4..11)
            .map(|value| (Value(value), Location::Next(value - 4)))
            .collect(),
        ..Program::default()
    };
    assert_eq!(program.check(), Ok(()));
    compare(&program, 7, &mut random);
}

/// A program with as many values alive as there are registers, each computed early and used late,
/// needs no slots.
#[test]
fn values_that_fit_the_registers_are_not_spilled() {
    let n_alive = 15;
    let mut program = Program {
        inputs: (0..=n_alive)
            .map(|index| Input::Location(Location::Now(index)))
            .collect(),
        ..Program::default()
    };
    // Neighbours' conjunctions, then all of them together, the first with the last first.
    for index in 0..n_alive {
        let inputs = [Value(index), Value(index + 1)];
        program.operations.push(Operation::new(0xc0, &inputs));
    }
    let mut last = Value(n_alive + 1);
    for index in (1..n_alive).rev() {
        let inputs = [last, Value(n_alive + 1 + index)];
        program.operations.push(Operation::new(0x3c, &inputs));
        last = Value(program.n_values() as u32 - 1);
    }
    program.stores.push((last, Location::Next(0)));
    assert_eq!(program.check(), Ok(()));
    for features in features() {
        let native = Native::new(&program, features, 4).expect("there is code");
        assert_eq!(native.n_slots(), 0, "{features:?}");
    }
    compare(&program, n_alive as usize + 1, &mut Random::new(7));
}
