// SPDX-License-Identifier: Apache-2.0
//! The `.api.json` files that clients read, in VPP's form.

use crate::table::{Entry, ModuleInfo, Table};
use msg_table::{Field, Multiplicity, Service, Shape, Type, tables};
use serde_json::{Map, Value, json};

/// Types that VPP describes in files of their own, which others import: generators of bindings make
/// a package of each.
const SHARED: [(&str, &[&str]); 7] = [
    ("ethernet_types", &["mac_address"]),
    (
        "fib_types",
        &[
            "fib_mpls_label",
            "fib_path",
            "fib_path_flags",
            "fib_path_nh",
            "fib_path_nh_proto",
            "fib_path_type",
        ],
    ),
    (
        "interface_types",
        &[
            "direction",
            "if_status_flags",
            "if_type",
            "interface_index",
            "link_duplex",
            "mtu_proto",
            "rx_mode",
            "sub_if_flags",
        ],
    ),
    (
        "ip_types",
        &[
            "address",
            "address_family",
            "address_union",
            "address_with_prefix",
            "ip4_address",
            "ip4_address_and_mask",
            "ip4_address_with_prefix",
            "ip4_prefix",
            "ip6_address",
            "ip6_address_and_mask",
            "ip6_address_with_prefix",
            "ip6_prefix",
            "ip_dscp",
            "ip_ecn",
            "ip_feature_location",
            "ip_proto",
            "mprefix",
            "prefix",
            "prefix_matcher",
        ],
    ),
    ("nat_types", &["nat_config_flags", "nat_log_level", "nat_timeouts"]),
    ("tunnel_types", &["tunnel", "tunnel_encap_decap_flags", "tunnel_flags", "tunnel_mode"]),
    ("vpe_types", &["log_level", "timedelta", "timestamp", "version"]),
];

/// The description of one module, the types that it imports included.
pub fn module<W: 'static>(table: &Table<W>, index: usize) -> Value {
    let module = &table.modules()[index];
    let messages: Vec<_> = table.entries().map(|(_, e)| e).filter(|e| e.module == index).collect();
    let types = Types::of(messages.iter().flat_map(|m| &m.fields).map(|field| &field.kind));
    let mut json = description(module.name, module.version, module.crc, types);
    json["messages"] = messages.iter().map(|m| message(m)).collect();
    json["services"] = services(module).into();
    json
}

/// All modules, for clients that have no files.
pub fn whole<W: 'static>(table: &Table<W>) -> Value {
    (0..table.modules().len()).map(|index| module(table, index)).collect()
}

/// The modules that others import: modules of types alone, by name.
pub fn shared<W: 'static>(table: &Table<W>) -> Vec<(&'static str, Value)> {
    let describe = |(name, types): &(&'static str, &[&str])| {
        let mut found = Vec::new();
        for field in table.entries().flat_map(|(_, e)| &e.fields) {
            field.kind.visit(&mut |kind| found.extend(types.contains(&kind.name).then_some(kind)));
        }
        let module = tables().module(name).cloned().unwrap_or_default();
        (*name, description(name, module.version, module.crc, Types::of(found)))
    };
    SHARED.iter().map(describe).collect()
}

fn description(name: &str, version: &str, crc: u32, types: Types) -> Value {
    let imports = SHARED
        .iter()
        .filter(|(home, all)| *home != name && types.known.iter().any(|t| all.contains(t)));
    json!({
        "types": types.structs,
        "messages": [],
        "unions": types.unions,
        "enums": types.enums,
        "enumflags": types.flags,
        "services": {},
        "options": { "version": version },
        "aliases": types.aliases,
        "vl_api_version": format!("{crc:#010x}"),
        "imports": imports.map(|(home, _)| format!("vnet/{home}.api")).collect::<Vec<_>>(),
        "counters": [],
        "paths": [],
    })
}

fn services(module: &ModuleInfo) -> Map<String, Value> {
    let service = |s: &Service| {
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
    };
    module.services.iter().map(service).collect()
}

fn message<W>(entry: &Entry<W>) -> Value {
    let mut parts = vec![json!(entry.name), json!(["u16", "_vl_msg_id"])];
    parts.extend(entry.fields.iter().map(field));
    parts.push(
        json!({ "crc": format!("{:#010x}", entry.crc), "options": {}, "comment": entry.doc }),
    );
    Value::Array(parts)
}

fn field(field: &Field) -> Value {
    let mut parts = vec![json!(field.kind.wire_name()), json!(field.name)];
    match &field.multiplicity {
        Multiplicity::One => {}
        Multiplicity::Fixed(n) => parts.push(json!(n)),
        Multiplicity::Counted(count) => parts.extend([json!(0), json!(count)]),
        Multiplicity::Text => parts.push(json!(0)),
    }
    if let Some(default) = field.default {
        // VPP's files have `true` as text, `false` and numbers as such.
        let value = match default {
            "true" => json!(default),
            _ => serde_json::from_str(default).unwrap_or_else(|_| json!(default)),
        };
        parts.push(json!({ "default": value }));
    }
    Value::Array(parts)
}

/// Named types, each once, dependencies first.
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
    /// These, and what they are made of.
    fn of<'a>(kinds: impl IntoIterator<Item = &'a Type>) -> Types {
        let mut types = Types::default();
        kinds.into_iter().for_each(|kind| kind.visit(&mut |part| types.add(part)));
        types
    }

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
