// SPDX-License-Identifier: Apache-2.0
//! Tables and sessions.

use crate::control::{ActionConfig, SessionConfig, TableConfig};
use crate::key::{MAX_VECTORS, VECTOR};
use crate::show::miss;
use crate::state::Classifier;
use cli::{Error, Result};
use graph::World;
use msg::{Messages, retval};
use net::api::given;

pub fn messages(m: &mut Messages<World>) {
    m.call(add_del_table);
    m.call(add_del_session);
    m.call(|w, _: ClassifyTableIds| {
        Ok(w.get::<Classifier>().list().iter().map(|info| info.index).collect::<Vec<_>>())
    });
    m.call(info);
    m.dump(dump);
}

msg::messages! {
    /// Makes a table, sets the table that is asked behind it, or deletes it.
    ClassifyAddDelTable,
    /// The index and the sizes of the table.
    ClassifyAddDelTableReply,
    /// The additional action on packets of a session.
    ClassifyAction,
    /// Sets a session, or deletes it.
    ClassifyAddDelSession,
    /// Asks for the indices of all tables.
    ClassifyTableIds,
    /// The indices of all tables.
    ClassifyTableIdsReply,
    /// Asks for a table.
    ClassifyTableInfo,
    /// One table: its mask, sizes and chain.
    ClassifyTableInfoReply,
    /// Asks for the sessions of a table.
    ClassifySessionDump,
    /// A session.
    ClassifySessionDetails,
}

fn add_del_table(w: &World, r: ClassifyAddDelTable) -> Result<ClassifyAddDelTableReply> {
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

fn add_del_session(w: &World, r: ClassifyAddDelSession) -> Result<()> {
    let classifier = w.get::<Classifier>();
    if !r.is_add {
        return classifier.delete_session(w, r.table_index, &r.r#match);
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
    classifier.add_session(w, r.table_index, &r.r#match, config)
}

fn info(w: &World, r: ClassifyTableInfo) -> Result<ClassifyTableInfoReply> {
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

fn dump(
    w: &World,
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
            r#match: session.key.bytes(vectors),
        })
    }))
}
