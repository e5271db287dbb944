//! GDL's own words, as editors explain and complete them.
//!
//! Never uses: the rules of a game.

/// Where a word may stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// First in a rule.
    Arrow,
    /// In the head of a rule or as a fact.
    Head,
    /// In a condition.
    Condition,
    /// In both.
    Both,
}

/// A word of GDL.
#[derive(Debug)]
pub struct Word {
    /// The word.
    pub name: &'static str,
    /// The word with its arguments.
    pub form: &'static str,
    /// The same without the parentheses, with numbered fields to fill in.
    pub snippet: &'static str,
    /// Where it may stand.
    pub standing: Standing,
    /// What it means, in a few sentences.
    pub meaning: &'static str,
}

/// All words, in the order in which a rulesheet needs them.
pub const WORDS: [Word; 15] = [
    Word {
        name: "role",
        form: "(role player)",
        snippet: "role ${1:player}",
        standing: Standing::Both,
        meaning: "Names a player. The order of these facts is the order of the roles. \
            As a condition it holds for each role.",
    },
    Word {
        name: "init",
        form: "(init fact)",
        snippet: "init ${1:fact}",
        standing: Standing::Head,
        meaning: "The fact is true in the initial state.",
    },
    Word {
        name: "true",
        form: "(true fact)",
        snippet: "true ${1:fact}",
        standing: Standing::Condition,
        meaning: "Holds if the fact is true in the current state. No rule defines it: \
            the state is made of `init` and `next`.",
    },
    Word {
        name: "does",
        form: "(does role move)",
        snippet: "does ${1:?role} ${2:move}",
        standing: Standing::Condition,
        meaning: "Holds if the role makes this move in the current turn. No rule defines it, and \
            `legal`, `goal` and `terminal` may not depend on it.",
    },
    Word {
        name: "next",
        form: "(next fact)",
        snippet: "next ${1:fact}",
        standing: Standing::Head,
        meaning: "The fact is true in the next state. What no `next` derives is false then, so \
            facts that stay need a rule of their own.",
    },
    Word {
        name: "legal",
        form: "(legal role move)",
        snippet: "legal ${1:?role} ${2:move}",
        standing: Standing::Both,
        meaning: "The role may make this move in the current state. Every role needs a move in \
            every state that is not terminal; one such as `noop` is enough.",
    },
    Word {
        name: "goal",
        form: "(goal role points)",
        snippet: "goal ${1:?role} ${2:100}",
        standing: Standing::Both,
        meaning: "What the state is worth to the role: a whole number from 0 to 100. In a terminal \
            state each role has exactly one.",
    },
    Word {
        name: "terminal",
        form: "terminal",
        snippet: "terminal",
        standing: Standing::Both,
        meaning: "The game is over in the current state.",
    },
    Word {
        name: "distinct",
        form: "(distinct one other)",
        snippet: "distinct ${1:?one} ${2:?other}",
        standing: Standing::Condition,
        meaning: "Holds if the two terms differ. Another condition must bind their variables.",
    },
    Word {
        name: "not",
        form: "(not condition)",
        snippet: "not ${1:condition}",
        standing: Standing::Condition,
        meaning: "Holds if the condition does not. A condition outside must bind its variables, \
            and no relation may depend on its own negation.",
    },
    Word {
        name: "or",
        form: "(or condition ...)",
        snippet: "or ${1:condition} ${2:condition}",
        standing: Standing::Condition,
        meaning: "Holds if one of the conditions does.",
    },
    Word {
        name: "and",
        form: "(and condition ...)",
        snippet: "and ${1:condition} ${2:condition}",
        standing: Standing::Condition,
        meaning: "Holds if all of the conditions do. The conditions of a rule are joined so \
            without it; it is for the inside of `or` and `not`.",
    },
    Word {
        name: "base",
        form: "(base fact)",
        snippet: "base ${1:fact}",
        standing: Standing::Both,
        meaning: "The fact may be true in some state. Optional: a list of all facts for players \
            that want one.",
    },
    Word {
        name: "input",
        form: "(input role move)",
        snippet: "input ${1:?role} ${2:move}",
        standing: Standing::Both,
        meaning: "The move may be legal for the role in some state. Optional: a list of all moves \
            for players that want one.",
    },
    Word {
        name: "<=",
        form: "(<= head condition ...)",
        snippet: "<= ${1:head}\n  ${2:condition}",
        standing: Standing::Arrow,
        meaning: "A rule: the head holds if all conditions do.",
    },
];

/// The word of this name, in small letters or capitals.
pub fn word(name: &str) -> Option<&'static Word> {
    WORDS
        .iter()
        .find(|word| word.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gdl::symbols::Symbols;
    use crate::gdl::symbols::keyword::ARITIES;

    #[test]
    fn every_keyword_is_explained() {
        let symbols = Symbols::new();
        for (keyword, arity) in ARITIES {
            let word = word(symbols.name(keyword)).expect("it is in the list");
            let shown = word.form.trim_matches(['(', ')']);
            assert_eq!(shown.split(' ').count(), arity + 1, "{}", word.form);
        }
        assert!(word("LEGAL").is_some() && word("cell").is_none());
    }
}
