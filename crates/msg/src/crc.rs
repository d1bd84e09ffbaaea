// SPDX-License-Identifier: Apache-2.0
//! CRCs of messages.

use msg_table::{Field, Multiplicity, Shape, Type};

/// As in the text that a CRC is taken of.
fn canonical(fields: &[Field]) -> String {
    let one = |field: &Field| {
        let (kind, name) = (field.kind.wire_name(), field.name);
        match &field.multiplicity {
            Multiplicity::One => format!("['{kind}', '{name}']"),
            Multiplicity::Fixed(n) => format!("['{kind}', '{name}', {n}, None]"),
            Multiplicity::Counted(count) => format!("['{kind}', '{name}', 0, '{count}']"),
            Multiplicity::Text => format!("['{kind}', '{name}', 0, None]"),
        }
    };
    format!("[{}]", fields.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// The CRC of a message with these fields, as VPP computes it: that of the text of its fields, then
/// of the blocks of their types, from field to field and down.
pub fn crc(fields: &[Field]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(canonical(fields).as_bytes());
    fields.iter().for_each(|f| add_block(&f.kind, &mut crc));
    crc.finalize()
}

fn add_block(kind: &Type, crc: &mut crc32fast::Hasher) {
    match &kind.shape {
        Shape::Scalar | Shape::Text(_) => {}
        Shape::Fixed(of, _) => add_block(of, crc),
        Shape::Alias(_) => crc.update(b"[]"),
        Shape::Enum(_, members) | Shape::Flags(_, members) => {
            let members: Vec<_> =
                members.iter().map(|(name, value)| format!("['{name}', {value}]")).collect();
            crc.update(format!("[{}]", members.join(", ")).as_bytes());
        }
        Shape::Struct(fields) | Shape::Union(fields) => {
            crc.update(canonical(fields).as_bytes());
            fields.iter().for_each(|f| add_block(&f.kind, crc));
        }
    }
}
