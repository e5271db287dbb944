//! Every name in a rulesheet: what it stands for, where it is defined and where it is used.
//!
//! This is of KIF; `infix` does the same for HRF.
//!
//! A relation and a function of one name are two, and so are two relations whose numbers of
//! arguments differ. Variables belong to their statement. A fact is defined by the heads of `init`,
//! `next` and `base`, a move by those of `legal` and `input`, a role by `role`, another constant by
//! facts with one argument, such as `(index 1)`.
//!
//! Invariants: occurrences are in the order of the text and do not overlap. All work is linear in
//! the text.

use std::collections::HashMap;

use super::comments::Comments;
use super::words::word;
use panza_gdl::{Lines, Sexpr, Span};
use panza_hrf::Dialect;

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A word of GDL.
    Keyword,
    /// What heads and conditions are made of.
    Relation,
    /// A term with arguments.
    Function,
    /// A term without.
    Constant,
    /// A variable of one statement.
    Variable,
}

/// A name with its places.
#[derive(Clone, Debug)]
pub struct Name {
    /// What it stands for.
    pub kind: Kind,
    /// As it is written.
    pub text: Box<str>,
    /// The number of its arguments; for keywords 0.
    pub arity: usize,
    /// Whether it is a fact of the state, or makes one.
    pub is_fact: bool,
    /// Whether it is a move, or makes one.
    pub is_move: bool,
    /// Whether it is a role.
    pub is_role: bool,
    /// Its places, as indices of [`Outline::occurrences`].
    pub places: Vec<usize>,
    /// For each argument the first variable that stands there; empty where none does.
    pub arguments: Vec<Box<str>>,
    /// The comment above its first definition that has one.
    pub comment: String,
}

impl Name {
    /// The name with its arguments, as it is written.
    pub fn form(&self, dialect: Dialect) -> String {
        if self.arity == 0 {
            return self.text.to_string();
        }
        const MOST_SHOWN: usize = 12;
        let shown = self.arguments.iter().take(MOST_SHOWN);
        let shown = shown.map(|name| if name.is_empty() { "_" } else { name });
        let rest = (self.arity > MOST_SHOWN).then_some("...");
        let words: Vec<&str> = shown.chain(rest).collect();
        match dialect {
            Dialect::Kif => format!("({} {})", self.text, words.join(" ")),
            Dialect::Hrf => format!("{}({})", self.text, words.join(",")),
        }
    }
}

/// A place of a name.
#[derive(Clone, Copy, Debug)]
pub struct Occurrence {
    /// Where.
    pub span: Span,
    /// The index in [`Outline::names`].
    pub name: usize,
    /// The index in [`Outline::statements`].
    pub statement: usize,
    /// Whether the name is defined here.
    pub is_definition: bool,
}

/// A statement.
#[derive(Clone, Copy, Debug)]
pub struct Statement {
    /// All of it.
    pub span: Span,
    /// Its head.
    pub head: Span,
    /// Whether it has conditions.
    pub is_rule: bool,
}

/// The names and statements of a rulesheet.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    /// Each name once.
    pub names: Vec<Name>,
    /// The places of all names.
    pub occurrences: Vec<Occurrence>,
    /// The statements.
    pub statements: Vec<Statement>,
}

impl Outline {
    /// The outline of statements of KIF that were read from `text`, which is in a dialect.
    pub fn of(dialect: Dialect, text: &str, lines: &Lines, statements: &[Sexpr]) -> Self {
        let mut reader = Reader::default();
        let comments = Comments::of(dialect, text, lines);
        let mut after = 0;
        for statement in statements {
            let span = statement.span();
            reader.comment = comments.above(lines.line_of(span.start), after);
            reader.statement(statement);
            after = span.end;
        }
        reader.outline
    }

    /// The place that holds a byte offset, or ends there.
    pub fn at(&self, offset: u32) -> Option<&Occurrence> {
        let after = self
            .occurrences
            .partition_point(|place| place.span.start <= offset);
        let place = self.occurrences.get(after.checked_sub(1)?)?;
        (offset <= place.span.end).then_some(place)
    }

    /// The places of a name.
    pub fn places(&self, name: usize) -> impl Iterator<Item = &Occurrence> {
        let places = self.names[name].places.iter();
        places.map(|&place| &self.occurrences[place])
    }

    /// Where a name is defined; its first place if nothing defines it.
    pub fn definitions(&self, name: usize) -> Vec<&Occurrence> {
        let defined: Vec<&Occurrence> = self
            .places(name)
            .filter(|place| place.is_definition)
            .collect();
        match defined.is_empty() {
            true => self.places(name).take(1).collect(),
            false => defined,
        }
    }
}

/// What a term stands for, by its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    Fact,
    Move,
    Role,
    Other,
}

/// What the argument of a relation at a place, counted from 0, stands for.
pub(super) fn slot(relation: &str, argument: usize) -> Slot {
    let word = word(Dialect::Kif, relation).map_or("", |word| word.name);
    match (word, argument) {
        ("init" | "next" | "base" | "true", 0) => Slot::Fact,
        ("role" | "does" | "legal" | "input" | "goal", 0) => Slot::Role,
        ("does" | "legal" | "input", 1) => Slot::Move,
        _ => Slot::Other,
    }
}

/// Whether a head of this relation defines its argument at a place.
fn defines(relation: &str, slot: Slot) -> bool {
    let word = word(Dialect::Kif, relation).map_or("", |word| word.name);
    matches!(
        (word, slot),
        ("init" | "next" | "base", Slot::Fact)
            | ("legal" | "input", Slot::Move)
            | ("role", Slot::Role)
    )
}

/// What makes two places those of one name. Variables have their statement.
#[derive(PartialEq, Eq, Hash)]
struct Key<'a> {
    kind: Kind,
    text: &'a str,
    arity: usize,
    statement: usize,
}

/// Reads names into an outline, statement by statement.
#[derive(Default)]
pub(super) struct Reader<'a> {
    pub outline: Outline,
    numbers: HashMap<Key<'a>, usize>,
    /// The comment above the statement that is read.
    pub comment: String,
}

impl<'a> Reader<'a> {
    fn statement(&mut self, statement: &'a Sexpr) {
        let span = statement.span();
        let items = statement.list().unwrap_or(&[]);
        let is_rule = items.first().and_then(Sexpr::symbol) == Some("<=");
        let head = if is_rule {
            items.get(1)
        } else {
            Some(statement)
        };
        self.outline.statements.push(Statement {
            span,
            head: head.map_or(span, Sexpr::span),
            is_rule: is_rule && items.len() > 2,
        });
        if is_rule {
            self.keyword("<=", items[0].span());
        }
        if let Some(head) = head {
            self.atom(head, true, !is_rule);
        }
        if is_rule {
            items.iter().skip(2).for_each(|item| self.condition(item));
        }
    }

    fn condition(&mut self, condition: &'a Sexpr) {
        let items = condition.list().unwrap_or(&[]);
        let (Some(first), rest) = (items.first(), items.get(1..).unwrap_or(&[])) else {
            return self.atom(condition, false, false);
        };
        let known = first.symbol().and_then(|name| word(Dialect::Kif, name));
        let known = known.map(|word| word.name);
        match known {
            Some(name @ ("not" | "or" | "and")) => {
                self.keyword(name, first.span());
                rest.iter().for_each(|item| self.condition(item));
            }
            Some(name @ "distinct") => {
                self.keyword(name, first.span());
                for term in rest {
                    self.term(term, Slot::Other, false);
                }
            }
            _ => self.atom(condition, false, false),
        }
    }

    /// A relation with its arguments; as the head of a statement it defines.
    fn atom(&mut self, atom: &'a Sexpr, is_head: bool, is_fact: bool) {
        let (name, arguments) = match atom {
            Sexpr::Symbol(..) => (atom, &[][..]),
            Sexpr::List(items, _) => match items.split_first() {
                Some((name, arguments)) => (name, arguments),
                None => return,
            },
        };
        let Some(text) = name.symbol() else {
            return atom.list().unwrap_or(&[]).iter().for_each(|item| {
                self.term(item, Slot::Other, false);
            });
        };
        let span = name.span();
        let number = match word(Dialect::Kif, text) {
            Some(word) => {
                self.keyword(word.name, span);
                None
            }
            None if text.starts_with('?') => {
                self.add(Kind::Variable, text, 0, span, false);
                None
            }
            None => Some(self.add(Kind::Relation, text, arguments.len(), span, is_head)),
        };
        let is_unary = is_fact && number.is_some() && arguments.len() == 1;
        for (place, argument) in arguments.iter().enumerate() {
            let slot = slot(text, place);
            let is_definition = is_head && defines(text, slot) || is_unary;
            self.argument(number, place, argument);
            if let Some(found) = self.term(argument, slot, is_definition) {
                let name = &mut self.outline.names[found];
                match slot {
                    Slot::Fact => name.is_fact = true,
                    Slot::Move => name.is_move = true,
                    Slot::Role => name.is_role = true,
                    Slot::Other => {}
                }
            }
        }
    }

    /// A term, and its name.
    fn term(&mut self, term: &'a Sexpr, slot: Slot, is_definition: bool) -> Option<usize> {
        match term {
            Sexpr::Symbol(text, span) if text.starts_with('?') => {
                self.add(Kind::Variable, text, 0, *span, false);
                None
            }
            Sexpr::Symbol(text, span) => {
                Some(self.add(Kind::Constant, text, 0, *span, is_definition))
            }
            Sexpr::List(items, _) => {
                let (name, arguments) = items.split_first()?;
                let kind = match arguments {
                    [] => Kind::Constant,
                    _ => Kind::Function,
                };
                let is_definition = is_definition && slot != Slot::Other;
                let number = name.symbol().map(|text| match text.starts_with('?') {
                    true => self.add(Kind::Variable, text, 0, name.span(), false),
                    false => self.add(kind, text, arguments.len(), name.span(), is_definition),
                });
                for (place, argument) in arguments.iter().enumerate() {
                    self.argument(number, place, argument);
                    self.term(argument, Slot::Other, false);
                }
                number
            }
        }
    }

    fn keyword(&mut self, name: &'a str, span: Span) {
        self.add(Kind::Keyword, name, 0, span, false);
    }

    /// Notes the variable at a place of a name.
    fn argument(&mut self, number: Option<usize>, place: usize, argument: &Sexpr) {
        let variable = argument.symbol().filter(|text| text.starts_with('?'));
        if let (Some(number), Some(variable)) = (number, variable) {
            self.note_argument(number, place, variable);
        }
    }

    /// Notes that a variable stands at a place of a name.
    pub fn note_argument(&mut self, number: usize, place: usize, variable: &str) {
        if let Some(known) = self.outline.names[number].arguments.get_mut(place)
            && known.is_empty()
        {
            *known = variable.into();
        }
    }

    /// Adds a place of a name and returns the name.
    pub fn add(
        &mut self,
        kind: Kind,
        text: &'a str,
        arity: usize,
        span: Span,
        is_definition: bool,
    ) -> usize {
        let statement = self.outline.statements.len() - 1;
        let key = Key {
            kind,
            text,
            arity,
            statement: if kind == Kind::Variable { statement } else { 0 },
        };
        let names = &mut self.outline.names;
        let number = *self.numbers.entry(key).or_insert_with(|| {
            names.push(Name {
                kind,
                text: text.into(),
                arity,
                is_fact: false,
                is_move: false,
                is_role: false,
                places: Vec::new(),
                arguments: vec!["".into(); arity],
                comment: String::new(),
            });
            names.len() - 1
        });
        let place = self.outline.occurrences.len();
        self.outline.names[number].places.push(place);
        self.outline.occurrences.push(Occurrence {
            span,
            name: number,
            statement,
            is_definition,
        });
        if is_definition && matches!(kind, Kind::Relation | Kind::Function) {
            self.document(number);
        }
        number
    }

    /// The comment above the statement is about this name, unless it has one.
    pub fn document(&mut self, number: usize) {
        let name = &mut self.outline.names[number];
        if name.comment.is_empty() {
            name.comment.clone_from(&self.comment);
        }
    }
}
