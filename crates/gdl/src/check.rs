//! Static checks of rules that could be read.
//!
//! Faults that change the meaning of the rules are errors; those that every reasoner accepts are
//! warnings. [`super::is_playable`] says whether the game can be played in spite of them.

use std::collections::{HashMap, HashSet};

use super::MAX_ROLES;
use super::components::RelationGraph;
use super::diagnostic::{Diagnostic, Severity, brief};
use super::drafts;
use super::keyword;
use super::modes::{ASKED, Modes};
use super::rules::{Literal, Rule, Rules, Signature, Term};
use super::span::Span;
use super::usage;
use crate::ids::Symbol;

/// Everything that is wrong with the rules. Names in `doubtful` stand in statements that could not
/// be read; nothing is said about where they are defined and used.
pub fn check(rules: &Rules, doubtful: &HashSet<Symbol>) -> Vec<Diagnostic> {
    if let Some(fault) = too_many_roles(rules) {
        // Other checks compare names with all roles.
        return vec![fault];
    }
    let mut checker = Checker {
        rules,
        diagnostics: Vec::new(),
    };
    checker.roles();
    checker.arities(doubtful);
    checker.function_arities(doubtful);
    checker.keywords();
    checker.variables();
    checker.single_variables();
    checker.calls();
    checker.goals();
    checker.constant_goals();
    let graph = Graph::new(rules);
    checker.dependencies(&graph);
    checker.recursion(&graph);
    let (of_drafts, names) = drafts::check(rules);
    checker.diagnostics.extend(of_drafts);
    let of_names = usage::check(rules, &(doubtful | &names));
    // One misprint gives one diagnostic.
    let unproduced = of_names.iter().filter(|it| it.code == "unproduced-fact");
    let unproduced: HashSet<Span> = unproduced.map(|fault| fault.span).collect();
    let found = &mut checker.diagnostics;
    found.retain(|it| it.code != "function-arity" || !unproduced.contains(&it.span));
    checker.diagnostics.extend(of_names);
    let mut seen = HashSet::new();
    checker.diagnostics.retain(|diagnostic| {
        seen.insert((diagnostic.code, diagnostic.span, diagnostic.message.clone()))
    });
    checker.diagnostics
}

/// More roles than games may have.
fn too_many_roles(rules: &Rules) -> Option<Diagnostic> {
    let n_roles = rules.roles().len();
    let mut heads = rules.rules.iter().map(|rule| &rule.head);
    let last = heads.rfind(|head| head.relation == keyword::ROLE)?;
    (n_roles > MAX_ROLES).then(|| {
        let message = format!("there are {n_roles} roles, at most {MAX_ROLES} can be played");
        Diagnostic::error("too-many-roles", last.span, message)
    })
}

/// Variables of a rule that are compared, at most, and the lengths of names that are, with the `?`.
const MAX_SINGLES: usize = 16;
const MIN_SINGLE: usize = 5;
/// Variables of a rulesheet that are compared with the others of their rule, at most.
const MAX_COMPARED: usize = 10_000;
const MAX_SINGLE: usize = 40;

/// Goals without conditions that are compared with the others, at most.
const MAX_CONSTANT_GOALS: usize = 64;

struct Checker<'a> {
    rules: &'a Rules,
    diagnostics: Vec<Diagnostic>,
}

impl Checker<'_> {
    fn name(&self, symbol: Symbol) -> &str {
        self.rules.symbols.name(symbol)
    }

    fn shown(&self, (name, arity): Signature) -> String {
        format!("{}/{arity}", brief(self.name(name)))
    }

    /// Keywords with a wrong number of arguments, and names with several: the rarer number is
    /// reported where it stands first.
    fn arities(&mut self, doubtful: &HashSet<Symbol>) {
        let mut places: HashMap<Signature, (usize, Span)> = HashMap::new();
        let mut most_of: HashMap<Symbol, Signature> = HashMap::new();
        let mut hints = HashSet::new();
        for atom in self.rules.atoms() {
            let (name, arity) = atom.signature();
            let expected = keyword::ARITIES.iter().find(|(word, _)| *word == name);
            if let Some((_, expected)) = expected.filter(|(_, expected)| *expected != arity) {
                let message = format!(
                    "`{}` takes {expected} arguments, found {arity}",
                    self.name(name)
                );
                let fault = match name {
                    keyword::BASE | keyword::INPUT if !hints.insert(name) => continue,
                    keyword::BASE | keyword::INPUT => {
                        let help = "it counts as a relation of these rules alone; other players may refuse it";
                        Diagnostic::warning("keyword-arity", atom.span, message).with_help(help)
                    }
                    _ => Diagnostic::error("keyword-arity", atom.span, message),
                };
                self.diagnostics.push(fault);
            } else if expected.is_none() {
                let count = &mut places.entry((name, arity)).or_insert((0, atom.span)).0;
                *count += 1;
                let count = *count;
                let most = *most_of.entry(name).or_insert((name, arity));
                if count > places[&most].0 {
                    most_of.insert(name, (name, arity));
                }
            }
        }
        for (&(name, arity), &(_, span)) in &places {
            let most = most_of[&name].1;
            if arity == most || doubtful.contains(&name) {
                continue;
            }
            let message = format!(
                "`{}` has {arity} arguments here and {most} elsewhere",
                brief(self.name(name))
            );
            let help = "relations of one name and different arity are different relations, and ggp-base warns of them; a misprint?";
            self.warn("arity-clash", span, message, help);
        }
    }

    /// Functions with several numbers of arguments: the rarer number is noted where it stands
    /// first.
    fn function_arities(&mut self, doubtful: &HashSet<Symbol>) {
        let mut places: HashMap<Signature, (usize, Span)> = HashMap::new();
        for atom in self.rules.atoms() {
            for argument in &atom.arguments {
                argument.for_each_function(&mut |name, arity| {
                    places.entry((name, arity)).or_insert((0, atom.span)).0 += 1;
                });
            }
        }
        let mut most_of: HashMap<Symbol, (usize, usize)> = HashMap::new();
        for (&(name, arity), &(count, _)) in &places {
            let most = most_of.entry(name).or_default();
            *most = (*most).max((count, arity));
        }
        for (&(name, arity), &(_, span)) in &places {
            let most = most_of[&name].1;
            if arity == most || doubtful.contains(&name) {
                continue;
            }
            let shown = brief(self.name(name));
            let message =
                format!("the function `{shown}` has {arity} arguments here and {most} elsewhere");
            let help = "terms of one name and different arity are different terms; ggp-base warns of such rules";
            let note = Diagnostic::note("function-arity", span, message).with_help(help);
            self.diagnostics.push(note);
        }
    }

    /// Rules for `role`.
    fn roles(&mut self) {
        for rule in self.rules.rules.iter().filter(|rule| rule.defines_role()) {
            let message = "a rule defines `role`, which only facts may do";
            let help = "write one fact per role, such as `(role white)`";
            let fault = Diagnostic::error("role-by-rule", rule.span, message).with_help(help);
            self.diagnostics.push(fault);
        }
    }

    fn warn(&mut self, code: &'static str, span: Span, message: impl Into<String>, help: &str) {
        let warning = Diagnostic::warning(code, span, message).with_help(help);
        self.diagnostics.push(warning);
    }

    fn keywords(&mut self) {
        for rule in &self.rules.rules {
            let head = rule.head.relation;
            if head == keyword::TRUE || head == keyword::DOES {
                let message = format!(
                    "`{}` is given by the state and the moves, no rule may define it",
                    self.name(head)
                );
                let fault = Diagnostic::error("given-relation-defined", rule.head.span, message);
                self.diagnostics.push(fault);
            }
            for atom in rule.body.iter().filter_map(Literal::atom) {
                if atom.relation == keyword::NEXT {
                    let help = "`next` may only be defined; repeat its conditions instead";
                    self.warn("next-in-body", atom.span, "`next` stands in a body", help);
                }
                if atom.relation == keyword::INIT && head != keyword::INIT {
                    let message = "`init` stands in the body of a rule that does not define `init`";
                    self.warn("init-in-body", atom.span, message, "");
                }
            }
        }
    }

    /// Variables that occur once in a rule, where another one has almost the same name.
    fn single_variables(&mut self) {
        let mut n_left = MAX_COMPARED;
        // Of a statement with an `or`, every rule has a part of the variables.
        let statements = self
            .rules
            .rules
            .chunk_by(|one, other| one.span == other.span);
        for rule in statements.filter(|rules| rules.len() == 1).flatten() {
            let mut counts = vec![0u32; rule.variables.len()];
            let mut count = |variable: u32| counts[variable as usize] += 1;
            rule.head.for_each_variable(&mut count);
            rule.body
                .iter()
                .for_each(|it| it.for_each_variable(&mut count));
            let names = rule.variables.iter().zip(&counts);
            let singles = names.clone().filter(|&(_, &count)| count == 1);
            for (name, _) in singles.take(MAX_SINGLES) {
                if n_left == 0 {
                    return;
                }
                n_left -= 1;
                // Such as `?x1` and `?x2` are no misprints of each other.
                let is_similar = |other: &str| {
                    let has_digit = |name: &str| name.bytes().any(|it| it.is_ascii_digit());
                    name.len().min(other.len()) >= MIN_SINGLE
                        && name.len().max(other.len()) <= MAX_SINGLE
                        && **name != *other
                        && !has_digit(name)
                        && !has_digit(other)
                        && strsim::osa_distance(name, other) == 1
                };
                // Nor are two that both occur once, such as `?anyX` and `?anyY`.
                let others = names.clone().take(MAX_SINGLES);
                let mut others = others
                    .filter(|&(_, &count)| count > 1)
                    .map(|(other, _)| &**other);
                if let Some(other) = others.find(|other| is_similar(other)) {
                    let message = format!("`{}` occurs only once in this rule", brief(name));
                    let help = format!("did you mean `{}`?", brief(other));
                    let warning = Diagnostic::warning("single-variable", rule.span, message)
                        .with_help(help)
                        .with_name(name, Some(other));
                    self.diagnostics.push(warning);
                }
            }
        }
    }

    fn variables(&mut self) {
        let mut reported = HashSet::new();
        for rule in &self.rules.rules {
            let bound = rule.bound_variables();
            let is_free = |variable: u32| !bound[variable as usize];
            let effect = match (rule.head.relation, &rule.head.arguments[..]) {
                (keyword::LEGAL | keyword::GOAL, [Term::Variable(role), _]) if is_free(*role) => {
                    "any role is meant"
                }
                _ if ASKED.contains(&rule.head.signature()) => "the rule derives nothing",
                _ => "only calls can bind it, and ggp-base refuses such a rule",
            };
            let mut free: Vec<(u32, Span, &str, &str)> = Vec::new();
            rule.head.for_each_variable(&mut |variable| {
                free.push((variable, rule.head.span, "in the head", effect));
            });
            for literal in &rule.body {
                let (place, effect) = match literal {
                    Literal::Positive(_) => continue,
                    Literal::Negative(_) => ("under `not`", "no value may satisfy the condition"),
                    Literal::Distinct(..) => ("in `distinct`", "the condition is left out"),
                };
                literal.for_each_variable(&mut |variable| {
                    free.push((variable, literal.span(), place, effect));
                });
            }
            for (variable, span, place, effect) in free {
                let name = &rule.variables[variable as usize];
                if is_free(variable) && reported.insert((rule.span, name)) {
                    let name = brief(name);
                    let message =
                        format!("`{name}` is used {place} but no positive literal binds it");
                    let help = format!(
                        "bind it with a condition such as `(index {name})`; as it stands, {effect}"
                    );
                    self.warn("unsafe-variable", span, message, &help);
                }
            }
        }
    }

    /// Conditions that ask a helper about arguments that nothing binds.
    fn calls(&mut self) {
        let mut modes = Modes::new(&self.rules.rules);
        for rule in &self.rules.rules {
            if !ASKED.contains(&rule.head.signature()) {
                continue;
            }
            if let Some(condition) = modes.unsafe_condition(rule)
                && let Some(atom) = condition.atom()
            {
                let shown = self.rules.show_atom(atom, &rule.variables);
                let shown = brief(&shown);
                let message =
                    format!("`{shown}` is asked about a variable that no other condition binds");
                let help = "its rules hold for no list of values; bind the variable with a condition such as `(index ?x)`";
                let fault = Diagnostic::error("open-call", atom.span, message).with_help(help);
                self.diagnostics.push(fault);
            }
        }
    }

    fn goals(&mut self) {
        for rule in &self.rules.rules {
            if rule.head.signature() != (keyword::GOAL, 2) {
                continue;
            }
            let value = &rule.head.arguments[1];
            let is_sound = match value {
                Term::Variable(_) => true,
                Term::Constant(name) => self
                    .name(*name)
                    .parse::<u8>()
                    .is_ok_and(|value| value <= 100),
                Term::Function(..) => false,
            };
            if !is_sound {
                let shown = self.rules.show_term(value, &rule.variables);
                let message =
                    format!("the goal value is `{shown}`, expected a whole number from 0 to 100");
                self.warn("goal-value", rule.head.span, message, "");
            }
        }
    }

    /// Goals that a role always has, where it has another one at times.
    fn constant_goals(&mut self) {
        let goals = self.rules.rules.iter();
        let goals = goals.filter(|rule| rule.head.signature() == (keyword::GOAL, 2));
        let goals: Vec<&Rule> = goals.collect();
        // The chance role has no aim.
        let is_aimless = |rule: &Rule| rule.head.arguments[0] == Term::Constant(keyword::RANDOM);
        let facts = goals.iter();
        let facts = facts.filter(|rule| rule.body.is_empty() && !is_aimless(rule));
        for rule in facts.take(MAX_CONSTANT_GOALS) {
            let is_of_role = |left: &Term, right: &Term| {
                left == right
                    || [left, right]
                        .iter()
                        .any(|it| matches!(it, Term::Variable(_)))
            };
            let other = goals.iter().find(|other| {
                let [own, value] = &rule.head.arguments[..] else {
                    return false;
                };
                let [role, other] = &other.head.arguments[..] else {
                    return false;
                };
                is_of_role(own, role) && value.is_ground() && other.is_ground() && other != value
            });
            if let Some(other) = other {
                let [own, other] =
                    [rule, other].map(|it| self.rules.show_atom(&it.head, &it.variables));
                let (own, other) = (brief(&own), brief(&other));
                let message =
                    format!("`{own}` always holds, so there are two goals where `{other}` does");
                let help = "the highest counts here; other players may refuse the game";
                self.warn("constant-goal", rule.head.span, message, help);
            }
        }
    }

    /// Relations where they may not reach. `base` and `input` are hints, which change no game.
    fn dependencies(&mut self, graph: &Graph) {
        let dependents = |relation| (relation, graph.relations.dependents(&[relation]));
        let given = [(keyword::DOES, 2), (keyword::TRUE, 1)].map(dependents);
        let later = [
            (keyword::LEGAL, 2),
            (keyword::GOAL, 2),
            (keyword::TERMINAL, 0),
            (keyword::NEXT, 1),
        ];
        let later = later.map(dependents);
        for rule in &self.rules.rules {
            let head = rule.head.signature();
            let (later, given) = match head {
                (keyword::INIT, 1) => (&later[..], &given[..]),
                (keyword::ROLE | keyword::BASE, 1) | (keyword::INPUT, 2) => (&[][..], &given[..]),
                (keyword::LEGAL | keyword::GOAL, 2) | (keyword::TERMINAL, 0) => {
                    (&[][..], &given[..1])
                }
                _ => continue,
            };
            for atom in rule.body.iter().filter_map(|literal| literal.atom()) {
                let mut wrong = later.iter().chain(given);
                let wrong = wrong.find(|(_, users)| users.contains(&atom.signature()));
                let Some(((wrong, _), _)) = wrong else {
                    continue;
                };
                let message = format!(
                    "`{}` depends on `{}` here, which it may not",
                    self.name(head.0),
                    self.name(*wrong)
                );
                let help = match head.0 {
                    keyword::INIT => {
                        "`init` makes the first state, so there is no other yet; \
                         expected conditions on facts of the rules, such as `(index ?x)`"
                    }
                    _ => "",
                };
                let mut fault = Diagnostic::error("forbidden-dependency", atom.span, message);
                if [keyword::BASE, keyword::INPUT].contains(&head.0) {
                    fault.severity = Severity::Warning;
                }
                let fault = fault.with_help(help);
                self.diagnostics.push(fault);
            }
        }
    }

    fn recursion(&mut self, graph: &Graph) {
        for rule in &self.rules.rules {
            let head = rule.head.signature();
            // Made for the first condition that recurs, and used for all of the rule's.
            let mut restriction = None;
            for literal in &rule.body {
                let Some(atom) = literal.atom() else { continue };
                if !graph.recurs(atom.signature(), head) {
                    continue;
                }
                if matches!(literal, Literal::Negative(_)) {
                    let message = format!(
                        "`{}` depends on its own negation through `{}`",
                        self.shown(head),
                        self.shown(atom.signature())
                    );
                    let help = "the standard forbids it; the game is played if its ground instances are stratified";
                    self.warn("unstratified", atom.span, message, help);
                    continue;
                }
                let restriction = restriction.get_or_insert_with(|| Restriction::of(rule, graph));
                for argument in &atom.arguments {
                    if !restriction.allows(argument) {
                        let shown = self.rules.show_term(argument, &rule.variables);
                        let shown = brief(&shown);
                        let message = format!(
                            "the recursion through `{}` is not restricted: `{shown}` is neither in the head nor bound by a condition outside the recursion",
                            self.shown(atom.signature())
                        );
                        self.warn("unrestricted-recursion", atom.span, message, "");
                    }
                }
            }
        }
    }
}

/// The standard's restriction on recursion, for the recursive conditions of one rule: an argument
/// is ground, an argument of the head, or bound outside the recursion.
struct Restriction<'a> {
    in_head: HashSet<&'a Term>,
    bound: HashSet<u32>,
}

impl<'a> Restriction<'a> {
    fn of(rule: &'a Rule, graph: &Graph) -> Self {
        let head = rule.head.signature();
        let mut bound = HashSet::new();
        for literal in &rule.body {
            if let Literal::Positive(atom) = literal
                && !graph.recurs(atom.signature(), head)
            {
                atom.for_each_variable(&mut |variable| {
                    bound.insert(variable);
                });
            }
        }
        Self {
            in_head: rule.head.arguments.iter().collect(),
            bound,
        }
    }

    fn allows(&self, argument: &Term) -> bool {
        let mut is_bound = true;
        argument.for_each_variable(&mut |variable| is_bound &= self.bound.contains(&variable));
        is_bound || self.in_head.contains(argument)
    }
}

/// Which relation depends on which.
struct Graph {
    relations: RelationGraph,
    component_of: Vec<usize>,
}

impl Graph {
    fn new(rules: &Rules) -> Self {
        let relations = RelationGraph::new(&[], rules.rules.iter().enumerate());
        let (_, component_of) = relations.components();
        Self {
            relations,
            component_of,
        }
    }

    /// Whether a relation in the body of a rule for `head` depends on `head` in turn, or is it.
    fn recurs(&self, in_body: Signature, head: Signature) -> bool {
        let component = |relation| self.component_of[self.relations.numbers[&relation]];
        component(in_body) == component(head)
    }
}

#[cfg(test)]
mod tests {
    use super::super::load;
    use crate::MAX_ROLES;

    const SOUND: &str = "(role a) (init p) (<= (legal a go) (true p)) (<= (next p) (does a go)) \
                         (<= terminal (not (true p))) (<= (goal a 100) (true p))";

    /// The codes that `rules` add to a sound rulesheet, with the text they point at. Unused
    /// relations are left out.
    fn codes(rules: &str) -> Vec<(&'static str, String)> {
        let text = format!("{SOUND} {rules}");
        let (_, diagnostics) = load(&text);
        diagnostics
            .into_iter()
            .filter(|found| found.code != "unused-relation")
            .map(|found| (found.code, text[found.span.range()].to_string()))
            .collect()
    }

    fn check(rules: &str, expected: &[(&str, &str)]) {
        let found = codes(rules);
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(code, text)| (*code, text.as_str()))
            .collect();
        assert_eq!(found, expected, "{rules}");
    }

    #[test]
    fn sound_rules_pass() {
        check("", &[]);
        check(
            "(edge 1 2) (<= (path ?x ?y) (edge ?x ?y)) (<= (path ?x ?z) (path ?x ?y) (edge ?y ?z))",
            &[],
        );
    }

    #[test]
    fn each_fault_is_found_where_it_stands() {
        check("(<= (q ?x) (true p))", &[("unsafe-variable", "(q ?x)")]);
        let misprint = "(<= (q ?other) (r ?other) (r ?othr))";
        check(
            &format!("{misprint} (r 1)"),
            &[("single-variable", misprint)],
        );
        check(
            "(<= q (not (r ?x)) ) (r 1)",
            &[("unsafe-variable", "(r ?x)")],
        );
        check(
            "(<= q (distinct ?x a))",
            &[("unsafe-variable", "(distinct ?x a)")],
        );
        check("(q 1) (q 1 2)", &[("arity-clash", "(q 1 2)")]);
        check(
            "(<= (q (f 1)) (r (f 2))) (r (f 1 2))",
            &[("function-arity", "(r (f 1 2))")],
        );
        check("(goal a)", &[("keyword-arity", "(goal a)")]);
        check(
            "(<= (role ?r) (r ?r)) (r b)",
            &[("role-by-rule", "(<= (role ?r) (r ?r))")],
        );
        check(
            "(<= (true q) (true p))",
            &[("given-relation-defined", "(true q)")],
        );
        check("(<= q (next p))", &[("next-in-body", "(next p)")]);
        check("(<= q (init p))", &[("init-in-body", "(init p)")]);
        check(
            "(<= (goal a 101) (true p))",
            &[("goal-value", "(goal a 101)")],
        );
        check("(<= q (r ?x))", &[("undefined-relation", "(r ?x)")]);
        check(
            "(<= (init q) (true p))",
            &[("forbidden-dependency", "(true p)")],
        );
        check(
            "(<= q (does a go)) (<= (legal a ?x) q (r ?x)) (r 1)",
            &[("forbidden-dependency", "q")],
        );
        for condition in [
            "(legal a go)",
            "(goal a 1)",
            "terminal",
            "(does a go)",
            "next1",
        ] {
            check(
                &format!("(<= next1 (next p)) (<= (init q) {condition})"),
                &[
                    ("next-in-body", "(next p)"),
                    ("forbidden-dependency", condition),
                ],
            );
        }
        check(
            "(any ?x) (r 1) (<= q (any ?y)) (<= (legal a ?x) (r ?x) (any ?x)) (<= (goal a 1) q)",
            &[("unsafe-variable", "(any ?x)"), ("open-call", "q")],
        );
        check(
            "(goal ?r 0)",
            &[
                ("constant-goal", "(goal ?r 0)"),
                ("unsafe-variable", "(goal ?r 0)"),
            ],
        );
        check("(<= q (not q))", &[("unstratified", "q")]);
        check(
            "(<= (q ?x) (r ?x)) (r 1) (<= (q ?x) (q ?y) (r ?x))",
            &[("unrestricted-recursion", "(q ?y)")],
        );
    }

    #[test]
    fn what_is_missing_is_said() {
        let (_, diagnostics) = load("");
        let codes: Vec<&str> = diagnostics.iter().map(|found| found.code).collect();
        assert_eq!(codes, ["no-goal", "no-legal", "no-role", "no-terminal"]);
    }

    #[test]
    fn too_many_roles_are_the_only_fault() {
        let game = |n: usize| {
            let roles = (0..n).map(|role| format!("(role r{role})"));
            format!("{} {SOUND} (unused fact)", roles.collect::<String>())
        };
        let codes = |n: usize| {
            let (rules, found) = super::super::load(&game(n));
            let codes: Vec<&str> = found.iter().map(|fault| fault.code).collect();
            (
                codes.contains(&"too-many-roles"),
                codes.len(),
                super::super::is_playable(&rules, &found),
            )
        };
        let (is_reported, _, is_playable) = codes(MAX_ROLES - 1);
        assert!(!is_reported && is_playable);
        assert_eq!(codes(MAX_ROLES), (true, 1, false));
    }
}
