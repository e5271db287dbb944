//! The names of a rulesheet in HRF with their places, as `outline` has those of KIF.
//!
//! What a name stands for follows from where it is written: a relation has heads of facts or
//! rules, an action heads of operations, and a fact of the state is in `init` or among effects. A
//! term may become a fact through a variable, as in `init(X) :- start(X)`. So a name with the same
//! number of arguments is one name wherever it stands, and to rename it everywhere leaves the game
//! as it is.
//!
//! Invariant: sentences that cannot be read have no names.

use std::collections::HashSet;

use super::comments::Comments;
use super::outline::{Kind, Outline, Reader, Slot, Statement};
use super::words::word;
use panza_gdl::{Lines, Sexpr, Span};
use panza_hrf::syntax::{Operator, Tree};
use panza_hrf::{Dialect, is_built_in};

/// The fact that says whose move it is; the only word that is a fact of the state.
pub(super) const CONTROL: &str = "control";

/// The outline of sentences that were read from `text`, each with its place.
pub(super) fn outline(text: &str, lines: &Lines, sentences: &[(Tree, Span)]) -> Outline {
    let mut infix = Infix {
        text,
        reader: Reader::default(),
        relations: HashSet::new(),
        actions: HashSet::new(),
        asked: HashSet::new(),
        effects: Vec::new(),
    };
    let comments = Comments::of(Dialect::Hrf, text, lines);
    let mut after = 0;
    for (tree, span) in sentences {
        infix.reader.comment = comments.above(lines.line_of(span.start), after);
        infix.sentence(tree, *span);
        after = span.end;
    }
    infix.finish()
}

/// As [`outline`], of textbook GDL: its sentences are statements of KIF in another notation.
pub(super) fn textbook_outline(text: &str, lines: &Lines, statements: &[Sexpr]) -> Outline {
    let mut outline = Outline::of(Dialect::Hrf, text, lines, statements);
    let plain = |name: &str| name.trim_start_matches('?').into();
    for name in &mut outline.names {
        name.text = plain(&name.text);
        for argument in &mut name.arguments {
            *argument = plain(argument);
        }
    }
    outline
}

/// What the argument of a relation at a place, counted from 0, stands for.
pub(super) fn slot(relation: &str, argument: usize) -> Slot {
    match (relation, argument) {
        ("init" | "base", 0) => Slot::Fact,
        ("legal" | "action", 0) => Slot::Move,
        ("role" | "goal" | CONTROL, 0) => Slot::Role,
        _ => Slot::Other,
    }
}

/// The name of a tree and its arguments, unless it is a variable or an operator.
fn applied(tree: &Tree) -> Option<(&str, &[Tree], Kind)> {
    match tree {
        Tree::Name(name, _) => Some((name, &[], Kind::Constant)),
        Tree::Apply(name, arguments, _) => Some((name, arguments, Kind::Function)),
        Tree::Variable(..) | Tree::Operator(..) => None,
    }
}

struct Infix<'a> {
    text: &'a str,
    reader: Reader<'a>,
    /// The names of heads of facts and rules, and those of operations.
    relations: HashSet<usize>,
    actions: HashSet<usize>,
    /// The names that conditions ask for.
    asked: HashSet<usize>,
    /// Places where an effect adds a fact or takes an action.
    effects: Vec<usize>,
}

impl<'a> Infix<'a> {
    fn sentence(&mut self, tree: &'a Tree, span: Span) {
        let (head, is_rule) = match tree {
            Tree::Operator(Operator::Rule | Operator::Operation, operands, _) => {
                (operands[0].span(), true)
            }
            _ => (tree.span(), false),
        };
        let statements = &mut self.reader.outline.statements;
        statements.push(Statement {
            span,
            head,
            is_rule,
        });
        match tree {
            Tree::Operator(Operator::Rule, operands, _) => {
                let head = self.head(&operands[0], false);
                self.relations.extend(head);
                self.condition(&operands[1]);
            }
            Tree::Operator(Operator::Operation, operands, _) => {
                let head = self.head(&operands[0], false);
                self.actions.extend(head);
                match &operands[1] {
                    Tree::Operator(Operator::Transition, parts, _) => {
                        self.condition(&parts[0]);
                        self.effect(&parts[1], true);
                    }
                    effects => self.effect(effects, true),
                }
            }
            Tree::Name(..) | Tree::Apply(..) => {
                let head = self.head(tree, true);
                self.relations.extend(head);
            }
            Tree::Variable(..) | Tree::Operator(..) => {
                self.term(tree, Slot::Other, false);
            }
        }
    }

    /// The head of a sentence, which defines; `is_fact` if there is no more than it.
    fn head(&mut self, tree: &'a Tree, is_fact: bool) -> Option<usize> {
        let Some((name, arguments, _)) = applied(tree) else {
            return self.term(tree, Slot::Other, false);
        };
        let is_word = word(Dialect::Hrf, name).is_some() && name != CONTROL;
        let number = match is_word {
            true => {
                self.keyword(name, tree);
                None
            }
            false => {
                let number = self.name(tree, true);
                number.inspect(|&number| self.reader.document(number))
            }
        };
        let is_unary = is_fact && !is_word && arguments.len() == 1;
        for (place, argument) in arguments.iter().enumerate() {
            let slot = slot(name, place);
            let makes = is_word && name != "goal" && slot != Slot::Other;
            let lists = is_unary && matches!(argument, Tree::Name(..));
            self.argument(number, place, argument);
            let found = self.term(argument, slot, makes || lists);
            if let Some(found) = found.filter(|_| makes) {
                self.reader.document(found);
            }
        }
        number
    }

    fn condition(&mut self, tree: &'a Tree) {
        if let Tree::Operator(Operator::And | Operator::Or | Operator::Not, operands, _) = tree {
            return operands.iter().for_each(|tree| self.condition(tree));
        }
        let Some((name, arguments, _)) = applied(tree) else {
            self.term(tree, Slot::Other, false);
            return;
        };
        let is_keyword = match is_built_in(name) {
            true => !arguments.is_empty() || name == "true",
            false => word(Dialect::Hrf, name).is_some() && name != CONTROL,
        };
        let number = match is_keyword {
            true => {
                self.keyword(name, tree);
                None
            }
            false => self.name(tree, false),
        };
        self.asked.extend(number);
        for (place, argument) in arguments.iter().enumerate() {
            self.argument(number, place, argument);
            match (name, place) {
                ("not" | "and" | "or", _) | ("countofall", 1) => self.condition(argument),
                _ => {
                    self.term(argument, slot(name, place), false);
                }
            }
        }
    }

    /// Effects; `is_added` unless they take facts away.
    fn effect(&mut self, tree: &'a Tree, is_added: bool) {
        match tree {
            Tree::Operator(Operator::And, operands, _) => {
                operands.iter().for_each(|tree| self.effect(tree, is_added));
            }
            Tree::Operator(Operator::Not, operands, _) => self.effect(&operands[0], false),
            Tree::Operator(Operator::Insert, operands, _) => self.effect(&operands[0], true),
            _ => {
                let place = self.reader.outline.occurrences.len();
                let found = self.term(tree, Slot::Other, is_added && applied(tree).is_some());
                if found.is_some() && is_added {
                    self.effects.push(place);
                }
            }
        }
    }

    /// A term, and its name.
    fn term(&mut self, tree: &'a Tree, slot: Slot, is_definition: bool) -> Option<usize> {
        let arguments = match tree {
            Tree::Variable(name, span) => {
                // Each `_` is a variable of its own.
                if **name != *"_" {
                    self.reader.add(Kind::Variable, name, 0, *span, false);
                }
                return None;
            }
            Tree::Operator(_, operands, _) => {
                for operand in operands {
                    self.term(operand, Slot::Other, false);
                }
                return None;
            }
            Tree::Name(..) => &[][..],
            Tree::Apply(_, arguments, _) => arguments,
        };
        let number = self.name(tree, is_definition)?;
        let name = &mut self.reader.outline.names[number];
        match slot {
            Slot::Fact => name.is_fact = true,
            Slot::Move => name.is_move = true,
            Slot::Role => name.is_role = true,
            Slot::Other => {}
        }
        let is_control = *name.text == *CONTROL;
        for (place, argument) in arguments.iter().enumerate() {
            let slot = match is_control && place == 0 {
                true => Slot::Role,
                false => Slot::Other,
            };
            self.argument(Some(number), place, argument);
            self.term(argument, slot, false);
        }
        Some(number)
    }

    /// A place of a name; none for `[]`, which is the name `nil` written otherwise.
    fn name(&mut self, tree: &'a Tree, is_definition: bool) -> Option<usize> {
        let (name, arguments, kind) = applied(tree)?;
        let span = self.span_of(name, tree)?;
        let arity = arguments.len();
        Some(self.reader.add(kind, name, arity, span, is_definition))
    }

    fn keyword(&mut self, name: &'a str, tree: &Tree) {
        if let Some(span) = self.span_of(name, tree) {
            self.reader.add(Kind::Keyword, name, 0, span, false);
        }
    }

    /// The place of the name that a tree begins with.
    fn span_of(&self, name: &str, tree: &Tree) -> Option<Span> {
        let start = tree.span().start as usize;
        let span = Span::new(start, start + name.len());
        (self.text.get(span.range()) == Some(name)).then_some(span)
    }

    fn argument(&mut self, number: Option<usize>, place: usize, argument: &Tree) {
        if let (Some(number), Tree::Variable(name, _)) = (number, argument)
            && **name != *"_"
        {
            self.reader.note_argument(number, place, name);
        }
    }

    fn finish(self) -> Outline {
        let mut outline = self.reader.outline;
        for place in self.effects {
            let occurrence = &mut outline.occurrences[place];
            let name = &mut outline.names[occurrence.name];
            // To take an action does not define it.
            match self.actions.contains(&occurrence.name) {
                true => occurrence.is_definition = false,
                false => name.is_fact = true,
            }
        }
        for (number, name) in outline.names.iter_mut().enumerate() {
            name.is_move |= self.actions.contains(&number);
            let is_of_state = name.is_fact || name.is_move;
            let is_asked = self.asked.contains(&number);
            if self.relations.contains(&number) || is_asked && !is_of_state {
                name.kind = Kind::Relation;
            }
        }
        outline
    }
}
