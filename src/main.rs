//! The `panza` program.
fn main() {}
