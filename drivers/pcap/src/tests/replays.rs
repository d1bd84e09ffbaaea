// SPDX-License-Identifier: Apache-2.0
//! Files through a running instance: replayed by one interface, captured by another.

use super::*;
use driver::rig::{Rig, WIRE};
use graph::Plugin;
use net::{IfCounters, Interface, Interfaces};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use testkit::lab::{self, Lab};

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &crate::PLUGIN, &WIRE];

struct Setup {
    rig: Rig,
    folder: TempDir,
    lab: Lab,
}

impl Setup {
    fn new(workers: usize) -> Option<Self> {
        let lab = lab::require(&["root"])?;
        let netns = lab.netns("m");
        let rig = Rig::new(netns.name().expect("it has one"), PLUGINS, workers);
        Some(Self { rig, folder: tempfile::tempdir().expect("a folder"), lab })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a classic file, a second between packets.
    fn write(&self, name: &str, frames: &[Vec<u8>]) -> String {
        let mut file = FileBytes::classic(true, MICROS, 1);
        for (n, frame) in (0u32..).zip(frames) {
            let len = frame.len() as u32;
            file.u32s(&[1000 + n, 0, len, len]).raw(frame);
        }
        std::fs::write(self.path(name), file.bytes).expect("written");
        self.path(name).display().to_string()
    }

    /// `pcap0` with these words, and `pcap1`, which captures what `pcap0` receives.
    fn pair(&self, words: &str, to: &str) {
        let out = self.path(to).display().to_string();
        self.rig.script(&format!(
            "create interface pcap {words}
             create interface pcap tx {out}
             set interface state pcap1 up"
        ));
        self.rig.wire("pcap0", "pcap1");
    }

    fn interface(&self, name: &'static str) -> Interface {
        self.rig.control(move |world| {
            let interfaces = world.get::<Interfaces>();
            interfaces.find(name).and_then(|i| interfaces.get(i)).expect("it is there")
        })
    }

    fn received(&self) -> u64 {
        let counters = self.rig.world.get::<IfCounters>();
        counters.rx.sum(self.interface("pcap0").sw_if.at()).0
    }

    fn row(&self, n: usize) -> Value {
        let text = self.rig.script("show interface pcap -j");
        serde_json::from_str::<Value>(&text).expect("JSON")[n].clone()
    }

    fn until_ended(&self) {
        self.rig.until("the replay ends", |_| {
            matches!(self.row(0)["state"].as_str(), Some("ended" | "failed"))
        });
    }

    /// Waits until the capture has so many packets, and reads them.
    fn captured(&self, to: &str, count: usize) -> Vec<Vec<u8>> {
        let path = self.path(to);
        self.rig.until("the capture is written", |_| read(&path).len() >= count);
        read(&path)
    }
}

/// Waits until no writer runs any more: then no packet waits for one.
fn writers_end(rig: &Rig) {
    rig.until("the writers end", |_| {
        let tasks = std::fs::read_dir("/proc/self/task").expect("threads");
        let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
        !tasks.flatten().any(|task| name(task).is_ok_and(|name| name == "ferrovia_pcap_w\n"))
    });
}

fn read(path: &Path) -> Vec<Vec<u8>> {
    // The writer may be in the middle of a block.
    let (found, _) = packets(&std::fs::read(path).unwrap_or_default());
    assert!(found.iter().all(|(time, ..)| *time > 1_600_000_000_000_000_000), "times are days");
    found.into_iter().map(|(.., bytes)| bytes).collect()
}

#[suite::test(netns)]
fn a_file_passes_three_times_byte_for_byte_in_netns() {
    for workers in [0, 2] {
        let Some(s) = Setup::new(workers) else { return };
        let sizes = [18, 60, 64, 1514, 2048, 2049, 9014];
        let size = |n: usize| if n % 100 == 99 { 65_549 } else { sizes[n % sizes.len()] };
        let frames: Vec<_> = (0..900).map(|n| frame(n, size(n))).collect();
        let file = s.write("in.pcap", &frames);
        s.pair(&format!("rx {file} rate 1k loop 3"), "out.pcapng");
        assert!(s.interface("pcap0").link_up);
        s.rig.script("set interface state pcap0 up");
        s.until_ended();
        let found = s.captured("out.pcapng", 2700);
        let want: Vec<_> = frames.iter().chain(&frames).chain(&frames).collect();
        assert_eq!(found.len(), want.len());
        assert!(found.iter().zip(want).all(|(a, b)| a == b), "in order, byte for byte");
        assert_eq!(s.received(), 2700);
        assert!(!s.interface("pcap0").link_up, "the link goes down at the end");
        let row = s.row(0);
        assert_eq!((&row["passes"], &row["read"]), (&3.into(), &2700.into()), "{row}");
        assert_eq!((&row["speed"], &s.row(1)["written"]), (&"rate 1000".into(), &2700.into()));
        assert_eq!(s.rig.drops(), []);
        // Once more from the beginning.
        s.rig.script("set interface state pcap0 down\nset interface state pcap0 up");
        s.until_ended();
        assert_eq!(s.captured("out.pcapng", 5400)[2700..], found[..]);
        s.rig.finish();
    }
}

#[suite::test(netns)]
fn packets_are_due_at_their_time_stamps_in_netns() {
    let Some(s) = Setup::new(1) else { return };
    let mut file = FileBytes::classic(false, NANOS, 1);
    // The clock of the capture was set back for the third packet.
    for (n, seconds) in (0..).zip([7000u32, 10_600, 10_500, 10_600]) {
        file.u32s(&[seconds, 0, 60, 60]).raw(&frame(n, 60));
    }
    std::fs::write(s.path("in.pcap"), &file.bytes).expect("written");
    s.pair(&format!("rx {}", s.path("in.pcap").display()), "out.pcapng");
    s.rig.script("set interface state pcap0 up");
    assert_eq!(s.captured("out.pcapng", 1), [frame(0, 60)]);
    // Some more turns: the others aren't due for an hour.
    (0..50).for_each(|_| drop(s.rig.world.query(|_| ()).wait()));
    assert_eq!((s.received(), s.row(0)["state"].as_str()), (1, Some("running")));
    s.rig.world.clock.adjust(3601 * 1_000_000_000);
    s.until_ended();
    let want: Vec<_> = (0..4).map(|n| frame(n, 60)).collect();
    assert_eq!(s.captured("out.pcapng", 4), want);
    s.rig.finish();
}

#[suite::test(netns)]
fn a_malformed_file_ends_with_a_clear_error_in_netns() {
    let Some(s) = Setup::new(1) else { return };
    let frames: Vec<_> = (0..30).map(|n| frame(n, 100)).collect();
    let file = s.write("in.pcap", &frames);
    let mut bytes = std::fs::read(&file).expect("it was written");
    bytes.truncate(bytes.len() - 3);
    std::fs::write(&file, bytes).expect("written");
    s.pair(&format!("rx {file} full-speed"), "out.pcapng");
    s.rig.script("set interface state pcap0 up");
    s.until_ended();
    assert_eq!(s.captured("out.pcapng", 29), frames[..29]);
    let row = s.row(0);
    assert_eq!(row["state"], "failed");
    let error = row["error"].as_str().unwrap_or_default();
    assert!(error.contains("in.pcap") && error.contains("behind packet 29"), "{row}");
    assert!(!s.interface("pcap0").link_up);
    // Nothing to send at all; a file that is removed; other packets.
    s.rig.script("delete interface pcap pcap0");
    let empty = s.write("empty.pcap", &[]);
    s.rig.script(&format!("create interface pcap id 0 rx {empty} loop endless"));
    s.rig.script("set interface state pcap0 up");
    s.until_ended();
    assert!(s.row(0)["error"].as_str().unwrap_or_default().contains("holds no packet"));
    s.rig.script("set interface state pcap0 down");
    std::fs::remove_file(empty).expect("removed");
    s.rig.script("set interface state pcap0 up");
    s.until_ended();
    assert!(s.row(0)["error"].as_str().unwrap_or_default().contains("No such file"));
    s.rig.finish();
}

#[suite::test(netns)]
fn skipped_packets_are_counted_in_netns() {
    let Some(s) = Setup::new(0) else { return };
    let mut file = FileBytes::default();
    file.section(false).interface(1, 0, &[]).interface(101, 0, &[]);
    file.enhanced(0, 0, &frame(1, 60)).enhanced(1, 0, &[0x45; 40]).enhanced(0, 0, &[]);
    file.enhanced(0, 0, &vec![1; buffer::MAX_PACKET + 1]).enhanced(0, 0, &frame(2, 70));
    std::fs::write(s.path("in.pcapng"), &file.bytes).expect("written");
    s.pair(&format!("rx {} full-speed", s.path("in.pcapng").display()), "out.pcapng");
    s.rig.script("set interface state pcap0 up");
    s.until_ended();
    assert_eq!(s.captured("out.pcapng", 2), [frame(1, 60), frame(2, 70)]);
    assert_eq!((&s.row(0)["read"], &s.row(0)["skipped"]), (&5.into(), &3.into()));
    s.rig.finish();
}

#[suite::test(netns)]
fn interfaces_go_while_packets_pass_in_netns() {
    let Some(s) = Setup::new(2) else { return };
    let frames: Vec<_> = (0..500).map(|n| frame(n, 60 + n)).collect();
    let file = s.write("in.pcap", &frames);
    for round in 0..5 {
        let out = format!("out{round}.pcapng");
        s.pair(&format!("rx {file} full-speed loop endless"), &out);
        s.rig.script("set interface state pcap0 up");
        s.rig.until("packets pass", |_| s.row(1)["written"].as_u64() > Some(500));
        let (first, second) = if round % 2 == 0 { ("pcap0", "pcap1") } else { ("pcap1", "pcap0") };
        s.rig.script(&format!("delete interface pcap {first}\ndelete interface pcap {second}"));
        // Each packet that was written is whole.
        let (found, error) = packets(&std::fs::read(s.path(&out)).expect("it is there"));
        assert!(found.len() > 500 && error.is_none(), "{} packets, {error:?}", found.len());
        let found = read(&s.path(&out));
        assert!(found.iter().all(|packet| frames.contains(packet)));
    }
    writers_end(&s.rig);
    s.rig.finish();
}

#[suite::test(netns)]
fn a_capture_is_continued_and_others_files_are_kept_in_netns() {
    let Some(s) = Setup::new(0) else { return };
    let frames: Vec<_> = (0..20).map(|n| frame(n, 80)).collect();
    let file = s.write("in.pcap", &frames);
    for round in 1..=2 {
        s.pair(&format!("rx {file} full-speed"), "out.pcapng");
        s.rig.script("set interface state pcap0 up");
        s.until_ended();
        assert_eq!(s.captured("out.pcapng", 20 * round).len(), 20 * round);
        s.rig.script("delete interface pcap pcap0\ndelete interface pcap pcap1");
        if round == 1 {
            // As a process leaves it that is killed.
            let mut bytes = std::fs::read(s.path("out.pcapng")).expect("it is there");
            bytes.extend([6, 0, 0, 0, 200, 0, 0, 0, 1]);
            std::fs::write(s.path("out.pcapng"), bytes).expect("written");
        }
    }
    assert_eq!(s.captured("out.pcapng", 40), [&frames[..], &frames[..]].concat());
    s.rig.script(&format!("create interface pcap id 5 tx {}", s.path("out.pcapng").display()));
    let link = s.path("link.pcapng");
    std::os::unix::fs::symlink(s.path("out.pcapng"), &link).expect("a link");
    std::fs::write(s.path("text"), "a file of somebody").expect("written");
    for (words, part) in [
        (format!("tx {file}"), "isn't the capture of an interface"),
        (format!("tx {}", s.path("text").display()), "isn't the capture of an interface"),
        (format!("tx {}", link.display()), "link.pcapng"),
        (format!("tx {}", s.path("out.pcapng").display()), "another interface captures to it"),
        ("tx /nowhere/out.pcapng".into(), "No such file"),
        (format!("rx {}", s.path("text").display()), "is no capture file"),
        ("rx /nowhere.pcap".into(), "No such file"),
        ("rx /dev/zero".into(), "is not a regular file"),
        (format!("rx {file} mode ip"), "don't fit the mode"),
        (format!("rx {file} loop 0"), "at least one pass"),
        (String::new(), "a file to replay or to write"),
    ] {
        let error = s.rig.cli(&format!("create interface pcap {words}")).expect_err(&words);
        assert!(error.to_string().contains(part), "{words}: {error}");
    }
    assert_eq!(std::fs::read_to_string(s.path("text")).expect("there"), "a file of somebody");
    s.rig.finish();
}

#[suite::test(netns)]
fn a_full_disk_leaves_whole_packets_and_counts_the_others_in_netns() {
    let Some(s) = Setup::new(1) else { return };
    let disk = s.path("disk");
    std::fs::create_dir(&disk).expect("a folder");
    let disk = disk.to_str().expect("plain letters");
    let root = s.lab.root();
    root.command("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk]).ok();
    let frames: Vec<_> = (0..400).map(|n| frame(n, 1000)).collect();
    let file = s.write("in.pcap", &frames);
    s.pair(&format!("rx {file} full-speed"), "disk/out.pcapng");
    s.rig.script("set interface state pcap0 up");
    s.until_ended();
    let count = |name: &str| s.row(1)[name].as_u64().expect("a number");
    s.rig.until("all packets are accounted for", |_| {
        let refused = s.rig.world.get::<IfCounters>().tx_error.sum(s.interface("pcap1").sw_if.at());
        count("written") + count("lost") + refused == 400
    });
    let error = s.row(1)["error"].to_string();
    assert!(error.contains("No space left on device"), "{error}");
    let (found, error) = packets(&std::fs::read(s.path("disk/out.pcapng")).expect("there"));
    assert_eq!(error, None);
    assert_eq!(found.len() as u64, count("written"));
    assert!((1..65).contains(&found.len()), "{}", found.len());
    assert!(found.iter().zip(&frames).all(|((.., bytes), frame)| bytes == frame));
    s.rig.script("delete interface pcap pcap1\ndelete interface pcap pcap0");
    root.command("umount").args([disk]).ok();
    s.rig.finish();
}

#[suite::test(netns)]
fn interfaces_are_limited_in_netns() {
    let Some(s) = Setup::new(0) else { return };
    let file = s.write("in.pcap", &[frame(1, 60)]);
    for _ in 0..crate::control::MOST {
        s.rig.script(&format!("create interface pcap rx {file}"));
    }
    let error = s.rig.cli(&format!("create interface pcap rx {file}")).expect_err("one too many");
    assert!(error.to_string().contains("delete one first"), "{error}");
    s.rig.script(&format!("delete interface pcap pcap7\ncreate interface pcap rx {file}"));
    s.rig.finish();
}

#[suite::test(netns)]
fn packets_of_ip_and_the_saved_lines_in_netns() {
    let Some(s) = Setup::new(1) else { return };
    let mut file = FileBytes::classic(false, MICROS, 101);
    file.u32s(&[1, 0, 20, 20]).raw(&[0x45; 20]);
    std::fs::write(s.path("ip.pcap"), &file.bytes).expect("written");
    let (from, to) = (s.path("ip.pcap"), s.path("ip.pcapng"));
    let (from, to) = (from.display(), to.display());
    for (words, saved) in [
        (
            format!("rx {from} loop 7 tx {to} hw-addr 02:00:00:00:00:09"),
            format!("id 0 rx {from} loop 7 tx {to} mode ip hw-addr 02:00:00:00:00:09"),
        ),
        (format!("id 9 rx {from} rate 2.5k"), format!("id 9 rx {from} rate 2500 mode ip")),
        (
            format!("rx {from} full-speed loop endless"),
            format!("id 1 rx {from} full-speed loop endless mode ip"),
        ),
        (format!("tx {}x", to), format!("id 2 tx {}x", to)),
    ] {
        s.rig.script(&format!("create interface pcap {words}"));
        let lines = s.rig.control(|world| {
            world.running_config().iter().map(|l| l.text.clone()).collect::<Vec<_>>()
        });
        let want = format!("create interface pcap {saved}");
        assert!(lines.contains(&want), "{want}: {lines:#?}");
    }
    assert_eq!(s.interface("pcap0").kind, net::IfKind::Ip);
    let error = s.rig.cli("create interface pcap id 9 tx /tmp/x").expect_err("taken");
    assert!(error.to_string().contains("pcap9"), "{error}");
    let error = s.rig.cli("set interface rx-mode pcap0 interrupt").expect_err("polled");
    assert!(error.to_string().contains("only mode"), "{error}");
    s.rig.script("set interface rx-placement pcap0 main");
    let error = s.rig.cli("delete interface pcap local0").expect_err("of another kind");
    assert!(error.to_string().contains("is no pcap interface"), "{error}");
    s.rig.finish();
}
