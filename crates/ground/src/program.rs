//! The ground program: atoms and rules without variables.

use panza_gdl::{
    AtomId, BaseId, GroupedLists, Id, IdVec, MoveId, RoleId, Symbols, TermId, TermTable,
};

/// What an atom is, beyond being derived by rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomKind {
    /// `(true f)`: given by the state.
    Base(BaseId),
    /// `(does r m)`: given by the joint move.
    Does(MoveId),
    /// By rules only.
    Derived,
}

/// A ground atom.
#[derive(Clone, Copy, Debug)]
pub struct GroundAtom {
    /// Its term.
    pub term: TermId,
    /// What it is.
    pub kind: AtomKind,
}

/// A move of a role.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    /// The role.
    pub role: RoleId,
    /// The move, without `does`.
    pub term: TermId,
    /// The atom `(legal role move)`.
    pub legal: AtomId,
}

/// An atom of a body, plain or negated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BodyLiteral(u32);

impl BodyLiteral {
    /// Atom ids stay below 2^31, so the sign fits beside them.
    pub fn new(atom: AtomId, is_negative: bool) -> Self {
        Self(atom.0 << 1 | u32::from(is_negative))
    }

    /// Its atom.
    pub fn atom(self) -> AtomId {
        AtomId(self.0 >> 1)
    }

    /// Whether the atom is negated.
    pub fn is_negative(self) -> bool {
        self.0 & 1 == 1
    }
}

/// One instance: the head, and where its body lies.
#[derive(Clone, Copy, Debug)]
pub struct GroundRule {
    /// What it derives.
    pub head: AtomId,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// The rules of a game without variables.
#[derive(Clone, Debug)]
pub struct GroundProgram {
    /// The names.
    pub symbols: Symbols,
    /// All terms.
    pub terms: TermTable,
    /// The roles, in the order of the rulesheet.
    pub roles: IdVec<RoleId, TermId>,
    /// Every atom that is neither static nor out of reach.
    pub atoms: IdVec<AtomId, GroundAtom>,
    /// The facts that can ever be true, without `true`.
    pub bases: IdVec<BaseId, TermId>,
    /// Per base, the atom `(next f)`, if anything derives it.
    pub next: IdVec<BaseId, Option<AtomId>>,
    /// The moves that can ever be legal, sorted by role.
    pub moves: IdVec<MoveId, Move>,
    /// The facts of the initial state.
    pub initial: Vec<BaseId>,
    /// The atom `terminal`, if it can hold.
    pub terminal: Option<AtomId>,
    /// Role, value and atom of each `goal` with a whole number from 0 to 100.
    pub goals: Vec<(RoleId, u8, AtomId)>,
    /// All instances of rules.
    pub rules: Vec<GroundRule>,
    pub(super) bodies: Vec<BodyLiteral>,
}

impl GroundProgram {
    /// The body of a rule.
    pub fn body(&self, rule: usize) -> &[BodyLiteral] {
        let GroundRule { start, end, .. } = self.rules[rule];
        &self.bodies[start as usize..end as usize]
    }

    /// The indices of the rules, by head.
    pub fn rules_by_head(&self) -> GroupedLists<u32> {
        let rules = self.rules.iter().zip(0..);
        GroupedLists::new(
            self.atoms.len(),
            rules.map(|(rule, index)| (rule.head.index(), index)),
        )
    }

    /// An atom as text.
    pub fn show(&self, atom: AtomId) -> String {
        self.show_term(self.atoms[atom].term)
    }

    /// A term as text.
    pub fn show_term(&self, term: TermId) -> String {
        self.terms.show(&self.symbols, term)
    }
}
