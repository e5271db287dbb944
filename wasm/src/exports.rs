//! What JavaScript calls, and what it gives.
//!
//! Texts and bytes cross in one buffer: JavaScript asks for room (`panza_room`), writes there, and
//! calls a function that says how the bytes are divided. A reply stays until the next call that
//! makes one. `wasm/README.md` has the table of all functions.
//!
//! Invariants: the state is borrowed by one call at a time, and no function of the host calls the
//! module; a panic reaches the host (`ended`) before the module traps.

#![expect(
    unsafe_code,
    reason = "names of functions that cross; no pointer is read here"
)]

use std::cell::RefCell;
use std::time::Duration;

use super::storage::Told;
use super::{Host, Outcome};
use panza_web::PageReply;
use panza_web::pages::{Method, PageStatus};

#[link(wasm_import_module = "panza")]
unsafe extern "C" {
    safe fn keep(name: *const u8, name_length: usize, text: *const u8, text_length: usize);
    safe fn forget(name: *const u8, name_length: usize);
    safe fn ended(text: *const u8, text_length: usize);
}

/// Everything, between two calls.
struct State {
    /// What JavaScript has written.
    buffer: Vec<u8>,
    storage: Told,
    host: Option<Host>,
    reply: PageReply,
}

thread_local!(static STATE: RefCell<State> = RefCell::new(State {
    buffer: Vec::new(),
    storage: Told::new(Box::new(|name, bytes| match bytes {
        Some(bytes) => keep(name.as_ptr(), name.len(), bytes.as_ptr(), bytes.len()),
        None => forget(name.as_ptr(), name.len()),
    })),
    host: None,
    reply: PageReply::text(PageStatus::Ok, ""),
}));

fn with<T>(act: impl FnOnce(&mut State) -> T) -> T {
    STATE.with_borrow_mut(act)
}

impl State {
    /// The first bytes of the buffer as a text, and the others.
    fn divided(&mut self, first: usize) -> (String, Vec<u8>) {
        let mut bytes = std::mem::take(&mut self.buffer);
        let others = bytes.split_off(first.min(bytes.len()));
        (String::from_utf8_lossy(&bytes).into_owned(), others)
    }
}

/// Makes a buffer of `length` bytes, which the next call takes, and returns its address.
#[unsafe(no_mangle)]
extern "C" fn panza_room(length: usize) -> *mut u8 {
    with(|state| {
        state.buffer = vec![0; length];
        state.buffer.as_mut_ptr()
    })
}

/// Takes a file that was kept before. The first `name_length` bytes of the buffer are its name, the
/// others its text.
#[unsafe(no_mangle)]
extern "C" fn panza_kept(name_length: usize) {
    with(|state| {
        let (name, text) = state.divided(name_length);
        state.storage.take(name, text);
    });
}

/// Begins; this number of companions searches the match too. Returns 0, or 1 and why not as the
/// reply.
#[unsafe(no_mangle)]
extern "C" fn panza_new(companions: usize) -> u32 {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        ended(text.as_ptr(), text.len());
    }));
    with(
        |state| match Host::new(Box::new(state.storage.clone()), companions) {
            Ok(host) => {
                state.host = Some(host);
                0
            }
            Err(why) => {
                state.reply = PageReply::text(PageStatus::Failed, why);
                1
            }
        },
    )
}

/// Answers a request. The first `address_length` bytes of the buffer are the address, the others the
/// body. Returns 0 where the reply is there, else the key under which it waits.
#[unsafe(no_mangle)]
extern "C" fn panza_request(is_post: u32, address_length: usize) -> u32 {
    with(|state| {
        let (address, body) = state.divided(address_length);
        let method = if is_post == 0 {
            Method::Get
        } else {
            Method::Post
        };
        let outcome = match &mut state.host {
            Some(host) => host.request(method, &address, body),
            None => Outcome::Reply(PageReply::text(PageStatus::Failed, "it has not begun\n")),
        };
        match outcome {
            Outcome::Reply(reply) => {
                state.reply = reply;
                0
            }
            Outcome::Waits(key) => key,
        }
    })
}

/// The key of a request that waited and has its reply now; 0 where there is none.
#[unsafe(no_mangle)]
extern "C" fn panza_finished() -> u32 {
    with(|state| {
        let found = state.host.as_mut().and_then(Host::finished);
        found.map_or(0, |(key, reply)| {
            state.reply = reply;
            key
        })
    })
}

/// Works for about `milliseconds`. Returns after how many milliseconds it is to be called again.
#[unsafe(no_mangle)]
extern "C" fn panza_work(milliseconds: f64) -> f64 {
    with(|state| {
        let time = Duration::try_from_secs_f64(milliseconds / 1000.0).unwrap_or_default();
        let host = state.host.as_mut();
        host.map_or(1e9, |host| 1000.0 * host.work(time).as_secs_f64())
    })
}

/// The status of the reply, as of HTTP.
#[unsafe(no_mangle)]
extern "C" fn panza_status() -> u32 {
    with(|state| state.reply.status as u32)
}

/// Where the type of the reply is, and its length.
#[unsafe(no_mangle)]
extern "C" fn panza_type() -> *const u8 {
    with(|state| state.reply.content_type.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn panza_type_length() -> usize {
    with(|state| state.reply.content_type.len())
}

/// Where the reply is, and its length.
#[unsafe(no_mangle)]
extern "C" fn panza_body() -> *const u8 {
    with(|state| state.reply.body.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn panza_body_length() -> usize {
    with(|state| state.reply.body.len())
}
