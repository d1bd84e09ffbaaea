// SPDX-License-Identifier: Apache-2.0
//! The messages of the protocol itself. Their numbers are fixed: clients know some of them by
//! heart.

use crate::retval;
use crate::table::{Caller, Messages, Module};
use cli::{Error, Result};

/// Logs and returns the error for a client that asks for shared memory.
fn no_shared_memory() -> Error {
    log::info!(target: "api", "a client asked for the shared-memory transport, which isn't served: the socket is");
    Error::unsupported("the shared-memory transport isn't served: use the socket")
        .retval(retval::UNIMPLEMENTED)
}

msg::messages! {
    /// Asks for a connection over shared memory: not served.
    MemclntCreate,
    /// Says that there is none.
    MemclntCreateReply,
    /// Ends a connection over shared memory: there is none.
    MemclntDelete,
    /// Says so.
    MemclntDeleteReply,
    /// Internal to VPP: has its number only.
    RxThreadExit,
    /// Internal to VPP: has its number only.
    MemclntRxThreadSuspend,
    /// Internal to VPP: has its number only.
    MemclntReadTimeout,
    /// Internal to VPP: has its number only.
    RpcCall,
    /// Internal to VPP: has its number only.
    RpcCallReply,
    /// Asks for the number of a module's first message.
    GetFirstMsgId,
    /// The number.
    GetFirstMsgIdReply,
    /// The version of a module.
    ModuleVersion,
    /// Asks for the versions of all modules.
    ApiVersions,
    /// Versions of the modules.
    ApiVersionsReply,
    /// Internal to VPP: has its number only.
    TracePluginMsgIds,
    /// A client's first message: its name.
    SockclntCreate,
    /// A message's number and name.
    MessageTableEntry,
    /// The client's number and the message table.
    SockclntCreateReply,
    /// A client's last message.
    SockclntDelete,
    /// The server closes the connection behind it.
    SockclntDeleteReply,
    /// Asks for shared memory beside the socket: not served.
    SockInitShm,
    /// Never sent to clients of the socket; answered all the same.
    MemclntKeepalive,
    /// Does nothing, in its turn: the answer says that everything before it is done.
    ControlPing,
    /// The client's index, and the process id of the server.
    ControlPingReply,
    /// Asks for a connection over shared memory: not served.
    MemclntCreateV2,
    /// Says that there is none.
    MemclntCreateV2Reply,
    /// Asks for the description of all messages.
    GetApiJson,
    /// All `.api.json` files in one.
    GetApiJsonReply,
}

/// The module.
pub fn module<W: 'static>() -> Module<W> {
    Module::core("memclnt", messages)
}

/// In the published order: numbers 1 to 28.
fn messages<W: 'static>(m: &mut Messages<W>) {
    m.call(|_, _: MemclntCreate| {
        let response = no_shared_memory().code();
        Ok(MemclntCreateReply { response, handle: 0, index: 0, message_table: 0 })
    });
    m.call(|_, r: MemclntDelete| {
        Ok(MemclntDeleteReply { response: no_shared_memory().code(), handle: r.handle })
    });
    m.unserved::<RxThreadExit>();
    m.unserved::<MemclntRxThreadSuspend>();
    m.unserved::<MemclntReadTimeout>();
    m.unserved::<RpcCall>();
    m.unserved::<RpcCallReply>();
    m.call_by(first_msg_id);
    m.call_by(api_versions);
    m.unserved::<TracePluginMsgIds>();
    m.session::<SockclntCreate>();
    m.session::<SockclntDelete>();
    m.call(|_, _: SockInitShm| Err::<(), _>(no_shared_memory()));
    m.call(|_, _: MemclntKeepalive| Ok(()));
    m.call_by(|_, caller, _: ControlPing| {
        Ok(ControlPingReply { client_index: caller.client, vpe_pid: std::process::id() })
    });
    m.call(|_, _: MemclntCreateV2| {
        let response = no_shared_memory().code();
        Ok(MemclntCreateV2Reply { response, handle: 0, index: 0, message_table: 0 })
    });
    m.call_by(|_, caller, _: GetApiJson| {
        Ok(GetApiJsonReply { json: caller.hub.description().into() })
    });
}

fn first_msg_id<W>(_: &W, caller: &Caller<'_, W>, r: GetFirstMsgId) -> Result<GetFirstMsgIdReply> {
    let name = r.name.as_str();
    let module = caller.hub.table().modules().iter().find(|m| {
        m.name == name
            || name.strip_prefix(m.name).is_some_and(|crc| crc == format!("_{:08x}", m.crc))
    });
    let module = module.ok_or_else(|| {
        Error::not_found(format!("no module is named {name}")).retval(retval::NO_SUCH_ENTRY)
    })?;
    Ok(GetFirstMsgIdReply { first_msg_id: module.first })
}

fn api_versions<W>(_: &W, caller: &Caller<'_, W>, _: ApiVersions) -> Result<ApiVersionsReply> {
    let version = |m: &crate::ModuleInfo| {
        let mut parts = m.version.split('.').map(|n| n.parse().unwrap_or(0));
        let mut next = || parts.next().unwrap_or(0);
        ModuleVersion {
            major: next(),
            minor: next(),
            patch: next(),
            name: format!("{}.api", m.name).into(),
        }
    };
    Ok(ApiVersionsReply {
        api_versions: caller.hub.table().modules().iter().map(version).collect(),
    })
}
