// SPDX-License-Identifier: Apache-2.0
//! Properties of the reader of messages and of both handshakes for any input, for the fuzzer and
//! its tests.

use super::message::LEN;
use super::{Client, Message, Reply, RequestedParameters, SECRET, Server, Step};
use crate::io::Layout;

/// Gives messages, one behind the other, to a server and to a client.
///
/// # Panics
/// If a promise is broken.
pub fn check_messages(bytes: &[u8]) {
    let layout = Layout { s2m: 2, m2s: 2, log2: 4, buffer: 64 };
    let wanted = RequestedParameters {
        id: 1,
        mode: 0,
        secret: [0; SECRET],
        layout,
        interface: "test".into(),
    };
    let (mut server, mut client) = (Some(Server::default()), Some(Client::new(wanted)));
    for chunk in bytes.as_chunks::<LEN>().0 {
        let Some(message) = Message::parse(chunk) else { continue };
        let again = Message::parse(&message.encode());
        assert!(again.is_some_and(
            |again| std::mem::discriminant(&again) == std::mem::discriminant(&message)
        ));
        if let Message::Connect(name)
        | Message::Connected(name)
        | Message::Disconnect { text: name, .. } = &message
        {
            assert!(!name.0.chars().any(char::is_control), "{name:?}");
        }
        // One that was refused is closed.
        server = server.take().and_then(|mut server| {
            match server.step(message.clone(), None, |_| Ok(())) {
                Ok(Reply::Connected(link)) => {
                    assert!(
                        link.regions.is_empty() && link.s2m.is_empty(),
                        "memory without a descriptor"
                    );
                    None
                }
                Ok(Reply::Ack) => Some(server),
                Err(_) => None,
            }
        });
        client = client.take().and_then(|mut client| match client.step(message) {
            Ok(Step::Send(message, fd)) => {
                let carries =
                    matches!(message, Message::AddRegion { .. } | Message::AddRing { .. });
                assert_eq!(fd.is_some(), carries);
                Some(client)
            }
            Ok(Step::Connected(link)) => {
                assert!(link.s2m.len() <= 2 && link.m2s.len() <= 2);
                None
            }
            Err(_) => None,
        });
    }
}
