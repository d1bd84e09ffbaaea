// SPDX-License-Identifier: Apache-2.0
//! The other ends of multipoint tunnels follow the entries of `create teib`.

use crate::end::End;
use crate::model::{Spec, TunnelEndpoints};
use crate::route::Route;
use crate::state::Tunnels;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use net::Adjacencies;
use std::net::IpAddr;
use teib::{Endpoint, Teib, TeibEvent};

impl<S: Spec> Tunnels<S> {
    /// Follows the entries of `create teib`: each is another end of a multipoint tunnel. Called
    /// once, at the start.
    pub fn follow_peers(world: &World) {
        world.get::<Teib>().subscribe(|world, event| {
            let tunnels = world.get::<Self>();
            if event.added {
                return tunnels.add_peer(world, event);
            }
            tunnels.remove_peer(world, event.sw_if, event.peer);
            Ok(())
        });
    }

    /// Adds a peer. Packets to it name its end in four bytes in front.
    fn add_peer(&self, world: &World, TeibEvent { sw_if, peer, to, .. }: TeibEvent) -> Result<()> {
        let Some(tunnel) = self.get(sw_if).filter(|tunnel| tunnel.spec.is_multipoint()) else {
            return Ok(());
        };
        let Endpoint { nexthop, table } = to;
        let ends = TunnelEndpoints { remote: nexthop, table, ..tunnel.spec.ends() };
        ends.check(retval::INVALID_PROTOCOL)?;
        let key = tunnel.spec.key(&ends, tunnel.spec.ends().table_index(world)?.0);
        let number = match self.number_of(&key) {
            // Another peer is there too.
            Some(number) if self.inner().peers.at.contains_key(&number) => number,
            Some(_) => return Err(Error::failed("another tunnel has these ends").retval(S::EXISTS)),
            None => {
                let route = Route::to(world, nexthop, table)?;
                let number = self.inner().peers.new_end();
                let of = (sw_if, tunnel.instance);
                self.set_end(number, End::new(world, of, &tunnel.spec, &ends, key, Some(route)));
                number
            }
        };
        *self.inner().peers.at.entry(number).or_default() += 1;
        let adjacencies = world.get::<Adjacencies>();
        let adj = adjacencies
            .neighbor(world, sw_if, peer)
            .inspect_err(|_| self.release_peer(world, number))?;
        adjacencies.complete(world, sw_if, peer, &number.to_be_bytes());
        self.inner().peers.all.insert((sw_if, peer), (number, adj));
        Ok(())
    }

    fn remove_peer(&self, world: &World, sw_if: SwIfIndex, peer: IpAddr) {
        let known = self.inner().peers.all.remove(&(sw_if, peer));
        if let Some((number, adj)) = known {
            let adjacencies = world.get::<Adjacencies>();
            adjacencies.incomplete(world, sw_if, peer);
            adjacencies.release(adj);
            self.release_peer(world, number);
        }
    }

    /// Removes all peers of an interface.
    pub(crate) fn remove_peers(&self, world: &World, sw_if: SwIfIndex) {
        let range = teib::of_interface(sw_if);
        let peers: Vec<_> =
            self.inner().peers.all.range(range).map(|((_, peer), _)| *peer).collect();
        peers.into_iter().for_each(|peer| self.remove_peer(world, sw_if, peer));
    }

    /// Removes an end with its last peer.
    fn release_peer(&self, world: &World, number: u32) {
        {
            let mut inner = self.inner();
            let Some(peers) = inner.peers.at.get_mut(&number) else { return };
            *peers -= 1;
            if *peers > 0 {
                return;
            }
            inner.peers.at.remove(&number);
        }
        self.remove_end(world, number);
        self.inner().peers.free.push(number);
    }
}
