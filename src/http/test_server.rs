//! A loopback HTTP server for tests.
//!
//! Owns one listener and a log of requests. Answers come from a function, so each test reads as
//! the story of one server.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

/// An answer; `length` overrides the announced length of the body.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    length: Option<usize>,
}

impl Answer {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            body: body.into(),
            ..Self::default()
        }
    }

    /// The connection ends without an answer.
    pub(crate) fn none() -> Self {
        Self::default()
    }

    pub(crate) fn tags(tags: &[String]) -> Self {
        let list = serde_json::json!({ "name": "x", "tags": tags });
        Self::new(200, list.to_string())
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn announced_length(mut self, length: usize) -> Self {
        self.length = Some(length);
        self
    }
}

pub(crate) struct Server {
    pub(crate) host: String,
    log: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Starts a server; the function gets the number of the request, from 0, and the request.
    pub(crate) fn start(answer: impl Fn(usize, &Seen) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let log = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&log);
        // The thread ends with the test process; every answer closes its connection.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let Some(seen) = read_request(&stream) else {
                    continue;
                };
                let number = {
                    let mut log = shared.lock().unwrap();
                    log.push(seen.clone());
                    log.len() - 1
                };
                write_answer(stream, &answer(number, &seen));
            }
        });
        Self { host, log }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn targets(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.target).collect()
    }
}

fn read_request(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut lines = reader.by_ref().lines().map_while(Result::ok);
    let first = lines.next()?;
    let (method, target) = first.split_once(' ')?;
    let (method, target) = (method.to_owned(), target.split(' ').next()?.to_owned());
    let headers: HashMap<String, String> = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        })
        .collect();
    let length = headers.get("content-length").map_or(Ok(0), |n| n.parse());
    let mut body = vec![0; length.ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Seen {
        method,
        target,
        headers,
        body: String::from_utf8(body).ok()?,
    })
}

fn write_answer(mut stream: TcpStream, answer: &Answer) {
    if answer.status == 0 {
        return;
    }
    let mut head = format!("HTTP/1.1 {} X\r\nConnection: close\r\n", answer.status);
    let length = answer.length.unwrap_or(answer.body.len());
    head.push_str(&format!("Content-Length: {length}\r\n"));
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    // The client may hang up early; the test then judges by what it got.
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(&answer.body);
}
