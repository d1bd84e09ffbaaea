// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `dslite`.

use super::*;
use crate::api::*;
use net::api::{Ip4Address, Ip6Address};
use std::cell::RefCell;

#[suite::test]
fn messages_of_an_aftr() {
    let mut rig = router(&[]);
    {
        let client = RefCell::new(rig.bench.api());
        let range = |first: [u8; 4], last: [u8; 4], is_add| {
            let (start_addr, end_addr) = (Ip4Address(first), Ip4Address(last));
            client.borrow_mut().call(DsliteAddDelPoolAddrRange { start_addr, end_addr, is_add })
        };
        range([192, 0, 2, 1], [192, 0, 2, 4], true).expect("added");
        assert_eq!(range([192, 0, 2, 4], [192, 0, 2, 5], true), Err(-81));
        assert_eq!(range([192, 0, 2, 4], [192, 0, 2, 5], false), Err(-6));
        assert_eq!(range([192, 0, 2, 5], [192, 0, 2, 4], true), Err(-7));
        range([192, 0, 2, 2], [192, 0, 2, 3], false).expect("removed");
        let all = client.borrow_mut().dump(DsliteAddressDump {});
        let all: Vec<_> = all.into_iter().map(|address| address.ip_address.0[3]).collect();
        assert_eq!(all, [1, 4]);
        let ip4_addr = Ip4Address([192, 0, 0, 1]);
        let ip6_addr = |text: &str| Ip6Address(addr6(text).octets());
        let set = DsliteSetAftrAddr { ip4_addr, ip6_addr: ip6_addr("2001:db8:85a3::1") };
        client.borrow_mut().call(set).expect("set");
        let got = client.borrow_mut().call(DsliteGetAftrAddr {}).expect("there");
        assert_eq!(
            (got.ip4_addr.0, got.ip6_addr.0),
            ([192, 0, 0, 1], ip6_addr("2001:db8:85a3::1").0)
        );
        let group =
            DsliteSetAftrAddr { ip4_addr: Ip4Address([0; 4]), ip6_addr: ip6_addr("ff02::1") };
        assert_eq!(client.borrow_mut().call(group), Err(-7));
        let set =
            DsliteSetB4Addr { ip4_addr: Ip4Address([0; 4]), ip6_addr: ip6_addr("2001:db8::1") };
        assert_eq!(client.borrow_mut().call(set), Err(-30));
        assert_eq!(client.borrow_mut().call(DsliteGetB4Addr {}).map(|_| ()), Err(-30));
    }
    assert_eq!(rig.cli("show dslite pool"), "DS-Lite pool:\n192.0.2.1\n192.0.2.4\n");
    assert_eq!(rig.cli("show dslite b4-tunnel-endpoint-address"), "none\n");
}
