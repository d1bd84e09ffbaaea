// SPDX-License-Identifier: Apache-2.0
//! Trace filter functions.

use cli::Error;
use msg::retval;

/// A filter function: it decides for a packet that comes in whether it is traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Function {
    /// All packets are, but for the interface that was chosen; with `filter`, those that the
    /// classifier accepts. An expression is kept, and doesn't count.
    #[default]
    Traced,
    /// The expression decides.
    Bpf,
}

impl Function {
    /// All, as they are listed.
    pub const ALL: [Self; 2] = [Self::Bpf, Self::Traced];

    /// VPP's name for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Traced => "vnet_is_packet_traced",
            Self::Bpf => "bpf_trace_filter",
        }
    }

    /// The packets that it selects.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Traced => {
                "every packet, or with `filter' packets that `classify filter' describes"
            }
            Self::Bpf => "packets that the expression of `set bpf trace filter' describes",
        }
    }

    /// The function of a name.
    ///
    /// # Errors
    /// None of that name (−6).
    pub fn find(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|function| function.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let error = Error::not_found(format!("no filter function is named `{name}'"));
            error.hint(format!("there are {}", names.join(", "))).retval(retval::NO_SUCH_ENTRY)
        })
    }
}
