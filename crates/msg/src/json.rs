// SPDX-License-Identifier: Apache-2.0
//! The `.api.json` files that clients read, in VPP's form.

use crate::describe::{Field, Many, Shape, Type};
use crate::table::{Entry, ModuleInfo, Table};
use serde_json::{Map, Value, json};

/// The description of one module, its types included.
pub fn module<W: 'static>(table: &Table<W>, index: usize) -> Value {
    let module = &table.modules()[index];
    let messages: Vec<_> = table.entries().map(|(_, e)| e).filter(|e| e.module == index).collect();
    description(&messages, module)
}

/// All modules, for clients that have no files.
pub fn whole<W: 'static>(table: &Table<W>) -> Value {
    (0..table.modules().len()).map(|index| module(table, index)).collect()
}

fn description<W>(messages: &[&Entry<W>], module: &ModuleInfo) -> Value {
    let mut types = Types::default();
    for field in messages.iter().flat_map(|m| &m.fields) {
        field.kind.visit(&mut |kind| types.add(kind));
    }
    let services: Map<String, Value> = module
        .services
        .iter()
        .map(|s| {
            let mut service = json!({ "reply": s.reply });
            if s.stream {
                service["stream"] = true.into();
            }
            if let Some(details) = s.stream_msg {
                service["stream_msg"] = details.into();
            }
            if !s.events.is_empty() {
                service["events"] = json!(s.events);
            }
            (s.request.to_string(), service)
        })
        .collect();
    json!({
        "types": types.structs,
        "messages": messages.iter().map(|m| message(m)).collect::<Vec<_>>(),
        "unions": types.unions,
        "enums": types.enums,
        "enumflags": types.flags,
        "services": services,
        "options": { "version": module.version },
        "aliases": types.aliases,
        "vl_api_version": format!("{:#010x}", module.crc),
        "imports": [],
        "counters": [],
        "paths": [],
    })
}

fn message<W>(entry: &Entry<W>) -> Value {
    let mut parts = vec![json!(entry.name), json!(["u16", "_vl_msg_id"])];
    parts.extend(entry.fields.iter().map(field));
    parts.push(json!({ "crc": format!("{:#010x}", entry.crc), "options": {}, "comment": entry.doc }));
    Value::Array(parts)
}

fn field(field: &Field) -> Value {
    let mut parts = vec![json!(field.kind.wire_name()), json!(field.name)];
    match &field.many {
        Many::One => {}
        Many::Fixed(n) => parts.push(json!(n)),
        Many::Counted(count) => parts.extend([json!(0), json!(count)]),
        Many::Text => parts.push(json!(0)),
    }
    if let Some(default) = field.default {
        let value = serde_json::from_str(default).unwrap_or_else(|_| json!(default));
        parts.push(json!({ "default": value }));
    }
    Value::Array(parts)
}

/// Named types, each once, those first that others need.
#[derive(Default)]
struct Types {
    known: Vec<&'static str>,
    structs: Vec<Value>,
    unions: Vec<Value>,
    enums: Vec<Value>,
    flags: Vec<Value>,
    aliases: Map<String, Value>,
}

impl Types {
    fn add(&mut self, kind: &Type) {
        if self.known.contains(&kind.name) {
            return;
        }
        self.known.push(kind.name);
        let listed = |fields: &[Field]| {
            let mut parts = vec![json!(kind.name)];
            parts.extend(fields.iter().map(field));
            Value::Array(parts)
        };
        let members = |base: &str, members: &[(&str, u32)]| {
            let mut parts = vec![json!(kind.name)];
            parts.extend(members.iter().map(|(name, value)| json!([name, value])));
            parts.push(json!({ "enumtype": base }));
            Value::Array(parts)
        };
        match &kind.shape {
            Shape::Struct(fields) => self.structs.push(listed(fields)),
            Shape::Union(arms) => self.unions.push(listed(arms)),
            Shape::Enum(base, all) => self.enums.push(members(base, all)),
            Shape::Flags(base, all) => self.flags.push(members(base, all)),
            Shape::Alias(of) => {
                let mut alias = json!({ "type": of.wire_name() });
                if let Shape::Fixed(_, n) = of.shape {
                    alias["length"] = n.into();
                }
                self.aliases.insert(kind.name.to_string(), alias);
            }
            Shape::Scalar | Shape::Text(_) | Shape::Fixed(..) => {}
        }
    }
}
