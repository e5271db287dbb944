//! Which pages may relay messages of Gamemaster to the player.
//!
//! Messages are taken from browsers of this machine, under a known host name, in two cases. The
//! page is the player's own. Or its origin is one of `server.gamemaster_origins` and it shows the
//! key: the other pages of Gamemaster are of the same origin, and nothing but the key tells ours
//! from them. The key is `server.pages_secret`, or else random for each run.
//!
//! Never uses: what a message says.

use hyper::Request;
use hyper::header::{self, HeaderValue};

use panza_config::{Origins, Secret, ServerSettings};

/// Where messages are sent, in the only spelling that is taken.
pub(super) const PATH: &str = "/gamemaster/message";
/// Bytes of a random key, before it is written as text.
const KEY_BYTES: usize = 16;

/// Who may relay messages.
pub(super) struct GamemasterAccess {
    origins: Origins,
    key: Option<Secret>,
}

impl GamemasterAccess {
    pub fn new(settings: &ServerSettings) -> Self {
        let own = settings.pages_secret.clone();
        let key = match own.word() {
            Some(_) => Some(own),
            None => random_key(),
        };
        Self {
            origins: settings.gamemaster_origins.clone(),
            key,
        }
    }

    /// The origin of the page that sends the request, if it is one of Gamemaster's and sends
    /// messages.
    pub fn origin<B>(&self, request: &Request<B>) -> Option<HeaderValue> {
        if request.uri().path() != PATH {
            return None;
        }
        let mut origins = request.headers().get_all(header::ORIGIN).iter();
        let (Some(origin), None) = (origins.next(), origins.next()) else {
            return None;
        };
        let is_known = origin.to_str().is_ok_and(|it| self.origins.contain(it));
        is_known.then(|| origin.clone())
    }

    /// Why a page of a browser on this machine, of our own or not, may not relay a message;
    /// nothing if it may.
    pub fn refusal<B>(&self, request: &Request<B>, is_own_page: bool) -> Option<&'static str> {
        let bearer = request.headers().get(header::AUTHORIZATION);
        let word = bearer.and_then(|text| text.to_str().ok()?.strip_prefix("Bearer "));
        let shows_key = || {
            let key = self.key.as_ref();
            word.is_some_and(|word| key.is_some_and(|key| key.is(word.trim())))
        };
        (!is_own_page && !shows_key())
            .then_some("the key is missing or wrong; Panza's own page /gamemaster shows it")
    }

    /// The key, for browsers that may play here.
    pub fn key(&self) -> Option<&str> {
        self.key.as_ref().and_then(Secret::word)
    }
}

/// A key that nobody can guess; none if the system gives no random numbers, and then no page but
/// the player's own may relay messages.
fn random_key() -> Option<Secret> {
    let mut bytes = [0; KEY_BYTES];
    if let Err(error) = getrandom::fill(&mut bytes) {
        tracing::warn!("there is no key for the page of Gamemaster: {error}");
        return None;
    }
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Secret::try_from(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ() {
        let [first, second] = [random_key(), random_key()].map(|key| key.expect("random numbers"));
        assert!(first != second && first.word().is_some_and(|word| word.len() == 2 * KEY_BYTES));
    }
}
