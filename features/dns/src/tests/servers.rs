// SPDX-License-Identifier: Apache-2.0
//! Servers that are silent, fail, or don't say everything.

use super::*;

#[suite::test]
fn a_silent_server_is_asked_again_then_another_one() {
    let mut rig = rig();
    rig.cli("dns name-server 10.9.0.9");
    let first = one(pass(&mut rig, &ask(2, 7, "www.example.com", RecordType::A)));
    assert_eq!(wait(&mut rig, 300), []);
    let second = one(wait(&mut rig, 700));
    assert_eq!((first.to, second.to), (at("10.0.1.2", 53), at("10.9.0.9", 53)));
    assert!((first.id(), first.from) != (second.id(), second.from), "another id or port");
    let got = one(pass(&mut rig, &response(&second, 0, &[a("www.example.com", 9, [1; 4])], None)));
    assert_eq!((got.port, addresses(&got).0.len()), (0, 1));
    // The first one comes too late, and the second is preferred from now on.
    let late = response(&first, 0, &[a("www.example.com", 9, [2; 4])], None);
    assert_eq!(pass(&mut rig, &late), []);
    let third = one(pass(&mut rig, &ask(2, 7, "b.example.com", RecordType::A)));
    assert_eq!(third.to, second.to);
}

#[suite::test]
fn servers_that_all_are_silent_are_given_up() {
    let mut rig = rig();
    assert_eq!(pass(&mut rig, &ask(2, 7, "www.example.com", RecordType::A)).len(), 1);
    let mut asked = Vec::new();
    for second in 1..=7u64 {
        let sent = wait(&mut rig, 1000);
        if let [datagram] = &sent[..]
            && datagram.port == 1
        {
            asked.push(second);
        }
        if second == 7 {
            let got = one(sent);
            assert_eq!((got.port, got.id(), got.parsed().header.rcode().0), (0, 7, 2));
        }
    }
    assert_eq!(asked, [1, 3], "after one and two seconds, and four for the last");
    let shown = rig.cli("show dns cache");
    let known = "    www.example.com: A no server answers  TTL left ";
    assert!(shown.starts_with(known) && shown.lines().count() == 1, "{shown}");
}

#[suite::test]
fn a_server_that_fails_leaves_it_to_the_next_at_once() {
    let mut rig = rig();
    rig.cli("dns name-server 10.9.0.9");
    let first = one(pass(&mut rig, &ask(2, 7, "www.example.com", RecordType::A)));
    let second = one(pass(&mut rig, &response(&first, 5, &[], None)));
    assert!(second.port == 1 && second.to != first.to);
    let got = one(pass(&mut rig, &response(&second, 4, &[], None)));
    assert_eq!((got.port, got.parsed().header.rcode().0), (0, 4), "the last one's");
    // No server is asked for a while.
    let got = one(pass(&mut rig, &ask(3, 8, "www.example.com", RecordType::A)));
    assert_eq!((got.port, got.id(), got.parsed().header.rcode().0), (0, 8, 4));
    wait(&mut rig, 5000);
    assert_eq!(one(pass(&mut rig, &ask(3, 9, "www.example.com", RecordType::A))).port, 1);
}

#[suite::test]
fn a_server_that_fails_is_asked_again_only_if_another_one_is_silent() {
    let mut rig = rig();
    rig.cli("dns name-server 10.9.0.9");
    let first = one(pass(&mut rig, &ask(2, 7, "www.example.com", RecordType::A)));
    let second = one(wait(&mut rig, 1000));
    assert!(second.port == 1 && second.to != first.to);
    assert_eq!(pass(&mut rig, &response(&second, 2, &[], None)), [], "not at once");
    let third = one(wait(&mut rig, 1000));
    assert_eq!((third.port, third.to), (1, first.to));
    let got = one(pass(&mut rig, &response(&third, 0, &[a("www.example.com", 9, [1; 4])], None)));
    assert_eq!((got.port, addresses(&got).0.len()), (0, 1));
}

#[suite::test]
fn an_alias_to_nothing_ends_with_its_own_ttl() {
    let mut rig = rig();
    let asked = one(pass(&mut rig, &ask(2, 7, "a.example", RecordType::A)));
    let answers = [alias("a.example", 20, "b.example")];
    let got = one(pass(&mut rig, &response(&asked, 3, &answers, Some((200, 200)))));
    assert_eq!((got.port, got.parsed().header.rcode().0), (0, 3));
    wait(&mut rig, 10_000);
    assert_eq!(one(pass(&mut rig, &ask(2, 7, "a.example", RecordType::A))).port, 0);
    wait(&mut rig, 10_000);
    assert_eq!(one(pass(&mut rig, &ask(2, 7, "a.example", RecordType::A))).port, 1);
}

#[suite::test]
fn an_answer_behind_followed_aliases_keeps_its_flag_and_its_zone() {
    let mut rig = rig();
    let mut follow = |text: &str, flags, soa| {
        let asked = one(pass(&mut rig, &ask(2, 7, text, RecordType::A)));
        let step = alias(text, 50, "end.example");
        let next = one(pass(&mut rig, &response(&asked, 0, &[step], None)));
        let got = one(pass(&mut rig, &response(&next, flags, &[], soa)));
        let again = pass(&mut rig, &ask(2, 7, text, RecordType::A));
        (got.parsed(), again[0].port)
    };
    let (cut, port) = follow("a.example", DnsHeader::TRUNCATED, None);
    assert!(cut.header.has(DnsHeader::TRUNCATED) && cut.answers.len() == 1);
    assert_eq!(port, 1, "it isn't kept");
    let (none, port) = follow("b.example", 3, Some((40, 30)));
    assert_eq!((none.header.rcode().0, none.answers.len(), port), (3, 1, 0));
    let [zone] = &none.authority[..] else { panic!("{none:?}") };
    assert_eq!((zone.ttl, &zone.data), (40, &RecordData::Soa(wire::dns::Soa { minimum: 30 })));
}

#[suite::test]
fn that_a_name_or_type_does_not_exist_is_kept_as_the_zone_says() {
    let mut rig = rig();
    for (text, rcode, soa, kept) in [
        ("a.example", 3, Some((900, 60)), 60),
        ("b.example", 3, Some((30, 60)), 30),
        ("c.example", 0, Some((9000, 9000)), 300),
        ("d.example", 3, None, 0),
        ("e.example", 0, None, 0),
    ] {
        let asked = one(pass(&mut rig, &ask(2, 7, text, RecordType::A)));
        let got = one(pass(&mut rig, &response(&asked, rcode, &[], soa)));
        assert_eq!((got.port, got.parsed().header.rcode().0), (0, rcode as u8), "{text}");
        if kept > 0 {
            wait(&mut rig, (kept - 10) * 1000);
            let got = one(pass(&mut rig, &ask(2, 7, text, RecordType::A)));
            assert_eq!((got.port, got.parsed().header.rcode().0), (0, rcode as u8), "{text}");
            let shown = rig.cli("show dns cache");
            let what = if rcode == 3 { "no such name" } else { "no such records" };
            assert!(shown.contains(&format!("    {text}: A {what}  TTL left ")), "{shown}");
        }
        wait(&mut rig, 10_000);
        assert_eq!(one(pass(&mut rig, &ask(2, 7, text, RecordType::A))).port, 1, "{text}");
        rig.seconds(20);
        sent(&rig);
    }
}

#[suite::test]
fn lifetimes_are_bounded_and_zero_is_not_kept() {
    let mut rig = rig();
    let mut get = |text: &str, ttl| {
        let asked = one(pass(&mut rig, &ask(2, 7, text, RecordType::A)));
        let got = one(pass(&mut rig, &response(&asked, 0, &[a(text, ttl, [1; 4])], None)));
        (addresses(&got).1, one(pass(&mut rig, &ask(2, 7, text, RecordType::A))).port)
    };
    assert_eq!(get("a.example", 1_000_000), (Some(86_400), 0));
    assert_eq!(get("b.example", 0), (Some(0), 1));
}

#[suite::test]
fn a_truncated_answer_is_passed_on_and_not_kept() {
    let mut rig = rig();
    let asked = one(pass(&mut rig, &ask(2, 7, "t.example", RecordType::TXT)));
    let got = one(pass(&mut rig, &response(&asked, DnsHeader::TRUNCATED, &[], None)));
    assert!(got.port == 0 && got.parsed().header.has(DnsHeader::TRUNCATED));
    assert_eq!(one(pass(&mut rig, &ask(2, 7, "t.example", RecordType::TXT))).port, 1);
}

#[suite::test]
fn records_of_other_types_pass_as_they_are() {
    let mut rig = rig();
    let asked = one(pass(&mut rig, &ask(2, 7, "m.example", RecordType::MX)));
    let mut answer = response(&asked, 0x20, &[], None);
    answer.message[7] = 1;
    // Preference 10, and a name that ends in the question's.
    answer.message.extend(b"\xc0\x0c\0\x0f\0\x01\0\0\0\x64\0\x09\0\x0a\x04mail\xc0\x0c");
    let got = one(pass(&mut rig, &answer));
    assert_eq!(got.message[12..], answer.message[12..]);
    assert_eq!(got.message[..4], [0, 7, 0x81, 0x80], "nothing is authentic");
    rig.bench.world.clock.adjust(10_500 * MS);
    let again = one(pass(&mut rig, &ask(3, 9, "M.example", RecordType::MX)));
    let ttl = got.message.len() - 15;
    assert!((85..=90).contains(&again.message[ttl + 3]), "{again:?}");
    assert_eq!((again.message[13], &again.message[ttl + 4..]), (b'M', &got.message[ttl + 4..]));
}

#[suite::test]
fn aliases_that_a_server_does_not_follow_are_followed() {
    let mut rig = rig();
    let asked = one(pass(&mut rig, &ask(2, 7, "a.example", RecordType::A)));
    let next =
        one(pass(&mut rig, &response(&asked, 0, &[alias("a.example", 50, "b.example")], None)));
    assert_eq!(next.parsed().questions, [question("b.example", RecordType::A)]);
    let answers = [alias("b.example", 40, "c.example"), a("c.example", 30, [1, 2, 3, 4])];
    let got = one(pass(&mut rig, &response(&next, 0, &answers, None)));
    let parsed = got.parsed();
    assert_eq!(parsed.questions, [question("a.example", RecordType::A)]);
    let records: Vec<_> =
        parsed.answers.iter().map(|r| (r.name.clone(), r.ttl, r.data.clone())).collect();
    assert_eq!(records, [&[alias("a.example", 50, "b.example")], &answers[..]].concat());
    let got = one(pass(&mut rig, &ask(3, 9, "a.example", RecordType::A)));
    assert!(got.port == 0 && addresses(&got).1 <= Some(30));
    // In a circle over two answers, and over one.
    let asked = one(pass(&mut rig, &ask(2, 7, "x.example", RecordType::A)));
    let next =
        one(pass(&mut rig, &response(&asked, 0, &[alias("x.example", 50, "y.example")], None)));
    let got =
        one(pass(&mut rig, &response(&next, 0, &[alias("y.example", 50, "x.example")], None)));
    assert_eq!((got.port, got.parsed().header.rcode().0), (0, 2));
    let asked = one(pass(&mut rig, &ask(2, 7, "u.example", RecordType::A)));
    let circle = [alias("u.example", 50, "v.example"), alias("v.example", 50, "u.example")];
    let got = one(pass(&mut rig, &response(&asked, 0, &circle, None)));
    assert_eq!((got.port, got.parsed().header.rcode().0), (0, 2), "as a server that fails");
    // Without an end.
    let mut asked = one(pass(&mut rig, &ask(2, 7, "n0.example", RecordType::A)));
    for i in 0..9 {
        let step = alias(&format!("n{i}.example"), 50, &format!("n{}.example", i + 1));
        asked = one(pass(&mut rig, &response(&asked, 0, &[step], None)));
        assert_eq!(asked.port == 1, i < 8, "{i}");
    }
    assert_eq!(asked.parsed().header.rcode().0, 2);
}
