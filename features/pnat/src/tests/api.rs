// SPDX-License-Identifier: Apache-2.0
//! The messages and commands.

use super::*;
use crate::api::*;
use crate::binding::mask;
use ::net::api::{InterfaceIndex, Ip4Address, IpProto};

fn tuple(dst: [u8; 4], proto: u8, dport: u16, mask: u32) -> PnatMatchTuple {
    PnatMatchTuple {
        src: Ip4Address([0; 4]),
        dst: Ip4Address(dst),
        proto: IpProto(proto),
        sport: 0,
        dport,
        mask: PnatMask(mask),
    }
}

fn rewrite(mask: u32) -> PnatRewriteTuple {
    PnatRewriteTuple {
        src: Ip4Address([0; 4]),
        dst: Ip4Address([10, 0, 1, 2]),
        sport: 0,
        dport: 99,
        mask: PnatMask(mask),
        from_offset: 0,
        to_offset: 0,
        clear_offset: 0,
    }
}

const DST: u32 = mask::DESTINATION;
const DPORT: u32 = mask::DESTINATION_PORT;
const PROTO: u32 = mask::PROTOCOL;

#[suite::test]
fn clients_bind_and_attach() {
    let rig = router(&[]);
    let mut client = rig.bench.api();
    let add = |what, rewrite| PnatBindingAddV2 { r#match: what, rewrite };
    let of = [192, 0, 2, 9];
    for (request, want) in [
        (add(tuple(of, 17, 0, 0), rewrite(DST)), Err(-1)),
        (add(tuple(of, 17, 0, DST), rewrite(0)), Err(-1)),
        (add(tuple(of, 0, 53, DPORT), rewrite(DST)), Err(-2)),
        (add(tuple(of, 1, 0, DST), rewrite(DPORT)), Err(-2)),
        (add(tuple(of, 17, 0, DST | 256), rewrite(DST)), Err(-7)),
        (add(tuple(of, 17, 53, DST | DPORT | PROTO), rewrite(DST | DPORT)), Ok(0)),
        (add(tuple(of, 17, 53, DST | DPORT | PROTO), rewrite(DST)), Ok(1)),
        (add(tuple(of, 17, 54, DST | DPORT | PROTO), rewrite(DST)), Ok(2)),
        (add(tuple(of, 17, 0, DST), rewrite(DST)), Ok(3)),
    ] {
        assert_eq!(client.call(request).map(|r| r.binding_index), want);
    }
    // The first version compares a protocol of 0.
    let old = PnatBindingAdd { r#match: tuple(of, 0, 0, DST), rewrite: rewrite(DST) };
    assert_eq!(client.call(old).map(|r| r.binding_index), Ok(4));
    let [a, b] = [0, 1].map(|i: usize| InterfaceIndex::from(rig.ports[i]));
    let (input, output) = (PnatAttachmentPoint::Ip4Input, PnatAttachmentPoint::Ip4Output);
    let attach = |sw_if_index, attachment, binding_index| PnatBindingAttach {
        sw_if_index,
        attachment,
        binding_index,
    };
    for (request, want) in [
        (attach(a, input, 77), Err(-1)),
        (attach(InterfaceIndex(99), input, 0), Err(-2)),
        (attach(a, PnatAttachmentPoint::AttachmentPointMax, 0), Err(-7)),
        (attach(a, input, 0), Ok(())),
        (attach(a, input, 3), Err(-2)),
        (attach(a, input, 1), Err(-3)),
        (attach(a, input, 2), Ok(())),
        (attach(a, output, 3), Ok(())),
        (attach(b, input, 1), Ok(())),
    ] {
        assert_eq!(client.call(request), want);
    }
    let lookup = |sw_if_index, dport| PnatFlowLookup {
        sw_if_index,
        attachment: input,
        r#match: tuple(of, 17, dport, 0),
    };
    let mut find = |sw_if, port| client.call(lookup(sw_if, port)).map(|r| r.binding_index);
    assert_eq!((find(a, 53), find(a, 54), find(b, 53)), (Ok(0), Ok(2), Ok(1)));
    assert_eq!((find(a, 55), find(b, 54)), (Err(-1), Err(-1)));
    let end = client.call(PnatBindingsGet { cursor: 3 }).expect("an end");
    assert_eq!((end.cursor, client.details::<PnatBindingsGet>().len()), (u32::MAX, 2));
    let end = client.call(PnatInterfacesGet { cursor: u32::MAX }).expect("an end");
    assert_eq!(end.cursor, u32::MAX);
    let all = client.details::<PnatInterfacesGet>();
    let all: Vec<_> = all.iter().map(|d| (d.sw_if_index, d.enabled, d.lookup_mask)).collect();
    let full = PnatMask(DST | DPORT | PROTO);
    let none = PnatMask(0);
    assert_eq!(all, [(a, [true, true], [full, PnatMask(DST)]), (b, [true, false], [full, none])]);
    // One that is detached leaves the others.
    let detach = |sw_if_index, attachment, binding_index| PnatBindingDetach {
        sw_if_index,
        attachment,
        binding_index,
    };
    assert_eq!(client.call(detach(a, input, 0)), Ok(()));
    assert_eq!(client.call(detach(a, input, 0)), Err(-6));
    assert_eq!(client.call(detach(a, input, 77)), Err(-1));
    let mut find = |sw_if, port| client.call(lookup(sw_if, port)).map(|r| r.binding_index);
    assert_eq!((find(a, 53), find(a, 54)), (Err(-1), Ok(2)));
    // A binding that is removed is attached nowhere.
    let del = |binding_index| PnatBindingDel { binding_index };
    for n in 0..5 {
        assert_eq!(client.call(del(n)), Ok(()));
        assert_eq!(client.call(del(n)), Err(-1));
    }
    client.call(PnatInterfacesGet { cursor: 0 }).expect("an end");
    assert_eq!(client.details::<PnatInterfacesGet>().len(), 0);
    let arc = rig.bench.world.arc("ip4-unicast").expect("an arc");
    assert!(rig.bench.world.features_of(arc, rig.ports[0]).is_empty());
}

#[suite::test]
fn commands_show_and_refuse() {
    let mut rig = router(&[
        "pnat binding 7 match src 10.0.0.1 proto udp dport 53 rewrite src 192.0.2.1 copy 19 to 15 clear 40",
        "set interface pnat p0 in binding 7",
        "set pnat translation interface p1 match dst 10.0.0.9 rewrite dst 10.0.0.2 out",
    ]);
    let shown = "[0] match dst 10.0.0.9 rewrite dst 10.0.0.2\n  p1 out\n[7] match src 10.0.0.1 dport \
                 53 proto 17 rewrite src 192.0.2.1 copy 19 to 15 clear 40\n  p0 in\n";
    assert_eq!(rig.cli("show pnat translations"), shown);
    let interfaces = "p0 in: src proto dport, bindings: 1\np1 out: dst, bindings: 1\n";
    assert_eq!(rig.cli("show pnat interfaces"), interfaces);
    assert!(rig.cli("show pnat interfaces -j").contains("\"direction\": \"in\""));
    for (line, code, want) in [
        ("pnat binding 7 match src 1.2.3.4 rewrite clear 1", -81, "is there"),
        ("pnat binding 65536 match src 1.2.3.4 rewrite clear 1", -162, "65535"),
        ("pnat binding 8 match proto hop rewrite clear 1", -1, "a number to 255"),
        ("set interface pnat p0 in binding 0", -2, "mask"),
        ("set pnat translation interface p0 match dst 1.2.3.4 rewrite clear 1 in", -2, "mask"),
        (
            "set pnat translation interface p0 match dst 1.2.3.4 rewrite clear 1 in del",
            -6,
            "no such",
        ),
    ] {
        let (retval, error) = rig.refused(line);
        assert!(error.contains(want), "{line}: {error}");
        assert!(retval == code || code == -1, "{line}: {retval}");
    }
    assert_eq!(rig.cli("show pnat translations"), shown, "what is refused changes nothing");
    rig.cli("set pnat translation interface p1 match dst 10.0.0.9 rewrite dst 10.0.0.2 out del");
    rig.delete_port(0);
    assert_eq!(rig.cli("show pnat interfaces"), "");
    let left = shown.lines().nth(2).expect("a line");
    assert_eq!(rig.cli("show pnat translations"), format!("{left}\n"));
}
