//! The places that `tests/README.md` names are there.

use std::fs;
use std::path::Path;

#[test]
fn the_table_of_tests_names_files_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("tests/README.md")).expect("it can be read");
    let rows = text.lines().filter(|line| line.starts_with("| "));
    let places = rows.filter_map(|row| row.trim_end_matches(" |").rsplit(" | ").next());
    let quoted = places.flat_map(|places| places.split('`').skip(1).step_by(2));
    let paths: Vec<&str> = quoted.filter(|place| !place.contains(' ')).collect();
    let missing: Vec<&&str> = paths
        .iter()
        .filter(|path| !root.join(path).exists())
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(paths.len() > 40, "{} places", paths.len());
}
