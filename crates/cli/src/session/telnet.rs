// SPDX-License-Identifier: Apache-2.0
//! The part of telnet that VPP's clients use (RFC 854, 1091 terminal type, 1073 window size).

const IAC: u8 = 255;
const DONT: u8 = 254;
const DO: u8 = 253;
const WONT: u8 = 252;
const WILL: u8 = 251;
const SB: u8 = 250;
const SE: u8 = 240;
const ECHO: u8 = 1;
const SGA: u8 = 3;
const TTYPE: u8 = 24;
const NAWS: u8 = 31;
const LINEMODE: u8 = 34;

/// First bytes from the server, in one piece: `vppctl` reads 100 bytes at a time and can't
/// reassemble negotiations.
pub(crate) const GREETING: [u8; 36] = [
    IAC, WONT, LINEMODE, IAC, DONT, LINEMODE, //
    IAC, WILL, SGA, IAC, DO, SGA, //
    IAC, WILL, ECHO, IAC, DONT, ECHO, //
    IAC, DO, TTYPE, IAC, SB, TTYPE, 1, IAC, SE, //
    IAC, DO, NAWS, IAC, SB, NAWS, 1, IAC, SE,
];

/// The longest sub-negotiation that is kept; the rest of a longer one is ignored.
const MAX_SUB: usize = 256;

/// The meaning of a byte from the client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TelnetEvent {
    Nothing,
    Data(u8),
    /// The terminal's type; `None` if the client refuses to send it.
    Terminal(Option<String>),
    /// Columns and rows; 0 stands for unknown.
    Window(u16, u16),
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Data,
    Iac,
    /// WILL, WONT, DO or DONT: the option comes next.
    Option(u8),
    Sub,
    SubIac,
}

/// Parses the stream, byte by byte, wherever it is split.
#[derive(Debug, Default)]
pub(crate) struct Telnet {
    state: State,
    sub: Vec<u8>,
}

impl Telnet {
    pub fn receive(&mut self, byte: u8) -> TelnetEvent {
        match (&self.state, byte) {
            (State::Data, IAC) => self.state = State::Iac,
            (State::Data, data) => return TelnetEvent::Data(data),
            (State::Iac, IAC) => {
                self.state = State::Data;
                return TelnetEvent::Data(IAC);
            }
            (State::Iac, SB) => {
                self.sub.clear();
                self.state = State::Sub;
            }
            (State::Iac, verb @ (WILL | WONT | DO | DONT)) => self.state = State::Option(verb),
            (State::Iac, _) => self.state = State::Data,
            (State::Option(verb), option) => {
                let refused = *verb == WONT && option == TTYPE;
                self.state = State::Data;
                if refused {
                    return TelnetEvent::Terminal(None);
                }
            }
            (State::Sub, IAC) => self.state = State::SubIac,
            (State::SubIac, SE) => {
                self.state = State::Data;
                return self.sub_done();
            }
            (State::Sub | State::SubIac, data) => {
                // IAC IAC inside stands for one; anything else after IAC is taken as it comes.
                self.state = State::Sub;
                if self.sub.len() < MAX_SUB {
                    self.sub.push(data);
                }
            }
        }
        TelnetEvent::Nothing
    }

    fn sub_done(&mut self) -> TelnetEvent {
        match self.sub.as_slice() {
            [TTYPE, 0, name @ ..] => {
                TelnetEvent::Terminal(Some(String::from_utf8_lossy(name).into_owned()))
            }
            [NAWS, w1, w0, h1, h0] => {
                TelnetEvent::Window(u16::from_be_bytes([*w1, *w0]), u16::from_be_bytes([*h1, *h0]))
            }
            _ => TelnetEvent::Nothing,
        }
    }
}

/// Encodes a client's answer to the request for its terminal's type.
pub(crate) fn terminal_type(name: &str) -> Vec<u8> {
    let mut out = vec![IAC, SB, TTYPE, 0];
    out.extend(name.bytes().filter(|b| *b != IAC));
    out.extend([IAC, SE]);
    out
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn receive(bytes: &[u8]) -> Vec<TelnetEvent> {
        let mut t = Telnet::default();
        bytes.iter().map(|b| t.receive(*b)).filter(|h| *h != TelnetEvent::Nothing).collect()
    }

    #[suite::test]
    fn takes_negotiations_out() {
        let mut stream = vec![b'a', IAC, DO, SGA, b'b', IAC, IAC, IAC, WILL, NAWS];
        stream.extend(terminal_type("vppctl"));
        stream.extend([
            IAC, SB, NAWS, 0, 80, IAC, IAC, 24, IAC, SE, b'c', IAC, 241, IAC, WONT, TTYPE, b'd',
        ]);
        assert_eq!(
            receive(&stream),
            [
                TelnetEvent::Data(b'a'),
                TelnetEvent::Data(b'b'),
                TelnetEvent::Data(IAC),
                TelnetEvent::Terminal(Some("vppctl".into())),
                TelnetEvent::Window(80, 0xff18),
                TelnetEvent::Data(b'c'),
                TelnetEvent::Terminal(None),
                TelnetEvent::Data(b'd'),
            ]
        );
    }

    #[suite::test]
    fn endless_sub_negotiations_keep_no_memory() {
        let mut t = Telnet::default();
        [IAC, SB].iter().for_each(|b| drop(t.receive(*b)));
        (0..100_000).for_each(|_| drop(t.receive(b'x')));
        assert_eq!(t.sub.len(), MAX_SUB);
    }

    #[suite::test]
    fn the_greeting_is_vpps() {
        let text =
            "fffc22 fffe22 fffb03 fffd03 fffb01 fffe01 fffd18 fffa1801fff0 fffd1f fffa1f01fff0";
        let bytes: String = GREETING.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(bytes, text.replace(' ', ""));
    }
}
