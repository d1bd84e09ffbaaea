// SPDX-License-Identifier: Apache-2.0
//! A GTP-U tunnel as tunnels of all kinds see it.

use crate::encap::GtpuCodec;
use crate::forward::Otherwise;
use crate::input::{To, read};
use crate::model::Gtpu;
use buffer::Buffer;
use cli::retval::{self, Retval};
use cli::{Error, Result};
use graph::{Deleted, NodeIndex, Shared, SwIfIndex, World};
use ip::Ip;
use net::IfKind;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Mutex;
use sync::Turn;
use tunnel::{Datagrams, Decap, Next, OWN, Own, Spec, TunnelEndpoints, Tunnels, unspecified};
use wire::{Gtpu as Header, MacAddr};
use zerocopy::{FromBytes, IntoBytes};

impl Spec for Gtpu {
    tunnel::in_datagrams!(GtpuCodec);

    const PREFIX: &'static str = "gtpu_tunnel";
    const DRIVER: &'static str = "GTPU";
    const EXISTS: Retval = retval::TUNNEL_EXIST;
    const STARTS_UP: bool = true;

    fn carries(&self) -> IfKind {
        // TS 29.281 4.3: the payload of a G-PDU is a user's packet. VPP's tunnels are links to one
        // peer, without link-layer addresses, too.
        match self.next {
            Next::Node("ethernet-input") => IfKind::Ethernet,
            _ => IfKind::Ip,
        }
    }

    fn switches(&self) -> bool {
        !self.is_ip()
    }

    fn mac(&self, _: u32) -> MacAddr {
        if self.carries() == IfKind::Ip { MacAddr::ZERO } else { self.derived_mac() }
    }

    fn header(&self) -> Vec<u8> {
        let teid = self.sent_teid();
        let own = match self.qfi {
            Some(qfi) => Header::with_qfi(teid, qfi),
            None => Header::new(teid).as_bytes().to_vec(),
        };
        tunnel::udp(0, Header::PORT, &own)
    }

    fn next(&self, world: &World) -> Option<NodeIndex> {
        // IP packets go by their own version: a session may carry both.
        if self.is_ip() { None } else { self.next.node(world) }
    }
}

impl Datagrams for Gtpu {
    const WORD: &'static str = "gtpu";
    const PORT: u16 = Header::PORT;
    const NUMBER: &'static str = "teid";
    const INPUT: &'static str = "gtpu{4|6}-input";
    const BYPASS: &'static str = "{ip}-gtpu-bypass";
    type To = To;
    type Reader = Otherwise;

    #[inline(always)]
    fn number_in(header: &[u8; OWN]) -> u32 {
        Header::ref_from_bytes(header).map_or(0, |header| header.teid.get())
    }

    fn number(&self) -> u32 {
        self.teid
    }

    #[inline(always)]
    fn read(
        _: &Otherwise,
        b: &Buffer,
        at: usize,
        header: &[u8; OWN],
        _: &Turn<'_>,
    ) -> std::result::Result<Own, To> {
        read(b, at, header)
    }

    #[inline(always)]
    fn otherwise<F: Ip>(
        reader: &Otherwise,
        decap: &Decap<Self>,
        b: &mut Buffer,
        to: To,
        turn: &Turn<'_>,
    ) -> To {
        reader.take::<F>(decap, b, to, turn)
    }

    fn made(&self, world: &World, sw_if: SwIfIndex) {
        world.get::<ByPeer>().insert(self, sw_if);
    }
}

/// The other end, its table's id, and the TEID that is received.
type Peer = (IpAddr, u32, u32);

/// Tunnels by the other end and the TEID: messages that change a tunnel don't name its local
/// address.
#[derive(Default)]
pub struct ByPeer(Mutex<Peers>);

#[derive(Default)]
struct Peers {
    tunnels: HashMap<Peer, BTreeSet<SwIfIndex>>,
    peers: HashMap<SwIfIndex, Peer>,
}

impl Shared for ByPeer {
    fn make(_: &World) -> Self {
        Self::default()
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        let Some(sw_if) = deleted.of::<SwIfIndex>() else { return };
        let mut all = self.0.lock().expect("no panic inside");
        if let Some(peer) = all.peers.remove(sw_if)
            && let Some(tunnels) = all.tunnels.get_mut(&peer)
        {
            tunnels.remove(sw_if);
            if tunnels.is_empty() {
                all.tunnels.remove(&peer);
            }
        }
    }
}

impl ByPeer {
    fn insert(&self, spec: &Gtpu, sw_if: SwIfIndex) {
        let peer = (spec.ends.remote, spec.ends.table, spec.teid);
        let mut all = self.0.lock().expect("no panic inside");
        all.peers.insert(sw_if, peer);
        all.tunnels.entry(peer).or_default().insert(sw_if);
    }

    /// The tunnels to an end with a TEID.
    fn find(&self, peer: Peer) -> Vec<SwIfIndex> {
        let all = self.0.lock().expect("no panic inside");
        all.tunnels.get(&peer).into_iter().flatten().copied().collect()
    }
}

/// Changes the identifier in what a tunnel sends: of the one with this local address, or of all to
/// that end.
///
/// # Errors
/// 0 (−7); a table that isn't there (−3); no such tunnel (−6).
pub fn update_tteid(
    w: &World,
    local: Option<IpAddr>,
    remote: IpAddr,
    table: u32,
    teid: u32,
    tteid: u32,
) -> Result<()> {
    TunnelEndpoints::new(unspecified(remote), remote, table, None).table_index(w)?;
    if tteid == 0 {
        return Err(Error::parse("the identifier of the other end can't become 0")
            .retval(retval::INVALID_VALUE));
    }
    let tunnels = w.get::<Tunnels<Gtpu>>();
    let mut found = w.get::<ByPeer>().find((remote, table, teid));
    found.retain(|sw_if| {
        tunnels.get(*sw_if).is_some_and(|t| local.is_none_or(|local| t.spec.ends.local == local))
    });
    if found.is_empty() {
        return Err(Error::not_found(format!("no tunnel to {remote} has TEID {teid}"))
            .retval(retval::NO_SUCH_ENTRY));
    }
    found.into_iter().try_for_each(|sw_if| tunnels.change(w, sw_if, |spec| spec.tteid = tteid))
}
