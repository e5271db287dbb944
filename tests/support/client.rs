//! A server on a port of its own, and a client that sends raw bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use panza_config::Settings;
use panza_player::GameBuilders;
use tokio::sync::oneshot;

/// A server that ends with this.
pub struct Running {
    pub address: SocketAddr,
    /// The log service.
    pub logs: Option<SocketAddr>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// An answer, taken apart.
#[derive(Debug)]
pub struct Answer {
    pub status: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn code(&self) -> &str {
        self.status.split(' ').nth(1).unwrap_or("")
    }
}

impl Running {
    /// Starts a server.
    pub fn new(settings: Settings, factories: GameBuilders) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (report, listening) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            let shutdown = async {
                let _ = stopped.await;
            };
            let on_listening = move |listens: panza_server::Listening| {
                report.send((listens.address, listens.logs)).unwrap();
            };
            runtime
                .block_on(panza_server::serve(
                    &settings,
                    factories,
                    shutdown,
                    on_listening,
                ))
                .unwrap();
        });
        let (address, logs) = listening.recv_timeout(PATIENCE).unwrap();
        Self {
            address,
            logs,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// A new connection.
    pub fn connect(&self) -> TcpStream {
        connect(self.address)
    }

    /// Sends bytes and reads the answer up to the end of the connection.
    pub fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        read_to_end(stream)
    }

    /// Sends a message as ggp-base does and returns the body of the answer, after looking at the
    /// rest of it.
    pub fn ask(&self, message: &str) -> String {
        let answer = self.raw(ggp_base(message).as_bytes());
        check_ggp(&answer);
        answer.body
    }

    /// Sends a message without waiting for its answer.
    pub fn send(&self, message: &str) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(ggp_base(message).as_bytes()).unwrap();
        stream
    }

    /// INFO must find the player available.
    pub fn assert_available(&self) {
        assert_eq!(self.ask("( INFO )"), AVAILABLE);
    }

    /// Ends the server.
    pub fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.stop();
        }
    }
}

pub const AVAILABLE: &str = "( ( name Panza ) ( status available ) ( species alien ) )";
pub const BUSY: &str = "( ( name Panza ) ( status busy ) ( species alien ) )";

/// How long a test waits for something that happens as soon as the processor is free for it.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A new connection. A read that takes longer than [`PATIENCE`] is an error.
pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends a request and reads the answer up to the end of the connection.
pub fn send(address: SocketAddr, request: &str) -> Answer {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    read_to_end(stream)
}

/// A request as ggp-base writes it: its `Content-Length` counts characters.
pub fn ggp_base(message: &str) -> String {
    format!(
        "POST / HTTP/1.0\r\nAccept: text/delim\r\nHost: localhost\r\nSender: GAMESERVER\r\nReceiver: Panza\r\n\
         Content-Type: text/acl\r\nContent-Length: {}\r\n\r\n{message}",
        message.chars().count()
    )
}

/// Everything that every answer to a message has.
pub fn check_ggp(answer: &Answer) {
    assert_eq!(answer.code(), "200", "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("text/acl"));
    check_common(answer);
    assert!(!answer.body.is_empty());
}

/// What every answer has.
pub fn check_common(answer: &Answer) {
    let expected = [
        ("content-length", answer.body.len().to_string()),
        ("access-control-allow-origin", "*".into()),
        ("access-control-allow-methods", "POST, GET, OPTIONS".into()),
        ("access-control-allow-headers", "Content-Type".into()),
        ("access-control-max-age", "86400".into()),
    ];
    for (name, value) in expected {
        assert_eq!(
            answer.header(name),
            Some(value.as_str()),
            "{name} in {answer:?}"
        );
    }
    assert_eq!(answer.header("transfer-encoding"), None);
}

/// Reads an answer from a connection that the server closes.
pub fn read_to_end(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let _ = stream.shutdown(Shutdown::Both);
    taken_apart(&bytes)
}

/// Reads one answer of known length from a connection that stays open.
pub fn read_one(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        bytes.push(byte[0]);
    }
    let head = taken_apart(&bytes);
    let length: usize = head.header("content-length").unwrap().parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    Answer {
        body: String::from_utf8(body).unwrap(),
        ..head
    }
}

fn taken_apart(bytes: &[u8]) -> Answer {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("no answer, but {text:?}"));
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().to_string();
    let headers = lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_string()))
        .collect();
    Answer {
        status,
        headers,
        body: body.to_string(),
    }
}
