// SPDX-License-Identifier: Apache-2.0
//! The messages.

use super::*;
use crate::api::*;
use net::api::{InterfaceIndex, MacAddress};

const ALL: InterfaceIndex = InterfaceIndex::NONE;

fn create(mode: BondMode, lb: BondLbAlgo, id: u32) -> BondCreate2 {
    BondCreate2 {
        mode,
        lb,
        numa_only: true,
        enable_gso: true,
        use_custom_mac: false,
        mac_address: MacAddress::default(),
        id,
    }
}

fn add(member: InterfaceIndex, bond: InterfaceIndex) -> BondAddMember {
    BondAddMember {
        sw_if_index: member,
        bond_sw_if_index: bond,
        is_passive: false,
        is_long_timeout: true,
    }
}

#[suite::test]
fn messages_make_and_list() {
    let rig = Rig::new(PLUGINS, 3);
    let [a, b, c] = [0, 1, 2].map(|i| InterfaceIndex(rig.ports[i].0));
    let mut client = rig.bench.api();
    let made = client.call(create(BondMode::ACTIVE_BACKUP, BondLbAlgo::L2, u32::MAX));
    let bond = made.expect("made").sw_if_index;
    for (message, code) in [
        (create(BondMode::XOR, BondLbAlgo::L2, 0), -147),
        (create(BondMode::LACP, BondLbAlgo::L2, 7), -30),
        (create(BondMode(0), BondLbAlgo::L2, 7), -73),
        (create(BondMode(6), BondLbAlgo::L2, 7), -73),
        (create(BondMode::XOR, BondLbAlgo(9), 7), -73),
        (create(BondMode::XOR, BondLbAlgo::BC, 7), -73),
    ] {
        assert_eq!(client.call(message).map(|r| r.sw_if_index), Err(code));
    }
    let old = BondCreate {
        id: 5,
        use_custom_mac: true,
        mac_address: MacAddress([2, 0, 0, 0, 0, 5]),
        mode: BondMode::XOR,
        lb: BondLbAlgo::L34,
        numa_only: false,
    };
    let xor = client.call(old).expect("made").sw_if_index;
    for (message, want) in [
        (add(a, bond), Ok(())),
        (add(a, bond), Err(-81)),
        (add(b, bond), Ok(())),
        (add(c, a), Err(-71)),
        (add(c, InterfaceIndex(99)), Err(-71)),
        (add(InterfaceIndex(99), bond), Err(-2)),
        (add(xor, bond), Err(-71)),
    ] {
        assert_eq!(client.call(message), want);
    }
    let enslave = BondEnslave {
        sw_if_index: c,
        bond_sw_if_index: xor,
        is_passive: true,
        is_long_timeout: false,
    };
    assert_eq!(client.call(enslave), Ok(()));
    let weight = |sw_if_index, weight| SwInterfaceSetBondWeight { sw_if_index, weight };
    assert_eq!(client.call(weight(b, 9)), Ok(()));
    assert_eq!(client.call(weight(c, 9)), Err(-73));
    assert_eq!(client.call(weight(bond, 9)), Err(-71));

    let bonds = client.dump(SwBondInterfaceDump { sw_if_index: ALL });
    let want = SwBondInterfaceDetails {
        sw_if_index: bond,
        id: 0,
        mode: BondMode::ACTIVE_BACKUP,
        lb: BondLbAlgo::AB,
        numa_only: true,
        active_members: 2,
        members: 2,
        interface_name: "BondEthernet0".into(),
    };
    assert_eq!((bonds.len(), &bonds[0]), (2, &want));
    assert_eq!((bonds[1].id, bonds[1].mode, bonds[1].lb), (5, BondMode::XOR, BondLbAlgo::L34));
    assert_eq!(
        client.dump(SwBondInterfaceDump { sw_if_index: xor }),
        [bonds.into_iter().nth(1).expect("two")]
    );
    assert_eq!(client.dump(SwBondInterfaceDump { sw_if_index: a }), []);
    assert_eq!(
        client
            .dump(SwInterfaceBondDump {})
            .iter()
            .map(|d| (d.id, d.slaves, d.active_slaves))
            .collect::<Vec<_>>(),
        [(0, 2, 2), (5, 1, 1)]
    );
    let members = client.dump(SwMemberInterfaceDump { sw_if_index: bond });
    let want = SwMemberInterfaceDetails {
        sw_if_index: b,
        interface_name: "p1".into(),
        is_passive: false,
        is_long_timeout: true,
        is_local_numa: true,
        weight: 9,
    };
    assert_eq!((members.len(), &members[1]), (2, &want));
    let slaves = client.dump(SwInterfaceSlaveDump { sw_if_index: ALL });
    assert_eq!(
        slaves.iter().map(|d| (d.sw_if_index, d.is_passive)).collect::<Vec<_>>(),
        [(a, false), (b, false), (c, true)]
    );

    assert_eq!(client.call(BondDetachMember { sw_if_index: a }), Ok(()));
    assert_eq!(client.call(BondDetachSlave { sw_if_index: a }), Err(-71));
    assert_eq!(client.call(BondDetachSlave { sw_if_index: b }), Ok(()));
    assert_eq!(client.call(BondDelete { sw_if_index: a }), Err(-2));
    assert_eq!(client.call(BondDelete { sw_if_index: InterfaceIndex(99) }), Err(-2));
    assert_eq!(client.call(BondDelete { sw_if_index: bond }), Ok(()));
    assert_eq!(client.dump(SwBondInterfaceDump { sw_if_index: bond }), []);
}
