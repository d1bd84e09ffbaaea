// SPDX-License-Identifier: Apache-2.0
//! A message's bytes as JSON, by its description: for traces. Addresses and prefixes are texts,
//! bytes are hexadecimal, as VPP has it.

use crate::encode::put_special;
use crate::wire::{Malformed, Reader, Wire, text_of};
use msg_table::{Field, Multiplicity, Shape, Type};
use serde_json::{Map, Value, json};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The fields of a message; bytes that are left over come as `rest`.
///
/// # Errors
/// Bytes that end before the fields do.
pub fn fields(fields: &[Field], r: &mut Reader<'_>) -> Result<Map<String, Value>, Malformed> {
    let mut all = Map::new();
    for field in fields {
        let value = match &field.multiplicity {
            Multiplicity::One => value(&field.kind, r)?,
            Multiplicity::Text => json!(String::get(r)?),
            Multiplicity::Fixed(n) => several(&field.kind, *n, r)?,
            Multiplicity::Counted(count) => {
                let n = all.get(*count).and_then(Value::as_u64).unwrap_or(0) as usize;
                if n > r.rest().len() {
                    return Err(Malformed::Short);
                }
                several(&field.kind, n, r)?
            }
        };
        all.insert(field.name.to_string(), value);
    }
    Ok(all)
}

fn several(kind: &Type, n: usize, r: &mut Reader<'_>) -> Result<Value, Malformed> {
    match (&kind.shape, kind.name) {
        (Shape::Text(_), _) => Ok(json!(text_of(r.take(n)?))),
        (Shape::Scalar, "u8") => hex(n, r),
        _ => (0..n).map(|_| value(kind, r)).collect(),
    }
}

fn hex(n: usize, r: &mut Reader<'_>) -> Result<Value, Malformed> {
    let digits: String = r.take(n)?.iter().map(|b| format!("{b:02x}")).collect();
    Ok(json!(format!("0x{digits}")))
}

fn scalar(name: &str, r: &mut Reader<'_>) -> Result<Value, Malformed> {
    Ok(match name {
        "u8" => json!(u8::get(r)?),
        "i8" => json!(i8::get(r)?),
        "bool" => json!(bool::get(r)?),
        "u16" => json!(u16::get(r)?),
        "i16" => json!(i16::get(r)?),
        "i32" => json!(i32::get(r)?),
        "u64" => json!(u64::get(r)?),
        "i64" => json!(i64::get(r)?),
        "f64" => {
            let value = f64::get(r)?;
            // JSON has no infinity and no NaN: their bits keep what they were.
            if value.is_finite() {
                json!(value)
            } else {
                json!(format!("{:#018x}", value.to_bits()))
            }
        }
        _ => json!(u32::get(r)?),
    })
}

/// Formats types that VPP's JSON writes as text: addresses and prefixes.
fn special(kind: &Type, r: &mut Reader<'_>) -> Result<Option<String>, Malformed> {
    let v4 = |r: &mut Reader<'_>| -> Result<_, Malformed> {
        Ok(Ipv4Addr::from(*r.take(4)?.first_chunk::<4>().ok_or(Malformed::Short)?))
    };
    let v6 = |r: &mut Reader<'_>| -> Result<_, Malformed> {
        Ok(Ipv6Addr::from(*r.take(16)?.first_chunk::<16>().ok_or(Malformed::Short)?))
    };
    let either = |r: &mut Reader<'_>| -> Result<IpAddr, Malformed> {
        if u8::get(r)? == 1 {
            return Ok(v6(r)?.into());
        }
        let address = v4(r)?.into();
        r.take(12)?;
        Ok(address)
    };
    Ok(Some(match kind.name {
        "mac_address" => {
            r.take(6)?.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(":")
        }
        "ip4_address" => v4(r)?.to_string(),
        "ip6_address" => v6(r)?.to_string(),
        "address" => either(r)?.to_string(),
        "prefix" => format!("{}/{}", either(r)?, u8::get(r)?),
        "ip4_prefix" => format!("{}/{}", v4(r)?, u8::get(r)?),
        "ip6_prefix" => format!("{}/{}", v6(r)?, u8::get(r)?),
        _ => return Ok(None),
    }))
}

fn value(kind: &Type, r: &mut Reader<'_>) -> Result<Value, Malformed> {
    let start = r.rest();
    if let Some(text) = special(kind, r)? {
        let bytes = &start[..start.len() - r.rest().len()];
        let mut again = Vec::new();
        if put_special(kind, &text, &mut again).is_some_and(|put| put.is_ok()) && again == bytes {
            return Ok(json!(text));
        }
        // Bytes that the text doesn't tell, such as an unknown family: its parts do.
        *r = Reader::new(start);
    }
    Ok(match &kind.shape {
        Shape::Scalar => scalar(kind.name, r)?,
        Shape::Text(0) => json!(String::get(r)?),
        Shape::Text(n) => json!(text_of(r.take(*n)?)),
        Shape::Fixed(of, n) => several(of, *n, r)?,
        Shape::Alias(of) => value(of, r)?,
        Shape::Enum(base, members) => {
            let n = scalar(base, r)?;
            let name = members.iter().find(|(_, v)| n.as_u64() == Some(u64::from(*v)));
            name.map_or(n, |(name, _)| json!(name))
        }
        Shape::Flags(base, members) => {
            let n = scalar(base, r)?.as_u64().unwrap_or(0);
            // Members of several bits are masks.
            let is_set = |v: u32| v.is_power_of_two() && n & u64::from(v) != 0;
            let set: Vec<_> = members.iter().filter(|(_, v)| is_set(*v)).collect();
            match set.iter().fold(0, |bits, (_, v)| bits | u64::from(*v)) == n {
                true => set.into_iter().map(|(name, _)| *name).collect(),
                false => json!(n),
            }
        }
        Shape::Struct(parts) => Value::Object(fields(parts, r)?),
        // Which arm is meant, another field says; the bytes are the same for all.
        Shape::Union(_) => hex(kind.least(), r)?,
    })
}
