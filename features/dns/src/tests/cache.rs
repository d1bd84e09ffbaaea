// SPDX-License-Identifier: Apache-2.0
//! The cache against a plain model.

use super::*;
use crate::answer::Answer;
use crate::cache::{Cache, MOST, Static};
use crate::pending::Owner;
use std::sync::Arc;
use testkit::Rng;
use wire::dns::Rcode;

const SECOND: u64 = 1_000_000_000;

fn answer(question: &Question, ttl: u32, now: u64) -> Arc<Answer> {
    let records = [(question.name.clone(), ttl, RecordData::A([1; 4].into()))];
    Arc::new(Answer::compose(question, Rcode::NO_ERROR, &records, None, now))
}

#[suite::test]
fn the_answers_used_last_are_kept() {
    let mut rng = Rng::new(0xd5);
    let mut cache = Cache::default();
    // Questions in the order of their last use, with the end of each.
    let mut model: Vec<(Question, u64)> = Vec::new();
    let mut statics = 0;
    let mut now = 0;
    for step in 0..30_000u32 {
        now += rng.below(20) as u64 * SECOND / 100;
        let question = question(&format!("n{}.example", rng.below(1500)), RecordType::A);
        match rng.below(10) {
            0..6 => {
                let ttl = rng.below(400) as u32;
                cache.put(question.clone(), answer(&question, ttl, now), Owner::Local);
                model.retain(|(known, _)| *known != question);
                if ttl > 0 {
                    model.push((question, now + u64::from(ttl) * SECOND));
                }
                if model.len() + statics > MOST {
                    model.remove(0);
                }
            }
            6 if step % 50 == 0 => {
                let ip4 = Some([2; 4].into());
                let given = Static { ip4, ip6: None };
                cache.give(name(&format!("s{step}.example")), given).expect("room");
                statics += 1;
                model.drain(..(model.len() + statics).saturating_sub(MOST));
            }
            _ => {
                let at = model.iter().position(|(known, _)| *known == question);
                let known = at.map(|at| model.remove(at)).filter(|(_, end)| *end > now);
                model.extend(known.clone());
                let got = cache.get(&question, now);
                assert_eq!(got.map(|answer| answer.expires()), known.map(|(_, end)| end), "{step}");
            }
        }
    }
    assert!(model.len() > 500 && statics > 10);
    let mut left: Vec<_> = model.into_iter().map(|(question, _)| question).collect();
    left.sort();
    assert_eq!(cache.answers().map(|(question, _)| question.clone()).collect::<Vec<_>>(), left);
    cache.clear();
    assert_eq!((cache.answers().count(), cache.statics().count()), (0, statics));
}

#[suite::test]
fn a_thousand_names_may_have_addresses() {
    let mut cache = Cache::default();
    let asked = question("a.example", RecordType::A);
    cache.put(asked.clone(), answer(&asked, 9, 0), Owner::Local);
    let given = Static { ip4: Some([2; 4].into()), ip6: None };
    for i in 0..MOST {
        cache.give(name(&format!("s{i}.example")), given).expect("room");
    }
    assert_eq!(cache.get(&asked, 0), None);
    assert_eq!(cache.give(name("more.example"), given).expect_err("full").code(), -162);
    assert_eq!(cache.give(name("S1.example"), given).expect_err("known").code(), -116);
    cache.put(asked.clone(), answer(&asked, 9, 0), Owner::Local);
    assert_eq!(cache.answers().count(), 0);
    cache.forget(&name("s1.example")).expect("known");
    assert_eq!(cache.forget(&name("s1.example")).expect_err("gone").code(), -6);
    cache.put(asked.clone(), answer(&asked, 9, 0), Owner::Local);
    assert!(cache.get(&asked, 0).is_some());
}

/// A client that asks for many names displaces its own answers, not those of others.
#[suite::test]
fn a_client_keeps_others_answers() {
    let mut cache = Cache::default();
    let host = |n: u8| Owner::of(IpAddr::from([10, 0, 0, n]));
    let ask = |cache: &mut Cache, text: &str, owner| {
        let asked = question(text, RecordType::A);
        cache.put(asked.clone(), answer(&asked, 9, 0), owner);
        asked
    };
    let few: Vec<_> =
        (0..10).map(|n| ask(&mut cache, &format!("few{n}.example"), host(1))).collect();
    let many: Vec<_> =
        (0..3 * MOST).map(|n| ask(&mut cache, &format!("many{n}.example"), host(2))).collect();
    assert_eq!(cache.answers().count(), MOST);
    assert!(few.iter().all(|asked| cache.get(asked, 0).is_some()));
    let kept = many.iter().filter(|asked| cache.get(asked, 0).is_some()).count();
    assert_eq!(kept, MOST - few.len());
    assert!(many[2 * MOST + 10..].iter().all(|asked| cache.get(asked, 0).is_some()), "the latest");
}
