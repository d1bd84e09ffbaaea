// SPDX-License-Identifier: Apache-2.0
//! The stats segment, as a client of the socket sees it.
//!
//! Covers: bin/ferrovia, features/system, drivers/pg.

use fixture::{Router, eventually};
use stats::{Reader, Value};
use testkit::lab;

fn total(reader: &Reader, name: &str) -> Option<u64> {
    reader.get(name).expect("readable").map(|value| value.total())
}

#[test]
fn the_segment_counts_what_goes_through() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let router = Router::start(
        &lab.netns("router"),
        "cpu { workers 1 } statseg { default size 32m per-node-counters on update-interval 0.05 }",
    );
    let reader = Reader::connect(&router.file("stats.sock")).expect("the segment");
    router.script(
        "create packet-generator interface pg0\n\
         create packet-generator interface pg1\n\
         set interface state pg0 up\n\
         set interface state pg1 up\n\
         packet-generator new { name s limit 5000 size 64-64 interface pg0 node pg1-output data { hex 0x00112233 } }\n",
    );
    // Interfaces made after the segment was mapped are there as well.
    let names = reader.get("/if/names").expect("readable");
    let want = ["local0", "pg0", "pg1"].map(String::from);
    assert_eq!(names, Some(Value::Names(want.to_vec())));
    router.run("packet-generator enable-stream");
    eventually("all packets", || {
        (total(&reader, "/interfaces/pg1/tx") >= Some(5000)).then_some(())
    });
    let Some(Value::Combined(tx)) = reader.get("/if/tx").expect("readable") else {
        panic!("no /if/tx")
    };
    assert_eq!(tx.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3], "a row for each thread");
    assert!(total(&reader, "/nodes/pg1-tx/vectors") >= Some(5000));
    let beat = total(&reader, "/sys/heartbeat");
    eventually("a heartbeat", || (total(&reader, "/sys/heartbeat") > beat).then_some(()));
    assert_eq!(total(&reader, "/sys/num_worker_threads"), Some(1));

    router.run("clear interfaces");
    router.run("clear runtime");
    assert_eq!(total(&reader, "/interfaces/pg1/tx"), Some(0));
    assert!(total(&reader, "/nodes/pg1-tx/vectors") < Some(5000));
    router.run("set interface name pg1 uplink");
    assert_eq!(total(&reader, "/interfaces/pg1/tx"), None);
    assert_eq!(total(&reader, "/interfaces/uplink/tx"), Some(0));
    let listed = router.json("show statistics segment /interfaces/uplink/");
    let read = reader.list().expect("readable");
    let read = read.iter().filter(|(name, _)| name.starts_with("/interfaces/uplink/")).count();
    assert_eq!(listed.as_array().map(Vec::len), Some(read));
    assert_eq!(read, 17);
}
