// SPDX-License-Identifier: Apache-2.0
//! Tables and sessions.

use super::given;
use crate::control::{ActionConfig, SessionConfig, TableConfig};
use crate::key::{MAX_VECTORS, VECTOR};
use crate::show::miss;
use crate::state::Classifier;
use cli::{Error, Result};
use graph::World;
use msg::{Caller, Message, Messages, Wire, retval};

pub fn messages(m: &mut Messages<World>) {
    m.call(add_del_table);
    m.call(add_del_session);
    m.call(|w: &World, _: &Caller<'_, World>, _: ClassifyTableIds| {
        let ids: Vec<u32> = w.get::<Classifier>().list().iter().map(|info| info.index).collect();
        Ok(ClassifyTableIdsReply { ids })
    });
    m.call(info);
    m.dump(dump);
}

/// Makes a table, sets the table that is asked behind it, or deletes it.
#[derive(Message)]
#[msg(reply)]
pub struct ClassifyAddDelTable {
    /// Make or change, not delete.
    pub is_add: bool,
    /// With the tables behind it, when it is deleted.
    pub del_chain: bool,
    /// The table; all bits set for a new one. Of one that is there only `next_table_index`
    /// changes.
    #[wire(default = "4294967295")]
    pub table_index: u32,
    /// Accepted, and reported up to a power of 2: tables grow.
    #[wire(default = "2")]
    pub nbuckets: u32,
    /// Accepted unless it is 0: tables grow.
    #[wire(default = "2097152")]
    pub memory_size: u32,
    /// Vectors of 16 bytes that are left out in front.
    #[wire(default = "0")]
    pub skip_n_vectors: u32,
    /// Vectors that are compared: 1 to 5.
    #[wire(default = "1")]
    pub match_n_vectors: u32,
    /// The table that is asked when no session matches; all bits set for none.
    #[wire(default = "4294967295")]
    pub next_table_index: u32,
    /// The number of the next node of packets without session: 0 drops, all bits set goes on.
    #[wire(default = "4294967295")]
    pub miss_next_index: u32,
    /// The first vector begins at an offset from the packet's current header, not where packets
    /// begin.
    #[wire(default = "0")]
    pub current_data_flag: u8,
    /// That offset.
    #[wire(default = "0")]
    pub current_data_offset: i16,
    /// The bits that are compared: 16 bytes for each vector.
    #[count(mask_len: u32)]
    pub mask: Vec<u8>,
}

/// The table.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct ClassifyAddDelTableReply {
    /// Its index; all bits set for one that was deleted.
    pub new_table_index: u32,
    /// Vectors that are left out.
    pub skip_n_vectors: u32,
    /// Vectors that are compared.
    pub match_n_vectors: u32,
}

fn add_del_table(
    w: &World,
    _: &Caller<'_, World>,
    r: ClassifyAddDelTable,
) -> Result<ClassifyAddDelTableReply> {
    let classifier = w.get::<Classifier>();
    let reply = |new_table_index, skip_n_vectors, match_n_vectors| ClassifyAddDelTableReply {
        new_table_index,
        skip_n_vectors,
        match_n_vectors,
    };
    if !r.is_add {
        classifier.delete_table(w, r.table_index, r.del_chain)?;
        return Ok(reply(u32::MAX, u32::MAX, u32::MAX));
    }
    let (skip, vectors) = (r.skip_n_vectors, r.match_n_vectors);
    let next = given(r.next_table_index);
    if let Some(index) = given(r.table_index) {
        classifier.set_next(w, index, next)?;
        return Ok(reply(index, skip, vectors));
    }
    if r.mask.len() != vectors as usize * VECTOR || vectors as usize > MAX_VECTORS {
        let why = format!("{vectors} vectors, and a mask of {} bytes", r.mask.len());
        return Err(Error::parse(why).retval(retval::INVALID_VALUE));
    }
    if r.memory_size == 0 {
        return Err(Error::parse("a table needs memory").retval(retval::INVALID_MEMORY_SIZE));
    }
    let config = TableConfig {
        mask: r.mask,
        skip,
        buckets: r.nbuckets,
        next,
        miss: r.miss_next_index,
        offset: (r.current_data_flag == 1).then_some(r.current_data_offset),
    };
    let index = classifier.add_table(w, &config, None)?;
    Ok(reply(index, skip, vectors))
}

/// The additional action on packets of a session.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
#[wire(prefix = "CLASSIFY_API_ACTION_")]
pub enum ClassifyAction {
    /// Nothing.
    #[default]
    None = 0,
    /// IPv4 packets are looked up in another table.
    SetIp4FibIndex = 1,
    /// IPv6 packets are looked up in another table.
    SetIp6FibIndex = 2,
    /// Packets keep a number.
    SetMetadata = 3,
}

/// Sets a session, or deletes it.
#[derive(Message)]
pub struct ClassifyAddDelSession {
    /// Set, not delete.
    pub is_add: bool,
    /// The table.
    pub table_index: u32,
    /// The number of the next node: 0 drops, all bits set goes on.
    #[wire(default = "4294967295")]
    pub hit_next_index: u32,
    /// A number that packets keep.
    #[wire(default = "4294967295")]
    pub opaque_index: u32,
    /// Bytes by which the start of the packet moves forward, or back if negative.
    #[wire(default = "0")]
    pub advance: i32,
    /// Additional action.
    #[wire(default = "0")]
    pub action: ClassifyAction,
    /// The id of the table of routes, or the number that packets keep.
    #[wire(default = "0")]
    pub metadata: u32,
    /// Bytes to match: 16 for each vector, skipped vectors included.
    #[count(match_len: u32)]
    #[wire(name = "match")]
    pub matched: Vec<u8>,
}

fn add_del_session(w: &World, _: &Caller<'_, World>, r: ClassifyAddDelSession) -> Result<()> {
    let classifier = w.get::<Classifier>();
    if !r.is_add {
        return classifier.delete_session(w, r.table_index, &r.matched);
    }
    let action = match r.action {
        ClassifyAction::None => ActionConfig::None,
        ClassifyAction::SetIp4FibIndex => ActionConfig::Fib(false, r.metadata),
        ClassifyAction::SetIp6FibIndex => ActionConfig::Fib(true, r.metadata),
        ClassifyAction::SetMetadata => ActionConfig::Metadata(r.metadata),
    };
    let config = SessionConfig {
        next: r.hit_next_index,
        opaque: r.opaque_index,
        advance: r.advance,
        action,
    };
    classifier.add_session(w, r.table_index, &r.matched, config)
}

/// Asks for the indices of all tables.
#[derive(Message)]
#[msg(reply)]
pub struct ClassifyTableIds {}

/// The indices of all tables.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct ClassifyTableIdsReply {
    /// The indices.
    #[count(count: u32)]
    pub ids: Vec<u32>,
}

/// Asks for a table.
#[derive(Message)]
#[msg(reply)]
pub struct ClassifyTableInfo {
    /// Its index.
    pub table_id: u32,
}

/// A table.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct ClassifyTableInfoReply {
    /// Its index.
    pub table_id: u32,
    /// Buckets that were asked for, up to a power of 2.
    pub nbuckets: u32,
    /// Vectors that are compared.
    pub match_n_vectors: u32,
    /// Vectors that are left out.
    pub skip_n_vectors: u32,
    /// Number of its sessions.
    pub active_sessions: u32,
    /// The table that is looked up when no session matches, or all bits set.
    pub next_table_index: u32,
    /// The number of the next node of packets without session, or all bits set.
    pub miss_next_index: u32,
    /// The bits that are compared.
    #[count(mask_length: u32)]
    pub mask: Vec<u8>,
}

fn info(w: &World, _: &Caller<'_, World>, r: ClassifyTableInfo) -> Result<ClassifyTableInfoReply> {
    let found = w.get::<Classifier>().table(r.table_id);
    let info = found.map_err(|e| e.retval(retval::CLASSIFY_TABLE_NOT_FOUND))?;
    let table = &info.table;
    Ok(ClassifyTableInfoReply {
        table_id: r.table_id,
        nbuckets: info.buckets,
        match_n_vectors: table.vectors as u32,
        skip_n_vectors: table.skip,
        active_sessions: table.sessions.len() as u32,
        next_table_index: table.next.unwrap_or(u32::MAX),
        miss_next_index: miss(table.miss).unwrap_or(u32::MAX),
        mask: info.mask(),
    })
}

/// Asks for the sessions of a table.
#[derive(Message)]
#[msg(details = ClassifySessionDetails)]
pub struct ClassifySessionDump {
    /// The table.
    pub table_id: u32,
}

/// A session.
#[derive(Message, Debug, PartialEq, Eq)]
#[msg(head(context))]
pub struct ClassifySessionDetails {
    /// 0.
    pub retval: i32,
    /// The table.
    pub table_id: u32,
    /// The number of the next node; 65535 goes on.
    pub hit_next_index: u32,
    /// Bytes by which the start of the packet moves forward, or back if negative.
    pub advance: i32,
    /// A number that packets keep.
    pub opaque_index: u32,
    /// The bytes that match, without the table's skipped vectors.
    #[count(match_length: u32)]
    #[wire(name = "match")]
    pub matched: Vec<u8>,
}

fn dump(
    w: &World,
    _: &Caller<'_, World>,
    r: ClassifySessionDump,
) -> Result<impl Iterator<Item = ClassifySessionDetails> + use<>> {
    let classifier = w.get::<Classifier>();
    let info = classifier.table(r.table_id).ok();
    let (bound, vectors) =
        info.map_or((0, 0), |info| (info.table.sessions.bound(), info.table.vectors));
    Ok((0..bound).filter_map(move |at| {
        let session = classifier.session(r.table_id, at)?;
        Some(ClassifySessionDetails {
            retval: 0,
            table_id: r.table_id,
            hit_next_index: session.value.next.into(),
            advance: session.value.advance,
            opaque_index: session.value.opaque,
            matched: session.key.bytes(vectors),
        })
    }))
}
