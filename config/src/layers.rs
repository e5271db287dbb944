//! Lays one table of settings over another, each value checked.

use super::{ConfigError, DEFAULT_TOML, KEYS, Key, Kind, OptionValue, Retired, Settings};
use std::path::Path;
use toml::{Table, Value};

const DEFAULT_PLACE: &str = "config/default.toml";

/// Keys of earlier versions that mean nothing any more, by section and name.
const RETIRED: [(&str, &str); 3] = [
    ("metagame", "tuning"),
    ("search", "ring_capacity"),
    ("search", "samples_per_request"),
];

/// Limit on a value in an error, in characters.
const LONGEST_FOUND: usize = 80;

pub(super) fn defaults() -> Result<Table, ConfigError> {
    let mut table = Table::new();
    let defaults = parse(DEFAULT_TOML, DEFAULT_PLACE)?;
    overlay(&mut table, defaults, DEFAULT_PLACE)?;
    Ok(table)
}

pub(super) fn overlay_file(table: &mut Table, path: &Path) -> Result<(), ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable {
        file: path.to_path_buf(),
        source,
    })?;
    let place = path.display().to_string();
    overlay(table, parse(&text, &place)?, &place)
}

pub(super) fn overlay_item(table: &mut Table, item: &str) -> Result<(), ConfigError> {
    let malformed = || ConfigError::Item {
        item: item.to_string(),
    };
    let (dotted, text) = item.split_once('=').ok_or_else(malformed)?;
    let (dotted, text) = (dotted.trim(), text.trim());
    if dotted.is_empty() {
        return Err(malformed());
    }
    overlay_value(table, dotted, text, &format!("--set {item}"))
}

pub(super) fn overlay_option(
    table: &mut Table,
    option: &OptionValue<'_>,
) -> Result<(), ConfigError> {
    let OptionValue { option, key, value } = option;
    overlay_value(table, key, value, &format!("{option} {value}"))
}

fn overlay_value(
    table: &mut Table,
    dotted: &str,
    text: &str,
    place: &str,
) -> Result<(), ConfigError> {
    let names = dotted.split_once('.');
    if let Some((section, name)) = names.and_then(find_retired) {
        insert_value(table, section, name, Value::String(place.to_string()));
        return Ok(());
    }
    let key = names
        .and_then(|(section, name)| find_key(section, name))
        .ok_or_else(|| unknown(place, dotted))?;
    let value = match text.parse::<Value>() {
        Ok(value) if value.is_array() && key.kind == Kind::Folders => value,
        // A single folder needs no brackets.
        _ if key.kind == Kind::Folders => Value::Array(vec![Value::String(text.to_string())]),
        Ok(value) if value.is_str() || !key.kind.is_text() => value,
        _ => Value::String(text.to_string()),
    };
    insert(table, key, value, place)
}

pub(super) fn typed(table: Table) -> Result<Settings, ConfigError> {
    // Whatever the table of keys lets through fits the structs, which a test holds together; so
    // this error would speak of a fault in the defaults.
    table.try_into().map_err(|error| ConfigError::Syntax {
        place: DEFAULT_PLACE.to_string(),
        message: error.to_string(),
    })
}

fn parse(text: &str, place: &str) -> Result<Table, ConfigError> {
    text.parse::<Table>().map_err(|error| ConfigError::Syntax {
        place: place.to_string(),
        message: error.to_string(),
    })
}

fn overlay(table: &mut Table, layer: Table, place: &str) -> Result<(), ConfigError> {
    for (section, content) in layer {
        if !KEYS.iter().any(|key| key.section == section) {
            return Err(unknown(place, &section));
        }
        let Value::Table(content) = content else {
            return Err(ConfigError::Value {
                place: place.to_string(),
                key: section.clone(),
                found: shown(&content),
                expected: format!("a section, written [{section}]"),
            });
        };
        for (name, value) in content {
            if let Some((section, name)) = find_retired((&section, &name)) {
                insert_value(table, section, name, Value::String(place.to_string()));
                continue;
            }
            let key = find_key(&section, &name)
                .ok_or_else(|| unknown(place, &format!("{section}.{name}")))?;
            insert(table, key, value, place)?;
        }
    }
    Ok(())
}

fn insert(table: &mut Table, key: &Key, value: Value, place: &str) -> Result<(), ConfigError> {
    if !key.kind.allows(&value) {
        return Err(ConfigError::Value {
            place: place.to_string(),
            key: key.dotted(),
            found: shown(&value),
            expected: key.kind.expected(),
        });
    }
    insert_value(table, key.section, key.name, value);
    Ok(())
}

fn insert_value(table: &mut Table, section: &str, name: &str, value: Value) {
    let section = table
        .entry(section)
        .or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(section) = section {
        section.insert(name.to_string(), value);
    }
}

/// Takes the retired keys out of a table: each with the place where it was given.
pub(super) fn take_retired(table: &mut Table) -> Vec<Retired> {
    let taken = RETIRED.iter().filter_map(|&(section, name)| {
        let value = table.get_mut(section)?.as_table_mut()?.remove(name)?;
        Some(Retired {
            key: format!("{section}.{name}"),
            place: value.as_str().unwrap_or_default().to_string(),
        })
    });
    taken.collect()
}

fn find_retired(names: (&str, &str)) -> Option<(&'static str, &'static str)> {
    RETIRED.iter().copied().find(|&retired| retired == names)
}

/// The error for an unknown key, with the key of that name or the keys of its section.
fn unknown(place: &str, dotted: &str) -> ConfigError {
    let (section, name) = dotted.split_once('.').unwrap_or((dotted, ""));
    let in_section = KEYS.iter().filter(|key| key.section == section);
    let in_section: Vec<&str> = in_section.map(|key| key.name).collect();
    let mut keys = KEYS.iter();
    let same_name = keys.find(|key| key.name == name || key.name == dotted);
    let expected = if let Some(key) = same_name {
        format!("`{}`", key.dotted())
    } else if in_section.is_empty() {
        let mut sections: Vec<&str> = KEYS.iter().map(|key| key.section).collect();
        sections.dedup();
        format!("a key in one of the sections {}", sections.join(", "))
    } else {
        format!("in `{section}` one of {}", in_section.join(", "))
    };
    ConfigError::UnknownKey {
        place: place.to_string(),
        key: dotted.to_string(),
        expected,
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= LONGEST_FOUND {
        return text;
    }
    let start: String = text.chars().take(LONGEST_FOUND).collect();
    format!("{start}...")
}

/// The key of this name, if there is one.
fn find_key(section: &str, name: &str) -> Option<&'static Key> {
    let mut keys = KEYS.iter();
    keys.find(|key| key.section == section && key.name == name)
}
