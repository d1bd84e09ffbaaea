// SPDX-License-Identifier: Apache-2.0
//! Lines of the tables.

use crate::{Field, Multiplicity, Service, Shape, Tables, Type};

/// Fields, divided by commas: `u32 x`, `u8 x[4]`, `u8 x[n]`, `string x[]`, `vl_api_prefix_t x`;
/// with a default, `u32 x=1`.
pub fn fields(tables: &Tables, text: &'static str) -> Vec<Field> {
    let all = text.split(", ").filter(|text| !text.is_empty());
    all.map(|text| field(tables, text).unwrap_or_else(|| panic!("`{text}` is no field"))).collect()
}

fn field(tables: &Tables, text: &'static str) -> Option<Field> {
    let (kind, rest) = text.split_once(' ')?;
    let (rest, default) = rest.split_once('=').map_or((rest, None), |(a, b)| (a, Some(b)));
    let (name, count) = match rest.split_once('[') {
        Some((name, count)) => (name, Some(count.strip_suffix(']')?)),
        None => (rest, None),
    };
    let multiplicity = match count.map(|count| (count, count.parse())) {
        None => Multiplicity::One,
        Some(("", _)) => Multiplicity::Text,
        Some((_, Ok(n))) => Multiplicity::Fixed(n),
        Some((count, Err(_))) => Multiplicity::Counted(count),
    };
    let kind = match (kind, &multiplicity) {
        ("string", Multiplicity::Fixed(n)) => Type { name: kind, shape: Shape::Text(*n) },
        ("string", _) => Type { name: kind, shape: Shape::Text(0) },
        _ => self::kind(tables, kind),
    };
    Some(Field { name, kind, multiplicity, default })
}

/// A scalar, or a named type.
fn kind(tables: &Tables, name: &'static str) -> Type {
    match name.strip_prefix("vl_api_").and_then(|name| name.strip_suffix("_t")) {
        Some(named) => tables.kind(named).unwrap_or_else(|| panic!("no table has {named}")),
        None => Type { name, shape: Shape::Scalar },
    }
}

/// The structure of a type: its letter, and the parts of its line behind the name.
pub fn shape(tables: &Tables, letter: &str, parts: &[&'static str]) -> Shape {
    match (letter, parts) {
        ("a", [of]) => Shape::Alias(Box::new(match of.split_once('[') {
            Some((of, n)) => {
                let n = n.trim_end_matches(']').parse().expect("a length");
                Type { name: "", shape: Shape::Fixed(Box::new(kind(tables, of)), n) }
            }
            None => kind(tables, of),
        })),
        ("e", [base, members]) => Shape::Enum(base, self::members(members)),
        ("f", [base, members]) => Shape::Flags(base, self::members(members)),
        ("t", [fields]) => Shape::Struct(self::fields(tables, fields)),
        ("u", [arms]) => Shape::Union(fields(tables, arms)),
        _ => panic!("`{letter} {parts:?}` is no type"),
    }
}

fn members(text: &'static str) -> Vec<(&'static str, u32)> {
    let member = |one: &'static str| {
        let (name, value) = one.split_once('=')?;
        Some((name, value.parse().ok()?))
    };
    text.split(", ").map(|one| member(one).unwrap_or_else(|| panic!("no member: {one}"))).collect()
}

/// `x_reply`, `x_details stream`, `x_reply stream=x_details`, `x_reply events=a+b`; `null` for a
/// message that has no answer.
pub fn service(request: &'static str, line: &'static str) -> Option<Service> {
    let mut words = line.split(' ');
    let reply = words.next().filter(|reply| *reply != "null")?;
    let mut service = Service { request, reply, ..Service::default() };
    for word in words {
        match word.split_once('=') {
            None if word == "stream" => service.stream = true,
            Some(("stream", details)) => {
                (service.stream, service.stream_msg) = (true, Some(details));
            }
            Some(("events", events)) => service.events = events.split('+').collect(),
            _ => panic!("`{line}` is no service"),
        }
    }
    Some(service)
}
