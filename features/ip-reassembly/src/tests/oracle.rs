// SPDX-License-Identifier: Apache-2.0
//! Any cuts, in any order, with gaps, duplicates and overlaps, against a slow function that decides
//! the same.

use super::*;
use proptest::prelude::*;
use testkit::pkt;
use wire::{Family, Ip6, IpProtocol, UpperLayer};

/// A fragment as it is sent.
#[derive(Clone, Debug)]
struct Sent {
    start: usize,
    bytes: Vec<u8>,
    more: bool,
}

/// Result for fragments in order of arrival: the reassembled payloads, and the number of dropped
/// fragments.
#[derive(Default, Debug, PartialEq, Eq)]
struct Fate {
    wholes: Vec<Vec<u8>>,
    dropped: usize,
    /// Number of fragments that still wait.
    waiting: usize,
}

/// The same where fragments may overlap: a list has, for every byte, the fragment that it is of. Of
/// two, the one that begins later has it; a fragment without bytes is dropped.
fn oracle_of_overlaps(sent: &[Sent]) -> Fate {
    let mut fate = Fate::default();
    let mut of: Vec<Option<usize>> = vec![None; 65_536];
    let (mut end, mut dead) = (None, false);
    for (n, s) in sent.iter().enumerate() {
        let range = s.start..s.start + s.bytes.len();
        let here: std::collections::BTreeSet<usize> = of.iter().flatten().copied().collect();
        let furthest = of.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
        let whole = of[range.clone()].iter().all(|o| o.is_some() && *o == of[s.start]);
        let contradicts = match (end, s.more) {
            (Some(end), true) => range.end > end,
            (Some(end), false) => range.end != end,
            (None, true) => false,
            (None, false) => range.end < furthest,
        };
        if dead || whole && (s.more || end == Some(range.end)) {
            fate.dropped += 1;
        } else if contradicts {
            fate.dropped += here.len() + 1;
            of.fill(None);
            dead = true;
        } else {
            for at in range.clone() {
                let later = of[at]
                    .is_some_and(|o| sent[o].start > s.start && here_behind(&of, o, range.end));
                if !later {
                    of[at] = Some(n);
                }
            }
            fate.dropped += here.iter().filter(|h| !of.contains(&Some(**h))).count();
            end = end.or((!s.more).then_some(range.end));
            if end.is_some_and(|end| of[..end].iter().all(Option::is_some)) {
                let byte =
                    |(at, o): (usize, &Option<usize>)| o.map(|o| sent[o].bytes[at - sent[o].start]);
                fate.wholes.push(of.iter().enumerate().map_while(byte).collect());
                of.fill(None);
                end = None;
            }
        }
    }
    fate.waiting = of.iter().flatten().collect::<std::collections::BTreeSet<_>>().len();
    fate
}

/// A fragment has a byte at this offset or behind it.
fn here_behind(of: &[Option<usize>], fragment: usize, at: usize) -> bool {
    of[at..].contains(&Some(fragment))
}

fn oracle(sent: &[Sent]) -> Fate {
    let mut fate = Fate::default();
    let (mut here, mut dead): (Vec<&Sent>, bool) = (Vec::new(), false);
    for s in sent {
        let range = |s: &Sent| s.start..s.start + s.bytes.len();
        let same = |h: &&Sent| h.start == s.start && h.bytes == s.bytes && h.more == s.more;
        let overlaps = |h: &&Sent| range(h).any(|i| range(s).contains(&i));
        let last = here.iter().find(|h| !h.more).map(|h| range(h).end);
        let furthest = here.iter().map(|h| range(h).end).max().unwrap_or(0);
        let contradicts = match last {
            Some(end) => !s.more || range(s).end > end,
            None => !s.more && range(s).end < furthest,
        };
        if dead || here.iter().any(same) {
            fate.dropped += 1;
        } else if here.iter().any(overlaps) || contradicts {
            fate.dropped += here.len() + 1;
            here.clear();
            dead = true;
        } else {
            here.push(s);
            let end = here.iter().find(|h| !h.more).map(|h| range(h).end);
            if end == Some(here.iter().map(|h| h.bytes.len()).sum()) {
                here.sort_by_key(|h| h.start);
                fate.wholes.push(here.iter().flat_map(|h| h.bytes.clone()).collect());
                here.clear();
            }
        }
    }
    fate.waiting = here.len();
    fate
}

/// One change to a list of fragments.
#[derive(Clone, Debug)]
enum Change {
    Swap(usize, usize),
    Repeat(usize, usize),
    Lose(usize),
    /// A further fragment of this start and length, of other bytes if so.
    Further(usize, usize, bool, bool),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        6 => (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Change::Swap(a, b)),
        2 => (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Change::Repeat(a, b)),
        1 => any::<usize>().prop_map(Change::Lose),
        1 => (0usize..700, 1usize..90, any::<bool>(), any::<bool>())
            .prop_map(|(at, n, other, more)| Change::Further(at * 8, n * 8, other, more)),
    ];
    prop::collection::vec(change, 0..12)
}

fn apply(sent: &mut Vec<Sent>, change: Change) {
    let n = sent.len();
    match change {
        Change::Swap(a, b) if n > 0 => sent.swap(a % n, b % n),
        Change::Repeat(a, b) if n > 0 => {
            let again = sent[a % n].clone();
            sent.insert(b % (n + 1), again);
        }
        Change::Lose(a) if n > 0 => drop(sent.remove(a % n)),
        Change::Further(start, len, other, more) => {
            let bytes = (start..start + len).map(|i| byte(i) ^ u8::from(other)).collect();
            sent.push(Sent { start, bytes, more });
        }
        _ => {}
    }
}

fn byte(i: usize) -> u8 {
    (i * 7 + i / 251) as u8
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[suite::test]
    fn what_is_put_together_is_what_the_oracle_puts_together(
        len in 9usize..5600,
        mut cuts in prop::collection::btree_set(1usize..700, 1..40),
        changes in changes(),
        at_once: bool,
    ) {
        cuts.retain(|cut| cut * 8 < len);
        let ends: Vec<usize> = cuts.iter().map(|cut| cut * 8).chain([len]).collect();
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let mut sent: Vec<Sent> = starts
            .zip(&ends)
            .map(|(start, end)| Sent { start, bytes: (start..*end).map(byte).collect(), more: *end < len })
            .collect();
        prop_assume!(sent.len() > 1);
        changes.into_iter().for_each(|change| apply(&mut sent, change));
        sent.retain(|s| s.start != 0 || s.more);
        check::<Ip4>(&sent, &oracle_of_overlaps(&sent), at_once)?;
        check::<Ip6>(&sent, &oracle(&sent), at_once)?;
    }
}

/// A packet of a family that carries these bytes of a datagram.
fn packet<F: Family>(s: &Sent) -> Vec<u8> {
    if F::IS_V6 {
        // An extension header in front of the fragment's, and a protocol whose header is unknown.
        let header = pkt::ip6("2001:db8:9::9", "2001:db8:7::7").ttl(9);
        let options = header.ext(IpProtocol::DEST_OPTIONS, [0, 1, 4, 0, 0, 0, 0]);
        return options.fragment6(0x7777_7777, s.start as u16, s.more).payload(&s.bytes).build();
    }
    let header =
        pkt::ip4("192.0.2.9", "198.51.100.7").ttl(9).id(0x77).fragment(s.start as u16, s.more);
    header.payload(&s.bytes).build()
}

/// The payload of a datagram that was put together.
fn payload<F: Family>(packet: &[u8]) -> &[u8] {
    let upper = UpperLayer::find(packet).expect("headers");
    assert!(!upper.is_fragment() && upper.end == packet.len());
    let header = F::Header::view(packet).expect("a header");
    assert_eq!((header.ttl(), upper.protocol), (9, IpProtocol(253)));
    assert!(F::IS_V6 || Ipv4Header::checksum_ok_at(packet));
    &packet[upper.offset..]
}

fn brief(fate: &Fate) -> (Vec<usize>, usize, usize) {
    (fate.wholes.iter().map(Vec::len).collect(), fate.dropped, fate.waiting)
}

fn check<F: Family>(sent: &[Sent], want: &Fate, at_once: bool) -> Result<(), TestCaseError> {
    let name = |text| ::graph::filled(text, F::IS_V6);
    let (mut bench, sw_if) = bench();
    run(&mut bench, "set interface reassembly t0 on");
    let packets: Vec<_> = sent.iter().map(packet::<F>).collect();
    let mut out = Vec::new();
    for packets in packets.chunks(if at_once { 256 } else { 1 }) {
        out.extend(bench.feature(&name("{ip}-unicast"), sw_if, packets));
    }
    let mut got = Fate { dropped: went(&out, &name("{ip}-drop")).len(), ..Fate::default() };
    for o in went(&out, &name("{ip}-lookup")) {
        got.wholes.push(payload::<F>(&o.bytes).to_vec());
    }
    let node = name("{ip}-full-reassembly-feature");
    let merged = bench.count(&node, "reass_fragments_reassembled") as usize;
    got.waiting = sent.len() - got.dropped - merged;
    prop_assert!(got == *want, "{}: {:?}, expected {:?}", node, brief(&got), brief(want));
    // Waiting fragments go at the timeout, and no buffer is lost: the end of the instance checks
    // that.
    pass(&mut bench, 6000);
    prop_assert_eq!(crate::control::under_way(&bench.world, crate::Kind::Full, F::IS_V6), 0);
    Ok(())
}
