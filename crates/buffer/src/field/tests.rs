// SPDX-License-Identifier: Apache-2.0
use crate::{Buffer, Cache, FIELD_BYTES, Field, FieldValue, Owned, Pool, RARE_FIELD_BYTES};
use proptest::prelude::*;
use std::collections::HashMap;
use std::ops::Range;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// So many bytes, of group `G` unless that is 0; types of different `N`, `G` or `RARE` are
/// different fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(transparent)]
struct Bytes<const N: usize, const G: usize = 0, const RARE: bool = false>([u8; N]);

impl<const N: usize, const G: usize, const RARE: bool> Default for Bytes<N, G, RARE> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize, const G: usize, const R: bool> FieldValue for Bytes<N, G, R> {
    const RARE: bool = R;
    const GROUP: Option<&'static str> = [None, Some("red"), Some("blue")][G];
}

fn pool() -> (&'static Pool, Cache) {
    let pool = Pool::new(63 * 2).expect("a small pool");
    (pool, Cache::new(pool))
}

fn end(pool: &Pool, cache: Cache, packets: impl IntoIterator<Item = Owned>) {
    packets.into_iter().for_each(drop);
    drop(cache);
    let stats = pool.stats();
    assert_eq!(stats.carved, stats.depot + stats.loose);
}

#[suite::test]
fn fields_lie_side_by_side_and_keep_their_values() {
    let (pool, mut cache) = pool();
    pool.reserve_field::<Bytes<1>>("one").expect("room");
    pool.reserve_field::<Bytes<0>>("none").expect("room");
    pool.reserve_field::<Bytes<17>>("many").expect("room");
    pool.reserve_field::<Bytes<8>>("eight").expect("room");
    let bytes: Vec<_> = pool.fields().into_iter().map(|field| (field.owner, field.bytes)).collect();
    assert_eq!(bytes, [("one", 0..1), ("none", 0..0), ("many", 1..18), ("eight", 18..26)]);
    let one = pool.field::<Bytes<1>>().expect("reserved");
    let none = pool.field::<Bytes<0>>().expect("reserved");
    let many = pool.field::<Bytes<17>>().expect("reserved");
    let eight = pool.field::<Bytes<8>>().expect("reserved");
    assert!(pool.field::<Bytes<2>>().is_none());
    let mut b = cache.alloc().expect("one");
    b.set_field(many, Bytes([0xff; 17]));
    assert_eq!((b.find_field(one), b.find_field(none), b.find_field(eight)), (None, None, None));
    b.set_field(one, Bytes([1]));
    b.set_field(eight, Bytes([8; 8]));
    b.set_field(none, Bytes([]));
    b.set_field(one, Bytes([2]));
    assert_eq!((b.field(one), b.find_field(none)), (Bytes([2]), Some(Bytes([]))));
    assert_eq!((b.field(many), b.field(eight)), (Bytes([0xff; 17]), Bytes([8; 8])));
    b.clear_field(many);
    assert_eq!((b.find_field(many), b.find_field(eight)), (None, Some(Bytes([8; 8]))));
    end(pool, cache, [b]);
    assert_eq!(pool.release(), Ok(()));
}

#[suite::test]
fn copies_have_them_and_fresh_buffers_have_not() {
    let (pool, mut cache) = pool();
    pool.reserve_field::<Bytes<8>>("a").expect("room");
    pool.reserve_field::<Bytes<3>>("b").expect("room");
    let (a, b) =
        (pool.field::<Bytes<8>>().expect("reserved"), pool.field::<Bytes<3>>().expect("reserved"));
    for len in [40, 5000] {
        let mut packet = cache.alloc().expect("one");
        assert!(packet.append_bytes(&vec![7; len], &mut cache));
        packet.set_field(a, Bytes([9; 8]));
        let original = packet.into_original(20);
        let [mut first, second] = [(); 2].map(|()| original.copy(&mut cache).expect("a buffer"));
        first.set_field(a, Bytes([1; 8]));
        first.set_field(b, Bytes([2; 3]));
        drop(original.finish(&mut cache));
        let second = second.unshare(&mut cache).expect("buffers");
        assert_eq!((first.field(a), first.field(b)), (Bytes([1; 8]), Bytes([2; 3])));
        assert_eq!((second.field(a), second.find_field(b)), (Bytes([9; 8]), None));
        cache.free(first);
        cache.free(second);
    }
    let fresh: Vec<_> = std::iter::from_fn(|| cache.alloc()).collect();
    assert!(
        fresh.iter().all(|packet| packet.find_field(a).is_none() && packet.find_field(b).is_none())
    );
    end(pool, cache, fresh);
    assert_eq!(pool.release(), Ok(()));
}

#[suite::test]
#[cfg(debug_assertions)]
#[should_panic(expected = "Bytes<4> was not written")]
fn a_value_that_nobody_wrote_panics() {
    let (pool, mut cache) = pool();
    pool.reserve_field::<Bytes<4>>("a").expect("room");
    let field = pool.field::<Bytes<4>>().expect("reserved");
    let mut b = cache.alloc().expect("one");
    b.set_field(field, Bytes([1; 4]));
    cache.free(b);
    let b = cache.alloc().expect("the same");
    let _ = b.field(field);
}

#[suite::test]
fn types_share_fields_and_what_is_too_much_names_the_holders() {
    let (pool, cache) = pool();
    pool.reserve_field::<Bytes<40>>("nat").expect("room");
    pool.reserve_field::<Bytes<40>>("acl").expect("it is there");
    pool.reserve_field::<Bytes<6>>("qos").expect("room");
    pool.reserve_field::<Bytes<100, 0, true>>("big").expect("room of its own");
    let error = pool.reserve_field::<Bytes<20>>("l2").expect_err("too much");
    for words in ["64 bytes", "18 left for the 20 of", "40 by nat for", "6 by qos for", "Bytes<20>"]
    {
        assert!(error.contains(words), "{error}");
    }
    assert!(!error.ends_with(',') && !error.contains("big"), "{error}");
    pool.reserve_field::<Bytes<18>>("l2").expect("just room");
    assert_eq!(pool.fields().last().map(|field| field.bytes.end), Some(FIELD_BYTES));
    let error = pool.reserve_field::<Bytes<29, 0, true>>("l2").expect_err("too much");
    for words in ["128 bytes for 8 rare fields", "28 left for the 29 of", "100 by big for"] {
        assert!(error.contains(words), "{error}");
    }
    // The next instance has its own.
    drop(cache);
    assert_eq!(pool.release(), Ok(()));
    let mut held = HashMap::new();
    while !held.contains_key(&std::ptr::from_ref(pool).addr()) {
        let next = Pool::new(63 * 2).expect("a small pool");
        held.insert(std::ptr::from_ref(next).addr(), next);
    }
    assert!(pool.fields().is_empty());
    held.into_values().for_each(|pool| assert_eq!(pool.release(), Ok(())));
}

#[suite::test]
fn fields_of_a_group_share_bytes() {
    let (pool, cache) = pool();
    pool.reserve_field::<Bytes<8, 1>>("a").expect("room");
    pool.reserve_field::<Bytes<3>>("b").expect("room");
    pool.reserve_field::<Bytes<5, 1>>("c").expect("room");
    pool.reserve_field::<Bytes<2, 2>>("d").expect("room");
    pool.reserve_field::<Bytes<12, 1>>("e").expect("room");
    pool.reserve_field::<Bytes<5, 0, true>>("f").expect("room");
    let bytes: Vec<_> = pool.fields().into_iter().map(|field| (field.owner, field.bytes)).collect();
    let want =
        [("a", 0..8), ("b", 8..11), ("c", 0..5), ("d", 11..13), ("e", 13..25), ("f", 64..69)];
    assert_eq!(bytes, want);
    drop(cache);
    assert_eq!(pool.release(), Ok(()));
}

#[suite::test]
#[cfg(debug_assertions)]
#[should_panic(expected = "Bytes<5, 1> is written while another field of its group is set")]
fn two_fields_of_a_group_panic() {
    let (pool, mut cache) = pool();
    pool.reserve_field::<Bytes<8, 1>>("a").expect("room");
    pool.reserve_field::<Bytes<5, 1>>("b").expect("room");
    let mut b = cache.alloc().expect("one");
    b.set_field(pool.field::<Bytes<8, 1>>().expect("reserved"), Bytes([1; 8]));
    b.set_field(pool.field::<Bytes<5, 1>>().expect("reserved"), Bytes([1; 5]));
}

/// A field whatever its type.
trait AnyField {
    fn find(&self, b: &Buffer) -> Option<Vec<u8>>;
    fn set(&self, b: &mut Buffer, seed: u8) -> Vec<u8>;
    fn clear(&self, b: &mut Buffer);
}

impl<const N: usize, const G: usize, const R: bool> AnyField for Field<Bytes<N, G, R>> {
    fn find(&self, b: &Buffer) -> Option<Vec<u8>> {
        b.find_field(*self).map(|value| value.0.to_vec())
    }

    fn set(&self, b: &mut Buffer, seed: u8) -> Vec<u8> {
        let value = std::array::from_fn(|i| seed.wrapping_add(i as u8));
        b.set_field(*self, Bytes(value));
        value.to_vec()
    }

    fn clear(&self, b: &mut Buffer) {
        b.clear_field(*self);
    }
}

/// A type of fields, to be chosen by its number.
struct Kind {
    group: usize,
    reserve: fn(&Pool, &'static str) -> Result<(), String>,
    field: fn(&Pool) -> Option<Box<dyn AnyField>>,
}

const fn kind<const N: usize, const G: usize, const R: bool>() -> Kind {
    let field = |pool: &Pool| pool.field::<Bytes<N, G, R>>().map(|f| Box::new(f) as Box<_>);
    Kind { group: G, reserve: Pool::reserve_field::<Bytes<N, G, R>>, field }
}

const KINDS: &[Kind] = &[
    kind::<0, 0, false>(),
    kind::<1, 0, false>(),
    kind::<4, 0, false>(),
    kind::<17, 0, false>(),
    kind::<24, 0, false>(),
    kind::<40, 0, true>(),
    kind::<64, 0, true>(),
    kind::<0, 1, false>(),
    kind::<3, 1, false>(),
    kind::<20, 1, false>(),
    kind::<32, 1, true>(),
    kind::<8, 2, false>(),
    kind::<30, 2, false>(),
    kind::<48, 2, true>(),
    kind::<60, 2, true>(),
];

/// A packet's model: value by kind.
type Values = HashMap<usize, Vec<u8>>;

#[derive(Clone, Copy, Debug)]
enum Step {
    Set(usize, u8),
    Clear(usize),
    /// The packet is replaced by a copy of it.
    Copy,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..KINDS.len(), any::<u8>()).prop_map(|(kind, seed)| Step::Set(kind, seed)),
        1 => (0..KINDS.len()).prop_map(Step::Clear),
        1 => Just(Step::Copy),
    ]
}

proptest! {
    #[suite::test]
    fn fields_are_a_map(
        order in Just((0..KINDS.len()).collect::<Vec<_>>()).prop_shuffle(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let (pool, mut cache) = pool();
        let fits = |kind: &&usize| (KINDS[**kind].reserve)(pool, "test").is_ok();
        let reserved: Vec<usize> = order.iter().filter(fits).copied().collect();
        let infos = pool.fields();
        let overlap = |a: &Range<usize>, b: &Range<usize>| a.start < b.end && b.start < a.end;
        for (i, a) in infos.iter().enumerate() {
            prop_assert!(a.bytes.end <= FIELD_BYTES + RARE_FIELD_BYTES);
            for b in &infos[i + 1..] {
                let shares = a.group.is_some() && a.group == b.group;
                prop_assert!(shares || a.bytes.is_empty() || !overlap(&a.bytes, &b.bytes));
            }
        }
        let fields: HashMap<usize, _> =
            reserved.iter().filter_map(|&kind| Some((kind, (KINDS[kind].field)(pool)?))).collect();
        prop_assert_eq!(fields.len(), reserved.len());
        let mut b = cache.alloc().expect("one");
        let mut model = Values::new();
        for step in steps {
            match step {
                Step::Set(kind, seed) => {
                    let Some(field) = fields.get(&kind) else { continue };
                    let group = KINDS[kind].group;
                    for (other, mate) in &fields {
                        if group != 0 && *other != kind && KINDS[*other].group == group {
                            mate.clear(&mut b);
                            model.remove(other);
                        }
                    }
                    model.insert(kind, field.set(&mut b, seed));
                }
                Step::Clear(kind) => {
                    let Some(field) = fields.get(&kind) else { continue };
                    field.clear(&mut b);
                    model.remove(&kind);
                }
                Step::Copy => {
                    let copy = b.duplicate(&mut cache).expect("a buffer");
                    cache.free(std::mem::replace(&mut b, copy));
                }
            }
            for (kind, field) in &fields {
                prop_assert_eq!(field.find(&b), model.get(kind).cloned());
            }
        }
        end(pool, cache, [b]);
        prop_assert_eq!(pool.release(), Ok(()));
    }
}
