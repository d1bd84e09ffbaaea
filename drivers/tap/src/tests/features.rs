// SPDX-License-Identifier: Apache-2.0
//! Taps that a feature asks for through `net`, without knowing this driver.

use cli::ErrorKind;
use driver::rig::Rig;
use graph::drive::Bench;
use graph::{Plugin, World};
use net::{Interfaces, TapRequest, Taps};
use testkit::lab;
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &crate::PLUGIN];
static WITHOUT: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN];

fn writes_taps(world: &World) -> bool {
    world.running_config().iter().any(|line| line.text.contains("create tap"))
}

#[suite::test(netns)]
fn a_feature_makes_taps_in_netns() {
    let Some(lab) = lab::require(&["root", "ip", "/dev/net/tun"]) else { return };
    let (middle, host) = (lab.netns("m"), lab.netns("h"));
    let rig = Rig::new(middle.name().expect("it has one"), PLUGINS, 1);
    let request = TapRequest {
        host_name: "mirror".into(),
        host_namespace: host.name().map(str::to_string),
        host_mac: Some(MacAddr([2, 0, 0, 0, 0, 8])),
        host_mtu: Some(1400),
        name: Some("of-p0".into()),
        ip: false,
        above: None,
    };
    let tap = rig.control(move |world| {
        let taps = world.get::<Taps>();
        let tap = taps.create(world, &request).expect("made");
        let interface = world.get::<Interfaces>().get(tap).expect("there");
        assert_eq!((interface.name.as_str(), interface.kind.is_ip()), ("of-p0", false));
        let again = TapRequest { name: Some("other".into()), ..request.clone() };
        assert!(taps.create(world, &again).is_err(), "the host's name is taken");
        let tun = TapRequest { host_name: "plain".into(), name: None, ip: true, ..request };
        let tun = taps.create(world, &TapRequest { host_mac: None, ..tun }).expect("made");
        assert!(world.get::<Interfaces>().get(tun).expect("there").kind.is_ip());
        assert!(!writes_taps(world), "the feature writes them");
        taps.delete(world, tun).expect("deleted");
        assert!(taps.delete(world, tun).is_err());
        tap
    });
    let link = host.command("ip").args(["link", "show", "mirror"]).ok();
    assert!(link.contains("mtu 1400") && link.contains("02:00:00:00:00:08"), "{link}");
    rig.script(&format!("create tap id 9 host-ns {} host-if-name h9", host.name().expect("one")));
    rig.control(move |world| {
        assert!(writes_taps(world), "that of an operator");
        world.get::<Taps>().delete(world, tap).expect("deleted");
        assert!(world.get::<Interfaces>().get(tap).is_err());
    });
    rig.finish();
}

#[suite::test]
fn without_the_driver_there_are_no_taps() {
    let bench = Bench::new(WITHOUT);
    let taps = bench.world.get::<Taps>();
    let request = TapRequest { host_name: "mirror".into(), ..TapRequest::default() };
    let error = taps.create(&bench.world, &request).expect_err("refused");
    assert_eq!((error.kind(), error.code()), (ErrorKind::Unsupported, -9));
    assert!(error.to_string().contains("no driver makes taps"), "{error}");
    assert!(taps.delete(&bench.world, graph::SwIfIndex(0)).is_err());
    // With it, it is the only one.
    let bench = Bench::new(PLUGINS);
    assert!(bench.world.get::<Taps>().register(crate::control::FOR_FEATURES).is_err());
}
