//! Runs plans: nested loops over index buckets, depth first.

use std::ops::Range;

use super::index::BucketId;
use super::plan::{Check, Lookup, Op, Scan};
use super::store::Store;
use panza_gdl::TermId;

/// The result of the rest of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Failed,
    Derived,
    /// A limit was reached; `Store::fault` says which.
    Stopped,
}

impl Store {
    pub fn run(&mut self, ops: &[Op], registers: &mut [TermId]) -> Outcome {
        let mut rest = ops;
        while let Some((op, after)) = rest.split_first() {
            rest = after;
            let goes_on = match op {
                Op::Scan(scan) => return self.run_scan(scan, after, registers),
                Op::Distinct(left, right) => !self.is_same(left, right, registers),
                Op::Holds(check) => self.holds(check, registers),
                Op::HoldsNot(check) => !self.holds(check, registers),
                Op::NotInReference(check) => !self.is_in_reference(check, registers),
                Op::Unless(check) => {
                    if self.holds(check, registers) {
                        return Outcome::Derived;
                    }
                    true
                }
                Op::Derive(head) => {
                    return match self.derive_built(head.relation, &head.arguments, registers) {
                        true => Outcome::Derived,
                        false => Outcome::Stopped,
                    };
                }
            };
            if !goes_on {
                return Outcome::Failed;
            }
        }
        Outcome::Failed
    }

    #[inline]
    fn holds(&self, check: &Check, registers: &[TermId]) -> bool {
        let relation = &self.relations[check.relation];
        self.find_all(&check.arguments, registers, |arguments| {
            relation
                .find(arguments)
                .filter(|fact| relation.holds(*fact))
        })
        .is_some()
    }

    fn is_in_reference(&self, check: &Check, registers: &[TermId]) -> bool {
        let relation = &self.relations[check.relation];
        self.find_all(&check.arguments, registers, |arguments| {
            relation.is_in_reference(arguments).then_some(())
        })
        .is_some()
    }

    fn run_scan(&mut self, scan: &Scan, rest: &[Op], registers: &mut [TermId]) -> Outcome {
        self.catch_up(scan.index, scan.relation);
        let bucket = match &scan.place {
            Lookup::Bucket(bucket) => Some(*bucket),
            Lookup::Keys(keys) => {
                self.find_all(keys, registers, |keys| self.indexes[scan.index].find(keys))
            }
        };
        let Some(bucket) = bucket else {
            return Outcome::Failed;
        };
        let n_items = self.indexes[scan.index].items(bucket).len();
        if n_items == 0 {
            return Outcome::Failed;
        }
        if scan.outputs.is_empty() {
            return self.run(rest, registers);
        }
        if !self.spend(n_items as u64 + 1) {
            return Outcome::Stopped;
        }
        // The bucket may grow meanwhile, in a recursive component; what is new then gets its own
        // turn.
        self.run_each(scan, bucket, 0..n_items, rest, registers).1
    }

    /// Runs the rest of a plan for these items of a bucket. Gives the number of the first item that
    /// was not looked at.
    #[inline(always)]
    fn run_each(
        &mut self,
        scan: &Scan,
        bucket: BucketId,
        items: Range<usize>,
        rest: &[Op],
        registers: &mut [TermId],
    ) -> (usize, Outcome) {
        let mut found = Outcome::Failed;
        for position in items.clone() {
            let item = self.indexes[scan.index].items(bucket)[position];
            self.bind(scan, item, registers);
            match self.run(rest, registers) {
                Outcome::Failed => {}
                Outcome::Derived if scan.is_existential => return (position + 1, Outcome::Derived),
                Outcome::Derived => found = Outcome::Derived,
                Outcome::Stopped => return (position, Outcome::Stopped),
            }
        }
        (items.end, found)
    }

    #[inline]
    fn bind(&self, scan: &Scan, item: u32, registers: &mut [TermId]) {
        match &*scan.outputs {
            [] => {}
            [register] => registers[*register as usize] = TermId(item),
            outputs => {
                let row = self.indexes[scan.index].row(item);
                for (register, term) in outputs.iter().zip(row) {
                    registers[*register as usize] = *term;
                }
            }
        }
    }

    /// Runs a plan whose first step scans one bucket, for its matches from number `from` on. Gives
    /// the number of the first match that was not looked at.
    pub fn run_from(
        &mut self,
        scan: &Scan,
        rest: &[Op],
        from: usize,
        registers: &mut [TermId],
    ) -> (usize, Outcome) {
        let Lookup::Bucket(bucket) = scan.place else {
            return (from, Outcome::Failed);
        };
        self.catch_up(scan.index, scan.relation);
        let n_items = self.indexes[scan.index].items(bucket).len();
        let n_new = n_items.saturating_sub(from) as u64;
        if !self.spend(n_new) {
            return (from, Outcome::Stopped);
        }
        self.run_each(scan, bucket, from..n_items, rest, registers)
    }
}
