// SPDX-License-Identifier: Apache-2.0
//! The binary API and what commands answer.

use super::peer::Dir;
use crate::api::*;
use crate::socket;
use graph::Plugin;
use graph::drive::Bench;
use net::api::*;

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &crate::PLUGIN];

fn like(is_server: bool, path: &str) -> CreateVhostUserIfV2 {
    CreateVhostUserIfV2 {
        is_server,
        sock_filename: path.into(),
        renumber: false,
        disable_mrg_rxbuf: false,
        disable_indirect_desc: false,
        enable_gso: false,
        enable_packed: false,
        enable_event_idx: false,
        custom_dev_instance: 0,
        use_custom_mac: false,
        mac_address: MacAddress::default(),
        tag: "".into(),
    }
}

fn change(sw_if_index: InterfaceIndex, is_server: bool, path: &str) -> ModifyVhostUserIfV2 {
    ModifyVhostUserIfV2 {
        sw_if_index,
        is_server,
        sock_filename: path.into(),
        renumber: false,
        enable_gso: false,
        enable_packed: false,
        enable_event_idx: false,
        custom_dev_instance: 0,
    }
}

#[suite::test]
fn return_values_are_vpps() {
    let dir = Dir::new("api");
    let bench = Bench::new(PLUGINS);
    let mut client = bench.api();
    let create = |client: &mut msg::Loopback<'_, graph::World>, r| {
        client.call::<CreateVhostUserIfV2>(r).map(|r| r.sw_if_index)
    };
    let [a, b, c] = ["a", "b", "c"].map(|name| dir.path(name));
    let one = create(&mut client, like(true, &a)).expect("made");
    let mac = MacAddress([2, 0, 0, 0, 0, 9]);
    let renumbered = CreateVhostUserIfV2 {
        renumber: true,
        custom_dev_instance: 7,
        use_custom_mac: true,
        mac_address: mac,
        disable_mrg_rxbuf: true,
        tag: "vm".into(),
        ..like(false, &b)
    };
    let two = create(&mut client, renumbered).expect("made");
    let group = MacAddress([3, 0, 0, 0, 0, 9]);
    let taken = dir.path("taken");
    let _other = socket::listen_at(&taken).unwrap_or_else(|_| panic!("can't listen"));
    for (request, retval) in [
        (like(true, ""), -73),
        (like(false, &"x".repeat(200)), -73),
        (like(false, &a), -79),
        (CreateVhostUserIfV2 { renumber: true, custom_dev_instance: 7, ..like(false, &c) }, -79),
        (CreateVhostUserIfV2 { use_custom_mac: true, mac_address: group, ..like(false, &c) }, -7),
        (like(true, &taken), -12),
        (like(true, &dir.path("none/a")), -12),
    ] {
        assert_eq!(create(&mut client, request).err(), Some(retval));
    }
    let all = client.dump(SwInterfaceVhostUserDump { sw_if_index: InterfaceIndex(u32::MAX) });
    let told: Vec<_> = all
        .iter()
        .map(|d| (d.interface_name.as_str(), d.is_server, d.sock_filename.as_str(), d.num_regions))
        .collect();
    let names = ["VirtualEthernet0/0/0", "VirtualEthernet0/0/7"];
    assert_eq!(told, [(names[0], true, &a[..], 0), (names[1], false, &b[..], 0)]);
    assert_eq!((all[0].virtio_net_hdr_sz, all[0].sock_errno), (10, 0));
    let one_of = client.dump(SwInterfaceVhostUserDump { sw_if_index: two });
    assert_eq!(one_of.len(), 1);

    let modify =
        |client: &mut msg::Loopback<'_, graph::World>, r| client.call::<ModifyVhostUserIfV2>(r);
    for (request, retval) in [
        (change(InterfaceIndex(0), true, &c), -2),
        (change(InterfaceIndex(99), true, &c), -2),
        (change(one, true, ""), -73),
        (change(one, true, &b), -79),
        (change(one, true, &taken), -12),
    ] {
        assert_eq!(modify(&mut client, request).err(), Some(retval));
    }
    assert!(socket::connect_to(&a).is_ok(), "it listens there still");
    // The same path, another path, a client.
    assert_eq!(modify(&mut client, change(one, true, &a)), Ok(()));
    assert!(socket::connect_to(&a).is_ok());
    let renamed =
        ModifyVhostUserIfV2 { renumber: true, custom_dev_instance: 3, ..change(one, true, &c) };
    assert_eq!(modify(&mut client, renamed), Ok(()));
    assert!(socket::connect_to(&a).is_err() && socket::connect_to(&c).is_ok());
    assert!(!std::path::Path::new(&a).exists(), "the file goes with its listener");
    let told = client.dump(SwInterfaceVhostUserDump { sw_if_index: one });
    assert_eq!(told[0].interface_name.as_str(), "VirtualEthernet0/0/3");
    assert_eq!(modify(&mut client, change(one, false, &c)), Ok(()));
    assert!(!std::path::Path::new(&c).exists());
    assert_eq!(modify(&mut client, change(one, true, &c)), Ok(()));

    for other in [0, 77] {
        assert_eq!(client.call(DeleteVhostUserIf { sw_if_index: InterfaceIndex(other) }), Err(-2));
    }
    for sw_if_index in [one, two] {
        assert_eq!(client.call(DeleteVhostUserIf { sw_if_index }), Ok(()));
    }
    assert!(!std::path::Path::new(&c).exists());
    let all = client.dump(SwInterfaceVhostUserDump { sw_if_index: InterfaceIndex(u32::MAX) });
    assert!(all.is_empty());
}
