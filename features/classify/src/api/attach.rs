// SPDX-License-Identifier: Apache-2.0
//! Where tables decide.

use crate::attach::ALL_PUNTED;
use crate::state::{Classifier, Direction, Layer};
use cli::Result;
use graph::{SwIfIndex, World};
use msg::Messages;
use net::api::{InterfaceIndex, given};

pub fn messages(m: &mut Messages<World>) {
    m.call(|w, r: InputAclSetInterface| {
        let tables = [r.ip4_table_index, r.ip6_table_index, r.l2_table_index];
        set_acl(w, Direction::Input, r.sw_if_index, tables, r.is_add)
    });
    m.call(|w, r: OutputAclSetInterface| {
        let tables = [r.ip4_table_index, r.ip6_table_index, r.l2_table_index];
        set_acl(w, Direction::Output, r.sw_if_index, tables, r.is_add)
    });
    m.call(|w, r: PuntAclAddDel| {
        let tables = [(Layer::Ip4Punt, r.ip4_table_index), (Layer::Ip6Punt, r.ip6_table_index)];
        let tables: Vec<_> = tables.into_iter().filter(|(_, table)| *table != u32::MAX).collect();
        w.get::<Classifier>().set_acl(w, Direction::Input, ALL_PUNTED, &tables, r.is_add)
    });
    m.call(|w, _: PuntAclGet| {
        let acl = |layer| {
            w.get::<Classifier>().acl(Direction::Input, ALL_PUNTED, layer).unwrap_or(u32::MAX)
        };
        Ok(PuntAclGetReply {
            ip4_table_index: acl(Layer::Ip4Punt),
            ip6_table_index: acl(Layer::Ip6Punt),
        })
    });
    m.call(|w, r: ClassifySetInterfaceL2Tables| {
        let direction = if r.is_input { Direction::Input } else { Direction::Output };
        let tables = [r.ip4_table_index, r.ip6_table_index, r.other_table_index].map(given);
        let sw_if = r.sw_if_index.existing(w)?;
        w.get::<Classifier>().set_l2_tables(w, direction, sw_if, tables)
    });
    m.call(|w, r: ClassifySetInterfaceIpTable| {
        let sw_if = r.sw_if_index.existing(w)?;
        w.get::<Classifier>().set_routed(w, r.is_ipv6, sw_if, given(r.table_index))
    });
    m.call(|w, r: ClassifyTableByInterface| {
        let sw_if = r.sw_if_index.existing(w)?;
        let acl =
            |layer| w.get::<Classifier>().acl(Direction::Input, sw_if, layer).unwrap_or(u32::MAX);
        Ok(ClassifyTableByInterfaceReply {
            sw_if_index: r.sw_if_index,
            l2_table_id: acl(Layer::L2),
            ip4_table_id: acl(Layer::Ip4),
            ip6_table_id: acl(Layer::Ip6),
        })
    });
}

fn set_acl(
    w: &World,
    direction: Direction,
    sw_if: InterfaceIndex,
    tables: [u32; 3],
    on: bool,
) -> Result<()> {
    let layers = [Layer::Ip4, Layer::Ip6, Layer::L2].into_iter().zip(tables);
    let tables: Vec<_> = layers.filter(|(_, table)| *table != u32::MAX).collect();
    w.get::<Classifier>().set_acl(w, direction, SwIfIndex(sw_if.0), &tables, on)
}

msg::messages! {
    /// Lets tables decide which packets an interface takes, or ends that. A table that decides
    /// already stays.
    InputAclSetInterface,
    /// Lets tables decide which packets an interface sends, or ends that. A table that decides
    /// already stays.
    OutputAclSetInterface,
    /// Lets tables decide which packets may be punted, or ends that.
    PuntAclAddDel,
    /// Asks for the tables of punted packets.
    PuntAclGet,
    /// The tables of punted packets.
    PuntAclGetReply,
    /// Classifies switched frames of an interface; without a table ends that.
    ClassifySetInterfaceL2Tables,
    /// Classifies packets to the first address of an interface, or ends that.
    ClassifySetInterfaceIpTable,
    /// Asks for the input ACLs of an interface.
    ClassifyTableByInterface,
    /// The input ACLs of an interface.
    ClassifyTableByInterfaceReply,
}
