//! Checks of a sheet: what is missing, and names that are used and not defined, or the reverse.

use std::collections::{HashMap, HashSet};

use super::sheet::{Clause, Condition, Sheet, is_built_in};
use panza_gdl::diagnostic::brief;
use panza_gdl::nearest;
use panza_gdl::{Diagnostic, Rules, Signature, Span, Symbol, Term, check as of_rules, keyword};

/// Proposals are looked up for at most this many names, since each is compared with all others.
const MAX_PROPOSALS: usize = 32;

/// Relations that a game is read from, each with its number of arguments.
const WORDS: [(&str, usize); 8] = [
    ("role", 1),
    ("init", 1),
    ("legal", 1),
    ("goal", 2),
    ("terminal", 0),
    ("control", 1),
    ("base", 1),
    ("action", 1),
];

/// What is wrong with the translation of a sheet, of what does not depend on the dialect.
pub fn check_rules(rules: &Rules) -> Vec<Diagnostic> {
    let mut found = of_rules::check(rules, &HashSet::new());
    found.retain(|fault| {
        matches!(
            fault.code,
            "goal-value" | "too-many-roles" | "forbidden-dependency"
        )
    });
    found
}

/// What is wrong with a sheet.
pub fn check(sheet: &Sheet) -> Vec<Diagnostic> {
    let mut checker = Checker::new(sheet);
    checker.required();
    checker.roles();
    checker.arities();
    checker.undefined();
    checker.unused();
    checker.diagnostics
}

struct Checker<'a> {
    sheet: &'a Sheet,
    /// The first head of each relation.
    defined: HashMap<Signature, Span>,
    /// The first condition with each relation.
    used: HashMap<Signature, Span>,
    /// The facts that the state may have.
    produced: HashSet<Signature>,
    /// Whether any fact may be produced.
    produces_any: bool,
    /// The facts that conditions ask for, each where it is first.
    asked: HashMap<Signature, Span>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Checker<'a> {
    fn new(sheet: &'a Sheet) -> Self {
        let mut checker = Self {
            sheet,
            defined: HashMap::new(),
            used: HashMap::new(),
            produced: HashSet::new(),
            produces_any: false,
            asked: HashMap::new(),
            diagnostics: Vec::new(),
        };
        for clause in &sheet.clauses {
            let head = &clause.head;
            checker.defined.entry(head.signature()).or_insert(head.span);
            if head.signature() == (keyword::INIT, 1) {
                checker.produce(&head.arguments[0]);
            }
            checker.note(&clause.body, Some(head.signature()));
        }
        for operation in &sheet.operations {
            checker.note(&operation.conditions, None);
            for effect in operation.effects.iter().filter(|effect| effect.is_added) {
                checker.produce(&effect.term);
            }
        }
        // A move without an operation becomes a fact. A variable most likely stands for moves that
        // have operations.
        for clause in &sheet.clauses {
            if clause.head.signature() == (keyword::LEGAL, 1) {
                checker
                    .produced
                    .extend(clause.head.arguments[0].signature());
            }
        }
        checker
    }

    fn produce(&mut self, term: &Term) {
        match term.signature() {
            Some(signature) => drop(self.produced.insert(signature)),
            None => self.produces_any = true,
        }
    }

    fn note<'g>(
        &mut self,
        conditions: impl IntoIterator<Item = &'g Condition>,
        head: Option<Signature>,
    ) {
        for condition in conditions {
            match condition {
                Condition::View(atom) => {
                    // A relation that only its own rules ask for is not used.
                    if Some(atom.signature()) != head {
                        self.used.entry(atom.signature()).or_insert(atom.span);
                    }
                }
                Condition::Fact(term, span) => {
                    if let Some(signature) = term.signature() {
                        self.asked.entry(signature).or_insert(*span);
                    }
                }
                Condition::Not(inner, _) | Condition::Count(_, inner, ..) => {
                    self.note(inner.iter().flatten(), head);
                }
                Condition::Same(..)
                | Condition::Distinct(..)
                | Condition::Compare(..)
                | Condition::Compute(..)
                | Condition::Never => {}
            }
        }
    }

    fn name(&self, symbol: Symbol) -> &'a str {
        self.sheet.symbols.name(symbol)
    }

    fn push(&mut self, fault: Diagnostic, help: impl Into<String>) {
        self.diagnostics.push(fault.with_help(help));
    }

    fn required(&mut self) {
        for (name, arity, code, help) in [
            (
                "role",
                1,
                "no-role",
                "add one fact per player, such as `role(white)`",
            ),
            ("legal", 1, "no-legal", "without it nobody can move"),
            (
                "terminal",
                0,
                "no-terminal",
                "without it the game never ends",
            ),
            ("goal", 2, "no-goal", "without it nobody can win"),
            (
                "control",
                1,
                "no-control",
                "add a fact such as `init(control(white))`",
            ),
        ] {
            let symbol = self.sheet.symbols.find(name);
            let is_there = symbol.is_some_and(|symbol| {
                let signature = (symbol, arity);
                self.defined.contains_key(&signature)
                    || name == "control"
                        && (self.produced.contains(&signature) || self.produces_any)
            });
            if !is_there && !self.sheet.doubtful.contains(name) {
                let message = format!("nothing defines `{name}`");
                self.push(Diagnostic::error(code, Span::default(), message), help);
            }
        }
    }

    /// Roles that are no names.
    fn roles(&mut self) {
        for Clause {
            head, body, span, ..
        } in &self.sheet.clauses
        {
            let is_role = head.signature() == (keyword::ROLE, 1);
            if is_role && !(body.is_empty() && head.is_ground()) {
                let message = "this names no role: what begins with a capital is a variable, and \
                    roles are facts";
                let help = "write one fact per role, in small letters, such as `role(white)`";
                self.push(Diagnostic::error("role-by-rule", *span, message), help);
            }
        }
    }

    /// Words of the dialect with a wrong number of arguments.
    fn arities(&mut self) {
        let mut faults = Vec::new();
        for (&(symbol, arity), &span) in self.defined.iter().chain(&self.used) {
            let name = self.name(symbol);
            let word = WORDS.iter().find(|(word, _)| *word == name);
            if let Some((_, expected)) = word.filter(|(_, expected)| *expected != arity) {
                let message = format!("`{name}` takes {expected} arguments, found {arity}");
                faults.push(Diagnostic::error("keyword-arity", span, message));
            }
        }
        self.diagnostics.extend(faults);
    }

    /// Relations that conditions ask for and nothing defines.
    fn undefined(&mut self) {
        let views = self.used.iter();
        let views = views.filter(|(signature, _)| !self.defined.contains_key(*signature));
        let facts = self
            .asked
            .iter()
            .filter(|(signature, _)| !self.produces_any && !self.produced.contains(*signature));
        let mut missing: Vec<(Span, Signature)> = views
            .chain(facts)
            .map(|(signature, span)| (*span, *signature))
            .collect();
        missing.retain(|(_, (symbol, _))| !self.sheet.doubtful.contains(self.name(*symbol)));
        missing.sort_unstable();
        let known = self.defined.keys().chain(&self.produced);
        let known: Vec<Signature> = known.copied().collect();
        for (number, (span, (symbol, arity))) in missing.into_iter().enumerate() {
            let name = self.name(symbol);
            let message = format!(
                "`{}/{arity}` is used but is neither defined nor ever made true",
                brief(name)
            );
            let others = known
                .iter()
                .filter(|(other, n)| *n == arity && *other != symbol);
            let others = others.map(|(other, _)| self.name(*other));
            let others = others.take(if number < MAX_PROPOSALS {
                usize::MAX
            } else {
                0
            });
            let other = nearest(name, others);
            let help = match other {
                Some(other) => format!("did you mean `{}`?", brief(other)),
                None => "it never holds; a misprint?".into(),
            };
            // A name with `$` is not as it is written.
            let other = other.filter(|other| !name.contains('$') && !other.contains('$'));
            let warning = Diagnostic::warning("undefined-relation", span, message);
            let warning = warning.with_name(name, other);
            self.push(warning, help);
        }
    }

    /// Relations that are defined and never asked for.
    fn unused(&mut self) {
        let mut unused: Vec<(Span, Signature)> = (self.defined.iter())
            .filter(|(signature, _)| !self.used.contains_key(*signature))
            .map(|(signature, span)| (*span, *signature))
            .collect();
        unused.retain(|(_, (symbol, _))| {
            let name = self.name(*symbol);
            let is_word = WORDS.iter().any(|(word, _)| *word == name);
            !is_word && !is_built_in(name) && !self.sheet.doubtful.contains(name)
        });
        unused.sort_unstable();
        for (span, (symbol, arity)) in unused {
            let name = brief(self.name(symbol));
            let message = format!("`{name}/{arity}` is defined but never used");
            let warning = Diagnostic::warning("unused-relation", span, message);
            self.push(warning, "remove it, or use it in a condition");
        }
    }
}
