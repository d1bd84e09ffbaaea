// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Containers: addresses behind an interface that are delivered here, as if they were ours, to the
//! nodes of the local protocols and ports.

pub mod api;

use cli::{Command, Error, Matches, Output, Result, Table, Writer, quote};
use graph::{Deleted, Phase, Plugin, RunningConfig, Script, Shared, StateDef, SwIfIndex, World};
use msg::Module;
use msg::retval;
use net::args::{given_interface, interface};
use net::{Addresses, Fib, IfEvent, Interfaces, Net, Path, PathKind, Source, TableIndex};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};
use wire::{Ip4, Ip6, Prefix};

/// Containers.
pub static PLUGIN: Plugin = Plugin {
    name: "ip-container",
    about: "Addresses behind interfaces that are delivered here",
    area: "ip",
    does: &["Addresses behind an interface whose packets are delivered here (`ip container`)"],
    state: &[StateDef::of::<Containers<Ip4>>(), StateDef::of::<Containers<Ip6>>()],
    cli: COMMANDS,
    config: |world, config| {
        write_config::<Ip4>(world, config);
        write_config::<Ip6>(world, config);
    },
    examples: &[Script::here(
        "containers",
        "create packet-generator interface pg0
         create packet-generator interface pg1
         ip container 10.9.0.1 pg0
         ip container 10.9.0.2 pg0
         ip container 10.9.0.2 pg0 del
         ip container 2001:db8:9::/64 pg1",
    )],
    api: &[Module::core("ip", api::messages)],
    ..Plugin::EMPTY
};

const COMMANDS: &[Command<World>] = cli::commands! {
    /// Deliver packets to addresses behind an interface here, or no longer
    "ip container", "{<prefix:prefix> | <address:ip>} <interface:interface> [del]" => run;
    /// Addresses behind interfaces that are delivered here
    "show ip container", "[<address:ip>] [<interface:interface>]" => show;
};

/// By prefix and interface, the table that the interface is in.
type All<F> = BTreeMap<(Prefix<<F as wire::Family>::Addr>, SwIfIndex), TableIndex>;

/// The containers of one version.
pub struct Containers<F: Net>(Mutex<All<F>>);

impl<F: Net> Shared for Containers<F> {
    fn make(world: &World) -> Self {
        world.get::<Interfaces>().subscribe(|world, event| {
            let IfEvent::Table(sw_if, ip6) = event else { return };
            if ip6 != F::IS_V6 {
                return;
            }
            // Containers move with their interface to its new table.
            let containers = world.get::<Self>();
            for prefix in containers.remove_all(world, sw_if) {
                if let Err(error) = containers.set(world, prefix, sw_if, true) {
                    log::error!("container {prefix}: {error}");
                }
            }
        });
        Self(Mutex::default())
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.remove_all(world, *sw_if);
        }
    }
}

impl<F: Net> Containers<F> {
    fn all(&self) -> MutexGuard<'_, All<F>> {
        self.0.lock().expect("no panic inside")
    }

    /// Removes the containers of an interface.
    fn remove_all(&self, world: &World, sw_if: SwIfIndex) -> Vec<Prefix<F::Addr>> {
        let of_interface = self.list().into_iter().filter(|(_, i)| *i == sw_if);
        let prefixes: Vec<_> = of_interface.map(|(prefix, _)| prefix).collect();
        for prefix in &prefixes {
            // A container that is already gone is no error.
            let _ = self.set(world, *prefix, sw_if, false);
        }
        prefixes
    }

    /// All, with their interfaces.
    pub fn list(&self) -> Vec<(Prefix<F::Addr>, SwIfIndex)> {
        self.all().keys().copied().collect()
    }

    /// Delivers packets to a prefix here, or no longer.
    ///
    /// # Errors
    /// An interface that isn't there (−2); taking back what isn't there (−6).
    pub fn set(
        &self,
        world: &World,
        prefix: Prefix<F::Addr>,
        sw_if: SwIfIndex,
        on: bool,
    ) -> Result<()> {
        let (fib, at) = (world.get::<Fib<F>>(), (prefix.network(), sw_if));
        // Others may have paths to the same prefix.
        let path = Path::new(PathKind::Receive { sw_if, address: at.0.addr().into() });
        if !on {
            let none = || Error::not_found(format!("there is no container {}", at.0));
            let table =
                self.all().remove(&at).ok_or_else(|| none().retval(retval::NO_SUCH_ENTRY))?;
            return fib.remove(world, table, at.0, Source::Plugin, &[path]);
        }
        let table = world.get::<Addresses<F>>().table_of(sw_if)?;
        fib.add(world, table, at.0, Source::Plugin, &[path])?;
        self.all().insert(at, table);
        Ok(())
    }
}

/// Sets one of either version.
fn set_any(w: &World, (addr, len): (IpAddr, Option<u8>), sw_if: SwIfIndex, on: bool) -> Result<()> {
    fn set<F: Net>(
        w: &World,
        addr: F::Addr,
        len: Option<u8>,
        sw_if: SwIfIndex,
        on: bool,
    ) -> Result<()> {
        let prefix = Prefix::new(addr, len.unwrap_or(F::BITS));
        let prefix = prefix.ok_or_else(|| Error::parse("a network has no such length"))?;
        w.get::<Containers<F>>().set(w, prefix, sw_if, on)
    }
    match addr {
        IpAddr::V4(addr) => set::<Ip4>(w, addr, len, sw_if, on),
        IpAddr::V6(addr) => set::<Ip6>(w, addr, len, sw_if, on),
    }
}

/// `ip container`.
fn run(w: &World, m: &Matches) -> Result<()> {
    let sw_if = interface(w, m, "interface")?;
    let container = match m.arg("prefix").map(|arg| arg.value) {
        Some(cli::Value::Prefix(addr, len)) => (addr, Some(len)),
        _ => (m.req("address")?, None),
    };
    set_any(w, container, sw_if, !m.flag("del"))
}

/// `show ip container`.
fn show(w: &World, m: &Matches) -> Result<Output> {
    fn all<F: Net>(
        w: &World,
        only: Option<IpAddr>,
    ) -> impl Iterator<Item = (String, SwIfIndex)> + use<F> {
        let all = w.get::<Containers<F>>().list().into_iter();
        let covers = move |prefix: &Prefix<F::Addr>, addr| {
            F::of_ip(addr).is_some_and(|addr| prefix.contains(addr))
        };
        all.filter(move |(prefix, _)| only.is_none_or(|addr| covers(prefix, addr)))
            .map(|(prefix, sw_if)| (prefix.to_string(), sw_if))
    }
    let (only, only_if) = (m.opt("address")?, given_interface(w, m, "interface")?);
    let items = all::<Ip4>(w, only).chain(all::<Ip6>(w, only));
    let table = Table::new().left("Container").left("Interface");
    Ok(table.list(items, move |w: &World, (prefix, sw_if), out: &mut Writer| {
        if only_if.is_none_or(|only| only == sw_if) {
            out.row([prefix.into(), w.get::<Interfaces>().name(sw_if).into()]);
        }
        Ok(())
    }))
}

fn write_config<F: Net>(w: &World, config: &mut RunningConfig) {
    config.list(Phase::ROUTES, w.get::<Containers<F>>().list(), |w, (prefix, sw_if), lines| {
        let line = format!("ip container {prefix} {}", quote(&w.get::<Interfaces>().name(sw_if)));
        lines.push(line.clone(), format!("{line} del"));
    });
}
