//! x
use super::{Diagnostic, Rules};
/// x
pub fn check(_rules: &Rules) -> Vec<Diagnostic> {
    vec![]
}
