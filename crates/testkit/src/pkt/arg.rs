// SPDX-License-Identifier: Apache-2.0
//! Addresses as a test likes to write them.

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::MacAddr;

pub(super) use std::net::{Ipv4Addr as Ip4, Ipv6Addr as Ip6};

/// A `T`, its bytes, or its text.
pub trait Arg<T> {
    /// The value; panics if the text isn't one.
    fn arg(self) -> T;
}

macro_rules! args {
    ($($t:ty, $octets:ty);*) => {$(
        impl Arg<$t> for $t {
            fn arg(self) -> $t {
                self
            }
        }

        impl Arg<$t> for $octets {
            fn arg(self) -> $t {
                self.into()
            }
        }

        impl Arg<$t> for &str {
            #[track_caller]
            fn arg(self) -> $t {
                self.parse().unwrap_or_else(|error| panic!("{self:?}: {error}"))
            }
        }
    )*};
}

args!(MacAddr, [u8; 6]; Ipv4Addr, [u8; 4]; Ipv6Addr, [u8; 16]);
