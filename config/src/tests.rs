//! What is loaded, what is refused, and in which words.

use super::*;
use std::fs;

fn set(items: &[&str]) -> Result<Settings, ConfigError> {
    let items: Vec<String> = items.iter().map(|item| item.to_string()).collect();
    Settings::load(None, &items)
}

fn error_of(items: &[&str]) -> String {
    set(items)
        .expect_err("these settings are wrong")
        .to_string()
}

/// Loads `text` as a user file and returns the error, with the file's name shortened to
/// `user.toml`.
fn file_error(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("user.toml");
    fs::write(&path, text).unwrap();
    Settings::load(Some(&path), &[])
        .expect_err("this file is wrong")
        .to_string()
        .replace(&path.display().to_string(), "user.toml")
}

#[test]
fn the_defaults_load() {
    let settings = set(&[]).unwrap();
    assert_eq!(settings.server.name, "Panza");
    assert_eq!(settings.server.listen, "127.0.0.1:9147".parse().unwrap());
    assert_eq!(settings.server.max_message_bytes, 16 * 1024 * 1024);
    assert_eq!(settings.server.idle_abort, Duration::from_secs(600));
    assert_eq!(settings.player.margin, Duration::from_millis(500));
    assert_eq!(settings.search.threads, 0);
    // No working directory of a test holds logs.
    let state = state_folder().unwrap_or_default();
    assert_eq!(settings.logs.folder, state.join("logs"));
    assert_eq!(settings.logs.level, Level::INFO);
}

#[test]
fn a_file_goes_over_the_defaults_and_items_go_over_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("user.toml");
    fs::write(
        &path,
        "[search]\nthreads = 3\nseed = 11\n[player]\nmargin_seconds = 2\n",
    )
    .unwrap();
    let items = [
        "search.threads=7".to_string(),
        "search.threads=5".to_string(),
    ];
    let settings = Settings::load(Some(&path), &items).unwrap();
    let default = set(&[]).unwrap();
    assert_eq!(settings.search.threads, 5);
    assert_eq!(settings.search.seed, 11);
    assert_eq!(settings.player.margin, Duration::from_secs(2));
    assert_eq!(settings.search.max_nodes, default.search.max_nodes);
    assert_eq!(settings.server, default.server);
}

#[test]
fn item_values_are_toml_or_else_text() {
    let settings = set(&[
        "server.name=Rocinante",
        "server.listen = \"[::1]:0\"",
        "search.pin_threads=false",
        "player.margin_seconds=1",
        "search.exploration=0.25",
        "search.max_nodes=3_000_000",
        "logs.folder=/tmp/a=b",
        "logs.level=debug",
    ])
    .unwrap();
    assert_eq!(settings.server.name, "Rocinante");
    assert_eq!(settings.server.listen, "[::1]:0".parse().unwrap());
    assert!(!settings.search.pin_threads);
    assert_eq!(settings.player.margin, Duration::from_secs(1));
    assert_eq!(settings.search.exploration, 0.25);
    assert_eq!(settings.search.max_nodes, 3_000_000);
    assert_eq!(settings.logs.folder, Path::new("/tmp/a=b"));
    assert_eq!(settings.logs.level, Level::DEBUG);
    // A text that happens to look like a number or a flag is still that text.
    assert_eq!(set(&["server.name=42"]).unwrap().server.name, "42");
    assert_eq!(set(&["server.name=true"]).unwrap().server.name, "true");
}

#[test]
fn folders_are_a_list_or_one_text() {
    let folders = |item: &str| set(&[item]).map(|settings| settings.games.folders);
    let one = folders("games.folders=../my games").unwrap();
    assert_eq!(one, [Path::new("../my games")]);
    let two = folders("games.folders=[\"a\", \"b\"]").unwrap();
    assert_eq!(two, [Path::new("a"), Path::new("b")]);
    assert!(folders("games.folders=[]").unwrap().is_empty());
    for wrong in ["[1]", "[\"\"]", ""] {
        let message = error_of(&[&format!("games.folders={wrong}")]);
        assert!(
            message.contains("expected up to 64 folders like"),
            "{message}"
        );
    }
    let many = format!("games.folders={:?}", ["a"; 65]);
    assert!(folders(&many).is_err());
}

#[test]
fn a_value_out_of_range_is_named_with_its_range() {
    assert_eq!(
        error_of(&["search.threads=99999"]),
        "--set search.threads=99999: `search.threads` is 99999; \
         expected a whole number from 0 to 1024"
    );
    assert_eq!(
        error_of(&["player.margin_seconds=-0.5"]),
        "--set player.margin_seconds=-0.5: `player.margin_seconds` is -0.5; \
         expected a number from 0 to 30"
    );
    assert_eq!(
        error_of(&["search.exploration=nan"]),
        "--set search.exploration=nan: `search.exploration` is nan; \
         expected a number from 0 to 10"
    );
    assert_eq!(
        file_error("[server]\nlisten = \"localhost\"\n"),
        "user.toml: `server.listen` is \"localhost\"; \
         expected an IP address or host name and port, such as 127.0.0.1:9147"
    );
    assert_eq!(
        file_error("[server]\nname = \"two words\"\n"),
        "user.toml: `server.name` is \"two words\"; \
         expected 1 to 40 ASCII letters, digits, `-`, `_` or `.`"
    );
    assert_eq!(
        file_error("[logs]\nlevel = \"loud\"\n"),
        "user.toml: `logs.level` is \"loud\"; expected one of error, warn, info, debug, trace"
    );
}

#[test]
fn a_host_name_is_an_address() {
    let settings = set(&["server.listen=localhost:9147"]).unwrap();
    assert_eq!(settings.server.listen, "127.0.0.1:9147".parse().unwrap());
}

#[test]
fn an_option_goes_over_items_and_is_named_in_errors() {
    let items = ["server.name=Bob".to_string()];
    let load = |value| {
        let key = "server.name";
        let option = OptionValue {
            option: "--name",
            key,
            value,
        };
        Settings::load_with_options(None, &items, &[option])
    };
    assert_eq!(load("Ada").unwrap().server.name, "Ada");
    let error = load("two words").unwrap_err().to_string();
    assert!(
        error.starts_with("--name two words: `server.name` is "),
        "{error}"
    );
}

#[test]
fn a_value_of_the_wrong_type_is_named() {
    assert_eq!(
        file_error("[search]\nthreads = \"many\"\n"),
        "user.toml: `search.threads` is \"many\"; expected a whole number from 0 to 1024"
    );
    assert_eq!(
        file_error("[search]\npin_threads = 1\n"),
        "user.toml: `search.pin_threads` is 1; expected true or false"
    );
    assert_eq!(
        file_error("server = 3\n"),
        "user.toml: `server` is 3; expected a section, written [server]"
    );
    assert_eq!(
        error_of(&["search.threads=1\n[x]"]),
        "--set search.threads=1\n[x]: `search.threads` is \"\"\"\n1\n[x]\"\"\"; \
         expected a whole number from 0 to 1024"
    );
}

#[test]
fn a_long_wrong_value_is_cut_in_the_error() {
    let error = file_error(&format!("[server]\nname = \"{}\"\n", "x".repeat(1000)));
    assert!(error.len() < 250, "{error}");
    assert!(error.contains("xxx...; expected"), "{error}");
}

#[test]
fn an_unknown_key_is_named_with_what_it_could_be() {
    assert_eq!(
        file_error("[logs]\nfile = \"x\"\n"),
        "user.toml: there is no setting `logs.file`; \
         expected in `logs` one of folder, level, match_logs, max_mib"
    );
    assert_eq!(
        file_error("[serach]\nthreads = 2\n"),
        "user.toml: there is no setting `serach`; \
         expected a key in one of the sections server, player, search, metagame, logs, memory, games"
    );
    assert_eq!(
        error_of(&["threads=2"]),
        "--set threads=2: there is no setting `threads`; expected `search.threads`"
    );
    assert_eq!(
        error_of(&["player.seed=2"]),
        "--set player.seed=2: there is no setting `player.seed`; expected `search.seed`"
    );
}

#[test]
fn a_key_that_has_gone_is_named_and_ignored() {
    let items = ["search.ring_capacity=64", "metagame.tuning=maybe"].map(str::to_string);
    let settings = Settings::load(None, &items).unwrap();
    let retired = [
        ("metagame.tuning", "--set metagame.tuning=maybe"),
        ("search.ring_capacity", "--set search.ring_capacity=64"),
    ];
    let retired = retired.map(|(key, place)| Retired {
        key: key.to_string(),
        place: place.to_string(),
    });
    assert_eq!(settings.retired, retired);
    let expected = Settings::load(None, &[]).unwrap();
    assert_eq!(
        (expected.metagame, expected.retired),
        (settings.metagame, Vec::new())
    );
}

#[test]
fn an_item_without_key_or_value_is_refused() {
    for item in ["search.threads", "=3", "  =3"] {
        assert_eq!(
            error_of(&[item]),
            format!("--set {item}: expected KEY=VALUE, for example `search.threads=7`")
        );
    }
}

#[test]
fn a_byte_order_mark_in_front_of_a_file_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("user.toml");
    fs::write(&path, "\u{feff}[memory]\nenabled = false\n").unwrap();
    let settings = Settings::load(Some(&path), &[]).unwrap();
    assert!(!settings.memory.enabled);
}

#[test]
fn a_file_that_is_no_toml_or_is_missing_is_named() {
    let error = file_error("[search]\nthreads = = 3\n");
    assert!(error.starts_with("user.toml: not a TOML file: "), "{error}");
    assert!(error.contains("line 2"), "{error}");

    let missing = Path::new("no-such-folder/panza.toml");
    let error = Settings::load(Some(missing), &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no-such-folder/panza.toml: the settings cannot be read"
    );
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn the_settings_written_as_toml_load_to_the_same() {
    let settings = set(&[
        "player.margin_seconds=0.1",
        "logs.level=warn",
        "search.seed=5",
    ])
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("written.toml");
    fs::write(&path, settings.to_toml()).unwrap();
    assert_eq!(Settings::load(Some(&path), &[]).unwrap(), settings);
}

#[test]
fn both_bounds_of_every_number_belong_to_its_range() {
    for key in KEYS {
        let bounds = match key.kind {
            Kind::Integer { low, high } => [low.to_string(), high.to_string()],
            Kind::Number { low, high } => [low.to_string(), high.to_string()],
            _ => continue,
        };
        for bound in &bounds {
            let item = format!("{}={bound}", key.dotted());
            assert!(set(&[&item]).is_ok(), "{item}");
        }
        let beyond = match key.kind {
            Kind::Integer { low, .. } => (low - 1).to_string(),
            Kind::Number { high, .. } => (high + 0.001).to_string(),
            _ => continue,
        };
        let item = format!("{}={beyond}", key.dotted());
        assert!(set(&[&item]).is_err(), "{item}");
    }
}
