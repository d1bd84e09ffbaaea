// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `pnat`.

use crate::binding::{Match, Rewrite, mask};
use crate::control::{Control, no_ports};
use crate::table::Place;
use cli::{Error, Result, retval};
use graph::World;
use msg::{Messages, Module};
use nat::key::End;
use net::api::{InterfaceIndex, Ip4Address, IpProto, given};
use std::collections::BTreeMap;
use std::sync::Arc;
use wire::IpProtocol;

/// The module.
pub static API: Module<World> = Module::plugin("pnat", messages);

msg::messages! {
    /// Fields that are compared or rewritten.
    flags PnatMask,
    /// The direction of packets at an interface.
    PnatAttachmentPoint,
    /// The fields of packets that are compared.
    PnatMatchTuple,
    /// The fields of packets that are rewritten.
    PnatRewriteTuple,
    /// Adds a binding: what packets match, and how they are rewritten. A protocol of 0 is compared
    /// like others.
    PnatBindingAdd,
    /// The same; the protocol is compared if the mask says so.
    PnatBindingAddV2,
    /// Removes a binding, also from interfaces.
    PnatBindingDel,
    /// Attaches a binding to an interface.
    PnatBindingAttach,
    /// Detaches a binding from an interface.
    PnatBindingDetach,
    /// Requests the bindings, from a number on.
    PnatBindingsGet,
    /// A binding.
    PnatBindingsDetails,
    /// Requests the interfaces with bindings.
    PnatInterfacesGet,
    /// An interface with bindings: of received packets, of packets that leave.
    PnatInterfacesDetails,
    /// Requests the binding of a flow at an interface.
    PnatFlowLookup,
}

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: PnatBindingAdd| {
        let mut what = what(&r.r#match);
        if what.protocol.0 == 0 {
            what.mask |= mask::PROTOCOL;
        }
        add(w, what, rewrite(&r.rewrite))
    });
    m.call(|w, r: PnatBindingAddV2| add(w, what(&r.r#match), rewrite(&r.rewrite)));
    m.call(|w, r: PnatBindingDel| control(w).del(w, r.binding_index));
    m.call(|w, r: PnatBindingAttach| {
        control(w).attach(w, place(r.sw_if_index, r.attachment)?, r.binding_index)
    });
    m.call(|w, r: PnatBindingDetach| {
        control(w).detach(w, place(r.sw_if_index, r.attachment)?, r.binding_index)
    });
    m.stream(bindings);
    m.stream(interfaces);
    m.call(|w, r: PnatFlowLookup| {
        control(w).lookup(place(r.sw_if_index, r.attachment)?, what(&r.r#match))
    });
}

fn control(w: &World) -> Arc<Control> {
    w.get()
}

fn place(sw_if: InterfaceIndex, point: PnatAttachmentPoint) -> Result<Place> {
    let output = match point {
        PnatAttachmentPoint::Ip4Input => false,
        PnatAttachmentPoint::Ip4Output => true,
        PnatAttachmentPoint::AttachmentPointMax => {
            return Err(Error::failed("expected input or output").retval(retval::INVALID_VALUE));
        }
    };
    Ok(Place { sw_if: sw_if.0, output })
}

/// Adds a binding. Clients name the protocol of ports, also where it isn't compared.
fn add(w: &World, what: Match, rewrite: Rewrite) -> Result<u32> {
    if (what.mask | rewrite.mask) & mask::PORTS != 0 && what.protocol.0 == 0 {
        return Err(no_ports());
    }
    control(w).add(w, None, (what, rewrite))
}

fn what(tuple: &PnatMatchTuple) -> Match {
    Match {
        mask: tuple.mask.0,
        from: End::new(tuple.src.0.into(), tuple.sport),
        to: End::new(tuple.dst.0.into(), tuple.dport),
        protocol: IpProtocol(tuple.proto.0),
    }
}

fn rewrite(tuple: &PnatRewriteTuple) -> Rewrite {
    Rewrite {
        mask: tuple.mask.0,
        from: End::new(tuple.src.0.into(), tuple.sport),
        to: End::new(tuple.dst.0.into(), tuple.dport),
        copy_from: tuple.from_offset,
        copy_to: tuple.to_offset,
        clear: tuple.clear_offset,
    }
}

fn wire_ip(addr: std::net::Ipv4Addr) -> Ip4Address {
    Ip4Address(addr.octets())
}

fn bindings(w: &World, r: PnatBindingsGet) -> Result<Vec<PnatBindingsDetails>> {
    let from = given(r.cursor).unwrap_or(0);
    let all = control(w).read(|state| state.bindings.range(from..).map(|(_, b)| *b).collect());
    let all: Vec<crate::binding::Binding> = all;
    let details = all.into_iter().map(|binding| {
        let (what, new) = (binding.what, binding.rewrite);
        PnatBindingsDetails {
            r#match: PnatMatchTuple {
                src: wire_ip(what.from.addr),
                dst: wire_ip(what.to.addr),
                proto: IpProto(what.protocol.0),
                sport: what.from.port,
                dport: what.to.port,
                mask: PnatMask(what.mask),
            },
            rewrite: PnatRewriteTuple {
                src: wire_ip(new.from.addr),
                dst: wire_ip(new.to.addr),
                sport: new.from.port,
                dport: new.to.port,
                mask: PnatMask(new.mask),
                from_offset: new.copy_from,
                to_offset: new.copy_to,
                clear_offset: new.clear,
            },
        }
    });
    Ok(details.collect())
}

fn interfaces(w: &World, r: PnatInterfacesGet) -> Result<Vec<PnatInterfacesDetails>> {
    let from = given(r.cursor).unwrap_or(0);
    let mut all = BTreeMap::<u32, PnatInterfacesDetails>::new();
    control(w).read(|state| {
        for place in state.places().filter(|place| place.sw_if >= from) {
            let details = all.entry(place.sw_if).or_insert_with(|| PnatInterfacesDetails {
                sw_if_index: InterfaceIndex(place.sw_if),
                enabled: [false; 2],
                lookup_mask: [PnatMask(0); 2],
            });
            let at = usize::from(place.output);
            details.enabled[at] = true;
            details.lookup_mask[at] = PnatMask(state.mask(place).unwrap_or(0));
        }
    });
    Ok(all.into_values().collect())
}
