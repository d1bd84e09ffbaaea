// SPDX-License-Identifier: Apache-2.0
//! Chains of tables against a list of masked matches.

use super::*;
use crate::control::{SessionConfig, TableConfig};
use crate::key::{VECTOR, read, read_around};
use crate::state::Classifier;
use crate::table::walk;
use graph::drive::Bench;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

#[derive(Clone, Debug)]
struct Plan {
    skip: u32,
    mask: Vec<u8>,
    miss: u32,
    /// Match and number of the next node.
    sessions: Vec<(Vec<u8>, u32)>,
}

/// Bytes of few values, so that masked packets match often.
fn few(len: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![4 => Just(0u8), 1 => Just(1u8), 1 => Just(0xf0u8)], len)
}

fn plan() -> impl Strategy<Value = Plan> {
    (0..3u32, 1..=5usize, 0..4u32).prop_flat_map(|(skip, vectors, miss)| {
        let bytes = (skip as usize + vectors) * VECTOR;
        let mask = prop_oneof![
            few(vectors * VECTOR),
            Just(vec![0xff; vectors * VECTOR]),
            Just(vec![0; vectors * VECTOR])
        ];
        let sessions = prop::collection::vec((few(bytes), 0..70_000u32), 0..12);
        (mask, sessions).prop_map(move |(mask, sessions)| Plan { skip, mask, miss, sessions })
    })
}

/// Result of a chain by linear search: the table's place, the session's next node, the next node.
fn slow(chain: &[Plan], packet: &[u8]) -> (usize, Option<u32>, u32) {
    let padded: Vec<u8> = packet.iter().copied().chain([0; 512]).collect();
    for (n, plan) in chain.iter().enumerate() {
        let start = plan.skip as usize * VECTOR;
        let masked = |bytes: &[u8]| -> Vec<u8> {
            bytes.iter().zip(&plan.mask).map(|(a, b)| a & b).collect()
        };
        let own = masked(&padded[start..start + plan.mask.len()]);
        // The session set last replaces others with the same masked match.
        if let Some((_, next)) =
            plan.sessions.iter().rev().find(|(bytes, _)| masked(&bytes[start..]) == own)
        {
            return (n, Some(*next), *next);
        }
    }
    (chain.len() - 1, None, chain[chain.len() - 1].miss)
}

#[suite::test]
fn chains_say_what_a_list_says() {
    let mut bench = Bench::new(PLUGINS);
    let world = bench.world.clone();
    let classifier = world.get::<Classifier>();
    let mut runner = TestRunner::default();
    let mut reader = world.qsbr.register();
    let strategy = (prop::collection::vec(plan(), 1..4), prop::collection::vec(few(0..150), 1..40));
    for _ in 0..400 {
        let (chain, packets) = strategy.new_tree(&mut runner).expect("a plan").current();
        let mut next = None;
        let mut indices = Vec::new();
        for plan in chain.iter().rev() {
            let config = TableConfig {
                mask: plan.mask.clone(),
                skip: plan.skip,
                buckets: 3,
                next,
                miss: plan.miss,
                offset: None,
            };
            let index = classifier.add_table(&world, &config, None).expect("made");
            for (bytes, next) in &plan.sessions {
                let config = SessionConfig {
                    next: *next,
                    opaque: 1,
                    advance: 0,
                    action: Default::default(),
                };
                classifier.add_session(&world, index, bytes, config).expect("set");
            }
            indices.insert(0, index);
            next = Some(index);
        }
        for packet in &packets {
            let mut b = bench.buffer(packet);
            {
                let turn = &reader.turn();
                let key = |table: &crate::table::Table| read(&b, table.skipped(), table.vectors);
                let verdict = walk(&classifier.tables, indices[0], turn, key).expect("a table");
                let (n, session, next) = slow(&chain, packet);
                let number = |next: u32| u16::try_from(next).unwrap_or(u16::MAX);
                assert_eq!(verdict.table, indices[n], "{chain:?} {packet:?}");
                assert_eq!(
                    verdict.session.map(|(_, s)| s.next),
                    session.map(number),
                    "{chain:?} {packet:?}"
                );
                assert_eq!(verdict.next, number(next), "{chain:?} {packet:?}");
                assert_eq!(verdict.chained, session.is_some() && n > 0);
            }
            // Wherever the packet's first byte is, the same bytes are read, and the packet is as it
            // was.
            for front in 0..packet.len().min(40) {
                assert!(b.pull(front));
                for vectors in 1..=5 {
                    let around = read_around(&mut b, -(front as i64), vectors);
                    assert_eq!(b.data(), &packet[front..]);
                    assert!(b.rewind(front));
                    assert_eq!(around, read(&b, 0, vectors));
                    assert!(b.pull(front));
                }
                // Nothing lies in front of a fresh packet.
                let padded: Vec<u8> =
                    [0; 5].into_iter().chain(packet.iter().copied()).chain([0; 80]).collect();
                let around = read_around(&mut b, -(front as i64) - 5, 5).bytes(5);
                assert_eq!(around, padded[..80]);
                assert!(b.rewind(front));
            }
            bench.rt.cache().free(b);
        }
        classifier.delete_table(&world, indices[0], true).expect("deleted");
        assert!(classifier.list().is_empty());
    }
}
