// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `udp`.

use crate::control::{Encapsulation, PayloadProtocol, Udp};
use cli::{Error, Result, retval};
use graph::World;
use msg::{Messages, Module};
use net::api::Address;

/// The module.
pub static API: Module<World> = Module::core("udp", messages);

fn messages(m: &mut Messages<World>) {
    m.call(add);
    m.call(|w, r: UdpEncapDel| w.get::<Udp>().delete(w, r.id));
    m.dump(dump);
    m.call(decap);
}

msg::messages! {
    /// An encapsulation.
    UdpEncap,
    /// Creates an encapsulation. The server chooses its number.
    UdpEncapAdd,
    /// Deletes an encapsulation.
    UdpEncapDel,
    /// Asks for all encapsulations.
    UdpEncapDump,
    /// An encapsulation.
    UdpEncapDetails,
    /// The protocol of the packets in datagrams.
    UdpDecapNextProto,
    /// A port whose datagrams carry packets.
    UdpDecap,
    /// Starts or stops to take packets out of the datagrams to a port.
    UdpDecapAddDel,
}

fn add(w: &World, r: UdpEncapAdd) -> Result<u32> {
    let UdpEncap { table_id, src_port, dst_port, src_ip, dst_ip, .. } = r.udp_encap;
    let encap = Encapsulation {
        source: src_ip.into(),
        destination: dst_ip.into(),
        source_port: src_port,
        destination_port: dst_port,
        table: table_id,
    };
    w.get::<Udp>().add(w, None, encap)
}

fn dump(w: &World, _: UdpEncapDump) -> Result<Vec<UdpEncapDetails>> {
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

fn decap(w: &World, r: UdpDecapAddDel) -> Result<()> {
    let UdpDecap { is_ip4, port, next_proto } = r.udp_decap;
    let udp = w.get::<Udp>();
    let inside = match next_proto {
        UdpDecapNextProto::Ip4 => PayloadProtocol::Ip4,
        UdpDecapNextProto::Ip6 => PayloadProtocol::Ip6,
        UdpDecapNextProto::Mpls => {
            return Err(Error::unsupported("MPLS isn't built yet").retval(retval::UNIMPLEMENTED));
        }
    };
    net::by_version!(is_ip4 == 0, F => match r.is_add {
        true => udp.add_port::<F>(w, port, inside),
        false => udp.remove_port::<F>(w, port),
    })
}
