// SPDX-License-Identifier: Apache-2.0
//! Properties of the reader of messages and of the session for any input, for the fuzzer and its
//! tests.

use super::message::{HEADER, Header, MAX_PAYLOAD};
use super::{Features, Message, Reply, Session};
use crate::io::Event;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::os::fd::{AsFd, OwnedFd};

/// Bytes of a file of memory that messages come with.
const FILE: u64 = 1 << 16;

/// Gives messages, one behind the other, to a session. Each comes with the descriptors that it has
/// to have: files of memory, and events.
///
/// # Panics
/// If a promise is broken.
pub fn check_messages(mut bytes: &[u8]) {
    let offered = Features::BASE | Features::GSO | Features::EVENT_IDX | Features::RING_PACKED;
    let Ok(mut session) = Session::new(offered, 1, None) else { return };
    while let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() {
        // One that was refused is closed.
        let Ok(header) = Header::parse(header) else { return };
        assert!(header.size as usize <= MAX_PAYLOAD);
        let Some((payload, rest)) = rest.split_at_checked(header.size as usize) else { return };
        bytes = rest;
        let Ok(message) = Message::parse(header, payload) else { return };
        let Some(fds) = (0..message.fds()).map(|_| descriptor(&message)).collect() else { return };
        let Ok(step) = session.step(&message, fds) else { return };
        if let Some(reply) = step.reply {
            let bytes = reply.encode(message.kind);
            assert_eq!(bytes[..4], (message.kind as u32).to_ne_bytes());
            let is_log = matches!(reply, Reply::Inflight { .. });
            assert_eq!(is_log, step.fd.is_some());
            assert!(if is_log { bytes.len() >= HEADER + 20 } else { bytes.len() == HEADER + 8 });
            let is_base = matches!(reply, Reply::Base { .. });
            assert_eq!(is_base, message.kind.name() == "GET_VRING_BASE");
        }
        let features = session.features();
        assert_eq!(features.bits() & !offered.bits(), 0, "{features}");
        for vring in session.vrings() {
            let packets = vring.with(|queue, _| {
                let packet = queue.take_or_rearm();
                queue.give_back();
                packet
            });
            assert_eq!(packets.is_some(), vring.info(true).ring.is_some());
        }
    }
}

fn descriptor(message: &Message) -> Option<OwnedFd> {
    if ["SET_MEM_TABLE", "SET_LOG_BASE", "SET_INFLIGHT_FD"].contains(&message.kind.name()) {
        let fd = memfd_create("vhost-user check", MemfdFlags::CLOEXEC).ok()?;
        ftruncate(&fd, FILE).ok()?;
        return Some(fd);
    }
    Event::new().ok()?.as_fd().try_clone_to_owned().ok()
}
