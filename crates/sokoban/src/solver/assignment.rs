//! Boxes assigned to places: a largest matching between numbered boxes and numbered places.
//!
//! Each number of a box has the set of places that the box can reach. Boxes are assigned one after
//! another; a box whose places are all taken moves others to places that they reach as well
//! (augmenting paths: C. Berge, "Two theorems in graph theory", 1957).
//!
//! Invariants: no place has two boxes; a box is refused only if no matching holds it together with
//! the boxes accepted before it.

/// The places that each box can reach.
#[derive(Clone, Debug)]
pub struct Places {
    /// Words of a set of places.
    words: usize,
    /// By box: the set, one bit for each place.
    sets: Vec<u64>,
}

impl Places {
    /// No box reaches any place.
    pub fn new(boxes: usize, places: usize) -> Self {
        let words = places.div_ceil(64).max(1);
        Self {
            words,
            sets: vec![0; boxes * words],
        }
    }

    /// Lets a box reach a place.
    pub fn insert(&mut self, number: u32, place: usize) {
        self.sets[number as usize * self.words + place / 64] |= 1 << (place % 64);
    }

    /// Lets a box reach no place.
    pub fn clear(&mut self, number: u32) {
        self.sets[number as usize * self.words..][..self.words].fill(0);
    }

    fn of(&self, number: u32) -> &[u64] {
        &self.sets[number as usize * self.words..][..self.words]
    }
}

/// A matching under construction; keeps its memory between calls.
#[derive(Clone, Debug, Default)]
pub struct Assignment {
    /// The places in use.
    used: Vec<u64>,
    /// The places in use that no box has.
    free: Vec<u64>,
    /// The places on which no path for the box under consideration was tried.
    untried: Vec<u64>,
    /// By place: its box.
    owners: Vec<u32>,
}

impl Assignment {
    /// Assigns boxes to the places from number `first` on; how many get none.
    pub fn refused(
        &mut self,
        places: &Places,
        first: usize,
        boxes: &mut dyn Iterator<Item = u32>,
    ) -> usize {
        self.begin(places, first);
        boxes.filter(|&number| !self.add(places, number)).count()
    }

    /// Begins with the places from number `first` on, all free.
    fn begin(&mut self, places: &Places, first: usize) {
        self.used.clear();
        self.used.extend((0..places.words).map(|word| {
            let below = first.saturating_sub(word * 64).min(64) as u32;
            u64::MAX.checked_shl(below).unwrap_or(0)
        }));
        self.free.clone_from(&self.used);
        self.owners.resize(places.words * 64, 0);
    }

    /// Finds a place for a box; whether there is one.
    fn add(&mut self, places: &Places, number: u32) -> bool {
        let is_placed = self.take_free(places, number);
        if !is_placed {
            self.untried.clone_from(&self.used);
        }
        is_placed || self.augment(places, number)
    }

    /// Gives the box the first free place that it reaches.
    fn take_free(&mut self, places: &Places, number: u32) -> bool {
        for (word, set) in places.of(number).iter().enumerate() {
            let found = set & self.free[word];
            if found != 0 {
                let place = found.trailing_zeros();
                self.free[word] &= !(1 << place);
                self.owners[word * 64 + place as usize] = number;
                return true;
            }
        }
        false
    }

    /// Moves other boxes so that one of the box's places becomes free, and gives it to the box.
    fn augment(&mut self, places: &Places, number: u32) -> bool {
        for word in 0..places.words {
            loop {
                let left = places.of(number)[word] & self.untried[word];
                if left == 0 {
                    break;
                }
                let bit = left.trailing_zeros() as usize;
                self.untried[word] &= !(1 << bit);
                let place = word * 64 + bit;
                let owner = self.owners[place];
                if self.take_free(places, owner) || self.augment(places, owner) {
                    self.owners[place] = number;
                    return true;
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn largest(sets: &[u8], first: u32) -> usize {
        let Some((&set, rest)) = sets.split_first() else {
            return 0;
        };
        let without = largest(rest, first);
        let with = (first..8)
            .filter(|place| set >> place & 1 == 1)
            .map(|place| {
                let others: Vec<u8> = rest.iter().map(|other| other & !(1 << place)).collect();
                1 + largest(&others, first)
            });
        with.max().unwrap_or(0).max(without)
    }

    proptest! {
        #[test]
        fn as_many_boxes_are_placed_as_can_be(
            sets in prop::collection::vec(any::<u8>(), 0..5),
            first in 0_u32..8,
            shift in 0_usize..100,
        ) {
            let mut places = Places::new(sets.len(), 108);
            for (number, set) in (0..).zip(&sets) {
                for place in (0..8).filter(|place| set >> place & 1 == 1) {
                    places.insert(number, place + shift);
                }
            }
                        let mut assignment = Assignment::default();
            let mut boxes = 0..sets.len() as u32;
            let refused = assignment.refused(&places, first as usize + shift, &mut boxes);
            prop_assert_eq!(refused, sets.len() - largest(&sets, first));
        }
    }
}
