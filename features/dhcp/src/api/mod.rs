// SPDX-License-Identifier: Apache-2.0
//! Messages of the modules `dhcp`, `dhcp6_ia_na_client_cp` and `dhcp6_pd_client_cp`.

pub mod proxy;
pub mod v4;
pub mod v6;

use cli::{Error, retval};
use graph::World;
use msg::{Caller, Messages, Module};

/// The module of clients and relays.
pub static API: Module<World> = Module::plugin("dhcp", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|_, _: DhcpPluginGetVersion| Ok(DhcpPluginGetVersionReply { major: 1, minor: 0 }));
    m.call_by(|_, caller: &Caller<'_, World>, _: DhcpPluginControlPing| {
        let (client_index, vpe_pid) = (caller.client, std::process::id());
        Ok::<_, Error>(DhcpPluginControlPingReply { client_index, vpe_pid })
    });
    v4::messages(m);
    proxy::messages(m);
    v6::messages(m);
}

msg::messages! {
    /// Asks for the version of this module.
    DhcpPluginGetVersion,
    /// The version.
    DhcpPluginGetVersionReply,
    /// Asks for a reply, after those of earlier requests.
    DhcpPluginControlPing,
    /// The reply.
    DhcpPluginControlPingReply,
}

/// A value that a request can't have.
fn bad_argument(why: impl Into<String>) -> Error {
    Error::parse(why.into()).retval(retval::INVALID_ARGUMENT)
}
