// SPDX-License-Identifier: Apache-2.0
//! Fragments, for full reassembly and for shallow reassembly.

use super::*;
use ip_reassembly::CustomNext;
use wire::IpProtocol;

/// A fragment of a datagram of UDP: which, where it begins, whether more follow, and its payload.
#[derive(Clone, Copy)]
struct Part<'a>(u16, u16, bool, &'a [u8]);

/// The datagram's first bytes: UDP's header and some data.
const FIRST: &[u8] = &[7; 64];
const SECOND: &[u8] = &[1; 40];

/// The path of fragments through a node: their source and destination.
struct FragmentPath {
    node: String,
    family: Family,
    to: &'static str,
    /// The destination's station, if it isn't the router's.
    group: Option<[u8; 6]>,
    /// Packets are given to the node, since no feature sends it any.
    direct: bool,
}

impl FragmentPath {
    fn frame(
        &self,
        Part(id, at, more, payload): Part<'_>,
        tos: u8,
        protocol: IpProtocol,
    ) -> Vec<u8> {
        let packet = self.family.packet(HIM, self.to).tos(tos);
        let packet = if self.family.v6 {
            packet.fragment6(id.into(), at, more).protocol(protocol)
        } else {
            packet.id(id).fragment(at, more).protocol(protocol)
        };
        let frame = packet.payload(payload).build();
        self.group.map_or(frame.clone(), |mac| with(frame, 0, &mac))
    }

    fn send(&self, w: &mut Walk, reason: &str, frames: &[Vec<u8>]) {
        let counter = format!("{}/{reason}", self.node);
        if !self.direct {
            return w.frames(&counter, frames);
        }
        let packets: Vec<_> = frames.iter().map(|frame| frame[14..].to_vec()).collect();
        let node = w.bench.index("error-drop").0;
        w.at(&counter, &self.node, "pg0", &packets, |b| b.set_scratch(CustomNext { node }));
    }

    fn parts(&self, w: &mut Walk, reason: &str, parts: &[Part<'_>]) {
        let frame = |part: &Part<'_>| self.frame(*part, 0, IpProtocol::UDP);
        self.send(w, reason, &parts.iter().map(frame).collect::<Vec<_>>());
    }

    /// Counters that both kinds of reassembly share; `overlap` contradicts a fragment that begins
    /// with [`FIRST`].
    fn common(&self, w: &mut Walk, limits: &str, overlap: [Part<'_>; 2]) {
        self.parts(w, "reass_fragments_rcvd", &[Part(1, 0, true, FIRST)]);
        self.parts(w, "reass_overlapping_fragment", &overlap);
        self.parts(w, "reass_given_up", &[Part(overlap[0].0, 128, true, FIRST)]);
        self.parts(w, "reass_success", &[Part(3, 0, true, FIRST), Part(3, 64, false, SECOND)]);
        let many: Vec<_> = (1..6).map(|i| Part(4, i * 128, true, FIRST)).collect();
        self.parts(w, "reass_fragment_chain_too_long", &many);
        self.parts(w, "reass_fragments_rcvd", &[Part(5, 64, false, SECOND)]);
        w.moves(&format!("{}/reass_timeout", self.node), |w| w.wait(2_000_000_000));
        w.run(&format!("set {limits} max-reassemblies 1"));
        self.parts(
            w,
            "reass_limit_reached",
            &[Part(6, 64, false, SECOND), Part(7, 64, false, SECOND)],
        );
        w.wait(2_000_000_000);
        w.run(&format!("set {limits} max-reassemblies 1024"));
    }
}

/// Full reassembly: of forwarded packets, for the router, and for nodes that send fragments there.
pub fn full(w: &mut Walk) {
    for family in FAMILIES {
        let limits = family.text("{ip}-full-reassembly");
        w.run(&format!("set {limits} timeout 1000 max-reassembly-length 4"));
        for (node, to, direct) in [
            ("{ip}-full-reassembly-feature", FAR, false),
            ("{ip}-local-full-reassembly", US, false),
            ("{ip}-full-reassembly", FAR, true),
            ("{ip}-full-reassembly-custom", FAR, true),
        ] {
            let is_feature = node.ends_with("feature");
            let switch = |on: &str| format!("set interface reassembly pg0 {on}");
            w.run(&switch(&if is_feature { family.text("{ip}") } else { "off".into() }));
            let way = FragmentPath { node: family.text(node), family, to, group: None, direct };
            // Two ends.
            way.common(w, &limits, [Part(2, 64, false, SECOND), Part(2, 64, false, &[1; 48])]);
            way.parts(
                w,
                "reass_fragments_reassembled",
                &[Part(10, 0, true, FIRST), Part(10, 64, false, SECOND)],
            );
            way.parts(
                w,
                "reass_duplicate_fragment",
                &[Part(11, 0, true, FIRST), Part(11, 0, true, FIRST)],
            );
            let marked = |part, tos| way.frame(part, tos, IpProtocol::UDP);
            let ecn = [marked(Part(12, 0, true, FIRST), 0), marked(Part(12, 64, false, SECOND), 3)];
            way.send(w, "reass_ecn_mismatch", &ecn);
            w.wait(2_000_000_000);
            if to == US || family.v6 {
                way.parts(w, "reass_fragments_rcvd", &[Part(13, 0, true, FIRST)]);
                w.moves(&format!("{}/reass_time_exceeded", way.node), |w| w.wait(2_000_000_000));
            }
            if family.v6 {
                way.parts(w, "reass_invalid_frag_size", &[Part(14, 0, true, &FIRST[1..])]);
                way.parts(w, "reass_invalid_frag_len", &[Part(15, 64, false, &[])]);
                let tcp = way.frame(Part(16, 0, true, &FIRST[..8]), 0, IpProtocol::TCP);
                way.send(w, "reass_missing_upper", &[tcp]);
            } else {
                way.parts(w, "reass_malformed_packet", &[Part(15, 64, true, &FIRST[1..])]);
            }
            if to == US {
                w.inject(&format!("{}/reass_no_frag_hdr", way.node), &family.udp(US).build()[14..]);
            }
        }
    }
}

/// Shallow reassembly: of packets to one host and to groups, and of those that leave.
pub fn shallow(w: &mut Walk) {
    for family in FAMILIES {
        let limits = family.text("{ip}-sv-reassembly");
        for line in [
            "set {ip}-sv-reassembly timeout 1000 max-reassembly-length 4",
            "set interface virtual-reassembly pg0 {ip}",
            "ip mroute add {239.1.1.1|ff0e::1} via pg0 Accept",
            "ip mroute add {239.1.1.1|ff0e::1} via pg1 Forward",
        ] {
            w.run(&family.text(line));
        }
        let group = if family.v6 { [0x33, 0x33, 0, 0, 0, 1] } else { [1, 0, 0x5e, 1, 1, 1] };
        for (node, to, group) in [
            ("{ip}-sv-reassembly-feature", FAR, None),
            ("{ip}-sv-reassembly-mcast-feature", "{239.1.1.1|ff0e::1}", Some(group)),
            ("{ip}-sv-reassembly-output-feature", FAR, None),
        ] {
            if node.contains("output") {
                w.run("set interface virtual-reassembly pg0 off");
                w.run(&family.text(
                    "set interface feature pg1 {ip}-sv-reassembly-output-feature arc {ip}-output",
                ));
            }
            let way = FragmentPath { node: family.text(node), family, to, group, direct: false };
            // Bytes that the first one has already.
            way.common(w, &limits, [Part(2, 0, true, FIRST), Part(2, 56, true, FIRST)]);
            let tcp = way.frame(Part(16, 0, true, &FIRST[..8]), 0, IpProtocol::TCP);
            way.send(w, "reass_missing_upper", &[tcp]);
            let malformed = family.text("{reass_malformed_packet|reass_invalid_frag_len}");
            way.parts(w, &malformed, &[Part(17, 64, false, &[])]);
        }
    }
}
