//! Checks of names: relations, facts and roles that are used and not defined, or the reverse.
//!
//! A name that is misspelt breaks one of these rules, so a near name is proposed. A relation that
//! stands for a misspelt keyword counts as the keyword for the other checks: one misprint gives one
//! diagnostic.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use super::diagnostic::{Diagnostic, brief};
use super::keyword;
use super::rules::{Atom, Rules, Signature, Term};
use super::span::Span;
use crate::ids::Symbol;

/// Proposals are looked up for at most this many names, since each is compared with all others.
const MAX_PROPOSALS: usize = 32;

/// A relation that every game defines: the error without it, and its consequence.
const REQUIRED: [(Signature, &str, &str); 4] = [
    (
        (keyword::ROLE, 1),
        "no-role",
        "add one fact per player, such as `(role white)`",
    ),
    (
        (keyword::LEGAL, 2),
        "no-legal",
        "without it nobody can move",
    ),
    (
        (keyword::TERMINAL, 0),
        "no-terminal",
        "without it the game never ends",
    ),
    ((keyword::GOAL, 2), "no-goal", "without it nobody can win"),
];

/// Reports names that are defined and not used, used and not defined, or in the wrong place.
/// Nothing is reported about names in `doubtful`, which stand in statements that could not be read.
pub(super) fn check(rules: &Rules, doubtful: &HashSet<Symbol>) -> Vec<Diagnostic> {
    let mut usage = Usage::new(rules, doubtful);
    usage.required();
    usage.undefined();
    usage.unused();
    usage.facts();
    usage.roles();
    usage.diagnostics
}

struct Usage<'a> {
    rules: &'a Rules,
    doubtful: &'a HashSet<Symbol>,
    /// The first head of each relation.
    defined: HashMap<Signature, &'a Atom>,
    /// The first condition with each relation, outside the relation's own rules.
    used: HashMap<Signature, &'a Atom>,
    /// The keywords that misspelt relations stand for.
    meant: HashMap<Signature, Signature>,
    /// Names of relations with several arities, which is a fault of its own.
    ambiguous: HashSet<Symbol>,
    n_proposals: Cell<usize>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Usage<'a> {
    fn new(rules: &'a Rules, doubtful: &'a HashSet<Symbol>) -> Self {
        let (mut defined, mut used) = (HashMap::new(), HashMap::new());
        for rule in &rules.rules {
            let head = rule.head.signature();
            defined.entry(head).or_insert(&rule.head);
            for atom in rule.body.iter().filter_map(|literal| literal.atom()) {
                if atom.signature() != head {
                    used.entry(atom.signature()).or_insert(atom);
                }
            }
        }
        let mut usage = Self {
            rules,
            doubtful,
            defined,
            used,
            meant: HashMap::new(),
            ambiguous: HashSet::new(),
            n_proposals: Cell::new(0),
            diagnostics: Vec::new(),
        };
        let mut arity_of: HashMap<Symbol, usize> = HashMap::new();
        let mut ambiguous = HashSet::new();
        for &(name, arity) in usage.signatures() {
            if *arity_of.entry(name).or_insert(arity) != arity {
                ambiguous.insert(name);
            }
        }
        usage.ambiguous = ambiguous;
        let facts: HashSet<Signature> = (rules.atoms())
            .filter(|atom| is_of_facts(atom.relation))
            .filter_map(|atom| atom.arguments.first()?.signature())
            .collect();
        let roles = rules.roles();
        let meant = usage
            .defined
            .iter()
            .chain(&usage.used)
            .filter_map(|(&own, &atom)| {
                let meant = usage
                    .is_orphan(own)
                    .then(|| usage.near_keyword(own))
                    .flatten()?;
                let is_likely = match atom.arguments.first() {
                    Some(fact) if is_of_facts(meant.0) => {
                        fact.signature().is_none_or(|fact| facts.contains(&fact))
                    }
                    Some(Term::Constant(_)) if meant.1 == 2 => roles.contains(&atom.arguments[0]),
                    _ => true,
                };
                is_likely.then_some((own, meant))
            });
        usage.meant = meant.collect();
        usage
    }

    fn name(&self, symbol: Symbol) -> &'a str {
        self.rules.symbols.name(symbol)
    }

    fn signatures(&self) -> impl Iterator<Item = &Signature> {
        self.defined.keys().chain(self.used.keys())
    }

    fn is_keyword(&self, signature: Signature) -> bool {
        keyword::ARITIES
            .iter()
            .any(|&(name, _)| name == signature.0)
    }

    /// Whether the state or the moves define the relation, or another check reports it.
    fn is_given(&self, signature: Signature) -> bool {
        let is_required = REQUIRED.iter().any(|(own, ..)| *own == signature);
        let is_keyword = keyword::ARITIES.contains(&signature);
        matches!(signature.0, keyword::TRUE | keyword::DOES)
            || is_required
            || self.is_keyword(signature) && !is_keyword
    }

    /// Whether a relation is either defined or used, but not both, and stands for itself.
    fn is_orphan(&self, signature: Signature) -> bool {
        !self.is_keyword(signature)
            && self.defined.contains_key(&signature) != self.used.contains_key(&signature)
    }

    fn near_keyword(&self, (name, arity): Signature) -> Option<Signature> {
        let of_arity = keyword::ARITIES.into_iter().filter(|&(_, n)| n == arity);
        let names = of_arity.map(|(word, _)| word);
        let nearest = self.nearest(self.name(name), names)?;
        Some((nearest, arity))
    }

    /// The candidate whose name is one typing error away, or two in a long name.
    fn nearest(&self, name: &str, candidates: impl Iterator<Item = Symbol>) -> Option<Symbol> {
        let length = name.len();
        let allowed = 1 + usize::from(length > 6);
        candidates
            .map(|candidate| (self.name(candidate), candidate))
            .filter(|(other, _)| length > 2 && other.len().abs_diff(length) <= allowed)
            .filter(|(other, _)| *other != name && !(is_numbered(name) && is_numbered(other)))
            .map(|(other, candidate)| (strsim::osa_distance(name, other), candidate))
            .filter(|&(distance, _)| distance <= allowed)
            .min()
            .map(|(_, candidate)| candidate)
    }

    /// `did you mean ...?`, or a text for when no candidate is near.
    fn proposal(
        &self,
        name: &str,
        candidates: impl Iterator<Item = Symbol>,
        otherwise: &str,
    ) -> String {
        self.n_proposals.set(self.n_proposals.get() + 1);
        let is_looked_up = self.n_proposals.get() <= MAX_PROPOSALS;
        match is_looked_up
            .then(|| self.nearest(name, candidates))
            .flatten()
        {
            Some(symbol) => format!("did you mean `{}`?", brief(self.name(symbol))),
            None => otherwise.into(),
        }
    }

    fn warn(&mut self, code: &'static str, span: Span, message: String, help: String) {
        let warning = Diagnostic::warning(code, span, message).with_help(help);
        self.diagnostics.push(warning);
    }

    fn is_doubtful(&self, name: Symbol) -> bool {
        self.doubtful.contains(&name)
    }

    /// The relations that every game defines.
    fn required(&mut self) {
        for (signature, code, help) in REQUIRED {
            let word = self.name(signature.0);
            let is_defined = match signature {
                (keyword::ROLE, _) => !self.rules.roles().is_empty(),
                _ => self.defined.contains_key(&signature),
            };
            if is_defined || self.is_doubtful(signature.0) {
                continue;
            }
            let misspelt = self.meant.iter().filter(|(_, meant)| **meant == signature);
            let place = misspelt
                .filter_map(|(own, _)| Some((self.defined.get(own)?.span, *own)))
                .min();
            let message = match signature {
                (keyword::ROLE, _) => "no role is named".to_string(),
                _ => format!("no rule defines `{word}`"),
            };
            let (span, help) = match place {
                Some((span, own)) => {
                    // The relation is not reported again as unused.
                    self.defined.remove(&own);
                    (span, format!("did you mean `{word}`?"))
                }
                None => (Span::default(), help.to_string()),
            };
            self.diagnostics
                .push(Diagnostic::error(code, span, message).with_help(help));
        }
    }

    fn undefined(&mut self) {
        let mut undefined: Vec<(Span, Signature)> = self
            .used
            .iter()
            .filter(|(signature, _)| !self.defined.contains_key(signature))
            .filter(|(signature, _)| !self.is_given(**signature))
            .filter(|((name, _), _)| !self.is_doubtful(*name) && !self.ambiguous.contains(name))
            .map(|(&signature, atom)| (atom.span, signature))
            .collect();
        undefined.sort_unstable();
        for (span, (name, arity)) in undefined {
            let of_arity = self.defined.keys().chain(&keyword::ARITIES);
            let of_arity = of_arity.filter(|(_, n)| *n == arity).map(|other| other.0);
            let name = self.name(name);
            let help = self.proposal(name, of_arity, "it never holds; a misprint?");
            let message = format!("`{}/{arity}` is used but nothing defines it", brief(name));
            self.warn("undefined-relation", span, message, help);
        }
    }

    fn unused(&mut self) {
        let mut unused: Vec<(Span, Signature)> = self
            .defined
            .iter()
            .filter(|(signature, _)| !self.used.contains_key(signature))
            .filter(|(signature, _)| !self.is_keyword(**signature))
            .filter(|((name, _), _)| !self.is_doubtful(*name) && !self.ambiguous.contains(name))
            .map(|(&signature, atom)| (atom.span, signature))
            .collect();
        unused.sort_unstable();
        for (span, signature) in unused {
            let help = match self.meant.get(&signature) {
                Some(&(word, _)) => format!("did you mean `{}`?", self.name(word)),
                None => "remove it, or use it in a condition".to_string(),
            };
            let (name, arity) = signature;
            let message = format!(
                "`{}/{arity}` is defined but never used",
                brief(self.name(name))
            );
            self.warn("unused-relation", span, message, help);
        }
    }

    /// The keyword that an atom's relation is, or stands for.
    fn keyword_of(&self, atom: &Atom) -> Signature {
        let own = atom.signature();
        *self.meant.get(&own).unwrap_or(&own)
    }

    /// Facts that conditions test and nothing produces.
    fn facts(&mut self) {
        let mut produced: HashSet<Signature> = HashSet::new();
        let mut arity_of: HashMap<Symbol, usize> = HashMap::new();
        for rule in &self.rules.rules {
            if matches!(
                self.keyword_of(&rule.head),
                (keyword::INIT | keyword::NEXT, 1)
            ) {
                match rule.head.arguments[0].signature() {
                    Some(fact) => {
                        produced.insert(fact);
                        arity_of.entry(fact.0).or_insert(fact.1);
                    }
                    // A variable stands for any fact.
                    None => return,
                }
            }
        }
        let mut reported = HashSet::new();
        let bodies = self.rules.rules.iter().flat_map(|rule| &rule.body);
        for atom in bodies.filter_map(|literal| literal.atom()) {
            if self.keyword_of(atom) != (keyword::TRUE, 1) {
                continue;
            }
            let Some(fact) = atom.arguments[0].signature() else {
                continue;
            };
            let (name, arity) = fact;
            if produced.contains(&fact) || self.is_doubtful(name) || !reported.insert(fact) {
                continue;
            }
            let own_name = self.name(name);
            let help = match arity_of.get(&name) {
                Some(n) => format!("facts of this name have {n} arguments elsewhere"),
                None => {
                    let candidates = arity_of.keys().copied();
                    self.proposal(own_name, candidates, "it is never true; a misprint?")
                }
            };
            let message = format!(
                "no `init` or `next` produces a fact `{}/{arity}`",
                brief(own_name)
            );
            self.warn("unproduced-fact", atom.span, message, help);
        }
    }

    /// Roles that are not declared, and roles that can never move.
    fn roles(&mut self) {
        let roles = self.rules.roles();
        // Roles of misspelt `role` facts are known, so that the misprint is reported alone.
        let mut known: HashSet<Symbol> = HashSet::new();
        for rule in &self.rules.rules {
            if self.keyword_of(&rule.head) == (keyword::ROLE, 1) {
                match rule.head.arguments[0] {
                    Term::Constant(name) => known.insert(name),
                    _ => return,
                };
            }
        }
        if roles.is_empty() {
            return;
        }
        let constants: Vec<Symbol> = (roles.iter())
            .filter_map(|role| Some(role.signature()?.0))
            .collect();
        for atom in self.rules.atoms() {
            let keyword = self.keyword_of(atom);
            let has_role = matches!(
                keyword,
                (
                    keyword::DOES | keyword::LEGAL | keyword::GOAL | keyword::INPUT,
                    2
                )
            );
            let Some(&Term::Constant(name)) = atom.arguments.first().filter(|_| has_role) else {
                continue;
            };
            if self.is_doubtful(name) || !known.insert(name) {
                continue;
            }
            let shown: Vec<Cow<'_, str>> = constants
                .iter()
                .take(6)
                .map(|&role| brief(self.name(role)))
                .collect();
            let more = if constants.len() > shown.len() {
                " ..."
            } else {
                ""
            };
            let otherwise = format!("the roles are: {}{more}", shown.join(", "));
            let name = self.name(name);
            let help = self.proposal(name, constants.iter().copied(), &otherwise);
            let message = format!("`{}` is not a role", brief(name));
            self.warn("unknown-role", atom.span, message, help);
        }
        self.stuck_roles(&constants);
    }

    fn stuck_roles(&mut self, roles: &[Symbol]) {
        let mut movers: HashSet<Symbol> = HashSet::new();
        let mut n_legal = 0;
        for rule in &self.rules.rules {
            if self.keyword_of(&rule.head) == (keyword::LEGAL, 2) {
                n_legal += 1;
                match rule.head.arguments[0] {
                    Term::Constant(name) => movers.insert(name),
                    _ => return,
                };
            }
        }
        if n_legal == 0 || self.is_doubtful(keyword::LEGAL) {
            return;
        }
        for rule in &self.rules.rules {
            if self.keyword_of(&rule.head) != (keyword::ROLE, 1) {
                continue;
            }
            if let [Term::Constant(name)] = rule.head.arguments[..]
                && roles.contains(&name)
                && !self.is_doubtful(name)
                && movers.insert(name)
            {
                let message = format!("`{}` can never move", brief(self.name(name)));
                let help = "no `legal` rule is for this role; one move such as `noop` is enough";
                self.warn("role-without-moves", rule.head.span, message, help.into());
            }
        }
    }
}

/// Whether the argument of a keyword is a fact of the state.
fn is_of_facts(word: Symbol) -> bool {
    matches!(
        word,
        keyword::INIT | keyword::TRUE | keyword::NEXT | keyword::BASE
    )
}

/// Whether a name is one of a series, such as `row1`; another of the series is no misprint.
fn is_numbered(name: &str) -> bool {
    name.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::super::load;

    const SOUND: &str = "(role a) (role b) (init (cell 1 x)) (init p) (legal a go) (legal b go)
                         (<= (next (cell ?n o)) (does a go) (true (cell ?n x)))
                         (<= terminal (not (true p))) (<= (goal a 100) (true p)) (goal b 0)";

    /// Codes, texts pointed at and proposals of what `rules` add to a sound rulesheet in which
    /// `from` is written as `to`.
    fn check(from: &str, to: &str, rules: &str, expected: &[(&str, &str, &str)]) {
        let text = format!("{} {rules}", SOUND.replace(from, to));
        let (_, diagnostics) = load(&text);
        let found: Vec<(&str, &str, &str)> = diagnostics
            .iter()
            .map(|found| (found.code, &text[found.span.range()], found.help.as_str()))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_misspelt_keyword_is_one_fault_with_the_keyword_proposed() {
        check(
            "terminal",
            "terminl",
            "",
            &[("no-terminal", "terminl", "did you mean `terminal`?")],
        );
        check(
            "legal b",
            "leagl b",
            "",
            &[("unused-relation", "(leagl b go)", "did you mean `legal`?")],
        );
        check(
            "init p",
            "inti p",
            "",
            &[("unused-relation", "(inti p)", "did you mean `init`?")],
        );
        check(
            "next (cell ?n o)",
            "nxt (cell ?n o)",
            "",
            &[(
                "unused-relation",
                "(nxt (cell ?n o))",
                "did you mean `next`?",
            )],
        );
        check(
            "goal",
            "gaol",
            "",
            &[("no-goal", "(gaol a 100)", "did you mean `goal`?")],
        );
        check(
            "does",
            "deos",
            "",
            &[("undefined-relation", "(deos a go)", "did you mean `does`?")],
        );
        check(
            "(role b)",
            "(rloe b)",
            "",
            &[("unused-relation", "(rloe b)", "did you mean `role`?")],
        );
    }

    #[test]
    fn relations_are_defined_and_used() {
        check(
            "",
            "",
            "(q 1)",
            &[(
                "unused-relation",
                "(q 1)",
                "remove it, or use it in a condition",
            )],
        );
        check(
            "does a go",
            "does a go) (adjecent 1 2",
            "(adjacent 1 2) (adjacent 2 3)",
            &[
                (
                    "undefined-relation",
                    "(adjecent 1 2)",
                    "did you mean `adjacent`?",
                ),
                (
                    "unused-relation",
                    "(adjacent 1 2)",
                    "remove it, or use it in a condition",
                ),
            ],
        );
        let path = "(<= (path ?x) (path ?x))";
        check(
            "",
            "",
            path,
            &[(
                "unused-relation",
                "(path ?x)",
                "remove it, or use it in a condition",
            )],
        );
    }

    #[test]
    fn tested_facts_are_produced() {
        check(
            "does a go",
            "true (cel 1 x)",
            "",
            &[(
                "unproduced-fact",
                "(true (cel 1 x))",
                "did you mean `cell`?",
            )],
        );
        check(
            "does a go",
            "true (cell 1)",
            "",
            &[(
                "unproduced-fact",
                "(true (cell 1))",
                "facts of this name have 2 arguments elsewhere",
            )],
        );
        check(
            "does a go",
            "true (cel 1 x)",
            "(<= (next ?f) (true ?f))",
            &[],
        );
    }

    #[test]
    fn roles_are_declared_and_can_move() {
        check(
            "does a go",
            "does c go",
            "",
            &[("unknown-role", "(does c go)", "the roles are: a, b")],
        );
        let help = "no `legal` rule is for this role; one move such as `noop` is enough";
        check(
            "(legal b go)",
            "",
            "",
            &[("role-without-moves", "(role b)", help)],
        );
        check("(legal b go)", "(<= (legal ?r go) (role ?r))", "", &[]);
    }

    #[test]
    fn nothing_is_said_about_names_in_unreadable_statements() {
        let fault = ("variable-as-name", "?x", "");
        check("", "", "(<= (?x q) (missing 1) (does c go))", &[fault]);
    }
}
