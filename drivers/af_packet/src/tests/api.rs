// SPDX-License-Identifier: Apache-2.0
//! The binary API.

use crate::api::*;
use driver::rig::Rig;
use graph::{Plugin, SwIfIndex};
use msg::Loopback;
use net::Interfaces;
use net::api::{InterfaceIndex, MacAddress};
use testkit::lab;

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &crate::PLUGIN];

fn v3(name: &str, flags: AfPacketFlags) -> AfPacketCreateV3 {
    AfPacketCreateV3 {
        mode: AfPacketMode::Ethernet,
        hw_addr: MacAddress::default(),
        use_random_hw_addr: true,
        host_if_name: name.into(),
        rx_frame_size: 0,
        tx_frame_size: 0,
        rx_frames_per_block: 0,
        tx_frames_per_block: 0,
        flags,
        num_rx_queues: 1,
        num_tx_queues: 1,
    }
}

#[suite::test(netns)]
fn host_interfaces_are_made_told_and_deleted_in_netns() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let (a, middle) = (lab.netns("a"), lab.netns("m"));
    for n in 0..5 {
        lab.veth((&a, &format!("eth{n}")), (&middle, &format!("v{n}")));
    }
    middle.up("v4");
    middle.addr("v4", "10.0.3.2/24");
    middle.route("default", "10.0.3.1");
    let rig = Rig::new(middle.name().expect("it has one"), PLUGINS, 1);
    rig.control(|world| {
        let mut client = Loopback::new(world, &world.api);
        // A helper thread opens an interface, and control's processes hear of it.
        let run = || _ = world.processes.run(world);
        let hw_addr = MacAddress([2, 0, 0, 0, 0, 7]);
        let first =
            AfPacketCreate { hw_addr, use_random_hw_addr: false, host_if_name: "v0".into() };
        let v0 = client.call_while(first, run).expect("made").sw_if_index;
        let second = AfPacketCreateV2 {
            hw_addr,
            use_random_hw_addr: true,
            host_if_name: "v1".into(),
            rx_frame_size: 0,
            tx_frame_size: 0,
            rx_frames_per_block: 0,
            tx_frames_per_block: 0,
            flags: 0,
            num_rx_queues: 2,
        };
        let v1 = client.call_while(second, run).expect("made").sw_if_index;
        let v2 =
            client.call_while(v3("v2", AfPacketFlags::CKSUM_GSO), run).expect("made").sw_if_index;
        let told = client.dump(AfPacketDump {});
        let told: Vec<_> = told.iter().map(|d| (d.sw_if_index, d.host_if_name.as_str())).collect();
        assert_eq!(told, [(v0, "v0"), (v1, "v1"), (v2, "v2")]);
        let interface =
            |i: InterfaceIndex| world.get::<Interfaces>().get(SwIfIndex(i.0)).expect("there");
        assert_eq!(interface(v0).mac.octets(), [2, 0, 0, 0, 0, 7]);
        assert_eq!(interface(v2).name, "host-v2");
        assert_eq!(interface(v1).device.rx_queues().len(), 2);
        let details = |i| interface(i).device.details().join("\n");
        assert!(details(v0).contains("checksum offload on"));
        assert!(details(v1).contains("checksum offload off"));
        let offload = |sw_if_index, set| AfPacketSetL4CksumOffload { sw_if_index, set };
        assert_eq!(client.call(offload(v1, true)), Ok(()));
        assert!(details(v1).contains("checksum offload on"));
        assert_eq!(client.call(offload(InterfaceIndex(0), true)), Err(-2));

        assert_eq!(client.call(v3("v0", AfPacketFlags(0))).err(), Some(-79));
        let ip = AfPacketCreateV3 { mode: AfPacketMode::Ip, ..v3("v3", AfPacketFlags(0)) };
        assert_eq!(client.call(ip).err(), Some(-71), "its packets have an Ethernet header");
        assert_eq!(client.call(v3("nowhere", AfPacketFlags(0))).err(), Some(-71));
        let zero =
            AfPacketCreateV3 { use_random_hw_addr: false, ..v3("nowhere", AfPacketFlags(0)) };
        assert_eq!(client.call(zero).err(), Some(-7));
        assert_eq!(client.call(v3("v4", AfPacketFlags(0))).err(), Some(-155), "the host's route");
        for name in ["v0", "v1", "v2"] {
            assert_eq!(client.call(AfPacketDelete { host_if_name: name.into() }), Ok(()));
            assert_eq!(client.call(AfPacketDelete { host_if_name: name.into() }), Err(-11));
        }
        assert!(client.dump(AfPacketDump {}).is_empty());
    });
    assert!(!rig.script("show interface").contains("host-"));
    rig.finish();
}
