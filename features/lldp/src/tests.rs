// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use crate::api::*;
use crate::port::{Lldp, Port};
use crate::tlv::{self, LocalSystem};
use graph::Plugin;
use graph::drive::Bench;
use net::api::{InterfaceIndex, Ip4Address, Ip6Address};
use net::drive::{Recorded, Recorder, ethernet};
use net::{Interfaces, SubFrames, SubInterface};
use std::net::Ipv4Addr;
use std::sync::Arc;
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &::ethernet::PLUGIN, &PLUGIN];
const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const SECOND: u64 = 1_000_000_000;

struct Site {
    bench: Bench,
    interfaces: Arc<Interfaces>,
    lldp: Arc<Lldp>,
    port: graph::SwIfIndex,
}

impl Site {
    /// An interface `t0` that is up.
    fn new() -> Self {
        let bench = Bench::new(PLUGINS);
        let interfaces: Arc<Interfaces> = bench.world.get();
        let new = ethernet("t0", MAC);
        let port = interfaces
            .create(&bench.world, new, |w, _, sw_if| Recorder::new(w, sw_if))
            .expect("created");
        let mut site = Self { lldp: bench.world.get(), interfaces, bench, port };
        site.up(true);
        site
    }

    fn up(&mut self, up: bool) {
        self.interfaces.set_admin(&self.bench.world, self.port, up).expect("set");
    }

    /// Data units sent now.
    fn sent(&mut self) -> Vec<Vec<u8>> {
        self.bench.settle();
        self.bench.world.get::<Recorded>().take().into_iter().map(|(_, bytes)| bytes).collect()
    }

    fn pass(&mut self, seconds: u64) {
        self.bench.world.clock.adjust(seconds * SECOND);
    }

    fn receive(&mut self, unit: &[u8]) {
        let sw_if = self.port.0;
        let mut frame = tlv::NEAREST_BRIDGE.0.to_vec();
        frame.extend([2, 0, 0, 0, 0, 9, 0x88, 0xcc]);
        frame.extend(unit);
        self.bench.send("ethernet-input", &frame, |b| b.rx_if = sw_if);
        self.bench.settle();
    }

    fn shown(&mut self) -> String {
        self.bench
            .cli("show lldp")
            .expect("shown")
            .trim_end()
            .lines()
            .last()
            .unwrap_or_default()
            .to_string()
    }

    fn count(&self, what: &str) -> u64 {
        self.bench.count("lldp-input", what)
    }
}

fn own(ttl: u16) -> LocalSystem<'static> {
    LocalSystem {
        mac: MAC,
        port: "t0",
        number: 1,
        ttl,
        description: "",
        system: "",
        management: (None, None),
        object: &[],
    }
}

/// A neighbour's data unit.
fn unit(port: &str, ttl: u16) -> Vec<u8> {
    let frame =
        tlv::frame(&LocalSystem { mac: MacAddr([2, 0, 0, 0, 0, 9]), port, number: 3, ..own(ttl) });
    frame[14..].to_vec()
}

#[suite::test]
fn neighbours_are_told_of_us_when_it_is_due() {
    let mut site = Site::new();
    assert_eq!(site.sent(), Vec::<Vec<u8>>::new(), "not before it is enabled");
    site.bench.cli("set interface lldp t0").expect("enabled");
    assert_eq!(site.sent(), [tlv::frame(&own(121))]);
    site.pass(29);
    assert!(site.sent().is_empty());
    site.pass(2);
    assert_eq!(site.sent(), [tlv::frame(&own(121))]);
    site.bench.cli("set lldp system-name router tx-hold 2 tx-interval 5").expect("set");
    let mut said = LocalSystem { system: "router", ..own(11) };
    assert_eq!(site.sent(), [tlv::frame(&said)], "what is new is said at once");
    site.bench
        .cli("set interface lldp t0 port-desc west mgmt-ip4 10.0.0.1 mgmt-oid abc")
        .expect("set");
    (said.description, said.management.0, said.object) =
        ("west", Some(Ipv4Addr::new(10, 0, 0, 1)), b"abc");
    assert_eq!(site.sent(), [tlv::frame(&said)]);
    site.up(false);
    site.pass(6);
    assert!(site.sent().is_empty(), "a link that is down carries nothing");
    site.up(true);
    assert_eq!(site.sent(), [tlv::frame(&said)], "at once");
    site.bench.cli("set interface lldp t0 disable").expect("disabled");
    assert_eq!(site.sent(), [tlv::frame(&own(0))], "it takes leave");
    site.bench.cli("set interface lldp t0 disable").expect("it is so already");
    site.pass(60);
    assert!(site.sent().is_empty());
    site.bench.cli("set interface lldp sw_if_index 1").expect("enabled");
    site.interfaces.delete(&site.bench.world, site.port).expect("gone");
    assert_eq!((site.lldp.ports().len(), site.sent().len()), (0, 0));
}

#[suite::test]
fn neighbours_are_noted_until_their_ttl_expires() {
    let mut site = Site::new();
    site.receive(&unit("eth7", 40));
    assert_eq!(site.count("lldp packets received on disabled interfaces"), 1);
    site.bench.cli("set interface lldp t0").expect("enabled");
    assert!(site.shown().contains("inactive"), "{}", site.shown());
    site.receive(&unit("eth7", 40));
    let shown = site.shown();
    let json = site.bench.cli("show lldp -j").expect("shown");
    assert!(
        json.contains(r#""heard_seconds_ago":0.0"#) || json.contains(r#""heard_seconds_ago": 0.0"#),
        "{json}"
    );
    for part in ["t0", "02:00:00:00:00:09", "eth7", "0.0s ago", " active"] {
        assert!(shown.contains(part), "no {part} in {shown}");
    }
    site.pass(39);
    site.bench.settle();
    site.receive(&unit("eth8", 40));
    assert!(site.shown().contains("eth8"), "the last neighbour received is shown");
    site.pass(41);
    site.bench.settle();
    assert!(!site.shown().contains("eth8"));
    for bad in [&b""[..], &[0x02, 2, 7, b'a'], &[0xff; 300]] {
        site.receive(bad);
    }
    assert_eq!(site.count("lldp packets with bad TLVs"), 3);
    site.receive(&unit("eth9", 100));
    assert!(site.shown().contains("eth9"));
    site.receive(&unit("eth9", 0));
    assert!(site.shown().contains("inactive"), "a shutdown LLDPDU");
    assert_eq!(site.count("good lldp packets (processed)"), 4);
}

#[suite::test]
fn details_of_ports_are_shown_in_the_form_of_vpp() {
    let mut site = Site::new();
    site.bench.cli("set lldp system-name router").expect("set");
    let own = "port-desc west mgmt-ip4 10.0.0.1 mgmt-ip6 2001:db8::1 mgmt-oid abc";
    site.bench.cli(&format!("set interface lldp t0 {own}")).expect("enabled");
    site.bench.settle();
    let head = "LLDP configuration:\n\
                Configured system name: router\n\
                Configured tx-hold: 4\n\
                Configured tx-interval: 30\n\n\
                LLDP-enabled interface table:\n\n\
                Local Interface name: t0\n\
                Local Port Description: west\n\
                Local Management address: 10.0.0.1\n\
                Local Management address IPV6: 2001:db8::1\n\
                Local Management address OID: abc\n";
    let shown = |site: &mut Site| {
        let text = site.bench.cli("show lldp detail").expect("shown");
        let ports = text.strip_prefix(head).unwrap_or_else(|| panic!("{text}"));
        // Without the seconds.
        let line = |line: &str| match line.strip_suffix("s ago").and_then(|l| l.rsplit_once(' ')) {
            Some((label, seconds)) if seconds.parse::<f64>().is_ok() => format!("{label} ago\n"),
            _ => format!("{line}\n"),
        };
        ports.lines().map(line).collect::<String>()
    };
    let nobody = "Interface/peer state: inactive(timeout)\n\
                  Last known peer chassis ID: \n\
                  Last known peer port ID: \n\
                  Last packet sent: ago\n\
                  Last packet received: never\n";
    assert_eq!(shown(&mut site), nobody);
    site.receive(&unit("eth7", 40));
    let active = "Interface/peer state: active\n\
                  Peer chassis ID: 02:00:00:00:00:09(MAC address)\n\
                  Remote port ID: eth7(Interface name)\n\
                  Last packet sent: ago\n\
                  Last packet received: ago\n";
    assert_eq!(shown(&mut site), active);
    site.pass(41);
    site.bench.settle();
    let gone = "Interface/peer state: inactive(timeout)\n\
                Last known peer chassis ID: 02:00:00:00:00:09(MAC address)\n\
                Last known peer port ID: eth7(Interface name)\n\
                Last packet sent: ago\n\
                Last packet received: ago\n";
    assert_eq!(shown(&mut site), gone);
    site.up(false);
    let down = "Interface/peer state: interface down\nLast packet sent: ago\n";
    assert_eq!(shown(&mut site), down);
    let json = site.bench.cli("show lldp detail -j").expect("shown");
    assert!(json.contains("2001:db8::1") && json.contains("abc"), "{json}");
}

#[suite::test]
fn a_port_that_receives_much_takes_nothing_from_another() {
    let mut site = Site::new();
    let new = ethernet("t1", MacAddr([2, 0, 0, 0, 0, 2]));
    let world = &site.bench.world;
    let other =
        site.interfaces.create(world, new, |w, _, sw_if| Recorder::new(w, sw_if)).expect("created");
    site.interfaces.set_admin(world, other, true).expect("set");
    for port in ["t0", "t1"] {
        site.bench.cli(&format!("set interface lldp {port}")).expect("enabled");
    }
    site.bench.settle();
    // All come before control reads the first.
    let port = site.port.0;
    let lost = site.bench.node("lldp-input", &vec![unit("eth7", 40); 100], |b| b.rx_if = port);
    site.bench.node("lldp-input", &[unit("eth8", 40)], |b| b.rx_if = other.0);
    site.bench.settle();
    let shown = site.bench.cli("show lldp").expect("shown");
    assert!(shown.contains("eth7") && shown.contains("eth8"), "{shown}");
    assert!(lost.iter().all(|lost| lost.reason == Some("control is too far behind to take note")));
    assert_eq!((site.count("good lldp packets (processed)"), lost.len()), (5, 96));
}

#[suite::test]
fn messages_set_and_tell() {
    let mut site = Site::new();
    let set = |sw_if_index, enable| SwInterfaceSetLldp {
        sw_if_index,
        mgmt_ip4: Ip4Address([10, 0, 0, 1]),
        mgmt_ip6: Ip6Address([0; 16]),
        mgmt_oid: [0; 128],
        enable,
        port_desc: "west".into(),
    };
    let port = InterfaceIndex(site.port.0);
    let frames = SubFrames::Default;
    let sub = site
        .interfaces
        .create_sub(&site.bench.world, site.port, SubInterface { id: 1, frames })
        .expect("made");
    let mut client = site.bench.api();
    for (sw_if_index, want) in [
        (port, Ok(())),
        (port, Ok(())),
        (InterfaceIndex(99), Err(-2)),
        (InterfaceIndex(sub.0), Err(-7)),
        (InterfaceIndex(0), Err(-7)),
    ] {
        assert_eq!(client.call(set(sw_if_index, true)), want, "{sw_if_index:?}");
        assert_eq!(client.call(set(sw_if_index, false)), want, "{sw_if_index:?}");
        assert_eq!(client.call(set(sw_if_index, true)), want, "{sw_if_index:?}");
    }
    let config =
        |tx_hold, tx_interval| LldpConfig { tx_hold, tx_interval, system_name: "router".into() };
    assert_eq!(client.call(config(0, 0)), Ok(()));
    assert_eq!(client.call(config(100, 3600)), Ok(()));
    assert_eq!(client.call(config(101, 30)), Err(-7));
    assert_eq!(client.call(config(4, 3601)), Err(-7));
    drop(client);
    let settings = site.lldp.settings();
    assert_eq!(
        (settings.system_name.as_str(), settings.hold, settings.interval),
        ("router", 100, 3600)
    );
    let ports = [Port {
        description: "west".into(),
        management: (Some(Ipv4Addr::new(10, 0, 0, 1)), None),
        ..Port::default()
    }];
    assert_eq!(site.lldp.ports().into_iter().map(|(_, port)| port).collect::<Vec<_>>(), ports);
    site.receive(&unit("eth7", 40));
    let told = site.bench.api().dump(LldpDump { cursor: 0 });
    let [one] = &told[..] else { panic!("{told:?}") };
    assert_eq!((one.sw_if_index, one.ttl), (port, 40));
    assert_eq!(
        (one.chassis_id_subtype, &one.chassis_id[..usize::from(one.chassis_id_len)]),
        (ChassisIdSubtype::MacAddr, &[2, 0, 0, 0, 0, 9][..])
    );
    assert_eq!(
        (one.port_id_subtype, &one.port_id[..usize::from(one.port_id_len)]),
        (PortIdSubtype::IntfName, &b"eth7"[..])
    );
    assert!(one.last_sent > 0.0 && one.last_heard > 0.0);
}
