// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `lcp`.

use crate::control;
use crate::pairs::{HostKind, Pair, Pairs, Request};
use crate::settings::Settings;
use crate::sync;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use net::api::InterfaceIndex;
use wire::EtherType;

/// The module.
pub static API: Module<World> = Module::plugin("lcp", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: LcpItfPairAddDel| add_del(w, r.into()).map(drop));
    m.call(|w, r: LcpItfPairAddDelV2| {
        let pair = add_del(w, r.into())?;
        Ok(LcpItfPairAddDelV2Reply { host_sw_if_index: pair.map(|pair| pair.host).into() })
    });
    m.call(|w, r: LcpItfPairAddDelV3| {
        let pair = add_del(w, r.into())?;
        let vif_index = pair.as_ref().map_or(u32::MAX, |pair| pair.vif);
        let host_sw_if_index = pair.map(|pair| pair.host).into();
        Ok(LcpItfPairAddDelV3Reply { vif_index, host_sw_if_index })
    });
    m.stream(|w, r: LcpItfPairGet| Ok(details(w, r.cursor, None)));
    m.stream(|w, r: LcpItfPairGetV2| {
        let only = r.sw_if_index.given();
        if let Some(phy) = only
            && w.get::<Pairs>().of_phy(phy).is_none()
        {
            let why = format!("the interface {phy} has no pair");
            return Err(Error::not_found(why).retval(retval::INVALID_SW_IF_INDEX));
        }
        Ok(details(w, r.cursor, only))
    });
    m.call(|w, _: LcpItfPairReplaceBegin| {
        control::replace_begin(w);
        Ok(())
    });
    m.call(|w, _: LcpItfPairReplaceEnd| {
        control::replace_end(w);
        Ok(())
    });
    m.call(|w, r: LcpDefaultNsSet| w.get::<Settings>().set_default_namespace(w, r.netns.as_str()));
    m.call(|w, _: LcpDefaultNsGet| {
        let netns = w.get::<Settings>().get().default_namespace.unwrap_or_default();
        Ok(LcpDefaultNsGetReply { netns: netns.as_str().into() })
    });
    m.call(|w, r: LcpSyncUnnumberedSet| sync::set_unnumbered(w, r.is_enable));
    m.call(|w, _: LcpSyncUnnumberedGet| {
        let is_enable = w.get::<Settings>().get().sync_unnumbered;
        Ok(LcpSyncUnnumberedGetReply { is_enable })
    });
    m.call(|w, r: LcpEthertypeEnable| {
        w.get::<Settings>().enable_ethertype(w, EtherType(r.ethertype))
    });
    m.call(|w, _: LcpEthertypeGet| {
        let ethertypes = w.get::<Settings>().get().ethertypes.into_iter().collect();
        Ok(LcpEthertypeGetReply { ethertypes })
    });
    m.call(|_, r: LcpOsiProtoEnable| -> Result<()> {
        let why = format!("the OSI protocol {:#04x} needs OSI, which isn't built", r.osi_proto);
        Err(Error::unsupported(why).retval(retval::FEATURE_DISABLED))
    });
    m.call(|_, _: LcpOsiProtoGet| Ok(LcpOsiProtoGetReply { osi_protos: Vec::new() }));
}

msg::messages! {
    /// The kind of the kernel's interface.
    LcpItfHostType,
    /// Makes or deletes the pair of an interface.
    LcpItfPairAddDel,
    /// Makes or deletes the pair of an interface, and returns its mirror.
    LcpItfPairAddDelV2,
    /// The mirror.
    LcpItfPairAddDelV2Reply,
    /// Makes or deletes the pair of an interface, and returns its mirror and the kernel's
    /// interface.
    LcpItfPairAddDelV3,
    /// The mirror and the kernel's interface.
    LcpItfPairAddDelV3Reply,
    /// Asks for all pairs.
    LcpItfPairGet,
    /// Asks for the pair of an interface, or for all.
    LcpItfPairGetV2,
    /// A pair.
    LcpItfPairDetails,
    /// Marks all pairs: pairs not made again until `lcp_itf_pair_replace_end` are deleted then.
    LcpItfPairReplaceBegin,
    /// Deletes the pairs that are still marked.
    LcpItfPairReplaceEnd,
    /// Sets the namespace of pairs that name none.
    LcpDefaultNsSet,
    /// Asks for the namespace of pairs that name none.
    LcpDefaultNsGet,
    /// The namespace; empty for that of the process.
    LcpDefaultNsGetReply,
    /// Sets whether the addresses that unnumbered interfaces borrow go to the kernel's.
    LcpSyncUnnumberedSet,
    /// Asks whether borrowed addresses go to the kernel's.
    LcpSyncUnnumberedGet,
    /// True if they do.
    LcpSyncUnnumberedGetReply,
    /// Lets frames of an Ethernet type cross pairs.
    LcpEthertypeEnable,
    /// Asks for the enabled Ethernet types.
    LcpEthertypeGet,
    /// The enabled types.
    LcpEthertypeGetReply,
    /// Lets packets of an OSI protocol cross pairs. Refused: OSI isn't built.
    LcpOsiProtoEnable,
    /// Asks for the enabled OSI protocols.
    LcpOsiProtoGet,
    /// The enabled protocols.
    LcpOsiProtoGetReply,
}

struct AddDel {
    is_add: bool,
    request: Request,
}

macro_rules! add_dels {
    ($($message:ident)*) => { $(
        impl From<$message> for AddDel {
            fn from(r: $message) -> Self {
                let kind = match r.host_if_type {
                    LcpItfHostType::Tun => HostKind::Tun,
                    _ => HostKind::Tap,
                };
                let netns = Some(r.netns.as_str().to_string()).filter(|netns| !netns.is_empty());
                let (phy, name) = (SwIfIndex(r.sw_if_index.0), r.host_if_name.as_str().into());
                Self { is_add: r.is_add, request: Request { phy, name, kind, namespace: netns } }
            }
        }
    )* };
}
add_dels!(LcpItfPairAddDel LcpItfPairAddDelV2 LcpItfPairAddDelV3);

fn add_del(w: &World, AddDel { is_add, request }: AddDel) -> Result<Option<Pair>> {
    match is_add {
        true => control::create(w, &request).map(Some),
        false => control::delete(w, request.phy).map(|()| None),
    }
}

/// Pairs whose number isn't below the cursor.
fn details(w: &World, cursor: u32, only: Option<SwIfIndex>) -> Vec<LcpItfPairDetails> {
    let all = w.get::<Pairs>().list().into_iter();
    let wanted = all.filter(|(number, pair)| {
        only.map_or(*number >= cursor || cursor == u32::MAX, |only| pair.phy == only)
    });
    let details = |(_, pair): (u32, Pair)| LcpItfPairDetails {
        phy_sw_if_index: pair.phy.into(),
        host_sw_if_index: pair.host.into(),
        vif_index: pair.vif,
        host_if_name: pair.name.as_str().into(),
        host_if_type: match pair.kind {
            HostKind::Tap => LcpItfHostType::Tap,
            HostKind::Tun => LcpItfHostType::Tun,
        },
        netns: pair.namespace.as_deref().unwrap_or_default().into(),
    };
    wanted.map(details).collect()
}
