//! Any bytes as a rulesheet: read, checked, rendered, laid out, read again.
//!
//! Nothing may panic, laying out twice gives what laying out once does, and the rules stay the
//! same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use panza::gdl;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let (rules, diagnostics) = gdl::load(&text);
    for diagnostic in diagnostics.iter().take(50) {
        diagnostic.render("text", &text, false);
        diagnostic.one_line("text", &text);
    }
    let Ok(once) = gdl::format::format(&text) else {
        return;
    };
    let twice = gdl::format::format(&once).expect("what was laid out can be laid out again");
    assert_eq!(once, twice, "laying out again changes nothing");
    let (again, _) = gdl::load(&once);
    let shown = |rules: &gdl::Rules| -> Vec<String> {
        let rules = rules.rules.iter().map(|rule| rules.show_rule(rule).to_string());
        rules.collect()
    };
    assert_eq!(shown(&rules), shown(&again), "the rules stay the same");
});
