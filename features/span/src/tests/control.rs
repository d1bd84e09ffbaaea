// SPDX-License-Identifier: Apache-2.0
//! Commands, messages, deletion.

use super::*;
use crate::api::*;
use net::api::InterfaceIndex;

const NOTHING: &str = "Source  Destination  Device  L2\n";

#[suite::test]
fn commands_replace_show_and_end() {
    let mut rig = rig(3);
    assert_eq!(rig.cli("show interface span"), NOTHING);
    assert_eq!(rig.cli("show interface span -j"), "[]\n");
    for line in [
        "p0 destination p1",
        "p0 destination p1 l2 rx",
        "p0 destination p1 tx l2",
        "p0 both l2 destination p2",
        "p1 destination p2 rx",
        "p2 destination p1",
        "p2 destination p1 disable",
    ] {
        rig.cli(&format!("set interface span {line}"));
    }
    let shown = "Source  Destination  Device  L2\n\
                 p0      p1           both    tx\n\
                 p0      p2           none    both\n\
                 p1      p2           rx      none\n";
    assert_eq!(rig.cli("show interface span"), shown);
    let json = rig.cli("show interface span -j");
    let rows: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        rows[0],
        serde_json::json!({"source": "p0", "destination": "p1", "device": "both", "l2": "tx"})
    );
    rig.cli("set interface span p0 disable");
    rig.cli("set interface span p1 disable");
    let shown = "Source  Destination  Device  L2\n\
                 p0      p1           none    tx\n\
                 p0      p2           none    both\n";
    assert_eq!(rig.cli("show interface span"), shown);
    rig.cli("set interface span p0 l2 disable");
    assert_eq!(rig.cli("show interface span"), NOTHING);
    for (line, want) in [
        ("p0 destination p0", "p0 can't be mirrored to itself"),
        ("local0 destination p0", "local0 carries no Ethernet frames"),
        ("p0 destination local0", "local0 carries no Ethernet frames"),
        ("p0 destination p7", "p7"),
    ] {
        let error = rig.bench.cli(&format!("set interface span {line}")).expect_err(line);
        assert!(error.to_string().contains(want), "{line}: {error}");
    }
    sub(&mut rig, "p0 1");
    assert!(rig.bench.cli("set interface span p0.1 destination p1").is_err(), "at the device");
    rig.cli("set interface span p0.1 l2 destination p1");
}

#[suite::test]
fn messages_set_and_dump() {
    let mut rig = rig(3);
    let [a, b, c] = [0, 1, 2].map(|i: usize| InterfaceIndex::from(rig.ports[i]));
    sub(&mut rig, "p0 1");
    let sub = InterfaceIndex(rig.ports[2].0 + 1);
    let (none, gone) = (InterfaceIndex::NONE, InterfaceIndex(99));
    let set = |from, to, state, is_l2| SwInterfaceSpanEnableDisable {
        sw_if_index_from: from,
        sw_if_index_to: to,
        state: SpanState(state),
        is_l2,
    };
    let details = |from, to, state, is_l2| SwInterfaceSpanDetails {
        sw_if_index_from: from,
        sw_if_index_to: to,
        state: SpanState(state),
        is_l2,
    };
    let mut client = rig.bench.api();
    for (request, want) in [
        (set(a, b, 1, false), Ok(())),
        (set(a, b, 2, false), Ok(())),
        (set(a, c, 3, false), Ok(())),
        (set(a, b, 3, true), Ok(())),
        (set(sub, b, 1, true), Ok(())),
        (set(b, c, 0, true), Ok(())),
        (set(a, a, 1, false), Err(-71)),
        (set(a, none, 1, false), Err(-71)),
        (set(none, a, 1, true), Err(-71)),
        (set(sub, b, 1, false), Err(-71)),
        (set(InterfaceIndex(0), b, 1, false), Err(-71)),
        (set(gone, b, 1, false), Err(-2)),
        (set(a, gone, 1, false), Err(-10)),
        (set(a, b, 4, false), Err(-9)),
        (set(a, b, u32::MAX, false), Err(-9)),
    ] {
        let what =
            format!("{:?}", (request.sw_if_index_from, request.sw_if_index_to, request.state.0));
        assert_eq!(client.call(request), want, "{what}");
    }
    let dump = |is_l2| SwInterfaceSpanDump { is_l2 };
    assert_eq!(client.dump(dump(false)), [details(a, b, 2, false), details(a, c, 3, false)]);
    assert_eq!(client.dump(dump(true)), [details(a, b, 3, true), details(sub, b, 1, true)]);
    assert_eq!(client.call(set(a, c, 0, false)), Ok(()));
    assert_eq!(client.dump(dump(false)), [details(a, b, 2, false)]);
    assert_eq!(client.call(set(a, none, 0, true)), Ok(()));
    assert_eq!(client.dump(dump(true)), [details(sub, b, 1, true)]);
    assert_eq!(client.dump(dump(false)), [details(a, b, 2, false)]);
    drop(client);
}

/// An interface takes its mirrors with it, and a new one with its index has none.
#[suite::test]
fn mirrors_go_with_either_interface() {
    for gone in [0, 2] {
        let mut rig = rig(4);
        rig.cli("set interface l2 xconnect p0 p1");
        rig.cli("set interface l2 xconnect p1 p0");
        rig.cli("set interface l2 bridge p2 1");
        for line in ["p0 destination p2", "p0 l2 destination p2", "p0 destination p3 rx"] {
            rig.cli(&format!("set interface span {line}"));
        }
        let frame = frame(100, 0);
        assert_eq!(rig.pass(0, &frame), at(&[1, 2, 2, 3], &frame));
        rig.delete_port(gone);
        let left = if gone == 0 { "" } else { "p0      p3           rx      none\n" };
        assert_eq!(rig.cli("show interface span"), format!("{NOTHING}{left}"));
        if gone == 2 {
            assert_eq!(
                (rig.pass(0, &frame), rig.pass(1, &frame)),
                (at(&[1, 3], &frame), at(&[0], &frame))
            );
        }
        rig.add_port(gone);
        rig.cli("set interface l2 xconnect p0 p1");
        rig.cli("set interface l2 xconnect p1 p0");
        rig.cli("set interface l2 bridge p2 1");
        let want = if gone == 0 { at(&[1], &frame) } else { at(&[1, 3], &frame) };
        assert_eq!((rig.pass(0, &frame), rig.pass(1, &frame)), (want, at(&[0], &frame)));
        assert_eq!(rig.bench.drops(), 0);
    }
}
