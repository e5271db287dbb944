//! The lanes engine: bit-parallel simulation of hundreds of positions, one bit of a vector each.
//!
//! [`compile`] turns a network into straight-line programs ([`program`]). Two back-ends run them
//! with identical results: a table interpreter ([`interpret`]) and machine code (`native`), or
//! WebAssembly in a browser (`wasm`). A [`gang`] plays with them, an [`expand`]er evaluates
//! positions, and [`machine`] implements the traits of all engines with both.
//!
//! # One step
//!
//! A gang is 256, 512 or 1,024 playouts at once, one bit of every vector each. A phase has two or
//! three programs without branches. *Look* counts each role's legal moves with a tree of adders
//! over bits, so a count is a handful of vectors, one for each binary digit. A rank below the
//! count is then drawn for each lane, by rejection. *Step* takes the rank down the tree, which
//! selects one move in each lane, and computes the next state. *End* computes which lanes are
//! terminal. A finished lane leaves its final state in a batch for the goals, and starts the next
//! playout that is wanted. Two banks of states alternate, so nothing is copied.
//!
//! For the playouts of a search, *look* may also compute which moves win at once and which let
//! another role win at once (`lanes::compile::wins`); where several roles choose, which moves win,
//! or end the game without a win, whatever the others do (`lanes::compile::at_once`). Such moves
//! are taken and avoided where a step costs at most eight times as much.
//!
//! Every operation is a function of three values given by its truth table, inversions cost
//! nothing, and trees of ANDs and ORs are covered by such functions. `lanes::native` writes
//! machine code for AVX-512 or AVX2: operations ordered to keep values close to their uses,
//! registers by Belady's rule. In a browser `lanes::wasm` writes WebAssembly with vectors of 128
//! bits in the same way; the host compiles it on the memory of the program and puts it into its
//! table of functions (`lanes::host`). `lanes::interpret` runs the same programs from tables on
//! other processors and is the reference in tests; all give the same bits. Recursion inside a state
//! is a program that is run again, from all its gates off, until no lane changes
//! (`lanes::compile::block`). An iteration sweeps through the gates forth and back and updates them
//! in place; it carries and compares only gates that are read before they are computed.
//!
//! `lanes::expand` evaluates many states at once in the same way: the successor under a joint move
//! for each lane, its terminality, goals and legal moves. An *expander* answers a search with
//! lists. A *stepper* replaces states in arrays of its caller and gives legal moves as bits, for
//! batches of thousands of states that are simulated from Python.
//!
//! # What holds
//!
//! Never uses: trees, threads, GDL text.

mod code;
pub mod compile;
pub mod expand;
pub mod gang;
#[cfg(any(test, target_family = "wasm"))]
mod host;
pub mod interpret;
mod lower;
pub mod machine;
pub mod memory;
#[cfg(not(target_family = "wasm"))]
pub mod native;
pub mod program;
#[cfg(test)]
mod random_programs;
mod rank;
mod transpose;
#[cfg(any(test, target_family = "wasm"))]
mod wasm;

pub use transpose::transpose;
