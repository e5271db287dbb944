//! The states of a few random playouts, kept with a network. `passes::sample` plays them.

/// States of random playouts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlayoutSample {
    pub(super) n_steps: usize,
    /// Per step, the playouts whose change since the step before was made by the game, not by a
    /// restart.
    pub(super) counted: Vec<u64>,
    /// Per base and step, the playouts in which the base is true.
    pub(super) bases: Vec<u64>,
}
