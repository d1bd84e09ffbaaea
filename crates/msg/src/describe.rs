// SPDX-License-Identifier: Apache-2.0
//! Layout of messages and their types, as data: for CRCs, for the files that clients read, for
//! documentation.

use crate::wire::Wire;

/// A type on the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// Without `vl_api_` and `_t`.
    pub name: &'static str,
    /// One paragraph for people.
    pub doc: &'static str,
    /// Its structure.
    pub shape: Shape,
    /// Number of members at the end of an enum that came after it was published: they don't count
    /// for CRCs.
    pub newer: usize,
}

/// The structure of a type.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A number or a truth value, known by its name.
    Scalar,
    /// Text: `N` bytes, or a length and its bytes for 0.
    Text(usize),
    /// An array of this length: no type of its own, but a use of one.
    Fixed(Box<Type>, usize),
    /// Another name.
    Alias(Box<Type>),
    /// One of these values of a base type.
    Enum(&'static str, Vec<(&'static str, u32)>),
    /// Any of these bits of a base type.
    Flags(&'static str, Vec<(&'static str, u32)>),
    /// Fields, one behind the other.
    Struct(Vec<Field>),
    /// Arms that share their place, as long as the longest.
    Union(Vec<Field>),
}

impl Shape {
    /// Another name of `T`.
    pub fn alias<T: Wire>() -> Shape {
        Shape::Alias(Box::new(T::describe()))
    }

    /// Values of `T`.
    pub fn enumeration<T: Wire>(members: Vec<(&'static str, u32)>) -> Shape {
        Shape::Enum(T::describe().name, members)
    }
}

impl Type {
    /// A type.
    pub fn new(name: &'static str, doc: &'static str, shape: Shape) -> Type {
        Type { name, doc, shape, newer: 0 }
    }

    /// With this number of members at the end that came after it was published.
    pub fn newer(self, newer: usize) -> Type {
        Type { newer, ..self }
    }

    /// Its name in the published description: `u32`, `vl_api_prefix_t`.
    pub fn wire_name(&self) -> String {
        match &self.shape {
            Shape::Scalar | Shape::Text(_) => self.name.to_string(),
            Shape::Fixed(of, _) => of.wire_name(),
            _ => format!("vl_api_{}_t", self.name),
        }
    }

    /// It has a block of its own in the description.
    pub fn is_named(&self) -> bool {
        !matches!(self.shape, Shape::Scalar | Shape::Text(_) | Shape::Fixed(..))
    }

    /// Bytes that a value takes at least.
    pub fn least(&self) -> usize {
        match &self.shape {
            Shape::Scalar => scalar(self.name),
            Shape::Text(0) => 4,
            Shape::Text(n) => *n,
            Shape::Fixed(of, n) => n * of.least(),
            Shape::Alias(of) => of.least(),
            Shape::Enum(base, _) | Shape::Flags(base, _) => scalar(base),
            Shape::Struct(fields) => fields.iter().map(Field::least).sum(),
            Shape::Union(arms) => arms.iter().map(Field::least).max().unwrap_or(0),
        }
    }

    /// The types of its fields, or that it is made of.
    fn parts(&self) -> Vec<&Type> {
        match &self.shape {
            Shape::Alias(of) | Shape::Fixed(of, _) => vec![of],
            Shape::Struct(fields) | Shape::Union(fields) => {
                fields.iter().map(|f| &f.kind).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Calls `f` for every named type that it needs, dependencies first, itself last.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Type)) {
        self.parts().into_iter().for_each(|part| part.visit(f));
        if self.is_named() {
            f(self);
        }
    }
}

/// Bytes of a scalar type.
pub(crate) fn scalar(name: &str) -> usize {
    match name {
        "u8" | "i8" | "bool" => 1,
        "u16" | "i16" => 2,
        "u64" | "i64" | "f64" => 8,
        _ => 4,
    }
}

/// The number of elements of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Multiplicity {
    /// Once.
    One,
    /// This number.
    Fixed(usize),
    /// The value of this earlier field.
    Counted(&'static str),
    /// Text that brings its length.
    Text,
}

/// A field of a message or type.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name on the wire.
    pub name: &'static str,
    /// One paragraph for people.
    pub doc: &'static str,
    /// The type of one.
    pub kind: Type,
    /// Number of elements.
    pub multiplicity: Multiplicity,
    /// Default value that clients send, as JSON.
    pub default: Option<&'static str>,
}

impl Field {
    /// A field that holds a `T`.
    pub fn one<T: Wire>(name: &'static str, doc: &'static str) -> Field {
        let (kind, multiplicity) = match T::describe() {
            Type { shape: Shape::Fixed(of, n), .. } => (*of, Multiplicity::Fixed(n)),
            text @ Type { shape: Shape::Text(0), .. } => (text, Multiplicity::Text),
            text @ Type { shape: Shape::Text(_), .. } => {
                let Shape::Text(n) = text.shape else { unreachable!("just seen") };
                (text, Multiplicity::Fixed(n))
            }
            kind => (kind, Multiplicity::One),
        };
        Field { name, doc, kind, multiplicity, default: None }
    }

    /// A field with as many elements as the field `count` says.
    pub fn counted<T: Wire>(name: &'static str, count: &'static str, doc: &'static str) -> Field {
        Field {
            name,
            doc,
            kind: T::describe(),
            multiplicity: Multiplicity::Counted(count),
            default: None,
        }
    }

    /// With a default value that clients send, as JSON.
    pub fn or(mut self, default: &'static str) -> Field {
        self.default = Some(default);
        self
    }

    /// Bytes that it takes at least: with counted arrays and texts empty.
    pub fn least(&self) -> usize {
        match &self.multiplicity {
            Multiplicity::One => self.kind.least(),
            Multiplicity::Fixed(n) if matches!(self.kind.shape, Shape::Text(_)) => *n,
            Multiplicity::Fixed(n) => n * self.kind.least(),
            Multiplicity::Counted(_) => 0,
            Multiplicity::Text => 4,
        }
    }

    /// As in the text that a CRC is taken of.
    fn canonical(&self) -> String {
        let (kind, name) = (self.kind.wire_name(), self.name);
        match &self.multiplicity {
            Multiplicity::One => format!("['{kind}', '{name}']"),
            Multiplicity::Fixed(n) => format!("['{kind}', '{name}', {n}, None]"),
            Multiplicity::Counted(count) => format!("['{kind}', '{name}', 0, '{count}']"),
            Multiplicity::Text => format!("['{kind}', '{name}', 0, None]"),
        }
    }

    /// As in the project's table of the published layouts: `u32 x`, `u8 x[4]`, `u8 x[n]`, `string
    /// x[]`; with a default, `u32 x=1`.
    pub fn layout(&self) -> String {
        let (kind, name) = (self.kind.wire_name(), self.name);
        let layout = match &self.multiplicity {
            Multiplicity::One => format!("{kind} {name}"),
            Multiplicity::Fixed(n) => format!("{kind} {name}[{n}]"),
            Multiplicity::Counted(count) => format!("{kind} {name}[{count}]"),
            Multiplicity::Text => format!("{kind} {name}[]"),
        };
        self.default.map_or_else(|| layout.clone(), |default| format!("{layout}={default}"))
    }
}

/// Appends a field of a reply to a request that failed: zeros, but for the index of an interface
/// all bits set, as in VPP. 0 is an interface.
pub(crate) fn without_value(field: &Field, out: &mut Vec<u8>) {
    let is_interface = field.kind.name == "interface_index";
    let byte = if is_interface && field.multiplicity == Multiplicity::One { 0xff } else { 0 };
    out.resize(out.len() + field.least(), byte);
}

fn canonical(fields: &[Field]) -> String {
    let fields: Vec<_> = fields.iter().map(Field::canonical).collect();
    format!("[{}]", fields.join(", "))
}

/// The published CRC of a message with these fields, the message id left out: that of the text of
/// its fields, then of the blocks of their types, from field to field and down.
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
            let old = members.len().saturating_sub(kind.newer);
            let members: Vec<_> =
                members[..old].iter().map(|(name, value)| format!("['{name}', {value}]")).collect();
            crc.update(format!("[{}]", members.join(", ")).as_bytes());
        }
        Shape::Struct(fields) | Shape::Union(fields) => {
            crc.update(canonical(fields).as_bytes());
            fields.iter().for_each(|f| add_block(&f.kind, crc));
        }
    }
}
