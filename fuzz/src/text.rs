// SPDX-License-Identifier: Apache-2.0
//! Addresses and prefixes as typed: a value that is parsed, printed and parsed again stays the
//! same.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use wire::{Ip4Prefix, Ip6Prefix, MacAddr};

fn round<T: FromStr + Display + PartialEq + Debug>(text: &str)
where
    T::Err: Debug,
{
    if let Ok(value) = T::from_str(text) {
        assert_eq!(T::from_str(&value.to_string()).unwrap(), value);
    }
}

/// One input.
pub fn run(text: &str) {
    round::<MacAddr>(text);
    round::<Ip4Prefix>(text);
    round::<Ip6Prefix>(text);
}
