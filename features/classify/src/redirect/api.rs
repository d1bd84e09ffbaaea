// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `ip_session_redirect`.

use super::control::{MATCH, Redirect, Redirects};
use cli::{Error, Result, retval};
use graph::World;
use msg::{Messages, Module};
use net::api::{FibPath, FibPathNhProto, path_of, path_to};
use net::{Link, RouteTables};

/// Messages of this feature, under the module name that clients ask for.
pub static API: Module<World> = Module::plugin("ip_session_redirect", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: IpSessionRedirectAdd| {
        let proto = r.paths.first().map_or(FibPathNhProto::Ip4, |path| path.proto);
        let given = Given { opaque: r.opaque_index, is_punt: r.is_punt, proto };
        set(w, r.table_index, given, bytes(&r.r#match, r.match_len)?, &r.paths)
    });
    m.call(|w, r: IpSessionRedirectAddV2| {
        let given = Given { opaque: r.opaque_index, is_punt: r.is_punt, proto: r.proto };
        set(w, r.table_index, given, bytes(&r.r#match, r.match_len)?, &r.paths)
    });
    m.call(|w, r: IpSessionRedirectDel| w.get::<Redirects>().delete(w, r.table_index, &r.r#match));
    m.dump(|w, r: IpSessionRedirectDump| {
        let all = w.get::<Redirects>().list().into_iter();
        let chosen = all.filter(|(table, _)| [*table, u32::MAX].contains(&r.table_index));
        Ok(chosen.map(|(table, redirect)| details(w, table, redirect)).collect::<Vec<_>>())
    });
}

msg::messages! {
    /// Sends packets of a session by paths of their own.
    IpSessionRedirectAdd,
    /// The same, for packets of a protocol that needn't be that of the next hops.
    IpSessionRedirectAddV2,
    /// Ends that.
    IpSessionRedirectDel,
    /// Asks for the redirects of a table, or of all.
    IpSessionRedirectDump,
    /// A redirect.
    IpSessionRedirectDetails,
}

/// The part of a request beside match and paths.
struct Given {
    opaque: u32,
    is_punt: bool,
    proto: FibPathNhProto,
}

fn bytes(all: &[u8], len: u8) -> Result<Vec<u8>> {
    let bytes = all.get(..len.into()).ok_or_else(|| {
        let why = format!("a match of {len} bytes in a message that has room for {MATCH}");
        Error::parse(why).retval(retval::INVALID_VALUE)
    })?;
    Ok(bytes.to_vec())
}

fn set(w: &World, table: u32, given: Given, matched: Vec<u8>, paths: &[FibPath]) -> Result<()> {
    if paths.is_empty() {
        let why = "a redirect needs a path";
        return Err(Error::parse(why).retval(retval::NO_PATHS_IN_ROUTE));
    }
    let v6 = match given.proto {
        FibPathNhProto::Ip4 => false,
        FibPathNhProto::Ip6 => true,
        _ => {
            let why = "expected packets of IPv4 or IPv6";
            return Err(Error::parse(why).retval(retval::INVALID_ADDRESS_FAMILY));
        }
    };
    let link = if v6 { Link::IP6 } else { Link::IP4 };
    let paths = paths.iter().map(|path| path_of(w, link, path)).collect::<Result<_>>()?;
    let Given { opaque, is_punt, .. } = given;
    let redirect = Redirect { opaque, is_punt, v6, matched, paths };
    w.get::<Redirects>().set(w, table, redirect)
}

fn details(w: &World, table_index: u32, redirect: Redirect) -> IpSessionRedirectDetails {
    let Redirect { opaque, is_punt, v6, matched, paths } = redirect;
    let link = if v6 { Link::IP6 } else { Link::IP4 };
    let tables = w.get::<RouteTables>();
    let mut bytes = [0; MATCH];
    bytes.iter_mut().zip(&matched).for_each(|(to, from)| *to = *from);
    IpSessionRedirectDetails {
        retval: 0,
        table_index,
        opaque_index: opaque,
        is_punt,
        is_ip6: v6,
        match_length: matched.len() as u32,
        r#match: bytes,
        paths: paths.iter().map(|path| path_to(&tables, link, path)).collect(),
    }
}
