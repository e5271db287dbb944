//! The signature of a game is the same under other names and another order of rules, and differs
//! from the signatures of all other games.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use panza_gdl::{Rules, Sexpr, sexpr};
use panza_gdl_games::EMBEDDED;
use panza_testing::corpus::corpus;
use panza_testing::renamed::Disguise;

use super::translate;
use crate::signature::{Canonical, Signature, WORK, identify, signature};

type Games = Vec<(String, String)>;

/// Our own games.
fn own() -> Games {
    let games = EMBEDDED.iter();
    games
        .map(|(name, text)| (name.to_string(), text.to_string()))
        .collect()
}

/// The published games.
fn published() -> Games {
    let corpus = corpus();
    let keys = corpus.keys().iter();
    keys.map(|key| {
        let text = std::fs::read_to_string(corpus.rulesheet(key));
        let text = text.expect("a game of the list can be read");
        (format!("corpus/{key}"), text)
    })
    .collect()
}

fn canonical(name: &str, rules: &Rules) -> Canonical {
    identify(rules, WORK)
        .1
        .unwrap_or_else(|| panic!("{name} takes more work to name"))
}

/// The facts and moves that stand in the rules without variables.
fn ground_terms(rules: &Rules) -> Vec<String> {
    let heads = rules.rules.iter().map(|rule| &rule.head);
    let arguments = heads.flat_map(|head| head.arguments.iter());
    let ground = arguments.filter(|term| term.is_ground());
    ground
        .map(|term| rules.show_term(term, &[]).to_string())
        .collect()
}

/// A term in disguise.
fn disguised(term: &str, disguise: &Disguise) -> String {
    fn show(expression: &Sexpr, disguise: &Disguise) -> String {
        match expression {
            Sexpr::Symbol(name, _) => disguise.name(name).to_string(),
            Sexpr::List(items, _) => {
                let items: Vec<String> = items.iter().map(|item| show(item, disguise)).collect();
                format!("({})", items.join(" "))
            }
        }
    }
    show(&sexpr::parse(term).0[0], disguise)
}

#[test]
fn a_renamed_game_has_the_same_signature() {
    compare_renamed(own());
}

#[test]
#[ignore = "needs the published games, see CONTRIBUTING.md"]
fn a_renamed_published_game_has_the_same_signature() {
    compare_renamed(published());
}

fn compare_renamed(games: Games) {
    let mut slowest = (Duration::ZERO, String::new());
    let (mut all, mut exact) = (0_usize, 0_usize);
    for (name, text) in games {
        let (rules, _) = panza_gdl::load(&text);
        let started = Instant::now();
        let known = canonical(&name, &rules);
        slowest = slowest.max((started.elapsed(), name.clone()));
        let (statements, _) = sexpr::parse(&text);
        let keeps = |symbol: &str| {
            let found = rules.symbols.find(symbol);
            found.is_some_and(|found| known.name(found) == Some(symbol))
        };
        for seed in [1, 2] {
            let mut disguise = Disguise::new(&statements, seed, keeps);
            let sheet = disguise.rulesheet(&statements);
            let (others, _) = panza_gdl::load(&sheet);
            let met = canonical(&name, &others);
            assert_eq!(met.signature(), known.signature(), "{name}, seed {seed}");
            assert!(
                met.text() == known.text(),
                "the text of {name}, seed {seed}"
            );
            // A fact or move is carried over to one that stands in the same rules; mostly it is the
            // very same one.
            for term in ground_terms(&rules) {
                let there = translate(&term, &known, &met)
                    .unwrap_or_else(|| panic!("{name}: {term} is not carried over"));
                let back = translate(&there, &met, &known);
                assert_eq!(back.as_deref(), Some(term.as_str()), "{name}");
                all += 1;
                exact += usize::from(there == disguised(&term, &disguise));
            }
        }
    }
    println!("{exact} of {all} terms carried over to themselves; slowest: {slowest:?}");
    assert!(exact * 2 > all, "{exact} of {all}");
}

#[test]
fn translated_facts_hold_in_the_renamed_game() {
    for (name, text) in EMBEDDED {
        let (rules, _) = panza_gdl::load(text);
        let (statements, _) = sexpr::parse(text);
        let known = canonical(name, &rules);
        let mut disguise = Disguise::new(&statements, 7, |symbol| {
            let found = rules.symbols.find(symbol);
            found.is_some_and(|found| known.name(found) == Some(symbol))
        });
        let sheet = disguise.rulesheet(&statements);
        let (others, _) = panza_gdl::load(&sheet);
        let met = canonical(name, &others);
        let facts = |rules: &Rules| -> Vec<String> {
            let facts = rules.rules.iter().filter(|rule| rule.body.is_empty());
            facts
                .map(|rule| rules.show_rule(rule).to_string())
                .collect()
        };
        let mut carried: Vec<String> = facts(&rules)
            .iter()
            .map(|fact| translate(fact, &known, &met).expect("a fact is a term"))
            .collect();
        let mut there = facts(&others);
        carried.sort();
        there.sort();
        assert_eq!(carried, there, "{name}");
    }
}

#[test]
fn other_games_have_other_signatures() {
    compare_all(own());
}

#[test]
#[ignore = "needs the published games, see CONTRIBUTING.md"]
fn other_published_games_have_other_signatures() {
    compare_all([own(), published()].concat());
}

fn compare_all(games: Games) {
    let mut by_signature: BTreeMap<Signature, Vec<(String, String)>> = BTreeMap::new();
    for (name, text) in games {
        let (rules, _) = panza_gdl::load(&text);
        let known = canonical(&name, &rules);
        let names = by_signature.entry(known.signature()).or_default();
        names.push((name, known.text().to_string()));
    }
    for same in by_signature.values().filter(|same| same.len() > 1) {
        let names: Vec<&str> = same.iter().map(|(name, _)| name.as_str()).collect();
        println!("the same game: {}", names.join(", "));
        // Not by chance: these are equal, rule by rule.
        for (name, text) in same {
            assert!(text == &same[0].1, "{name} is not {}", same[0].0);
        }
    }
}

#[test]
fn a_changed_rule_changes_the_signature() {
    compare_changed(own());
}

#[test]
#[ignore = "needs the published games, see CONTRIBUTING.md"]
fn a_changed_rule_of_a_published_game_changes_the_signature() {
    compare_changed(published());
}

fn compare_changed(games: Games) {
    for (name, text) in games {
        let (rules, _) = panza_gdl::load(&text);
        let known = signature(&rules, WORK);
        let n_rules = rules.rules.len();
        for at in [0, n_rules / 3, n_rules / 2, n_rules - 1] {
            let mut without = rules.clone();
            without.rules.remove(at);
            assert_ne!(signature(&without, WORK), known, "{name} without rule {at}");
            let mut shorter = rules.clone();
            if shorter.rules[at].body.pop().is_some() {
                assert_ne!(signature(&shorter, WORK), known, "{name}, rule {at} cut");
            }
        }
    }
}
