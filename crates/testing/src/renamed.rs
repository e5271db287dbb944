//! A rulesheet with other names and another order of rules.

use std::collections::HashMap;

use panza_gdl::Sexpr;
use panza_sync::Random;

/// The words that mean something.
const WORDS: [&str; 16] = [
    "role", "init", "true", "next", "does", "legal", "goal", "terminal", "base", "input", "random",
    "not", "or", "and", "distinct", "<=",
];

/// Whether a symbol is a word of GDL.
pub fn is_word(name: &str) -> bool {
    WORDS.iter().any(|word| word.eq_ignore_ascii_case(name))
}

/// New names for symbols and variables, and a new order of statements, conditions and arguments.
pub struct Disguise {
    random: Random,
    names: HashMap<String, String>,
}

impl Disguise {
    /// A disguise of a rulesheet that is drawn by `seed`. Words of GDL and names that are `kept`
    /// stay. With an even seed the names change places among each other, with an odd one they are
    /// new.
    pub fn new(statements: &[Sexpr], seed: u64, kept: impl Fn(&str) -> bool) -> Self {
        let mut random = Random::new(seed);
        let mut names: Vec<String> = Vec::new();
        for statement in statements {
            collect(statement, &mut names);
        }
        names.sort();
        names.dedup();
        names.retain(|name| !is_word(name) && !name.starts_with('?') && !kept(name));
        let mut others = names.clone();
        if seed % 2 == 1 {
            others = (0..names.len())
                .map(|number| format!("x{number}y"))
                .collect();
        }
        shuffle(&mut others, &mut random);
        Self {
            random,
            names: names.into_iter().zip(others).collect(),
        }
    }

    /// The other name of a symbol.
    pub fn name<'a>(&'a self, name: &'a str) -> &'a str {
        self.names.get(name).map_or(name, String::as_str)
    }

    /// The rulesheet in disguise.
    pub fn rulesheet(&mut self, statements: &[Sexpr]) -> String {
        let mut lines: Vec<String> = Vec::new();
        for statement in statements {
            // Variables are named anew in each rule.
            let mark = self.random.below(1000);
            lines.push(self.expression(statement, &mark.to_string()));
        }
        shuffle(&mut lines, &mut self.random);
        lines.join("\n")
    }

    fn expression(&mut self, expression: &Sexpr, mark: &str) -> String {
        match expression {
            Sexpr::Symbol(name, _) if name.starts_with('?') => format!("?v{mark}{}", &name[1..]),
            Sexpr::Symbol(name, _) => self.name(name).to_string(),
            Sexpr::List(items, _) => {
                let mut parts: Vec<String> = items
                    .iter()
                    .map(|item| self.expression(item, mark))
                    .collect();
                let first = items.first().and_then(Sexpr::symbol).unwrap_or_default();
                let free = match first.to_ascii_lowercase().as_str() {
                    "<=" => 2,
                    "or" | "and" | "distinct" => 1,
                    _ => parts.len(),
                };
                if let Some(free) = parts.get_mut(free..) {
                    shuffle(free, &mut self.random);
                }
                format!("({})", parts.join(" "))
            }
        }
    }
}

fn collect(expression: &Sexpr, names: &mut Vec<String>) {
    match expression {
        Sexpr::Symbol(name, _) => names.push(name.to_string()),
        Sexpr::List(items, _) => items.iter().for_each(|item| collect(item, names)),
    }
}

fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last as u32 + 1) as usize);
    }
}
