// SPDX-License-Identifier: Apache-2.0
use super::PLUGIN;
use graph::Plugin;
use graph::drive::Bench;
use net::Interfaces;

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &PLUGIN];

#[test]
fn a_link_goes_down_and_comes_back() {
    let mut bench = Bench::new(PLUGINS);
    bench.cli("create loopback interface").expect("made");
    let interfaces = bench.world.get::<Interfaces>();
    let sw_if = interfaces.find("loop0").expect("made");
    for (word, up) in [("down", false), ("up", true)] {
        bench.cli(&format!("test interface link-state loop0 {word}")).expect("set");
        assert_eq!(interfaces.get(sw_if).expect("there").link_up, up);
    }
    let error = bench.cli("test interface link-state loop7 up").expect_err("no such interface");
    assert!(error.to_string().contains("loop7"), "{error}");
}
