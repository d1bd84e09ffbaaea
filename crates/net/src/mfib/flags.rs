// SPDX-License-Identifier: Apache-2.0
//! Flags of entries and of their interfaces, with VPP's names and bits.

use std::fmt;

macro_rules! bits {
    ($(#[$($doc:tt)*])* $name:ident { $($(#[$($about:tt)*])* $flag:ident = $bit:literal, $long:literal, $short:literal;)* }) => {
        bitflags::bitflags! {
            $(#[$($doc)*])*
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
            pub struct $name: u32 {
                $($(#[$($about)*])* const $flag = $bit;)*
            }
        }

        impl $name {
            /// The flags, each with the word that commands take, and the letters that tables print.
            pub const NAMES: &[(Self, &'static str, &'static str)] = &[$((Self::$flag, $long, $short)),*];

            /// The words of the flags that are set.
            pub fn words(self) -> Vec<&'static str> {
                Self::NAMES.iter().filter(|(flag, ..)| self.contains(*flag)).map(|(_, word, _)| *word).collect()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let letters = Self::NAMES.iter().filter(|(flag, ..)| self.contains(*flag)).map(|(_, _, letters)| *letters);
                f.pad(&letters.collect::<Vec<_>>().join(","))
            }
        }
    };
}

bits! {
    /// Flags of an entry.
    EntryFlags {
        /// Packets are reported, except from interfaces with [`ItfFlags::NEGATE_SIGNAL`].
        SIGNAL = 1, "Signal", "S";
        /// Packets are dropped.
        DROP = 2, "Drop", "D";
        /// Packets from sources on the link that they came in by are reported.
        CONNECTED = 4, "Connected", "C";
        /// Packets are accepted from all interfaces.
        ACCEPT_ALL = 8, "Accept-all-itf", "AA";
    }
}

bits! {
    /// Flags of an interface of an entry.
    ItfFlags {
        /// Inverts the entry's `SIGNAL` flag for packets received on this interface.
        NEGATE_SIGNAL = 1, "Negate-Signal", "NS";
        /// Packets are accepted from this interface.
        ACCEPT = 2, "Accept", "A";
        /// Packets are sent by this interface.
        FORWARD = 4, "Forward", "F";
        /// A report is pending; there is no other until it is taken.
        SIGNAL_PRESENT = 8, "Signal-Present", "SP";
        /// Reports come without the packet.
        DONT_PRESERVE = 16, "Dont-Preserve", "DP";
    }
}
