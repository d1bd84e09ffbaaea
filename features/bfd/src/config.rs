// SPDX-License-Identifier: Apache-2.0
//! The lines that restore what was set, and scripts for the tests of all plugins.

use crate::control::Bfd;
use crate::home::SessionKey;
use graph::{Phase, RunningConfig, Script, World};
use net::Interfaces;

/// The words that name a session.
fn words(world: &World, key: &SessionKey) -> String {
    let by = match key.sw_if {
        Some(sw_if) => format!("interface {}", world.get::<Interfaces>().word(sw_if)),
        None => "multihop".into(),
    };
    format!("{by} local-addr {} peer-addr {}", key.local, key.peer)
}

/// Writes the lines.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let bfd = world.get::<Bfd>();
    let (tos, echo_source, keys) = {
        let inner = bfd.inner();
        (inner.tos, inner.echo_source, inner.keys.0.clone())
    };
    if tos != 0 {
        config.value(Phase::SETTINGS, "bfd udp tos", tos, 0);
    }
    config.list(Phase::SETTINGS, keys, |_, (id, key), lines| {
        let secret: String = key.secret.iter().map(|byte| format!("{byte:02x}")).collect();
        let kind = key.kind.word();
        lines.push(
            format!("bfd key set conf-key-id {id} type {kind} secret {secret}"),
            format!("bfd key del conf-key-id {id}"),
        );
    });
    config.list(Phase::FEATURES, bfd.list(), |world, (_, session), lines| {
        let words = words(world, &session.key);
        let set = session.settings;
        let mut line = format!(
            "bfd udp session add {words} desired-min-tx {} required-min-rx {} detect-mult {}",
            set.desired_min_tx, set.required_min_rx, set.detect_mult
        );
        if let Some(auth) = session.auth {
            line += &format!(" conf-key-id {} bfd-key-id {}", auth.conf_key_id, auth.bfd_key_id);
        }
        lines.push(line, format!("bfd udp session del {words}"));
        if !session.admin_up {
            let line = format!("bfd udp session set-flags {words} admin");
            lines.push(format!("{line} down"), format!("{line} up"));
        }
    });
    if let Some(sw_if) = echo_source {
        let name = world.get::<Interfaces>().word(sw_if);
        config.push(
            Phase::FEATURES,
            format!("bfd udp echo-source set interface {name}"),
            "bfd udp echo-source del",
        );
    }
}

/// Scripts that use every setting.
pub const EXAMPLES: &[Script] = &[Script::here(
    "BFD sessions",
    "create loopback interface
     create loopback interface
     set interface ip address loop0 10.0.0.1/24
     set interface ip address loop0 2001:db8::1/64
     set interface ip address loop1 10.1.0.1/24
     set interface state loop0 up
     set interface state loop1 up
     bfd key set conf-key-id 1 type keyed-sha1 secret 616263
     bfd key set conf-key-id 2 type meticulous-keyed-sha1 secret 00ff
     bfd key set conf-key-id 3 type keyed-sha1 secret 01
     bfd key del conf-key-id 3
     bfd udp session add interface loop0 local-addr 10.0.0.1 peer-addr 10.0.0.2 desired-min-tx 50000 required-min-rx 50000 detect-mult 3
     bfd udp session add interface loop0 local-addr 2001:db8::1 peer-addr 2001:db8::2 desired-min-tx 300000 required-min-rx 300000 detect-mult 3 conf-key-id 1 bfd-key-id 7
     bfd udp session add multihop local-addr 10.0.0.1 peer-addr 192.0.2.1 desired-min-tx 300000 required-min-rx 300000 detect-mult 5
     bfd udp session add interface loop1 local-addr 10.1.0.1 peer-addr 10.1.0.2 desired-min-tx 300000 required-min-rx 300000 detect-mult 3
     bfd udp session mod interface loop0 local-addr 10.0.0.1 peer-addr 10.0.0.2 desired-min-tx 100000 required-min-rx 60000 detect-mult 4
     bfd udp session auth activate interface loop0 local-addr 10.0.0.1 peer-addr 10.0.0.2 conf-key-id 2 bfd-key-id 255
     bfd udp session auth activate multihop local-addr 10.0.0.1 peer-addr 192.0.2.1 conf-key-id 1 bfd-key-id 0
     bfd udp session auth deactivate multihop local-addr 10.0.0.1 peer-addr 192.0.2.1
     bfd udp session set-flags interface loop0 local-addr 10.0.0.1 peer-addr 10.0.0.2 admin down
     bfd udp session del interface loop1 local-addr 10.1.0.1 peer-addr 10.1.0.2
     bfd udp echo-source set interface loop1
     bfd udp tos 192",
),
Script::here(
    "BFD without echo packets",
    "create loopback interface
     bfd udp echo-source set interface loop0
     bfd udp echo-source del",
)];
