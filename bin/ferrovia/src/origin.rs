// SPDX-License-Identifier: Apache-2.0
//! Origin of a request: the user and the program at the other end of a connection, for the log and
//! the history.

use std::cell::RefCell;
use std::fmt;
use std::os::fd::AsFd;

use rustix::net::sockopt::socket_peercred;

use crate::connection_slots::Peer;
use crate::process::account;

/// The other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Its user, or its host.
    pub peer: Peer,
    /// The user's name; the address of another host.
    pub user: String,
    /// The program, where it is known.
    program: Option<String>,
    pid: Option<i32>,
}

impl Origin {
    /// The other end of a Unix socket's connection.
    pub fn of_unix(fd: impl AsFd) -> Origin {
        let Ok(peer) = socket_peercred(fd) else {
            return Origin {
                peer: Peer::Unknown,
                user: "an unknown user".into(),
                program: None,
                pid: None,
            };
        };
        let (uid, pid) = (peer.uid.as_raw(), peer.pid.as_raw_pid());
        let program = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok();
        Origin {
            peer: Peer::User(uid),
            user: account::user_name(uid),
            // A program chooses its own name.
            program: program.map(|name| name.trim_end().replace(char::is_control, "?")),
            pid: Some(pid),
        }
    }

    /// The other end of a TCP connection: its address only, as TCP carries no user.
    pub fn of_tcp(fd: impl AsFd, address: std::net::SocketAddr) -> Origin {
        Origin { peer: Peer::of_tcp(fd), user: address.to_string(), program: None, pid: None }
    }

    /// The daemon's own terminal.
    pub fn terminal() -> Origin {
        let uid = rustix::process::geteuid().as_raw();
        let user = account::user_name(uid);
        Origin { peer: Peer::User(uid), user, program: Some("own terminal".into()), pid: None }
    }

    /// The program's name, where it is known.
    pub fn program(&self) -> Option<&str> {
        self.program.as_deref()
    }

    /// The user and the program, as the history of configurations keeps them: a process id has no
    /// meaning later.
    pub fn author(&self) -> String {
        match &self.program {
            Some(program) => format!("{} ({program})", self.user),
            None => self.user.clone(),
        }
    }
}

/// `alice (ferroctl, process 12)`
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.program, self.pid) {
            (Some(program), Some(pid)) => write!(f, "{} ({program}, process {pid})", self.user),
            (None, Some(pid)) => write!(f, "{} (process {pid})", self.user),
            _ => f.write_str(&self.author()),
        }
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Origin>> = const { RefCell::new(None) };
}

/// Runs a client's turn: [`current`] returns its origin meanwhile.
pub fn during<R>(origin: &Origin, turn: impl FnOnce() -> R) -> R {
    let before = CURRENT.replace(Some(origin.clone()));
    let result = turn();
    CURRENT.set(before);
    result
}

/// The origin of the command that runs; none if the daemon itself runs it.
pub fn current() -> Option<Origin> {
    CURRENT.with_borrow(Clone::clone)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[suite::test]
    fn a_local_client_is_named_by_its_user_and_program() {
        let (near, _far) = UnixStream::pair().unwrap();
        let origin = Origin::of_unix(&near);
        let uid = rustix::process::geteuid().as_raw();
        let (me, pid) = (account::user_name(uid), std::process::id());
        let program = std::fs::read_to_string("/proc/self/comm").unwrap();
        assert_eq!(origin.peer, Peer::User(uid));
        assert_eq!(origin.author(), format!("{me} ({})", program.trim_end()));
        assert_eq!(origin.to_string(), format!("{me} ({}, process {pid})", program.trim_end()));
    }

    #[suite::test]
    fn turns_end_with_their_origin() {
        let own = Origin::terminal();
        assert_eq!(current(), None);
        assert_eq!(during(&own, current), Some(own));
        assert_eq!(current(), None);
    }
}
