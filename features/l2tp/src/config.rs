// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::model::{L2tp, LocalCookies};
use crate::sessions::Sessions;
use crate::startup_conf::Startup;
use cli::quote;
use graph::{Phase, RunningConfig, Script, World};
use net::Interfaces;
use object::Choice;
use tunnel::Tunnels;

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "L2TPv3 sessions",
    "create packet-generator interface pg0
     set interface state pg0 up
     set interface ip address pg0 2001:db8:1::1/64
     ip6 table add 7
     set l2tpv3 lookup session-id
     create l2tpv3 tunnel client 2001:db8:1::2 our 2001:db8:1::1 local-cookie 1122334455667788 remote-cookie 8877665544332211
     create l2tpv3 tunnel client 2001:db8:1::2 our 2001:db8:1::1 local-session 7 remote-session 0xffffffff l2-sublayer-present instance 5
     create l2tpv3 tunnel client 2001:db8:2::2 our 2001:db8:2::1 local-session 1 fib-id 7 dscp 10
     create l2tpv3 tunnel client 2001:db8:1::3 our 2001:db8:1::1 local-session 9
     create l2tpv3 tunnel client 2001:db8:1::3 our 2001:db8:1::1 local-session 9 del
     set l2tpv3 tunnel cookie l2tpv3_tunnel0 local aa55 remote 55aa
     set interface state l2tpv3_tunnel0 up
     set interface l2 bridge l2tpv3_tunnel0 13
     set interface ip address l2tpv3_tunnel5 10.5.0.1/24
     set interface ip6 l2tpv3 pg0",
)];

pub fn write_config(world: &World, config: &mut RunningConfig) {
    let sessions = world.get::<Sessions>();
    let (now, usual) = (sessions.lookup(), world.startup::<Startup>().lookup());
    if now != usual {
        // Sessions that only this lookup tells apart come later.
        let line = |word| format!("set l2tpv3 lookup {word}");
        config.push(Phase::SETTINGS, line(now.word()), line(usual.word()));
    }
    tunnel::write_config::<L2tp>(world, config);
    // Interfaces are made before they are renamed.
    config.interfaces(world.get::<Tunnels<L2tp>>().interfaces(), |world, sw_if, lines| {
        let spec = world.get::<Tunnels<L2tp>>().get(sw_if).map(|tunnel| tunnel.spec);
        let Some(LocalCookies { now, before }) = spec.map(|spec| spec.local_cookies) else {
            return;
        };
        if now != before {
            let made = world.get::<Interfaces>().get(sw_if).map(|made| made.original.name);
            let line = format!("set l2tpv3 tunnel cookie {}", quote(&made.unwrap_or_default()));
            lines.push(format!("{line} local {now}"), format!("{line} local {before}"));
        }
    });
    config.list(Phase::FEATURES, sessions.enabled(), |world, sw_if, lines| {
        let name = world.get::<Interfaces>().name(sw_if);
        let line = format!("set interface ip6 l2tpv3 {}", quote(&name));
        lines.push(line.clone(), format!("{line} del"));
    });
}
