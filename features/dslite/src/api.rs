// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `dslite`.

use crate::control::{Control, Endpoint};
use cli::Result;
use graph::World;
use msg::{Messages, Module};
use net::api::{Ip4Address, Ip6Address};
use std::sync::Arc;

/// The module.
pub static API: Module<World> = Module::plugin("dslite", messages);

msg::messages! {
    /// Sets the address of the AFTR: this router's, or for a B4 that of the other end.
    DsliteSetAftrAddr,
    /// Requests the address of the AFTR.
    DsliteGetAftrAddr,
    /// The address.
    DsliteGetAftrAddrReply,
    /// Sets this router's address as a B4.
    DsliteSetB4Addr,
    /// Requests this router's address as a B4.
    DsliteGetB4Addr,
    /// The address.
    DsliteGetB4AddrReply,
    /// Adds addresses to the pool, or removes them.
    DsliteAddDelPoolAddrRange,
    /// Requests the addresses of the pool.
    DsliteAddressDump,
    /// An address.
    DsliteAddressDetails,
}

fn control(w: &World) -> Arc<Control> {
    w.get()
}

fn endpoint(ip4: Ip4Address, ip6: Ip6Address) -> Endpoint {
    Endpoint { ip4: ip4.0.into(), ip6: ip6.0.into() }
}

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: DsliteSetAftrAddr| control(w).set_aftr(w, endpoint(r.ip4_addr, r.ip6_addr)));
    m.call(|w, _: DsliteGetAftrAddr| {
        let end = control(w).read(|state| state.aftr);
        let (ip4_addr, ip6_addr) = (Ip4Address(end.ip4.octets()), Ip6Address(end.ip6.octets()));
        Ok(DsliteGetAftrAddrReply { ip4_addr, ip6_addr })
    });
    m.call(|w, r: DsliteSetB4Addr| control(w).set_b4(w, endpoint(r.ip4_addr, r.ip6_addr)));
    m.call(|w, _: DsliteGetB4Addr| {
        control(w).check_ce()?;
        let end = control(w).read(|state| state.b4);
        let (ip4_addr, ip6_addr) = (Ip4Address(end.ip4.octets()), Ip6Address(end.ip6.octets()));
        Ok(DsliteGetB4AddrReply { ip4_addr, ip6_addr })
    });
    m.call(|w, r: DsliteAddDelPoolAddrRange| {
        let range = (r.start_addr.0.into(), r.end_addr.0.into());
        control(w).set_range(w, range, r.is_add)
    });
    m.dump(|w, _: DsliteAddressDump| -> Result<Vec<_>> {
        let pool = control(w).read(|state| state.pool.clone());
        let details = |addr: std::net::Ipv4Addr| DsliteAddressDetails {
            ip_address: Ip4Address(addr.octets()),
        };
        Ok(pool.into_iter().map(details).collect())
    });
}
