//! The values of settings about access: networks, host names, origins, a secret.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Limit on a list of networks or host names, in bytes.
pub(super) const LONGEST_LIST: usize = 1000;
/// Bounds of the length of a secret, in bytes.
pub(super) const SECRET_BYTES: (usize, usize) = (16, 200);

/// Addresses of clients: those of some networks, or all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Networks {
    text: String,
    /// `None` for all addresses.
    networks: Option<Vec<Network>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    /// The leading bits that an address of the network shares with `address`.
    n_bits: u32,
}

impl Networks {
    /// Reads `all`, or addresses and networks such as `192.0.2.7, 10.0.0.0/8`; nothing if it is
    /// neither.
    pub(super) fn read(text: &str) -> Option<Networks> {
        if text.len() > LONGEST_LIST {
            return None;
        }
        let networks = match text {
            "all" => None,
            _ => Some(text.split(',').map(Network::read).collect::<Option<_>>()?),
        };
        Some(Networks {
            text: text.to_string(),
            networks,
        })
    }

    /// Whether the address is one of them. An IPv4 address may be written in its IPv6 form.
    pub fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        match &self.networks {
            None => true,
            Some(networks) => networks.iter().any(|network| network.contains(address)),
        }
    }
}

impl Network {
    fn read(text: &str) -> Option<Network> {
        let text = text.trim();
        let (address, n_bits) = match text.split_once('/') {
            Some((address, n_bits)) => (address, Some(n_bits.parse::<u32>().ok()?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let n_bits = n_bits.unwrap_or(most);
        (n_bits <= most).then_some(Network { address, n_bits })
    }

    fn contains(&self, address: IpAddr) -> bool {
        // A shift by all bits leaves none, which are equal.
        match (self.address, address) {
            (IpAddr::V4(ours), IpAddr::V4(other)) => {
                let differing = ours.to_bits() ^ other.to_bits();
                differing.checked_shr(32 - self.n_bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(ours), IpAddr::V6(other)) => {
                let differing = ours.to_bits() ^ other.to_bits();
                differing.checked_shr(128 - self.n_bits).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl TryFrom<String> for Networks {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::read(&text).ok_or("not a list of networks")
    }
}

impl From<Networks> for String {
    fn from(networks: Networks) -> String {
        networks.text
    }
}

/// Names of hosts, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostNames {
    names: Vec<String>,
}

impl HostNames {
    /// Reads `none`, or names such as `panza.example.org, panza`; nothing if it is neither.
    pub(super) fn read(text: &str) -> Option<HostNames> {
        if text.len() > LONGEST_LIST {
            return None;
        }
        if text == "none" {
            return Some(HostNames { names: Vec::new() });
        }
        let names = text.split(',').map(|name| {
            let name = name.trim();
            let is_name = !name.is_empty() && name.bytes().all(is_plain);
            is_name.then(|| name.to_ascii_lowercase())
        });
        let names = names.collect::<Option<_>>()?;
        Some(HostNames { names })
    }

    /// Whether the name is one of them, in any letter case.
    pub fn contain(&self, name: &str) -> bool {
        self.names
            .iter()
            .any(|ours| ours.eq_ignore_ascii_case(name))
    }
}

impl TryFrom<String> for HostNames {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::read(&text).ok_or("not a list of host names")
    }
}

impl From<HostNames> for String {
    fn from(names: HostNames) -> String {
        match names.names.as_slice() {
            [] => "none".to_string(),
            names => names.join(", "),
        }
    }
}

/// Origins of web pages, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Origins {
    origins: Vec<String>,
}

impl Origins {
    /// Reads `none`, or origins such as `https://ggp.example.org, http://localhost:8080`; nothing
    /// if it is neither.
    pub(super) fn read(text: &str) -> Option<Origins> {
        if text.len() > LONGEST_LIST {
            return None;
        }
        if text == "none" {
            return Some(Origins {
                origins: Vec::new(),
            });
        }
        let origins = text.split(',').map(|origin| {
            let origin = origin.trim().to_ascii_lowercase();
            let (scheme, host) = origin.split_once("://")?;
            let is_scheme = scheme.bytes().all(|byte| is_plain(byte) || byte == b'+');
            let is_host = host
                .bytes()
                .all(|byte| is_plain(byte) || b":[]".contains(&byte));
            let is_origin = !scheme.is_empty() && is_scheme && !host.is_empty() && is_host;
            is_origin.then_some(origin)
        });
        let origins = origins.collect::<Option<_>>()?;
        Some(Origins { origins })
    }

    /// Whether the origin is one of them, in any letter case.
    pub fn contain(&self, origin: &str) -> bool {
        let mut origins = self.origins.iter();
        origins.any(|ours| ours.eq_ignore_ascii_case(origin))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.origins.iter().map(String::as_str)
    }
}

impl TryFrom<String> for Origins {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::read(&text).ok_or("not a list of origins")
    }
}

impl From<Origins> for String {
    fn from(origins: Origins) -> String {
        match origins.origins.as_slice() {
            [] => "none".to_string(),
            origins => origins.join(", "),
        }
    }
}

/// A secret word, or none. It is never shown or written: settings are part of match logs.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Secret {
    word: Option<String>,
}

impl Secret {
    /// Reads `none`, or a word of letters, digits, `-`, `_` and `.`; nothing if it is neither.
    pub(super) fn read(text: &str) -> Option<Secret> {
        let (least, most) = SECRET_BYTES;
        let word = match text {
            "none" => None,
            _ if (least..=most).contains(&text.len()) && text.bytes().all(is_plain) => {
                Some(text.to_string())
            }
            _ => return None,
        };
        Some(Secret { word })
    }

    /// The secret itself, for the client that has shown it.
    pub fn word(&self) -> Option<&str> {
        self.word.as_deref()
    }

    /// Whether there is a secret and `shown` is it. The time depends on the length of `shown`
    /// only, so that it tells nothing about the secret.
    pub fn is(&self, shown: &str) -> bool {
        let Some(word) = self.word.as_deref().map(str::as_bytes) else {
            return false;
        };
        let mut difference = usize::from(word.len() != shown.len());
        for (at, byte) in shown.bytes().enumerate() {
            // A secret is not empty.
            difference |= usize::from(byte ^ word[at % word.len()]);
            difference = std::hint::black_box(difference);
        }
        difference == 0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.word.is_some() {
            "hidden"
        } else {
            "none"
        })
    }
}

impl TryFrom<String> for Secret {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::read(&text).ok_or("not a secret")
    }
}

impl From<Secret> for String {
    fn from(secret: Secret) -> String {
        format!("{secret:?}")
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_contain_their_addresses() {
        let contains = |networks: &str, address: &str| {
            let networks = Networks::read(networks).unwrap();
            networks.contain(address.parse().unwrap())
        };
        let some = "192.0.2.7, 10.0.0.0/8,2001:db8::/33";
        for inside in [
            "192.0.2.7",
            "::ffff:192.0.2.7",
            "10.255.0.1",
            "2001:db8:7fff::1",
        ] {
            assert!(contains(some, inside), "{inside}");
        }
        for outside in [
            "192.0.2.6",
            "11.0.0.1",
            "2001:db8:8000::1",
            "::1",
            "127.0.0.1",
        ] {
            assert!(!contains(some, outside), "{outside}");
            assert!(contains("all", outside), "{outside}");
            assert!(contains("0.0.0.0/0, ::/0", outside), "{outside}");
        }
        for text in [
            "",
            "none",
            "10.0.0.0/33",
            "::/129",
            "1.2.3",
            "1.2.3.4,",
            "1.2.3.4/-1",
            "x",
        ] {
            assert_eq!(Networks::read(text), None, "{text:?}");
        }
    }

    #[test]
    fn host_names_are_compared_in_any_letter_case() {
        let names = HostNames::read("Panza.example.org, panza").unwrap();
        assert!(names.contain("PANZA") && names.contain("panza.example.ORG"));
        assert!(!names.contain("example.org") && !names.contain(""));
        assert!(!HostNames::read("none").unwrap().contain("none"));
        for text in ["", "a,,b", "a b", "http://a", "a:1"] {
            assert_eq!(HostNames::read(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_secret_is_only_itself_and_never_shown() {
        let word = "0123456789abcdef";
        let secret = Secret::read(word).unwrap();
        assert!(secret.is(word));
        let doubled = word.repeat(2);
        for other in ["", "0", "0123456789abcdeF", "none", "hidden", &doubled] {
            assert!(!secret.is(other), "{other}");
        }
        assert_eq!(format!("{secret:?}"), "hidden");
        assert_eq!(String::from(secret), "hidden");
        let none = Secret::read("none").unwrap();
        assert!(!none.is("none") && !none.is(""));
        for text in [
            "",
            "hidden",
            "too short",
            "0123456789 abcdef",
            "0123456789abcde;",
        ] {
            assert!(Secret::read(text).is_none(), "{text:?}");
        }
    }
}
