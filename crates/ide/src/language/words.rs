//! The own words of the dialects, as editors explain and complete them.
//!
//! Never uses: the rules of a game.

use panza_hrf::Dialect;

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

/// The words of a dialect, in the order in which a rulesheet needs them.
pub fn words(dialect: Dialect) -> &'static [Word] {
    match dialect {
        Dialect::Kif => &KIF,
        Dialect::Hrf => &HRF,
    }
}

const KIF: [Word; 15] = [
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

const HRF: [Word; 27] = [
    Word {
        name: "role",
        form: "role(player)",
        snippet: "role(${1:player})",
        standing: Standing::Both,
        meaning: "Names a player. The order of these facts is the order of the roles. \
            In a condition it holds for each role.",
    },
    Word {
        name: "init",
        form: "init(fact)",
        snippet: "init(${1:fact})",
        standing: Standing::Head,
        meaning: "The fact is true in the initial state.",
    },
    Word {
        name: "control",
        form: "control(player)",
        snippet: "control(${1:R})",
        standing: Standing::Condition,
        meaning: "The fact that says whose move it is.",
    },
    Word {
        name: "legal",
        form: "legal(action)",
        snippet: "legal(${1:action})",
        standing: Standing::Both,
        meaning: "The role in control may take this action in the current state.",
    },
    Word {
        name: "goal",
        form: "goal(player,points)",
        snippet: "goal(${1:R},${2:100})",
        standing: Standing::Both,
        meaning: "What the state is worth to the role: a whole number from 0 to 100. A role for \
            which no goal holds has 0.",
    },
    Word {
        name: "terminal",
        form: "terminal",
        snippet: "terminal",
        standing: Standing::Both,
        meaning: "The game is over in the current state.",
    },
    Word {
        name: "base",
        form: "base(fact)",
        snippet: "base(${1:fact})",
        standing: Standing::Both,
        meaning: "The fact may be true in some state. Optional: a list for players that want one.",
    },
    Word {
        name: "action",
        form: "action(action)",
        snippet: "action(${1:action})",
        standing: Standing::Both,
        meaning: "The action may be legal in some state. Optional: a list for players that want \
            one.",
    },
    Word {
        name: "distinct",
        form: "distinct(one,other)",
        snippet: "distinct(${1:X},${2:Y})",
        standing: Standing::Condition,
        meaning: "Holds if the two terms differ. A condition before it must bind their variables.",
    },
    Word {
        name: "same",
        form: "same(one,other)",
        snippet: "same(${1:X},${2:Y})",
        standing: Standing::Condition,
        meaning: "Holds if the two terms are one; a variable gets the value of the other term.",
    },
    Word {
        name: "mutex",
        form: "mutex(one,other,...)",
        snippet: "mutex(${1:X},${2:Y})",
        standing: Standing::Condition,
        meaning: "Holds if all of the terms differ.",
    },
    Word {
        name: "leq",
        form: "leq(number,other)",
        snippet: "leq(${1:X},${2:Y})",
        standing: Standing::Condition,
        meaning: "Holds if the first number is at most the second.",
    },
    Word {
        name: "less",
        form: "less(number,other)",
        snippet: "less(${1:X},${2:Y})",
        standing: Standing::Condition,
        meaning: "Holds if the first number is less than the second.",
    },
    Word {
        name: "plus",
        form: "plus(number,other,sum)",
        snippet: "plus(${1:X},${2:Y},${3:Z})",
        standing: Standing::Condition,
        meaning: "The last number is the sum of the others, which are given.",
    },
    Word {
        name: "minus",
        form: "minus(number,other,difference)",
        snippet: "minus(${1:X},${2:Y},${3:Z})",
        standing: Standing::Condition,
        meaning: "The last number is the first without the others, which are given.",
    },
    Word {
        name: "times",
        form: "times(number,other,product)",
        snippet: "times(${1:X},${2:Y},${3:Z})",
        standing: Standing::Condition,
        meaning: "The last number is the product of the others, which are given.",
    },
    Word {
        name: "quotient",
        form: "quotient(number,other,quotient)",
        snippet: "quotient(${1:X},${2:Y},${3:Z})",
        standing: Standing::Condition,
        meaning: "The last number is the first divided by the second, which are given.",
    },
    Word {
        name: "remainder",
        form: "remainder(number,other,remainder)",
        snippet: "remainder(${1:X},${2:Y},${3:Z})",
        standing: Standing::Condition,
        meaning: "The last number is what is left of the first after division by the second.",
    },
    Word {
        name: "min",
        form: "min(number,other,least)",
        snippet: "min(${1:X},${2:Y},${3:Z})",
        standing: Standing::Condition,
        meaning: "The last number is the least of the others, which are given.",
    },
    Word {
        name: "max",
        form: "max(number,other,greatest)",
        snippet: "max(${1:X},${2:Y},${3:Z})",
        standing: Standing::Condition,
        meaning: "The last number is the greatest of the others, which are given.",
    },
    Word {
        name: "abs",
        form: "abs(number,value)",
        snippet: "abs(${1:X},${2:Y})",
        standing: Standing::Condition,
        meaning: "The second number is the first without its sign.",
    },
    Word {
        name: "evaluate",
        form: "evaluate(expression,value)",
        snippet: "evaluate(${1:plus(X,1)},${2:Y})",
        standing: Standing::Condition,
        meaning: "The value of nested functions of numbers, such as `plus(times(X,2),1)`, whose \
            variables are given.",
    },
    Word {
        name: "member",
        form: "member(term,list)",
        snippet: "member(${1:X},[${2:a},${3:b}])",
        standing: Standing::Condition,
        meaning: "Holds if the term is one of the items of a list that is written out; a variable \
            gets the value of each in turn.",
    },
    Word {
        name: "countofall",
        form: "countofall(term,condition,number)",
        snippet: "countofall(${1:X},${2:condition},${3:N})",
        standing: Standing::Condition,
        meaning: "The number of different instances of the term among all solutions of the \
            condition.",
    },
    Word {
        name: "not",
        form: "not(condition)",
        snippet: "not(${1:condition})",
        standing: Standing::Condition,
        meaning: "Holds if the condition does not, as `~` before it.",
    },
    Word {
        name: "and",
        form: "and(condition,...)",
        snippet: "and(${1:condition},${2:condition})",
        standing: Standing::Condition,
        meaning: "Holds if all of the conditions do, as `&` between them.",
    },
    Word {
        name: "or",
        form: "or(condition,...)",
        snippet: "or(${1:condition},${2:condition})",
        standing: Standing::Condition,
        meaning: "Holds if one of the conditions does, as `|` between them.",
    },
];

/// The word of this name; in KIF also in capitals.
pub fn word(dialect: Dialect, name: &str) -> Option<&'static Word> {
    let is_it = |word: &&Word| match dialect {
        Dialect::Kif => word.name.eq_ignore_ascii_case(name),
        Dialect::Hrf => word.name == name,
    };
    words(dialect).iter().find(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_gdl::Symbols;
    use panza_gdl::keyword::ARITIES;

    #[test]
    fn every_keyword_is_explained() {
        let symbols = Symbols::new();
        for (keyword, arity) in ARITIES {
            let word = word(Dialect::Kif, symbols.name(keyword)).expect("it is in the list");
            let shown = word.form.trim_matches(['(', ')']);
            assert_eq!(shown.split(' ').count(), arity + 1, "{}", word.form);
        }
        let is_word = |dialect, name| word(dialect, name).is_some();
        assert!(is_word(Dialect::Kif, "LEGAL") && !is_word(Dialect::Kif, "cell"));
        assert!(is_word(Dialect::Hrf, "legal") && !is_word(Dialect::Hrf, "LEGAL"));
    }
}
