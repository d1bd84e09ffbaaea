// SPDX-License-Identifier: Apache-2.0
//! The module `punt`, and the part of the module `ip` that is about punted packets.

use crate::control;
use crate::redirect;
use crate::state::{Destination, Key, Punt};
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{
    Caller, Field, Malformed, Message, Messages, Module, Reader, Shape, Str, Type, Wire, retval,
};
use net::api::{
    Address, AddressFamily, FibPath, FibPathNh, FibPathNhProto, FibPathType, InterfaceIndex,
    IpProto, ip_module,
};
use std::net::IpAddr;
use std::path::Path;

/// The modules.
pub static MODULES: &[Module<World>] = &[
    Module { name: "punt", version: "2.2.1", crc: 0x24d1_1934, core: true, messages },
    ip_module(redirects),
];

type Client<'a> = Caller<'a, World>;

fn messages(m: &mut Messages<World>) {
    m.call(set);
    m.call(register);
    m.call(deregister);
    m.dump(dump);
    m.dump(reasons);
}

/// The kind of a punt registration.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
#[wire(prefix = "PUNT_API_TYPE_")]
pub enum PuntType {
    /// A port.
    #[default]
    L4 = 0,
    /// A protocol.
    IpProto = 1,
    /// A reason.
    Exception = 2,
}

/// A port.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PuntL4 {
    /// The family.
    pub af: AddressFamily,
    /// UDP or TCP.
    pub protocol: IpProto,
    /// The port; 65535 is all.
    pub port: u16,
}

/// A protocol.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PuntIpProto {
    /// The family.
    pub af: AddressFamily,
    /// The protocol.
    pub protocol: IpProto,
}

/// A reason.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PuntException {
    /// Its number, from `punt_reason_dump`.
    pub id: u32,
}

/// One of the three; the type is in another field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PuntUnion(pub [u8; 4]);

impl Wire for PuntUnion {
    fn describe() -> Type {
        let arms = vec![
            Field::one::<PuntException>("exception", ""),
            Field::one::<PuntL4>("l4", ""),
            Field::one::<PuntIpProto>("ip_proto", ""),
        ];
        Type::new("punt_union", "A port, a protocol or a reason.", Shape::Union(arms))
    }
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn get(r: &mut Reader<'_>) -> std::result::Result<Self, Malformed> {
        Wire::get(r).map(Self)
    }
}

/// The packets that are punted.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PuntDescription {
    /// Kind of the registration.
    pub r#type: PuntType,
    /// Port, protocol or reason, by kind.
    pub punt: PuntUnion,
}

/// The packets that are punted, under the type name that clients know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PuntApi(pub PuntDescription);

impl Wire for PuntApi {
    fn describe() -> Type {
        Type { name: "punt", ..PuntDescription::describe() }
    }
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn get(r: &mut Reader<'_>) -> std::result::Result<Self, Malformed> {
        Wire::get(r).map(Self)
    }
}

/// Port number that stands for all ports.
const ALL: u16 = u16::MAX;

fn family(v6: bool) -> AddressFamily {
    if v6 { AddressFamily::Ip6 } else { AddressFamily::Ip4 }
}

impl PuntApi {
    /// Returns the internal form.
    ///
    /// # Errors
    /// A protocol without ports, an unknown address family (−7).
    pub fn key(self) -> Result<Key> {
        let bytes = self.0.punt.0;
        let v6 =
            |af: u8| match af {
                0 => Ok(false),
                1 => Ok(true),
                _ => Err(Error::parse(format!("{af} is no address family"))
                    .retval(retval::INVALID_VALUE)),
            };
        match self.0.r#type {
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
        Self(PuntDescription { r#type, punt: PuntUnion(bytes) })
    }
}

/// Starts or stops punting packets.
#[derive(Message)]
pub struct SetPunt {
    /// True to punt, false to stop punting.
    pub is_add: bool,
    /// The packets to punt.
    pub punt: PuntApi,
}

fn set(w: &World, _: &Client<'_>, r: SetPunt) -> Result<()> {
    let key = r.punt.key()?;
    if r.is_add { control::add(w, key, Destination::Punt) } else { control::delete(w, key, false) }
}

/// Punts packets to a Unix datagram socket of the client's.
#[derive(Message)]
#[msg(reply)]
pub struct PuntSocketRegister {
    /// Version of the descriptor in front of each packet: 1.
    pub header_version: u32,
    /// The packets to punt.
    pub punt: PuntApi,
    /// The client's socket.
    pub pathname: Str<108>,
}

/// The socket that takes packets from the client.
#[derive(Message)]
pub struct PuntSocketRegisterReply {
    /// Our socket.
    pub pathname: Str<108>,
}

fn register(w: &World, _: &Client<'_>, r: PuntSocketRegister) -> Result<PuntSocketRegisterReply> {
    if r.header_version != 1 {
        let why =
            format!("version {} of what stands in front of packets: expected 1", r.header_version);
        return Err(Error::unsupported(why).retval(retval::INVALID_VALUE));
    }
    let ours = control::register(w, r.punt.key()?, Path::new(r.pathname.as_str()))?;
    let pathname = ours.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(PuntSocketRegisterReply { pathname: pathname.into() })
}

/// Stops punting packets to the client's socket.
#[derive(Message)]
pub struct PuntSocketDeregister {
    /// The packets that are punted.
    pub punt: PuntApi,
}

fn deregister(w: &World, _: &Client<'_>, r: PuntSocketDeregister) -> Result<()> {
    control::delete(w, r.punt.key()?, true)
}

/// Requests the sockets that packets are punted to.
#[derive(Message)]
#[msg(details)]
pub struct PuntSocketDump {
    /// Only this type.
    pub r#type: PuntType,
}

/// A socket that packets are punted to.
#[derive(Message)]
pub struct PuntSocketDetails {
    /// The packets that are punted.
    pub punt: PuntApi,
    /// The client's socket.
    pub pathname: Str<108>,
}

fn dump(w: &World, _: &Client<'_>, r: PuntSocketDump) -> Result<Vec<PuntSocketDetails>> {
    let all = w.get::<Punt>().list().into_iter();
    let details = |(key, destination): (Key, Destination)| match destination {
        Destination::Socket(path) => Some(PuntSocketDetails {
            punt: PuntApi::of(key),
            pathname: (*path.to_string_lossy()).into(),
        }),
        Destination::Punt => None,
    };
    Ok(all.filter_map(details).filter(|d| d.punt.0.r#type == r.r#type).collect())
}

/// A reason that packets are punted for.
#[derive(Wire, Clone, Debug, Default, PartialEq, Eq)]
pub struct PuntReason {
    /// Its number; all bits set asks for all.
    pub id: u32,
    /// Its name: node and next edge.
    pub name: String,
}

/// Requests the reasons that packets are punted for.
#[derive(Message)]
#[msg(details)]
pub struct PuntReasonDump {
    /// One by its name or number, or all.
    pub reason: PuntReason,
}

/// A reason that packets are punted for.
#[derive(Message)]
pub struct PuntReasonDetails {
    /// The reason.
    pub reason: PuntReason,
}

fn reasons(w: &World, _: &Client<'_>, r: PuntReasonDump) -> Result<Vec<PuntReasonDetails>> {
    let asked = r.reason;
    let all = asked.name.is_empty();
    let all = crate::reasons(w).into_iter().filter(move |reason| all || reason.name == asked.name);
    Ok(all.map(|r| PuntReasonDetails { reason: PuntReason { id: r.id, name: r.name } }).collect())
}

fn redirects(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Client<'_>, r: IpPuntRedirect| {
        let (v6, nh) = (r.punt.nh.af.is_ip6(), IpAddr::from(r.punt.nh));
        let rx = rx(w, r.punt.rx_sw_if_index)?;
        if r.is_add {
            add(w, v6, rx, r.punt.tx_sw_if_index, nh)
        } else {
            redirect::delete(w, v6, rx)
        }
    });
    m.call(|w: &World, _: &Client<'_>, r: AddDelIpPuntRedirectV2| {
        let (v6, rx) = (r.punt.af.is_ip6(), rx(w, r.punt.rx_sw_if_index)?);
        match &r.punt.paths[..] {
            _ if !r.is_add => redirect::delete(w, v6, rx),
            [] => redirect::add(w, v6, rx, None),
            [path] if path.kind == FibPathType::Drop => redirect::add(w, v6, rx, None),
            [path] => {
                add(w, v6, rx, InterfaceIndex(path.sw_if_index), path.nh.address.of(r.punt.af))
            }
            _ => Err(Error::unsupported("a redirect has one path").retval(retval::UNSUPPORTED)),
        }
    });
    m.dump(|w: &World, _: &Client<'_>, r: IpPuntRedirectDump| {
        let all = list(w, r.is_ipv6, r.sw_if_index)?.into_iter();
        let details =
            |(rx, redirect)| IpPuntRedirectDetails { punt: old_form(r.is_ipv6, rx, redirect) };
        Ok(all.map(details).collect::<Vec<_>>())
    });
    m.dump(|w: &World, _: &Client<'_>, r: IpPuntRedirectV2Dump| {
        let all = list(w, r.af.is_ip6(), r.sw_if_index)?.into_iter();
        let details =
            |(rx, redirect)| IpPuntRedirectV2Details { punt: new_form(r.af, rx, redirect) };
        Ok(all.map(details).collect::<Vec<_>>())
    });
}

type RedirectEntry = (Option<SwIfIndex>, redirect::Redirect);

/// Returns the interface of a redirect; `None` for all.
fn rx(w: &World, sw_if: InterfaceIndex) -> Result<Option<SwIfIndex>> {
    sw_if.existing_or_all(w)
}

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

fn index(rx: Option<SwIfIndex>) -> InterfaceIndex {
    rx.map_or(InterfaceIndex::NONE, InterfaceIndex::from)
}

fn old_form(v6: bool, rx: Option<SwIfIndex>, redirect: redirect::Redirect) -> PuntRedirect {
    let nexthop = redirect.via.and_then(|via| via.nexthop);
    let nh =
        nexthop.map_or_else(|| Address { af: family(v6), ..Address::default() }, Address::from);
    PuntRedirect {
        rx_sw_if_index: index(rx),
        tx_sw_if_index: index(redirect.via.map(|via| via.tx)),
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
        rx_sw_if_index: index(rx),
        af,
        paths: redirect.via.map(path).into_iter().collect(),
    }
}

/// A redirect of punted packets.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PuntRedirect {
    /// Receive interface of the packets, or any.
    pub rx_sw_if_index: InterfaceIndex,
    /// Transmit interface.
    pub tx_sw_if_index: InterfaceIndex,
    /// The router; zeros for the packet's own destination.
    pub nh: Address,
}

/// A redirect of punted packets.
#[derive(Wire, Clone, Debug, PartialEq)]
pub struct PuntRedirectV2 {
    /// Receive interface of the packets, or any.
    #[wire(default = "4294967295")]
    pub rx_sw_if_index: InterfaceIndex,
    /// IP version.
    pub af: AddressFamily,
    /// The destination: one path.
    #[count(n_paths: u32)]
    pub paths: Vec<FibPath>,
}

/// Adds or removes a redirect of punted packets.
#[derive(Message)]
pub struct IpPuntRedirect {
    /// The redirect.
    pub punt: PuntRedirect,
    /// True to add, false to remove.
    #[wire(default = "true")]
    pub is_add: bool,
}

/// Adds or removes a redirect of punted packets.
#[derive(Message)]
pub struct AddDelIpPuntRedirectV2 {
    /// True to add, false to remove.
    #[wire(default = "true")]
    pub is_add: bool,
    /// The redirect.
    pub punt: PuntRedirectV2,
}

/// Requests the redirects of punted packets.
#[derive(Message)]
#[msg(details)]
pub struct IpPuntRedirectDump {
    /// Receive interface of the redirect, or all.
    pub sw_if_index: InterfaceIndex,
    /// True for IPv6.
    pub is_ipv6: bool,
}

/// A redirect of punted packets.
#[derive(Message)]
pub struct IpPuntRedirectDetails {
    /// It.
    pub punt: PuntRedirect,
}

/// Requests the redirects of punted packets.
#[derive(Message)]
#[msg(details)]
pub struct IpPuntRedirectV2Dump {
    /// Receive interface of the redirect, or all.
    pub sw_if_index: InterfaceIndex,
    /// The family.
    pub af: AddressFamily,
}

/// A redirect of punted packets.
#[derive(Message)]
pub struct IpPuntRedirectV2Details {
    /// It.
    pub punt: PuntRedirectV2,
}
