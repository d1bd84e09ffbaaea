// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `det44`.

use crate::control::{Control, Enabled, Row, closed};
use crate::map::{Map, Range};
use crate::settings::{Det, role};
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use msg::{Messages, Module, Pending};
use nat::key::End;
use nat::timeouts::{Timeout, Timeouts};
use net::api::{InterfaceIndex, Ip4Address};
use std::net::Ipv4Addr;
use std::sync::Arc;
use wire::Ip4Prefix;

/// The module.
pub static API: Module<World> = Module::plugin("det44", messages);

msg::messages! {
    /// Enables deterministic NAT, or disables it and forgets all of its configuration.
    Det44PluginEnableDisable,
    /// Makes an interface one to users or to the world, or no longer.
    Det44InterfaceAddDelFeature,
    /// Requests these interfaces.
    Det44InterfaceDump,
    /// An interface to users or to the world.
    Det44InterfaceDetails,
    /// Lets the users of a prefix share the addresses of another one, or no longer.
    Det44AddDelMap,
    /// Requests the address and ports of a user.
    Det44Forward,
    /// The address and ports.
    Det44ForwardReply,
    /// Requests the user of an address and port.
    Det44Reverse,
    /// Requests the maps.
    Det44MapDump,
    /// A map, with the number of its sessions.
    Det44MapDetails,
    /// Ends a session, by the address and port outside.
    Det44CloseSessionOut,
    /// Ends a session, by the user's address and port.
    Det44CloseSessionIn,
    /// Requests the sessions of a user, in the order of their making.
    Det44SessionDump,
    /// A session.
    Det44SessionDetails,
    /// Sets the timeouts of sessions, in seconds; 0 leaves one as it is.
    Det44SetTimeouts,
    /// Requests the timeouts of sessions.
    Det44GetTimeouts,
    /// The timeouts.
    Det44GetTimeoutsReply,
    /// Lets the users of a prefix share the addresses of another one, or no longer.
    #[from(Det44AddDelMap)]
    NatDetAddDelMap,
    /// Requests the address and ports of a user.
    NatDetForward,
    /// The address and ports.
    #[from(Det44ForwardReply)]
    NatDetForwardReply,
    /// Requests the user of an address and port.
    NatDetReverse,
    /// Requests the maps.
    NatDetMapDump,
    /// A map, with the number of its sessions.
    #[from(Det44MapDetails)]
    NatDetMapDetails,
    /// Ends a session, by the address and port outside.
    NatDetCloseSessionOut,
    /// Ends a session, by the user's address and port.
    NatDetCloseSessionIn,
    /// Requests the sessions of a user, in the order of their making.
    NatDetSessionDump,
    /// A session.
    #[from(Det44SessionDetails)]
    NatDetSessionDetails,
}

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: Det44PluginEnableDisable| match r.enable {
        true => {
            let options = Enabled { inside: r.inside_vrf, outside: r.outside_vrf };
            control(w).enable(w, options)
        }
        false => control(w).disable(w),
    });
    m.call(|w, r: Det44InterfaceAddDelFeature| {
        let bit = if r.is_inside { role::INSIDE } else { role::OUTSIDE };
        control(w).set_role(w, SwIfIndex(r.sw_if_index.0), bit, r.is_add)
    });
    m.dump(interfaces);
    m.call(|w, r: Det44AddDelMap| {
        set_map(w, (r.in_addr, r.in_plen), (r.out_addr, r.out_plen), r.is_add)
    });
    m.call(|w, r: NatDetAddDelMap| {
        set_map(w, (r.in_addr, r.in_plen), (r.out_addr, r.out_plen), r.is_add)
    });
    m.call(|w, r: Det44Forward| forward(w, r.in_addr));
    m.call(|w, r: NatDetForward| forward(w, r.in_addr));
    m.call(|w, r: Det44Reverse| reverse(w, r.out_addr, r.out_port));
    m.call(|w, r: NatDetReverse| reverse(w, r.out_addr, r.out_port));
    m.dump(|w, _: Det44MapDump| Ok(maps(w)));
    m.dump(|w, _: NatDetMapDump| Ok(maps(w)));
    m.call_later(|w, r: Det44CloseSessionOut| {
        close(w, false, (r.out_addr, r.out_port), (r.ext_addr, r.ext_port))
    });
    m.call_later(|w, r: NatDetCloseSessionOut| {
        close(w, false, (r.out_addr, r.out_port), (r.ext_addr, r.ext_port))
    });
    m.call_later(|w, r: Det44CloseSessionIn| {
        close(w, true, (r.in_addr, r.in_port), (r.ext_addr, r.ext_port))
    });
    m.call_later(|w, r: NatDetCloseSessionIn| {
        close(w, true, (r.in_addr, r.in_port), (r.ext_addr, r.ext_port))
    });
    m.dump_later(|w, r: Det44SessionDump| Ok(sessions::<Det44SessionDetails>(w, r.user_addr)));
    m.dump_later(|w, r: NatDetSessionDump| Ok(sessions::<NatDetSessionDetails>(w, r.user_addr)));
    m.call(|w, r: Det44SetTimeouts| {
        let timeouts = [r.udp, r.tcp_established, r.tcp_transitory, r.icmp];
        control(w).set_timeouts(w, Timeouts(timeouts))
    });
    m.call(|w, _: Det44GetTimeouts| {
        let timeouts = control(w).read(|state| state.timeouts);
        Ok(Det44GetTimeoutsReply {
            udp: timeouts.seconds(Timeout::Udp),
            tcp_established: timeouts.seconds(Timeout::TcpEstablished),
            tcp_transitory: timeouts.seconds(Timeout::TcpTransitory),
            icmp: timeouts.seconds(Timeout::Icmp),
        })
    });
}

fn control(w: &World) -> Arc<Control> {
    w.get()
}

fn wire_ip(addr: Ipv4Addr) -> Ip4Address {
    Ip4Address(addr.octets())
}

fn end((addr, port): (Ip4Address, u16)) -> End {
    End::new(addr.0.into(), port)
}

fn interfaces(w: &World, _: Det44InterfaceDump) -> Result<Vec<Det44InterfaceDetails>> {
    let roles = control(w).read(|state| state.roles.clone());
    let details = |(sw_if, bits): (SwIfIndex, u8)| Det44InterfaceDetails {
        is_inside: bits & role::INSIDE != 0,
        is_outside: bits & role::OUTSIDE != 0,
        sw_if_index: sw_if.into(),
    };
    Ok(roles.into_iter().map(details).collect())
}

fn set_map(
    w: &World,
    inside: (Ip4Address, u8),
    outside: (Ip4Address, u8),
    add: bool,
) -> Result<()> {
    let prefix = |(addr, len): (Ip4Address, u8)| {
        Ip4Prefix::new(addr.0.into(), len).ok_or_else(|| {
            Error::failed(format!("expected a length of 0 to 32, not {len}"))
                .retval(retval::INVALID_VALUE)
        })
    };
    let (inside, outside) = (prefix(inside)?, prefix(outside)?);
    match add {
        true => control(w).add_map(w, inside, outside),
        false => control(w).remove_map(w, inside, outside),
    }
}

fn forward(w: &World, user: Ip4Address) -> Result<Det44ForwardReply> {
    let range = Control::forward(w, user.0.into())?;
    let Range { addr, first, .. } = range;
    Ok(Det44ForwardReply { out_port_lo: first, out_port_hi: range.last(), out_addr: wire_ip(addr) })
}

fn reverse(w: &World, addr: Ip4Address, port: u16) -> Result<Ip4Address> {
    Control::reverse(w, end((addr, port))).map(wire_ip)
}

fn maps(w: &World) -> Vec<Det44MapDetails> {
    let (all, det) = (control(w).read(|state| state.maps.clone()), w.get::<Det>());
    let details = |map: Map| Det44MapDetails {
        in_addr: wire_ip(map.inside.addr()),
        in_plen: map.inside.len(),
        out_addr: wire_ip(map.outside.addr()),
        out_plen: map.outside.len(),
        sharing_ratio: map.ratio() as u32,
        ports_per_host: map.ports() as u16,
        ses_num: det.sessions(map.number),
    };
    all.into_iter().map(details).collect()
}

fn close(
    w: &World,
    inside: bool,
    own: (Ip4Address, u16),
    external: (Ip4Address, u16),
) -> Result<Box<dyn Pending<World, ()>>> {
    let (own, external) = (end(own), end(external));
    let ended = match inside {
        true => Control::close_in(w, own, external)?,
        false => Control::close_out(w, own, external)?,
    };
    Ok(ended.reply(closed))
}

fn sessions<D>(w: &World, user: Ip4Address) -> Box<dyn Pending<World, Vec<D>>>
where
    D: From<Det44SessionDetails> + 'static,
{
    Control::sessions_of(w, user.0.into()).reply(|threads| {
        let rows = threads.into_iter().flatten().flatten();
        Ok(rows.map(|row| D::from(details(&row))).collect())
    })
}

fn details(row: &Row) -> Det44SessionDetails {
    Det44SessionDetails {
        in_port: row.inside.port,
        ext_addr: wire_ip(row.external.addr),
        ext_port: row.external.port,
        out_port: row.outside.port,
        state: row.state as u8,
        expire: row.expires,
    }
}
