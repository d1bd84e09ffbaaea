// SPDX-License-Identifier: Apache-2.0
//! Replay of a capture file through a device. Frames have no signatures, so those that come back
//! are counted, and kept if that is asked for.

use std::sync::atomic::{AtomicBool, Ordering};

use wire::{Ethernet, Header};

use crate::engine::clock::Clock;
use crate::port::capture::CaptureTx;
use crate::port::{Rx, Tx};
use crate::traffic::neighbor::Host;

/// Counts of a replay.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Replayed {
    /// Frames that were sent.
    pub sent: u64,
    /// Frames that came back.
    pub received: u64,
    /// Bytes of the frames that were sent, without FCS.
    pub sent_bytes: u64,
    /// Bytes of the frames that came back.
    pub received_bytes: u64,
    /// Nanoseconds from the first frame to the last one that was sent.
    pub nanoseconds: u64,
}

/// Ends of a replay.
pub struct Ends<'p, T, R> {
    /// Port that sends.
    pub tx: &'p mut T,
    /// Port that receives.
    pub rx: &'p mut R,
    /// Answers for the tester's addresses on the receiving port.
    pub host: Option<Host>,
    /// File of what comes back.
    pub write: Option<&'p mut CaptureTx>,
}

/// Frames of one turn.
const BURST: usize = 32;

/// Sends frames at their times, and takes what comes back until nothing has come for `wait`
/// nanoseconds.
pub fn play<T: Tx, R: Rx>(
    clock: &impl Clock,
    mut ends: Ends<'_, T, R>,
    frames: &[(u64, Vec<u8>)],
    wait: u64,
    stop: &AtomicBool,
) -> Replayed {
    let mut counts = Replayed::default();
    let start = clock.now();
    let (mut next, mut last) = (0, start);
    while !stop.load(Ordering::Relaxed) {
        let now = clock.now();
        let elapsed = now.saturating_sub(start);
        let due = frames[next..].iter().take(BURST).take_while(|(at, _)| *at <= elapsed).count();
        if due > 0 {
            let burst = &frames[next..next + due];
            let taken = ends.tx.send(now, burst.iter().map(|(_, frame)| frame.as_slice()));
            for (_, frame) in &burst[..taken.sent] {
                counts.sent_bytes += frame.len() as u64;
            }
            next += taken.sent;
            counts.sent = next as u64;
            counts.nanoseconds = elapsed;
            last = now;
        }
        let got = ends.receive(now, &mut counts);
        if got > 0 {
            last = now;
        } else if next == frames.len() && now.saturating_sub(last) > wait {
            break;
        } else if due == 0 {
            ends.rx.rest();
        }
    }
    counts
}

impl<T: Tx, R: Rx> Ends<'_, T, R> {
    fn receive(&mut self, now: u64, counts: &mut Replayed) -> usize {
        let Self { rx, host, write, .. } = self;
        let mut reply = None;
        let mut got = 0;
        rx.receive(now, BURST, |frame| {
            if let Some(answer) = host.as_ref().and_then(|host| host.answer(frame)) {
                reply = Some(answer);
                return;
            }
            // Frames that the device sends of its own, such as questions for neighbours, are not
            // of the file.
            if host.is_some() && is_chatter(frame) {
                return;
            }
            got += 1;
            counts.received += 1;
            counts.received_bytes += frame.len() as u64;
            if let Some(file) = write {
                file.send(now, std::iter::once(frame));
            }
        });
        if let Some(reply) = reply {
            rx.reply(reply.frame());
        }
        got
    }
}

/// True for ARP, and for frames to groups.
fn is_chatter(frame: &[u8]) -> bool {
    let Some(ethernet) = Ethernet::view(frame) else { return true };
    ethernet.dst.is_multicast() || ethernet.ethertype() == wire::EtherType::ARP
}

/// Times at a constant rate instead of those of the file.
pub fn at_rate(frames: &mut [(u64, Vec<u8>)], rate: f64) {
    for (n, (at, _)) in frames.iter_mut().enumerate() {
        *at = (n as f64 * 1e9 / rate) as u64;
    }
}

/// Refuses frames that aren't for a lab (RFC 6815), by their IP addresses.
///
/// # Errors
/// The first address that is elsewhere.
pub fn check_addresses(frames: &[(u64, Vec<u8>)], anywhere: bool) -> Result<(), String> {
    if anywhere {
        return Ok(());
    }
    for (n, (_, frame)) in frames.iter().enumerate() {
        let Some((l3, ethertype)) = Ethernet::l3_at(frame) else { continue };
        let dst: Option<std::net::IpAddr> = match ethertype {
            wire::EtherType::IP4 => wire::Ipv4Header::view_at(frame, l3).map(|ip| ip.dst.into()),
            wire::EtherType::IP6 => wire::Ipv6Header::view_at(frame, l3).map(|ip| ip.dst.into()),
            _ => None,
        };
        if let Some(address) = dst.filter(|&dst| !crate::traffic::is_lab_address(dst)) {
            return Err(format!(
                "frame {} of the file goes to {address}, outside of 198.18.0.0/15 and 2001:2::/48, \
                 which are for benchmarks (RFC 6815): --any-address sends it anyway",
                n + 1
            ));
        }
    }
    Ok(())
}

/// Longest frame that ports take.
pub const LONGEST: usize = crate::traffic::size::LONGEST as usize - crate::traffic::size::FCS;

/// Writes the Ethernet addresses of tester and device into frames.
///
/// # Errors
/// A frame that is too short or too long for the ports.
pub fn address(
    frames: &mut [(u64, Vec<u8>)],
    src: wire::MacAddr,
    dst: wire::MacAddr,
) -> Result<(), String> {
    for (n, (_, frame)) in frames.iter_mut().enumerate() {
        let len = frame.len();
        let Some(ethernet) = Ethernet::view_mut(frame).filter(|_| len <= LONGEST) else {
            return Err(format!("frame {}: {len} bytes, expected 14 to {LONGEST}", n + 1));
        };
        (ethernet.src, ethernet.dst) = (src, dst);
    }
    Ok(())
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::port::ring;
    use std::cell::Cell;

    /// A clock that goes on by a microsecond at each look.
    struct Ticking(Cell<u64>);

    impl Clock for Ticking {
        fn now(&self) -> u64 {
            self.0.set(self.0.get() + 1000);
            self.0.get()
        }
    }

    #[suite::test]
    fn frames_pass_in_order_and_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("back.pcap");
        let mut frames: Vec<(u64, Vec<u8>)> =
            (0..100_u8).map(|n| (0, vec![n; 60 + usize::from(n)])).collect();
        at_rate(&mut frames, 1e5);
        assert_eq!(frames[3].0, 30_000);
        let (mut tx, mut rx) = ring::connection(64);
        {
            let mut file = CaptureTx::create(&path).unwrap();
            let ends = Ends { tx: &mut tx, rx: &mut rx, host: None, write: Some(&mut file) };
            let clock = Ticking(Cell::new(0));
            let counts = play(&clock, ends, &frames, 1_000_000, &AtomicBool::new(false));
            assert_eq!((counts.sent, counts.received), (100, 100));
            assert_eq!(counts.sent_bytes, counts.received_bytes);
        }
        let back = crate::port::capture::read(&path).unwrap();
        assert!(back.iter().map(|(_, frame)| frame).eq(frames.iter().map(|(_, frame)| frame)));
    }

    #[suite::test]
    fn frames_to_elsewhere_are_refused() {
        let ip = wire::Ipv4Header::new(
            [198, 18, 0, 2].into(),
            [10, 0, 0, 1].into(),
            wire::IpProtocol::UDP,
            0,
        );
        let mut frame = vec![0; 12];
        frame.extend([8, 0]);
        frame.extend(zerocopy::IntoBytes::as_bytes(&ip));
        let mut frames = vec![(0, frame)];
        assert!(check_addresses(&frames, false).unwrap_err().contains("10.0.0.1"));
        assert!(check_addresses(&frames, true).is_ok());
        frames[0].1[30..34].copy_from_slice(&[198, 19, 0, 2]);
        assert!(check_addresses(&frames, false).is_ok());
        frames.push((0, vec![0; 5]));
        let mac = wire::MacAddr::local(1);
        assert!(address(&mut frames, mac, mac).unwrap_err().contains("frame 2"));
    }
}
