// SPDX-License-Identifier: Apache-2.0
//! Messages of DNS: no panic; what is read lies within the message, and names are read again from
//! what is written.

use wire::dns::{HEADER, Message, Name, put_question, put_record};

/// One input.
pub fn run(message: &[u8]) {
    let Ok(parsed) = Message::parse(message) else { return };
    assert!((HEADER..=message.len()).contains(&parsed.questions_end));
    for question in &parsed.questions {
        check(&question.name);
        // Aliases end, also those in a circle.
        if let Some((canonical, chain)) = parsed.canonical(&question.name) {
            assert!(chain.len() <= parsed.answers.len());
            check(canonical);
        }
        let mut again = Vec::new();
        put_question(&mut again, question);
        assert_eq!(again.len(), question.name.bytes().len() + 4);
    }
    for record in parsed.records() {
        check(&record.name);
        assert!(record.ttl_at >= parsed.questions_end && record.ttl_at + 6 <= message.len());
        assert!(record.ttl >> 31 == 0);
        let mut again = message.get(..HEADER).unwrap_or_default().to_vec();
        again[4..].fill(0);
        again[7] = 1;
        if put_record(&mut again, &record.name, record.ttl, &record.data) {
            let read = Message::parse(&again).expect("what was written");
            assert_eq!(
                (&read.answers[0].name, &read.answers[0].data),
                (&record.name, &record.data)
            );
        }
    }
}

fn check(name: &Name) {
    let bytes = name.bytes();
    assert!(bytes.len() <= 255 && bytes.last() == Some(&0));
    assert_eq!(Name::read(bytes, 0), Ok((name.clone(), bytes.len())));
    // A name of printable labels is the same behind its text.
    if let Ok(again) = name.to_string().parse::<Name>() {
        assert_eq!(again, *name);
    }
}
