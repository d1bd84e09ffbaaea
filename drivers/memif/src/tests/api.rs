// SPDX-License-Identifier: Apache-2.0
//! The binary API and what commands answer.

use super::peer::Dir;
use crate::api::*;
use graph::Plugin;
use graph::drive::Bench;
use net::api::*;

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &crate::PLUGIN];

fn like(role: MemifRole, socket_id: u32, id: u32) -> MemifCreateV2 {
    MemifCreateV2 {
        role,
        mode: MemifMode::Ethernet,
        rx_queues: 0,
        tx_queues: 0,
        id,
        socket_id,
        ring_size: 0,
        buffer_size: 0,
        no_zero_copy: false,
        use_dma: false,
        hw_addr: MacAddress::default(),
        secret: "".into(),
    }
}

#[suite::test]
fn return_values_are_vpps() {
    let dir = Dir::new("api");
    let config = graph::WorldConfig { runtime_dir: dir.path("run").into(), ..Default::default() };
    let bench = Bench::configured(&config, PLUGINS);
    let mut client = bench.api();
    let mut socket = |is_add, socket_id, name: &str| {
        client.call(MemifSocketFilenameAddDel { is_add, socket_id, socket_filename: name.into() })
    };
    for (id, name) in [(0, "x"), (u32::MAX, "x"), (1, ""), (2, "abstract:x,netns_name=n")] {
        assert_eq!(socket(true, id, name), Err(-73), "{id} {name}");
    }
    assert_eq!((socket(true, 1, "sub/s"), socket(true, 1, "sub/s")), (Ok(()), Ok(())));
    assert_eq!(socket(true, 1, "other"), Err(-116));
    assert_eq!((socket(true, 2, &dir.path("two")), socket(true, 3, "three")), (Ok(()), Ok(())));
    assert_eq!(
        (socket(false, 0, ""), socket(false, 9, ""), socket(false, 3, "")),
        (Err(-73), Err(-73), Ok(()))
    );
    std::fs::write(dir.path("run/file"), "").expect("written");
    assert_eq!(socket(true, 3, "file/x"), Err(-11), "a folder that can't be made");

    let create = |client: &mut msg::Loopback<'_, graph::World>, r| {
        client.call::<MemifCreateV2>(r).map(|r| r.sw_if_index)
    };
    let (master, slave) = (MemifRole::Master, MemifRole::Slave);
    let one = create(&mut client, like(slave, 1, 0)).expect("made");
    let two = create(&mut client, MemifCreateV2 { secret: "abc".into(), ..like(master, 2, 5) })
        .expect("made");
    for (request, retval) in [
        (like(slave, 77, 0), -73),
        (MemifCreateV2 { ring_size: 1000, ..like(slave, 1, 1) }, -73),
        (MemifCreateV2 { ring_size: 65_536, ..like(slave, 1, 1) }, -73),
        (MemifCreateV2 { ring_size: 32_768, rx_queues: 100, ..like(slave, 1, 1) }, -73),
        (like(slave, 1, 0), -68),
        (like(master, 1, 1), -68),
        (like(slave, 2, 1), -68),
        (MemifCreateV2 { mode: MemifMode::PuntInject, ..like(slave, 1, 1) }, -12),
    ] {
        assert_eq!(create(&mut client, request).err(), Some(retval));
    }
    // Another process listens there, or a folder is missing.
    let taken = dir.address("taken").listen().expect("listens");
    for (id, name) in [(7, dir.path("taken")), (8, dir.path("none/s"))] {
        let add =
            MemifSocketFilenameAddDelV2 { is_add: true, socket_id: id, socket_filename: name };
        assert_eq!(client.call(add).map(|r| r.socket_id), Ok(id));
        assert_eq!(create(&mut client, like(master, id, 0)).err(), Some(-14));
        let delete = MemifSocketFilenameAddDelV2 {
            is_add: false,
            socket_id: id,
            socket_filename: String::new(),
        };
        assert_eq!(
            client.call(delete).map(|r| r.socket_id),
            Ok(id),
            "a failed create leaves nothing"
        );
    }
    drop(taken);
    let add = MemifSocketFilenameAddDelV2 {
        is_add: true,
        socket_id: u32::MAX,
        socket_filename: "new".into(),
    };
    assert_eq!(client.call(add).map(|r| r.socket_id), Ok(3), "the first that is free");

    let sockets: Vec<_> = client.dump(MemifSocketFilenameDump {});
    let sockets: Vec<_> =
        sockets.iter().map(|s| (s.socket_id, s.socket_filename.as_str().to_string())).collect();
    let full = |name: &str| dir.path(&format!("run/{name}"));
    assert_eq!(
        sockets,
        [(0, full("memif.sock")), (1, full("sub/s")), (2, dir.path("two")), (3, full("new"))]
    );
    let all = client.dump(MemifDump {});
    let told: Vec<_> = all
        .iter()
        .map(|d| (d.if_name.as_str(), d.role, d.zero_copy, d.ring_size, d.buffer_size))
        .collect();
    assert_eq!(told, [("memif1/0", slave, false, 1, 0), ("memif2/5", master, false, 1, 0)]);
    assert_eq!((all[0].hw_addr.0[0], all[0].hw_addr.0[1]), (0x02, 0xfe));

    let delete = |socket_id| MemifSocketFilenameAddDel {
        is_add: false,
        socket_id,
        socket_filename: "".into(),
    };
    assert_eq!(client.call(delete(1)), Err(-74), "an interface uses it");
    for other in [0, 77] {
        assert_eq!(client.call(MemifDelete { sw_if_index: InterfaceIndex(other) }), Err(-2));
    }
    for sw_if_index in [one, two] {
        assert_eq!(client.call(MemifDelete { sw_if_index }), Ok(()));
    }
    assert_eq!((client.call(delete(1)), client.call(delete(2))), (Ok(()), Ok(())));
    assert!(client.dump(MemifDump {}).is_empty());
    assert!(dir.address("two").connect().is_err(), "nobody listens any more");
}
