// SPDX-License-Identifier: Apache-2.0
//! A message's bytes from JSON, by its description: what [`show`](crate::show) writes, and VPP's
//! tools.

use msg_table::{Field, Multiplicity, Shape, Type};
use serde_json::{Map, Value};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The reason why JSON is no message: the field's path, and what was expected.
type Fault = String;

/// The bytes of fields. What a client's library fills in may be missing: `client_index`, `context`,
/// and counts.
///
/// # Errors
/// A field that is missing, or holds what its type doesn't.
pub fn fields(all: &[Field], object: &Map<String, Value>) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    put_fields(all, object, &mut out)?;
    Ok(out)
}

fn put_fields(all: &[Field], object: &Map<String, Value>, out: &mut Vec<u8>) -> Result<(), Fault> {
    for field in all {
        let name = field.name;
        let counted = |f: &&Field| f.multiplicity == Multiplicity::Counted(name);
        let implied = all.iter().find(counted).and_then(|f| Some(elements(object.get(f.name)?)));
        let value = match (object.get(name), implied, name) {
            (_, Some(n), _) => Value::from(n),
            (Some(value), ..) => value.clone(),
            (None, _, "client_index" | "context") => Value::from(0),
            (None, ..) => return Err(format!("{name} is missing")),
        };
        let put = match &field.multiplicity {
            Multiplicity::One => put(&field.kind, &value, out),
            Multiplicity::Text => put_text(&value, out),
            Multiplicity::Fixed(n) => put_several(&field.kind, Some(*n), &value, out),
            Multiplicity::Counted(_) => put_several(&field.kind, None, &value, out),
        };
        put.map_err(|fault| format!("{name}: {fault}"))?;
    }
    Ok(())
}

/// Number of elements of an array, or of bytes in a text of hexadecimal digits.
fn elements(value: &Value) -> usize {
    match value {
        Value::Array(all) => all.len(),
        Value::String(text) => text.strip_prefix("0x").unwrap_or(text).len() / 2,
        _ => 0,
    }
}

fn put_text(value: &Value, out: &mut Vec<u8>) -> Result<(), Fault> {
    let text = value.as_str().ok_or("expected text")?;
    out.extend((text.len() as u32).to_be_bytes());
    out.extend(text.as_bytes());
    Ok(())
}

fn put_several(
    kind: &Type,
    n: Option<usize>,
    value: &Value,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    if let (Shape::Text(_), Some(n)) = (&kind.shape, n) {
        return put_fixed_text(n, value, out);
    }
    if let (Shape::Scalar, "u8", Some(text)) = (&kind.shape, kind.name, value.as_str()) {
        let bytes = hex(text).filter(|bytes| n.is_none_or(|n| n == bytes.len()));
        out.extend(bytes.ok_or("expected so many bytes in hexadecimal")?);
        return Ok(());
    }
    let all = value.as_array().filter(|all| n.is_none_or(|n| n == all.len()));
    all.ok_or("expected so many elements")?.iter().try_for_each(|one| put(kind, one, out))
}

fn put_fixed_text(n: usize, value: &Value, out: &mut Vec<u8>) -> Result<(), Fault> {
    let text =
        value.as_str().filter(|text| text.len() < n.max(1)).ok_or("expected a shorter text")?;
    let end = out.len() + n;
    out.extend(text.as_bytes());
    out.resize(end, 0);
    Ok(())
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    if !digits.is_ascii() || !digits.len().is_multiple_of(2) {
        return None;
    }
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).ok()).collect()
}

fn put_scalar(name: &str, value: &Value, out: &mut Vec<u8>) -> Result<(), Fault> {
    if let Some(on) = value.as_bool() {
        return put_scalar(name, &Value::from(u8::from(on)), out);
    }
    if name == "f64" {
        let bits = || u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok();
        let number =
            value.as_f64().or_else(|| bits().map(f64::from_bits)).ok_or("expected a number")?;
        out.extend(number.to_ne_bytes());
        return Ok(());
    }
    let wide = value
        .as_i64()
        .map(i128::from)
        .or(value.as_u64().map(i128::from))
        .ok_or("expected a number")?;
    let bits = msg_table::size_of_scalar(name) * 8;
    let range = match name.starts_with('i') {
        true => -(1i128 << (bits - 1))..1i128 << (bits - 1),
        false => 0..1i128 << bits,
    };
    if !range.contains(&wide) || name == "bool" && wide > 1 {
        return Err(format!("{wide} is no {name}"));
    }
    out.extend(&wide.to_be_bytes()[16 - bits / 8..]);
    Ok(())
}

/// Encodes types that VPP's JSON writes as text: addresses and prefixes.
pub(crate) fn put_special(kind: &Type, text: &str, out: &mut Vec<u8>) -> Option<Result<(), Fault>> {
    let wrong = || format!("`{text}' is no {}", kind.name.replace('_', " "));
    let (address, len) = match kind.name {
        "prefix" | "ip4_prefix" | "ip6_prefix" => match text.split_once('/') {
            Some((address, len)) => (address, len.parse::<u8>().ok()),
            None => return Some(Err(wrong())),
        },
        _ => (text, Some(0)),
    };
    let put = match kind.name {
        "mac_address" => {
            let bytes: Option<Vec<u8>> =
                text.split(':').map(|b| u8::from_str_radix(b, 16).ok()).collect();
            bytes.filter(|bytes| bytes.len() == 6)
        }
        "ip4_address" | "ip4_prefix" => {
            address.parse::<Ipv4Addr>().ok().map(|a| a.octets().to_vec())
        }
        "ip6_address" | "ip6_prefix" => {
            address.parse::<Ipv6Addr>().ok().map(|a| a.octets().to_vec())
        }
        "address" | "prefix" => address.parse().ok().map(|address| match address {
            IpAddr::V4(a) => [&[0][..], &a.octets(), &[0; 12]].concat(),
            IpAddr::V6(a) => [&[1][..], &a.octets()].concat(),
        }),
        _ => return None,
    };
    let (Some(bytes), Some(len)) = (put, len) else { return Some(Err(wrong())) };
    out.extend(bytes);
    if kind.name.ends_with("prefix") {
        out.push(len);
    }
    Some(Ok(()))
}

fn put(kind: &Type, value: &Value, out: &mut Vec<u8>) -> Result<(), Fault> {
    if let Some(done) = value.as_str().and_then(|text| put_special(kind, text, out)) {
        return done;
    }
    let member = |members: &[(&'static str, u32)], value: &Value| match value.as_str() {
        Some(text) => {
            let found = members.iter().find(|(name, _)| *name == text);
            found.map(|(_, n)| u64::from(*n)).ok_or_else(|| format!("`{text}' is no {}", kind.name))
        }
        None => value.as_u64().ok_or_else(|| "expected a name or a number".to_string()),
    };
    match &kind.shape {
        Shape::Scalar => put_scalar(kind.name, value, out),
        Shape::Text(0) => put_text(value, out),
        Shape::Text(n) => put_fixed_text(*n, value, out),
        Shape::Fixed(of, n) => put_several(of, Some(*n), value, out),
        Shape::Alias(of) => put(of, value, out),
        Shape::Enum(base, members) => put_scalar(base, &Value::from(member(members, value)?), out),
        Shape::Flags(base, members) => {
            let bits = match value.as_array() {
                Some(names) => names
                    .iter()
                    .try_fold(0, |bits, name| Ok::<_, Fault>(bits | member(members, name)?))?,
                None => member(members, value)?,
            };
            put_scalar(base, &Value::from(bits), out)
        }
        Shape::Struct(parts) => {
            put_fields(parts, value.as_object().ok_or("expected an object")?, out)
        }
        Shape::Union(arms) => {
            let end = out.len() + kind.least();
            match value.as_object().and_then(|object| object.iter().next()) {
                Some((name, value)) => {
                    let arm = arms
                        .iter()
                        .find(|arm| arm.name == name)
                        .ok_or("expected one of its parts")?;
                    put(&arm.kind, value, out)?;
                }
                None => {
                    out.extend(value.as_str().and_then(hex).ok_or("expected bytes in hexadecimal")?)
                }
            }
            if out.len() > end {
                return Err("too many bytes".into());
            }
            out.resize(end, 0);
            Ok(())
        }
    }
}
