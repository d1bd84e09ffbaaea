// SPDX-License-Identifier: Apache-2.0
//! Guests that write anything into their memory, and front-ends that send anything.

use super::peer::{FrontEnd, GuestMemory, event, file, message, plain};
use super::ring::{GuestRing, Layout};
use crate::io::{
    Format, InflightInfo, NextPacket, Position, Queue, QueueConfig, RingAddresses, Start,
};
use crate::proto::{Channel, Features, Message, Received, Request, Session};
use buffer::MAX_PACKET;
use driver::Loss;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::fd::{AsFd, BorrowedFd};
use testkit::Rng;
use wire::offload::{Csum, Gso, GsoKind, Offload};

const LAYOUT: Layout = Layout { buffer: 1024, chain: 2, indirect: false };

pub fn config(ring: &GuestRing, features: Features, size: u16) -> QueueConfig {
    let [desc, driver, device] = ring.addresses();
    QueueConfig {
        format: if features.contains(Features::RING_PACKED) {
            Format::Packed
        } else {
            Format::Split
        },
        size,
        addresses: RingAddresses { desc, driver, device },
        event_idx: features.contains(Features::EVENT_IDX),
        indirect: features.contains(Features::INDIRECT_DESC),
        mergeable: features.contains(Features::MRG_RXBUF),
        header: features.header(),
        offloads: true,
        ecn: true,
    }
}

/// A guest's ring and this end of it.
fn both(index: u32, features: Features, layout: Layout, size: u16) -> (GuestRing, Queue) {
    let memory = GuestMemory::new().memory;
    let guest = GuestRing::new(memory.clone(), index, size, features, layout);
    let queue = Queue::new(memory, config(&guest, features, size), Start::default());
    (guest, queue.expect("a ring"))
}

pub fn frame(n: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i as u8).wrapping_mul(31) ^ n as u8).collect()
}

pub fn take(queue: &mut Queue) -> Vec<(Offload, Vec<u8>)> {
    let mut all = Vec::new();
    loop {
        match queue.take_or_rearm() {
            NextPacket::Nothing => break,
            NextPacket::Packet { len, offload } => {
                assert!((1..=MAX_PACKET).contains(&len));
                let mut packet = vec![0; len];
                // In pieces, as into buffers.
                queue.copy(packet.chunks_mut(2048));
                all.push((offload, packet));
            }
            NextPacket::Bad => {}
        }
    }
    queue.give_back();
    all
}

pub fn send(queue: &mut Queue, frames: &[(Offload, Vec<u8>)]) -> Vec<(usize, Loss)> {
    let mut lost = Vec::new();
    let parts = frames.iter().map(|(offload, frame)| {
        let (a, b) = frame.split_at(frame.len() / 3);
        (*offload, [a, b].into_iter())
    });
    queue.send(parts, |n, loss| lost.push((n, loss)));
    lost
}

pub fn formats() -> [Features; 4] {
    let packed = plain() | Features::RING_PACKED;
    [plain(), plain() | Features::EVENT_IDX, packed, packed | Features::EVENT_IDX]
}

#[suite::test]
fn headers_pass_in_both_directions() {
    let gso = Gso { kind: GsoKind::TcpV4, ecn: false, size: 1448, hdr_len: 66 };
    let partial = Csum::Partial { start: 34, offset: 16 };
    let all = [
        Offload::NONE,
        Offload { csum: partial, gso: None },
        Offload { csum: partial, gso: Some(gso) },
    ];
    for features in formats() {
        let layout = Layout { buffer: 256, ..LAYOUT };
        let (mut guest, mut queue) = both(1, features, layout, 64);
        for (n, offload) in all.into_iter().enumerate() {
            let mut header = [0; 12];
            header[..10].copy_from_slice(&offload.to_vnet());
            assert!(guest.send(header, &frame(n, 3000)));
            assert_eq!(take(&mut queue), [(offload, frame(n, 3000))]);
        }
        // A kind of segmentation that isn't known.
        assert!(guest.send([0, 3, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0], &frame(0, 100)));
        assert!(take(&mut queue).is_empty());
        assert_eq!((queue.take_unknown_offload(), queue.take_bad()), (1, 0));
        let (mut guest, mut queue) = both(0, features, layout, 64);
        guest.offer();
        let frames: Vec<_> = all.into_iter().map(|offload| (offload, frame(9, 3000))).collect();
        assert_eq!(send(&mut queue, &frames), []);
        let came = guest.take();
        assert_eq!(came.len(), 3);
        for ((header, packet), (offload, frame)) in came.iter().zip(&frames) {
            assert_eq!((&header[..10], packet), (&offload.to_vnet()[..], frame));
            // 3012 bytes in chains of 512.
            assert_eq!(header[10..], 6u16.to_le_bytes());
        }
    }
}

#[suite::test]
fn a_frame_without_room_leaves_no_trace() {
    for features in formats() {
        let (mut guest, mut queue) = both(0, features, LAYOUT, 16);
        guest.offer();
        // Eight chains of 2048 bytes; each frame takes two.
        let frames: Vec<_> = (0..6).map(|n| (Offload::NONE, frame(n, 3000))).collect();
        assert_eq!(send(&mut queue, &frames), [(4, Loss::Full), (5, Loss::Full)]);
        let came: Vec<_> = guest.take().into_iter().map(|(_, packet)| packet).collect();
        assert_eq!(came, [0, 1, 2, 3].map(|n| frame(n, 3000)));
        // A longer one doesn't fit at all; then a short one does.
        let frames = [(Offload::NONE, frame(7, 17_000)), (Offload::NONE, frame(8, 60))];
        assert_eq!(send(&mut queue, &frames), [(0, Loss::Full)]);
        let came: Vec<_> = guest.take().into_iter().map(|(_, packet)| packet).collect();
        assert_eq!(came, [frame(8, 60)]);
    }
}

#[suite::test]
fn a_bad_chain_is_given_back_and_the_next_packet_comes() {
    type Break = fn(u64) -> (u64, u32, u16);
    let breaks: [Break; 7] = [
        |_| (u64::MAX, 100, 0),
        |_| (0, 100, 0),
        |at| (at, u32::MAX, 0),
        // Of the other direction; too short for a header; a table that is none.
        |at| (at, 100, 2),
        |at| (at, 12, 0),
        |at| (at, 100, 4),
        |at| (at, 16 * 2000, 4),
    ];
    for features in formats() {
        for change in breaks {
            let (mut guest, mut queue) = both(1, features, LAYOUT, 64);
            let at = GuestMemory::guest(1 << 19) + 0x2_0000;
            let (address, len, flags) = change(at);
            guest.send_raw(address, len, flags);
            assert!(guest.send([0; 12], &frame(2, 100)));
            assert_eq!(take(&mut queue), [(Offload::NONE, frame(2, 100))]);
            assert_eq!(queue.take_bad(), 1);
            assert!(guest.is_empty(), "both came back");
        }
    }
}

#[suite::test]
fn impossible_indices_and_loops_are_survived() {
    let (guest, mut queue) = both(1, plain(), LAYOUT, 16);
    // The available index is further away than the ring is long: counted once.
    guest.store16(0x8002, 17);
    assert!(take(&mut queue).is_empty() && take(&mut queue).is_empty());
    assert_eq!((queue.take_bad(), queue.position()), (1, Position { next: 0, done: 0 }));
    // A chain that leads to itself.
    let at = GuestMemory::guest(1 << 19) + 0x2_0000;
    guest.write_desc(0, at, 100, 1, 0);
    guest.store16(0x8002, 1);
    assert!(take(&mut queue).is_empty());
    assert_eq!((queue.take_bad(), queue.position()), (1, Position { next: 1, done: 1 }));
    // A packed chain without an end takes the whole ring.
    let (guest, mut queue) = both(1, plain() | Features::RING_PACKED, LAYOUT, 16);
    (0..16).for_each(|n| guest.write_desc(16 * n, at, 100, 0, 1 | 1 << 7));
    assert!(take(&mut queue).is_empty());
    assert_eq!((queue.take_bad(), queue.position()), (1, Position { next: 0, done: 0 }));
}

#[suite::test]
fn anything_in_guest_memory_is_survived() {
    let mut rng = Rng::new(21);
    for features in formats() {
        let (from, mut rx) = both(1, features, LAYOUT, 32);
        let (to, mut tx) = both(0, features, LAYOUT, 32);
        rx.set_events(true);
        let (mut packets, mut bad, mut sent) = (0, 0, 0);
        for _ in 0..60_000 {
            from.disturb(&mut rng);
            to.disturb(&mut rng);
            packets += take(&mut rx).len();
            bad += rx.take_bad() + tx.take_bad();
            let frame = frame(1, 1 + rng.below(3000));
            sent += usize::from(send(&mut tx, &[(Offload::NONE, frame)]).is_empty());
            if rng.below(100) == 0 {
                rx.discard();
            }
        }
        assert!(
            packets > 1000 && bad > 1000 && sent > 1000,
            "{features}: {packets} packets, {bad} bad ones, {sent} sent"
        );
    }
}

/// Messages that take a guest into use, with changes of any kind, by a socket: the connection goes
/// on or ends by name, and no descriptor is left behind.
#[suite::test]
fn mutated_messages_are_survived() {
    let open = || std::fs::read_dir("/proc/self/fd").expect("a list").count();
    let (mut rng, before) = (Rng::new(3), open());
    let (mut ended, mut went_on, mut started) = (0, 0, 0);
    for _ in 0..3000 {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let pair = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let (front, end) = pair.expect("a pair");
        let (front, mut channel) = (FrontEnd(front), Channel::new(end));
        let offered = Features::BASE | Features::EVENT_IDX | Features::RING_PACKED;
        let mut session = Session::new(offered, 1, None).expect("rings");
        let reason = messages(&mut rng).into_iter().find_map(|(bytes, fds)| {
            front.send_bytes(&bytes, &fds.iter().map(|fd| fd.as_fd()).collect::<Vec<_>>());
            serve(&mut channel, &mut session)
        });
        match reason {
            Some(text) => {
                assert!(text.len() > 10, "{text}");
                ended += 1;
            }
            None => went_on += 1,
        }
        started += session.vrings().iter().filter(|ring| ring.info(true).ring.is_some()).count();
    }
    assert!(ended > 300 && went_on > 300 && started > 300, "{ended} {went_on} {started}");
    assert_eq!(open(), before);
}

/// Carries out what has come; returns why the connection ends.
fn serve(channel: &mut Channel, session: &mut Session) -> Option<String> {
    loop {
        match channel.receive() {
            Received::Nothing => return None,
            Received::Closed => panic!("closed"),
            Received::Malformed(text) => return Some(text),
            Received::Message(message, fds) => match session.step(&message, fds) {
                Ok(_) => {}
                Err(end) => return Some(end.0),
            },
        }
    }
}

type Fds = Vec<std::os::fd::OwnedFd>;

fn messages(rng: &mut Rng) -> Vec<(Vec<u8>, Fds)> {
    let packed = if rng.below(2) == 0 { Features::RING_PACKED } else { Features::EVENT_IDX };
    let features = plain() | packed;
    let mut requests = vec![
        Request::GetFeatures,
        Request::GetProtocolFeatures,
        Request::SetProtocolFeatures(11 | 1 << 12),
        Request::SetFeatures(features.bits()),
        Request::SetMemTable(GuestMemory::infos()),
        Request::GetInflightFd { queues: 4, queue_size: 64, padded: true },
        Request::SetInflightFd(InflightInfo {
            size: 1 << 14,
            offset: 64,
            queues: 4,
            queue_size: 64,
        }),
    ];
    for index in 0..4 {
        let at = |part: u64| GuestMemory::user(u64::from(index) << 19 | part);
        let num = if packed == Features::RING_PACKED { 1 << 15 } else { 0 };
        requests.extend([
            Request::SetVringNum { index, num: 64 },
            Request::SetVringBase { index, num },
            Request::SetVringAddr { index, desc: at(0), avail: at(0x8000), used: at(0xa000) },
            Request::SetVringCall { index, has_fd: true },
            Request::SetVringKick { index, has_fd: rng.below(2) == 0 },
            Request::SetVringEnable { index, enable: true },
        ]);
    }
    requests.extend([
        Request::SetLogBase { size: 1024, offset: 8 },
        Request::SetFeatures((features | Features::LOG_ALL).bits()),
    ]);
    requests.extend((0..4).map(|index| Request::GetVringBase { index }));
    let change = rng.below(3);
    if change == 1 {
        // In another order, some twice, some not at all.
        let other: Vec<_> =
            (0..requests.len()).map(|_| requests[rng.below(requests.len())].clone()).collect();
        requests.splice(7.., other);
    }
    let fds = |message: &Message| -> Fds {
        match &message.request {
            Request::SetMemTable(infos) => infos.iter().map(|info| file(info.size)).collect(),
            Request::SetLogBase { .. } => vec![file(4096)],
            Request::SetInflightFd(_) => vec![file(1 << 15)],
            _ => (0..message.fds()).map(|_| copy((*event()).as_fd())).collect(),
        }
    };
    let all = requests.into_iter().map(|request| {
        let message = message(request);
        (message.encode(), fds(&message))
    });
    let mut all: Vec<_> = all.collect();
    if change == 2 {
        let n = rng.below(all.len());
        let (bytes, fds) = &mut all[n];
        match rng.below(4) {
            0 => drop(fds.pop()),
            1 => fds.push(copy(event().as_fd())),
            _ => {
                let at = rng.below(bytes.len());
                bytes[at] ^= 1 << rng.below(8);
            }
        }
    }
    all
}

fn copy(fd: BorrowedFd<'_>) -> std::os::fd::OwnedFd {
    fd.try_clone_to_owned().expect("a copy")
}
