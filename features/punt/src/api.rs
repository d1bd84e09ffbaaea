// SPDX-License-Identifier: Apache-2.0
//! The module `punt`, and the part of the module `ip` that is about punted packets.

use crate::control;
use crate::redirect;
use crate::state::{self, Destination, Key};
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Messages, Module, Str, retval};
use net::api::{
    Address, AddressFamily, FibPath, FibPathNh, FibPathNhProto, FibPathType, InterfaceIndex,
};
use std::net::IpAddr;
use std::path::Path;

/// The modules.
pub static MODULES: &[Module<World>] =
    &[Module::core("punt", messages), Module::core("ip", redirects)];

fn messages(m: &mut Messages<World>) {
    m.call(set);
    m.call(register);
    m.call(|w, r: PuntSocketDeregister| control::delete(w, r.punt.key()?, true));
    m.dump(dump);
    m.dump(reasons);
}

msg::messages! {
    /// The kind of a punt registration.
    PuntType,
    /// Port, protocol or reason, by kind.
    PuntUnion,
    /// The packets that are punted.
    Punt,
    /// Starts or stops punting packets.
    SetPunt,
    /// Punts packets to a Unix datagram socket of the client's.
    PuntSocketRegister,
    /// Stops punting packets to the client's socket.
    PuntSocketDeregister,
    /// Requests the sockets that packets are punted to.
    PuntSocketDump,
    /// A socket that packets are punted to.
    PuntSocketDetails,
    /// A reason that packets are punted for.
    PuntReason,
    /// Requests the reasons that packets are punted for.
    PuntReasonDump,
    /// A reason that packets are punted for.
    PuntReasonDetails,
    /// A redirect of punted packets.
    PuntRedirect,
    /// A redirect of punted packets.
    PuntRedirectV2,
    /// Adds or removes a redirect of punted packets.
    IpPuntRedirect,
    /// Adds or removes a redirect of punted packets.
    AddDelIpPuntRedirectV2,
    /// Requests the redirects of punted packets.
    IpPuntRedirectDump,
    /// A redirect of punted packets.
    IpPuntRedirectDetails,
    /// Requests the redirects of punted packets.
    IpPuntRedirectV2Dump,
    /// A redirect of punted packets.
    IpPuntRedirectV2Details,
}

/// Port number that stands for all ports.
const ALL: u16 = u16::MAX;

fn family(v6: bool) -> AddressFamily {
    if v6 { AddressFamily::Ip6 } else { AddressFamily::Ip4 }
}

impl Punt {
    /// Returns the internal form.
    ///
    /// # Errors
    /// A protocol without ports, an unknown address family (−7).
    pub fn key(self) -> Result<Key> {
        let bytes = self.punt.0;
        let v6 =
            |af: u8| match af {
                0 => Ok(false),
                1 => Ok(true),
                _ => Err(Error::parse(format!("{af} is no address family"))
                    .retval(retval::INVALID_VALUE)),
            };
        match self.r#type {
            PuntType::Exception => Ok(Key::Reason(u32::from_be_bytes(bytes))),
            PuntType::IpProto => Ok(Key::Protocol { v6: v6(bytes[0])?, protocol: bytes[1] }),
            PuntType::L4 => {
                let (v6, port) = (v6(bytes[0])?, u16::from_be_bytes([bytes[2], bytes[3]]));
                let port = (port != ALL).then_some(port);
                match bytes[1] {
                    17 => Ok(Key::Udp { v6, port }),
                    6 => Ok(Key::Tcp { v6, port }),
                    other => Err(Error::unsupported(format!(
                        "protocol {other} has no ports that are punted"
                    ))
                    .retval(retval::INVALID_VALUE)),
                }
            }
        }
    }

    /// Returns the clients' form.
    pub fn of(key: Key) -> Self {
        let l4 = |v6: bool, protocol: u8, port: Option<u16>| {
            let [a, b] = port.unwrap_or(ALL).to_be_bytes();
            (PuntType::L4, [u8::from(v6), protocol, a, b])
        };
        let (r#type, bytes) = match key {
            Key::Udp { v6, port } => l4(v6, 17, port),
            Key::Tcp { v6, port } => l4(v6, 6, port),
            Key::Protocol { v6, protocol } => (PuntType::IpProto, [u8::from(v6), protocol, 0, 0]),
            Key::Reason(id) => (PuntType::Exception, id.to_be_bytes()),
        };
        Self { r#type, punt: PuntUnion(bytes) }
    }
}

fn set(w: &World, r: SetPunt) -> Result<()> {
    let key = r.punt.key()?;
    if r.is_add { control::add(w, key, Destination::Punt) } else { control::delete(w, key, false) }
}

fn register(w: &World, r: PuntSocketRegister) -> Result<Str<108>> {
    if r.header_version != 1 {
        let why =
            format!("version {} of what stands in front of packets: expected 1", r.header_version);
        return Err(Error::unsupported(why).retval(retval::INVALID_VALUE));
    }
    let ours = control::register(w, r.punt.key()?, Path::new(r.pathname.as_str()))?;
    let pathname = ours.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(pathname.into())
}

fn dump(w: &World, r: PuntSocketDump) -> Result<Vec<PuntSocketDetails>> {
    let all = w.get::<state::Punt>().list().into_iter();
    let details = |(key, destination): (Key, Destination)| match destination {
        Destination::Socket(path) => Some(PuntSocketDetails {
            punt: Punt::of(key),
            pathname: (*path.to_string_lossy()).into(),
        }),
        Destination::Punt => None,
    };
    Ok(all.filter_map(details).filter(|d| d.punt.r#type == r.r#type).collect())
}

fn reasons(w: &World, r: PuntReasonDump) -> Result<Vec<PuntReasonDetails>> {
    let asked = r.reason;
    let all = asked.name.is_empty();
    let all = crate::reasons(w).into_iter().filter(move |reason| all || reason.name == asked.name);
    Ok(all.map(|r| PuntReasonDetails { reason: PuntReason { id: r.id, name: r.name } }).collect())
}

fn redirects(m: &mut Messages<World>) {
    m.call(|w, r: IpPuntRedirect| {
        let (v6, nh) = (r.punt.nh.af.is_ip6(), IpAddr::from(r.punt.nh));
        let rx = r.punt.rx_sw_if_index.existing_or_all(w)?;
        if r.is_add {
            add(w, v6, rx, r.punt.tx_sw_if_index, nh)
        } else {
            redirect::delete(w, v6, rx)
        }
    });
    m.call(|w, r: AddDelIpPuntRedirectV2| {
        let (v6, rx) = (r.punt.af.is_ip6(), r.punt.rx_sw_if_index.existing_or_all(w)?);
        match &r.punt.paths[..] {
            _ if !r.is_add => redirect::delete(w, v6, rx),
            [] => redirect::add(w, v6, rx, None),
            [path] if path.r#type == FibPathType::Drop => redirect::add(w, v6, rx, None),
            [path] => {
                add(w, v6, rx, InterfaceIndex(path.sw_if_index), path.nh.address.of(r.punt.af))
            }
            _ => Err(Error::unsupported("a redirect has one path").retval(retval::UNSUPPORTED)),
        }
    });
    m.dump(|w, r: IpPuntRedirectDump| {
        let all = list(w, r.is_ipv6, r.sw_if_index)?.into_iter();
        let details =
            |(rx, redirect)| IpPuntRedirectDetails { punt: old_form(r.is_ipv6, rx, redirect) };
        Ok(all.map(details).collect::<Vec<_>>())
    });
    m.dump(|w, r: IpPuntRedirectV2Dump| {
        let all = list(w, r.af.is_ip6(), r.sw_if_index)?.into_iter();
        let details =
            |(rx, redirect)| IpPuntRedirectV2Details { punt: new_form(r.af, rx, redirect) };
        Ok(all.map(details).collect::<Vec<_>>())
    });
}

type RedirectEntry = (Option<SwIfIndex>, redirect::Redirect);

fn add(
    w: &World,
    v6: bool,
    rx: Option<SwIfIndex>,
    tx: InterfaceIndex,
    nexthop: IpAddr,
) -> Result<()> {
    redirect::add(w, v6, rx, Some(redirect::Via { tx: tx.existing(w)?, nexthop: Some(nexthop) }))
}

fn list(w: &World, v6: bool, only: InterfaceIndex) -> Result<Vec<RedirectEntry>> {
    let only = only.existing_or_all(w)?;
    let all = w.get::<redirect::RedirectTable>().list(v6).into_iter();
    Ok(all.filter(|(rx, _)| only.is_none() || *rx == only).collect())
}

fn old_form(v6: bool, rx: Option<SwIfIndex>, redirect: redirect::Redirect) -> PuntRedirect {
    let nexthop = redirect.via.and_then(|via| via.nexthop);
    let nh =
        nexthop.map_or_else(|| Address { af: family(v6), ..Address::default() }, Address::from);
    PuntRedirect {
        rx_sw_if_index: rx.into(),
        tx_sw_if_index: redirect.via.map(|via| via.tx).into(),
        nh,
    }
}

fn new_form(
    af: AddressFamily,
    rx: Option<SwIfIndex>,
    redirect: redirect::Redirect,
) -> PuntRedirectV2 {
    let proto = if af.is_ip6() { FibPathNhProto::Ip6 } else { FibPathNhProto::Ip4 };
    let path = |redirect::Via { tx, nexthop }| {
        let address = nexthop.map(Into::into).unwrap_or_default();
        let nh = FibPathNh { address, ..FibPathNh::default() };
        FibPath {
            sw_if_index: tx.0,
            table_id: u32::MAX,
            weight: 1,
            proto,
            nh,
            ..FibPath::default()
        }
    };
    PuntRedirectV2 {
        rx_sw_if_index: rx.into(),
        af,
        paths: redirect.via.map(path).into_iter().collect(),
    }
}
