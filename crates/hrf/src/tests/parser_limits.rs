//! The readers of rules on texts of extreme cost.
//!
//! A text is read at size n and at size 4n: linear work takes four times the processor time,
//! quadratic work sixteen times.

use std::fmt::Write;
use std::time::Duration;

use panza_gdl::Rules;
use panza_sync::thread_cpu_time;

/// The processor time of some work, which other processes lengthen little.
fn processor_time(work: impl FnOnce()) -> Duration {
    let begin = thread_cpu_time();
    work();
    let times = thread_cpu_time().zip(begin);
    let (end, begin) = times.expect("the system counts the processor time of threads");
    end - begin
}

fn shown(rules: &Rules) -> Vec<String> {
    let rules = rules
        .rules
        .iter()
        .map(|rule| rules.show_rule(rule).to_string());
    rules.collect()
}

/// The processor time to read the text and lay it out.
fn time_of(text: &str) -> Duration {
    processor_time(|| {
        let (_, diagnostics) = panza_gdl::load(text);
        let _ = panza_gdl::format::format(text);
        for diagnostic in diagnostics.iter().take(2) {
            diagnostic.one_line("text", text);
        }
    })
}

/// The same for HRF.
fn time_of_hrf(text: &str) -> Duration {
    processor_time(|| {
        let (_, diagnostics) = crate::load(text);
        let _ = crate::format(text);
        for diagnostic in diagnostics.iter().take(2) {
            diagnostic.one_line("text", text);
        }
    })
}

/// Holds reading to growth in proportion, give or take a factor of two.
fn grows_with_its_text(name: &str, n: usize, text_of: impl Fn(usize) -> String) {
    reading_grows(name, n, time_of, text_of);
}

fn reading_grows(
    name: &str,
    n: usize,
    time_of: fn(&str) -> Duration,
    text_of: impl Fn(usize) -> String,
) {
    // Where the large text outgrows a cache that the small one fits in, both are tried four times
    // as large.
    if let Err(first) = growth(n, time_of, &text_of) {
        growth(4 * n, time_of, &text_of)
            .unwrap_or_else(|second| panic!("{name}: {first}; {second}"));
    }
}

fn growth(
    n: usize,
    time_of: fn(&str) -> Duration,
    text_of: impl Fn(usize) -> String,
) -> Result<(), String> {
    const TRIES: usize = 4;
    // So short a time says nothing.
    const NOTHING: Duration = Duration::from_millis(8);
    let (small, large) = (text_of(n), text_of(4 * n));
    let length_ratio = large.len() as f64 / small.len() as f64;
    assert!(
        (3.0..6.0).contains(&length_ratio),
        "the texts' lengths differ {length_ratio} times"
    );
    let (mut least_small, mut least_large) = (Duration::MAX, Duration::MAX);
    for _ in 0..TRIES {
        least_small = least_small.min(time_of(&small));
        least_large = least_large.min(time_of(&large));
        if least_large < NOTHING || least_large < least_small * 8 {
            return Ok(());
        }
    }
    Err(format!(
        "size {n} takes {least_small:?}, four times that {least_large:?}"
    ))
}

fn repeated(n: usize, item: impl Fn(usize) -> String) -> String {
    (0..n).fold(String::new(), |mut text, index| {
        let _ = write!(text, "{} ", item(index));
        text
    })
}

#[test]
fn parentheses_take_linear_time() {
    grows_with_its_text("nested lists", 100_000, |n| {
        format!("{}x{}", "(".repeat(n), ")".repeat(n))
    });
    grows_with_its_text("open lists", 100_000, |n| "(".repeat(n));
    grows_with_its_text("stray parentheses", 30_000, |n| ")".repeat(n));
    grows_with_its_text("stray parentheses, then lists too deep", 20_000, |n| {
        format!(
            "{}{}",
            ")".repeat(n),
            format!("{}{}", "(".repeat(300), ")".repeat(300)).repeat(n / 100)
        )
    });
    grows_with_its_text("nested lists within bounds", 60, |n| {
        let deep = format!("(p {}{})", "(f ".repeat(240), ")".repeat(240));
        format!("{deep} ").repeat(n)
    });
}

#[test]
fn many_rules_take_linear_time() {
    grows_with_its_text("rules", 5000, |n| {
        repeated(n, |i| {
            format!(
                "(<= (p{} ?x) (q{i} ?x) (not (p{} ?x)) (distinct ?x a))",
                i % 50,
                i % 40
            )
        })
    });
    grows_with_its_text("a chain of relations", 5000, |n| {
        repeated(n, |i| format!("(<= (p{i} ?x) (p{} ?x))", i + 1))
    });
    grows_with_its_text("a ring of relations", 5000, |n| {
        repeated(n, |i| {
            format!("(<= (p{i} ?x) (p{} ?x) (not q{i}))", (i + 1) % n)
        })
    });
    grows_with_its_text("relations that all ask for each other's rules", 2000, |n| {
        repeated(n, |i| {
            format!("(<= p{i} all) (<= all p{i}) (<= (next f{i}) (not all))")
        })
    });
    grows_with_its_text("undefined relations", 5000, |n| {
        repeated(n, |i| format!("(<= (p{i}) (missing{i} a))"))
    });
    grows_with_its_text("roles", 5000, |n| repeated(n, |i| format!("(role r{i})")));
}

#[test]
fn large_rules_take_linear_time() {
    grows_with_its_text("literals", 3000, |n| {
        format!("(<= p {})", repeated(n, |i| format!("(q{i} a b)")))
    });
    grows_with_its_text("recursive literals", 1500, |n| {
        format!(
            "(<= (p ?a) (q ?x) {})",
            repeated(n, |i| format!("(p (f ?y{i} ?x))"))
        )
    });
    grows_with_its_text("variables", 3000, |n| {
        format!("(<= (p {}) (q ?v0))", repeated(n, |i| format!("?v{i}")))
    });
    grows_with_its_text("arity", 1300, |n| {
        let arguments = repeated(n, |i| format!("?v{i}"));
        format!("(<= (p {arguments}) (q {arguments}) (p {arguments}))")
    });
    grows_with_its_text("long symbols", 30_000, |n| {
        let name = "x".repeat(n);
        format!("({name} ?{name}) (<= {name} (not {name}))")
    });
    grows_with_its_text("a long name, often asked for", 800, |n| {
        let name = "x".repeat(n * 20);
        format!("(<= other {name}) (<= {name} {})", "(not other) ".repeat(n))
    });
    grows_with_its_text("nested not", 120, |n| {
        repeated(n, |_| {
            format!("(<= p {}q{})", "(not ".repeat(101), ")".repeat(101))
        })
    });
}

#[test]
fn disjunctions_take_linear_time() {
    let or = |n: usize, i: usize| {
        format!(
            "(or {})",
            repeated(n, |branch| format!("(b{branch} ?x{i})"))
        )
    };
    grows_with_its_text("one or", 1000, |n| {
        format!("(<= (p ?x0) (q ?x0) {})", or(n, 0))
    });
    grows_with_its_text("ors of 40 branches", 30, |n| {
        format!("(<= (p ?x1) (q ?x1) {})", repeated(n, |i| or(40, i)))
    });
    grows_with_its_text("rules of thirty ors of 40 branches", 3, |n| {
        repeated(n, |_| {
            format!("(<= (p ?x1) (q ?x1) {})", repeated(30, |i| or(40, i)))
        })
    });
    grows_with_its_text("ors in ors", 20, |n| {
        let nested = (0..60).fold("(a ?x)".to_string(), |inner, _| {
            format!("(or (b ?x) (and (c ?x) {inner}))")
        });
        repeated(n, |_| format!("(<= (p ?x) (q ?x) {nested} {nested})"))
    });
}

/// The codes of what is wrong with a statement, apart from what is missing.
fn faults(statement: &str) -> (Rules, Vec<&'static str>) {
    let (rules, diagnostics) = panza_gdl::load(&format!(
        "(role r) (legal r m) terminal (goal r 1) {statement}"
    ));
    let codes = diagnostics.iter().map(|diagnostic| diagnostic.code);
    let is_counted = |code: &&str| !["undefined-relation", "unused-relation"].contains(code);
    (rules, codes.filter(is_counted).collect())
}

#[test]
fn rules_of_exponential_size_are_refused() {
    // Each equality doubles the term: 2^40 leaves.
    let doubling = repeated(40, |i| {
        format!("(not (distinct ?x{} (f ?x{i} ?x{i})))", i + 1)
    });
    let (rules, codes) = faults(&format!("(<= (p ?x40) (q ?x0) {doubling})"));
    assert_eq!(codes, ["rule-too-large"]);
    assert_eq!(rules.rules.len(), 4, "the other statements are kept");
    // Each equality nests it one deeper.
    let nesting = repeated(2000, |i| format!("(not (distinct ?x{} (f ?x{i})))", i + 1));
    assert_eq!(
        faults(&format!("(<= (p ?x2000) (q ?x0) {nesting})")).1,
        ["rule-too-large"]
    );
    // Each branch would get a copy of all conditions.
    let conditions = repeated(20_000, |i| format!("(q{i} ?x)"));
    let branches = repeated(20_000, |i| format!("(r{i} ?x)"));
    let (rules, codes) = faults(&format!("(<= (p ?x) {conditions} (or {branches}))"));
    assert_eq!(codes, ["rule-too-large"]);
    assert_eq!(rules.rules.len(), 4, "nothing is left of the rule");
}

#[test]
fn an_empty_or_makes_a_product_empty() {
    let factors = "(or a b) ".repeat(60);
    let (rules, codes) = faults(&format!(
        "(<= p {factors} (or)) (<= q (or (and {factors} (or)) c))"
    ));
    assert_eq!(codes, Vec::<&str>::new());
    assert_eq!(shown(&rules)[4..], ["(<= q c)"]);
}

#[test]
fn huge_disjunctions_become_helper_relations() {
    let or = |i: usize| {
        format!(
            "(or {})",
            repeated(40, |branch| format!("(b{branch} ?x{i})"))
        )
    };
    let (rules, codes) = faults(&format!("(<= (p ?x1) (q ?x1) {})", repeated(30, or)));
    assert_eq!(codes, Vec::<&str>::new());
    assert_eq!(rules.rules.len(), 4 + 30 * 40 + 1);
}

#[test]
fn helpers_are_named_apart_from_the_sheet_s_own_relations() {
    let or = repeated(5, |i| format!("(or (a{i} ?x) (b{i} ?x) (c{i} ?x))"));
    let (rules, _) = faults(&format!("(or$0 x) (<= (p ?x) (q ?x) {or})"));
    let names: Vec<String> = shown(&rules);
    assert!(names.contains(&"(or$0 x)".to_string()));
    assert!(
        names.contains(&"(<= (or$$0 ?x) (q ?x) (a0 ?x))".to_string()),
        "{names:?}"
    );
}

/// A whole game around a text.
fn hrf_game(text: &str) -> String {
    format!(
        "role(a) init(control(a)) legal(go) :- p(X) go :: p(X) ==> q(X)
         goal(a,1) terminal :- q(1)\n{text}"
    )
}

#[test]
fn reading_hrf_takes_time_in_proportion_to_the_text() {
    type TextOf = fn(usize) -> String;
    let texts: [(&str, TextOf); 10] = [
        ("facts", |n| {
            hrf_game(&(0..n).map(|i| format!("p({i})\n")).collect::<String>())
        }),
        ("rules before facts", |n| {
            let facts: String = (0..n).map(|i| format!("p({i}) f{i}\n")).collect();
            hrf_game(&format!("p(X) :- r(X)\n r(X) :- p(X)\n{facts}"))
        }),
        ("a chain of relations", |n| {
            let rule = |i: usize| format!("p{i}(X) :- p{}(X) & ~s(X)\n", i + 1);
            let rules: String = (0..n).map(rule).collect();
            hrf_game(&format!("p(X) :- p0(X)\n{rules}p{n}(1)"))
        }),
        ("a chain of open arguments", |n| {
            let rule = |i: usize| format!("p{i}(X) :- p{}(X)\n", i + 1);
            let rules: String = (0..n).map(rule).collect();
            hrf_game(&format!(
                "p(X) :- s(X) & p0(X) s(1) p{n}(X) :- ~r(X) r(2)\n{rules}"
            ))
        }),
        ("a long body", |n| {
            let body: String = (0..n).map(|i| format!("r(X{i}) & ~s(Y{i}) & ")).collect();
            hrf_game(&format!("p(X) :- {body} r(X)\nr(1)"))
        }),
        ("operations", |n| {
            let operation = |i: usize| format!("go :: p({i}) ==> ~q({i}) & n{i} & q({i})\n");
            hrf_game(&(0..n).map(operation).collect::<String>())
        }),
        ("faults", |n| hrf_game(&"p(=)\n".repeat(n))),
        ("stray sentences", |n| hrf_game(&"~p(1) X &\n".repeat(n))),
        ("warnings", |n| {
            hrf_game(&"p(1) :- X & distinct(X,1)\n".repeat(n))
        }),
        ("negations of free variables", |n| {
            let rule = |i: usize| format!("p({i}) :- ~q(X) & ~(r{i}(X) & q(X))\n");
            hrf_game(&(0..n).map(rule).collect::<String>())
        }),
    ];
    for (name, text_of) in texts {
        reading_grows(name, 400, time_of_hrf, text_of);
    }
}

#[test]
fn hrf_that_would_grow_without_bound_is_a_fault() {
    for text in [
        // Versions of a relation.
        "p(X) :- w(A,B,C,D,E,F,G,H,X)
         w(A,B,C,D,E,F,G,H,X) :- w(B,C,D,E,F,G,H,A,X) & ~r(A) & ~r(B) & ~r(C) & ~r(D) & ~r(E)
         w(A,B,C,D,E,F,G,H,X) :- r(H) & w(B,A,C,D,E,F,G,H,X) & ~r(F) & ~r(G) & ~r(X) r(1)",
        // Terms that double.
        &format!(
            "p(X) :- {} r(Y)",
            (0..60)
                .map(|i| format!("same(X{i},f(X{},X{})) & ", i + 1, i + 1))
                .collect::<String>()
        ),
        // Values that nest, and that count.
        "p(f(X,X,X,X,X,X,X,X)) :- p(X) p(1)",
        "p(N) :- p(M) & plus(M,1,N) p(1) p(N) :- p(M) & times(M,M,N)",
        "p(N) :- p(M) & quotient(M,3,N) & times(N,7,K) p(1) p(N) :- p(M) & quotient(M,7,N)",
        "p(N) :- p(M) & p(K) & times(M,K,N) p(1.5) p(1.3) p(0.7)",
        "p(N) :- p(M) & p(K) & minus(M,K,N) p(1000000) p(1)",
        "p(N) :- p(M) & countofall(f(X,Y,Z),p(X) & p(Y) & p(Z),N) p(1) p(2) p(3) p(4) p(5) p(6) p(7)",
        // Conjunctions.
        &format!("p(1) :- {} q(1)", "(q(1) | q(2)) & ".repeat(40)),
        &format!(
            "p(1) :- {}q(1){}",
            "~(q(1) | q(2) & ".repeat(120),
            ")".repeat(120)
        ),
    ] {
        let time = processor_time(|| drop(crate::load(&hrf_game(text))));
        assert!(time < Duration::from_secs(10), "{time:?} for {text}");
    }
}
