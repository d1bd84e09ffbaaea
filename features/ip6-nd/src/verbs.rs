// SPDX-License-Identifier: Apache-2.0
//! Verbs that commands and messages have in common.

use crate::ra::{Advertiser, RaPrefix};
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::retval;
use wire::Ip6Prefix;

/// Starts or stops advertising a prefix on an interface.
///
/// # Errors
/// An interface that isn't there (−2) or carries no Ethernet frames (−151); inconsistent lifetimes,
/// a prefix that no host can have, one that isn't advertised (−7).
pub fn set_prefix(
    world: &World,
    sw_if: SwIfIndex,
    prefix: Ip6Prefix,
    new: Option<RaPrefix>,
) -> Result<()> {
    let addr = prefix.addr();
    if addr.is_unicast_link_local() || addr.is_multicast() || prefix.len() == 0 {
        let why = format!("{prefix} is no prefix of a link's hosts");
        return Err(Error::parse(why).retval(retval::INVALID_VALUE));
    }
    world.get::<Advertiser>().change(world, sw_if, |config| match new {
        Some(new) => {
            config.set_prefix(prefix, new);
            Ok(())
        }
        None if config.remove_prefix(prefix) => Ok(()),
        None => {
            Err(Error::not_found(format!("{prefix} is not advertised"))
                .retval(retval::INVALID_VALUE))
        }
    })
}
