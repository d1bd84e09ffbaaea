// SPDX-License-Identifier: Apache-2.0
//! Packets of a flow leave in the order in which they came, whatever features they pass.

use super::features::{FEATURES, TABLES};
use super::router::{Packets, Router, lines};
use super::{CONFIGURATION, INTERFACES, own_mac, six};
use std::collections::BTreeMap;
use testkit::{Rng, pkt};
use wire::MacAddr;

const FRAMES: usize = 100_000;
const CHANGE_EVERY: usize = 2_000;
/// In front of the flow and the number of a packet.
const MARK: &[u8; 8] = b"ferrovia";

/// Packet `number` of a flow to interface `rx_if`, of one of several lengths, none of which is
/// fragmented.
pub fn frame(rx_if: u32, flow: u32, number: u32) -> Vec<u8> {
    let ether = pkt::ether(MacAddr([2, 0xaa, 0, 0, 0, rx_if as u8]), own_mac(rx_if));
    let mut payload = MARK.to_vec();
    payload.extend([flow, number].map(u32::to_be_bytes).concat());
    payload.resize([16, 60, 300][number as usize % 3], 0);
    let to4 = ["20.0.0.1", "20.1.0.1", "22.0.0.9", "27.0.0.1", "29.1.1.1", "30.0.0.9"];
    let to6 = ["3000::1", "3000:1::1", "3003::1", "3004:0:1234::1", "3006::1"];
    let to = flow as usize / 2;
    let packet = match flow % 2 {
        0 => ether.ip4("10.9.9.9", to4[to % to4.len()]).udp(1234, 4321),
        _ => ether.ip6("2001:db8:9::9", to6[to % to6.len()]).udp(1234, 4321),
    };
    packet.payload(&payload).build()
}

/// Flow and number of a packet that the router has sent, if it is one of ours.
fn marked(frame: &[u8]) -> Option<(u32, u32)> {
    let at = frame.windows(MARK.len()).position(|bytes| bytes == MARK)? + MARK.len();
    let word = |at: usize| frame.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    Some((word(at)?, word(at + 4)?))
}

/// Fails if packets of a flow aren't in order; returns the number of packets with a mark.
#[track_caller]
pub fn in_order(sent: &Packets, when: &str) -> usize {
    let (mut last, mut n) = (BTreeMap::new(), 0);
    for (tx_if, frame) in sent {
        let Some((flow, number)) = marked(frame) else { continue };
        let before = last.insert((tx_if, flow), number);
        assert!(
            before.is_none_or(|before| before < number),
            "flow {flow} to {tx_if}: {number} behind {before:?}; {when}"
        );
        n += 1;
    }
    n
}

#[test]
fn flows_keep_their_order() {
    let mut router = Router::with(true, |bench| {
        lines(bench, CONFIGURATION);
        six(&bench.world);
        lines(bench, TABLES);
    });
    let mut rng = Rng::new(20_261_130);
    // Copies of received and of sent packets come in between.
    let features: Vec<_> = FEATURES.iter().filter(|[on, _]| !on.contains(" span ")).collect();
    let mut on = vec![false; features.len()];
    let (mut number, mut left) = (0, 0usize);
    while (number as usize) < FRAMES {
        let flows = 1 + rng.below(40) as u32;
        let frames: Vec<_> = (0..1 + rng.below(256))
            .map(|_| {
                number += 1;
                // All packets of a flow come by one interface.
                let flow = rng.below(flows as usize) as u32;
                let rx_if = 1 + flow % INTERFACES;
                (rx_if, frame(rx_if, flow, number))
            })
            .collect();
        router.send(&frames);
        left += in_order(&router.take_in_order(), &format!("features {on:?}"));
        if number as usize / CHANGE_EVERY > (number as usize - frames.len()) / CHANGE_EVERY {
            let change = rng.below(features.len());
            on[change] ^= true;
            lines(&mut router.bench, &[features[change][usize::from(!on[change])]]);
            router.bench.settle();
        }
    }
    assert!(left > FRAMES / 3, "only {left} of {number} packets were sent");
}
