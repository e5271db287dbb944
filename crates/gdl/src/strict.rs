//! What the validator of ggp-base, the reference server, refuses in rules that Panza may play.
//!
//! These are the errors of its version 0.2.2. It is stricter than GDL in some points, such as
//! capitals, and laxer in others: names in two arities, empty parentheses and rules without
//! conditions are warnings there, and its check of negations in recursions never finds one. The
//! checks are made here on the text's expressions, since it refuses what reading already resolves,
//! such as `not` before `or`.
//!
//! Relations of one name and different arities count as one relation, as in the validator. A
//! *positive relation* of a rule is a condition that is neither negated nor `distinct`. An `or`
//! binds the variables that all of its branches bind.
//!
//! Invariant: every finding is an error with a code that begins with `strict-`.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Diagnostic, Sexpr, Span, keyword, read, strongly_connected};

/// Relations that the validator wants defined.
const NEEDED: [&str; 4] = ["role", "terminal", "goal", "legal"];
/// Words that are no constants.
const RESERVED: [&str; 4] = ["<=", "not", "or", "distinct"];

/// What the validator refuses in these statements, in the order of the text.
pub fn refusals(statements: &[Sexpr]) -> Vec<Diagnostic> {
    let mut checker = Checker::default();
    statements.iter().for_each(|it| checker.lists(it));
    let statements = read::unwrapped(statements);
    let rules: Vec<Rule<'_>> = statements.iter().map(Rule::of).collect();
    checker.sentences(&rules);
    checker.needed(&rules);
    checker.capitals(statements, true);
    for statement in statements {
        checker.capitals(std::slice::from_ref(statement), false);
    }
    for rule in &rules {
        checker.safety(rule);
    }
    let graph = Graph::new(&rules);
    checker.dependencies(&rules, &graph);
    for rule in &rules {
        checker.recursion(rule, &graph);
    }
    let mut seen = HashSet::new();
    let mut found = checker.found;
    found.retain(|fault| seen.insert((fault.code, fault.span, fault.message.clone())));
    found.sort_by_key(|fault| (fault.span, fault.code));
    found
}

/// A statement: a rule, or a fact without conditions.
struct Rule<'a> {
    head: &'a Sexpr,
    body: &'a [Sexpr],
    is_rule: bool,
}

impl<'a> Rule<'a> {
    fn of(statement: &'a Sexpr) -> Self {
        match statement.list() {
            Some([arrow, head, body @ ..]) if arrow.symbol() == Some("<=") => Self {
                head,
                body,
                is_rule: true,
            },
            _ => Self {
                head: statement,
                body: &[],
                is_rule: false,
            },
        }
    }
}

/// A condition of a body.
enum Condition<'a> {
    Sentence(&'a Sexpr),
    Not(&'a [Sexpr]),
    Or(&'a [Sexpr]),
    Distinct(&'a [Sexpr]),
}

impl<'a> Condition<'a> {
    fn of(expression: &'a Sexpr) -> Self {
        let Some([first, rest @ ..]) = expression.list() else {
            return Self::Sentence(expression);
        };
        let word = first.symbol().unwrap_or_default().to_ascii_lowercase();
        match word.as_str() {
            "not" => Self::Not(rest),
            "or" => Self::Or(rest),
            "distinct" => Self::Distinct(rest),
            _ => Self::Sentence(expression),
        }
    }
}

/// The name of a sentence or term, keywords in lower case, and its arguments.
fn parts(expression: &Sexpr) -> Option<(String, &[Sexpr])> {
    let (name, arguments) = match expression {
        Sexpr::Symbol(name, _) => (&**name, &[][..]),
        Sexpr::List(items, _) => {
            let (name, arguments) = items.split_first()?;
            (name.symbol()?, arguments)
        }
    };
    let lower = name.to_ascii_lowercase();
    let is_keyword = keyword_arity(&lower).is_some();
    let name = if is_keyword { lower } else { name.to_string() };
    Some((name, arguments))
}

/// The arity of one of GDL's own relations.
fn keyword_arity(name: &str) -> Option<usize> {
    let mut words = keyword::WORDS.iter().zip(keyword::ARITIES);
    let found = words.find(|(word, _)| **word == name);
    found.map(|(_, (_, arity))| arity)
}

fn is_variable(expression: &Sexpr) -> bool {
    expression
        .symbol()
        .is_some_and(|name| name.starts_with('?'))
}

/// Calls `visit` for each sentence in a condition.
fn for_each_sentence<'a>(condition: &'a Sexpr, visit: &mut impl FnMut(&'a Sexpr)) {
    match Condition::of(condition) {
        Condition::Sentence(sentence) => visit(sentence),
        Condition::Not(inner) | Condition::Or(inner) => {
            inner.iter().for_each(|it| for_each_sentence(it, visit));
        }
        Condition::Distinct(_) => {}
    }
}

/// The variables in an expression.
fn variables<'a>(expression: &'a Sexpr, out: &mut BTreeSet<&'a str>) {
    match expression {
        Sexpr::Symbol(name, _) if name.starts_with('?') => drop(out.insert(name)),
        Sexpr::Symbol(..) => {}
        Sexpr::List(items, _) => items.iter().for_each(|item| variables(item, out)),
    }
}

/// The variables that a condition binds.
fn bound<'a>(condition: &'a Sexpr, out: &mut BTreeSet<&'a str>) {
    match Condition::of(condition) {
        Condition::Sentence(sentence) => variables(sentence, out),
        Condition::Or(branches) => {
            let of_branches = branches.iter().map(|branch| {
                let mut own = BTreeSet::new();
                bound(branch, &mut own);
                own
            });
            let common = of_branches.reduce(|all, own| all.intersection(&own).copied().collect());
            out.extend(common.unwrap_or_default());
        }
        Condition::Not(_) | Condition::Distinct(_) => {}
    }
}

/// The variables that a condition needs to be bound.
fn unbound<'a>(condition: &'a Sexpr, out: &mut BTreeSet<&'a str>) {
    match Condition::of(condition) {
        Condition::Sentence(_) => {}
        Condition::Or(branches) => branches.iter().for_each(|branch| unbound(branch, out)),
        Condition::Not(inner) | Condition::Distinct(inner) => {
            inner.iter().for_each(|term| variables(term, out));
        }
    }
}

#[derive(Default)]
struct Checker {
    found: Vec<Diagnostic>,
}

impl Checker {
    fn refuse(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.found.push(Diagnostic::error(code, span, message));
    }

    /// Lists that begin with a list.
    fn lists(&mut self, expression: &Sexpr) {
        let Some(items) = expression.list() else {
            return;
        };
        if let Some(first @ Sexpr::List(..)) = items.first() {
            let message = "two `(` in a row are refused, also around all rules";
            self.refuse("strict-parentheses", first.span(), message);
        }
        items.iter().for_each(|item| self.lists(item));
    }

    /// Negations of more than a sentence, keywords with a wrong arity, and words where none is a
    /// function or a constant.
    fn sentences(&mut self, rules: &[Rule<'_>]) {
        for rule in rules {
            self.sentence(rule.head);
            rule.body.iter().for_each(|it| self.condition(it));
        }
    }

    fn condition(&mut self, condition: &Sexpr) {
        match Condition::of(condition) {
            Condition::Sentence(sentence) => self.sentence(sentence),
            Condition::Distinct(terms) => terms.iter().for_each(|term| self.term(term)),
            Condition::Or(inner) => inner.iter().for_each(|it| self.condition(it)),
            Condition::Not(inner) => {
                if let [inner] = inner
                    && !matches!(Condition::of(inner), Condition::Sentence(_))
                {
                    let message = "`not` must stand before a single sentence, not before `or`, \
                        `not` or `distinct`";
                    self.refuse("strict-negation", condition.span(), message);
                }
                inner.iter().for_each(|it| self.condition(it));
            }
        }
    }

    fn sentence(&mut self, sentence: &Sexpr) {
        let Some((name, arguments)) = parts(sentence) else {
            return;
        };
        let n = arguments.len();
        if let Some(arity) = keyword_arity(&name).filter(|&arity| arity != n) {
            let message = format!("`{name}` must have arity {arity}, found {n}");
            self.refuse("strict-keyword-arity", sentence.span(), message);
        }
        arguments.iter().for_each(|argument| self.term(argument));
    }

    fn term(&mut self, term: &Sexpr) {
        let Some((name, arguments)) = parts(term) else {
            return;
        };
        if RESERVED.contains(&&*name.to_lowercase()) {
            let message = format!("`{name}` is a word of rules, and no constant or function");
            self.refuse("strict-reserved-word", term.span(), message);
        }
        if term.list().is_some() && keyword_arity(&name).is_some() {
            let message = format!("keyword `{name}` is used as a function");
            self.refuse("strict-keyword-as-function", term.span(), message);
        }
        arguments.iter().for_each(|argument| self.term(argument));
    }

    /// Relations that are missing.
    fn needed(&mut self, rules: &[Rule<'_>]) {
        let heads = rules.iter().filter_map(|rule| parts(rule.head));
        let defined: HashSet<String> = heads.map(|(name, _)| name).collect();
        for name in NEEDED.into_iter().filter(|&name| !defined.contains(name)) {
            let message = format!("nothing defines `{name}`");
            self.refuse("strict-missing-relation", Span::default(), message);
        }
    }

    /// Names that differ in capitals alone, of constants or of variables.
    fn capitals(&mut self, statements: &[Sexpr], are_constants: bool) {
        let mut spelled: HashMap<String, String> = HashMap::new();
        let mut told = HashSet::new();
        let mut open: Vec<&Sexpr> = statements.iter().rev().collect();
        while let Some(expression) = open.pop() {
            match expression {
                Sexpr::List(items, _) => open.extend(items.iter().rev()),
                Sexpr::Symbol(..) if is_variable(expression) == are_constants => {}
                Sexpr::Symbol(name, span) => {
                    let lower = name.to_lowercase();
                    if RESERVED.contains(&&*lower) {
                        continue;
                    }
                    let first = spelled.entry(lower).or_insert_with(|| name.to_string());
                    if **first != **name && told.insert(name) {
                        let message = format!("`{name}` differs from `{first}` in capitals alone");
                        self.refuse("strict-capitals", *span, message);
                    }
                }
            }
        }
    }

    /// Variables that no positive relation binds.
    fn safety(&mut self, rule: &Rule<'_>) {
        let (mut needed, mut has) = (BTreeSet::new(), BTreeSet::new());
        variables(rule.head, &mut needed);
        if let Some(variable) = needed.first().filter(|_| !rule.is_rule) {
            let message = format!("variables stand in rules only, found `{variable}` in a fact");
            return self.refuse("strict-variable-fact", rule.head.span(), message);
        }
        for condition in rule.body {
            unbound(condition, &mut needed);
            bound(condition, &mut has);
        }
        for variable in needed.difference(&has) {
            let message = format!("no positive relation of the rule binds `{variable}`");
            self.refuse("strict-unsafe", rule.head.span(), message);
        }
    }

    /// Keywords in wrong places, and wrong dependencies.
    fn dependencies(&mut self, rules: &[Rule<'_>], graph: &Graph) {
        let of_states = graph.dependent_on(&["true", "does"]);
        let of_moves = graph.dependent_on(&["does"]);
        for rule in rules {
            let Some((head, _)) = parts(rule.head) else {
                continue;
            };
            let span = rule.head.span();
            if ["true", "does"].contains(&head.as_str()) || rule.is_rule && head == "role" {
                let message = format!("`{head}` must not be the head of a rule");
                self.refuse("strict-keyword-place", span, message);
            }
            let is_fixed = ["init", "base", "input"].contains(&head.as_str());
            let is_question = ["terminal", "legal", "goal"].contains(&head.as_str());
            for condition in rule.body {
                for_each_sentence(condition, &mut |sentence| {
                    let Some((name, _)) = parts(sentence) else {
                        return;
                    };
                    let span = sentence.span();
                    if ["init", "next", "base", "input"].contains(&name.as_str()) {
                        let message = format!("`{name}` must not be a condition");
                        self.refuse("strict-keyword-place", span, message);
                    }
                    if is_fixed && of_states.contains(&name) {
                        let message = format!("`{head}` must not depend on the state or moves");
                        self.refuse("strict-dependency", span, message);
                    }
                    if is_question && of_moves.contains(&name) {
                        let message = format!("`{head}` must not depend on `does`");
                        self.refuse("strict-dependency", span, message);
                    }
                });
            }
        }
    }

    /// Terms that a recursion may make larger and larger.
    fn recursion(&mut self, rule: &Rule<'_>, graph: &Graph) {
        let Some((head, head_terms)) = parts(rule.head) else {
            return;
        };
        let mut cyclic = Vec::new();
        let mut known: HashSet<String> = head_terms.iter().map(Sexpr::to_string).collect();
        for condition in rule.body {
            // The validator looks at one level of branches. What all of them have is known.
            let branches = match Condition::of(condition) {
                Condition::Sentence(sentence) => std::slice::from_ref(sentence),
                Condition::Or(branches) => branches,
                Condition::Not(_) | Condition::Distinct(_) => continue,
            };
            let mut common: Option<HashSet<String>> = None;
            for branch in branches {
                let sentence = match Condition::of(branch) {
                    Condition::Sentence(sentence) => parts(sentence),
                    _ => None,
                };
                let mut own = HashSet::new();
                match sentence {
                    Some((name, terms)) if graph.are_in_cycle(&head, &name) => cyclic.extend(terms),
                    Some((_, terms)) => own.extend(terms.iter().map(Sexpr::to_string)),
                    None => {}
                }
                common = Some(match common {
                    Some(common) => &common & &own,
                    None => own,
                });
            }
            known.extend(common.unwrap_or_default());
        }
        for term in cyclic {
            let mut own = BTreeSet::new();
            variables(term, &mut own);
            let shown = term.to_string();
            if !own.is_empty() && !known.contains(&shown) {
                let message = format!(
                    "`{shown}` in a recursion must occur in the head or in a relation outside it"
                );
                self.refuse("strict-recursion", term.span(), message);
            }
        }
    }
}

/// Which relation depends on which, by name.
struct Graph {
    numbers: HashMap<String, usize>,
    uses: Vec<Vec<usize>>,
    component_of: Vec<usize>,
}

impl Graph {
    fn new(rules: &[Rule<'_>]) -> Self {
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut uses: Vec<Vec<usize>> = Vec::new();
        let mut number = |name: String, uses: &mut Vec<Vec<usize>>| {
            *numbers.entry(name).or_insert_with(|| {
                uses.push(Vec::new());
                uses.len() - 1
            })
        };
        for rule in rules {
            let Some((head, _)) = parts(rule.head) else {
                continue;
            };
            let head = number(head, &mut uses);
            for condition in rule.body {
                for_each_sentence(condition, &mut |sentence| {
                    if let Some((name, _)) = parts(sentence) {
                        let used = number(name, &mut uses);
                        uses[head].push(used);
                    }
                });
            }
        }
        let components = strongly_connected(uses.len(), |node| uses[node].iter().copied());
        let mut component_of = vec![0; uses.len()];
        for (number, component) in components.iter().enumerate() {
            for &relation in component {
                component_of[relation as usize] = number;
            }
        }
        Self {
            numbers,
            uses,
            component_of,
        }
    }

    /// Whether a relation depends on one that its own rule uses.
    fn are_in_cycle(&self, head: &str, used: &str) -> bool {
        let number = |name| self.numbers.get(name).map(|&it| self.component_of[it]);
        number(head).is_some() && number(head) == number(used)
    }

    /// The relations that depend on some of these, with them.
    fn dependent_on(&self, names: &[&str]) -> HashSet<String> {
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); self.uses.len()];
        for (user, used) in self.uses.iter().enumerate() {
            used.iter().for_each(|&used| users[used].push(user));
        }
        let mut open: Vec<usize> = names
            .iter()
            .filter_map(|name| self.numbers.get(*name).copied())
            .collect();
        let mut found: HashSet<usize> = open.iter().copied().collect();
        while let Some(node) = open.pop() {
            open.extend(
                users[node]
                    .iter()
                    .copied()
                    .filter(|&user| found.insert(user)),
            );
        }
        let names = self
            .numbers
            .iter()
            .filter(|(_, number)| found.contains(number));
        names.map(|(name, _)| name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rules that the validator takes.
    const SOUND: &str = "(role a) (base (at 0)) (base (at 1)) (input a go) (init (at 0)) (legal a go)
        (<= (next (at 1)) (does a go)) (<= terminal (true (at 1))) (goal a 100)
        (next_to 0 1) (<= (path ?x ?y) (next_to ?x ?y)) (<= (path ?x ?y) (next_to ?x ?z) (path ?z ?y))";

    fn codes(text: &str) -> Vec<&'static str> {
        let (statements, _) = crate::sexpr::parse(text);
        refusals(&statements)
            .iter()
            .map(|fault| fault.code)
            .collect()
    }

    #[test]
    fn sound_rules_are_taken() {
        assert_eq!(codes(SOUND), [""; 0]);
        for added in [
            "(p) ",
            "(<= q)",
            "(path 1)",
            "(q (f 1) (f 1 2))",
            "(<= (q ?x) (path ?x 1) (not (q ?x)))",
            "(<= q (and (path 0 1) (path 1 0)))",
            "(<= (q ?x) (or (path ?x ?y) (next_to ?y ?x)) (q ?y))",
            "(<= (init (at 1)) (legal a go))",
        ] {
            assert_eq!(codes(&format!("{SOUND} {added}")), [""; 0], "{added}");
        }
    }

    #[test]
    fn each_refusal_has_its_name() {
        for (added, code) in [
            ("(<= q ((path 0 1)))", "strict-parentheses"),
            ("(k <=)", "strict-reserved-word"),
            ("(<= q (path (Not 1) 2))", "strict-reserved-word"),
            ("(init (t ?x))", "strict-variable-fact"),
            ("(does a go)", "strict-keyword-place"),
            ("(<= (role b))", "strict-keyword-place"),
            ("(<= q (not (or (path 0 1) (path 1 0))))", "strict-negation"),
            (
                "(<= q (or (path 0 1) (not (distinct 0 1))))",
                "strict-negation",
            ),
            ("(<= q (true (at 0) (at 1)))", "strict-keyword-arity"),
            ("(<= q (path (true 1) 2))", "strict-keyword-as-function"),
            ("(<= (q ?x) (path 0 1))", "strict-unsafe"),
            ("(<= q (path ?x 1) (not (path ?y 1)))", "strict-unsafe"),
            ("(<= (q ?x) (or (path ?x 1) (path 1 ?y)))", "strict-unsafe"),
            ("(<= (role b) (path 0 1))", "strict-keyword-place"),
            ("(<= q (init (at 0)))", "strict-keyword-place"),
            ("(<= (init (at 1)) (true (at 0)))", "strict-dependency"),
            (
                "(<= q (does a go)) (<= (legal a wait) q)",
                "strict-dependency",
            ),
            ("(<= (q ?x) (q (f ?x)) (path ?x 1))", "strict-recursion"),
            ("(Path 0 1)", "strict-capitals"),
            ("(Role b)", "strict-capitals"),
            ("(<= q (path ?x 1) (path 1 ?X))", "strict-capitals"),
        ] {
            assert_eq!(codes(&format!("{SOUND} {added}")), [code], "{added}");
        }
    }

    #[test]
    fn missing_relations_are_named() {
        let text = "(role a) (legal a go) (goal a 1) (<= q terminal)";
        assert_eq!(codes(text), ["strict-missing-relation"]);
        assert_eq!(codes(&format!("({SOUND})")), ["strict-parentheses"]);
    }
}
