// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::clients::Clients;
use crate::sessions::{Config, Session, Sessions};
use cli::quote;
use graph::{Phase, RunningConfig, Script, World};
use net::Interfaces;

/// The control plane's interface, which may be behind a bridge domain.
pub const CONTROL_PLANE: Phase =
    Phase { name: "PPPoE control plane", after: &["features"], before: &["chosen features"] };

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "PPPoE sessions",
    "create packet-generator interface pg0
     create packet-generator interface pg1
     create sub-interfaces pg0 100
     set interface state pg0 up
     set interface ip address pg0 192.0.2.1/24
     ip table add 7
     create pppoe cp cp-if-index pg1
     create pppoe session client-ip 10.0.0.5 session-id 1 client-mac 02:aa:00:00:00:01 interface pg0
     create pppoe session client-ip 2001:db8::5 session-id 1 client-mac 02:aa:00:00:00:02 interface pg0.100 instance 4
     create pppoe session client-ip 10.0.0.6 session-id 2 client-mac 02:aa:00:00:00:01 decap-vrf-id 7 interface pg0
     create pppoe session client-ip 10.0.0.7 session-id 3 client-mac 02:aa:00:00:00:01 interface pg0
     create pppoe session client-ip 10.0.0.7 session-id 3 client-mac 02:aa:00:00:00:01 del
     set interface unnumbered pppoe_session0 use pg0
     enable ip6 interface pppoe_session4",
)];

pub fn write_config(world: &World, config: &mut RunningConfig) {
    let sessions = world.get::<Sessions>().list().into_iter().map(|session| session.sw_if);
    config.interfaces(sessions.collect::<Vec<_>>(), |world, sw_if, lines| {
        let Some(session) = world.get::<Sessions>().get(sw_if) else { return };
        let Session { instance, encap, config: Config { session, mac, address, table }, .. } =
            session;
        // Interfaces are made before they are renamed.
        let Ok(at) = world.get::<Interfaces>().get(encap) else { return };
        let line = format!(
            "create pppoe session client-ip {address} session-id {session} client-mac {mac}"
        );
        let vrf = if table == 0 { String::new() } else { format!(" decap-vrf-id {table}") };
        let at = quote(&at.original.name);
        let text = format!("{line}{vrf} interface {at} instance {instance}");
        lines.push(text, format!("{line} del"));
    });
    let control_plane = world.get::<Clients>().control_plane();
    config.list(CONTROL_PLANE, control_plane, |world, sw_if, lines| {
        let name = world.get::<Interfaces>().name(sw_if);
        let line = format!("create pppoe cp cp-if-index {}", quote(&name));
        lines.push(line.clone(), format!("{line} del"));
    });
}
