//! The canonical text of rules whose symbols have canonical names.

use super::colours::{mix, variables};
use panza_gdl::{Atom, Id, Literal, Rule, Symbol, Term};

/// The most numberings of a rule's variables that are tried.
const MAX_NUMBERINGS: usize = 24;

/// The rules in these names, by symbol, sorted, one per line.
pub(super) fn canonical(rules: &[Rule], names: &[Option<Box<str>>]) -> String {
    let colours: Vec<u64> = names
        .iter()
        .map(|name| {
            let bytes = name.as_deref().unwrap_or_default().bytes();
            bytes.fold(1, |hash, byte| mix(hash, u64::from(byte)))
        })
        .collect();
    let writer = Writer {
        names,
        colours: &colours,
    };
    let mut lines: Vec<String> = rules.iter().map(|rule| writer.rule(rule)).collect();
    lines.sort_unstable();
    let mut text = String::with_capacity(lines.iter().map(|line| line.len() + 1).sum());
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

struct Writer<'a> {
    names: &'a [Option<Box<str>>],
    colours: &'a [u64],
}

impl Writer<'_> {
    /// The rule's text: the least over all numberings of variables of equal colour.
    fn rule(&self, rule: &Rule) -> String {
        let mut least: Option<String> = None;
        let mut open = vec![vec![0; rule.variables.len()]];
        let mut tried = 0;
        while let Some(start) = open.pop() {
            let (found, _) = variables(rule, self.colours, start);
            let mut order: Vec<u32> = (0..).take(found.len()).collect();
            order.sort_by_key(|&variable| found[variable as usize]);
            let alike = order
                .chunk_by(|&a, &b| found[a as usize] == found[b as usize])
                .find(|alike| alike.len() > 1);
            // The first branch is always followed, others up to the limit.
            if let Some(alike) = alike {
                let room = MAX_NUMBERINGS.saturating_sub(open.len() + tried).max(1);
                for &variable in alike.iter().take(room).rev() {
                    let mut start = found.clone();
                    let colour = &mut start[variable as usize];
                    *colour = mix(*colour, 1);
                    open.push(start);
                }
                continue;
            }
            let mut numbers = vec![0; found.len()];
            for (number, &variable) in (0..).zip(&order) {
                numbers[variable as usize] = number;
            }
            let text = self.numbered(rule, &numbers);
            if least.as_ref().is_none_or(|least| text < *least) {
                least = Some(text);
            }
            tried += 1;
            if tried == MAX_NUMBERINGS {
                break;
            }
        }
        least.unwrap_or_default()
    }

    fn numbered(&self, rule: &Rule, numbers: &[u32]) -> String {
        let mut literals: Vec<String> = rule
            .body
            .iter()
            .map(|literal| self.literal(literal, numbers))
            .collect();
        literals.sort_unstable();
        let mut text = self.atom(&rule.head, numbers);
        if !literals.is_empty() {
            text = format!("(<= {text} {})", literals.join(" "));
        }
        text
    }

    fn literal(&self, literal: &Literal, numbers: &[u32]) -> String {
        match literal {
            Literal::Positive(atom) => self.atom(atom, numbers),
            Literal::Negative(atom) => format!("(not {})", self.atom(atom, numbers)),
            Literal::Distinct(left, right, _) => {
                let mut sides = [left, right].map(|side| {
                    let mut text = String::new();
                    self.term(side, numbers, &mut text);
                    text
                });
                sides.sort_unstable();
                format!("(distinct {})", sides.join(" "))
            }
        }
    }

    fn atom(&self, atom: &Atom, numbers: &[u32]) -> String {
        let mut text = String::new();
        self.applied(atom.relation, &atom.arguments, numbers, &mut text);
        text
    }

    fn term(&self, term: &Term, numbers: &[u32], out: &mut String) {
        match term {
            Term::Variable(variable) => {
                out.push_str(&format!("?{}", numbers[*variable as usize]));
            }
            Term::Constant(name) => self.applied(*name, &[], numbers, out),
            Term::Function(name, arguments) => self.applied(*name, arguments, numbers, out),
        }
    }

    fn applied(&self, name: Symbol, arguments: &[Term], numbers: &[u32], out: &mut String) {
        let name = self.names[name.index()].as_deref().unwrap_or_default();
        if arguments.is_empty() {
            out.push_str(name);
            return;
        }
        out.push('(');
        out.push_str(name);
        for argument in arguments {
            out.push(' ');
            self.term(argument, numbers, out);
        }
        out.push(')');
    }
}
