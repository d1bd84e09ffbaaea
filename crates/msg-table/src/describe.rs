// SPDX-License-Identifier: Apache-2.0
//! Layout of messages and their types, as data: for CRCs, for the files that clients read, for
//! traces.

/// A type on the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// Without `vl_api_` and `_t`.
    pub name: &'static str,
    /// Its structure.
    pub shape: Shape,
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

impl Type {
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
            Shape::Scalar => size_of_scalar(self.name),
            Shape::Text(0) => 4,
            Shape::Text(n) => *n,
            Shape::Fixed(of, n) => n * of.least(),
            Shape::Alias(of) => of.least(),
            Shape::Enum(base, _) | Shape::Flags(base, _) => size_of_scalar(base),
            Shape::Struct(fields) => fields.iter().map(Field::least).sum(),
            Shape::Union(arms) => arms.iter().map(Field::least).max().unwrap_or(0),
        }
    }

    /// The fields of a struct, the arms of a union.
    pub fn fields(&self) -> &[Field] {
        match &self.shape {
            Shape::Struct(fields) | Shape::Union(fields) => fields,
            _ => &[],
        }
    }

    /// The types of its fields, or that it is made of.
    pub fn parts(&self) -> Vec<&Type> {
        match &self.shape {
            Shape::Alias(of) | Shape::Fixed(of, _) => vec![of],
            _ => self.fields().iter().map(|field| &field.kind).collect(),
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
pub fn size_of_scalar(name: &str) -> usize {
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
    /// The type of one.
    pub kind: Type,
    /// Number of elements.
    pub multiplicity: Multiplicity,
    /// Default value that clients send, as JSON.
    pub default: Option<&'static str>,
}

impl Field {
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
}
