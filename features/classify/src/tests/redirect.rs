// SPDX-License-Identifier: Apache-2.0
//! Sessions whose packets take paths of their own.

use super::*;
use crate::redirect::api::*;

/// Packets of `p0` to a host that no route leads to.
fn redirected(v6: bool) -> (Rig, String) {
    let mut rig = routers(3);
    let (version, to) = if v6 { ("ip6", "2001:db8:99::1") } else { ("ip4", "192.0.2.1") };
    rig.cli(&format!("classify table mask l3 {version} dst"));
    rig.cli(&format!("set interface input acl intfc p0 {version}-table 0"));
    (rig, to.into())
}

fn leaves(rig: &mut Rig, v6: bool, to: &str) -> Option<usize> {
    let mut sent = rig.pass_all(0, &[packet(v6, None, to, (5, 9))]);
    // The sender may hear that there is no way.
    sent.retain(|(by, _)| *by != 0);
    let [(by, frame)] = &sent[..] else {
        assert_eq!(sent, []);
        return None;
    };
    assert_eq!(*frame, packet(v6, Some(*by), to, (5, 9)));
    Some(*by)
}

#[suite::test]
fn packets_of_a_session_take_its_paths() {
    for v6 in [false, true] {
        let (mut rig, to) = redirected(v6);
        let version = if v6 { "ip6" } else { "ip4" };
        let session = format!("table 0 match l3 {version} dst {to}");
        assert_eq!(leaves(&mut rig, v6, &to), None);
        let hop = |port: usize| address(v6, port, 2);
        rig.cli(&format!("ip session redirect add {session} via {} p1", hop(1)));
        assert_eq!(leaves(&mut rig, v6, &to), Some(1));
        // The same match once more has other paths.
        rig.cli(&format!("ip session redirect add {session} via {} p2", hop(2)));
        assert_eq!(leaves(&mut rig, v6, &to), Some(2));
        assert_eq!(rig.cli("show ip session redirect").lines().count(), 2);
        assert_eq!(rig.count(&format!("{version}-session-redirect"), "redirected"), 2);
        // IPv4 may take next hops of IPv6 (RFC 8950).
        if !v6 {
            rig.cli(&format!("ip session redirect ip4 {session} via {} p1", address(true, 1, 2)));
            assert_eq!(leaves(&mut rig, v6, &to), Some(1));
        }
        assert_eq!(rig.refused("classify table table 0 del-chain").0, -155);
        rig.cli(&format!("ip session redirect del {session}"));
        assert_eq!(leaves(&mut rig, v6, &to), None);
        assert_eq!(rig.refused(&format!("ip session redirect del {session}")).0, -6);
    }
}

#[suite::test]
fn a_redirect_goes_with_the_interface_of_its_last_path() {
    let (mut rig, to) = redirected(false);
    let session = format!("table 0 match l3 ip4 dst {to}");
    rig.cli(&format!("ip session redirect {session} via 10.0.1.2 p1 via 10.0.2.2 p2"));
    rig.delete_port(1);
    assert_eq!(leaves(&mut rig, false, &to), Some(2));
    rig.delete_port(2);
    assert_eq!(rig.cli("show ip session redirect"), "");
    assert_eq!(leaves(&mut rig, false, &to), None);
}

/// Commands of sessions neither replace nor delete the session of a redirect.
#[suite::test]
fn a_redirect_keeps_its_session() {
    let (mut rig, to) = redirected(false);
    let session = format!("table 0 match l3 ip4 dst {to}");
    rig.cli(&format!("ip session redirect {session} via 10.0.1.2 p1"));
    let plain = format!("classify session table-index 0 match l3 ip4 dst {to}");
    for line in [format!("{plain} opaque-index 7"), format!("{plain} del")] {
        let (_, why) = rig.refused(&line);
        assert!(why.contains("the session is of a redirect"), "{line}: {why}");
    }
    assert_eq!(leaves(&mut rig, false, &to), Some(1));
    rig.cli(&format!("ip session redirect del {session}"));
    rig.cli(&format!("{plain} opaque-index 7"));
}

#[suite::test]
fn clients_set_and_delete_redirects() {
    let (mut rig, to) = redirected(false);
    rig.cli(&format!(
        "ip session redirect table 0 match l3 ip4 dst {to} opaque-index 3 via 10.0.1.2 p1"
    ));
    let mut client = rig.bench.api();
    let [there] = &client.dump(IpSessionRedirectDump { table_index: 0 })[..] else { panic!("one") };
    let (paths, bytes) = (there.paths.clone(), there.r#match);
    assert_eq!((there.opaque_index, there.is_punt, there.is_ip6), (3, false, false));
    let len = there.match_length as u8;
    let add = |table_index, match_len, paths: &[net::api::FibPath]| IpSessionRedirectAdd {
        table_index,
        match_len,
        r#match: bytes,
        opaque_index: 9,
        is_punt: true,
        paths: paths.to_vec(),
    };
    assert_eq!(client.call(add(0, len, &paths)), Ok(()));
    for (request, retval) in
        [(add(7, len, &paths), -65), (add(0, len, &[]), -52), (add(0, 80, &paths), -7)]
    {
        assert_eq!(client.call(request), Err(retval));
    }
    let again = &client.dump(IpSessionRedirectDump { table_index: u32::MAX })[..];
    assert_eq!(
        again.iter().map(|one| (one.opaque_index, one.is_punt)).collect::<Vec<_>>(),
        [(9, true)]
    );
    let del =
        |table_index| IpSessionRedirectDel { table_index, r#match: bytes[..len.into()].to_vec() };
    assert_eq!(client.call(del(0)), Ok(()));
    assert_eq!((client.call(del(0)), client.call(del(5))), (Err(-6), Err(-65)));
    assert_eq!(client.dump(IpSessionRedirectDump { table_index: 0 }).len(), 0);
}
