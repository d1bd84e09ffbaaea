// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::Header as _;
use proptest::collection::vec;
use proptest::prelude::*;
use zerocopy::IntoBytes;

fn name(text: &str) -> Name {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// A response of 8.8.8.8 in miniature: www.a.b is an alias of a.b, which has an address of each
/// version; all names behind the question are compressed.
const RESPONSE: &[u8] = b"\x12\x34\x81\x80\0\x01\0\x03\0\0\0\0\
    \x03www\x01a\x01b\0\0\x01\0\x01\
    \xc0\x0c\0\x05\0\x01\0\0\x01\x2c\0\x02\xc0\x10\
    \xc0\x10\0\x01\0\x01\0\0\0\x3c\0\x04\x01\x02\x03\x04\
    \xc0\x10\0\x1c\0\x01\x80\0\0\0\0\x10\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01";

#[suite::test]
fn names_are_read_and_written() {
    for (text, bytes) in [
        ("a", &b"\x01a\0"[..]),
        ("www.Example.com", b"\x03www\x07Example\x03com\0"),
        ("_sip._udp.x-1.org.", b"\x04_sip\x04_udp\x03x-1\x03org\0"),
    ] {
        assert_eq!(name(text).bytes(), bytes);
        assert_eq!(Name::read(bytes, 0), Ok((name(text), bytes.len())));
        assert_eq!(name(text).to_string(), text.trim_end_matches('.'));
    }
    assert_eq!(name("WWW.example.COM"), name("www.EXAMPLE.com"));
    assert_eq!(name("B.a").cmp(&name("b.A")), core::cmp::Ordering::Equal);
    assert_ne!(name("a.b"), name("ab"));
    assert_eq!((Name::root().to_string(), Name::root().labels().count()), (".".into(), 0));
    let odd = Name::read(b"\x04a.\\\x07\0", 0).expect("a name").0;
    assert_eq!(odd.to_string(), "a\\046\\092\\007");
    assert_eq!(Name::reverse([192, 0, 2, 17].into()), name("17.2.0.192.in-addr.arpa"));
    let six = Name::reverse("2001:db8::a1".parse().expect("an address"));
    assert!(
        six.to_string().starts_with("1.a.0.0.") && six.to_string().ends_with("1.0.0.2.ip6.arpa")
    );
    assert_eq!(six.labels().count(), 34);
}

#[suite::test]
fn texts_that_are_no_names_are_refused() {
    let long = "a".repeat(64);
    let longest = ["a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(61)].join(".");
    assert_eq!(name(&longest).bytes().len(), 255);
    for (text, error) in [
        ("", NameError::EmptyLabel),
        (".", NameError::EmptyLabel),
        ("a..b", NameError::EmptyLabel),
        (&long, NameError::LongLabel),
        (&format!("{longest}e"), NameError::Long),
        ("a b", NameError::Character),
        ("a\\b", NameError::Character),
        ("é.fr", NameError::Character),
    ] {
        assert_eq!(text.parse::<Name>(), Err(error), "{text}");
    }
}

#[suite::test]
fn pointers_lead_backwards() {
    // At 0 a name, at 4 one that ends in it, at 8 a pointer to that.
    let good = b"\x02ab\0\x01c\xc0\x00\xc0\x04";
    assert_eq!(Name::read(good, 4), Ok((name("c.ab"), 8)));
    assert_eq!(Name::read(good, 8), Ok((name("c.ab"), 10)));
    for (bytes, at, error) in [
        (&b"\xc0\x00"[..], 0, DnsError::Pointer),
        (b"\xc0\x02\xc0\x00", 0, DnsError::Pointer),
        (b"\x01a\xc0\x00", 0, DnsError::Pointer),
        (b"\x01a\xc0\x02", 2, DnsError::Pointer),
        // Two that lead to each other's labels.
        (b"\x01a\xc0\x04\x01b\xc0\x00", 0, DnsError::Pointer),
        (b"\x40a\0", 0, DnsError::Name),
        (b"\x80a\0", 0, DnsError::Name),
        (b"\x03ab", 0, DnsError::Short),
        (b"\x01a", 0, DnsError::Short),
        (b"\xc0", 0, DnsError::Short),
        (b"", 0, DnsError::Short),
    ] {
        assert_eq!(Name::read(bytes, at), Err(error), "{bytes:?}");
    }
    // A name that pointers make too long.
    let mut long = Vec::new();
    for i in 0..6u8 {
        long.push(60);
        long.extend([b'x'; 60]);
        match i {
            0 => long.push(0),
            _ => long.extend(
                (0xc000 | if i == 1 { 0 } else { 62 + 63 * u16::from(i - 2) }).to_be_bytes(),
            ),
        }
    }
    assert!(Name::read(&long, 62 + 63 * 2).is_ok());
    assert_eq!(Name::read(&long, 62 + 63 * 3), Err(DnsError::Name));
}

#[suite::test]
fn a_response_is_read() {
    let message = Message::parse(RESPONSE).expect("a message");
    assert_eq!((message.header.id.get(), message.header.rcode()), (0x1234, Rcode::NO_ERROR));
    assert!(message.header.has(DnsHeader::RESPONSE) && message.header.opcode() == 0);
    let asked = Question { name: name("www.a.b"), kind: RecordType::A, class: CLASS_IN };
    assert_eq!((&message.questions[..], message.questions_end), (&[asked][..], 25));
    let data: Vec<_> = message.answers.iter().map(|record| record.data.clone()).collect();
    let six = "2001:db8::1".parse().expect("an address");
    assert_eq!(
        data,
        [RecordData::Cname(name("a.b")), RecordData::A([1, 2, 3, 4].into()), RecordData::Aaaa(six)]
    );
    let ttls: Vec<_> = message.answers.iter().map(|record| record.ttl).collect();
    assert_eq!(ttls, [300, 60, 0], "a TTL with its highest bit is 0");
    let asked = name("www.a.b");
    let (canonical, chain) = message.canonical(&asked).expect("no circle");
    assert_eq!((canonical, chain.len()), (&name("a.b"), 1));
    // All that is shorter, and a byte more.
    for len in 0..RESPONSE.len() {
        assert!(Message::parse(&RESPONSE[..len]).is_err(), "{len}");
    }
    assert_eq!(Message::parse(&[RESPONSE, &[0]].concat()), Err(DnsError::Rest));
}

#[suite::test]
fn aliases_in_a_circle_end() {
    let mut bytes = DnsHeader { answers: 2.into(), ..DnsHeader::of(7, 0x8180) }.as_bytes().to_vec();
    let (a, b) = (name("a"), name("b"));
    assert!(put_record(&mut bytes, &a, 9, &RecordData::Cname(b.clone())));
    assert!(put_record(&mut bytes, &b, 9, &RecordData::Cname(a.clone())));
    assert_eq!(Message::parse(&bytes).expect("a message").canonical(&a), None);
}

#[suite::test]
fn messages_are_written_as_they_are_read() {
    let question = Question { name: name("4.3.2.1.in-addr.arpa"), kind: RecordType::PTR, class: 1 };
    let header = DnsHeader { questions: 1.into(), answers: 4.into(), ..DnsHeader::of(1, 0x8180) };
    let mut bytes = header.as_bytes().to_vec();
    put_question(&mut bytes, &question);
    let data = [
        RecordData::Ptr(name("bozo.clown.org")),
        RecordData::Cname(name("x.y")),
        RecordData::A([1, 2, 3, 4].into()),
        RecordData::Aaaa("::1".parse().expect("an address")),
    ];
    data.iter().for_each(|data| assert!(put_record(&mut bytes, &question.name, 77, data)));
    assert!(!put_record(&mut bytes, &question.name, 77, &RecordData::Other(9)));
    let message = Message::parse(&bytes).expect("a message");
    assert_eq!((DnsHeader::view(&bytes), &message.questions[..]), (Some(&header), &[question][..]));
    let read: Vec<_> = message.answers.iter().map(|record| record.data.clone()).collect();
    assert_eq!(read, data);
    for record in message.records() {
        assert_eq!(bytes[record.ttl_at..record.ttl_at + 4], 77u32.to_be_bytes());
    }
}

proptest! {
    #[suite::test]
    fn changed_bytes_are_read_or_refused(
        flips in vec((0..RESPONSE.len(), any::<u8>()), 0..6),
        cut in 0..8usize,
    ) {
        let mut input = RESPONSE.to_vec();
        flips.iter().for_each(|(at, byte)| input[*at] = *byte);
        input.truncate(input.len() - cut);
        if let Ok(message) = Message::parse(&input) {
            for record in message.records() {
                prop_assert!(record.name.bytes().len() <= 255 && record.ttl_at + 4 < input.len());
            }
            for question in &message.questions {
                let _ = message.canonical(&question.name);
                let mut again = Vec::new();
                put_question(&mut again, question);
                let name = Name::read(&again, 0).map(|(name, _)| name);
                prop_assert_eq!(name, Ok(question.name.clone()));
            }
        }
    }
}
