//! From clauses and operations to rules.
//!
//! The dialect tests conditions from left to right, with what its caller has bound, so the meaning
//! of a relation can depend on which arguments a caller binds. An argument is *sensitive* if it
//! does; a relation gets one version for each way in which callers bind its sensitive arguments. A
//! variable that nothing has bound when a negation is tested stands for any value, and becomes the
//! variable of a helper relation. A variable that only the caller binds gets a *domain*, a relation
//! of the values that callers may give.
//!
//! Arithmetic, comparisons, counts and domains are [`Special`] relations here; [`super::tables`]
//! writes their facts.

use std::collections::{HashMap, HashSet, VecDeque};

use super::conditions::{alone, for_each_variable};
use super::frame::{Frame, Unsolved, atom};
use super::names::{NOOP, relation_to_kif};
use super::numbers::{Arithmetic, Comparison};
use super::sensitive::{self, Sensitive};
use super::sheet::{Clause, Condition, Operation, Sheet, term_of};
use panza_gdl::read::renumbered;
use panza_gdl::{Atom, Diagnostic, Literal, Rule, Signature, Span, Symbol, Symbols, Term, keyword};

/// Versions of relations that are not the first, at most.
const MAX_VERSIONS: usize = 1 << 10;
/// Rules written, at most.
const MAX_RULES: usize = 1 << 20;

/// A place in the arguments of a relation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ArgumentPath {
    pub argument: usize,
    /// From the argument inwards: each function, and which argument of it.
    pub path: Vec<(Signature, usize)>,
}

impl ArgumentPath {
    fn argument(argument: usize) -> Self {
        let path = Vec::new();
        Self { argument, path }
    }
}

/// A relation whose facts are not in the rules yet.
#[derive(Clone, Debug)]
pub enum Special {
    /// Inputs and result.
    Compute(Arithmetic),
    Compare(Comparison),
    /// Some arguments and how many values the last argument of another relation has for them.
    Count {
        of: Symbol,
        /// By argument: the values that callers give.
        outer: Vec<Symbol>,
    },
    /// The values that callers give for a place in an argument of a relation.
    Domain {
        of: Symbol,
        place: ArgumentPath,
    },
}

/// Rules with special relations.
pub struct Compiled {
    pub symbols: Symbols,
    pub rules: Vec<Rule>,
    pub specials: HashMap<Symbol, Special>,
    /// The relation of legal moves, which has no role.
    pub moves: Symbol,
    /// The relation of facts that a step takes away.
    pub deleted: Symbol,
    /// The relation of each action that another one may take.
    pub chained: HashMap<Signature, Symbol>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Compiles what a game needs of a sheet.
pub fn compile(sheet: &mut Sheet) -> Compiled {
    let symbols = std::mem::take(&mut sheet.symbols);
    let mut compiler = Compiler::new(sheet, symbols);
    compiler.roots();
    compiler.operations();
    let mut rules = compiler.rules;
    rules.sort_by_key(|rule| rule.span.start);
    Compiled {
        symbols: compiler.symbols,
        rules,
        specials: compiler.specials,
        moves: compiler.moves,
        deleted: compiler.deleted,
        chained: compiler.chained,
        diagnostics: compiler.diagnostics,
    }
}

struct Compiler<'a> {
    sheet: &'a Sheet,
    symbols: Symbols,
    clauses: HashMap<Signature, Vec<&'a Clause>>,
    sensitive: Sensitive,
    /// The relation of each version.
    versions: HashMap<(Signature, Vec<bool>), Symbol>,
    /// The relations that have a version.
    called: HashSet<Signature>,
    /// By relation of a version: the arguments that callers bind and that are sensitive.
    given: HashMap<Signature, Vec<bool>>,
    /// Versions whose clauses are still to be compiled.
    open: VecDeque<(Signature, Vec<bool>, Symbol)>,
    /// The names of relations.
    taken: HashSet<Symbol>,
    /// By name: how many relations of the translation have it.
    numbers: HashMap<Box<str>, usize>,
    domains: HashMap<(Symbol, ArgumentPath), Symbol>,
    specials: HashMap<Symbol, Special>,
    moves: Symbol,
    deleted: Symbol,
    chained: HashMap<Signature, Symbol>,
    rules: Vec<Rule>,
    n_solved: usize,
    /// Whether a rule was left out beyond the limit.
    has_too_many: bool,
    diagnostics: Vec<Diagnostic>,
}

/// A condition never holds.
struct Never;

impl<'a> Compiler<'a> {
    fn new(sheet: &'a Sheet, symbols: Symbols) -> Self {
        let mut clauses: HashMap<Signature, Vec<&Clause>> = HashMap::new();
        for clause in &sheet.clauses {
            let of_head = clauses.entry(clause.head.signature()).or_default();
            of_head.push(clause);
        }
        let mut compiler = Self {
            sheet,
            symbols,
            clauses,
            sensitive: sensitive::find(&sheet.clauses),
            versions: HashMap::new(),
            called: HashSet::new(),
            given: HashMap::new(),
            open: VecDeque::new(),
            taken: HashSet::new(),
            numbers: HashMap::new(),
            domains: HashMap::new(),
            specials: HashMap::new(),
            moves: keyword::LEGAL,
            deleted: keyword::LEGAL,
            chained: HashMap::new(),
            rules: Vec::new(),
            n_solved: 0,
            has_too_many: false,
            diagnostics: Vec::new(),
        };
        compiler.deleted = compiler.new_relation("deleted");
        compiler
    }

    /// A new relation with this name, a `$` and a number if need be.
    fn new_relation(&mut self, name: &str) -> Symbol {
        // Relations that are named like keywords have one `$`.
        let is_keyword = relation_to_kif(name, usize::MAX) != name;
        loop {
            let number = self.numbers.entry(name.into()).or_insert(0);
            *number += 1;
            let candidate = match number {
                1 if !is_keyword => format!("{name}$"),
                number => format!("{name}${number}"),
            };
            let symbol = self.symbols.intern(&candidate);
            if self.taken.insert(symbol) {
                return symbol;
            }
        }
    }

    fn warn(&mut self, code: &'static str, span: Span, message: &str, help: &str) {
        let warning = Diagnostic::warning(code, span, message).with_help(help);
        self.diagnostics.push(warning);
    }

    /// The relation that answers calls which bind these arguments, if the relation has clauses.
    fn version(&mut self, signature: Signature, is_bound: &[bool]) -> Option<Symbol> {
        let sensitive = self.sensitive.get(&signature)?;
        let mask: Vec<bool> = (sensitive.iter().zip(is_bound))
            .map(|(is_sensitive, is_bound)| *is_sensitive && *is_bound)
            .collect();
        if let Some(relation) = self.versions.get(&(signature, mask.clone())) {
            return Some(*relation);
        }
        let name = self.symbols.name(signature.0).to_string();
        let name = relation_to_kif(&name, signature.1);
        let plain = self.symbols.intern(&name);
        if self.versions.len() > MAX_VERSIONS + self.clauses.len() {
            let (message, span) = (
                "relations are called in too many ways",
                self.clauses[&signature][0].span,
            );
            let fault = Diagnostic::error("rule-too-large", span, message);
            self.diagnostics.push(fault);
            return None;
        }
        let is_first = self.called.insert(signature);
        // Relations of one name and different arity may share it.
        let relation = match is_first {
            true => plain,
            false => self.new_relation(&name),
        };
        self.taken.insert(relation);
        self.given.insert((relation, signature.1), mask.clone());
        self.versions.insert((signature, mask.clone()), relation);
        self.open.push_back((signature, mask, relation));
        Some(relation)
    }

    fn compile_open(&mut self) {
        while let Some((signature, mask, relation)) = self.open.pop_front() {
            let clauses = self.clauses[&signature].clone();
            for clause in clauses {
                let head = clause.head.arguments.to_vec();
                let mut frame = Frame::new(head, &clause.variables, clause.span);
                let bound = clause.head.arguments.iter().zip(&mask);
                let bound = bound.filter(|(_, is_bound)| **is_bound);
                bound.for_each(|(argument, _)| frame.bind(argument));
                if let Ok(()) = self.walk(&mut frame, clause.body.clone()) {
                    self.finish(relation, clause.head.span, frame);
                }
            }
        }
    }

    /// What a game asks for.
    fn roots(&mut self) {
        let word = |symbols: &mut Symbols, name: &str| symbols.intern(name);
        for (name, is_bound) in [
            ("role", &[false][..]),
            ("init", &[false]),
            ("legal", &[false]),
            ("goal", &[true, false]),
            ("terminal", &[]),
        ] {
            let signature = (word(&mut self.symbols, name), is_bound.len());
            let relation = self.version(signature, is_bound);
            if name == "legal" {
                self.moves = relation.unwrap_or(keyword::LEGAL);
            }
        }
        self.compile_open();
        self.turns();
        self.compile_open();
    }

    /// The legal moves of roles in control, and those of the others.
    fn turns(&mut self) {
        let mut clauses = self.sheet.clauses.iter();
        let first = clauses.find(|clause| clause.head.signature() == (keyword::LEGAL, 1));
        let Some(span) = first.map(|clause| clause.span) else {
            return;
        };
        let control = self.symbols.intern("control");
        let names: [Box<str>; 2] = ["?role".into(), "?move".into()];
        let (role, mv) = (Term::Variable(0), Term::Variable(1));
        let condition = match self.sheet.views.contains("control") {
            true => match self.version((control, 1), &[false]) {
                Some(relation) => atom(relation, [role.clone()], span),
                None => return,
            },
            false => {
                let fact = Term::Function(control, [role.clone()].into());
                atom(keyword::TRUE, [fact], span)
            }
        };
        let is_role = Literal::Positive(atom(keyword::ROLE, [role.clone()], span));
        let is_legal = Literal::Positive(atom(self.moves, [mv.clone()], span));
        self.rules.push(Rule {
            head: atom(keyword::LEGAL, [role.clone(), mv], span),
            body: vec![
                is_role.clone(),
                Literal::Positive(condition.clone()),
                is_legal,
            ],
            variables: names.to_vec(),
            span,
        });
        let roles = self.sheet.clauses.iter();
        let roles = roles.filter(|clause| clause.head.signature() == (keyword::ROLE, 1));
        if roles.count() > 1 {
            let noop = Term::Constant(self.symbols.intern(NOOP));
            self.rules.push(Rule {
                head: atom(keyword::LEGAL, [role, noop], span),
                body: vec![is_role, Literal::Negative(condition)],
                variables: names[..1].to_vec(),
                span,
            });
        }
    }

    /// What the moves do.
    fn operations(&mut self) {
        let sheet = self.sheet;
        let actions: HashSet<Signature> = sheet.operations.iter().map(signature_of).collect();
        for effect in sheet.operations.iter().flat_map(|it| &it.effects) {
            let Some(signature) = effect.term.signature() else {
                continue;
            };
            let is_known = self.chained.contains_key(&signature);
            if effect.is_added && actions.contains(&signature) && !is_known {
                let name = self.symbols.name(signature.0).to_string();
                let relation = self.new_relation(&name);
                self.chained.insert(signature, relation);
                self.rules
                    .push(taken_as_move(signature, relation, effect.span));
            }
        }
        for operation in &sheet.operations {
            let signature = signature_of(operation);
            let action = operation.action.clone();
            let mut frame = Frame::new(Vec::new(), &operation.variables, operation.span);
            let fires = match self.chained.get(&signature) {
                Some(relation) => atom(*relation, arguments_of(&action), operation.span),
                None => {
                    let role = frame.fresh("?role");
                    atom(keyword::DOES, [role, action.clone()], operation.span)
                }
            };
            fires.for_each_variable(&mut |variable| frame.bound[variable as usize] = true);
            frame.literals.push(Literal::Positive(fires));
            // The effects stand in the head, so that equalities are solved in them too.
            frame.head = operation.effects.iter().map(|it| it.term.clone()).collect();
            if self.walk(&mut frame, operation.conditions.clone()).is_err() {
                continue;
            }
            for (effect, term) in operation.effects.iter().zip(frame.head.clone()) {
                if !frame.is_bound(&term) {
                    let message = "this effect has a variable without a value";
                    let help = "bind it by the action or by a condition; it is left out";
                    self.warn("unsafe-variable", effect.span, message, help);
                    continue;
                }
                let chained = term.signature().and_then(|it| self.chained.get(&it));
                let head = match (effect.is_added, chained) {
                    (false, _) => atom(self.deleted, [term], effect.span),
                    (true, Some(relation)) => atom(*relation, arguments_of(&term), effect.span),
                    (true, None) => atom(keyword::NEXT, [term], effect.span),
                };
                self.push_rule(
                    head,
                    frame.literals.clone(),
                    &frame.variables,
                    operation.span,
                );
            }
        }
        self.compile_open();
    }

    /// Compiles conditions from left to right.
    fn walk(&mut self, frame: &mut Frame, conditions: Vec<Condition>) -> Result<(), Never> {
        let mut conditions = VecDeque::from(conditions);
        while let Some(condition) = conditions.pop_front() {
            match condition {
                Condition::Never => return Err(Never),
                Condition::Fact(term, span) => {
                    frame.bind(&term);
                    frame.push(keyword::TRUE, vec![term], span);
                }
                Condition::View(called) => {
                    let is_bound = called.arguments.iter().map(|term| frame.is_bound(term));
                    let is_bound: Vec<bool> = is_bound.collect();
                    let relation = self.version(called.signature(), &is_bound).ok_or(Never)?;
                    called.arguments.iter().for_each(|term| frame.bind(term));
                    frame.push(relation, called.arguments.into(), called.span);
                }
                Condition::Not(inner, span) => {
                    if let Some(literal) = self.negation(frame, inner, span)? {
                        frame.literals.push(literal);
                    }
                }
                Condition::Same(left, right) => {
                    let solved = frame.solve(&mut conditions, left, right, &mut self.n_solved);
                    if let Err(Unsolved::TooLarge) = solved {
                        let message = "this rule is too large when its equalities are solved";
                        let fault = Diagnostic::error("rule-too-large", frame.span, message);
                        self.diagnostics.push(fault);
                    }
                    solved.map_err(|_| Never)?;
                }
                Condition::Distinct(left, right, span) => {
                    self.distinct(frame, left, right, span)?;
                }
                Condition::Compare(comparison, left, right, span) => {
                    self.expect_bound(frame, &[&left, &right], span)?;
                    let relation = self.symbols.intern(comparison.name());
                    self.specials.insert(relation, Special::Compare(comparison));
                    frame.push(relation, vec![left, right], span);
                }
                Condition::Compute(function, inputs, result, span) => {
                    self.expect_bound(frame, &inputs.iter().collect::<Vec<_>>(), span)?;
                    self.compute(frame, function, inputs, result, span);
                }
                Condition::Count(template, inner, count, span) => {
                    self.count(frame, template, inner, count, span);
                }
            }
        }
        Ok(())
    }

    fn expect_bound(&mut self, frame: &Frame, terms: &[&Term], span: Span) -> Result<(), Never> {
        if terms.iter().all(|term| frame.is_bound(term)) {
            return Ok(());
        }
        let message = "this has a variable without a value here, so it never holds";
        self.warn(
            "unbound-number",
            span,
            message,
            "bind it by a condition before this one",
        );
        Err(Never)
    }

    fn compute(
        &mut self,
        frame: &mut Frame,
        function: Arithmetic,
        inputs: Vec<Term>,
        result: Term,
        span: Span,
    ) {
        let relation = self.symbols.intern(function.name());
        self.specials.insert(relation, Special::Compute(function));
        frame.bind(&result);
        let mut inputs = inputs.into_iter().peekable();
        let Some(mut left) = inputs.next() else {
            return;
        };
        if inputs.peek().is_none() {
            return frame.push(relation, vec![left, result], span);
        }
        while let Some(right) = inputs.next() {
            let value = match inputs.peek() {
                None => result.clone(),
                Some(_) => {
                    let part = frame.fresh("?part");
                    frame.bind(&part);
                    part
                }
            };
            frame.push(relation, vec![left, right, value.clone()], span);
            left = value;
        }
    }

    /// The relation of a helper over these variables, with a rule for each conjunction.
    fn helper(
        &mut self,
        name: &str,
        frame: &Frame,
        head: Vec<Term>,
        n_outer: usize,
        inner: Vec<Vec<Condition>>,
        span: Span,
    ) -> Option<Symbol> {
        let relation = self.new_relation(name);
        let n_rules = self.rules.len();
        for conditions in inner {
            let (head, conditions, variables) = alone(head.clone(), conditions, &frame.variables);
            let mut frame = Frame::new(head, &variables, span);
            for index in 0..n_outer {
                let outer = frame.head[index].clone();
                frame.bind(&outer);
            }
            if let Ok(()) = self.walk(&mut frame, conditions) {
                self.finish(relation, span, frame);
            }
        }
        (self.rules.len() > n_rules).then_some(relation)
    }

    /// The variables of conditions that have a value, in the order of their numbers.
    fn outer(
        &self,
        frame: &Frame,
        conditions: &[Vec<Condition>],
        template: Option<&Term>,
    ) -> Vec<Term> {
        let mut found: Vec<u32> = Vec::new();
        let mut note = |variable: u32| {
            if frame.bound[variable as usize] {
                found.push(variable);
            }
        };
        for condition in conditions.iter().flatten() {
            for_each_variable(condition, &mut note);
        }
        if let Some(template) = template {
            template.for_each_variable(&mut note);
        }
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(Term::Variable).collect()
    }

    /// The literal of a negation; nothing where it always holds.
    fn negation(
        &mut self,
        frame: &mut Frame,
        inner: Vec<Vec<Condition>>,
        span: Span,
    ) -> Result<Option<Literal>, Never> {
        if inner.iter().any(Vec::is_empty) {
            return Err(Never);
        }
        if let [conditions] = &inner[..]
            && let [condition] = &conditions[..]
        {
            match condition {
                Condition::Never => return Ok(None),
                Condition::Fact(term, span) if frame.is_bound(term) => {
                    let fact = atom(keyword::TRUE, [term.clone()], *span);
                    return Ok(Some(Literal::Negative(fact)));
                }
                Condition::View(called) if called.arguments.iter().all(|it| frame.is_bound(it)) => {
                    let is_bound = vec![true; called.arguments.len()];
                    let relation = self.version(called.signature(), &is_bound);
                    return Ok(relation.map(|relation| {
                        let arguments = called.arguments.clone();
                        Literal::Negative(atom(relation, arguments, called.span))
                    }));
                }
                _ => {}
            }
        }
        let head = self.outer(frame, &inner, None);
        let n_outer = head.len();
        let relation = self.helper("some", frame, head.clone(), n_outer, inner, span);
        Ok(relation.map(|relation| Literal::Negative(atom(relation, head, span))))
    }

    fn count(
        &mut self,
        frame: &mut Frame,
        template: Term,
        inner: Vec<Vec<Condition>>,
        count: Term,
        span: Span,
    ) {
        let mut head = self.outer(frame, &inner, Some(&template));
        let n_outer = head.len();
        let mut arguments = head.clone();
        head.push(template);
        let of = self.helper("counted", frame, head, n_outer, inner, span);
        let of = of.unwrap_or_else(|| self.new_relation("counted"));
        let relation = self.new_relation("count");
        let outer = (0..n_outer).map(|index| self.domain(relation, ArgumentPath::argument(index)));
        let outer = outer.collect();
        self.specials.insert(relation, Special::Count { of, outer });
        frame.bind(&count);
        arguments.push(count);
        frame.push(relation, arguments, span);
    }

    /// Terms that cannot be made one. A variable without a value can be made anything.
    fn distinct(
        &mut self,
        frame: &mut Frame,
        left: Term,
        right: Term,
        span: Span,
    ) -> Result<(), Never> {
        if frame.is_bound(&left) && frame.is_bound(&right) {
            frame.literals.push(Literal::Distinct(left, right, span));
            return Ok(());
        }
        let mut pairs = vec![(left, right)];
        let mut differing = Vec::new();
        while let Some((left, right)) = pairs.pop() {
            match (left, right) {
                (Term::Function(name, left), Term::Function(other, right))
                    if name == other && left.len() == right.len() =>
                {
                    pairs.extend(left.into_iter().zip(right));
                }
                (left, right) if frame.is_bound(&left) && frame.is_bound(&right) => {
                    differing.push((left, right));
                }
                (Term::Variable(_), _) | (_, Term::Variable(_)) => {}
                // Two functions, or a function and a constant.
                _ => return Ok(()),
            }
        }
        match differing.pop() {
            Some((left, right)) if differing.is_empty() => {
                frame.literals.push(Literal::Distinct(left, right, span));
                Ok(())
            }
            _ => {
                let message = "this has a variable without a value here, so it never holds";
                self.warn(
                    "unbound-variable",
                    span,
                    message,
                    "bind it by a condition before",
                );
                Err(Never)
            }
        }
    }

    /// Adds the rule of a frame. Variables that no condition gives a value get a domain, and those
    /// that a condition asks for before another one gives them a value.
    fn finish(&mut self, relation: Symbol, span: Span, mut frame: Frame) {
        let mut needs_domain = self.need_values(&frame);
        let mut guards = Vec::new();
        // Places that callers bind say more than others.
        let given = self.given.get(&(relation, frame.head.len()));
        let mut places: Vec<(usize, &Term)> = frame.head.iter().enumerate().collect();
        places.sort_by_key(|(index, _)| given.is_some_and(|given| !given[*index]));
        for (index, argument) in places {
            let mut place = ArgumentPath::argument(index);
            for_each_place(argument, &mut place, &mut |variable, place| {
                if std::mem::take(&mut needs_domain[variable as usize]) {
                    guards.push((variable, place.clone()));
                }
            });
        }
        for (variable, place) in guards.into_iter().rev() {
            let domain = self.domain(relation, place);
            let guard = atom(domain, [Term::Variable(variable)], span);
            frame.literals.insert(0, Literal::Positive(guard));
        }
        let head = atom(relation, frame.head, span);
        self.push_rule(head, frame.literals, &frame.variables, frame.span);
    }

    /// By variable of a frame: whether its conditions need values of it that they do not give.
    fn need_values(&self, frame: &Frame) -> Vec<bool> {
        let n_variables = frame.variables.len();
        let (mut has_value, mut is_asked) = (vec![false; n_variables], vec![false; n_variables]);
        for literal in &frame.literals {
            let Some(atom) = literal.atom() else { continue };
            let is_positive = matches!(literal, Literal::Positive(_));
            let given = self.given.get(&atom.signature());
            let n_arguments = atom.arguments.len();
            let gives_value = |index: usize| match self.specials.get(&atom.relation) {
                None => is_positive && given.is_none_or(|given| !given[index]),
                Some(Special::Compare(_)) => false,
                Some(_) => index + 1 == n_arguments,
            };
            let (given_out, asked): (Vec<usize>, Vec<usize>) =
                (0..n_arguments).partition(|index| gives_value(*index));
            for index in asked {
                atom.arguments[index].for_each_variable(&mut |variable| {
                    is_asked[variable as usize] |= !has_value[variable as usize];
                });
            }
            for index in given_out {
                atom.arguments[index]
                    .for_each_variable(&mut |variable| has_value[variable as usize] = true);
            }
        }
        let pairs = is_asked.iter().zip(&has_value);
        pairs
            .map(|(is_asked, has_value)| *is_asked || !has_value)
            .collect()
    }

    fn domain(&mut self, of: Symbol, place: ArgumentPath) -> Symbol {
        if of == keyword::GOAL && place == ArgumentPath::argument(0) {
            return keyword::ROLE;
        }
        if let Some(domain) = self.domains.get(&(of, place.clone())) {
            return *domain;
        }
        let domain = self.new_relation("domain");
        self.domains.insert((of, place.clone()), domain);
        self.specials.insert(domain, Special::Domain { of, place });
        domain
    }

    fn push_rule(&mut self, head: Atom, body: Vec<Literal>, variables: &[Box<str>], span: Span) {
        if self.rules.len() >= MAX_RULES {
            if !std::mem::replace(&mut self.has_too_many, true) {
                let fault = Diagnostic::error("text-too-long", span, "the rules become too many");
                self.diagnostics.push(fault);
            }
            return;
        }
        self.rules.push(renumbered(head, body, variables, span));
    }
}

/// The rule that an action is taken when it is a move.
fn taken_as_move((name, arity): Signature, relation: Symbol, span: Span) -> Rule {
    let mut variables: Vec<Box<str>> = vec!["?role".into()];
    variables.extend((1..=arity).map(|number| format!("?{number}").into()));
    let arguments: Vec<Term> = (1..=arity as u32).map(Term::Variable).collect();
    let action = term_of(name, &arguments);
    Rule {
        head: atom(relation, arguments, span),
        body: vec![Literal::Positive(atom(
            keyword::DOES,
            [Term::Variable(0), action],
            span,
        ))],
        variables,
        span,
    }
}

fn signature_of(operation: &Operation) -> Signature {
    // Actions are never variables.
    operation.action.signature().unwrap_or((keyword::DOES, 0))
}

fn arguments_of(term: &Term) -> Vec<Term> {
    match term {
        Term::Function(_, arguments) => arguments.to_vec(),
        Term::Variable(_) | Term::Constant(_) => Vec::new(),
    }
}

/// Calls `visit` for each variable and its place.
fn for_each_place(
    term: &Term,
    place: &mut ArgumentPath,
    visit: &mut impl FnMut(u32, &ArgumentPath),
) {
    match term {
        Term::Variable(variable) => visit(*variable, place),
        Term::Constant(_) => {}
        Term::Function(name, arguments) => {
            for (index, argument) in arguments.iter().enumerate() {
                place.path.push(((*name, arguments.len()), index));
                for_each_place(argument, place, visit);
                place.path.pop();
            }
        }
    }
}
