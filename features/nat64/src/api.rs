// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `nat64`.

use crate::control::{BindingRow, Control, Enabled, Protocols, SessionRow, StaticName, role};
use crate::key::End;
use crate::show::{current_prefixes, table_ids};
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use nat::timeouts::{Timeout, Timeouts};
use net::api::{InterfaceIndex, Ip4Address, Ip6Address, Ip6Prefix, given};
use std::sync::Arc;
use wire::IpProtocol;

/// The module.
pub static API: Module<World> = Module::plugin("nat64", messages);

/// The number that clients name all protocols by.
const ALL: u8 = 255;

msg::messages! {
    /// Properties of interfaces and bindings.
    flags NatConfigFlags,
    /// Enables NAT64, or disables it and forgets all of its configuration.
    Nat64PluginEnableDisable,
    /// Sets the timeouts of sessions.
    Nat64SetTimeouts,
    /// Requests the timeouts.
    Nat64GetTimeouts,
    /// The timeouts.
    Nat64GetTimeoutsReply,
    /// Adds addresses to the pool, or removes them.
    Nat64AddDelPoolAddrRange,
    /// Requests the addresses of the pool.
    Nat64PoolAddrDump,
    /// An address of the pool.
    Nat64PoolAddrDetails,
    /// Makes an interface one to users or to the world, or no longer.
    Nat64AddDelInterface,
    /// Requests these interfaces.
    Nat64InterfaceDump,
    /// An interface to users or to the world.
    Nat64InterfaceDetails,
    /// Adds a static binding, or removes it.
    Nat64AddDelStaticBib,
    /// Requests the bindings of a protocol, or of all.
    Nat64BibDump,
    /// A binding.
    Nat64BibDetails,
    /// Requests the sessions of a protocol, or of all.
    Nat64StDump,
    /// A session.
    Nat64StDetails,
    /// Sets the prefix of a table, or removes it.
    Nat64AddDelPrefix,
    /// Requests the prefixes.
    Nat64PrefixDump,
    /// The prefix of a table.
    Nat64PrefixDetails,
    /// Keeps the first address of an interface in the pool, or no longer.
    Nat64AddDelInterfaceAddr,
}

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: Nat64PluginEnableDisable| match r.enable {
        true => {
            control(w).enable(w, Enabled { bib_buckets: r.bib_buckets, st_buckets: r.st_buckets })
        }
        false => control(w).disable(w),
    });
    m.call(|w, r: Nat64SetTimeouts| {
        let timeouts = [r.udp, r.tcp_established, r.tcp_transitory, r.icmp];
        control(w).set_timeouts(w, Timeouts(timeouts))
    });
    m.call(|w, _: Nat64GetTimeouts| {
        let timeouts = control(w).read(|state| state.timeouts);
        Ok(Nat64GetTimeoutsReply {
            udp: timeouts.seconds(Timeout::Udp),
            tcp_established: timeouts.seconds(Timeout::TcpEstablished),
            tcp_transitory: timeouts.seconds(Timeout::TcpTransitory),
            icmp: timeouts.seconds(Timeout::Icmp),
        })
    });
    m.call(|w, r: Nat64AddDelPoolAddrRange| {
        let range = (r.start_addr.0.into(), r.end_addr.0.into());
        control(w).set_range(w, range, given(r.vrf_id), r.is_add)
    });
    m.dump(|w, _: Nat64PoolAddrDump| {
        let pool = control(w).read(|state| state.pool.clone());
        Ok(pool.into_iter().map(|of| Nat64PoolAddrDetails {
            address: Ip4Address(of.addr.octets()),
            vrf_id: of.vrf.unwrap_or(u32::MAX),
        }))
    });
    m.call(|w, r: Nat64AddDelInterface| {
        let inside = r.flags.has(NatConfigFlags::INSIDE);
        let bit = if inside { role::INSIDE } else { role::OUTSIDE };
        control(w).set_role(w, SwIfIndex(r.sw_if_index.0), bit, r.is_add)
    });
    m.dump(|w, _: Nat64InterfaceDump| {
        let roles = control(w).read(|state| state.roles.clone());
        Ok(roles.into_iter().map(|(sw_if, bits)| Nat64InterfaceDetails {
            flags: NatConfigFlags::INSIDE.when(bits & role::INSIDE != 0)
                | NatConfigFlags::OUTSIDE.when(bits & role::OUTSIDE != 0),
            sw_if_index: sw_if.into(),
        }))
    });
    m.call_later(|w, r: Nat64AddDelStaticBib| {
        let name = StaticName {
            vrf: r.vrf_id,
            addr: r.i_addr.0.into(),
            port: r.i_port,
            protocol: r.proto,
        };
        let end = End::new(r.o_addr.0.into(), r.o_port);
        Ok(control(w).set_static(w, (name, end), r.is_add)?.reply())
    });
    m.dump_later(bindings);
    m.dump_later(sessions);
    m.call(|w, r: Nat64AddDelPrefix| {
        let prefix = prefix_of(&r.prefix)?;
        control(w).set_prefix(w, (prefix, r.vrf_id), None, r.is_add)
    });
    m.dump(|w, _: Nat64PrefixDump| {
        let prefixes = control(w).read(|state| state.prefixes.clone());
        Ok(prefixes.into_iter().map(|(vrf_id, of)| {
            let (addr, len) = of.prefix.prefix();
            let prefix = Ip6Prefix { address: Ip6Address(addr.octets()), len };
            Nat64PrefixDetails { prefix, vrf_id }
        }))
    });
    m.call(|w, r: Nat64AddDelInterfaceAddr| {
        control(w).set_followed(w, SwIfIndex(r.sw_if_index.0), r.is_add)
    });
}

fn control(w: &World) -> Arc<Control> {
    w.get()
}

fn prefix_of(prefix: &Ip6Prefix) -> Result<wire::Ip6Prefix> {
    wire::Ip6Prefix::new(prefix.address.0.into(), prefix.len).ok_or_else(|| {
        let why = format!("no prefix has {} bits", prefix.len);
        cli::Error::failed(why).retval(cli::retval::INVALID_VALUE)
    })
}

/// The protocols that a request names.
fn protocols(number: u8) -> Option<Protocols> {
    (number != ALL).then_some(Protocols::One(IpProtocol(number)))
}

type Later<T> = Box<dyn msg::Pending<World, Vec<T>>>;

fn bindings(w: &World, r: Nat64BibDump) -> Result<Later<Nat64BibDetails>> {
    let ids = table_ids(w);
    Ok(Control::bindings(w, protocols(r.proto)).reply(move |all| {
        let details = |row: BindingRow| {
            let (user, end) = (row.keys[0].user(), row.keys[1].end());
            Nat64BibDetails {
                i_addr: Ip6Address(user.addr.octets()),
                o_addr: Ip4Address(end.addr.octets()),
                i_port: user.port,
                o_port: end.port,
                vrf_id: ids.get(&user.fib).copied().unwrap_or(0),
                proto: row.keys[0].protocol().0,
                flags: NatConfigFlags::STATIC.when(row.binding.fixed),
                ses_num: row.binding.sessions,
            }
        };
        Ok(all.into_iter().flatten().map(details).collect())
    }))
}

fn sessions(w: &World, r: Nat64StDump) -> Result<Later<Nat64StDetails>> {
    let (ids, prefix_of) = (table_ids(w), current_prefixes(w));
    Ok(Control::sessions(w, protocols(r.proto)).reply(move |all| {
        let details = |row: SessionRow| {
            let (user, end) = (row.keys[0].user(), row.keys[1].end());
            let remote = row.keys[0].remote();
            Nat64StDetails {
                il_addr: Ip6Address(user.addr.octets()),
                ol_addr: Ip4Address(end.addr.octets()),
                il_port: user.port,
                ol_port: end.port,
                ir_addr: Ip6Address(prefix_of(user.fib).compose(remote.addr).octets()),
                or_addr: Ip4Address(remote.addr.octets()),
                r_port: remote.port,
                vrf_id: ids.get(&user.fib).copied().unwrap_or(0),
                proto: row.keys[0].protocol().0,
            }
        };
        Ok(all.into_iter().flatten().map(details).collect())
    }))
}
