// SPDX-License-Identifier: Apache-2.0
//! Any bytes as any message of the binary API: read, or refused; two readers agree; what was read
//! and written is read the same. And any bytes as a connection: it goes on, or it ends.

use std::sync::LazyLock;
use std::time::Duration;

static HUB: LazyLock<msg::Hub<graph::World>> = LazyLock::new(|| {
    msg::Hub::new(daemon::plugins::ALL.iter().flat_map(|p| p.api))
        .expect("names that nobody else has")
});
/// Nothing is asked of the world: the protocol's own messages alone.
static BARE: LazyLock<msg::Hub<()>> = LazyLock::new(|| msg::Hub::new([]).expect("no names"));

/// One input.
pub fn run(bytes: &[u8]) {
    let Some((id, body)) = bytes.split_first_chunk::<2>() else { return };
    let n = HUB.table().entries().count() as u16;
    let id = u16::from_be_bytes(*id);
    if let Some(entry) = HUB.table().get(id % n + 1) {
        msg::check::codec(entry, body);
    }
    let mut session = msg::Session::default();
    for chunk in body.chunks(usize::from(id % 61) + 1) {
        if session.receive(chunk).is_err() || session.run(&(), &BARE, Duration::ZERO, 64).is_err() {
            break;
        }
        let n = session.output().len();
        session.sent(n);
    }
    session.end(&BARE);
}
