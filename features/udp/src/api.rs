// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `udp`.

use crate::control::{Encapsulation, PayloadProtocol, Udp};
use cli::{Error, Result, retval};
use graph::World;
use msg::{Caller, Message, Messages, Module, Wire};
use net::api::Address;
use wire::{Ip4, Ip6};

/// The module.
pub static API: Module<World> =
    Module { name: "udp", version: "1.1.0", crc: 0x6804_c5af, core: true, messages };

fn messages(m: &mut Messages<World>) {
    m.call(add);
    m.call(delete);
    m.dump(dump);
    m.call(decap);
}

/// An encapsulation.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpEncap {
    /// The table that datagrams are routed in.
    pub table_id: u32,
    /// Their source port; 0 derives it from the flow of the packet inside.
    pub src_port: u16,
    /// Their destination port.
    pub dst_port: u16,
    /// Their source.
    pub src_ip: Address,
    /// Their destination.
    pub dst_ip: Address,
    /// Its number, by which paths name it.
    pub id: u32,
}

/// Creates an encapsulation. The server chooses its number.
#[derive(Message)]
#[msg(reply)]
pub struct UdpEncapAdd {
    /// The encapsulation.
    pub udp_encap: UdpEncap,
}

/// The number of the new encapsulation.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct UdpEncapAddReply {
    /// The number, by which paths name the encapsulation.
    pub id: u32,
}

fn add(w: &World, _: &Caller<'_, World>, r: UdpEncapAdd) -> Result<UdpEncapAddReply> {
    let UdpEncap { table_id, src_port, dst_port, src_ip, dst_ip, .. } = r.udp_encap;
    let encap = Encapsulation {
        source: src_ip.into(),
        destination: dst_ip.into(),
        source_port: src_port,
        destination_port: dst_port,
        table: table_id,
    };
    Ok(UdpEncapAddReply { id: w.get::<Udp>().add(w, None, encap)? })
}

/// Deletes an encapsulation.
#[derive(Message)]
pub struct UdpEncapDel {
    /// Its number.
    pub id: u32,
}

fn delete(w: &World, _: &Caller<'_, World>, r: UdpEncapDel) -> Result<()> {
    w.get::<Udp>().delete(w, r.id)
}

/// Asks for all encapsulations.
#[derive(Message)]
#[msg(details)]
pub struct UdpEncapDump {}

/// An encapsulation.
#[derive(Message)]
pub struct UdpEncapDetails {
    /// The encapsulation.
    pub udp_encap: UdpEncap,
}

fn dump(w: &World, _: &Caller<'_, World>, _: UdpEncapDump) -> Result<Vec<UdpEncapDetails>> {
    let details = |(id, encap): (u32, Encapsulation)| UdpEncapDetails {
        udp_encap: UdpEncap {
            table_id: encap.table,
            src_port: encap.source_port,
            dst_port: encap.destination_port,
            src_ip: encap.source.into(),
            dst_ip: encap.destination.into(),
            id,
        },
    };
    Ok(w.get::<Udp>().list().into_iter().map(details).collect())
}

/// The protocol of the packets in datagrams.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
#[wire(prefix = "UDP_API_DECAP_PROTO_")]
pub enum UdpDecapNextProto {
    /// IPv4 packets.
    #[default]
    Ip4 = 0,
    /// IPv6 packets.
    Ip6 = 1,
    /// Packets with MPLS labels.
    Mpls = 2,
}

/// A port whose datagrams carry packets.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpDecap {
    /// 1 for datagrams of IPv4, 0 for IPv6.
    pub is_ip4: u8,
    /// The port.
    pub port: u16,
    /// The protocol of the packets in the datagrams.
    pub next_proto: UdpDecapNextProto,
}

/// Starts or stops to take packets out of the datagrams to a port.
#[derive(Message)]
pub struct UdpDecapAddDel {
    /// Start, not stop.
    pub is_add: bool,
    /// The port.
    pub udp_decap: UdpDecap,
}

fn decap(w: &World, _: &Caller<'_, World>, r: UdpDecapAddDel) -> Result<()> {
    let UdpDecap { is_ip4, port, next_proto } = r.udp_decap;
    let udp = w.get::<Udp>();
    let inside = match next_proto {
        UdpDecapNextProto::Ip4 => PayloadProtocol::Ip4,
        UdpDecapNextProto::Ip6 => PayloadProtocol::Ip6,
        UdpDecapNextProto::Mpls => {
            return Err(Error::unsupported("MPLS isn't built yet").retval(retval::UNIMPLEMENTED));
        }
    };
    match (is_ip4 != 0, r.is_add) {
        (true, true) => udp.add_port::<Ip4>(w, port, inside),
        (false, true) => udp.add_port::<Ip6>(w, port, inside),
        (true, false) => udp.remove_port::<Ip4>(w, port),
        (false, false) => udp.remove_port::<Ip6>(w, port),
    }
}
