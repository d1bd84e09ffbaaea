// SPDX-License-Identifier: Apache-2.0
//! The part of HTTP/1.1 that a scrape needs: one GET or HEAD for each connection.
//!
//! Nothing here waits for a scraper. A request is short, a connection lasts a few seconds and there
//! are few at once; when all are taken, one makes room: of the host or the user that has the most,
//! the one that has made no progress for longest.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{self, SendFlags, Shutdown, SocketFlags};
use sync::Waker;

use super::Listener;
use crate::connection_slots::{ConnectionLimits, ConnectionSlot, Entry, Peer, State};
use crate::event::{EventLoop, Interest, Ready, Token};

/// Connections at once.
pub const CONNECTIONS: usize = 64;
const LIMITS: ConnectionLimits = ConnectionLimits { all: CONNECTIONS, kept: 0 };
/// Bytes of a request with its headers.
pub const REQUEST: usize = 8 << 10;
/// Headers of a request.
const HEADERS: usize = 64;
/// Time that a scraper has to send its request, and then to read the answer.
pub const ASKING: Duration = Duration::from_secs(10);
const READING: Duration = Duration::from_secs(30);
/// Time for which further input is read and discarded, so that the scraper gets the answer before
/// the end.
const LEAVING: Duration = Duration::from_secs(2);
/// Age up to which metrics made for one scraper are served to others.
pub const FRESH: Duration = Duration::from_millis(100);
/// Pause in accepting scrapers when the system gives no descriptor.
const PAUSE: Duration = Duration::from_secs(1);

const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// The metrics.
    Metrics,
    /// A status with its reason, and a line.
    Line(&'static str, &'static str),
}

/// Returns the answer to a request, and true if it goes without the body; `None`: the request is
/// incomplete.
pub fn answer(input: &[u8]) -> Option<(Response, bool)> {
    let too_long =
        Response::Line("431 Request Header Fields Too Large", "The request is too long.");
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(input) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) if input.len() < REQUEST => return None,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Some((too_long, false));
        }
        Err(_) => return Some((Response::Line("400 Bad Request", "This is not HTTP."), false)),
    }
    let head = request.method == Some("HEAD");
    if !head && request.method != Some("GET") {
        return Some((
            Response::Line("405 Method Not Allowed", "Only GET and HEAD are served."),
            false,
        ));
    }
    let path = request.path.unwrap_or_default();
    let answer = match path.split_once('?').map_or(path, |(path, _)| path) {
        "/metrics" => Response::Metrics,
        "/" => Response::Line("200 OK", "Ferrovia's metrics are at /metrics."),
        _ => Response::Line("404 Not Found", "There is only /metrics."),
    };
    Some((answer, head))
}

/// A scraper.
struct Connection {
    fd: Rc<OwnedFd>,
    token: Token,
    until: Duration,
    phase: Phase,
    peer: Peer,
    /// Time of the last byte from the scraper or to it.
    last: Duration,
}

enum Phase {
    Asking(Vec<u8>),
    Answering { head: Vec<u8>, body: Rc<str>, sent: usize },
    Leaving,
}

struct HttpServer<F> {
    connections: BTreeMap<u64, Connection>,
    next: u64,
    make: F,
    /// The metrics made last, and the time of that.
    page: Option<(Duration, Rc<str>)>,
}

type Loop<F> = EventLoop<HttpServer<F>>;

/// Serves until `ended` returns true; `waker` makes it check. `make` makes the metrics.
///
/// # Errors
/// Errors of epoll.
pub fn serve(
    listeners: Vec<Listener>,
    waker: Arc<Waker>,
    ended: impl Fn() -> bool,
    make: impl Fn() -> io::Result<String> + 'static,
) -> io::Result<()> {
    let start = Instant::now();
    let mut events = EventLoop::new(waker, move || start.elapsed())?;
    let mut site = HttpServer { connections: BTreeMap::new(), next: 0, make, page: None };
    for listener in listeners {
        open(listener, &mut events)?;
    }
    while !ended() {
        events.turn(&mut site, |site, events| {
            if ended() { Some(Duration::ZERO) } else { expire(site, events) }
        })?;
    }
    Ok(())
}

fn open<F: Fn() -> io::Result<String> + 'static>(
    listener: Listener,
    events: &mut Loop<F>,
) -> io::Result<()> {
    let listener = Rc::new(listener);
    let (accepting, token) = (Rc::clone(&listener), Rc::new(Cell::new(None)));
    let own = Rc::clone(&token);
    let handler = move |site: &mut HttpServer<F>, events: &mut Loop<F>, _| {
        if let Err(e) = enter(&accepting, site, events) {
            log::warn!(target: "prometheus", "no new scrapers for a second: {}", io::Error::from(e));
            events.pause(own.get(), PAUSE);
        }
    };
    token.set(Some(events.add(listener, Interest::READ, handler)?));
    Ok(())
}

/// Accepts waiting scrapers, in one turn at most as many as there is room for.
fn enter<F: Fn() -> io::Result<String> + 'static>(
    listener: &Listener,
    site: &mut HttpServer<F>,
    events: &mut Loop<F>,
) -> Result<(), Errno> {
    for _ in 0..CONNECTIONS {
        let fd = match net::accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(fd) => Rc::new(fd),
            Err(Errno::AGAIN) => return Ok(()),
            // The scraper has gone meanwhile.
            Err(Errno::CONNABORTED | Errno::INTR) => continue,
            Err(e) => return Err(e),
        };
        let (peer, last) = (listener.peer(&fd), events.now());
        let slot = |(id, c): (&u64, &Connection)| {
            // Connections that are being answered are removed last.
            let state =
                if matches!(c.phase, Phase::Answering { .. }) { State::Busy } else { State::Idle };
            ConnectionSlot { id: *id, peer: c.peer, state, last: c.last }
        };
        if let Entry::Instead(id) =
            LIMITS.enter(peer, Duration::MAX, site.connections.iter().map(slot))
        {
            remove(site, events, id);
        }
        let id = site.next;
        site.next += 1;
        let shared: Rc<dyn AsFd> = Rc::<OwnedFd>::clone(&fd);
        let handler = move |site: &mut HttpServer<F>, events: &mut Loop<F>, ready| {
            on_ready(site, events, id, ready)
        };
        let token = events
            .add(shared, Interest::READ, handler)
            .map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
        let until = events.now() + ASKING;
        site.connections.insert(
            id,
            Connection { fd, token, until, phase: Phase::Asking(Vec::new()), peer, last },
        );
    }
    Ok(())
}

/// Ends connections whose time is over; returns the time until the next one's is.
fn expire<F>(site: &mut HttpServer<F>, events: &mut Loop<F>) -> Option<Duration> {
    let now = events.now();
    let late: Vec<u64> =
        site.connections.iter().filter(|(_, c)| c.until <= now).map(|(id, _)| *id).collect();
    late.into_iter().for_each(|id| remove(site, events, id));
    site.connections.values().map(|c| c.until.saturating_sub(now)).min()
}

fn remove<F>(site: &mut HttpServer<F>, events: &mut Loop<F>, id: u64) {
    if let Some(connection) = site.connections.remove(&id) {
        events.remove(connection.token);
    }
}

fn on_ready<F: Fn() -> io::Result<String>>(
    site: &mut HttpServer<F>,
    events: &mut Loop<F>,
    id: u64,
    ready: Ready,
) {
    let now = events.now();
    if let Some(connection) = site.connections.get_mut(&id) {
        connection.last = now;
    }
    if ready.closed || !go_on(site, events, id) {
        remove(site, events, id);
    }
}

/// Serves a connection as far as possible without waiting. Returns false if the connection is over.
fn go_on<F: Fn() -> io::Result<String>>(
    site: &mut HttpServer<F>,
    events: &mut Loop<F>,
    id: u64,
) -> bool {
    let Some(connection) = site.connections.get_mut(&id) else { return false };
    if let Phase::Asking(input) = &mut connection.phase {
        if !read(&connection.fd, REQUEST - input.len(), |bytes| input.extend_from_slice(bytes)) {
            return false;
        }
        let Some((answer, without_body)) = answer(input) else { return true };
        let (head, body) = page(&site.make, &mut site.page, events.now(), answer);
        let body = if without_body { Rc::from("") } else { body };
        connection.phase = Phase::Answering { head, body, sent: 0 };
        connection.until = events.now() + READING;
    }
    if let Phase::Answering { head, body, sent } = &mut connection.phase {
        loop {
            let rest = match sent.checked_sub(head.len()) {
                None => &head[*sent..],
                Some(at) => &body.as_bytes()[at..],
            };
            if rest.is_empty() {
                break;
            }
            match net::send(&connection.fd, rest, SendFlags::NOSIGNAL) {
                Ok(n) => *sent += n,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    return events.set_interest(connection.token, Interest::WRITE).is_ok();
                }
                Err(_) => return false,
            }
        }
        connection.phase = Phase::Leaving;
        connection.until = events.now() + LEAVING;
        return net::shutdown(&connection.fd, Shutdown::Write).is_ok()
            && events.set_interest(connection.token, Interest::READ).is_ok();
    }
    read(&connection.fd, REQUEST, |_| {})
}

/// Reads once, at most `limit` bytes. Returns false if the connection is over.
fn read(fd: &OwnedFd, limit: usize, f: impl FnOnce(&[u8])) -> bool {
    let mut buffer = [0; REQUEST];
    match rustix::io::read(fd, &mut buffer[..limit.min(REQUEST)]) {
        Ok(0) => false,
        Ok(n) => {
            f(&buffer[..n]);
            true
        }
        Err(Errno::AGAIN | Errno::INTR) => true,
        Err(_) => false,
    }
}

/// Returns head and body of an answer. Metrics younger than [`FRESH`] are reused.
fn page(
    make: impl Fn() -> io::Result<String>,
    last: &mut Option<(Duration, Rc<str>)>,
    now: Duration,
    answer: Response,
) -> (Vec<u8>, Rc<str>) {
    let (status, kind, body) = match answer {
        Response::Line(status, line) => (status, TEXT, Rc::from(format!("{line}\n"))),
        Response::Metrics => match last {
            Some((at, body)) if now.saturating_sub(*at) < FRESH => {
                ("200 OK", METRICS, Rc::clone(body))
            }
            _ => match make() {
                Ok(text) => {
                    let body: Rc<str> = text.into();
                    *last = Some((now, Rc::clone(&body)));
                    ("200 OK", METRICS, body)
                }
                Err(e) => ("503 Service Unavailable", TEXT, Rc::from(format!("{e}\n"))),
            },
        },
    };
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{allow}Connection: close\r\n\r\n",
        body.len()
    );
    (head.into_bytes(), body)
}
