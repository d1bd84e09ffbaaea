// SPDX-License-Identifier: Apache-2.0
//! The `show` commands of MACIP ACLs.

use super::Rule;
use super::control::{MacipAcl, MacipAcls};
use cli::{Matches, Output, Result, Table, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;
use serde_json::{Value, json};
use std::fmt::Write;

fn value(rule: &Rule) -> Value {
    json!({
        "action": rule.action.number(),
        "mac": rule.mac.to_string(),
        "mask": rule.mask.to_string(),
        "network": rule.network.to_string(),
    })
}

/// `show acl-plugin macip acl`.
pub fn acls(w: &World, m: &Matches) -> Result<Output> {
    let all = w.get::<MacipAcls>().list(m.opt("index")?);
    Ok(Output::list(all, |_: &World, (number, acl): (u32, MacipAcl), out: &mut Writer| {
        out.text(|text| {
            let count = acl.rules.len();
            let _ = writeln!(text, "MACIP acl_index: {number}, count: {count} tag {{{}}}", acl.tag);
            for (at, rule) in acl.rules.iter().enumerate() {
                let _ = writeln!(text, "    rule {at}: {rule}");
            }
        });
        out.value(|| {
            let rules: Vec<_> = acl.rules.iter().map(value).collect();
            json!({ "index": number, "tag": acl.tag, "rules": rules })
        });
        Ok(())
    }))
}

/// `show acl-plugin macip interface`.
pub fn interfaces(w: &World, _: &Matches) -> Result<Output> {
    let table = Table::new().left("Interface").right("sw_if_index").right("ACL");
    let all = w.get::<MacipAcls>().interfaces();
    Ok(table.list(all, |w: &World, (sw_if, number): (SwIfIndex, u32), out: &mut Writer| {
        let name = w.get::<Interfaces>().name(sw_if);
        out.row([name.into(), sw_if.0.into(), number.into()]);
        Ok(())
    }))
}
