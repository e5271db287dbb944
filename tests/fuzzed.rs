//! A bounded fuzz run, the same on every machine: the targets of `fuzz/` on their mutated seeds.
//!
//! Bytes are flipped, parts cut, doubled, moved and taken from other seeds; parentheses and words
//! of the formats are put in, and lists nested deeply.

#[path = "../fuzz/src/lib.rs"]
mod targets;

use std::cell::Cell;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use panza_sync::{Random, thread_cpu_time};
use targets::mutate::{below, mutate};
use targets::{SERVER_THREAD, TARGETS, Target};

/// Texts are cut to this many bytes before they are mutated.
const LONGEST: usize = 1500;
/// Mutations of one text, at most.
const MUTATIONS: usize = 6;
/// No reader takes this much processor time, by far.
const SLOW: Duration = Duration::from_secs(20);

/// Makes the parentheses match, for faults further inside.
fn close(text: &mut String) {
    let mut depth = 0usize;
    let mut is_comment = false;
    text.retain(|character| {
        match character {
            ';' => is_comment = true,
            '\n' | '\r' => is_comment = false,
            '(' if !is_comment => depth += 1,
            ')' if !is_comment => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            _ => {}
        }
        true
    });
    text.push('\n');
    text.extend(std::iter::repeat_n(')', depth));
}

/// Panics on threads of the server, which has caught them.
static SERVER_PANICS: AtomicUsize = AtomicUsize::new(0);

fn count_server_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().name() == Some(SERVER_THREAD) {
                SERVER_PANICS.fetch_add(1, Ordering::Relaxed);
            }
            usual(info);
        }));
    });
}

fn target(name: &str) -> &'static Target {
    let found = TARGETS.iter().find(|target| target.name == name);
    found.expect("the target exists")
}

/// Runs a target on all seeds, and on `cases` mutations of them.
fn run(name: &str, cases: usize) {
    run_on(name, cases, |text, _| text);
}

/// The same; `finish` changes each mutated text last, knowing its number.
fn run_on(name: &str, cases: usize, finish: impl Fn(Vec<u8>, usize) -> Vec<u8>) {
    count_server_panics();
    let target = target(name);
    let seeds = (target.seeds)();
    let mut random = Random::new(0x9d1);
    let mutated = (0..cases).map(|case| {
        let seed = &seeds[below(&mut random, seeds.len())];
        let start = below(&mut random, seed.len().saturating_sub(LONGEST));
        // From the beginning of a line, so that pairs often match.
        let start = seed[..start].iter().rposition(|&byte| byte == b'\n');
        let start = start.map_or(0, |at| at + 1);
        let length = LONGEST / 8 + below(&mut random, LONGEST);
        let mut text = seed[start..(start + length).min(seed.len())].to_vec();
        for _ in 0..below(&mut random, MUTATIONS) {
            mutate(&mut text, &seeds, &mut random);
        }
        finish(text, case)
    });
    let mutated: Vec<Vec<u8>> = mutated.collect();
    for input in seeds.iter().chain(&mutated) {
        let begin = thread_cpu_time();
        let outcome = std::panic::catch_unwind(|| (target.run)(input));
        let shown = || input.escape_ascii().to_string();
        if let Err(panic) = outcome {
            eprintln!("{name} fails on b\"{}\"", shown());
            std::panic::resume_unwind(panic);
        }
        let time = thread_cpu_time().zip(begin).map(|(end, begin)| end - begin);
        assert!(
            time < Some(SLOW),
            "{name} takes {time:?} on b\"{}\"",
            shown()
        );
        let n_panics = SERVER_PANICS.load(Ordering::Relaxed);
        assert_eq!(n_panics, 0, "the server panics on b\"{}\"", shown());
    }
}

#[test]
fn rulesheets() {
    const CASES: usize = 3000;
    let laid_out = Cell::new(0);
    run_on("rules", CASES, |text, case| {
        let mut text = String::from_utf8_lossy(&text).into_owned();
        if case % 2 == 0 {
            close(&mut text);
        }
        let is_sound = panza_gdl::format::format(&text).is_ok();
        laid_out.set(laid_out.get() + usize::from(is_sound));
        text.into_bytes()
    });
    let laid_out = laid_out.get();
    assert!(
        laid_out > CASES / 4,
        "only {laid_out} texts were sound enough to be laid out"
    );
}

#[test]
fn rulesheets_in_hrf() {
    run("hrf", 4000);
}

#[test]
fn messages_of_gamemaster() {
    run("gamemaster", 2000);
}

#[test]
fn messages() {
    run_on("message", 2000, |text, case| {
        let mut text = String::from_utf8_lossy(&text).into_owned();
        if case % 2 == 0 {
            close(&mut text);
        }
        text.into_bytes()
    });
}

#[test]
fn what_editors_send() {
    run("editor", 1000);
}

#[test]
fn requests() {
    run("http", 1500);
}

#[test]
fn stored_logs() {
    run("logs", 300);
}

#[test]
fn tournaments() {
    run("tournament", 500);
    run("results", 1000);
}

#[test]
fn settings() {
    run("settings", 500);
}

#[test]
fn sokoban_levels() {
    run("sokoban", 1000);
}

#[test]
fn notes() {
    run("notes", 2000);
}

#[test]
fn the_file_of_the_memory() {
    run("memory", 100);
}
