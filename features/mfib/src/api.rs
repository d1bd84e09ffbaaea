// SPDX-License-Identifier: Apache-2.0
//! The multicast messages of the module `ip`.

use cli::{Error, Result};
use fib::api::table::IpTable;
use graph::{SwIfIndex, World};
use msg::{Messages, Module, retval};
use net::api::{
    AddressFamily, AddressUnion, FibPath, FibPathNhProto, FibPathType, InterfaceIndex, NO_INDEX,
};
use net::mfib::{
    Change, EntryFlags, Group, ItfFlags, Mpath, MpathKind, MrouteInfo, SIGNAL_BYTES, Signal,
    Signals, from,
};
use net::{Fib, Mfib, Net, Source, TableIndex};
use std::net::IpAddr;
use std::sync::Arc;
use wire::{Address, Ip4, Ip6, Prefix};

pub const API: Module<World> = Module::core("ip", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: IpMrouteAddDel| {
        net::by_version!(r.route.prefix.af.is_ip6(), F => change::<F>(w, &r))
    });
    m.dump(dump);
    m.dump(tables);
    m.dump(signals);
}

msg::messages! {
    /// Flags of an entry.
    flags MfibEntryFlags,
    /// Flags of a path: how packets use it.
    flags MfibItfFlags,
    /// A group, or several, and the source.
    Mprefix,
    /// A path of an entry.
    MfibPath,
    /// A multicast route.
    IpMroute,
    /// Adds or removes a multicast route of the binary API, or paths of it.
    IpMrouteAddDel,
    /// Asks for all multicast routes of a table.
    IpMrouteDump,
    /// A multicast route.
    IpMrouteDetails,
    /// Asks for all tables of multicast routes: one goes with each table of routes.
    IpMtableDump,
    /// One table: its number, name and IP version.
    IpMtableDetails,
    /// Takes reports of packets that wait, the oldest ones; of those that one answer has, the
    /// youngest comes first.
    MfibSignalDump,
    /// A packet came in that a route says to report. The next one like it is reported only after
    /// this.
    MfibSignalDetails,
}

impl Mprefix {
    fn of<F: Net>(&self) -> Result<Group<F::Addr>> {
        let addr = |addr: AddressUnion| F::of_ip(addr.of(self.af)).unwrap_or(F::Addr::ZERO);
        let (group, source) = (addr(self.grp_address), addr(self.src_address));
        if source != F::Addr::ZERO {
            return Ok(from::<F>(source, group));
        }
        let len = u8::try_from(self.grp_address_length).ok();
        let prefix = len.and_then(|len| Prefix::new(group, len));
        let why =
            || Error::parse(format!("{group} has not so many bits")).retval(retval::INVALID_VALUE);
        prefix.map(Group::any).ok_or_else(why)
    }
}

impl From<Group<IpAddr>> for Mprefix {
    fn from(group: Group<IpAddr>) -> Self {
        Self {
            af: AddressFamily::of(group.addr),
            grp_address_length: u16::from(group.len) * if group.source.is_some() { 2 } else { 1 },
            grp_address: group.addr.into(),
            src_address: group.source.map(Into::into).unwrap_or_default(),
        }
    }
}

impl MfibPath {
    fn of(&self) -> Result<Mpath> {
        let FibPath { sw_if_index, r#type, proto, .. } = self.path;
        let kind = match r#type {
            FibPathType::Local => MpathKind::Local,
            FibPathType::Normal if sw_if_index != NO_INDEX => {
                let af = match proto {
                    FibPathNhProto::Ip6 => AddressFamily::Ip6,
                    _ => AddressFamily::Ip4,
                };
                let nexthop = self.path.nh.address.of(af);
                let nexthop = Some(nexthop).filter(|nexthop| !nexthop.is_unspecified());
                MpathKind::Interface { sw_if: SwIfIndex(sw_if_index), nexthop }
            }
            _ => {
                let why = Error::unsupported("multicast paths other than interfaces and ourselves");
                return Err(why.retval(retval::UNIMPLEMENTED));
            }
        };
        Ok(Mpath { kind, flags: ItfFlags::from_bits_truncate(self.itf_flags.0) })
    }

    fn to(path: &Mpath, flags: ItfFlags, v6: bool) -> Self {
        let proto = if v6 { FibPathNhProto::Ip6 } else { FibPathNhProto::Ip4 };
        let mut out = FibPath { sw_if_index: NO_INDEX, weight: 1, proto, ..FibPath::default() };
        match path.kind {
            MpathKind::Local => out.r#type = FibPathType::Local,
            MpathKind::Interface { sw_if, nexthop } => {
                out.sw_if_index = sw_if.0;
                out.nh.address = nexthop.map(Into::into).unwrap_or_default();
            }
        }
        Self { itf_flags: MfibItfFlags(flags.bits()), path: out }
    }
}

impl IpMroute {
    fn to<F: Net>(table_id: u32, route: &MrouteInfo<F>) -> Self {
        let best = route.sources.first();
        let paths = best.map_or(&[][..], |best| &best.paths).iter().map(|path| {
            let of = |(sw_if, _): &&(SwIfIndex, ItfFlags)| path.kind.sw_if() == Some(*sw_if);
            let now =
                route.interfaces.iter().find(of).map_or(ItfFlags::empty(), |(_, flags)| *flags);
            let waits = now.contains(ItfFlags::SIGNAL_PRESENT);
            let flags = if waits { path.flags.union(ItfFlags::SIGNAL_PRESENT) } else { path.flags };
            MfibPath::to(path, flags, F::IS_V6)
        });
        Self {
            table_id,
            entry_flags: MfibEntryFlags(route.flags().bits()),
            rpf_id: best.map_or(NO_INDEX, |best| best.rpf_id),
            prefix: route.group.erased().into(),
            paths: paths.take(u8::MAX.into()).collect(),
        }
    }
}

fn change<F: Net>(w: &World, r: &IpMrouteAddDel) -> Result<u32> {
    let table = w.get::<Fib<F>>().find_table(r.route.table_id)?;
    let (group, mfib) = (r.route.prefix.of::<F>()?, w.get::<Mfib<F>>());
    let paths = r.route.paths.iter().map(MfibPath::of).collect::<Result<Vec<_>>>()?;
    if r.is_add {
        let flags = Some(EntryFlags::from_bits_truncate(r.route.entry_flags.0));
        // 0 (field left unset) means no RPF id.
        let rpf_id = Some(if r.route.rpf_id == 0 { NO_INDEX } else { r.route.rpf_id });
        let change = Change { flags, rpf_id, paths: &paths };
        return Ok(mfib.update(w, table, group, Source::Api, change)?.0);
    }
    let kinds: Vec<_> = paths.iter().map(|path| path.kind).collect();
    match mfib.remove(w, table, group, Source::Api, &kinds) {
        // The entry is gone already, as requested.
        Err(e) if !e.is(retval::NO_SUCH_ENTRY) => Err(e),
        _ => Ok(u32::MAX),
    }
}

/// Routes read at once.
const CHUNK: usize = 256;

/// The routes of a table as they are when their turn comes: the table may change meanwhile.
struct Walk<F: Net> {
    mfib: Arc<Mfib<F>>,
    fib: Arc<Fib<F>>,
    table: TableIndex,
    id: u32,
    chunk: std::vec::IntoIter<MrouteInfo<F>>,
    last: Option<Group<F::Addr>>,
}

impl<F: Net> Iterator for Walk<F> {
    type Item = IpMrouteDetails;

    fn next(&mut self) -> Option<IpMrouteDetails> {
        if self.chunk.as_slice().is_empty() {
            // It may be another's meanwhile.
            self.fib.table_id(self.table).filter(|id| *id == self.id)?;
            let chunk = self.mfib.list(self.table, self.last, CHUNK);
            self.last = chunk.last().map_or(self.last, |route| Some(route.group));
            self.chunk = chunk.into_iter();
        }
        self.chunk.next().map(|route| IpMrouteDetails { route: IpMroute::to(self.id, &route) })
    }
}

fn walk<F: Net>(w: &World, id: u32) -> Result<Box<dyn Iterator<Item = IpMrouteDetails>>> {
    let fib = w.get::<Fib<F>>();
    let table = fib.find_table(id)?;
    Ok(Box::new(Walk {
        mfib: w.get::<Mfib<F>>(),
        fib,
        table,
        id,
        chunk: Vec::new().into_iter(),
        last: None,
    }))
}

fn dump(w: &World, r: IpMrouteDump) -> Result<impl Iterator<Item = IpMrouteDetails> + use<>> {
    net::by_version!(r.table.is_ip6, F => walk::<F>(w, r.table.table_id))
}

fn tables(w: &World, _: IpMtableDump) -> Result<Vec<IpMtableDetails>> {
    fn all<F: Net>(w: &World) -> impl Iterator<Item = IpMtableDetails> {
        w.get::<Fib<F>>().list_tables().into_iter().map(|t| IpMtableDetails {
            table: IpTable { table_id: t.id, is_ip6: F::IS_V6, name: t.name.into() },
        })
    }
    Ok(all::<Ip4>(w).chain(all::<Ip6>(w)).collect())
}

fn signals(w: &World, _: MfibSignalDump) -> Result<Vec<MfibSignalDetails>> {
    let waiting = w.get::<Signals>();
    // Workers may bring more meanwhile.
    let all = std::iter::from_fn(|| waiting.take()).take(CHUNK);
    let mut all: Vec<_> = all.map(|signal| details(w, &signal)).collect();
    all.reverse();
    Ok(all)
}

fn details(w: &World, signal: &Signal) -> MfibSignalDetails {
    let table_id = match signal.group.addr {
        IpAddr::V4(_) => w.get::<Fib<Ip4>>().table_id(signal.table),
        IpAddr::V6(_) => w.get::<Fib<Ip6>>().table_id(signal.table),
    };
    let mut ip_packet_data = [0; SIGNAL_BYTES];
    ip_packet_data[..signal.packet().len()].copy_from_slice(signal.packet());
    MfibSignalDetails {
        sw_if_index: InterfaceIndex(signal.sw_if),
        table_id: table_id.unwrap_or(0),
        prefix: signal.group.into(),
        ip_packet_len: signal.packet().len() as u16,
        ip_packet_data,
    }
}
