//! How long the analysis of a rulesheet for an editor takes: `cargo run --release -p panza-lab
//! --example sheet_time -- FILE [COPIES]`. COPIES is the number of copies of the statements, each
//! with names of its own.

use std::time::Instant;

use panza_gdl::Lines;
use panza_hrf::Dialect;
use panza_ide::Sheet;

const RUNS: u32 = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("expected a file")?;
    let n_copies: usize = arguments.next().map_or(Ok(1), |number| number.parse())?;
    let text = String::from_utf8_lossy(&std::fs::read(&file)?).into_owned();
    let copies = (1..n_copies).map(|copy| text.replace("(true (", &format!("(true (of{copy}_")));
    let text: String = std::iter::once(text.clone()).chain(copies).collect();
    let mut times = Vec::new();
    let mut sheet = Sheet::read(Dialect::Kif, "");
    for _ in 0..RUNS {
        let begin = Instant::now();
        sheet = Sheet::read(Dialect::Kif, text.clone());
        times.push(begin.elapsed());
    }
    times.sort();
    println!(
        "{file}: {} bytes, {} lines, {} names, {} places, {} diagnostics, {:.1?} (median of {RUNS})",
        text.len(),
        Lines::of(&text).count(),
        sheet.outline.names.len(),
        sheet.outline.occurrences.len(),
        sheet.diagnostics.len(),
        times[times.len() / 2],
    );
    Ok(())
}
