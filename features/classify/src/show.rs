// SPDX-License-Identifier: Apache-2.0
//! Output of the show commands.

use crate::control::TableInfo;
use crate::exact::EntryInfo;
use crate::state::{Classifier, Direction, FilterOf, Layer};
use crate::table::{Action, GO_ON, Session};
use crate::words::to_hex;
use cli::{Matches, Output, Result, Writer};
use graph::World;
use net::Interfaces;
use serde_json::json;

/// A table, or a session of it.
enum Item {
    Head(u32),
    Session(u32, u32),
}

/// The number of a next table or node as VPP prints it: −1 for none.
fn signed(number: Option<u32>) -> i64 {
    number.map_or(-1, i64::from)
}

/// The number of a next node, or nothing for one that goes on.
pub fn miss(number: u16) -> Option<u32> {
    (number != GO_ON).then_some(number.into())
}

/// `show classify tables`.
pub fn tables(w: &World, m: &Matches) -> Result<Output> {
    let classifier = w.get::<Classifier>();
    let only = m.opt::<u32>("index")?;
    only.map_or(Ok(()), |index| classifier.table(index).map(drop)).map_err(m.at("index"))?;
    let verbose = m.flag("verbose");
    let all: Vec<u32> = classifier.list().iter().map(|info| info.index).collect();
    let all: Vec<u32> =
        all.into_iter().filter(|index| only.is_none_or(|only| only == *index)).collect();
    if all.is_empty() {
        return Ok(Output::both("No classifier tables configured\n", json!([])));
    }
    let sessions = {
        let classifier = classifier.clone();
        move |index: u32| {
            let bound = classifier.table(index).map_or(0, |info| info.table.sessions.bound());
            (0..if verbose { bound } else { 0 }).map(move |at| Item::Session(index, at))
        }
    };
    let items = all
        .into_iter()
        .flat_map(move |index| std::iter::once(Item::Head(index)).chain(sessions(index)));
    let mut title =
        Some(format!("{:>10}{:>10}{:>10}{:>10}\n", "TableIdx", "Sessions", "NextTbl", "NextNode"));
    Ok(Output::list(items, move |w: &World, item, out: &mut Writer| {
        let classifier = w.get::<Classifier>();
        match item {
            Item::Head(index) => {
                if let Ok(info) = classifier.table(index) {
                    let title = title.take();
                    out.text(|text| *text += &title.unwrap_or_default());
                    head(&info, out);
                }
            }
            Item::Session(index, at) => {
                let session = classifier.session(index, at).zip(classifier.table(index).ok());
                session.into_iter().for_each(|(session, info)| one(&info, at, &session, out));
            }
        }
        Ok(())
    }))
}

fn head(info: &TableInfo, out: &mut Writer) {
    let TableInfo { index, table, buckets, .. } = info;
    let (next, miss, offset) = (signed(table.next), signed(miss(table.miss)), table.offset);
    let (count, mask, vectors) = (table.sessions.len(), to_hex(&info.mask()), table.vectors);
    out.text(|text| {
        *text += &format!("{index:>10}{count:>10}{next:>10}{miss:>10}\n");
        let (flag, offset) = (u8::from(offset.is_some()), offset.unwrap_or(0));
        *text += &format!(
            "  nbuckets {buckets}, skip {} match {vectors} flag {flag} offset {offset}\n",
            table.skip
        );
        *text += &format!("  mask {mask}\n");
    });
    out.value(|| {
        json!({
            "table": index,
            "sessions": count,
            "next_table": table.next,
            "miss_next": crate::show::miss(table.miss),
            "buckets": buckets,
            "skip": table.skip,
            "match": vectors,
            "current_data_offset": offset,
            "mask": mask,
        })
    });
}

fn one(info: &TableInfo, at: u32, session: &EntryInfo<Session>, out: &mut Writer) {
    let EntryInfo { key, value, hits, last_heard } = session;
    let Session { next, opaque, advance, action } = value;
    let (number, metadata) = match action {
        Action::None => (0, 0),
        Action::Fib { v6, id, .. } => (1 + u8::from(*v6), *id),
        Action::Metadata(n) => (3, *n),
        // The forwarding object has another number the next time.
        Action::Redirect(_) => (0, 0),
    };
    let (key, seconds) = (to_hex(&key.bytes(info.table.vectors)), *last_heard as f64 / 1e9);
    out.text(|text| {
        let opaque = *opaque as i32;
        *text += &format!("[{at}]: next_index {next} advance {advance} opaque {opaque} action {number} metadata {metadata}\n");
        *text += &format!("        k: {key}\n");
        *text += &format!("        hits {hits}, last_heard {seconds:.2}\n");
    });
    out.value(|| {
        let kind = match action {
            Action::None => "none",
            Action::Fib { v6: false, .. } => "set-ip4-fib-id",
            Action::Fib { v6: true, .. } => "set-ip6-fib-id",
            Action::Metadata(_) => "set-sr-policy-index",
            Action::Redirect(_) => "redirect",
        };
        json!({
            "table": info.index,
            "session": at,
            "match": key,
            "hit_next": miss(*next),
            "opaque": opaque,
            "advance": advance,
            "action": kind,
            "metadata": metadata,
            "hits": hits,
            "last_heard": seconds,
        })
    });
}

/// `show inacl`, `show outacl`.
pub fn acls(w: &World, m: &Matches, direction: Direction) -> Result<Output> {
    let layer = match () {
        () if m.flag("ip4") => Layer::Ip4,
        () if m.flag("ip6") => Layer::Ip6,
        () => Layer::L2,
    };
    let all: Vec<_> = w.get::<Classifier>().acls();
    let all: Vec<_> =
        all.into_iter().filter(|((d, _, l), _)| *d == direction && *l == layer).collect();
    if all.is_empty() {
        return Ok(Output::both(
            format!("No {} ACL tables configured\n", direction.word()),
            json!([]),
        ));
    }
    let mut title =
        Some(format!("{:>10}{:>20}\t\t{}\n", "Intfc idx", "Classify table", "Interface name"));
    Ok(Output::list(all, move |w: &World, ((_, sw_if, _), table), out: &mut Writer| {
        let name = w.get::<Interfaces>().name(sw_if);
        let title = title.take();
        out.text(|text| {
            *text += &title.unwrap_or_default();
            *text += &format!("{:>10}{table:>20}\t\t{name}\n", sw_if.0);
        });
        out.value(|| json!({ "interface": name, "sw_if_index": sw_if.0, "table": table }));
        Ok(())
    }))
}

/// `show classify filter`.
pub fn filters(w: &World, m: &Matches) -> Result<Output> {
    let verbose = m.flag("verbose");
    let classifier = w.get::<Classifier>();
    let mut all: Vec<_> = classifier.filters().into_iter().map(|(of, _)| of).collect();
    if all.first() != Some(&FilterOf::Trace) {
        all.insert(0, FilterOf::Trace);
    }
    let title = |left, right| format!("{left:<30}{right}\n");
    let mut title =
        Some(title("Filter Used By", " Table(s)") + &title("--------------", " --------"));
    Ok(Output::list(all, move |w: &World, of, out: &mut Writer| {
        let tables = w.get::<Classifier>().filter(of);
        let name = match of {
            FilterOf::Trace => "packet tracer:".to_string(),
            FilterOf::Capture(None) => "pcap rx/tx/drop:".to_string(),
            FilterOf::Capture(Some(sw_if)) => w.get::<Interfaces>().name(sw_if) + ":",
        };
        let title = title.take();
        out.text(|text| {
            *text += &title.unwrap_or_default();
            *text += &format!("{name:<30}");
            match tables.first() {
                None => *text += " first table none",
                Some(first) if !verbose => *text += &format!(" first table {first}"),
                Some(_) => tables.iter().for_each(|table| *text += &format!(" {table}")),
            }
            *text += "\n";
        });
        out.value(|| json!({ "used_by": name.trim_end_matches(':'), "tables": tables }));
        Ok(())
    }))
}
