// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::api::*;
use net::api::{InterfaceIndex, IpProto, Prefix};
use std::cell::RefCell;
use wire::Ip4Prefix;

fn prefix(text: &str) -> Prefix {
    Prefix::from(text.parse::<Ip4Prefix>().expect("a prefix"))
}

fn rule(source: &str, destination: &str) -> AclRule {
    AclRule {
        is_permit: AclAction(2),
        src_prefix: prefix(source),
        dst_prefix: prefix(destination),
        proto: IpProto(6),
        srcport_or_icmptype_first: 1,
        srcport_or_icmptype_last: 2,
        dstport_or_icmpcode_first: 3,
        dstport_or_icmpcode_last: 4,
        tcp_flags_mask: 5,
        tcp_flags_value: 1,
    }
}

fn acl(index: u32, r: Vec<AclRule>) -> AclAddReplace {
    AclAddReplace { acl_index: index, tag: "a tag".into(), r }
}

#[suite::test]
fn clients_make_apply_and_delete_acls() {
    let rig = routers(2, false);
    let client = RefCell::new(rig.bench.api());
    let good = rule("10.0.0.0/8", "10.1.0.0/16");
    let set = |index, r: Vec<AclRule>| {
        let reply = client.borrow_mut().call(acl(index, r)).expect("a reply");
        (reply.retval, reply.acl_index)
    };
    assert_eq!(set(u32::MAX, vec![good]), (0, 0));
    assert_eq!(set(u32::MAX, vec![]), (0, 1));
    assert_eq!(set(1, vec![good, good]), (0, 1));
    assert_eq!(set(7, vec![good]), (-6, 7));
    for (bad, retval) in [
        (rule("10.0.0.1/8", "10.0.0.0/8"), -57),
        (rule("10.0.0.0/8", "10.0.0.1/8"), -58),
        (AclRule { srcport_or_icmptype_first: 9, ..good }, -8),
        (AclRule { dstport_or_icmpcode_last: 0, ..good }, -8),
    ] {
        assert_eq!(set(u32::MAX, vec![bad]).0, retval);
    }
    let all = client.borrow_mut().dump(AclDump { acl_index: u32::MAX });
    assert_eq!(
        all.iter().map(|acl| (acl.acl_index, acl.r.len())).collect::<Vec<_>>(),
        [(0, 1), (1, 2)]
    );
    assert_eq!(client.borrow_mut().dump(AclDump { acl_index: 0 })[0].r, [good]);
    assert_eq!(client.borrow_mut().dump(AclDump { acl_index: 9 }).len(), 0);
    let p0 = InterfaceIndex::from(rig.ports[0]);
    let list = |sw_if_index, n_input, acls: &[u32]| {
        client.borrow_mut().call(AclInterfaceSetAclList {
            sw_if_index,
            n_input,
            acls: acls.to_vec(),
        })
    };
    assert_eq!(list(p0, 2, &[1, 0, 1]), Ok(()));
    for (result, retval) in [
        (list(p0, 1, &[9]), -6),
        (list(p0, 2, &[1, 1]), -116),
        (list(InterfaceIndex(99), 1, &[1]), -2),
        (list(p0, 2, &[1]), -7),
    ] {
        assert_eq!(result, Err(retval));
    }
    let details = &client.borrow_mut().dump(AclInterfaceListDump { sw_if_index: p0 })[0];
    assert_eq!((details.n_input, &details.acls[..]), (2, &[1, 0, 1][..]));
    let change = |is_add, is_input, acl_index| {
        client.borrow_mut().call(AclInterfaceAddDel {
            is_add,
            is_input,
            sw_if_index: p0,
            acl_index,
        })
    };
    assert_eq!(change(true, true, 0), Err(-142));
    assert_eq!(change(true, false, 1), Err(-143));
    assert_eq!(client.borrow_mut().call(AclDel { acl_index: 0 }), Err(-142));
    assert_eq!(change(false, true, 0), Ok(()));
    assert_eq!(client.borrow_mut().call(AclDel { acl_index: 0 }), Ok(()));
    assert_eq!(client.borrow_mut().call(AclDel { acl_index: 0 }), Err(-6));
    // Each interface has one item, an empty one too.
    assert_eq!(
        client.borrow_mut().dump(AclInterfaceListDump { sw_if_index: InterfaceIndex::NONE }).len(),
        3
    );
    let types = AclInterfaceSetEtypeWhitelist {
        sw_if_index: p0,
        n_input: 1,
        whitelist: vec![0x806, 0x88cc],
    };
    assert_eq!(client.borrow_mut().call(types), Ok(()));
    let all = client
        .borrow_mut()
        .dump(AclInterfaceEtypeWhitelistDump { sw_if_index: InterfaceIndex::NONE });
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].n_input, &all[0].whitelist[..]), (1, &[0x806, 0x88cc][..]));
    let version = client.borrow_mut().call(AclPluginGetVersion {}).expect("a version");
    assert_eq!((version.major, version.minor), (1, 4));
}
