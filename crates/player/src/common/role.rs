//! The role that is played in a match.

use panza_gdl::{Id, RoleId};
use panza_machine::GameInfo;
use serde::{Deserialize, Serialize};

/// Our role: its name and its index in the rulesheet.
///
/// A machine may order the roles otherwise, so each finds the role by its name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "(String, usize)", into = "(String, usize)")]
pub struct OurRole {
    /// The name, as canonical text.
    pub name: String,
    /// The index among the roles of the rulesheet.
    pub index: usize,
}

impl OurRole {
    /// The role of this name among `roles`, in another letter case if need be.
    pub fn find(name: &str, roles: &[String]) -> Option<Self> {
        let exact = roles.iter().position(|role| role == name);
        let similar = || {
            roles
                .iter()
                .position(|role| role.eq_ignore_ascii_case(name))
        };
        let index = exact.or_else(similar)?;
        let name = roles[index].clone();
        Some(Self { name, index })
    }

    /// The role in a game, by its name, else by its index. Without either it is the first role,
    /// which is wrong but has legal moves.
    pub(crate) fn id(&self, info: &dyn GameInfo) -> RoleId {
        let roles = info.roles();
        let named = roles.iter().position(|role| *role == self.name);
        let index = named.or_else(|| (self.index < roles.len()).then_some(self.index));
        RoleId::from_index(index.unwrap_or(0))
    }
}

impl From<(String, usize)> for OurRole {
    fn from((name, index): (String, usize)) -> Self {
        Self { name, index }
    }
}

impl From<OurRole> for (String, usize) {
    fn from(role: OurRole) -> Self {
        (role.name, role.index)
    }
}
