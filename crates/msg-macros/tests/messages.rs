// SPDX-License-Identifier: Apache-2.0
//! Lists that aren't one of messages. A macro crate can't be linked, so its module stands here
//! again.

#[path = "../src/expand/mod.rs"]
mod expand;

fn refused(list: &str) -> String {
    let error = expand::expand(list.parse().expect("tokens")).map(|code| code.to_string());
    error.expect_err("no list of messages").to_string()
}

#[suite::test]
fn mistakes_are_named_with_their_mend() {
    for (list, why) in [
        ("LampSett", "no table has a message or type LampSett; near it are LampSet, LampSetReply."),
        ("lamp_set", "no table has a message or type lamp_set"),
        ("flags LampSet", "lamp_set is neither an enum nor flags: leave out `flags`"),
        ("retval LampSet", "lamp_set is no reply: leave out `retval`"),
        ("LampDump", "LampDump is answered by LampDetails: add it to the list"),
        ("LampSet LampDump", "expected `flags`, `retval` or a comma"),
        ("#[from(LampNam)] LampName", "no table has a message or type LampNam"),
        (
            "#[from(LampDump)] LampName",
            "LampName has no field n, and LampDump no field name: write the conversion by hand",
        ),
    ] {
        let refused = refused(list);
        assert!(refused.starts_with(why), "{list}: {refused}");
    }
}

#[suite::test]
fn names_are_those_of_the_tables() {
    let code =
        |list: &str| expand::expand(list.parse().expect("tokens")).expect("good").to_string();
    for (list, part) in [
        ("VirtioNetFeaturesFirst32", "pub enum VirtioNetFeaturesFirst32"),
        (
            "SwInterfaceDump, SwInterfaceDetails",
            "const NAME : & 'static str = \"sw_interface_dump\"",
        ),
        ("PuntSocketDump, PuntSocketDetails", "pub r#type : PuntType"),
        ("FibPathNhProto", "Ip4 = 0"),
        ("FibPath", "derive (Clone , Copy , Debug , Default , Eq , PartialEq)"),
        ("QosEgressMapRow", "derive (Clone , Copy , Debug , Eq , PartialEq)"),
        ("IpRoute", "derive (Clone , Debug , Default , Eq , PartialEq)"),
        ("flags FibPathFlags", "pub const RESOLVE_VIA_HOST : Self = Self (2)"),
        ("#[from(TapCreateV2)] TapCreateV3, TapCreateV3Reply", "num_tx_queues : 1"),
        (
            "#[from(TapCreateV2)] TapCreateV3, TapCreateV3Reply",
            "num_rx_queues : other . num_rx_queues . into ()",
        ),
    ] {
        let code = code(list);
        assert!(code.contains(part), "{list}: {code}");
    }
}

#[suite::test]
fn every_name_stands_for_code() {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    let camel = |name: &str| name.split('_').map(word).collect::<String>();
    let tables = msg_table::tables();
    let list: Vec<_> = tables.names().map(camel).collect();
    let code = expand::expand(list.join(", ").parse().expect("names")).expect("good").to_string();
    let messages = tables.names().filter(|name| tables.message(name).is_some()).count();
    assert_eq!(code.matches("impl :: msg :: Message for").count(), messages);
    assert_eq!(code.matches("impl :: msg :: Wire for").count(), list.len() - messages);
}
