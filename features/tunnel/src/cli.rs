// SPDX-License-Identifier: Apache-2.0
//! The commands that all kinds have: each kind declares its arguments, and what is its own.

use crate::datagrams::{BypassInterfaces, Datagrams, Next};
use crate::model::{Spec, TunnelEndpoints};
use crate::route::Route;
use crate::state::{Tunnel, Tunnels};
use cli::{Command, Error, Matches, Output, Result, Writer, retval};
use graph::{Phase, RunningConfig, SwIfIndex, World};
use net::Interfaces;
use object::{Arguments, Members};
use serde_json::Value;
use std::fmt::{self, Write};

/// A kind whose tunnels commands make, save and show.
pub trait Declared: Spec + Arguments {
    /// The command that makes one, whose arguments are its own, [`INSTANCE`] and maybe `[del]`.
    const CREATE: &'static str;
    /// The command that deletes one by its interface; without, [`Self::CREATE`] and `del` do.
    const DELETE: Option<&'static str> = None;
    /// The answer of the command that shows all, if there is none.
    const NONE: &'static str;

    /// Checks arguments that depend on each other.
    ///
    /// # Errors
    /// Arguments that don't fit together.
    fn fit(&self, _: &Matches) -> Result<()> {
        Ok(())
    }

    /// Makes a tunnel.
    ///
    /// # Errors
    /// Parameters that the kind doesn't take; as [`Tunnels::create`].
    fn make(self, world: &World, instance: Option<u32>) -> Result<SwIfIndex>;

    /// Writes it as VPP does, without the obstacle at the end.
    ///
    /// # Errors
    /// Of the writer.
    fn text(&self, shown: &Shown<'_>, text: &mut String) -> fmt::Result;

    /// Adds to its JSON what isn't an argument.
    fn more(&self, _: &Shown<'_>, _: &mut Members) {}
}

/// A tunnel that is shown.
pub struct Shown<'w> {
    /// The world.
    pub world: &'w World,
    /// The interface.
    pub sw_if: SwIfIndex,
    /// The number in its name.
    pub instance: u32,
    /// The route of outer packets, if there is one.
    pub route: Option<Route>,
}

impl Shown<'_> {
    /// Writes the route as VPP does, if there is one.
    ///
    /// # Errors
    /// Of the writer.
    pub fn route_text(&self, text: &mut String) -> fmt::Result {
        let Some(Route { table, adj, .. }) = self.route else { return Ok(()) };
        write!(text, "fib-idx {table} sw-if-idx {} encap-dpo-idx {adj} ", self.sw_if)
    }
}

/// The argument of all commands that make tunnels.
pub const INSTANCE: &str = "[instance <instance:u32>]";

/// Placeholders of what may be refused when a tunnel is made, if a command has them.
const REFUSED: [(retval::Retval, &str); 4] = [
    (retval::NO_SUCH_FIB, "table"),
    (retval::NO_SUCH_INNER_FIB, "decaptable"),
    (retval::INSTANCE_IN_USE, "instance"),
    (retval::INVALID_SESSION_ID, "session"),
];

/// Runs [`Declared::CREATE`]: makes a tunnel, or with the word `del` deletes the one with the same
/// ends.
///
/// # Errors
/// As [`Declared::make`], and a tunnel to be deleted that isn't there (−6).
pub fn create<K: Declared>(w: &World, m: &Matches) -> Result<Output> {
    let spec = K::read(w, m)?;
    spec.fit(m)?;
    if m.flag("del") {
        let tunnels = w.get::<Tunnels<K>>();
        tunnels.delete(w, tunnels.find(w, &spec)?)?;
        return Ok(Output::empty());
    }
    let TunnelEndpoints { local, table, .. } = spec.ends();
    m.note(|| net::notes::foreign_source(w, local, table));
    let sw_if = spec.make(w, m.opt("instance")?).map_err(|error| {
        match REFUSED.iter().find(|(value, _)| error.is(*value)) {
            Some((_, placeholder)) => error.at(m.span(placeholder)),
            None => error,
        }
    })?;
    Ok(net::args::made(w, sw_if))
}

/// Runs [`Declared::DELETE`], whose argument is an interface by name or number.
///
/// # Errors
/// An interface that isn't there, or is another one (−2).
pub fn delete<K: Declared>(w: &World, m: &Matches) -> Result<()> {
    let sw_if = w.get::<Interfaces>().named_or_numbered(m)?;
    w.get::<Tunnels<K>>().delete(w, sw_if)
}

/// Shows all tunnels of a kind, or the one of `<interface:interface>`.
///
/// # Errors
/// An interface that isn't there (−2).
pub fn show<K: Declared>(w: &World, m: &Matches) -> Result<Output> {
    let only = net::args::given_interface(w, m, "interface")?;
    let all = only.map_or_else(|| w.get::<Tunnels<K>>().interfaces(), |one| vec![one]);
    Ok(list(all, K::NONE, show_one::<K>))
}

/// Interfaces, each shown by `line`. As text, no interface is `none`.
pub fn list(
    all: Vec<SwIfIndex>,
    none: &'static str,
    line: fn(&World, SwIfIndex, &mut Writer),
) -> Output {
    let nothing = all.is_empty().then_some(None);
    let rows = all.into_iter().map(Some).chain(nothing);
    Output::list(
        rows.collect::<Vec<_>>(),
        move |w: &World, row: Option<SwIfIndex>, out: &mut Writer| {
            match row {
                Some(sw_if) => line(w, sw_if, out),
                None => out.text(|text| writeln!(text, "{none}")),
            }
            Ok(())
        },
    )
}

/// Shows a tunnel, if it is there.
pub fn show_one<K: Declared>(world: &World, sw_if: SwIfIndex, out: &mut Writer) {
    let tunnels = world.get::<Tunnels<K>>();
    // It may be deleted between two slices of the answer.
    let Some(Tunnel { instance, spec, .. }) = tunnels.get(sw_if) else { return };
    let outlook = tunnels.outlook(world, sw_if);
    let route = tunnels.route(sw_if);
    let shown = Shown { world, sw_if, instance, route };
    out.value(|| {
        let mut to = Members::new();
        to.insert("interface".into(), world.get::<Interfaces>().name(sw_if).into());
        to.insert("sw_if_index".into(), sw_if.0.into());
        to.insert("instance".into(), instance.into());
        spec.members(world, &mut to);
        spec.more(&shown, &mut to);
        to.insert("resolved".into(), outlook.is_resolved.into());
        to.insert("obstacle".into(), outlook.obstacle.clone().into());
        Value::Object(to)
    });
    out.text(|text| {
        spec.text(&shown, text)?;
        let suffix = outlook.suffix();
        let is_apart = text.ends_with(' ');
        writeln!(text, "{}", if is_apart { suffix.trim_start() } else { &suffix })
    });
}

/// Writes the commands that make all tunnels of a kind.
pub fn write_config<K: Declared>(world: &World, config: &mut RunningConfig) {
    config.interfaces(world.get::<Tunnels<K>>().interfaces(), |world, sw_if, lines| {
        let Some(Tunnel { instance, spec, .. }) = world.get::<Tunnels<K>>().get(sw_if) else {
            return;
        };
        let line = format!("{}{}", K::CREATE, spec.words(world));
        let undo = match K::DELETE {
            Some(command) => format!("{command} {}{instance}", K::PREFIX),
            None => format!("{line} del"),
        };
        lines.push(format!("{line} instance {instance}"), undo);
    });
}

/// The command that takes datagrams of a kind out of received IPv4 packets.
pub const fn bypass_ip4<K: Datagrams>(path: &'static str, help: &'static str) -> Command<World> {
    Command {
        path,
        usage: "<interface:interface> [del]",
        help,
        run: |w, m| set_bypass::<K>(w, m, false).map(Output::from),
    }
}

/// As [`bypass_ip4`], of IPv6 packets.
pub const fn bypass_ip6<K: Datagrams>(path: &'static str, help: &'static str) -> Command<World> {
    Command {
        path,
        usage: "<interface:interface> [del]",
        help,
        run: |w, m| set_bypass::<K>(w, m, true).map(Output::from),
    }
}

fn set_bypass<K: Datagrams>(w: &World, m: &Matches, is_v6: bool) -> Result<()> {
    let sw_if = net::args::interface(w, m, "interface")?;
    w.get::<BypassInterfaces<K>>().set(w, sw_if, is_v6, !m.flag("del"))
}

/// Writes the commands of [`bypass_ip4`] and [`bypass_ip6`].
pub fn write_bypass<K: Datagrams>(world: &World, config: &mut RunningConfig) {
    let all = world.get::<BypassInterfaces<K>>().list();
    config.list(Phase::FEATURES, all, |world, (sw_if, is_v6), lines| {
        let (of, name) = (if is_v6 { "ip6" } else { "ip" }, world.get::<Interfaces>().word(sw_if));
        lines.until(format!("set interface {of} {}-bypass {name}", K::WORD), "del");
    });
}

/// The other end that is missing in a command whose tunnels may have several: `several` is the word
/// for these.
///
/// # Errors
/// Neither is there.
pub fn check_other_end(is_given: bool, multipoint: bool, several: &str) -> Result<()> {
    match is_given || multipoint {
        true => Ok(()),
        false => Err(Error::usage(format!("the other end is missing: dst ADDRESS, or {several}"))),
    }
}

impl TunnelEndpoints {
    /// The index of the table as `show` writes it: all ones if it isn't there.
    pub fn shown_table(&self, world: &World) -> u32 {
        self.table_index(world).map_or(u32::MAX, |index| index.0)
    }

    /// Writes the interface by which packets to a group leave, as VPP does, if there is one.
    ///
    /// # Errors
    /// Of the writer.
    pub fn group_text(&self, text: &mut String) -> fmt::Result {
        match self.group_interface {
            Some(by) => write!(text, "mcast-sw-if-idx {by} "),
            None => Ok(()),
        }
    }
}

impl Next {
    /// Writes it as VPP does, unless it is the interface.
    ///
    /// # Errors
    /// Of the writer.
    pub fn text(self, text: &mut String) -> fmt::Result {
        match self {
            Self::Interface => Ok(()),
            _ => write!(text, "decap-next-{} ", self.name()),
        }
    }
}
