// SPDX-License-Identifier: Apache-2.0
//! `test dns format`: a response that is written, read and printed.

use crate::show::data;
use cli::{Error, Result};
use std::fmt::Write as _;
use wire::U16;
use wire::dns::{
    CLASS_IN, DnsHeader, Message, Name, Question, RecordData, RecordType, put_question, put_record,
};
use zerocopy::IntoBytes;

/// A response for `www.example.com`, an alias of a name with an address of each IP version.
fn response() -> std::result::Result<Vec<u8>, wire::dns::NameError> {
    let [alias, name]: [Name; 2] = ["www.example.com".parse()?, "host.example.com".parse()?];
    let question = Question { name: alias.clone(), kind: RecordType::ANY, class: CLASS_IN };
    let records = [
        (&alias, RecordData::Cname(name.clone())),
        (&name, RecordData::A([192, 0, 2, 1].into())),
        (&name, RecordData::Aaaa([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into())),
    ];
    let mut header = DnsHeader::of(0x1234, DnsHeader::RESPONSE | DnsHeader::RECURSION_AVAILABLE);
    (header.questions, header.answers) = (U16::new(1), U16::new(records.len() as u16));
    let mut message = header.as_bytes().to_vec();
    put_question(&mut message, &question);
    for (name, data) in &records {
        let written = put_record(&mut message, name, 300, data);
        debug_assert!(written, "aliases and addresses");
    }
    Ok(message)
}

/// The response as text.
///
/// # Errors
/// It isn't read as it was written.
pub fn format() -> Result<String> {
    let bytes = response().map_err(|e| Error::failed(e.to_string()))?;
    let message = Message::parse(&bytes).map_err(|e| Error::failed(e.to_string()))?;
    let header = &message.header;
    let mut text = format!("{} bytes, id 0x{:04x}\n", bytes.len(), header.id.get());
    // Writing to a String can't fail.
    for Question { name, kind, .. } in &message.questions {
        let _ = writeln!(text, "question: {name} {kind}");
    }
    for record in message.records() {
        let _ = writeln!(text, "{} {} {} {}", record.name, record.ttl, record.kind, data(record));
    }
    Ok(text)
}
