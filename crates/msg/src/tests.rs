// SPDX-License-Identifier: Apache-2.0
use crate::memclnt::{ControlPing, SockclntCreate};
use crate::*;
use cli::Error;
use proptest::prelude::*;
use std::time::Duration;

/// The world that the handlers work on.
#[derive(Default)]
struct Lamp;

/// Stands for the type of `net::api`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct InterfaceIndex(pub u32);

impl Wire for InterfaceIndex {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Wire::get(r).map(Self)
    }
}

msg::messages! {
    LampColour,
    LampMode,
    LampPart,
    LampIndex,
    /// Everything that a message may hold.
    #[derive(Clone)]
    LampSet,
    LampSetReply,
    LampAddReply,
    LampDump,
    LampDetails,
    LampRareDump,
    LampRareDetails,
    WantLampEvents,
    LampEvent,
    LampName,
}

static LAMP: Module<Lamp> = Module::plugin("lamp", |m| {
    m.call(|_, r: LampSet| match r.mode {
        LampMode::Off => Err(Error::not_found("no such lamp").retval(retval::NO_SUCH_ENTRY)),
        LampMode::DimLight => Ok(LampSetReply { was: u64::from(r.lamp.0) }),
    });
    m.dump(|_, r: LampDump| Ok((0..r.n).map(|i| LampDetails { lamp: LampIndex(i) })));
    m.call_by(|_, caller, r: WantLampEvents| {
        caller.hub.subscribe::<LampEvent>(caller, r.pid, r.enable);
        Ok(())
    });
    m.answer::<LampEvent>();
});

fn hub() -> Hub<Lamp> {
    Hub::new([&LAMP]).unwrap()
}

fn frame(id: u16, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut payload = id.to_be_bytes().to_vec();
    body(&mut payload);
    let mut all = vec![0; 8];
    all.extend((payload.len() as u32).to_be_bytes());
    all.extend([0; 4]);
    all.extend(payload);
    all
}

fn request<M: Message>(hub: &Hub<Lamp>, context: u32, message: &M) -> Vec<u8> {
    let head = Head { client_index: 1, context, ..Head::default() };
    frame(hub.table().find(M::NAME).unwrap(), |out| {
        head.put(M::HEAD, out);
        message.put(out);
    })
}

/// The frames of an output: id, bytes behind it.
fn frames(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let n = u32::from_be_bytes(bytes[8..12].try_into().unwrap()) as usize;
        let payload = &bytes[16..16 + n];
        all.push((u16::from_be_bytes([payload[0], payload[1]]), payload[2..].to_vec()));
        bytes = &bytes[16 + n..];
    }
    all
}

struct Client {
    hub: Hub<Lamp>,
    session: Session<Lamp>,
}

impl Client {
    fn new() -> Self {
        let mut client = Client { hub: hub(), session: Session::default() };
        let hello = request(&client.hub, 5, &SockclntCreate { name: "test".into() });
        let answer = client.exchange(&hello).unwrap();
        assert_eq!(answer.len(), 1);
        assert_eq!(answer[0].0, 16);
        client
    }

    fn exchange(&mut self, bytes: &[u8]) -> Result<Vec<(u16, Vec<u8>)>, Fault> {
        self.session.receive(bytes)?;
        self.turn()
    }

    fn turn(&mut self) -> Result<Vec<(u16, Vec<u8>)>, Fault> {
        let mut sent = Vec::new();
        loop {
            let turn = self.session.run(&Lamp, &self.hub, Duration::ZERO, 100)?;
            let full = !self.session.output().is_empty();
            sent.extend_from_slice(self.session.output());
            self.session.sent(self.session.output().len());
            if !turn.more && !full {
                return Ok(frames(&sent));
            }
        }
    }
}

fn lamp_set(mode: LampMode) -> LampSet {
    LampSet {
        lamp: LampIndex(9),
        mode,
        colour: LampColour::RED | LampColour::BLUE,
        name: "a-name-too-long".into(),
        parts: vec![LampPart { id: 1, place: [2, 3, 4] }, LampPart { id: 5, place: [6, 7, 8] }],
        level: 0.5,
        codes: vec![10],
        note: "ok".into(),
    }
}

#[suite::test]
fn known_numbers_and_crcs() {
    let hub = hub();
    let expected = [
        (15, "sockclnt_create_455fb9c4"),
        (16, "sockclnt_create_reply_35166268"),
        (17, "sockclnt_delete_8ac76db6"),
        (18, "sockclnt_delete_reply_8f38b1ee"),
        (23, "control_ping_51077d14"),
        (24, "control_ping_reply_f6b0b8ca"),
        (27, "get_api_json_51077d14"),
        (28, "get_api_json_reply_ea715b59"),
    ];
    for (id, name) in expected {
        assert_eq!(hub.table().get(id).unwrap().name_crc(), name);
        assert_eq!(hub.table().find(name), Some(id));
    }
    assert_eq!(hub.table().get(0).map(Entry::name_crc), None);
}

/// The last members of these came after they were published: VPP's CRCs don't count them.
const GROWN: [&str; 7] = [
    "af_packet_flags",
    "af_xdp_flag",
    "ipsec_crypto_alg",
    "sr_behavior",
    "tap_flags",
    "tunnel_encap_decap_flags",
    "virtio_flags",
];

/// As VPP computes them: so ours would be the same there.
#[suite::test]
fn crcs_are_as_published() {
    let names = tables().published().flat_map(|(_, module)| &module.messages);
    for message in names.map(|name| tables().message(name).expect("published")) {
        let mut grown = false;
        for field in &message.fields {
            field.kind.visit(&mut |kind| grown |= GROWN.contains(&kind.name));
        }
        let crc = crc::crc(&message.fields);
        assert!(grown || message.crc == Some(crc), "{}: {crc:08x}", message.name);
    }
}

#[suite::test]
fn features_may_share_a_module() {
    static NAMES: Module<Lamp> = Module::plugin("lamp", |m| m.call(|_, _: LampName| Ok(())));
    static OTHER: Module<Lamp> = Module::plugin("bulb", |_| ());
    let hub = Hub::new([&LAMP, &OTHER, &NAMES]).unwrap();
    let names: Vec<_> = hub.table().modules().iter().map(|m| m.name).collect();
    assert_eq!(names, ["memclnt", "lamp", "bulb"]);
    // One behind the other, so that a client may count from the first.
    let (lamp, bulb) = (&hub.table().modules()[1], &hub.table().modules()[2]);
    let of_lamp: Vec<_> =
        hub.table().entries().filter(|(_, e)| e.module == 1).map(|(id, _)| id).collect();
    assert_eq!(of_lamp, (lamp.first..bulb.first).collect::<Vec<_>>());
    assert_eq!(hub.table().find("lamp_name_reply"), Some(bulb.first - 1));
    let fault = |module| Hub::new([&LAMP, &module]).err().unwrap();
    let error = fault(Module::core("lamp", |_| ()));
    assert_eq!(error, "two features differ on what module lamp is");
    let error = fault(Module::plugin("bulb", |m| m.call(|_, _: LampName| Ok(()))));
    assert_eq!(error, "lamp_name is a message of lamp, not of bulb");
    assert_eq!(fault(Module::plugin("candle", |_| ())), "no table has candle");
}

#[suite::test]
fn values_go_over_the_wire_and_back() {
    let message = lamp_set(LampMode::DimLight);
    let mut bytes = Vec::new();
    message.put(&mut bytes);
    let back = LampSet::get(&mut Reader::new(&bytes)).unwrap();
    assert_eq!(back, LampSet { name: "a-name-".into(), ..message });
    // lamp 4, mode 2, colour 1, name 8, n_parts 1, parts 14, level 8, n_codes 2, codes 4, note 4 +
    // 2
    assert_eq!(bytes.len(), 50);
    assert!(message.colour.has(LampColour::BLUE) && LampColour::RED.when(false) == LampColour(0));
    assert_eq!(&bytes[..9], [0, 0, 0, 9, 0, 7, 3, 2, b'a']);
    for n in 0..bytes.len() {
        assert_eq!(LampSet::get(&mut Reader::new(&bytes[..n])), Err(Malformed::Short), "{n} bytes");
    }
}

#[suite::test]
fn requests_are_answered_in_order() {
    let mut client = Client::new();
    let mut all = request(&client.hub, 1, &lamp_set(LampMode::DimLight));
    all.extend(request(&client.hub, 2, &LampDump { n: 3 }));
    all.extend(request(&client.hub, 3, &ControlPing {}));
    all.extend(request(&client.hub, 4, &lamp_set(LampMode::Off)));
    // Byte by byte is the same as at once.
    let mut answers = Vec::new();
    for byte in &all {
        answers.extend(client.exchange(&[*byte]).unwrap());
    }
    let id = |name: &str| client.hub.table().find(name).unwrap();
    let ids: Vec<_> = answers.iter().map(|a| a.0).collect();
    let details = id("lamp_details");
    assert_eq!(ids, [id("lamp_set_reply"), details, details, details, 24, id("lamp_set_reply")]);
    assert_eq!(answers[0].1, [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
    assert_eq!(answers[2].1, [0, 0, 0, 2, 0, 0, 0, 1]);
    assert_eq!(answers[5].1[..8], [0, 0, 0, 4, 0xff, 0xff, 0xff, 0xfa]);
    assert_eq!(answers[5].1.len(), 16);
    assert_eq!(client.exchange(&all).unwrap(), answers);
}

#[suite::test]
fn a_long_answer_waits_for_its_reader() {
    let mut client = Client::new();
    let dump = request(&client.hub, 2, &LampDump { n: u32::MAX });
    client.session.receive(&dump).unwrap();
    client.session.receive(&dump).unwrap();
    while client.session.run(&Lamp, &client.hub, Duration::ZERO, 100).unwrap().more {}
    let waiting = client.session.output().len();
    assert!((256 << 10..257 << 10).contains(&waiting), "{waiting}");
    assert!(!client.session.wants_input());
    client.session.sent(1);
    let turn = client.session.run(&Lamp, &client.hub, Duration::ZERO, 100);
    assert_eq!(turn, Ok(TurnResult { full: true, ..TurnResult::default() }));
}

/// Looks for lamps whose number is a multiple of 300.
static RARE: Module<Lamp> = Module::plugin("lamp", |m| {
    m.dump_some(|_, r: LampRareDump| {
        let of = |n: u32| n.is_multiple_of(300).then_some(LampRareDetails { lamp: LampIndex(n) });
        Ok((0..r.n).map(of))
    });
});

#[suite::test]
fn a_dump_that_finds_little_takes_many_turns() {
    let mut client = Client { hub: Hub::new([&LAMP, &RARE]).unwrap(), session: Session::default() };
    let hello = request(&client.hub, 5, &SockclntCreate { name: "test".into() });
    client.exchange(&hello).unwrap();
    let dump = request(&client.hub, 2, &LampRareDump { n: 1000 });
    client.session.receive(&dump).unwrap();
    let mut turns = 0;
    while client.session.run(&Lamp, &client.hub, Duration::ZERO, 100).unwrap().more {
        turns += 1;
    }
    assert_eq!(turns, 10);
    let lamps: Vec<_> =
        frames(client.session.output()).into_iter().map(|(_, b)| b[4..].to_vec()).collect();
    assert_eq!(lamps, [0u32, 300, 600, 900].map(|n| n.to_be_bytes().to_vec()));
}

#[suite::test]
fn events_go_to_those_who_asked() {
    let mut client = Client::new();
    let event = LampEvent { lamp: LampIndex(3), text: "on".into() };
    client.hub.publish(&event);
    let want = request(&client.hub, 2, &WantLampEvents { enable: true, pid: 77 });
    assert_eq!(client.exchange(&want).unwrap().len(), 1);
    assert!(client.hub.has_subscribers::<LampEvent>());
    client.hub.publish(&event);
    let events = client.turn().unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].1[4..], [0, 0, 0, 77, 0, 0, 0, 3, 0, 0, 0, 2, b'o', b'n']);
    assert_eq!(client.hub.list()[0].events, ["lamp_event"]);
    let long = LampEvent { lamp: LampIndex(3), text: "x".repeat(1 << 20) };
    (0..10).for_each(|_| client.hub.publish(&long));
    assert_eq!(client.turn(), Err(Fault::Slow));
    client.session.end(&client.hub);
    assert!(client.hub.list().is_empty() && !client.hub.has_subscribers::<LampEvent>());
}

#[suite::test]
fn garbage_ends_a_connection_or_is_counted() {
    let mut client = Client::new();
    assert_eq!(client.exchange(&frame(999, |_| {})).unwrap(), []);
    assert_eq!(client.exchange(&frame(0, |_| {})).unwrap(), []);
    assert_eq!(client.hub.unknown(), 2);
    // Too short: no answer. A value that isn't: an answer.
    let mut short = request(&client.hub, 1, &LampDump { n: 1 });
    short.truncate(short.len() - 1);
    short[11] -= 1;
    assert_eq!(client.exchange(&short).unwrap(), []);
    let mut bad = request(&client.hub, 1, &lamp_set(LampMode::Off));
    bad[16 + 2 + 8 + 4] = 9;
    let answer = client.exchange(&bad).unwrap();
    assert_eq!(answer[0].1[..8], [0, 0, 0, 1, 0xff, 0xff, 0xff, 0xf9]);
    assert_eq!(answer[0].1.len(), 16);

    let oversize = [&[0; 8][..], &[0xff; 4], &[0; 4]].concat();
    assert_eq!(client.exchange(&oversize), Err(Fault::Oversize(u32::MAX)));
    let mut fresh = Client { hub: hub(), session: Session::default() };
    assert_eq!(fresh.exchange(&[0; 16]), Err(Fault::Empty));
    let mut stranger = Client { hub: hub(), session: Session::default() };
    assert_eq!(
        stranger.exchange(&frame(23, |b| b.extend([0; 8])).repeat(20)),
        Err(Fault::Stranger)
    );
}

#[suite::test]
fn shared_memory_is_refused_with_a_word() {
    let mut client = Client { hub: hub(), session: Session::default() };
    let answer = client.exchange(&frame(1, |b| b.extend([0; 4 + 4 + 8 + 64 + 32]))).unwrap();
    assert_eq!((answer[0].0, &answer[0].1[4..8]), (2, &[0xff, 0xff, 0xff, 0xf7][..]));
}

#[suite::test]
fn the_description_has_everything() {
    let hub = hub();
    let json = api_json(hub.table(), 1);
    assert_eq!(json["messages"][0][0], "lamp_set");
    assert_eq!(json["messages"][0][8], serde_json::json!(["string", "name", 8]));
    assert_eq!(
        json["messages"][0][9],
        serde_json::json!(["vl_api_lamp_part_t", "parts", 0, "n_parts"])
    );
    assert_eq!(
        json["types"],
        serde_json::json!([["lamp_part", ["u8", "id"], ["u16", "place", 3]]])
    );
    assert_eq!(
        json["enums"][0],
        serde_json::json!(["lamp_mode", ["LAMP_MODE_OFF", 0], ["LAMP_MODE_DIM_LIGHT", 7], { "enumtype": "u16" }])
    );
    assert_eq!(json["enumflags"][0][3], serde_json::json!({ "enumtype": "u8" }));
    assert_eq!(json["aliases"]["lamp_index"], serde_json::json!({ "type": "u32" }));
    assert_eq!(
        json["services"]["lamp_dump"],
        serde_json::json!({ "reply": "lamp_details", "stream": true })
    );
    assert_eq!(json["services"]["want_lamp_events"]["events"], serde_json::json!(["lamp_event"]));
    assert_eq!(api_json_whole(hub.table())[1], json);
}

proptest! {
    #[suite::test]
    fn no_bytes_make_it_panic(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..20)) {
        let mut client = Client::new();
        for chunk in chunks {
            if client.exchange(&chunk).is_err() { break; }
        }
    }

    #[suite::test]
    fn no_message_makes_it_panic(id in 0u16..60, body in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut client = Client::new();
        // A dump of what four bytes may ask for takes its time.
        let dump = client.hub.table().find("lamp_dump").unwrap();
        if id != dump {
            let _ = client.exchange(&frame(id, |b| b.extend(body)));
        }
    }
}

thread_local! {
    static REPORTED: std::cell::RefCell<Vec<String>> = const { std::cell::RefCell::new(Vec::new()) };
}

fn reported() -> Vec<String> {
    REPORTED.take()
}

#[suite::test]
fn changes_are_reported_with_the_client_and_what_failed() {
    let mut client = Client::new();
    let all = |client: &Client| {
        let set = |mode| request(&client.hub, 1, &lamp_set(mode));
        let want = request(&client.hub, 1, &WantLampEvents { enable: true, pid: 1 });
        let dump = request(&client.hub, 1, &LampDump { n: 2 });
        let ping = request(&client.hub, 1, &ControlPing {});
        let mut short = set(LampMode::Off);
        short.truncate(30);
        short[8..12].copy_from_slice(&14u32.to_be_bytes());
        [set(LampMode::DimLight), want, dump, set(LampMode::Off), ping, short].concat()
    };
    // Changes aren't watched yet.
    client.exchange(&all(&client)).unwrap();
    assert_eq!((reported(), client.session.report_at()), (vec![], None));
    client.hub.watch_changes(|client, line| {
        REPORTED.with_borrow_mut(|all| all.push(format!("{client}: {line}")))
    });
    client.exchange(&all(&client)).unwrap();
    assert_eq!(reported(), ["test: lamp_set", "test: lamp_set failed: -6"]);
    assert_eq!(client.session.report_at(), Some(Duration::from_secs(1)));

    // Many more: a summary, when nothing more comes.
    let many = request(&client.hub, 1, &lamp_set(LampMode::Off)).repeat(1000);
    client.exchange(&many).unwrap();
    assert_eq!(reported(), vec!["test: lamp_set failed: -6"; 18]);
    client.session.run(&Lamp, &client.hub, Duration::from_millis(999), 100).unwrap();
    assert_eq!(reported(), [""; 0]);
    client.session.run(&Lamp, &client.hub, Duration::from_secs(1), 100).unwrap();
    assert_eq!(
        reported(),
        ["test: 982 more in 0.0 s: lamp_set 982 (982 failed, the last one: -6)"]
    );
    assert_eq!(client.session.report_at(), None);

    // Or when the client goes.
    client.exchange(&many[..many.len() / 40]).unwrap();
    assert_eq!(reported().len(), 20);
    client.session.end(&client.hub);
    assert_eq!(reported(), ["test: 5 more in 0.0 s: lamp_set 5 (5 failed, the last one: -6)"]);
}

#[suite::test]
fn text_that_a_configuration_could_not_hold_does_not_come_in() {
    for (bytes, want) in [
        (&b"caf\xc3\xa9\0rest"[..], "café"),
        (b"a\xffb", "a?b"),
        ("a\u{fffd}b".as_bytes(), "a?b"),
        (b"\xc3", "?"),
        (b"", ""),
    ] {
        assert_eq!(wire::text_of(bytes), want);
        let mut fixed = [0; 16];
        fixed[..bytes.len()].copy_from_slice(bytes);
        assert_eq!(Str::<16>::get(&mut Reader::new(&fixed)).expect("text").as_str(), want);
    }
}
