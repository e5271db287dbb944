//! Connections that send a byte now and then, all from one thread. One that the server closes is
//! opened again.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::client::post;

/// Time from one byte of a connection to the next.
const EVERY: Duration = Duration::from_millis(500);

/// What became of the connections.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Dribbled {
    pub bytes: u64,
    pub answers: u64,
    pub closed: u64,
}

/// Dribbles on `count` connections until `stop` is set.
pub fn dribble(address: SocketAddr, count: usize, stop: &AtomicBool) -> Dribbled {
    let request = post(b"( PLAY nothing ( noop noop ) )", true);
    let mut connections: Vec<Option<(TcpStream, usize)>> = Vec::new();
    connections.resize_with(count, || None);
    let mut done = Dribbled::default();
    let pause = EVERY / count.max(1) as u32;
    while !stop.load(Ordering::Relaxed) {
        for connection in &mut connections {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            thread::sleep(pause);
            let Some((stream, sent)) = connection else {
                // A connection that is refused is tried again in the next round.
                let opened = TcpStream::connect(address);
                *connection = opened.ok().and_then(|stream| {
                    stream.set_nonblocking(true).ok()?;
                    Some((stream, 0))
                });
                continue;
            };
            let mut answer = [0; 4096];
            let is_open = match stream.read(&mut answer) {
                Ok(0) => false,
                Ok(_) => {
                    done.answers += 1;
                    true
                }
                Err(error) => error.kind() == ErrorKind::WouldBlock,
            };
            let byte = request[*sent % request.len()];
            if is_open && matches!(stream.write(&[byte]), Ok(1)) {
                *sent += 1;
                done.bytes += 1;
            } else {
                done.closed += 1;
                *connection = None;
            }
        }
    }
    done
}
