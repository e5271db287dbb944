//! Modules against the interpreter, bit for bit. An interpreter of WebAssembly runs them.

use wasmi::{Config, Engine, Linker, MemoryType, Module, Store, TypedFunc};

use super::super::compile::{PlayoutPolicy, SectionedProgram, compile, compile_expander};
use super::super::host::TRIAL;
use super::super::interpret::{Features, Interpreted};
use super::super::lower::lower;
use super::super::memory::{Memory, Side};
use super::super::program::Program;
use super::super::random_programs::{Shape, programs_of_every_table, random_loop, random_program};
use super::encode::{Encoded, RUN, TARGET, encode};
use panza_propnet::passes;
use panza_sync::{Budget, Random};

/// A module on a memory of its own.
struct Instance {
    store: Store<()>,
    memory: wasmi::Memory,
    run: TypedFunc<(i32, i32, i32), ()>,
}

impl Instance {
    fn new(module: &[u8], n_bytes: usize) -> Self {
        let mut config = Config::default();
        config.wasm_simd(true);
        let engine = Engine::new(&config);
        let module = Module::new(&engine, module).expect("the module is valid");
        let mut store = Store::new(&engine, ());
        let n_pages = n_bytes.div_ceil(1 << 16) as u32;
        let memory = wasmi::Memory::new(&mut store, MemoryType::new(n_pages, None));
        let memory = memory.expect("there is memory");
        let mut linker = Linker::new(&engine);
        linker.define("env", "memory", memory).expect("it is new");
        let instance = linker.instantiate_and_start(&mut store, &module);
        let instance = instance.expect("it takes no other imports");
        let run = instance.get_typed_func(&store, RUN).expect("it has this");
        Self { store, memory, run }
    }

    fn run<const N: usize>(&mut self, memory: &mut Memory<N>, side: Side) {
        let vector = 8 * N;
        let bank = (memory.n_state() * vector) as i32;
        let (now, next) = match side {
            Side::Even => (0, bank),
            Side::Odd => (bank, 0),
        };
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(memory.all().as_flattened_mut());
        let there = self.memory.data_mut(&mut self.store);
        there[..bytes.len()].copy_from_slice(bytes);
        let result = self.run.call(&mut self.store, (now, next, 2 * bank));
        result.expect("it accesses no other memory");
        let there = self.memory.data(&self.store);
        bytes.copy_from_slice(&there[..bytes.len()]);
    }
}

/// Vectors behind the memory that the code counts, which it must not write.
const BEYOND: usize = 64;

/// Compares what a module and the interpreter leave in the states and in the slots that the program
/// names or reserves, for one width.
fn compare_at<const N: usize>(program: &Program, n_state: usize, random: &mut Random) {
    let lowered = lower(program, TARGET).expect("it can be addressed");
    assert!(lowered.n_state <= n_state);
    let Encoded { bytes, n_slots } = encode(&lowered, N).expect("it can be addressed");
    let interpreted = Interpreted::new(program, n_state);
    let n_all = n_slots.max(interpreted.n_slots()) + BEYOND;
    let mut instance = Instance::new(&bytes, (2 * n_state + n_all + 1) * 8 * N);
    let named = 2 * n_state + program.n_slots() as usize;
    for side in [Side::Even, Side::Odd] {
        let mut memory = Memory::<N>::new(n_state, n_all);
        for word in memory.all().as_flattened_mut() {
            *word = random.bits();
        }
        let mut expected = memory.clone();
        let mut before = memory.clone();
        instance.run(&mut memory, side);
        assert!(
            memory.slots()[n_slots..] == before.slots()[n_slots..],
            "{side:?}, {N} words: writes beyond its memory: {program:?}"
        );
        interpreted.run(Features::Portable, &mut expected, side);
        assert!(
            memory.all()[..named] == expected.all()[..named],
            "{side:?}, {N} words: {program:?}"
        );
    }
}

fn compare(program: &Program, n_state: usize, random: &mut Random) {
    compare_at::<2>(program, n_state, random);
    compare_at::<4>(program, n_state, random);
    compare_at::<8>(program, n_state, random);
    compare_at::<16>(program, n_state, random);
}

#[test]
fn random_programs_give_the_interpreters_bits() {
    let small = Shape {
        n_state: 3,
        n_slots: 2,
        n_operations: 12,
        reach: 10,
        one_stored_in: 3,
    };
    let many_values = Shape {
        n_state: 60,
        n_slots: 40,
        n_operations: 600,
        reach: 150,
        one_stored_in: 6,
    };
    // It is cut into functions.
    let long = Shape {
        n_state: 900,
        n_slots: 1200,
        n_operations: 20_000,
        reach: 1_000,
        one_stored_in: 10,
    };
    let mut random = Random::new(1);
    for (shape, n_programs) in [(small, 500), (many_values, 30), (long, 1)] {
        for _ in 0..n_programs {
            let program = random_program(&mut random, &shape);
            compare(&program, shape.n_state as usize, &mut random);
        }
    }
}

#[test]
fn loops_come_to_the_same_fixpoint() {
    let mut random = Random::new(8);
    for _ in 0..100 {
        let most = if random.below(4) == 0 { 60 } else { 6 };
        let n_carried = 1 + random.below(most);
        let n_operations = 4 + random.below(150) as usize;
        let program = random_loop(&mut random, n_carried, n_operations);
        compare(&program, 5, &mut random);
    }
    // It is cut into functions.
    let program = random_loop(&mut random, 60, 8_000);
    compare(&program, 5, &mut random);
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
fn the_module_that_tries_the_host_is_valid() {
    let mut instance = Instance::new(&TRIAL, 0);
    instance.run(&mut Memory::<2>::new(0, 0), Side::Even);
}

/// Games of few and of many operations, one of them with recursion inside a state.
const GAMES: [&str; 4] = ["ticTacToe", "connectFour", "breakthrough", "hex"];

/// The programs of gangs and of expanders.
#[test]
fn the_programs_of_games_give_the_interpreters_bits() {
    let mut random = Random::new(6);
    let budget = Budget::generous();
    let mut n_loops = 0;
    for name in GAMES {
        let rules = panza_gdl_games::rulesheet(name).expect("there is such a game");
        let (rules, _) = panza_gdl::load(rules);
        let program = panza_ground::ground(&rules, &budget).expect("it can be grounded");
        let network = panza_propnet::build(&program, &budget).expect("it has a network");
        let network = passes::optimise(network, &budget);
        let policy = PlayoutPolicy::Decisive;
        let programs = compile(&network, None, 30.0, policy, &budget).expect("it has lanes");
        let n_bases = programs.n_bases;
        let expander = compile_expander(&network).expect("it has lanes");
        let mut all: Vec<(SectionedProgram, usize)> = Vec::new();
        for phase in programs.phases {
            let sections = [Some(phase.look), Some(phase.step), phase.end];
            all.extend(sections.into_iter().flatten().map(|code| (code, n_bases)));
        }
        let n_goal_bases = programs.goals.bases.len();
        all.push((programs.goals.program, n_goal_bases));
        let of_expander = [expander.step, expander.end, expander.legal, expander.goals];
        all.extend(of_expander.map(|code| (code, expander.n_bases)));
        for (code, n_state) in &all {
            for program in code {
                n_loops += usize::from(program.repeat.is_some());
                compare_at::<2>(program, *n_state, &mut random);
                compare_at::<8>(program, *n_state, &mut random);
            }
        }
    }
    assert!(n_loops > 0);
}
