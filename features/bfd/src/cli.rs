// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print. VPP's commands answer errors with the name of the message that
//! does the same, and scripts look for that.

use crate::auth::AuthType;
use crate::control::Bfd;
use crate::home::SessionKey;
use crate::keys::KeyUse;
use crate::session::Settings;
use crate::show;
use cli::{Command, Error, Matches, Result, retval};
use graph::World;
use net::args::{given_interface, interface};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Add a key for the authentication of sessions, or replace one that no session uses; the
    /// secret is 1 to 20 bytes in hexadecimal digits
    "bfd key set",
    "conf-key-id <id:u32> type {keyed-sha1|meticulous-keyed-sha1} secret <secret:secret>" => set_key;
    /// Delete a key that no session uses
    "bfd key del", "conf-key-id <id:u32>" => |w, m| {
        let deleted = w.get::<Bfd>().delete_key(m.req("id")?);
        deleted.map_err(failed("bfd key del", "bfd_auth_del_key"))
    };
    /// Add a session with a neighbour on an interface, or with a router several hops away;
    /// intervals in microseconds
    "bfd udp session add",
    "([multihop] [interface <interface:interface>] {local-addr <local:ip>} {peer-addr <peer:ip>} {desired-min-tx <tx:u32>} {required-min-rx <rx:u32>} {detect-mult <mult:u8>} [conf-key-id <id:u32>] [bfd-key-id <key:u8>])"
        => add;
    /// Change intervals and multiplier of a session
    "bfd udp session mod",
    "([multihop] [interface <interface:interface>] {local-addr <local:ip>} {peer-addr <peer:ip>} {desired-min-tx <tx:u32>} {required-min-rx <rx:u32>} {detect-mult <mult:u8>})"
        => modify;
    /// Delete a session
    "bfd udp session del",
    "([multihop] [interface <interface:interface>] {local-addr <local:ip>} {peer-addr <peer:ip>})"
        => delete;
    /// Hold a session down, or let it come up
    "bfd udp session set-flags",
    "([multihop] [interface <interface:interface>] {local-addr <local:ip>} {peer-addr <peer:ip>} {admin <admin:up|down>})"
        => set_flags;
    /// Authenticate the packets of a session by a key; delayed, from the peer's first packet with
    /// that key on
    "bfd udp session auth activate",
    "([multihop] [interface <interface:interface>] {local-addr <local:ip>} {peer-addr <peer:ip>} {conf-key-id <id:u32>} {bfd-key-id <key:u8>} [delayed <delayed:yes|no>])"
        => activate;
    /// End the authentication of a session's packets; delayed, with the peer's first packet without
    "bfd udp session auth deactivate",
    "([multihop] [interface <interface:interface>] {local-addr <local:ip>} {peer-addr <peer:ip>} [delayed <delayed:yes|no>])"
        => deactivate;
    /// Watch paths by echo packets too, whose source derives from the addresses of an interface
    "bfd udp echo-source set", "interface <interface:interface>" => |w, m| {
        let sw_if = interface(w, m, "interface")?;
        w.get::<Bfd>().set_echo_source(w, Some(sw_if));
        Ok(())
    };
    /// Send no echo packets
    "bfd udp echo-source del" => |w, _: &Matches| {
        w.get::<Bfd>().set_echo_source(w, None);
        Ok(())
    };
    /// Set the type of service, or traffic class, of the packets of all sessions
    "bfd udp tos", "<tos:u8>" => |w, m| {
        w.get::<Bfd>().set_tos(w, m.req("tos")?);
        Ok(())
    };
    /// Number of sessions and keys, or a list of the keys, the sessions, or the source of echo
    /// packets
    "show bfd", "[keys|sessions|echo-source]" => show::show;
};

/// VPP's texts of return values.
fn text(error: &Error) -> String {
    match error.reason() {
        retval::BFD_EXIST => "Duplicate BFD object".into(),
        retval::BFD_NO_SUCH_OBJECT => "No such BFD object".into(),
        retval::BFD_IN_USE => "BFD object in use".into(),
        retval::BFD_NOT_SUPPORTED => "BFD feature not supported".into(),
        _ => error.brief(),
    }
}

/// The error of a command whose call of a message's verb fails.
fn failed(command: &'static str, call: &'static str) -> impl Fn(Error) -> Error {
    move |error| {
        let (code, text) = (error.code(), text(&error));
        let why = format!("{command}: `{call}' API call failed, rv={code}:{text}");
        Error::new(error.kind(), why).retval(error.reason())
    }
}

/// The session that a command names.
fn key(w: &World, m: &Matches, command: &str) -> Result<SessionKey> {
    let sw_if = given_interface(w, m, "interface")?;
    let wrong = |what: &str| {
        let why = format!("{command}: Incompatible parameter combination, {what}");
        Err(Error::parse(why).retval(retval::INVALID_ARGUMENT))
    };
    match (m.flag("multihop"), sw_if) {
        (true, Some(_)) => wrong("interface cannot be specified when multihop is enabled"),
        (false, None) => wrong("interface must be set if not multihop"),
        _ => Ok(SessionKey { sw_if, local: m.req("local")?, peer: m.req("peer")? }),
    }
}

fn settings(m: &Matches) -> Result<Settings> {
    Ok(Settings {
        desired_min_tx: m.req("tx")?,
        required_min_rx: m.req("rx")?,
        detect_mult: m.req("mult")?,
    })
}

fn set_key(w: &World, m: &Matches) -> Result<()> {
    let kind = match m.flag("meticulous-keyed-sha1") {
        true => AuthType::Meticulous,
        false => AuthType::Keyed,
    };
    let digits = m.str("secret");
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    let pair = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let secret: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(pair).collect();
    let secret = secret.filter(|_| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
    let bad = || Error::parse("a secret is an even number of hexadecimal digits, two for a byte");
    let secret = secret.ok_or_else(|| bad().retval(retval::INVALID_VALUE).at(m.span("secret")))?;
    let set = w.get::<Bfd>().set_key(m.req("id")?, kind as u8, &secret);
    set.map_err(failed("bfd key set", "bfd_auth_set_key"))
}

fn add(w: &World, m: &Matches) -> Result<()> {
    const COMMAND: &str = "bfd udp session add";
    let (key, settings) = (key(w, m, COMMAND)?, settings(m)?);
    let auth = match (m.opt("id")?, m.opt("key")?) {
        (Some(conf_key_id), Some(bfd_key_id)) => Some(KeyUse { conf_key_id, bfd_key_id }),
        (None, None) => None,
        _ => {
            let why = format!(
                "{COMMAND}: Incompatible parameter combination, `conf-key-id' and `bfd-key-id' need each other"
            );
            return Err(Error::parse(why).retval(retval::INVALID_ARGUMENT));
        }
    };
    let bfd = w.get::<Bfd>();
    if key.is_multihop() {
        bfd.enable_multihop();
    }
    bfd.add(w, key, settings, auth).map_err(failed(COMMAND, "bfd_add_add_session"))?;
    Ok(())
}

fn modify(w: &World, m: &Matches) -> Result<()> {
    const COMMAND: &str = "bfd udp session mod";
    let (key, settings) = (key(w, m, COMMAND)?, settings(m)?);
    let modified = w.get::<Bfd>().modify(w, &key, settings);
    modified.map(|_| ()).map_err(failed(COMMAND, "bfd_udp_mod_session"))
}

fn delete(w: &World, m: &Matches) -> Result<()> {
    const COMMAND: &str = "bfd udp session del";
    let key = key(w, m, COMMAND)?;
    w.get::<Bfd>().delete(w, &key).map_err(failed(COMMAND, "bfd_udp_del_session"))
}

fn set_flags(w: &World, m: &Matches) -> Result<()> {
    const COMMAND: &str = "bfd udp session set-flags";
    let key = key(w, m, COMMAND)?;
    let set = w.get::<Bfd>().set_admin(w, &key, m.str("admin") == "up");
    set.map_err(failed(COMMAND, "bfd_udp_session_set_flags"))
}

fn is_delayed(m: &Matches) -> bool {
    m.has("delayed") && m.str("delayed") == "yes"
}

fn activate(w: &World, m: &Matches) -> Result<()> {
    const COMMAND: &str = "bfd udp session auth activate";
    let key = key(w, m, COMMAND)?;
    let auth = KeyUse { conf_key_id: m.req("id")?, bfd_key_id: m.req("key")? };
    let set = w.get::<Bfd>().set_auth(w, &key, Some(auth), is_delayed(m));
    set.map_err(failed(COMMAND, "bfd_udp_auth_activate"))
}

fn deactivate(w: &World, m: &Matches) -> Result<()> {
    const COMMAND: &str = "bfd udp session auth deactivate";
    let key = key(w, m, COMMAND)?;
    let set = w.get::<Bfd>().set_auth(w, &key, None, is_delayed(m));
    set.map_err(failed(COMMAND, "bfd_udp_auth_deactivate"))
}
