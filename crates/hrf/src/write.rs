//! From rules to a rulesheet of the dialect.
//!
//! The dialect has one move a step and facts that stay true. The mover is the role in control, and
//! the other roles wait with a move that is known beforehand ([`Turns`]), so a rule that asks what
//! a role does becomes an operation of the mover's move, or asks that the role is not in control.
//! Every move takes all facts away and adds those of the next state; adding beats deleting.
//! Relations that ask for moves get the move as one more argument.
//!
//! Names keep their spelling where the dialect allows it.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::format::format;
use super::names::{self, CONS};
use super::shapes::{MAX_SIZE, Shape, shapes};
use super::sheet::is_built_in;
use super::token::{is_name_character, is_variable};
use panza_gdl::diagnostic::brief;
use panza_gdl::sexpr::MAX_DEPTH;
use panza_gdl::{
    Atom, Diagnostic, Literal, RelationGraph, Rule, Rules, Signature, Span, Symbol, Term, keyword,
};

/// A rule is written in at most this many ways: for each role that may be meant by `does`, and each
/// fact by a variable.
const MAX_WAYS: usize = 64;

/// Who moves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Control {
    /// The only role.
    Only,
    /// The role in a fact with this name and one argument.
    Fact(Symbol),
    /// The role that has another move than the one it waits with.
    Choice,
}

/// How the roles of a game take turns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turns {
    /// Who moves.
    pub control: Control,
    /// The move of each role that is not in control, in the order of the roles.
    pub waits: Vec<Term>,
}

/// Writes rules as a rulesheet that plays the same, for a game in which roles take turns so.
///
/// # Errors
/// What cannot be written, with its place in the text of the rules.
pub fn write(rules: &Rules, turns: &Turns) -> Result<String, Vec<Diagnostic>> {
    let mut symbols = rules.symbols.clone();
    let found = shapes(&rules.rules, &mut symbols, &HashMap::new());
    let of = |signature: Signature, index: usize| {
        let places: Option<&Vec<Shape>> = found.facts.get(&signature);
        let place = places.and_then(|places| places.get(index)).cloned();
        signatures(&place.unwrap_or_default())
    };
    let facts = of((keyword::TRUE, 1), 0);
    let moves = of((keyword::DOES, 2), 1);
    if found.is_unfinished {
        let message = "too many facts and moves are possible";
        return Err(vec![cannot(Span::default(), message, "")]);
    }
    let mut writer = Writer {
        rules,
        turns,
        facts,
        moves,
        names: Names::default(),
        by_move: HashSet::new(),
        component_of: HashMap::new(),
        is_input_asked: false,
        lines: Vec::new(),
        faults: Vec::new(),
    };
    writer.prepare();
    writer.all();
    if !writer.faults.is_empty() {
        return Err(writer.faults);
    }
    let text = writer.lines.concat();
    format(&text).map_err(|_| {
        let message = "the rules have a name that the dialect cannot have";
        vec![cannot(Span::default(), message, "")]
    })
}

fn cannot(span: Span, message: impl Into<String>, help: &str) -> Diagnostic {
    Diagnostic::error("not-in-hrf", span, message).with_help(help)
}

fn signatures(shape: &Shape) -> BTreeSet<Signature> {
    let constants = shape.constants.iter().map(|name| (*name, 0));
    constants.chain(shape.functions.keys().copied()).collect()
}

/// The names of the dialect.
#[derive(Default)]
struct Names {
    taken: HashSet<String>,
    terms: HashMap<Symbol, String>,
    facts: HashMap<Symbol, String>,
    relations: HashMap<Symbol, String>,
    step: String,
    did: String,
    lawful: String,
}

/// A name that the dialect can have and that is near the KIF name.
fn plain(name: &str) -> String {
    if let Some(own) = names::from_kif(name) {
        return own;
    }
    let character = |it: char| if is_name_character(it) { it } else { '_' };
    let mut plain: String = name.chars().map(character).collect();
    // A `.` at the end would be a full stop.
    let n_kept = plain.trim_end_matches('.').len();
    plain.replace_range(n_kept.., &"_".repeat(plain.len() - n_kept));
    let is_start = |first: char| first.is_alphanumeric() && !is_variable(&first.to_string());
    if !plain.starts_with(is_start) {
        let mut characters = plain.chars();
        let first = characters.next();
        let lower: String = first.into_iter().flat_map(char::to_lowercase).collect();
        let rest = characters.as_str();
        plain = match lower.starts_with(is_start) {
            true => format!("{lower}{rest}"),
            false => format!("x{plain}"),
        };
    }
    plain
}

impl Names {
    /// A name like this one that no other thing has.
    fn fresh(&mut self, name: &str, is_free: impl Fn(&str) -> bool) -> String {
        let mut candidate = name.to_string();
        let mut number = 2;
        while !is_free(&candidate) || !self.taken.insert(candidate.clone()) {
            candidate = format!("{name}_{number}");
            number += 1;
        }
        candidate
    }
}

/// One way to write a rule: what its variables are, and the conditions on who moves.
#[derive(Clone)]
struct Way {
    /// The move of the mover, if the rule asks for it.
    mv: Option<Term>,
    head: Atom,
    body: Vec<Literal>,
    /// Roles that are in control, or are not.
    control: Vec<(Term, bool)>,
}

struct Writer<'a> {
    rules: &'a Rules,
    turns: &'a Turns,
    facts: BTreeSet<Signature>,
    moves: BTreeSet<Signature>,
    names: Names,
    /// The relations that depend on the moves.
    by_move: HashSet<Signature>,
    component_of: HashMap<Signature, usize>,
    /// Whether a rule asks for `input`, which else declares actions.
    is_input_asked: bool,
    lines: Vec<String>,
    faults: Vec<Diagnostic>,
}

impl Writer<'_> {
    fn prepare(&mut self) {
        let chance = [Term::Constant(keyword::RANDOM)];
        let mut heads = self.rules.rules.iter().map(|rule| &rule.head);
        if let Some(head) =
            heads.find(|head| head.relation == keyword::ROLE && *head.arguments == chance)
        {
            let message = "the role `random` draws its moves, which HRF does not have";
            let help = "with another name the role is a player like the others";
            self.faults.push(cannot(head.span, message, help));
        }
        let graph = RelationGraph::new(&[], self.rules.rules.iter().enumerate());
        let (_, component_of) = graph.components();
        for (number, &signature) in graph.signatures.iter().enumerate() {
            self.component_of.insert(signature, component_of[number]);
        }
        self.by_move.insert((keyword::DOES, 2));
        let mut users: HashMap<Signature, Vec<Signature>> = HashMap::new();
        for rule in &self.rules.rules {
            for atom in rule.body.iter().filter_map(Literal::atom) {
                self.is_input_asked |= atom.signature() == (keyword::INPUT, 2);
                let of_atom = users.entry(atom.signature()).or_default();
                of_atom.push(rule.head.signature());
            }
        }
        let mut open = vec![(keyword::DOES, 2)];
        while let Some(signature) = open.pop() {
            for &user in users.get(&signature).into_iter().flatten() {
                if self.by_move.insert(user) {
                    open.push(user);
                }
            }
        }
        self.name_all();
    }

    /// Gives everything a name. Terms come first, since people see them.
    fn name_all(&mut self) {
        const WORDS: [&str; 8] = [
            "role", "init", "legal", "goal", "terminal", "control", "base", "action",
        ];
        let mut in_terms: BTreeSet<Symbol> = BTreeSet::new();
        let mut note = |term: &Term| note_names(term, &mut in_terms);
        for rule in &self.rules.rules {
            rule.head.arguments.iter().for_each(&mut note);
            rule.body
                .iter()
                .flat_map(Literal::terms)
                .for_each(&mut note);
        }
        in_terms.extend(self.moves.iter().map(|(name, _)| *name));
        in_terms.extend(self.facts.iter().map(|(name, _)| *name));
        let mut names = Names::default();
        for symbol in in_terms {
            let name = plain(self.rules.symbols.name(symbol));
            let name = names.fresh(&name, |_| true);
            names.terms.insert(symbol, name);
        }
        // Facts and relations are asked for alike, and an action is no fact.
        let is_reserved = |name: &str| is_built_in(name) || WORDS.contains(&name);
        let actions: HashSet<String> = (self.moves.iter())
            .filter_map(|(name, _)| names.terms.get(name).cloned())
            .collect();
        let mut asked: HashSet<String> = actions.clone();
        for symbol in self.fact_names() {
            let Some(name) = names.terms.get(&symbol).cloned() else {
                continue;
            };
            let is_control = self.turns.control == Control::Fact(symbol) && name == "control";
            let is_free = |name: &str| !is_reserved(name) && !actions.contains(name);
            let name = match is_control || is_free(&name) {
                true => name,
                false => names.fresh(&format!("{name}_fact"), is_free),
            };
            asked.insert(name.clone());
            names.facts.insert(symbol, name);
        }
        let relations = self.rules.atoms().map(|atom| atom.relation);
        let relations: BTreeSet<Symbol> = relations.collect();
        let is_free = |name: &str| !is_reserved(name) && !asked.contains(name);
        let mut of_relations = HashSet::new();
        for symbol in relations {
            let name = self.rules.symbols.name(symbol);
            if ["role", "init", "goal", "terminal", "base"].contains(&name) {
                names.relations.insert(symbol, name.to_string());
                continue;
            }
            let own = plain(name);
            let own = match is_free(&own) && !of_relations.contains(&own) {
                true => own,
                false => names.fresh(&format!("{own}_rel"), is_free),
            };
            of_relations.insert(own.clone());
            names.relations.insert(symbol, own);
        }
        names.taken.extend(of_relations);
        for name in ["step", "did", "lawful"] {
            let name = names.fresh(name, is_free);
            match names.step.is_empty() {
                true => names.step = name,
                false if names.did.is_empty() => names.did = name,
                false => names.lawful = name,
            }
        }
        self.names = names;
    }

    /// The names of facts, also of those that are asked for but never hold.
    fn fact_names(&self) -> BTreeSet<Symbol> {
        const OF_FACTS: [Symbol; 4] = [keyword::TRUE, keyword::NEXT, keyword::INIT, keyword::BASE];
        let atoms = self.rules.atoms();
        let of_facts =
            atoms.filter(|it| OF_FACTS.contains(&it.relation) && it.arguments.len() == 1);
        let named = of_facts.filter_map(|it| Some(it.arguments[0].signature()?.0));
        named
            .chain(self.facts.iter().map(|(name, _)| *name))
            .collect()
    }

    fn all(&mut self) {
        let roles = self.rules.roles();
        for rule in &self.rules.rules {
            self.rule(rule);
        }
        let (step, did, lawful) = (
            self.names.step.clone(),
            self.names.did.clone(),
            self.names.lawful.clone(),
        );
        self.line(format!("legal(M) :- control(R) & {lawful}(R,M)"));
        match self.turns.control {
            Control::Only => {
                for role in &roles {
                    let role = self.term(role, &[]);
                    self.line(format!("control({role})"));
                }
            }
            Control::Fact(name) => {
                let name = self.names.facts.get(&name).cloned().unwrap_or_default();
                if name != "control" {
                    self.line(format!("control(R) :- {name}(R)"));
                }
            }
            Control::Choice => {
                for (role, wait) in roles.iter().zip(&self.turns.waits) {
                    let (role, wait) = (self.term(role, &[]), self.term(wait, &[]));
                    self.line(format!(
                        "control({role}) :- {lawful}({role},M) & distinct(M,{wait})"
                    ));
                }
            }
        }
        // Who does what, for negations, given the move.
        let bodies = self.rules.rules.iter().flat_map(|rule| &rule.body);
        let is_asked = |literal: &Literal| match literal {
            Literal::Negative(atom) => atom.signature() == (keyword::DOES, 2),
            _ => false,
        };
        let is_did_asked = bodies.into_iter().any(is_asked);
        if is_did_asked {
            self.line(format!("{did}(R,M,M) :- control(R)"));
        }
        if is_did_asked && roles.len() > 1 {
            for (role, wait) in roles.iter().zip(&self.turns.waits) {
                let (role, wait) = (self.term(role, &[]), self.term(wait, &[]));
                self.line(format!("{did}({role},{wait},M) :- ~control({role})"));
            }
        }
        let variables = |arity: usize| -> Vec<String> {
            (1..=arity).map(|number| format!("X{number}")).collect()
        };
        for &(name, arity) in &self.moves.clone() {
            let name = self.names.terms.get(&name).cloned().unwrap_or_default();
            let action = applied(&name, &variables(arity));
            self.line(format!("{action} :: {step}({action})"));
        }
        for &(name, arity) in &self.facts.clone() {
            let name = self.names.facts.get(&name).cloned().unwrap_or_default();
            let fact = applied(&name, &variables(arity));
            self.line(format!("{step}(M) :: {fact} ==> ~{fact}"));
        }
    }

    fn line(&mut self, text: String) {
        self.lines.push(text + "\n");
    }

    fn rule(&mut self, rule: &Rule) {
        let mut names: Vec<String> = Vec::new();
        for variable in &rule.variables {
            let plain = variable.trim_start_matches('?');
            let character = |it: char| if is_name_character(it) { it } else { '_' };
            let mut characters = plain.chars();
            let first: String = (characters.next().into_iter())
                .flat_map(char::to_uppercase)
                .collect();
            let rest: String = characters.map(character).collect();
            let mut name = match is_variable(&first) && !first.starts_with('_') {
                true => first + &rest,
                false => format!("V{rest}"),
            };
            // `M` is the move.
            while name == "M" || names.contains(&name) {
                name.push('1');
            }
            names.push(name);
        }
        let mut ways = vec![Way {
            mv: None,
            head: rule.head.clone(),
            body: rule.body.clone(),
            control: Vec::new(),
        }];
        self.name_facts(&mut ways, &mut names);
        let ways = self.by_mover(ways);
        if ways.len() > MAX_WAYS {
            let message = "this rule would have to be written in too many ways";
            return self.faults.push(cannot(rule.span, message, ""));
        }
        for way in ways {
            self.way(rule, way, &names);
        }
    }

    /// Replaces a variable that stands for a fact by each of the facts.
    fn name_facts(&self, ways: &mut Vec<Way>, names: &mut Vec<String>) {
        let is_of_facts = |atom: &Atom| {
            let words = [keyword::TRUE, keyword::NEXT, keyword::INIT];
            words.contains(&atom.relation) && atom.arguments.len() == 1
        };
        while ways.len() <= MAX_WAYS {
            let open = ways.iter().position(|way| {
                let in_body = way.body.iter().filter_map(Literal::atom);
                let mut atoms = std::iter::once(&way.head).chain(in_body);
                atoms
                    .any(|atom| is_of_facts(atom) && matches!(atom.arguments[0], Term::Variable(_)))
            });
            let Some(at) = open else { return };
            let way = ways.swap_remove(at);
            let in_body = way.body.iter().filter_map(Literal::atom);
            let mut atoms = std::iter::once(&way.head).chain(in_body);
            let variable = atoms.find_map(|atom| match atom.arguments.first() {
                Some(Term::Variable(variable)) if is_of_facts(atom) => Some(*variable),
                _ => None,
            });
            let Some(variable) = variable else { return };
            for &(name, arity) in &self.facts {
                let arguments: Vec<Term> = (0..arity)
                    .map(|index| {
                        let own = format!("F{}", index + 1);
                        let known = names.iter().position(|name| *name == own);
                        let number = known.unwrap_or_else(|| {
                            names.push(own);
                            names.len() - 1
                        });
                        Term::Variable(number as u32)
                    })
                    .collect();
                let fact = super::sheet::term_of(name, &arguments);
                let mut way = way.clone();
                substitute(&mut way, variable, &fact);
                ways.push(way);
            }
        }
    }

    /// Replaces each condition on a role's move: the role is in control and the move is the one
    /// that is made, or it is not and the move is the one that it waits with.
    fn by_mover(&self, ways: Vec<Way>) -> Vec<Way> {
        let is_does = |literal: &Literal| match literal {
            Literal::Positive(atom) => atom.signature() == (keyword::DOES, 2),
            _ => false,
        };
        let mut open = ways;
        let mut done = Vec::new();
        while let Some(mut way) = open.pop() {
            if open.len() + done.len() > MAX_WAYS {
                done.extend(open);
                done.push(way);
                return done;
            }
            let Some(at) = way.body.iter().position(is_does) else {
                done.push(way);
                continue;
            };
            let Literal::Positive(does) = way.body.remove(at) else {
                continue;
            };
            let (role, mv) = (does.arguments[0].clone(), does.arguments[1].clone());
            let roles = self.rules.roles();
            if roles.len() > 1 {
                for (own, wait) in roles.iter().zip(&self.turns.waits) {
                    let pairs = vec![(role.clone(), own.clone()), (mv.clone(), wait.clone())];
                    let mut way = way.clone();
                    if unify(&mut way, pairs) {
                        way.control.push((own.clone(), false));
                        open.push(way);
                    }
                }
            }
            way.control.push((role, true));
            match way.mv.clone() {
                None => way.mv = Some(mv),
                Some(known) => {
                    if !unify(&mut way, vec![(known, mv)]) {
                        continue;
                    }
                }
            }
            open.push(way);
        }
        done.reverse();
        done
    }

    fn way(&mut self, rule: &Rule, way: Way, names: &[String]) {
        let head = way.head.signature();
        let mv = (way.mv.as_ref()).map_or("M".into(), |mv| self.term(mv, names));
        let is_by_move = self.by_move.contains(&head);
        // A rule that leaves a variable of its head open derives nothing.
        let Some(conditions) = self.conditions(&way, &mv, names) else {
            return;
        };
        let body = conditions.join(" & ");
        if head == (keyword::NEXT, 1) {
            let action = match &way.mv {
                Some(Term::Constant(_) | Term::Function(..)) => mv,
                _ => format!("{}({mv})", self.names.step),
            };
            let fact = self.fact(&way.head.arguments[0], names);
            let transition = match body.is_empty() {
                true => fact,
                false => format!("{body} ==> {fact}"),
            };
            return self.line(format!("{action} :: {transition}"));
        }
        let shown = match head {
            (keyword::LEGAL, 2) => {
                let arguments: Vec<String> = self.terms(&way.head.arguments, names);
                applied(&self.names.lawful, &arguments)
            }
            (keyword::INIT, 1) => format!("init({})", self.fact(&way.head.arguments[0], names)),
            (keyword::BASE, 1) => format!("base({})", self.fact(&way.head.arguments[0], names)),
            (keyword::INPUT, 2) if !self.is_input_asked => {
                let action = &way.head.arguments[1];
                if self.turns.waits.contains(action) {
                    return;
                }
                format!("action({})", self.term(action, names))
            }
            (keyword::LEGAL | keyword::GOAL | keyword::TERMINAL, _) if is_by_move => {
                let name = self.rules.symbols.name(head.0);
                let message = format!("`{}` asks what the roles do", brief(name));
                return self.faults.push(cannot(rule.span, message, ""));
            }
            _ => {
                let mut arguments = self.terms(&way.head.arguments, names);
                arguments.extend(is_by_move.then_some(mv));
                applied(&self.relation(head.0), &arguments)
            }
        };
        self.line(match body.is_empty() {
            true => shown,
            false => format!("{shown} :- {body}"),
        });
    }

    /// The conditions of a rule in the order in which they give values; nothing if a variable of
    /// the head gets none.
    fn conditions(&self, way: &Way, mv: &str, names: &[String]) -> Option<Vec<String>> {
        let mut bound: HashSet<u32> = HashSet::new();
        let mut note = |term: &Term| {
            term.for_each_variable(&mut |variable| {
                bound.insert(variable);
            });
        };
        way.mv.iter().for_each(&mut note);
        way.control.iter().for_each(|(role, _)| note(role));
        let positives = way.body.iter().filter_map(|literal| match literal {
            Literal::Positive(atom) => Some(atom),
            _ => None,
        });
        let mut positives: Vec<&Atom> = positives.collect();
        positives
            .iter()
            .for_each(|it| it.arguments.iter().for_each(&mut note));
        // The dialect tests conditions in their order.
        let own = self.component_of.get(&way.head.signature());
        positives.sort_by_key(|it| self.component_of.get(&it.signature()) == own);
        let mut conditions: Vec<String> = Vec::new();
        if let (keyword::LEGAL | keyword::GOAL, [Term::Variable(role), _]) =
            (way.head.relation, &way.head.arguments[..])
            && bound.insert(*role)
        {
            conditions.push(format!("role({})", names[*role as usize]));
        }
        let is_bound = |term: &Term| {
            let mut is_bound = true;
            term.for_each_variable(&mut |variable| is_bound &= bound.contains(&variable));
            is_bound
        };
        if !way.head.arguments.iter().all(is_bound) {
            return None;
        }
        let (is, is_not): (Vec<_>, Vec<_>) = way.control.iter().partition(|(_, is_it)| *is_it);
        for (role, _) in is {
            conditions.push(format!("control({})", self.term(role, names)));
        }
        for atom in positives {
            conditions.push(self.condition(atom, mv, names));
        }
        for (role, _) in is_not {
            conditions.push(format!("~control({})", self.term(role, names)));
        }
        for literal in &way.body {
            match literal {
                Literal::Positive(_) => {}
                Literal::Negative(atom) => {
                    conditions.push(format!("~{}", self.condition(atom, mv, names)));
                }
                // One with a variable without a value is left out.
                Literal::Distinct(left, right, _) if is_bound(left) && is_bound(right) => {
                    let (left, right) = (self.term(left, names), self.term(right, names));
                    conditions.push(format!("distinct({left},{right})"));
                }
                Literal::Distinct(..) => {}
            }
        }
        Some(conditions)
    }

    fn condition(&self, atom: &Atom, mv: &str, names: &[String]) -> String {
        match atom.signature() {
            (keyword::TRUE, 1) => self.fact(&atom.arguments[0], names),
            (keyword::DOES, 2) => {
                let mut arguments = self.terms(&atom.arguments, names);
                arguments.push(mv.into());
                applied(&self.names.did, &arguments)
            }
            (keyword::LEGAL, 2) => applied(&self.names.lawful, &self.terms(&atom.arguments, names)),
            signature => {
                let mut arguments = self.terms(&atom.arguments, names);
                let is_by_move = self.by_move.contains(&signature);
                arguments.extend(is_by_move.then(|| mv.to_string()));
                applied(&self.relation(signature.0), &arguments)
            }
        }
    }

    fn relation(&self, symbol: Symbol) -> String {
        self.names
            .relations
            .get(&symbol)
            .cloned()
            .unwrap_or_default()
    }

    fn fact(&self, term: &Term, names: &[String]) -> String {
        match term {
            Term::Constant(name) | Term::Function(name, _) => {
                let own = self.names.facts.get(name);
                let own = own.or_else(|| self.names.terms.get(name));
                let own = own.cloned().unwrap_or_default();
                match term {
                    Term::Function(_, arguments) => applied(&own, &self.terms(arguments, names)),
                    _ => own,
                }
            }
            Term::Variable(_) => self.term(term, names),
        }
    }

    fn terms(&self, terms: &[Term], names: &[String]) -> Vec<String> {
        terms.iter().map(|term| self.term(term, names)).collect()
    }

    fn term(&self, term: &Term, names: &[String]) -> String {
        match term {
            Term::Variable(variable) => names[*variable as usize].clone(),
            Term::Constant(name) => self.names.terms.get(name).cloned().unwrap_or_default(),
            Term::Function(name, arguments) => {
                let shown = self.terms(arguments, names);
                if let ([first, rest], CONS) = (&shown[..], self.rules.symbols.name(*name)) {
                    return format!("({first})!{rest}");
                }
                let own = self.names.terms.get(name).cloned().unwrap_or_default();
                applied(&own, &shown)
            }
        }
    }
}

fn applied(name: &str, arguments: &[String]) -> String {
    match arguments.is_empty() {
        true => name.to_string(),
        false => format!("{name}({})", arguments.join(",")),
    }
}

fn note_names(term: &Term, names: &mut BTreeSet<Symbol>) {
    match term {
        Term::Variable(_) => {}
        Term::Constant(name) => drop(names.insert(*name)),
        Term::Function(name, arguments) => {
            names.insert(*name);
            arguments.iter().for_each(|term| note_names(term, names));
        }
    }
}

/// Puts a term in the place of a variable.
fn substitute(way: &mut Way, variable: u32, term: &Term) {
    let mut put = |leaf: &mut Term| {
        if *leaf == Term::Variable(variable) {
            *leaf = term.clone();
        }
    };
    let in_body = way.body.iter_mut().flat_map(Literal::terms_mut);
    let of_control = way.control.iter_mut().map(|(role, _)| role);
    let terms = way.head.arguments.iter_mut().chain(in_body);
    let terms = terms.chain(of_control).chain(way.mv.as_mut());
    terms.for_each(|target| target.for_each_leaf(&mut put));
}

/// Makes the terms of each pair one, in the whole way; whether that is possible.
fn unify(way: &mut Way, mut pairs: Vec<(Term, Term)>) -> bool {
    let mut n_put = 0;
    while let Some((left, right)) = pairs.pop() {
        match (left, right) {
            (left, right) if left == right => {}
            (Term::Variable(variable), term) | (term, Term::Variable(variable)) => {
                let mut is_inside = false;
                term.for_each_variable(&mut |inner| is_inside |= inner == variable);
                n_put += 1;
                if is_inside || n_put > MAX_DEPTH || size_of(&term) > MAX_SIZE {
                    return false;
                }
                substitute(way, variable, &term);
                for (left, right) in &mut pairs {
                    for side in [left, right] {
                        side.for_each_leaf(&mut |leaf| {
                            if *leaf == Term::Variable(variable) {
                                *leaf = term.clone();
                            }
                        });
                    }
                }
            }
            (Term::Function(name, left), Term::Function(other, right))
                if name == other && left.len() == right.len() =>
            {
                pairs.extend(left.into_iter().zip(right));
            }
            _ => return false,
        }
    }
    true
}

fn size_of(term: &Term) -> usize {
    match term {
        Term::Variable(_) | Term::Constant(_) => 1,
        Term::Function(_, arguments) => 1 + arguments.iter().map(size_of).sum::<usize>(),
    }
}
