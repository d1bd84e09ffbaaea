// SPDX-License-Identifier: Apache-2.0

use crate::{PerThread, Qsbr};
use std::thread;

#[suite::test]
fn a_value_belongs_to_the_first_reader_that_asks() {
    let (domain, values) = (Qsbr::new(), PerThread::new([1, 2]));
    let (mut first, mut second) = (domain.register(), domain.register());
    *values.get(0, &first.turn()).unwrap() += 10;
    let turn = second.turn();
    assert!(values.get(0, &turn).is_none());
    assert_eq!(*values.get(1, &turn).unwrap(), 2);
    assert!(values.get(2, &turn).is_none());
    drop(turn);
    assert_eq!(*values.get(0, &first.turn()).unwrap(), 11);
}

#[suite::test]
fn a_value_has_one_guard_at_a_time() {
    let (domain, values) = (Qsbr::new(), PerThread::new(["value"]));
    let mut reader = domain.register();
    let turn = reader.turn();
    let guard = values.get(0, &turn).unwrap();
    assert!(values.get(0, &turn).is_none());
    drop(guard);
    assert!(values.get(0, &turn).is_some());
}

#[suite::test]
fn threads_change_their_values_at_the_same_time() {
    const THREADS: usize = 4;
    const TIMES: usize = 100_000;
    let (domain, values) = (Qsbr::new(), PerThread::new([0; THREADS]));
    thread::scope(|scope| {
        for at in 0..THREADS {
            let (mut reader, values) = (domain.register(), &values);
            scope.spawn(move || {
                let mut changes = 0;
                for i in 0..TIMES {
                    // Each thread asks for all values, and gets its own ones.
                    if let Some(mut value) = values.get((at + i) % THREADS, &reader.turn()) {
                        *value += 1;
                        changes += 1;
                    }
                }
                let turn = reader.turn();
                let own = (0..THREADS).filter_map(|at| values.get(at, &turn));
                assert_eq!(own.map(|value| *value).sum::<usize>(), changes);
            });
        }
    });
}
