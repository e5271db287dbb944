//! What the validator of ggp-base, the reference server, refuses in rules that Panza may play.
//!
//! The validator is stricter than GDL in some points, such as names in two arities, and laxer in
//! others. Its checks are made here on the text's expressions, since it refuses what reading
//! already resolves: `not` before `or`, and names in parentheses without arguments.
//!
//! Relations of one name and different arities count as one relation, as in the validator. A
//! *positive relation* of a rule is a condition that is neither negated nor `distinct`. An `or`
//! binds the variables that all of its branches bind.
//!
//! Invariant: every finding is an error with a code that begins with `strict-`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{Diagnostic, Sexpr, Span, keyword, strongly_connected};

/// Relations without which the validator refuses rules, or a game with them.
const NEEDED: [&str; 6] = ["role", "terminal", "goal", "legal", "base", "input"];
/// Relations that depend on the state or the moves.
const OF_STATES: [&str; 6] = ["true", "does", "next", "legal", "goal", "terminal"];

/// What the validator refuses in these statements, in the order of the text.
pub fn refusals(statements: &[Sexpr]) -> Vec<Diagnostic> {
    let rules: Vec<Rule<'_>> = statements.iter().map(Rule::of).collect();
    let mut checker = Checker::default();
    checker.shapes(statements, &rules);
    checker.arities(&rules);
    checker.needed();
    checker.capitals(statements);
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

/// Calls `visit` for each sentence in a condition; the flag says whether it is negated.
fn for_each_sentence<'a>(
    condition: &'a Sexpr,
    is_negated: bool,
    visit: &mut impl FnMut(&'a Sexpr, bool),
) {
    match Condition::of(condition) {
        Condition::Sentence(sentence) => visit(sentence, is_negated),
        Condition::Not(inner) => {
            inner
                .iter()
                .for_each(|it| for_each_sentence(it, true, visit));
        }
        Condition::Or(branches) => {
            branches
                .iter()
                .for_each(|it| for_each_sentence(it, is_negated, visit));
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
    /// By name of a relation: its arity and where it stands first.
    relations: BTreeMap<String, (usize, Span)>,
    functions: BTreeMap<String, (usize, Span)>,
}

impl Checker {
    fn refuse(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.found.push(Diagnostic::error(code, span, message));
    }

    /// Lists without arguments, rules without conditions, and negations of more than a sentence.
    fn shapes(&mut self, statements: &[Sexpr], rules: &[Rule<'_>]) {
        for statement in statements {
            self.lists(statement);
        }
        for rule in rules {
            if rule.is_rule && rule.body.is_empty() {
                let message = "a rule without conditions is refused; write its head alone";
                self.refuse("strict-empty-rule", rule.head.span(), message);
            }
            for condition in rule.body {
                self.negation(condition);
            }
        }
    }

    fn lists(&mut self, expression: &Sexpr) {
        let Some(items) = expression.list() else {
            return;
        };
        if let [only] = items {
            let name = only.symbol().unwrap_or("...");
            let message = format!("`({name})` is refused; write `{name}` without parentheses");
            self.refuse("strict-parentheses", expression.span(), message);
        }
        items.iter().for_each(|item| self.lists(item));
    }

    fn negation(&mut self, condition: &Sexpr) {
        match Condition::of(condition) {
            Condition::Not([inner]) if !matches!(Condition::of(inner), Condition::Sentence(_)) => {
                let message = "`not` must stand before a single sentence, not before `or`, \
                    `not` or `distinct`";
                self.refuse("strict-negation", condition.span(), message);
            }
            Condition::Or(branches) => branches.iter().for_each(|branch| self.negation(branch)),
            _ => {}
        }
    }

    /// Names with two arities, keywords with a wrong one, and keywords as functions.
    fn arities(&mut self, rules: &[Rule<'_>]) {
        for rule in rules {
            self.sentence(rule.head);
            for condition in rule.body {
                for_each_sentence(condition, false, &mut |sentence, _| self.sentence(sentence));
            }
        }
    }

    fn sentence(&mut self, sentence: &Sexpr) {
        let Some((name, arguments)) = parts(sentence) else {
            return;
        };
        let (n, span) = (arguments.len(), sentence.span());
        match (keyword_arity(&name), self.relations.get(&name)) {
            (Some(arity), _) if arity != n => {
                let message = format!("`{name}` must have arity {arity}, found {n}");
                self.refuse("strict-keyword-arity", span, message);
            }
            (None, Some(&(arity, _))) if arity != n => {
                let message = format!("relation `{name}` has arity {n} here and {arity} before");
                self.refuse("strict-arity", span, message);
            }
            _ => {}
        }
        self.relations.entry(name).or_insert((n, span));
        arguments.iter().for_each(|argument| self.term(argument));
    }

    fn term(&mut self, term: &Sexpr) {
        let (Some(_), Some((name, arguments))) = (term.list(), parts(term)) else {
            return;
        };
        let (n, span) = (arguments.len(), term.span());
        if keyword_arity(&name).is_some() {
            let message = format!("keyword `{name}` is used as a function");
            self.refuse("strict-keyword-as-function", span, message);
        }
        if let Some(&(arity, _)) = self.functions.get(&name).filter(|(arity, _)| *arity != n) {
            let message = format!("function `{name}` has arity {n} here and {arity} before");
            self.refuse("strict-function-arity", span, message);
        }
        self.functions.entry(name).or_insert((n, span));
        arguments.iter().for_each(|argument| self.term(argument));
    }

    /// Relations that are missing.
    fn needed(&mut self) {
        for name in NEEDED {
            if !self.relations.contains_key(name) {
                let message = format!("there is no relation `{name}`");
                self.refuse("strict-missing-relation", Span::default(), message);
            }
        }
    }

    /// Names that differ in capitals alone.
    fn capitals(&mut self, statements: &[Sexpr]) {
        let mut spelled: HashMap<String, String> = HashMap::new();
        let mut told = HashSet::new();
        let mut open: Vec<&Sexpr> = statements.iter().rev().collect();
        while let Some(expression) = open.pop() {
            match expression {
                Sexpr::List(items, _) => open.extend(items.iter().rev()),
                Sexpr::Symbol(..) if is_variable(expression) => {}
                Sexpr::Symbol(name, span) => {
                    let lower = name.to_ascii_lowercase();
                    if keyword_arity(&lower).is_some() {
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
        if !rule.is_rule {
            return;
        }
        let (mut needed, mut has) = (BTreeSet::new(), BTreeSet::new());
        variables(rule.head, &mut needed);
        for condition in rule.body {
            unbound(condition, &mut needed);
            bound(condition, &mut has);
        }
        for variable in needed.difference(&has) {
            let message = format!("no positive relation of the rule binds `{variable}`");
            self.refuse("strict-unsafe", rule.head.span(), message);
        }
    }

    /// Keywords in wrong places, wrong dependencies, and negation in a cycle.
    fn dependencies(&mut self, rules: &[Rule<'_>], graph: &Graph) {
        let of_states = graph.dependent_on(&OF_STATES);
        let of_moves = graph.dependent_on(&["does"]);
        for rule in rules.iter().filter(|rule| rule.is_rule) {
            let Some((head, _)) = parts(rule.head) else {
                continue;
            };
            let span = rule.head.span();
            if ["role", "true", "does"].contains(&head.as_str()) {
                let message = format!("`{head}` must not be the head of a rule");
                self.refuse("strict-keyword-place", span, message);
            }
            let is_fixed = ["init", "base", "input"].contains(&head.as_str());
            let is_question = ["terminal", "legal", "goal"].contains(&head.as_str());
            for condition in rule.body {
                for_each_sentence(condition, false, &mut |sentence, is_negated| {
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
                    if is_negated && graph.are_in_cycle(&head, &name) {
                        let message = format!("`{head}` depends on its own negation by `{name}`");
                        self.refuse("strict-stratification", span, message);
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
        let (mut cyclic, mut others) = (Vec::new(), Vec::new());
        for condition in rule.body {
            match Condition::of(condition) {
                Condition::Sentence(sentence) => {
                    let Some((name, terms)) = parts(sentence) else {
                        continue;
                    };
                    match graph.are_in_cycle(&head, &name) {
                        true => cyclic.extend(terms),
                        false => others.extend(terms),
                    }
                }
                // The validator looks at one level of branches.
                Condition::Or(branches) => {
                    for (name, terms) in branches.iter().filter_map(parts) {
                        if graph.are_in_cycle(&head, &name) {
                            cyclic.extend(terms);
                        }
                    }
                }
                Condition::Not(_) | Condition::Distinct(_) => {}
            }
        }
        let known: HashSet<String> = head_terms
            .iter()
            .chain(others)
            .map(Sexpr::to_string)
            .collect();
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
                for_each_sentence(condition, false, &mut |sentence, _| {
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
    }

    #[test]
    fn each_refusal_has_its_name() {
        for (added, code) in [
            ("(p) ", "strict-parentheses"),
            ("(<= q)", "strict-empty-rule"),
            ("(<= q (not (or (path 0 1) (path 1 0))))", "strict-negation"),
            (
                "(<= q (or (path 0 1) (not (distinct 0 1))))",
                "strict-negation",
            ),
            ("(path 1)", "strict-arity"),
            ("(q (f 1) (f 1 2))", "strict-function-arity"),
            ("(<= q (true (at 0) (at 1)))", "strict-keyword-arity"),
            ("(<= q (path (true 1) 2))", "strict-keyword-as-function"),
            ("(<= (q ?x) (path 0 1))", "strict-unsafe"),
            ("(<= q (path ?x 1) (not (path ?y 1)))", "strict-unsafe"),
            ("(<= (q ?x) (or (path ?x 1) (path 1 ?y)))", "strict-unsafe"),
            (
                "(<= (q ?x) (path ?x 1) (not (q ?x)))",
                "strict-stratification",
            ),
            ("(<= (role b) (path 0 1))", "strict-keyword-place"),
            ("(<= q (init (at 0)))", "strict-keyword-place"),
            ("(<= (init (at 1)) (true (at 0)))", "strict-dependency"),
            (
                "(<= q (does a go)) (<= (legal a wait) q)",
                "strict-dependency",
            ),
            ("(<= (q ?x) (q (f ?x)) (path ?x 1))", "strict-recursion"),
            ("(Path 0 1)", "strict-capitals"),
        ] {
            assert_eq!(codes(&format!("{SOUND} {added}")), [code], "{added}");
        }
    }

    #[test]
    fn missing_relations_are_named() {
        let text = "(role a) (legal a go) (goal a 1)";
        assert_eq!(codes(text), ["strict-missing-relation"; 3]);
    }
}
