// SPDX-License-Identifier: Apache-2.0
//! The binary API and the commands.

use crate::api::*;
use driver::rig::Rig;
use graph::{Plugin, SwIfIndex};
use msg::Loopback;
use net::Interfaces;
use net::api::InterfaceIndex;
use testkit::lab;

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &crate::PLUGIN];

fn v3(netdev: &str) -> AfXdpCreateV3 {
    AfXdpCreateV3 {
        host_if: netdev.into(),
        name: "".into(),
        rxq_num: 1,
        rxq_size: 0,
        txq_size: 0,
        mode: AfXdpMode::Auto,
        flags: AfXdpFlag(0),
        prog: "".into(),
        netns: "".into(),
    }
}

#[suite::test(netns)]
fn messages_have_the_values_that_clients_know_in_netns() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let (a, middle, far) = (lab.netns("a"), lab.netns("m"), lab.netns("f"));
    lab.veth((&a, "eth0"), (&middle, "v0"));
    lab.veth((&a, "eth1"), (&far, "v1"));
    let rig = Rig::new(middle.name().expect("it has one"), PLUGINS, 1);
    let netns = far.name().expect("it has one").to_string();
    let kernels = middle.mac("v0");
    rig.control(move |world| {
        let mut client = Loopback::new(world, &world.api);
        // A helper thread opens an interface, and control's processes hear of it.
        let run = || _ = world.processes.run(world);
        let interface =
            |i: InterfaceIndex| world.get::<Interfaces>().get(SwIfIndex(i.0)).expect("there");
        let v0 = client.call_while(v3("v0"), run).expect("made").sw_if_index;
        assert_eq!(interface(v0).name, "v0/0");
        assert_ne!(interface(v0).mac, kernels);
        let there = AfXdpCreateV3 { netns: netns.as_str().into(), ..v3("v1") };
        let named = AfXdpCreateV3 {
            name: "west".into(),
            rxq_num: u16::MAX,
            rxq_size: 1024,
            txq_size: 256,
            mode: AfXdpMode::Copy,
            flags: AfXdpFlag::NO_SYSCALL_LOCK,
            ..there
        };
        let v1 = client.call_while(named, run).expect("made").sw_if_index;
        assert_eq!(interface(v1).name, "west");
        let details = interface(v1).device.details().join("\n");
        assert!(
            details.contains("receive: 1 queues of 1024, transmit: 1 queues of 256"),
            "{details}"
        );

        let mut refused = |r: AfXdpCreateV3| client.call_while(r, run).err();
        assert_eq!(refused(v3("")), Some(-7));
        assert_eq!(refused(v3("sixteen_letters_")), Some(-7));
        assert_eq!(refused(v3("nowhere")), Some(-7));
        assert_eq!(refused(AfXdpCreateV3 { rxq_size: 300, ..v3("v0") }), Some(-7));
        assert_eq!(refused(AfXdpCreateV3 { txq_size: 128, ..v3("v0") }), Some(-7));
        assert_eq!(refused(AfXdpCreateV3 { name: "west".into(), ..v3("v0") }), Some(-79));
        assert_eq!(refused(AfXdpCreateV3 { netns: "nowhere".into(), ..v3("v1") }), Some(-18));
        assert_eq!(refused(AfXdpCreateV3 { netns: "pid:4194305".into(), ..v3("v1") }), Some(-18));
        let delete = |sw_if_index| AfXdpDelete { sw_if_index };
        assert_eq!(client.call(delete(InterfaceIndex(0))).err(), Some(-71));
        assert_eq!(client.call(delete(InterfaceIndex(77))).err(), Some(-2));
        assert_eq!(client.call(delete(v0)), Ok(()));
        let mut refused = |r: AfXdpCreateV3| client.call_while(r, run).err();
        assert_eq!(refused(AfXdpCreateV3 { rxq_num: 2, ..v3("v0") }), Some(-7), "one queue");
        assert_eq!(refused(AfXdpCreateV3 { prog: "/nowhere".into(), ..v3("v0") }), Some(-15));
        // No veth does zero copy: the buffers aren't made for it, or the kernel says so.
        let zero = refused(AfXdpCreateV3 { mode: AfXdpMode::ZeroCopy, ..v3("v0") });
        assert!(matches!(zero, Some(-11 | -12)), "{zero:?}");
    });
    let text = rig.script("show af_xdp");
    assert!(text.contains("west") && text.contains("native"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&rig.script("show af_xdp -j")).expect("JSON");
    assert_eq!((&json[0]["netdev"], &json[0]["directions"]), (&"v1".into(), &"rx tx".into()));
    rig.script("create interface af_xdp host-if v0 mac-reuse name reused");
    let interfaces = rig.world.get::<Interfaces>();
    let reused = interfaces.find("reused").and_then(|i| interfaces.get(i)).expect("there");
    assert_eq!(reused.mac, kernels);
    for (line, part) in [
        ("create interface af_xdp host-if v0 name reused", "named `reused' already"),
        ("create interface af_xdp host-if v0 rx-queue-size 5", "a power of 2 from 256 to 32768"),
        ("delete interface af_xdp local0", "is no AF_XDP interface"),
    ] {
        let error = rig.cli(line).expect_err(line).to_string();
        assert!(error.contains(part), "{line}: {error}");
    }
    rig.finish();
}
