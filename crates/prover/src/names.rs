//! The names of a rulesheet and of helper relations.

use std::collections::HashMap;

use panza_gdl::{Symbol, Symbols};

/// Symbols, with helper names that no rulesheet's name equals.
pub struct Names {
    pub symbols: Symbols,
    helpers: HashMap<String, Symbol>,
}

impl Names {
    pub fn new(symbols: Symbols) -> Self {
        Self {
            symbols,
            helpers: HashMap::new(),
        }
    }

    /// The helper of this name: the same symbol for the same name, never one of the rulesheet's.
    pub fn helper(&mut self, name: &str) -> Symbol {
        if let Some(known) = self.helpers.get(name) {
            return *known;
        }
        let mut free = name.to_string();
        while self.symbols.find(&free).is_some() {
            free.push('$');
        }
        let symbol = self.symbols.intern(&free);
        self.helpers.insert(name.to_string(), symbol);
        symbol
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_never_take_a_name_of_the_rulesheet() {
        let mut symbols = Symbols::new();
        let own = symbols.intern("not$0");
        let mut names = Names::new(symbols);
        let helper = names.helper("not$0");
        assert_ne!(helper, own);
        assert_eq!(names.helper("not$0"), helper);
    }
}
