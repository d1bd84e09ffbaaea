// SPDX-License-Identifier: Apache-2.0
//! Messages.

use super::*;
use crate::api::attach::*;
use crate::api::filter::*;
use crate::api::table::*;
use crate::api::{FlowClassifySetInterface, PolicerClassifySetInterface};
use net::api::InterfaceIndex;

const NONE: u32 = u32::MAX;

fn table(mask: Vec<u8>) -> ClassifyAddDelTable {
    ClassifyAddDelTable {
        is_add: true,
        del_chain: false,
        table_index: NONE,
        nbuckets: 2,
        memory_size: 2 << 20,
        skip_n_vectors: 0,
        match_n_vectors: (mask.len() / 16) as u32,
        next_table_index: NONE,
        miss_next_index: NONE,
        current_data_flag: 0,
        current_data_offset: 0,
        mask,
    }
}

fn session(table_index: u32, matched: Vec<u8>) -> ClassifyAddDelSession {
    ClassifyAddDelSession {
        is_add: true,
        table_index,
        hit_next_index: NONE,
        opaque_index: NONE,
        advance: 0,
        action: ClassifyAction::None,
        metadata: 0,
        r#match: matched,
    }
}

#[suite::test]
fn tables_and_sessions() {
    let rig = routers(1);
    let mut client = rig.bench.api();
    let mut mask = vec![0xff; 32];
    mask[5] = 0;
    let reply = |new_table_index, skip_n_vectors, match_n_vectors| {
        Ok(ClassifyAddDelTableReply { new_table_index, skip_n_vectors, match_n_vectors })
    };
    for (request, want) in [
        (table(vec![]), Err(-7)),
        (table(vec![0xff; 96]), Err(-7)),
        (ClassifyAddDelTable { match_n_vectors: 1, ..table(mask.clone()) }, Err(-7)),
        (ClassifyAddDelTable { match_n_vectors: NONE, ..table(mask.clone()) }, Err(-7)),
        (ClassifyAddDelTable { nbuckets: 0, ..table(mask.clone()) }, Err(-7)),
        (ClassifyAddDelTable { memory_size: 0, ..table(mask.clone()) }, Err(-70)),
        (ClassifyAddDelTable { skip_n_vectors: NONE, ..table(mask.clone()) }, Err(-7)),
        (ClassifyAddDelTable { next_table_index: 3, ..table(mask.clone()) }, Err(-65)),
        (ClassifyAddDelTable { table_index: 3, ..table(mask.clone()) }, Err(-65)),
        (ClassifyAddDelTable { is_add: false, ..table(mask.clone()) }, Err(-65)),
        (
            ClassifyAddDelTable { nbuckets: 100, skip_n_vectors: 2, ..table(mask.clone()) },
            reply(0, 2, 2),
        ),
        (
            ClassifyAddDelTable { next_table_index: 0, miss_next_index: 0, ..table(vec![1; 16]) },
            reply(1, 0, 1),
        ),
        (ClassifyAddDelTable { table_index: 1, nbuckets: 0, ..table(vec![]) }, reply(1, 0, 0)),
    ] {
        assert_eq!(client.call(request), want);
    }
    let info = client.call(ClassifyTableInfo { table_id: 0 });
    let want = ClassifyTableInfoReply {
        table_id: 0,
        nbuckets: 128,
        match_n_vectors: 2,
        skip_n_vectors: 2,
        active_sessions: 0,
        next_table_index: NONE,
        miss_next_index: NONE,
        mask: mask.clone(),
    };
    assert_eq!(info, Ok(want));
    let info = client.call(ClassifyTableInfo { table_id: 1 }).expect("it is there");
    assert_eq!(
        (info.next_table_index, info.miss_next_index),
        (NONE, 0),
        "only the next table changed"
    );
    assert_eq!(client.call(ClassifyTableInfo { table_id: 7 }), Err(-91));
    assert_eq!(client.call(ClassifyTableIds {}).expect("ids").ids, [0, 1]);

    let matched: Vec<u8> = (0..64).collect();
    for (request, want) in [
        (session(7, matched.clone()), Err(-65)),
        (session(0, matched[..63].to_vec()), Err(-7)),
        (session(0, vec![]), Err(-7)),
        (ClassifyAddDelSession { is_add: false, ..session(0, matched.clone()) }, Err(-6)),
        (ClassifyAddDelSession { hit_next_index: 5, ..session(0, matched.clone()) }, Ok(())),
        // The same once more: bytes that the table leaves out, and bits that it doesn't compare.
        (
            {
                let mut same = matched.clone();
                (same[0], same[31], same[37]) = (9, 9, 9);
                ClassifyAddDelSession { opaque_index: 4, advance: -14, ..session(0, same) }
            },
            Ok(()),
        ),
    ] {
        assert_eq!(client.call(request), want);
    }
    let mut key = matched[32..].to_vec();
    key[5] = 0;
    let details = ClassifySessionDetails {
        retval: 0,
        table_id: 0,
        hit_next_index: 65535,
        advance: -14,
        opaque_index: 4,
        r#match: key,
    };
    assert_eq!(client.dump(ClassifySessionDump { table_id: 0 }), [details]);
    assert_eq!(client.dump(ClassifySessionDump { table_id: 9 }), []);
    assert_eq!(client.call(ClassifyTableInfo { table_id: 0 }).expect("info").active_sessions, 1);
    assert_eq!(client.call(ClassifyAddDelSession { is_add: false, ..session(0, matched) }), Ok(()));
    let delete = |table_index| ClassifyAddDelTable { is_add: false, table_index, ..table(vec![]) };
    assert_eq!(client.call(delete(0)), reply(NONE, NONE, NONE));
    assert_eq!(client.call(delete(0)), Err(-65));
    // The lowest free index.
    assert_eq!(client.call(table(vec![1; 16])), reply(0, 0, 1));
}

#[suite::test]
fn tables_are_attached() {
    let rig = routers(2);
    let mut client = rig.bench.api();
    for _ in 0..3 {
        client.call(table(vec![0xff; 16])).expect("made");
    }
    let [p0, p1] = [0, 1].map(|i: usize| InterfaceIndex::from(rig.ports[i]));
    let bad = InterfaceIndex(99);
    let input = |sw_if_index, tables: [u32; 3], is_add| InputAclSetInterface {
        sw_if_index,
        ip4_table_index: tables[0],
        ip6_table_index: tables[1],
        l2_table_index: tables[2],
        is_add,
    };
    for (request, want) in [
        (input(bad, [0, NONE, NONE], true), Err(-2)),
        (input(p0, [9, NONE, NONE], true), Err(-65)),
        (input(p0, [NONE, 9, NONE], true), Err(-66)),
        (input(p0, [NONE, NONE, 9], true), Err(-67)),
        (input(p0, [0, NONE, NONE], false), Err(-65)),
        (input(p0, [0, 1, 2], true), Ok(())),
        (input(p0, [2, NONE, NONE], true), Ok(())),
        (input(p0, [2, NONE, NONE], false), Err(-65)),
        (input(p0, [NONE, 1, NONE], false), Ok(())),
        (input(p0, [NONE, NONE, NONE], true), Ok(())),
    ] {
        assert_eq!(client.call(request), want);
    }
    let by = ClassifyTableByInterfaceReply {
        sw_if_index: p0,
        l2_table_id: 2,
        ip4_table_id: 0,
        ip6_table_id: NONE,
    };
    assert_eq!(client.call(ClassifyTableByInterface { sw_if_index: p0 }), Ok(by));
    assert_eq!(client.call(ClassifyTableByInterface { sw_if_index: bad }), Err(-2));
    let output = |tables: [u32; 3], is_add| OutputAclSetInterface {
        sw_if_index: p1,
        ip4_table_index: tables[0],
        ip6_table_index: tables[1],
        l2_table_index: tables[2],
        is_add,
    };
    assert_eq!(client.call(output([0, NONE, NONE], true)), Ok(()));
    assert_eq!(client.call(output([0, 1, NONE], false)), Err(-66));
    assert_eq!(client.call(output([0, NONE, NONE], false)), Ok(()));

    let punt = |ip4_table_index, ip6_table_index, is_add| PuntAclAddDel {
        ip4_table_index,
        ip6_table_index,
        is_add,
    };
    let get = |want: [u32; 2]| {
        let want = PuntAclGetReply { ip4_table_index: want[0], ip6_table_index: want[1] };
        assert_eq!(rig.bench.api().call(PuntAclGet {}), Ok(want));
    };
    get([NONE, NONE]);
    for (request, want, tables) in [
        (punt(9, NONE, true), Err(-65), [NONE, NONE]),
        (punt(NONE, 9, true), Err(-66), [NONE, NONE]),
        (punt(1, 2, true), Ok(()), [1, 2]),
        (punt(2, NONE, false), Err(-65), [1, 2]),
        (punt(1, NONE, false), Ok(()), [NONE, 2]),
        (punt(NONE, 2, false), Ok(()), [NONE, NONE]),
    ] {
        assert_eq!(client.call(request), want);
        get(tables);
    }
    let l2 = |sw_if_index, tables: [u32; 3]| ClassifySetInterfaceL2Tables {
        sw_if_index,
        ip4_table_index: tables[0],
        ip6_table_index: tables[1],
        other_table_index: tables[2],
        is_input: true,
    };
    for (request, want) in [
        (l2(bad, [0, 1, 2]), Err(-2)),
        (l2(p0, [9, 1, 2]), Err(-65)),
        (l2(p0, [0, 9, 2]), Err(-66)),
        (l2(p0, [0, 1, 9]), Err(-67)),
        (l2(p0, [0, 1, 2]), Ok(())),
        (l2(p0, [NONE; 3]), Ok(())),
    ] {
        assert_eq!(client.call(request), want);
    }
    let ip = |sw_if_index, table_index| ClassifySetInterfaceIpTable {
        is_ipv6: false,
        sw_if_index,
        table_index,
    };
    assert_eq!(client.call(ip(bad, 0)), Err(-2));
    assert_eq!(client.call(ip(p0, 9)), Err(-65));
    assert_eq!(client.call(ip(p0, 0)), Ok(()));
    assert_eq!(client.call(ip(p0, NONE)), Ok(()));
    let unbuilt = PolicerClassifySetInterface {
        sw_if_index: p0,
        ip4_table_index: 0,
        ip6_table_index: NONE,
        l2_table_index: NONE,
        is_add: true,
    };
    assert_eq!(client.call(unbuilt), Err(-9));
    let unbuilt = FlowClassifySetInterface {
        sw_if_index: p0,
        ip4_table_index: 0,
        ip6_table_index: NONE,
        is_add: true,
    };
    assert_eq!(client.call(unbuilt), Err(-9));
}

#[suite::test]
fn filters() {
    let rig = routers(1);
    let mut client = rig.bench.api();
    // One bit, many bits, some bits.
    for mask in [1, 0xff, 0x11] {
        client.call(table(vec![mask; 16])).expect("made");
    }
    let lookup = |skip_n_vectors, mask: Vec<u8>| ClassifyTraceLookupTable {
        skip_n_vectors,
        match_n_vectors: (mask.len() / 16) as u32,
        mask,
    };
    assert_eq!(client.call(lookup(0, vec![1; 16])), Err(-6));
    assert_eq!(client.call(lookup(6, vec![1; 16])), Err(-7));
    assert_eq!(client.call(lookup(0, vec![])), Err(-7));
    assert_eq!(client.call(lookup(0, vec![1; 96])), Err(-7));
    let chain = |table_index, next_table_index| ClassifyAddDelTable {
        table_index,
        next_table_index,
        ..table(vec![])
    };
    client.call(chain(0, 1)).expect("chained");
    client.call(chain(1, 2)).expect("chained");
    let set = |table_index, sort_masks| ClassifyTraceSetTable { table_index, sort_masks };
    assert_eq!(client.call(set(9, false)), Err(-65));
    assert_eq!(client.call(set(0, false)), Ok(ClassifyTraceSetTableReply { table_index: 0 }));
    let tables =
        |rig: &Rig| rig.bench.api().call(ClassifyTraceGetTables {}).expect("tables").indices;
    assert_eq!(tables(&rig), [0, 1, 2]);
    assert_eq!(client.call(set(0, true)), Ok(ClassifyTraceSetTableReply { table_index: 1 }));
    assert_eq!(tables(&rig), [1, 2, 0]);
    let found = client.call(lookup(0, vec![0x11; 16]));
    assert_eq!(found, Ok(ClassifyTraceLookupTableReply { table_index: 2 }));
    assert_eq!(client.call(set(NONE, false)), Ok(ClassifyTraceSetTableReply { table_index: NONE }));
    assert!(tables(&rig).is_empty());

    let p0 = InterfaceIndex::from(rig.ports[0]);
    let set = |sw_if_index, table_index| ClassifyPcapSetTable {
        sw_if_index,
        table_index,
        sort_masks: false,
    };
    assert_eq!(client.call(set(InterfaceIndex(99), 0)), Err(-2));
    assert_eq!(client.call(set(p0, 9)), Err(-65));
    assert_eq!(client.call(set(p0, 2)), Ok(ClassifyPcapSetTableReply { table_index: 2 }));
    assert_eq!(
        client.call(set(InterfaceIndex(0), 0)),
        Ok(ClassifyPcapSetTableReply { table_index: 0 })
    );
    let mut get =
        |sw_if_index| client.call(ClassifyPcapGetTables { sw_if_index }).map(|reply| reply.indices);
    assert_eq!((get(p0), get(InterfaceIndex::NONE)), (Ok(vec![2, 0]), Ok(vec![0])));
    assert_eq!(get(InterfaceIndex(99)), Err(-2));
    let lookup = |sw_if_index| ClassifyPcapLookupTable {
        sw_if_index,
        skip_n_vectors: 0,
        match_n_vectors: 1,
        mask: vec![0x11; 16],
    };
    let found = Ok(ClassifyPcapLookupTableReply { table_index: 2 });
    assert_eq!(
        (client.call(lookup(p0)), client.call(lookup(InterfaceIndex::NONE))),
        (found, Err(-6))
    );
}
