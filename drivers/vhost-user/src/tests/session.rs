// SPDX-License-Identifier: Apache-2.0
//! A session with a front-end that does one thing wrong.

use super::peer::{GuestMemory, event, file, message, plain};
use crate::io::{InflightInfo, RegionInfo};
use crate::proto::{End, Features, Protocol, Reply, Request, Session, Step};
use std::os::fd::{AsFd, OwnedFd};

const OFFERED: Features = Features::from_bits_retain(
    Features::BASE.bits()
        | Features::GSO.bits()
        | Features::EVENT_IDX.bits()
        | Features::RING_PACKED.bits(),
);

fn session() -> Session {
    Session::new(OFFERED, 1, None).expect("rings")
}

fn copy(fd: impl AsFd) -> OwnedFd {
    fd.as_fd().try_clone_to_owned().expect("a copy")
}

fn fds(request: &Request) -> Vec<OwnedFd> {
    match request {
        Request::SetMemTable(regions) => regions.iter().map(|_| file(1 << 22)).collect(),
        other => (0..message(other.clone()).fds()).map(|_| copy(&*event())).collect(),
    }
}

fn step(session: &mut Session, request: Request) -> Result<Step, End> {
    let fds = fds(&request);
    session.step(&message(request), fds)
}

/// Requests that start a ring.
fn start(index: u32) -> Vec<Request> {
    let at = |part: u64| GuestMemory::user(u64::from(index % 16) * 0x2_0000 + part);
    vec![
        Request::SetVringNum { index, num: 64 },
        Request::SetVringBase { index, num: 0 },
        Request::SetVringAddr { index, desc: at(0), avail: at(0x8000), used: at(0xa000) },
        Request::SetVringCall { index, has_fd: true },
        Request::SetVringKick { index, has_fd: true },
    ]
}

fn begin(features: Features) -> Session {
    let mut session = session();
    for request in
        [Request::SetFeatures(features.bits()), Request::SetMemTable(GuestMemory::infos())]
    {
        step(&mut session, request).expect("goes on");
    }
    session
}

#[track_caller]
fn refused(session: &mut Session, request: Request, why: &str) {
    let name = message(request.clone()).kind.name();
    match step(session, request) {
        Err(End(text)) => assert!(text.starts_with(name) && text.contains(why), "{text}"),
        Ok(step) => panic!("{name} {why}: {step:?}"),
    }
}

#[suite::test]
fn each_wrong_value_is_refused_by_name() {
    let unknown = 1u64 << 25;
    refused(&mut session(), Request::SetFeatures(unknown), "is offered");
    refused(&mut session(), Request::SetProtocolFeatures(4), "is offered");
    // The log of written pages.
    let log = Request::SetLogBase { size: 512, offset: 0 };
    refused(&mut session(), log.clone(), "isn't agreed on");
    let mut logs = begin(plain() | Features::LOG_ALL);
    step(&mut logs, Request::SetProtocolFeatures(2)).expect("goes on");
    refused(&mut logs, log.clone(), "no file");
    for (size, offset, why) in [
        (0, 0, "is empty"),
        (512, 7681, "longer than its file"),
        (u64::MAX, 1, "too long"),
        // Two regions of 4 MiB from 1 MiB on.
        (288 - 1, 0, "too short for the guest's memory"),
    ] {
        let message = message(Request::SetLogBase { size, offset });
        match logs.step(&message, vec![file(8192)]) {
            Err(End(text)) => {
                assert!(text.starts_with("SET_LOG_BASE") && text.contains(why), "{text}")
            }
            Ok(step) => panic!("{why}: {step:?}"),
        }
    }
    let good = message(Request::SetLogBase { size: 288, offset: 8 });
    let step_of = |one: &mut Session| one.step(&good, vec![file(8192)]).expect("goes on").reply;
    assert_eq!(step_of(&mut logs), Some(Reply::Word(0)));
    let far = RegionInfo { guest: 9 << 20, size: 4096, user: 0, offset: 0 };
    refused(&mut logs, Request::SetMemTable(vec![far]), "too short");
    inflight_logs();
    // Memory.
    let good = GuestMemory::infos()[0];
    for (info, why) in [
        (RegionInfo { size: 0, ..good }, "empty"),
        (RegionInfo { size: (1 << 22) + 1, ..good }, "longer than its file"),
        (RegionInfo { offset: 1, ..good }, "longer than its file"),
        (RegionInfo { offset: u64::MAX, ..good }, "too long"),
        (RegionInfo { guest: u64::MAX, ..good }, "wraps around"),
        (RegionInfo { user: u64::MAX, ..good }, "wraps around"),
    ] {
        refused(&mut session(), Request::SetMemTable(vec![info]), why);
    }
    refused(&mut session(), Request::SetMemTable(vec![good, good]), "overlap");
    let table = message(Request::SetMemTable(vec![good]));
    let no_file = session().step(&table, vec![copy(&*event())]);
    assert!(matches!(no_file, Err(End(text)) if text.contains("no file")));
    // Rings.
    let mut one = begin(plain());
    for num in [0, 32_769, u32::MAX] {
        refused(&mut one, Request::SetVringNum { index: 0, num }, "1 to 32768");
    }
    for request in start(256) {
        refused(&mut one, request, "at most");
    }
    refused(&mut one, Request::GetVringBase { index: 256 }, "at most");
    refused(&mut one, Request::SetVringEnable { index: 256, enable: true }, "at most");
    let kick = message(Request::SetVringKick { index: 0, has_fd: true });
    let no_event = begin(plain()).step(&kick, vec![file(8)]);
    assert!(matches!(no_event, Err(End(text)) if text.contains("no eventfd")));
    let outside = "outside of the guest's memory";
    let at = GuestMemory::user;
    for (features, num, desc, avail, used, why) in [
        (plain(), 48, at(0), at(0x8000), at(0xa000), "power of 2"),
        (plain(), 64, 0, at(0x8000), at(0xa000), outside),
        (plain(), 64, at(0), 0, at(0xa000), outside),
        (plain(), 64, at(0), at(0x8000), 0, outside),
        (plain(), 64, at(8), at(0x8000), at(0xa000), outside),
        (plain(), 64, at(0), at(0x8001), at(0xa000), outside),
        (plain(), 64, at(0), at(0x8000), at(0xa002), outside),
        (plain(), 64, at((1 << 22) - 1008), at(0x8000), at(0xa000), outside),
        (plain(), 64, at(0), at((1 << 22) - 128), at(0xa000), outside),
        (plain(), 64, at(0), at(0x8000), at((1 << 22) - 512), outside),
        (plain(), 64, u64::MAX - 15, at(0x8000), at(0xa000), outside),
        (plain() | Features::RING_PACKED, 64, at(0), at((1 << 22) - 2), at(0xa000), outside),
        (plain() | Features::RING_PACKED, 48, at(0), at(0x8000), at((1 << 22) - 2), outside),
    ] {
        let mut one = begin(features);
        step(&mut one, Request::SetVringNum { index: 1, num }).expect("noted");
        step(&mut one, Request::SetVringAddr { index: 1, desc, used, avail }).expect("noted");
        refused(&mut one, Request::SetVringKick { index: 1, has_fd: true }, why);
    }
    let mut packed = begin(plain() | Features::RING_PACKED);
    let mut requests = start(1);
    requests[1] = Request::SetVringBase { index: 1, num: 64 };
    let last = requests.pop().expect("a kick");
    for request in requests {
        step(&mut packed, request).expect("noted");
    }
    refused(&mut packed, last, "isn't in the ring");
    // Settings that can't change while a ring is used.
    let mut used = begin(plain());
    for request in start(1) {
        step(&mut used, request).expect("goes on");
    }
    refused(&mut used, Request::SetVringNum { index: 1, num: 64 }, "is used");
    refused(&mut used, Request::SetVringBase { index: 1, num: 64 }, "is used");
    refused(&mut used, Request::SetFeatures(Features::MRG_RXBUF.bits()), "while rings are used");
    refused(&mut used, Request::SetMemTable(vec![]), outside);
}

/// Descriptions of logs of chains in flight.
fn inflight_logs() {
    let ask = |queues, queue_size| Request::GetInflightFd { queues, queue_size, padded: true };
    let log = |size, offset, queues, queue_size| {
        Request::SetInflightFd(InflightInfo { size, offset, queues, queue_size })
    };
    let mut one = begin(plain());
    refused(&mut one, ask(2, 64), "isn't agreed on");
    refused(&mut one, log(1 << 14, 0, 2, 64), "isn't agreed on");
    step(&mut one, Request::SetProtocolFeatures(1 << 12)).expect("goes on");
    for (queues, queue_size, why) in [
        (0, 64, "0 rings: 1 to 256"),
        (257, 64, "257 rings"),
        (2, 0, "0 descriptors: 1 to 32768"),
        (2, 32_769, "32769 descriptors"),
    ] {
        refused(&mut one, ask(queues, queue_size), why);
        refused(&mut one, log(1 << 40, 0, queues, queue_size), why);
    }
    refused(&mut one, log(1 << 14, 0, 2, 64), "no file");
    // Two split rings of 64 descriptors take 2176 bytes, packed ones 4224.
    let set = |one: &mut Session, info| {
        let message = message(Request::SetInflightFd(info));
        one.step(&message, vec![file(8192)]).map_err(|End(text)| text)
    };
    let info = InflightInfo { size: 2176, offset: 0, queues: 2, queue_size: 64 };
    for (info, why) in [
        (InflightInfo { size: 2175, ..info }, "has 2175 bytes, it needs 2176"),
        (InflightInfo { size: 0, ..info }, "has 0 bytes"),
        (InflightInfo { queues: 3, ..info }, "it needs 3264"),
        (InflightInfo { queue_size: 68, ..info }, "it needs 2304"),
        (InflightInfo { size: 8193, ..info }, "longer than its file"),
        (InflightInfo { offset: 6024, ..info }, "longer than its file"),
        (InflightInfo { offset: 4, ..info }, "4, isn't aligned"),
        (InflightInfo { offset: u64::MAX - 7, ..info }, "too long"),
    ] {
        let text = set(&mut one, info).expect_err("refused");
        assert!(text.starts_with("SET_INFLIGHT_FD: ") && text.contains(why), "{text}");
    }
    let reply = step(&mut one, ask(2, 64)).expect("goes on");
    assert_eq!(reply.reply, Some(Reply::Inflight { info, padded: true }));
    let made = reply.fd.expect("a file");
    assert_eq!(rustix::fs::fstat(&made).expect("a file").st_size, 2176);
    set(&mut one, InflightInfo { offset: 6016, ..info }).expect("it fits");
    // It is looked at when a ring starts.
    let mut requests = start(2);
    let kick = requests.pop().expect("a kick");
    requests.into_iter().for_each(|request| drop(step(&mut one, request).expect("noted")));
    refused(&mut one, kick, "none for ring 2");
    start(1).into_iter().for_each(|request| drop(step(&mut one, request).expect("goes on")));
    let text = set(&mut one, info).expect_err("refused");
    assert!(text.contains("changes while rings are used"), "{text}");
    let mut packed = begin(plain() | Features::RING_PACKED);
    step(&mut packed, Request::SetProtocolFeatures(1 << 12)).expect("goes on");
    assert!(set(&mut packed, info).expect_err("refused").contains("it needs 4224"));
}

#[suite::test]
fn replies_are_those_of_the_protocol() {
    let mut one = session();
    let mut word = |request| step(&mut one, request).expect("goes on").reply;
    assert_eq!(word(Request::GetFeatures), Some(Reply::Word(OFFERED.bits())));
    assert_eq!(word(Request::GetProtocolFeatures), Some(Reply::Word(0x100b)));
    assert_eq!(word(Request::GetQueueNum), Some(Reply::Word(128)));
    assert_eq!(word(Request::SetOwner), None);
    // A reply is sent for anything once it was agreed on, and only if it is asked for.
    let asked = |request| crate::proto::Message { needs_reply: true, ..message(request) };
    let reply = |one: &mut Session, request| {
        let step = one.step(&asked(request), vec![]).expect("goes on");
        step.reply
    };
    assert_eq!(reply(&mut one, Request::SetOwner), None);
    step(&mut one, Request::SetProtocolFeatures(Protocol::OFFERED.bits())).expect("goes on");
    assert_eq!(reply(&mut one, Request::SetOwner), Some(Reply::Word(0)));
    assert_eq!(reply(&mut one, Request::GetQueueNum), Some(Reply::Word(128)));
    assert_eq!(step(&mut one, Request::SetOwner).expect("goes on").reply, None);
}

#[suite::test]
fn rings_run_once_all_is_known_in_any_order_and_stop() {
    let mut requests = start(0);
    for turn in 0..requests.len() {
        let mut one = begin(plain());
        requests.rotate_left(turn);
        for (n, request) in requests.iter().enumerate() {
            let ring = one.vrings()[0].clone();
            let has_all = |n| {
                let needed = requests[..n].iter().filter(|request| {
                    !matches!(request, Request::SetVringCall { .. } | Request::SetVringBase { .. })
                });
                needed.count() == 3
            };
            assert_eq!(ring.info(false).ring.is_some(), has_all(n));
            // The base of a ring that is used can't change.
            if has_all(n) && matches!(request, Request::SetVringBase { .. }) {
                continue;
            }
            step(&mut one, request.clone()).expect("goes on");
        }
        let ring = one.vrings()[0].clone();
        assert!(ring.info(false).ring.is_some() && !ring.is_running(), "it isn't enabled");
        step(&mut one, Request::SetVringEnable { index: 0, enable: true }).expect("goes on");
        assert!(ring.is_running());
        step(&mut one, Request::SetVringEnable { index: 0, enable: false }).expect("goes on");
        assert!(!ring.is_running());
        let stopped = step(&mut one, Request::GetVringBase { index: 0 }).expect("goes on");
        assert_eq!(stopped.reply, Some(Reply::Base { index: 0, num: 0 }));
        assert!(ring.info(false).ring.is_none());
    }
    // Without the feature by which they are enabled, they are.
    let mut one = begin(Features::MRG_RXBUF);
    for request in start(3) {
        step(&mut one, request).expect("goes on");
    }
    assert!(one.vrings()[3].is_running());
    let ring = one.vrings()[3].clone();
    drop(one);
    assert!(!ring.is_running(), "a session takes its rings along");
}

#[suite::test]
fn no_descriptor_is_left_behind() {
    let open = || std::fs::read_dir("/proc/self/fd").expect("a list").count();
    let maps = || {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("a list");
        maps.lines().filter(|line| line.contains("memfd:guest")).count()
    };
    let before = open();
    for _ in 0..20 {
        let mut one = begin(plain());
        for index in 0..4 {
            for request in start(index) {
                step(&mut one, request).expect("goes on");
            }
            // All once more: the new ones take the place of the old ones.
            step(&mut one, Request::SetVringKick { index, has_fd: true }).expect("goes on");
            step(&mut one, Request::SetVringCall { index, has_fd: true }).expect("goes on");
            step(&mut one, Request::SetVringErr { index, has_fd: true }).expect("goes on");
        }
        step(&mut one, Request::SetMemTable(GuestMemory::infos())).expect("goes on");
        step(&mut one, Request::SetLogFd).expect("goes on");
        assert_eq!(maps(), 2, "the memory of the last table");
        // Four rings, each with a descriptor to wait for, and the events of kick and call.
        assert_eq!(open() - before, 12);
        refused(&mut one, Request::SetMemTable(vec![GuestMemory::infos()[0]; 2]), "overlap");
    }
    assert_eq!((open(), maps()), (before, 0));
}
