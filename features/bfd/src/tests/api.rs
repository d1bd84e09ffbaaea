// SPDX-License-Identifier: Apache-2.0
//! Messages and commands.

use super::*;
use crate::api::{
    BfdAuthDelKey, BfdAuthKeysDump, BfdAuthSetKey, BfdState, BfdUdpAdd, BfdUdpAuthActivate,
    BfdUdpAuthDeactivate, BfdUdpDel, BfdUdpEnableMultihop, BfdUdpGetEchoSource, BfdUdpGetTos,
    BfdUdpMod, BfdUdpSessionDump, BfdUdpSessionEvent, BfdUdpSessionSetFlags, BfdUdpSetEchoSource,
    BfdUdpSetTos, BfdUdpUpd, WantBfdEvents,
};
use net::api::{IfStatusFlags, InterfaceIndex};

fn new(sw_if_index: InterfaceIndex, port: usize) -> BfdUdpAdd {
    BfdUdpAdd {
        sw_if_index,
        desired_min_tx: 50_000,
        required_min_rx: 60_000,
        local_addr: own(false, port).into(),
        peer_addr: peer(false, port).into(),
        detect_mult: 3,
        is_authenticated: false,
        bfd_key_id: 0,
        conf_key_id: 0,
    }
}

#[suite::test]
fn messages_answer_as_vpps() {
    let mut rig = rig(1);
    let request = new(rig.ports[0].into(), 0);
    let (sw_if_index, local_addr, peer_addr) =
        (request.sw_if_index, request.local_addr, request.peer_addr);
    {
        let mut client = rig.bench.api();
        client.call(WantBfdEvents { enable_disable: true, pid: 7 }).expect("subscribed");
        let add = |change: &dyn Fn(&mut BfdUdpAdd)| {
            let mut request = new(sw_if_index, 0);
            change(&mut request);
            request
        };
        let key = |len: u8, kind: u8| BfdAuthSetKey {
            conf_key_id: 3,
            key_len: len,
            auth_type: kind,
            key: [9; 20],
        };
        assert_eq!(client.call(key(0, 4)).err(), Some(-7));
        assert_eq!(client.call(key(21, 4)).err(), Some(-7));
        assert_eq!(client.call(key(20, 3)).err(), Some(-104));
        assert_eq!(client.call(BfdAuthDelKey { conf_key_id: 3 }).err(), Some(-102));
        client.call(key(20, 5)).expect("set");
        assert_eq!(client.call(add(&|r| r.detect_mult = 0)).err(), Some(-73));
        assert_eq!(client.call(add(&|r| r.desired_min_tx = 0)).err(), Some(-73));
        assert_eq!(client.call(add(&|r| r.peer_addr = peer(true, 0).into())).err(), Some(-73));
        assert_eq!(client.call(add(&|r| r.sw_if_index = InterfaceIndex(99))).err(), Some(-2));
        assert_eq!(client.call(add(&|r| r.sw_if_index = InterfaceIndex::NONE)).err(), Some(-30));
        assert_eq!(
            client.call(add(&|r| (r.is_authenticated, r.conf_key_id) = (true, 4))).err(),
            Some(-102)
        );
        client.call(add(&|_| {})).expect("added");
        assert_eq!(client.call(add(&|_| {})).err(), Some(-101));
        client.call(BfdUdpEnableMultihop {}).expect("enabled");
        client.call(add(&|r| r.sw_if_index = InterfaceIndex::NONE)).expect("added");
        let update = BfdUdpUpd {
            sw_if_index: InterfaceIndex::NONE,
            desired_min_tx: 70_000,
            required_min_rx: 80_000,
            local_addr,
            peer_addr,
            detect_mult: 9,
            is_authenticated: true,
            bfd_key_id: 4,
            conf_key_id: 3,
        };
        assert_eq!(client.call(update).map(|reply| reply.stats_index), Ok(1));
        let details = client.dump(BfdUdpSessionDump {});
        assert_eq!(details.len(), 2);
        let far = &details[1];
        assert_eq!((far.desired_min_tx, far.required_min_rx, far.detect_mult), (70_000, 80_000, 9));
        assert_eq!((far.is_authenticated, far.bfd_key_id, far.conf_key_id), (true, 4, 3));
        assert_eq!(client.dump(BfdAuthKeysDump {})[0].use_count, 1);
        assert_eq!(client.call(BfdAuthDelKey { conf_key_id: 3 }).err(), Some(-103));
        // The key that is in force stays in use until the peer has proved the change.
        client
            .call(BfdUdpAuthDeactivate {
                sw_if_index: InterfaceIndex::NONE,
                local_addr,
                peer_addr,
                is_delayed: true,
            })
            .expect("changed");
        assert_eq!(client.dump(BfdAuthKeysDump {})[0].use_count, 1);
        client
            .call(BfdUdpAuthActivate {
                sw_if_index: InterfaceIndex::NONE,
                local_addr,
                peer_addr,
                is_delayed: false,
                bfd_key_id: 4,
                conf_key_id: 3,
            })
            .expect("changed");
        assert_eq!(client.dump(BfdAuthKeysDump {})[0].use_count, 1);
        client
            .call(BfdUdpDel { sw_if_index: InterfaceIndex::NONE, local_addr, peer_addr })
            .expect("deleted");
        assert_eq!(client.dump(BfdAuthKeysDump {})[0].use_count, 0);
        let modify = BfdUdpMod {
            sw_if_index,
            desired_min_tx: 1,
            required_min_rx: 2,
            local_addr,
            peer_addr,
            detect_mult: 200,
        };
        client.call(modify).expect("modified");
        let flags = |flags| BfdUdpSessionSetFlags { sw_if_index, local_addr, peer_addr, flags };
        client.call(flags(IfStatusFlags::default())).expect("set");
        client.call(flags(IfStatusFlags::ADMIN_UP)).expect("set");
        let events = client.events::<BfdUdpSessionEvent>();
        let states: Vec<_> = events.iter().map(|(pid, event)| (*pid, event.state)).collect();
        assert_eq!(states, [(7, BfdState::AdminDown), (7, BfdState::Down)]);
        client.call(BfdUdpSetTos { tos: 112 }).expect("set");
        assert_eq!(client.call(BfdUdpGetTos {}).map(|reply| reply.tos), Ok(112));
        assert_eq!(client.call(BfdUdpGetEchoSource {}).map(|reply| reply.is_set), Ok(false));
        client.call(BfdUdpSetEchoSource { sw_if_index }).expect("set");
        let source = client.call(BfdUdpGetEchoSource {}).expect("a source");
        assert_eq!(
            (source.is_set, source.have_usable_ip4, source.ip4_addr.0),
            (true, true, [10, 0, 0, 0])
        );
        assert!(source.have_usable_ip6);
        client.call(BfdUdpDel { sw_if_index, local_addr, peer_addr }).expect("deleted");
        assert_eq!(client.call(BfdUdpDel { sw_if_index, local_addr, peer_addr }).err(), Some(-102));
    }
    rig.bench.settle();
}

#[suite::test]
fn commands_answer_as_vpps() {
    let mut rig = rig(1);
    let words = words(false, 0);
    let add = format!(
        "bfd udp session add {words} desired-min-tx 50000 required-min-rx 60000 detect-mult 3"
    );
    assert_eq!(rig.cli(&add), "");
    let refused = |rig: &mut Rig, line: &str| rig.refused(line);
    assert_eq!(
        refused(&mut rig, &add),
        (-101, "bfd udp session add: `bfd_add_add_session' API call failed, rv=-101:Duplicate BFD object".into())
    );
    for (command, more) in
        [("add", " desired-min-tx 1 required-min-rx 1 detect-mult 3"), ("del", "")]
    {
        let start = format!("bfd udp session {command}: Incompatible parameter combination, ");
        let both = format!("bfd udp session {command} multihop {words}{more}");
        assert_eq!(
            refused(&mut rig, &both),
            (-73, start.clone() + "interface cannot be specified when multihop is enabled")
        );
        let none = format!("bfd udp session {command} local-addr 1.1.1.1 peer-addr 2.2.2.2{more}");
        assert_eq!(
            refused(&mut rig, &none),
            (-73, start + "interface must be set if not multihop")
        );
    }
    rig.cli("bfd key set conf-key-id 7 type keyed-sha1 secret 0aff");
    rig.cli(&format!(
        "bfd udp session auth activate {words} conf-key-id 7 bfd-key-id 1 delayed yes"
    ));
    assert_eq!(
        refused(&mut rig, "bfd key set conf-key-id 7 type keyed-sha1 secret 01").1,
        "bfd key set: `bfd_auth_set_key' API call failed, rv=-103:BFD object in use"
    );
    assert_eq!(refused(&mut rig, "bfd key set conf-key-id 8 type keyed-sha1 secret 0x123").0, -7);
    assert_eq!(
        rig.cli("show bfd"),
        "Number of configured BFD sessions: 1\nNumber of configured BFD keys: 1\n"
    );
    assert!(rig.cli("show bfd keys").contains("keyed-sha1"));
    pass(&mut rig, 5);
    let shown = rig.cli("show bfd sessions");
    for text in [
        "IPv4 address",
        "10.0.0.1",
        "10.0.0.2",
        "Session state",
        "Down",
        "Next authentication key id",
        "Number of configured BFD sessions: 1",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&rig.cli("show bfd sessions -j")).expect("JSON");
    assert_eq!((&json[0]["state"], &json[0]["conf_key_id"]), (&"Down".into(), &7.into()));
    assert_eq!(json[0]["remote"]["required_min_rx_us"], 1);
    rig.cli("bfd udp echo-source set interface p0");
    assert_eq!(
        rig.cli("show bfd echo-source"),
        "UDP echo source is: p0\nIPv4 address usable as echo source: 10.0.0.0\n\
         IPv6 address usable as echo source: 2001:db8::\n"
    );
    rig.cli("set interface state p0 down");
    assert!(rig.cli("show bfd echo-source").contains("IPv4 address usable as echo source: none"));
}
