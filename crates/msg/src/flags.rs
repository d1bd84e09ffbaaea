// SPDX-License-Identifier: Apache-2.0
//! Flags on the wire.

/// Declares flags: bits of a base type under their published names.
///
/// ```
/// msg::flags! {
///     /// States of an interface.
///     pub struct IfStatus: u32 = "if_status_flags" { ADMIN_UP = 1 => "ADMIN_UP", LINK_UP = 2 => "LINK_UP" }
/// }
/// assert!(IfStatus(3).has(IfStatus::LINK_UP));
/// ```
///
/// Members behind a semicolon came after the first publication: CRCs don't count them.
///
/// With `enum` before the name on the wire, it is published as an enum, whose values clients add up
/// all the same.
#[macro_export]
macro_rules! flags {
    (@shape enum $base:ident, $members:expr) => { $crate::Shape::Enum(stringify!($base), $members) };
    (@shape flags $base:ident, $members:expr) => { $crate::Shape::Flags(stringify!($base), $members) };
    ($(#[doc = $doc:literal])* pub struct $name:ident: $base:ident = enum $wire:literal $rest:tt) => {
        $crate::flags!(@all enum, $([$doc])*, $name, $base, $wire, $rest);
    };
    ($(#[doc = $doc:literal])* pub struct $name:ident: $base:ident = $wire:literal $rest:tt) => {
        $crate::flags!(@all flags, $([$doc])*, $name, $base, $wire, $rest);
    };
    (@all $shape:ident, $([$doc:literal])*, $name:ident, $base:ident, $wire:literal, {
        $($flag:ident = $value:literal => $member:literal),* $(,)?
        $(; $($newer:ident = $newer_value:literal => $newer_member:literal),* $(,)?)?
    }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name(pub $base);
        impl $name {
            $(
                #[doc = concat!("`", $member, "`")]
                pub const $flag: Self = Self($value);
            )*
            $($(
                #[doc = concat!("`", $newer_member, "`")]
                pub const $newer: Self = Self($newer_value);
            )*)?
            /// All bits of `other` are set.
            pub fn has(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }
            /// These bits if `on`, none otherwise.
            pub fn when(self, on: bool) -> Self {
                if on { self } else { Self(0) }
            }
        }
        impl ::std::ops::BitOr for $name {
            type Output = Self;
            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }
        impl $crate::Wire for $name {
            fn describe() -> $crate::Type {
                let mut members: Vec<(&'static str, u32)> = vec![$(($member, $value as u32)),*];
                let newer: &[(&'static str, u32)] = &[$($(($newer_member, $newer_value as u32)),*)?];
                members.extend(newer);
                let shape = $crate::flags!(@shape $shape $base, members);
                $crate::Type::new($wire, concat!($($doc),*).trim_ascii(), shape).newer(newer.len())
            }
            fn put(&self, out: &mut Vec<u8>) {
                $crate::Wire::put(&self.0, out);
            }
            fn get(r: &mut $crate::Reader<'_>) -> ::std::result::Result<Self, $crate::Malformed> {
                Ok(Self($crate::Wire::get(r)?))
            }
        }
    };
}
