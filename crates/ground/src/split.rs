//! Splits rules with many variables.
//!
//! A rule has up to as many instances as the product of its variables' domains. The literals of a
//! variable that is not in the head can be gathered in a helper relation over the other variables
//! they mention. Eliminating such variables one by one, smallest gathering first, is bucket
//! elimination along a tree decomposition of the rule: the instances are bounded by the domains of
//! the largest gathering (Bichler, Morak, Woltran, *lpopt: A Rule Optimization Tool for Answer Set
//! Programming*, 2016).
//!
//! Splitting costs more than it saves where the literals left out are selective. Only expensive
//! rules are split, and a split whose helper is far more expensive is taken back.

use panza_gdl::{Atom, Literal, Rule, Symbol, Term};

/// Rules with more conditions or variables stay whole, since the search is cubic.
const MAX_SIZE: usize = 256;

#[derive(Debug)]
pub struct Split {
    /// The rest of the rule, with the helpers as conditions.
    pub rule: Rule,
    pub helpers: Vec<Rule>,
    /// Helpers that only bound a variable. The literal that binds it stays in the rule too, so an
    /// overestimate of them is sound.
    pub domains: Vec<Symbol>,
}

/// Splits a rule as far as possible; nothing when it cannot be split.
pub fn split(rule: &Rule, mut new_relation: impl FnMut() -> Symbol) -> Option<Split> {
    if rule.body.len().max(rule.variables.len()) > MAX_SIZE {
        return None;
    }
    let helper = |head, body| Rule {
        head,
        body,
        variables: rule.variables.clone(),
        span: rule.span,
    };
    let mut rest = rule.clone();
    let mut helpers = Vec::new();
    let mut domains = Vec::new();
    while let Some(gathering) = best_gathering(&rest) {
        let relation = new_relation();
        let head = Atom {
            relation,
            arguments: gathering.boundary.into_iter().map(Term::Variable).collect(),
            span: rule.span,
        };
        let (mut body, mut left) = (Vec::new(), Vec::new());
        for (literal, is_inside) in rest.body.into_iter().zip(gathering.is_inside) {
            if is_inside { &mut body } else { &mut left }.push(literal);
        }
        for (variable, binder) in gathering.unbound {
            let domain = Atom {
                relation: new_relation(),
                arguments: [Term::Variable(variable)].into(),
                span: rule.span,
            };
            body.push(Literal::Positive(domain.clone()));
            domains.push(domain.relation);
            helpers.push(helper(domain, vec![binder]));
        }
        left.push(Literal::Positive(head.clone()));
        helpers.push(helper(head, body));
        rest.body = left;
    }
    (!helpers.is_empty()).then_some(Split {
        rule: rest,
        helpers,
        domains,
    })
}

/// The literals that eliminate a variable, and the variables they share with the rest.
struct Gathering {
    is_inside: Vec<bool>,
    boundary: Vec<u32>,
    /// Variables that the literals inside do not bind, each with a literal outside that does.
    unbound: Vec<(u32, Literal)>,
    size: usize,
}

fn variables_of(literal: &Literal) -> Vec<u32> {
    let mut variables = Vec::new();
    literal.for_each_variable(&mut |variable| {
        if !variables.contains(&variable) {
            variables.push(variable);
        }
    });
    variables
}

fn best_gathering(rule: &Rule) -> Option<Gathering> {
    let mut in_head = vec![false; rule.variables.len()];
    rule.head
        .for_each_variable(&mut |variable| in_head[variable as usize] = true);
    let variables: Vec<Vec<u32>> = rule.body.iter().map(variables_of).collect();
    let mut all: Vec<u32> = variables.iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    let taken_out = all.iter().filter(|&&variable| !in_head[variable as usize]);
    let gatherings = taken_out
        .filter_map(|&variable| gathering(rule, variable, &variables, &in_head, all.len()));
    gatherings.min_by_key(|gathering| (gathering.size, gathering.boundary.len()))
}

/// The gathering that eliminates a variable; nothing when it would be the whole rule.
fn gathering(
    rule: &Rule,
    variable: u32,
    variables: &[Vec<u32>],
    in_head: &[bool],
    n_variables: usize,
) -> Option<Gathering> {
    let mut bag: Vec<u32> = Vec::new();
    let gathered = variables.iter().filter(|list| list.contains(&variable));
    for other in gathered.flatten() {
        if !bag.contains(other) {
            bag.push(*other);
        }
    }
    if bag.len() >= n_variables {
        return None;
    }
    let in_bag = |variables: &Vec<u32>| variables.iter().all(|variable| bag.contains(variable));
    let is_inside = variables
        .iter()
        .map(|list| !list.is_empty() && in_bag(list));
    let is_inside: Vec<bool> = is_inside.collect();
    let is_shared = |variable: &u32| {
        let mut literals = variables.iter().zip(&is_inside);
        in_head[*variable as usize]
            || literals.any(|(list, is_inside)| !is_inside && list.contains(variable))
    };
    let mut boundary: Vec<u32> = bag.iter().copied().filter(is_shared).collect();
    boundary.sort_unstable();
    let binds = |place: usize, variable: u32| {
        matches!(rule.body[place], Literal::Positive(_)) && variables[place].contains(&variable)
    };
    let mut unbound = Vec::new();
    for &variable in &bag {
        if (0..rule.body.len()).any(|place| is_inside[place] && binds(place, variable)) {
            continue;
        }
        // The narrowest literal says most about the variable alone.
        let binders =
            (0..rule.body.len()).filter(|&place| !is_inside[place] && binds(place, variable));
        let binder = binders.min_by_key(|&place| variables[place].len())?;
        unbound.push((variable, rule.body[binder].clone()));
    }
    Some(Gathering {
        is_inside,
        boundary,
        unbound,
        size: bag.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_gdl::{Id, load};

    /// The parts of the only rule of `text`, helpers first.
    fn parts(text: &str) -> Vec<String> {
        let (mut rules, _) = load(text);
        let mut names = 0;
        let mut fresh = Vec::new();
        let split = split(&rules.rules[0], || {
            names += 1;
            fresh.push(format!("h{names}"));
            Symbol::from_index(1000 + names)
        });
        let Some(split) = split else {
            return Vec::new();
        };
        // Names for printing.
        while rules.symbols.len() <= 1000 {
            let filler = format!("filler{}", rules.symbols.len());
            rules.symbols.intern(&filler);
        }
        fresh.iter().for_each(|name| {
            rules.symbols.intern(name);
        });
        split
            .helpers
            .iter()
            .chain([&split.rule])
            .map(|rule| rules.show_rule(rule))
            .collect()
    }

    #[test]
    fn a_chain_is_taken_apart_link_by_link() {
        assert_eq!(
            parts("(<= (far ?a) (e ?a ?b) (e ?b ?c) (e ?c ?d))"),
            [
                "(<= (h1 ?c) (e ?c ?d))",
                "(<= (h2 ?b) (e ?b ?c) (h1 ?c))",
                "(<= (far ?a) (e ?a ?b) (h2 ?b))",
            ]
        );
    }

    #[test]
    fn conditions_go_with_their_variables_and_keep_them_bound() {
        assert_eq!(
            parts("(<= (p ?x) (q ?x) (r ?y) (s ?z) (not (t ?y ?x)) (distinct ?z ?x))"),
            [
                "(<= (h1 ?x) (q ?x) (r ?y) (not (t ?y ?x)))",
                "(<= (p ?x) (s ?z) (distinct ?z ?x) (h1 ?x))",
            ]
        );
        assert_eq!(
            parts("(<= (p ?x) (q ?x ?w) (r ?y) (not (t ?y ?x)))"),
            [
                "(<= (h1 ?x) (q ?x ?w))",
                "(<= (p ?x) (r ?y) (not (t ?y ?x)) (h1 ?x))",
            ]
        );
    }

    #[test]
    fn what_hangs_together_stays_together() {
        assert!(parts("(<= (p ?x ?y) (q ?x ?y) (r ?y))").is_empty());
        assert!(parts("(<= p (q ?x ?y) (q ?y ?z) (q ?z ?x))").is_empty());
    }
}
