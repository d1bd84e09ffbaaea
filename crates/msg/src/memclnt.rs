// SPDX-License-Identifier: Apache-2.0
//! The messages of the protocol itself. Their numbers are fixed: clients know some of them by
//! heart.

use crate::table::{Caller, Messages, Module};
use crate::wire::Str;
use crate::{Message, Wire, retval};
use cli::{Error, Result};

/// Logs and returns the error for a client that asks for shared memory.
fn no_shared_memory() -> Error {
    log::info!(target: "api", "a client asked for the shared-memory transport, which isn't served: the socket is");
    Error::unsupported("the shared-memory transport isn't served: use the socket")
        .retval(retval::UNIMPLEMENTED)
}

/// Asks for a connection over shared memory: not served.
#[derive(Message)]
#[msg(head(context), reply)]
pub struct MemclntCreate {
    ctx_quota: i32,
    input_queue: u64,
    name: Str<64>,
    api_versions: [u32; 8],
}

/// Says that there is none.
#[derive(Message)]
#[msg(head(context))]
pub struct MemclntCreateReply {
    response: i32,
    handle: u64,
    index: u32,
    message_table: u64,
}

/// Ends a connection over shared memory: there is none.
#[derive(Message)]
#[msg(head(), reply)]
pub struct MemclntDelete {
    index: u32,
    handle: u64,
    do_cleanup: bool,
}

/// Says so.
#[derive(Message)]
#[msg(head())]
pub struct MemclntDeleteReply {
    response: i32,
    handle: u64,
}

macro_rules! internal {
    ($($name:ident)*) => {$(
        /// Internal to VPP: has its number only.
        #[derive(Message)]
        #[msg(head())]
        pub struct $name {
            dummy: u8,
        }
    )*};
}
internal! { RxThreadExit MemclntRxThreadSuspend MemclntReadTimeout }

/// Internal to VPP: has its number only.
#[derive(Message)]
pub struct RpcCall {
    function: u64,
    multicast: u8,
    need_barrier_sync: u8,
    send_reply: u8,
    #[count(data_len: u32)]
    data: Vec<u8>,
}

/// Internal to VPP: has its number only.
#[derive(Message)]
pub struct RpcCallReply {}

/// Asks for the number of a module's first message.
#[derive(Message)]
#[msg(reply)]
pub struct GetFirstMsgId {
    /// `module_crc`, or the module's name.
    name: Str<64>,
}

/// The number.
#[derive(Message)]
pub struct GetFirstMsgIdReply {
    first_msg_id: u16,
}

/// The version of a module.
#[derive(Wire)]
pub struct ModuleVersion {
    major: u32,
    minor: u32,
    patch: u32,
    name: Str<64>,
}

/// Asks for the versions of all modules.
#[derive(Message)]
#[msg(reply)]
pub struct ApiVersions {}

/// Versions of the modules.
#[derive(Message)]
pub struct ApiVersionsReply {
    #[count(count: u32)]
    api_versions: Vec<ModuleVersion>,
}

/// Internal to VPP: has its number only.
#[derive(Message)]
pub struct TracePluginMsgIds {
    plugin_name: Str<128>,
    first_msg_id: u16,
    last_msg_id: u16,
}

/// A client's first message: its name.
#[derive(Message)]
#[msg(head(context))]
pub struct SockclntCreate {
    pub(crate) name: Str<64>,
}

/// A message's number and name.
#[derive(Wire)]
pub struct MessageTableEntry {
    pub(crate) index: u16,
    pub(crate) name: Str<64>,
}

/// The client's number and the message table.
#[derive(Message)]
#[msg(head(client_index, context))]
pub struct SockclntCreateReply {
    pub(crate) response: i32,
    pub(crate) index: u32,
    #[count(count: u16)]
    pub(crate) message_table: Vec<MessageTableEntry>,
}

/// A client's last message.
#[derive(Message)]
pub struct SockclntDelete {
    pub(crate) index: u32,
}

/// The server closes the connection behind it.
#[derive(Message)]
#[msg(head(context))]
pub struct SockclntDeleteReply {
    pub(crate) response: i32,
}

/// Asks for shared memory beside the socket: not served.
#[derive(Message)]
pub struct SockInitShm {
    requested_size: u32,
    #[count(nitems: u8)]
    configs: Vec<u64>,
}

/// Never sent to clients of the socket; answered all the same.
#[derive(Message)]
pub struct MemclntKeepalive {}

/// Does nothing, in its turn: the answer says that everything before it is done.
#[derive(Message)]
#[msg(reply)]
pub struct ControlPing {}

/// The client's index, and the process id of the server.
#[derive(Message)]
pub struct ControlPingReply {
    client_index: u32,
    vpe_pid: u32,
}

/// Asks for a connection over shared memory: not served.
#[derive(Message)]
#[msg(name = "memclnt_create_v2", head(context), reply)]
pub struct MemclntCreateV2 {
    ctx_quota: i32,
    input_queue: u64,
    name: Str<64>,
    api_versions: [u32; 8],
    #[wire(default = "true")]
    keepalive: bool,
}

/// Says that there is none.
#[derive(Message)]
#[msg(name = "memclnt_create_v2_reply", head(context))]
pub struct MemclntCreateV2Reply {
    response: i32,
    handle: u64,
    index: u32,
    message_table: u64,
}

/// Asks for the description of all messages.
#[derive(Message)]
#[msg(reply)]
pub struct GetApiJson {}

/// All `.api.json` files in one.
#[derive(Message)]
pub struct GetApiJsonReply {
    json: String,
}

/// The module.
pub fn module<W: 'static>() -> Module<W> {
    Module { name: "memclnt", version: "2.1.0", crc: 0xb197_c551, core: true, messages }
}

/// In the published order: numbers 1 to 28.
fn messages<W: 'static>(m: &mut Messages<W>) {
    m.call(|_, _, _: MemclntCreate| {
        let response = no_shared_memory().code();
        Ok(MemclntCreateReply { response, handle: 0, index: 0, message_table: 0 })
    });
    m.call(|_, _, r: MemclntDelete| {
        Ok(MemclntDeleteReply { response: no_shared_memory().code(), handle: r.handle })
    });
    m.unserved::<RxThreadExit>();
    m.unserved::<MemclntRxThreadSuspend>();
    m.unserved::<MemclntReadTimeout>();
    m.unserved::<RpcCall>();
    m.unserved::<RpcCallReply>();
    m.call(first_msg_id);
    m.call(api_versions);
    m.unserved::<TracePluginMsgIds>();
    m.session::<SockclntCreate, SockclntCreateReply>();
    m.session::<SockclntDelete, SockclntDeleteReply>();
    m.call(|_, _, _: SockInitShm| Err(no_shared_memory()));
    m.call(|_, _, _: MemclntKeepalive| Ok(()));
    m.call(|_, caller: &Caller<'_, W>, _: ControlPing| {
        Ok(ControlPingReply { client_index: caller.client, vpe_pid: std::process::id() })
    });
    m.call(|_, _, _: MemclntCreateV2| {
        let response = no_shared_memory().code();
        Ok(MemclntCreateV2Reply { response, handle: 0, index: 0, message_table: 0 })
    });
    m.call(|_, caller: &Caller<'_, W>, _: GetApiJson| {
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
