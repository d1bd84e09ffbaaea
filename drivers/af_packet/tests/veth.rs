// SPDX-License-Identifier: Apache-2.0
//! Frames through a veth pair, seen from both ends. Needs root.

use super::af_packet_lab as lab;

use std::time::{Duration, Instant};

use af_packet::{Config, HostInterface, Membership, Vlan};
use lab::{Pair, collect, config, frame, send, sh, v3, wait};
use netlink::Rtnl;
use wire::offload::{Csum, Gso, GsoKind, Offload};

const PLAIN: Offload = Offload::NONE;

fn bytes(frame: af_packet::RxFrame<'_>) -> Vec<u8> {
    frame.with_bytes(<[u8]>::to_vec)
}

#[suite::test(netns)]
fn frames_arrive_as_they_were_sent() {
    for config in [config("v0"), v3("v0")] {
        let Some(pair) = Pair::new(1500) else { return };
        let (mut near, mut far) = (pair.near(&config), pair.far());
        let frames: Vec<_> = (0..700u16).map(|i| frame(60 + usize::from(i) * 2, i)).collect();
        send(&mut far.tx[0], frames.iter().map(|f| (PLAIN, &f[..])));
        let got = collect(&mut near.rx[0], frames.len(), bytes);
        assert!(got == frames, "{config:?}: {} of {}", got.len(), frames.len());

        // and back, each in three pieces
        let mut batch = near.tx[0].batch();
        frames.iter().for_each(|f| batch.push(PLAIN, [&f[..14], &f[14..33], &f[33..]]));
        assert_eq!(batch.flush().sent, 700);
        let got = collect(&mut far.rx[0], frames.len(), bytes);
        assert!(got == frames, "{config:?}: {} of {}", got.len(), frames.len());
        assert_eq!(near.rx[0].take_drops(), Default::default());
        assert_eq!(near.rx[0].stats().take().unwrap().frames, 700);
        assert!(near.rx[0].recv(1, |_| ()) == 0, "nobody receives what it sent itself");
    }
}

#[suite::test(netns)]
fn tcpdump_sees_what_is_sent() {
    let Some(pair) = Pair::new(1500) else { return };
    let mut near = pair.near(&config("v0"));
    let line = "timeout 20 tcpdump -i v1 -c 9 -n -l --immediate-mode udp port 4660 2>/dev/null";
    let frames: Vec<_> = (1..=3).map(|i| frame(100, i)).collect();
    let text = std::thread::scope(|scope| {
        let tcpdump = scope.spawn(|| sh(&pair.far, line));
        // again and again: nothing tells when tcpdump has begun to listen
        while !tcpdump.is_finished() {
            send(&mut near.tx[0], frames.iter().map(|f| (PLAIN, &f[..])));
            std::thread::sleep(Duration::from_millis(20));
        }
        tcpdump.join().unwrap()
    });
    for flow in 1..=3 {
        assert!(
            text.contains(&format!("10.1.0.1.{flow} > 10.2.0.1.4660: UDP, length 58")),
            "{text}"
        );
    }
}

#[suite::test(netns)]
fn a_tag_comes_beside_the_frame() {
    for config in [config("v0"), v3("v0")] {
        let Some(pair) = Pair::new(1500) else { return };
        let (mut near, mut far) = (pair.near(&config), pair.far());
        let plain = frame(100, 1);
        for (tpid, tci) in [(0x8100u16, 0x6064u16), (0x88a8, 0x0001)] {
            let mut tagged = plain.clone();
            tagged.splice(12..12, [tpid.to_be_bytes(), tci.to_be_bytes()].concat());
            send(&mut far.tx[0], [(PLAIN, &tagged[..]), (PLAIN, &plain[..])]);
            let got = collect(&mut near.rx[0], 2, |f| (f.vlan, bytes(f)));
            assert_eq!(got, [(Some(Vlan { tpid, tci }), plain.clone()), (None, plain.clone())]);
        }
    }
}

#[suite::test(netns)]
fn a_checksum_to_be_completed_stays_so() {
    for config in [config("v0"), v3("v0")] {
        let Some(pair) = Pair::new(1500) else { return };
        let (mut near, mut far) = (pair.near(&config), pair.far());
        let frame = frame(100, 1);
        let partial = Offload { csum: Csum::Partial { start: 34, offset: 6 }, gso: None };
        send(&mut far.tx[0], [(partial, &frame[..])]);
        let got = collect(&mut near.rx[0], 1, |f| (f.offload, bytes(f)));
        assert_eq!(got, [(partial, frame)]);
    }
}

/// A TCP super-packet of `payload` bytes.
fn super_packet(payload: usize) -> (Offload, Vec<u8>) {
    let mut frame = frame(54 + payload, 7);
    frame[23] = 6;
    frame[46] = 5 << 4;
    let gso = Gso { kind: GsoKind::TcpV4, ecn: false, size: 1460, hdr_len: 54 };
    (Offload { csum: Csum::Partial { start: 34, offset: 16 }, gso: Some(gso) }, frame)
}

#[suite::test(netns)]
fn super_packets_pass_in_one_piece() {
    for config in [config("v0"), v3("v0")] {
        let Some(pair) = Pair::new(1500) else { return };
        let (mut near, mut far) = (pair.near(&config), pair.far());
        let long = super_packet(65_000);
        let short = super_packet(1400 * 2);
        let plain = (PLAIN, frame(1000, 3));
        let all = [&plain, &long, &plain, &short, &long, &plain];
        send(&mut far.tx[0], all.iter().map(|(offload, f)| (*offload, &f[..])));
        // read in pieces of 2048 bytes
        let got = collect(&mut near.rx[0], all.len(), |f| {
            let (mut offload, len) = (f.offload, f.len());
            // The kernel gives the length of its first piece, which is a hint.
            offload.gso.iter_mut().for_each(|gso| gso.hdr_len = 54);
            let mut memory = vec![0; len + 100];
            assert_eq!(f.read_into(memory.chunks_mut(2048)), len);
            memory.truncate(len);
            (offload, memory)
        });
        assert!(got.iter().eq(all.iter().copied()), "{config:?}");
        // in one piece, into too little room, and not at all: the next frame is not disturbed
        send(&mut far.tx[0], all.iter().map(|(offload, f)| (*offload, &f[..])));
        let mut turn = 0;
        let got = collect(&mut near.rx[0], all.len(), |f| {
            turn += 1;
            match turn {
                2 => {
                    let mut little = [0; 100];
                    assert_eq!(f.read_into([&mut little[..60], &mut []]), 60);
                    assert_eq!(little[..60], long.1[..60]);
                    None
                }
                5 => None,
                _ => Some(bytes(f)),
            }
        });
        let read: Vec<_> = got.into_iter().flatten().collect();
        assert!(read.iter().eq([&plain.1, &plain.1, &short.1, &plain.1]), "{config:?}");
        assert_eq!(near.rx[0].take_drops(), Default::default());
    }
}

#[suite::test(netns)]
fn tagged_super_packets() {
    for (segment, bypass) in [(false, true), (false, false), (true, false)] {
        let Some(pair) = Pair::new(1500) else { return };
        if segment {
            // the kernel has to do it before the interface
            sh(&pair.near, "ethtool -K v0 tso off gso off tx off txvlan off");
        }
        let config = Config { qdisc_bypass: bypass, ..config("v0") };
        let (mut near, mut far) = (pair.near(&config), pair.far());
        let (offload, plain) = super_packet(14_600);
        let mut tagged = plain.clone();
        tagged.splice(12..12, [0x81, 0x00, 0x60, 0x64]);
        send(&mut near.tx[0], [(offload.shifted(4), &tagged[..])]);
        let count = if segment { 10 } else { 1 };
        let got = collect(&mut far.rx[0], count, |f| (f.vlan, f.offload, bytes(f)));
        assert_eq!(got.len(), count, "{config:?}");
        for (i, (vlan, offload, frame)) in got.iter().enumerate() {
            assert_eq!(*vlan, Some(Vlan { tpid: 0x8100, tci: 0x6064 }));
            assert_eq!(offload.gso.is_some(), !segment, "{offload:?}");
            let payload = 14_600 / count;
            assert_eq!(frame[54..], plain[54 + i * payload..54 + (i + 1) * payload], "{config:?}");
        }
    }
}

#[suite::test(netns)]
fn past_the_qdisc_nobody_segments() {
    let Some(pair) = Pair::new(1500) else { return };
    sh(&pair.near, "ethtool -K v0 tso off gso off");
    let (mut near, mut far) = (pair.near(&config("v0")), pair.far());
    let (offload, frame) = super_packet(14_600);
    for (bypass, sent) in [(true, 0), (false, 1)] {
        near.control.set_qdisc_bypass(bypass).unwrap();
        let mut batch = near.tx[0].batch();
        batch.push(offload, [&frame[..]]);
        let report = batch.flush();
        assert_eq!((report.sent, report.refused), (sent, 1 - sent));
    }
    assert_eq!(collect(&mut far.rx[0], 11, bytes).len(), 10);
}

#[suite::test(netns)]
fn jumbo_frames() {
    for config in [config("v0"), v3("v0")] {
        let Some(pair) = Pair::new(9000) else { return };
        let (mut near, mut far) = (pair.near(&config), pair.far());
        assert_eq!(near.link.mtu, 9000);
        let frames: Vec<_> = (1..=100).map(|i| frame(9014, i)).collect();
        send(&mut far.tx[0], frames.iter().map(|f| (PLAIN, &f[..])));
        assert!(collect(&mut near.rx[0], 100, bytes) == frames, "{config:?}");
        // the MTU grew after the ring was made
        for (namespace, name) in [(&pair.near, "v0"), (&pair.far, "v1")] {
            let mut rtnl = Rtnl::in_namespace(namespace).unwrap();
            let index = rtnl.link(name).unwrap().index;
            rtnl.set_mtu(index, 40_000).unwrap();
        }
        let frames: Vec<_> = (1..=20).map(|i| frame(40_014, i)).collect();
        send(&mut far.tx[0], frames.iter().map(|f| (PLAIN, &f[..])));
        assert!(collect(&mut near.rx[0], 20, bytes) == frames, "{config:?}");
    }
}

#[suite::test(netns)]
fn what_the_kernel_refuses_is_reported_and_the_rest_goes() {
    let Some(pair) = Pair::new(1500) else { return };
    let (mut near, mut far) = (pair.near(&config("v0")), pair.far());
    let (good, long, short) = (frame(100, 1), frame(1515, 1), [0u8; 5]);
    let beyond = Offload { csum: Csum::Partial { start: 200, offset: 16 }, gso: None };
    let mut batch = near.tx[0].batch();
    for _ in 0..100 {
        batch.push(PLAIN, [&good[..]]);
        batch.push(PLAIN, [&long[..]]);
        batch.push(PLAIN, [&short[..]]);
        batch.push(beyond, [&good[..]]);
    }
    let report = batch.flush();
    assert_eq!((report.sent, report.too_long, report.refused), (100, 100, 200), "{report:?}");
    assert_eq!(collect(&mut far.rx[0], 101, bytes).len(), 100);
    // a batch that was given up sends nothing
    let mut batch = near.tx[0].batch();
    batch.push(PLAIN, [&good[..]]);
    drop(batch);
    assert_eq!(near.tx[0].batch().flush(), Default::default());
    assert!(!wait(&far.rx[0], Duration::from_millis(100)));
}

#[suite::test(netns)]
fn several_queues_share_the_flows() {
    for base in [config("v0"), v3("v0")] {
        let Some(pair) = Pair::new(1500) else { return };
        let mut near = pair.near(&Config { rx_queues: 3, tx_queues: 2, ..base.clone() });
        let mut far = pair.far();
        assert_eq!((near.rx.len(), near.tx.len()), (3, 2));
        let frames: Vec<_> = (0..600).map(|i| frame(64, i / 3)).collect();
        send(&mut far.tx[0], frames.iter().map(|f| (PLAIN, &f[..])));
        let mut got: Vec<_> = near.rx.iter_mut().map(|rx| collect(rx, 601, bytes)).collect();
        assert!(
            got.iter().all(|q| q.len() > 60),
            "{:?}",
            got.iter().map(Vec::len).collect::<Vec<_>>()
        );
        for queue in &got {
            assert!(
                queue.chunk_by(|a, b| a == b).all(|c| c.len() == 3),
                "a flow stays in its queue"
            );
        }
        let mut all: Vec<_> = got.iter_mut().flat_map(std::mem::take).collect();
        all.sort_unstable();
        let mut sent = frames.clone();
        sent.sort_unstable();
        assert!(all == sent, "{base:?}: {} of 600, each once", all.len());
        near.tx.iter_mut().for_each(|tx| send(tx, [(PLAIN, &frames[0][..])]));
        assert_eq!(collect(&mut far.rx[0], 2, bytes).len(), 2);
        assert!(
            near.rx.iter_mut().all(|rx| rx.recv(1, |_| ()) == 0),
            "nor what a sister queue sent"
        );
    }
}

#[suite::test(netns)]
fn a_full_ring_drops_and_counts() {
    for base in [config("v0"), v3("v0")] {
        let Some(pair) = Pair::new(1500) else { return };
        let mut near = pair.near(&Config { rx_frames: 256, ..base.clone() });
        let mut far = pair.far();
        let small = frame(64, 1);
        let total = 20_000;
        send(&mut far.tx[0], (0..total).map(|_| (PLAIN, &small[..])));
        let got = collect(&mut near.rx[0], total, bytes);
        let stats = near.rx[0].stats();
        let count = stats.take().unwrap();
        assert!(got.len() >= 256 && got.len() < total, "{base:?}: {}", got.len());
        assert!(got.iter().all(|f| *f == small));
        assert_eq!((count.frames, count.dropped), (total as u64, (total - got.len()) as u64));
        assert_eq!(stats.take().unwrap(), Default::default(), "counted once");
        // and it goes on
        send(&mut far.tx[0], [(PLAIN, &small[..])]);
        assert_eq!(collect(&mut near.rx[0], 1, bytes), [small]);
    }
}

#[suite::test(netns)]
fn long_frames_without_room_are_counted() {
    let Some(pair) = Pair::new(1500) else { return };
    let (mut near, mut far) = (pair.near(&config("v0")), pair.far());
    let (offload, long) = super_packet(65_000);
    let total = 1000;
    send(&mut far.tx[0], (0..total).map(|_| (offload, &long[..])));
    let got = collect(&mut near.rx[0], total, |f| f.len());
    let drops = near.rx[0].take_drops();
    assert!(got.len() > 20 && got.iter().all(|&len| len == long.len()), "{}", got.len());
    assert!(drops.truncated > 0, "1,000 super-packets are 65 MB");
    assert_eq!(got.len() as u64 + drops.truncated, total as u64);
}

#[suite::test(netns)]
fn down_and_up_again() {
    for base in [config("v0"), Config { rx_queues: 2, ..v3("v0") }] {
        let Some(pair) = Pair::new(1500) else { return };
        let mut rtnl = Rtnl::in_namespace(&pair.near).unwrap();
        let index = rtnl.link("v0").unwrap().index;
        rtnl.set_admin_up(index, false).unwrap();
        // opened while it is down
        let mut near = pair.near(&base);
        let mut far = pair.far();
        let small = frame(64, 1);
        for _ in 0..2 {
            rtnl.set_admin_up(index, true).unwrap();
            let mut far_rtnl = Rtnl::in_namespace(&pair.far).unwrap();
            lab::until("the carrier is back", || far_rtnl.link("v1").unwrap().is_link_up());
            near.rx.iter().for_each(|rx| drop(rx.take_error()));
            assert!(near.rx.iter().all(|rx| rx.take_error().is_ok()), "the error is reported once");
            send(&mut far.tx[0], [(PLAIN, &small[..])]);
            let got: usize = near.rx.iter_mut().map(|rx| collect(rx, 1, bytes).len()).sum();
            assert_eq!(got, 1);
            rtnl.set_admin_up(index, false).unwrap();
            let error = near.rx[0].take_error().unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENETDOWN));
            let mut batch = near.tx[0].batch();
            (0..3).for_each(|_| batch.push(PLAIN, [&small[..]]));
            assert_eq!(batch.flush().down, 3);
        }
        rtnl.delete_link(index).unwrap();
        let mut batch = near.tx[0].batch();
        batch.push(PLAIN, [&small[..]]);
        assert_eq!(batch.flush().down, 1);
    }
}

#[suite::test(netns)]
fn memberships_end_with_the_interface() {
    let Some(pair) = Pair::new(1500) else { return };
    let flags = || sh(&pair.near, "ip -d link show v0");
    let near = pair.near(&config("v0"));
    near.control.membership(Membership::Promiscuous, true).unwrap();
    near.control.membership(Membership::AllMulticast, true).unwrap();
    assert!(flags().contains("promiscuity 1") && flags().contains("allmulti 1"), "{}", flags());
    near.control.membership(Membership::Promiscuous, false).unwrap();
    assert!(flags().contains("promiscuity 0"), "{}", flags());
    let group = wire::MacAddr([0x33, 0x33, 0, 0, 0, 0x77]);
    near.control.membership(Membership::Multicast(group), true).unwrap();
    assert!(sh(&pair.near, "ip maddr show dev v0").contains("33:33:00:00:00:77"));
    near.control.membership(Membership::Unicast(wire::MacAddr::local(1)), true).unwrap();
    near.control.set_qdisc_bypass(false).unwrap();
    drop(near);
    assert!(flags().contains("promiscuity 0") && flags().contains("allmulti 0"), "{}", flags());
}

#[suite::test(netns)]
fn the_mode_has_to_fit() {
    let Some(pair) = Pair::new(1500) else { return };
    let wrong = Config { mode: af_packet::Mode::Ip, ..config("v0") };
    let error = pair.near.run(|| HostInterface::open(&wrong)).err().unwrap();
    assert!(error.to_string().contains("hardware type 1 doesn't fit"), "{error}");
}

/// Says how fast it is; asserts only that frames arrive.
#[suite::test(netns)]
fn rate() {
    const COUNT: usize = 200_000;
    for config in [config("v0"), v3("v0")] {
        let Some(pair) = Pair::new(1500) else { return };
        let (mut near, mut far) = (pair.near(&config), pair.far());
        let frames: Vec<_> = (0..256).map(|i| frame(64, i)).collect();
        let start = Instant::now();
        let (got, busy) = std::thread::scope(|scope| {
            let receiver = scope.spawn(|| {
                let (mut got, mut busy, mut memory) = (0, Duration::ZERO, [0; 2048]);
                loop {
                    let start = Instant::now();
                    let n = near.rx[0].recv(256, |frame| _ = frame.read_into([&mut memory[..]]));
                    match n {
                        0 if !wait(&near.rx[0], Duration::from_millis(500)) => return (got, busy),
                        0 => {}
                        _ => busy += start.elapsed(),
                    }
                    got += n;
                }
            });
            for _ in 0..COUNT / frames.len() {
                send(&mut far.tx[0], frames.iter().map(|f| (PLAIN, &f[..])));
            }
            let sending = start.elapsed().as_secs_f64();
            eprintln!("{:?}: sent {:.0} kpps", config.version, COUNT as f64 / sending / 1e3);
            receiver.join().unwrap()
        });
        let dropped = near.rx[0].stats().take().unwrap().dropped;
        eprintln!(
            "{:?}: received {got}, {:.0} ns per frame; the ring was full for {dropped}",
            config.version,
            busy.as_nanos() as f64 / got as f64
        );
        assert_eq!(got as u64 + dropped, (COUNT / 256 * 256) as u64);
    }
}
