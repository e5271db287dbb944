//! Symmetric images of states, on which an evaluation is trained as well.
//!
//! A state and its image under a symmetry of the rules have the same value, up to the exchange of
//! roles.
//!
//! Never uses: machines.

use std::collections::HashSet;

use panza_analysis::Symmetries;
use panza_gdl::Id;
use panza_sync::Random;

/// The most symmetries in use, the identity included.
const MAX_IMAGES: usize = 64;
/// Facts and symmetries of all images.
const MAX_SIZE: usize = 1 << 18;

/// Some elements of the group of symmetries: all of them where there are few.
#[derive(Clone, Debug, Default)]
pub struct Images {
    elements: Vec<Element>,
}

/// For each bit of a state its image, and for each role.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Element {
    bits: Vec<u32>,
    roles: Vec<u32>,
}

impl Images {
    /// The images under these symmetries of states of so many facts.
    pub fn new(symmetries: Option<&Symmetries>, n_facts: usize) -> Self {
        let generators: Vec<Element> = symmetries
            .iter()
            .flat_map(|found| found.generators.iter().chain(&found.role_swaps))
            .filter(|found| found.bases.len() == n_facts)
            .map(|found| Element {
                bits: found.bases.iter().map(|base| base.index() as u32).collect(),
                roles: found.roles.iter().map(|role| role.index() as u32).collect(),
            })
            .collect();
        let Some(first) = generators.first() else {
            return Self::default();
        };
        let identity = Element {
            bits: (0..n_facts as u32).collect(),
            roles: (0..first.roles.len() as u32).collect(),
        };
        let most = MAX_IMAGES.min(MAX_SIZE / n_facts.max(1)).max(1);
        let mut known = HashSet::from([identity.clone()]);
        let mut elements = vec![identity];
        let mut next = 0;
        while next < elements.len() && elements.len() < most {
            for generator in &generators {
                let product = elements[next].then(generator);
                if elements.len() < most && known.insert(product.clone()) {
                    elements.push(product);
                }
            }
            next += 1;
        }
        Self { elements }
    }

    /// Replaces a state and its targets by a random image.
    pub fn draw(&self, state: &mut [u64], targets: &mut [f32], random: &mut Random) {
        if self.elements.len() < 2 {
            return;
        }
        let element = &self.elements[random.below(self.elements.len() as u32) as usize];
        let before = state.to_vec();
        state.fill(0);
        for (index, &word) in before.iter().enumerate() {
            let mut left = word;
            while left != 0 {
                let bit = 64 * index + left.trailing_zeros() as usize;
                left &= left - 1;
                let image = element.bits.get(bit).map_or(bit, |&image| image as usize);
                state[image / 64] |= 1 << (image % 64);
            }
        }
        match targets {
            // A single target of two is that of the first role.
            [target] if element.roles.first() == Some(&1) => *target = 1.0 - *target,
            [_] => {}
            _ => {
                let before = targets.to_vec();
                for (target, &role) in before.iter().zip(&element.roles) {
                    targets[role as usize] = *target;
                }
            }
        }
    }
}

impl Element {
    /// First this one, then the other one.
    fn then(&self, other: &Self) -> Self {
        let after = |image: &u32, of: &[u32]| of[*image as usize];
        Self {
            bits: self.bits.iter().map(|it| after(it, &other.bits)).collect(),
            roles: self
                .roles
                .iter()
                .map(|it| after(it, &other.roles))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_analysis::Symmetry;
    use panza_gdl::{BaseId, RoleId};

    /// Facts 0 and 1 are exchanged by a symmetry, and facts 2 and 3 with the roles.
    #[test]
    fn images_permute_facts_and_targets() {
        let symmetry = |bases: [u32; 4], roles: [u32; 2]| Symmetry {
            bases: bases.map(BaseId).to_vec(),
            moves: Vec::new(),
            roles: roles.map(RoleId).to_vec(),
        };
        let symmetries = Symmetries {
            generators: vec![symmetry([1, 0, 2, 3], [0, 1])],
            role_swaps: vec![symmetry([0, 1, 3, 2], [1, 0])],
            ..Symmetries::default()
        };
        let images = Images::new(Some(&symmetries), 4);
        let mut random = Random::new(1);
        let mut found = HashSet::new();
        for _ in 0..100 {
            let (mut state, mut targets) = ([0b0101], [0.25, 0.75]);
            images.draw(&mut state, &mut targets, &mut random);
            let mut single = [0.25];
            images.draw(&mut [0b0101], &mut single, &mut random);
            assert!(single == [0.25] || single == [0.75]);
            assert_eq!(state[0] & 0b1000 != 0, targets == [0.75, 0.25], "{state:?}");
            found.insert(state[0]);
        }
        assert_eq!(found, HashSet::from([0b0101, 0b0110, 0b1001, 0b1010]));
    }
}
