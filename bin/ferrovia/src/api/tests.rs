// SPDX-License-Identifier: Apache-2.0
use graph::World;
use serde_json::Value;

fn hub() -> msg::Hub<World> {
    msg::Hub::new(crate::plugins::ALL.iter().flat_map(|p| p.api)).expect("names that nobody else has")
}

#[test]
fn every_message_is_as_published() {
    assert_eq!(msg::published::read().differences(hub().table()), Vec::<String>::new());
}

#[test]
fn every_module_has_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let said = super::dump(dir.path()).unwrap();
    let hub = hub();
    assert_eq!(said.lines().count(), hub.table().modules().len());
    for (file, module) in said.lines().zip(hub.table().modules()) {
        let json: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(json["options"]["version"], module.version);
        let place = if module.core { "core" } else { "plugins" };
        assert!(file.ends_with(&format!("{place}/{}.api.json", module.name)), "{file}");
        let first = json["messages"][0].as_array().unwrap();
        assert_eq!(first[1], serde_json::json!(["u16", "_vl_msg_id"]));
    }
}

/// `docs/api.md` is generated: this test writes it anew where `UPDATE` is set, and fails where it isn't current.
#[test]
fn the_documentation_is_current() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api.md");
    testkit::golden::compare(&path, &super::document::page(hub().table()));
}

/// Bytes that were never meant: all zeros, all ones, cut short, and random ones of a fixed seed.
#[test]
fn every_codec_reads_what_it_writes_and_agrees_with_its_description() {
    let hub = hub();
    let mut seed = 1u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    for (_, entry) in hub.table().entries() {
        let least: usize = entry.fields.iter().map(msg::Field::least).sum();
        // Nought is no value of every enum.
        let zeros = entry.read_and_write(&vec![0; least]);
        assert!(
            zeros == Err(msg::Malformed::Value) || zeros.is_ok_and(|w| w.len() == least),
            "{}",
            entry.name
        );
        if least > 0 {
            assert!(entry.read_and_write(&vec![0; least - 1]).is_err(), "{}", entry.name);
        }
        for _ in 0..200 {
            let n = random() as usize % (2 * least + 64);
            let sparse = random() % 2 == 0;
            let byte = |r: u64| if sparse && r % 8 != 0 { (r >> 16) as u8 & 1 } else { (r >> 24) as u8 };
            let bytes: Vec<u8> = (0..n).map(|_| byte(random())).collect();
            msg::check::codec(entry, &bytes);
        }
    }
}
