// SPDX-License-Identifier: Apache-2.0
//! Messages, and the answers to a request.

use crate::wire::{Malformed, Reader, Wire};
use msg_table::{Field, Multiplicity, tables};

/// A head field: it stands between a message's id and its own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadField {
    /// `u32 client_index`
    ClientIndex,
    /// `u32 context`: a request's number, given back with the answer.
    Context,
    /// `i32 retval`: 0, or what went wrong.
    Retval,
    /// `u32 pid`: the number of the process that asked for events, as the client gave it.
    Pid,
}

/// The values of a head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// See [`HeadField::ClientIndex`].
    pub client_index: u32,
    /// See [`HeadField::Context`]; in the byte order in which it came.
    pub context: u32,
    /// See [`HeadField::Retval`].
    pub retval: i32,
    /// See [`HeadField::Pid`].
    pub pid: u32,
}

impl Head {
    /// Appends the fields that `which` names.
    pub fn put(&self, which: &[HeadField], out: &mut Vec<u8>) {
        for field in which {
            match field {
                HeadField::ClientIndex => self.client_index.put(out),
                HeadField::Context => self.context.put(out),
                HeadField::Retval => self.retval.put(out),
                HeadField::Pid => self.pid.put(out),
            }
        }
    }

    /// Reads the fields that `which` names.
    ///
    /// # Errors
    /// Too few bytes.
    pub fn get(which: &[HeadField], r: &mut Reader<'_>) -> Result<Head, Malformed> {
        let mut head = Head::default();
        for field in which {
            match field {
                HeadField::ClientIndex => head.client_index = Wire::get(r)?,
                HeadField::Context => head.context = Wire::get(r)?,
                HeadField::Retval => head.retval = Wire::get(r)?,
                HeadField::Pid => head.pid = Wire::get(r)?,
            }
        }
        Ok(head)
    }
}

/// A message; implemented by `msg::messages!`.
pub trait Message: Sized + 'static {
    /// Its name on the wire.
    const NAME: &'static str;
    /// One paragraph for people.
    const DOC: &'static str;
    /// The fields between its id and its own fields.
    const HEAD: &'static [HeadField];
    /// Appends its own fields.
    fn put(&self, out: &mut Vec<u8>);
    /// Reads its own fields.
    ///
    /// # Errors
    /// Bytes that are too few, or that no value has.
    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed>;
}

/// A request that one reply answers.
pub trait Call: Message {
    /// The reply's fields; `()` for a return value alone.
    type Reply: Reply;
}

/// A request that messages answer.
pub trait Dump: Message {
    /// One of them.
    type Details: Message;
}

/// A reply that only ends the answers to a request: its cursor says that there are no more.
pub trait End: Message {
    /// The end of all answers.
    fn end() -> Self;
}

/// The type of a reply: a message, or `()`.
pub trait Reply: Sized + 'static {
    /// See [`Message::DOC`].
    const DOC: &'static str;
    /// See [`Message::HEAD`].
    const HEAD: &'static [HeadField];
    /// Appends the fields; those of an error, which names no interface, if there is none.
    fn write(reply: Option<&Self>, out: &mut Vec<u8>);
    /// Reads the fields.
    ///
    /// # Errors
    /// As [`Message::get`].
    fn read(r: &mut Reader<'_>) -> Result<Self, Malformed>;
}

/// Appends a field of a reply to a request that failed: zeros, but for the index of an interface,
/// of the host's too, and the cursor of a stream, all bits set, as in VPP. 0 is an interface.
pub(crate) fn without_value(field: &Field, out: &mut Vec<u8>) {
    let is_index =
        field.kind.name == "interface_index" || ["vif_index", "cursor"].contains(&field.name);
    let byte = if is_index && field.multiplicity == Multiplicity::One { 0xff } else { 0 };
    out.resize(out.len() + field.least(), byte);
}

impl Reply for () {
    const DOC: &'static str = "";
    const HEAD: &'static [HeadField] = &[HeadField::Context, HeadField::Retval];
    fn write(_: Option<&Self>, _: &mut Vec<u8>) {}
    fn read(_: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(())
    }
}

impl<M: Message> Reply for M {
    const DOC: &'static str = M::DOC;
    const HEAD: &'static [HeadField] = M::HEAD;
    fn write(reply: Option<&Self>, out: &mut Vec<u8>) {
        match reply {
            Some(reply) => reply.put(out),
            None => {
                let message = tables().message(M::NAME);
                let fields = message.iter().flat_map(|m| &m.fields[m.head()..]);
                fields.for_each(|field| without_value(field, out));
            }
        }
    }
    fn read(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        M::get(r)
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::Reply;
    use crate::tests::{InterfaceIndex, LampAddReply};

    /// As in VPP: 0 is an interface, local0.
    #[suite::test]
    fn a_failed_reply_names_no_interface() {
        let mut out = Vec::new();
        <LampAddReply as Reply>::write(None, &mut out);
        assert_eq!(out, [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0]);
        out.clear();
        let made = LampAddReply { lamp: 1, sw_if_index: InterfaceIndex(0), name: "a".into() };
        Reply::write(Some(&made), &mut out);
        assert_eq!(out, [0, 0, 0, 1, 0, 0, 0, 0, b'a', 0]);
    }
}
