//! Checks of names: relations, facts and roles that are used and not defined, or the reverse.
//!
//! A near name is proposed for each. A relation whose name is a misspelt keyword counts as the
//! keyword in the other checks, so that one misprint gives one diagnostic.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use super::diagnostic::{Diagnostic, brief};
use super::drafts;
use super::keyword::{ARITIES, BASE, DOES, GOAL, INIT, INPUT, LEGAL, NEXT, ROLE, TERMINAL, TRUE};
use super::rules::{Atom, Literal, Rule, Rules, Signature, Term};
use super::span::Span;
use crate::ids::Symbol;

/// Proposals are looked up for at most this many names, since each is compared with all others.
const MAX_PROPOSALS: usize = 32;
/// Longer names, in bytes, are compared with none.
const MAX_NAME: usize = 64;
/// The relation of GDL-II for what a role perceives.
const SEES: &str = "sees";
/// At most this many roles are listed.
const MAX_ROLES: usize = 6;

/// Reports names that are defined and not used, used and not defined, or in the wrong place.
/// Nothing is reported about names in `doubtful`, which stand in statements that could not be read.
pub(super) fn check(rules: &Rules, doubtful: &HashSet<Symbol>) -> Vec<Diagnostic> {
    let mut usage = Usage::new(rules, doubtful);
    usage.required();
    usage.orphans();
    usage.facts();
    // Which roles there are is not known otherwise.
    if !usage.has_role_rules() {
        usage.roles();
    }
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
    meant: HashMap<Signature, Symbol>,
    n_proposals: Cell<usize>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Usage<'a> {
    fn new(rules: &'a Rules, doubtful: &'a HashSet<Symbol>) -> Self {
        let (mut defined, mut used) = (HashMap::new(), HashMap::new());
        for rule in &rules.rules {
            let head = rule.head.signature();
            defined.entry(head).or_insert(&rule.head);
            for atom in rule.body.iter().filter_map(Literal::atom) {
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
            n_proposals: Cell::new(0),
            diagnostics: Vec::new(),
        };
        let facts = rules.atoms().filter(|atom| is_of_facts(atom.relation));
        let facts: HashSet<Signature> = facts
            .filter_map(|atom| atom.arguments.first()?.signature())
            .collect();
        let roles = rules.roles();
        for (atom, _) in usage.orphan_atoms() {
            let (name, arity) = atom.signature();
            let of_arity = ARITIES.iter().filter(|&&(_, n)| n == arity);
            let Some(word) = usage.nearest(name, of_arity.map(|(word, _)| *word)) else {
                continue;
            };
            let is_likely = match atom.arguments.first() {
                Some(fact) if is_of_facts(word) => {
                    fact.signature().is_none_or(|fact| facts.contains(&fact))
                }
                Some(role @ Term::Constant(_)) if arity == 2 => roles.contains(role),
                _ => true,
            };
            if is_likely {
                usage.meant.insert((name, arity), word);
            }
        }
        usage
    }

    fn name(&self, symbol: Symbol) -> &'a str {
        self.rules.symbols.name(symbol)
    }

    /// The first atom of each relation that is defined or used, but not both, in the order of the
    /// text, and whether it is defined. Keywords, and names with several arities, are checked
    /// elsewhere.
    fn orphan_atoms(&self) -> Vec<(&'a Atom, bool)> {
        let mut arity_of: HashMap<Symbol, usize> = HashMap::new();
        let mut is_checked: HashSet<Symbol> = ARITIES.map(|(word, _)| word).into();
        is_checked.extend(self.doubtful);
        // These may be used and not defined.
        is_checked.retain(|word| ![INIT, NEXT, BASE, INPUT].contains(word));
        for &(name, arity) in self.defined.keys().chain(self.used.keys()) {
            if *arity_of.entry(name).or_insert(arity) != arity {
                is_checked.insert(name);
            }
        }
        let defined = self.defined.iter().map(|atom| (atom, true));
        let mut orphans: Vec<(&Atom, bool)> = defined
            .chain(self.used.iter().map(|atom| (atom, false)))
            .filter(|((signature, _), _)| !is_checked.contains(&signature.0))
            .filter(|((signature, _), is_defined)| match is_defined {
                true => !self.used.contains_key(signature) && !is_keyword(signature.0),
                false => !self.defined.contains_key(signature),
            })
            .map(|((_, atom), is_defined)| (*atom, is_defined))
            .collect();
        orphans.sort_unstable_by_key(|(atom, _)| (atom.span, atom.relation));
        orphans
    }

    fn nearest(&self, name: Symbol, candidates: impl Iterator<Item = Symbol>) -> Option<Symbol> {
        let named = candidates.map(|candidate| self.name(candidate));
        self.rules.symbols.find(nearest(self.name(name), named)?)
    }

    /// The candidate whose name is the same in other letter case.
    fn in_other_case(
        &self,
        name: Symbol,
        mut candidates: impl Iterator<Item = Symbol>,
    ) -> Option<Symbol> {
        let name = self.name(name);
        let is_same = |other: &str| name != other && name.eq_ignore_ascii_case(other);
        candidates.find(|&candidate| is_same(self.name(candidate)))
    }

    fn has_role_rules(&self) -> bool {
        self.rules.rules.iter().any(Rule::defines_role)
    }

    /// `did you mean ...?` with the name that is meant, or a text for when no candidate is near.
    fn proposal(
        &self,
        name: Symbol,
        candidates: impl Iterator<Item = Symbol> + Clone,
        otherwise: &str,
    ) -> (String, Option<Symbol>) {
        let n_before = self.n_proposals.replace(self.n_proposals.get() + 1);
        let candidates = candidates.take(if n_before < MAX_PROPOSALS {
            usize::MAX
        } else {
            0
        });
        if let Some(symbol) = self.in_other_case(name, candidates.clone()) {
            let help = format!("{} upper and lower case differ", self.question(symbol));
            return (help, Some(symbol));
        }
        match self.nearest(name, candidates) {
            Some(symbol) => (self.question(symbol), Some(symbol)),
            None => (otherwise.into(), None),
        }
    }

    fn question(&self, meant: Symbol) -> String {
        format!("did you mean `{}`?", brief(self.name(meant)))
    }

    fn warn(&mut self, code: &'static str, span: Span, message: String, help: String) {
        let warning = Diagnostic::warning(code, span, message).with_help(help);
        self.diagnostics.push(warning);
    }

    /// Reports a fault at a name that another one may have been meant for.
    fn report(&mut self, fault: Diagnostic, help: String, name: Symbol, meant: Option<Symbol>) {
        let to = meant.map(|meant| self.name(meant));
        let fault = fault.with_help(help).with_name(self.name(name), to);
        self.diagnostics.push(fault);
    }

    /// The relations that every game defines.
    fn required(&mut self) {
        for (word, arity, code, help) in [
            (
                ROLE,
                1,
                "no-role",
                "add one fact per player, such as `(role white)`",
            ),
            (LEGAL, 2, "no-legal", "without it nobody can move"),
            (TERMINAL, 0, "no-terminal", "without it the game never ends"),
            (GOAL, 2, "no-goal", "without it nobody can win"),
        ] {
            let (is_defined, message) = match word {
                ROLE => (
                    !self.rules.roles().is_empty() || self.has_role_rules(),
                    "no role is named".to_string(),
                ),
                _ => {
                    let message = format!("no rule defines `{}`", self.name(word));
                    (self.defined.contains_key(&(word, arity)), message)
                }
            };
            if is_defined || self.doubtful.contains(&word) {
                continue;
            }
            let misspelt = self.meant.iter().filter(|(_, meant)| **meant == word);
            let first = misspelt
                .filter_map(|(own, _)| Some((self.defined.get(own)?.span, *own)))
                .min();
            match first {
                Some((span, own)) => {
                    // The relation is not reported again as unused.
                    self.defined.remove(&own);
                    let fault = Diagnostic::error(code, span, message);
                    self.report(fault, self.question(word), own.0, Some(word));
                }
                None => {
                    let fault = Diagnostic::error(code, Span::default(), message);
                    self.diagnostics.push(fault.with_help(help));
                }
            }
        }
    }

    /// Relations that are used and not defined, or defined and not used.
    fn orphans(&mut self) {
        for (atom, is_defined) in self.orphan_atoms() {
            let (name, arity) = atom.signature();
            let shown = brief(self.name(name));
            if is_defined {
                let message = format!("`{shown}/{arity}` is defined but never used");
                match self.meant.get(&(name, arity)) {
                    // Nothing else can be meant: the rule has no effect as it stands.
                    Some(&word) => {
                        let fault = Diagnostic::error("misspelt-keyword", atom.span, message);
                        self.report(fault, self.question(word), name, Some(word));
                    }
                    None if arity == 2 && self.name(name).eq_ignore_ascii_case(SEES) => {
                        let message = "`sees` of GDL-II says what each role learns, but Panza plays as if every role saw everything";
                        let note = Diagnostic::note("hidden-information", atom.span, message);
                        self.diagnostics.push(note);
                    }
                    None => {
                        let help = "remove it, or use it in a condition".to_string();
                        self.warn("unused-relation", atom.span, message, help);
                    }
                }
            } else if drafts::is_calculation(self.name(name)) {
                let message = format!("GDL has no arithmetic, and nothing defines `{shown}`");
                let fault = Diagnostic::error("no-arithmetic", atom.span, message);
                self.diagnostics.push(fault.with_help(drafts::INSTEAD));
            } else {
                let of_arity = self.defined.keys().chain(&ARITIES);
                let of_arity = of_arity.filter(|(_, n)| *n == arity).map(|other| other.0);
                let (help, meant) = self.proposal(name, of_arity, "it never holds; a misprint?");
                let message = format!("`{shown}/{arity}` is used but nothing defines it");
                let fault = Diagnostic::warning("undefined-relation", atom.span, message);
                self.report(fault, help, name, meant);
            }
        }
    }

    /// Name and arity of an atom's relation, with misspelt keywords put right.
    fn corrected(&self, atom: &Atom) -> Signature {
        let (name, arity) = atom.signature();
        (*self.meant.get(&(name, arity)).unwrap_or(&name), arity)
    }

    /// The heads of rules for a keyword.
    fn heads_of(&self, keyword: Signature) -> impl Iterator<Item = &'a Atom> {
        let heads = self.rules.rules.iter().map(|rule| &rule.head);
        heads.filter(move |head| self.corrected(head) == keyword)
    }

    /// Facts that conditions test and nothing produces.
    fn facts(&mut self) {
        let mut reported: HashSet<Signature> = HashSet::new();
        let mut arity_of: HashMap<Symbol, usize> = HashMap::new();
        for head in self.heads_of((INIT, 1)).chain(self.heads_of((NEXT, 1))) {
            // A variable stands for any fact.
            let Some(fact) = head.arguments[0].signature() else {
                return;
            };
            reported.insert(fact);
            arity_of.entry(fact.0).or_insert(fact.1);
        }
        let bodies = self.rules.rules.iter().flat_map(|rule| &rule.body);
        let tested = bodies.clone().filter_map(Literal::atom);
        let tested = tested.filter(|atom| self.corrected(atom) == (TRUE, 1));
        let tested: HashSet<Option<Signature>> = tested
            .map(|atom| atom.arguments.first()?.signature())
            .collect();
        let mut meant_facts = HashSet::new();
        for atom in bodies.filter_map(Literal::atom) {
            let is_fact = self.corrected(atom) == (TRUE, 1);
            let Some(fact) = atom
                .arguments
                .first()
                .filter(|_| is_fact)
                .and_then(Term::signature)
            else {
                continue;
            };
            let (name, arity) = fact;
            if self.doubtful.contains(&name) || !reported.insert(fact) {
                continue;
            }
            let shown = brief(self.name(name));
            let message = format!("no `init` or `next` produces a fact `{shown}/{arity}`");
            // Facts that are produced in vain, unless a variable tests all facts.
            let in_vain = arity_of.iter().filter(|&(&other, &n)| {
                n == arity && !tested.contains(&Some((other, n))) && !tested.contains(&None)
            });
            if !arity_of.contains_key(&name)
                && let Some(other) = self.nearest(name, in_vain.map(|(other, _)| *other))
            {
                let fault = Diagnostic::error("misspelt-fact", atom.span, message);
                self.report(fault, self.question(other), name, Some(other));
                meant_facts.insert(other);
                continue;
            }
            let (help, meant) = match arity_of.get(&name) {
                Some(n) => (
                    format!("facts of this name have {n} arguments elsewhere"),
                    None,
                ),
                None => {
                    let produced = arity_of.keys().copied();
                    self.proposal(name, produced, "it is never true; a misprint?")
                }
            };
            let fault = Diagnostic::warning("unproduced-fact", atom.span, message);
            self.report(fault, help, name, meant);
        }
        if !tested.contains(&None) {
            meant_facts.extend(tested.iter().flatten().map(|(name, _)| *name));
            self.unread_facts(meant_facts, &tested);
        }
    }

    /// Facts that no condition reads and whose names are nearly those of facts that one does.
    fn unread_facts(&mut self, mut reported: HashSet<Symbol>, tested: &HashSet<Option<Signature>>) {
        let heads = self.heads_of((INIT, 1)).chain(self.heads_of((NEXT, 1)));
        for head in heads.collect::<Vec<_>>() {
            let Some((name, arity)) = head.arguments[0].signature() else {
                continue;
            };
            if self.doubtful.contains(&name) || !reported.insert(name) {
                continue;
            }
            let of_arity = tested.iter().flatten().filter(|(_, n)| *n == arity);
            if let Some(other) = self.nearest(name, of_arity.map(|(other, _)| *other)) {
                let shown = brief(self.name(name));
                let message = format!("no condition reads the fact `{shown}/{arity}`");
                let fault = Diagnostic::warning("unread-fact", head.span, message);
                self.report(fault, self.question(other), name, Some(other));
            }
        }
    }

    /// Roles that are not declared, and roles that can never move.
    fn roles(&mut self) {
        let mut roles: Vec<(Symbol, Span)> = Vec::new();
        for head in self.heads_of((ROLE, 1)) {
            match head.arguments[0] {
                Term::Constant(name) => roles.push((name, head.span)),
                _ => return,
            }
        }
        if self.rules.roles().is_empty() {
            return;
        }
        let mut known: HashSet<Symbol> = roles.iter().map(|(name, _)| *name).collect();
        let mut movers: HashSet<Symbol> = HashSet::new();
        let mut all_may_move =
            self.doubtful.contains(&LEGAL) || self.heads_of((LEGAL, 2)).next().is_none();
        for head in self.heads_of((LEGAL, 2)) {
            match head.arguments[0] {
                Term::Constant(name) if !self.doubtful.contains(&name) => {
                    movers.insert(name);
                }
                _ => all_may_move = true,
            }
        }
        let names = || roles.iter().map(|(name, _)| *name);
        let mut shown: Vec<&str> = names()
            .take(MAX_ROLES)
            .map(|name| self.name(name))
            .collect();
        shown.extend((roles.len() > MAX_ROLES).then_some("..."));
        let otherwise = format!("the roles are: {}", brief(&shown.join(", ")));
        for atom in self.rules.atoms() {
            let has_role = matches!(self.corrected(atom), (DOES | LEGAL | GOAL | INPUT, 2));
            if let Some(&Term::Constant(name)) = atom.arguments.first().filter(|_| has_role)
                && !self.doubtful.contains(&name)
                && known.insert(name)
            {
                let (help, meant) = self.proposal(name, names(), &otherwise);
                let message = format!("`{}` is not a role", brief(self.name(name)));
                let fault = Diagnostic::warning("unknown-role", atom.span, message);
                self.report(fault, help, name, meant);
            }
        }
        for (name, span) in roles {
            if !all_may_move && !self.doubtful.contains(&name) && movers.insert(name) {
                let message = format!("`{}` can never move", brief(self.name(name)));
                let help = "no `legal` rule is for this role; one move such as `noop` is enough";
                self.warn("role-without-moves", span, message, help.into());
            }
        }
    }
}

fn is_keyword(name: Symbol) -> bool {
    ARITIES.iter().any(|&(word, _)| word == name)
}

/// Whether the argument of a keyword is a fact of the state.
fn is_of_facts(word: Symbol) -> bool {
    [INIT, TRUE, NEXT, BASE].contains(&word)
}

/// The candidate that is one typing error away, or two in a long name. Names of a series, such as
/// `row1` and `row2`, are no misprints of each other.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = 1 + usize::from(name.len() > 6);
    let is_numbered = |name: &str| name.bytes().any(|byte| byte.is_ascii_digit());
    let similar = candidates.filter(|other| {
        name.len() > 2
            && name.len() <= MAX_NAME
            && name != *other
            && other.len().abs_diff(name.len()) <= allowed
            && !(is_numbered(name) && is_numbered(other))
    });
    let near = similar.map(|other| (strsim::osa_distance(name, other), other));
    let near = near.filter(|(distance, _)| *distance <= allowed);
    near.min().map(|(_, other)| other)
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
            &[("misspelt-keyword", "(leagl b go)", "did you mean `legal`?")],
        );
        check(
            "init p",
            "inti p",
            "",
            &[("misspelt-keyword", "(inti p)", "did you mean `init`?")],
        );
        check(
            "next (cell ?n o)",
            "nxt (cell ?n o)",
            "",
            &[(
                "misspelt-keyword",
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
            &[("misspelt-keyword", "(rloe b)", "did you mean `role`?")],
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
    fn names_that_differ_in_letter_case_are_told() {
        let help = |name: &str| format!("did you mean `{name}`? upper and lower case differ");
        check(
            "does a go",
            "DOES A go) (TRUE (CELL 1 x)",
            "",
            &[
                ("unknown-role", "(DOES A go)", &help("a")),
                ("unproduced-fact", "(TRUE (CELL 1 x))", &help("cell")),
            ],
        );
        let adjacent =
            "(<= (next p) (Adjacent 1 2)) (adjacent 1 2) (<= q (adjacent 1 2)) (<= (next p) q)";
        let found = ("undefined-relation", "(Adjacent 1 2)", &*help("adjacent"));
        check("", "", adjacent, &[found]);
    }

    #[test]
    fn hidden_information_is_a_note() {
        let sees = "(<= (sees a ?m) (does a ?m))";
        check("", "", sees, &[("hidden-information", "(sees a ?m)", "")]);
        let used = "(<= (sees a ?m) (does a ?m)) (<= (next p) (sees a go))";
        check("", "", used, &[]);
    }

    #[test]
    fn roles_by_rules_are_the_only_fault_of_roles() {
        let help = "write one fact per role, such as `(role white)`";
        let rule = "(<= (role ?r) (player ?r))";
        check(
            "(role a) (role b)",
            rule,
            "(player a) (player b)",
            &[("role-by-rule", rule, help)],
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
    fn facts_that_nothing_reads_are_told_where_another_is_near() {
        let found = ("unread-fact", "(next (cel ?n o))", "did you mean `cell`?");
        check(
            "",
            "",
            "(<= (next (cel ?n o)) (true (cell ?n x)))",
            &[found],
        );
        check("", "", "(<= (next (seen ?n o)) (true (cell ?n x)))", &[]);
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
