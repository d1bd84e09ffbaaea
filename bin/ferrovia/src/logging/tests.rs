// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::config::slot::LogClass;

fn texts(state: &State) -> Vec<String> {
    state.ring.last(usize::MAX).into_iter().map(|e| e.text).collect()
}

fn logging(size: u32) -> Logging {
    let mut config = Logging { size: Some(size), ..Logging::default() };
    let class = LogClass { level: Some(Level::Debug), syslog_level: None, rate_limit: Some(2) };
    config.classes.0.insert("loud".into(), class);
    config
}

#[suite::test]
fn levels_are_per_class_and_the_ring_forgets_the_oldest() {
    let mut state = State::new(&logging(3), Sink::None);
    assert_eq!(state.max_level(), LevelFilter::Debug);
    let now = Instant::now();
    state.write(now, log::Level::Debug, "quiet", "not this");
    state.write(now, log::Level::Debug, "loud", "this");
    for i in 0..3 {
        state.write(now, log::Level::Info, "quiet", &format!("{i}"));
    }
    assert_eq!(texts(&state), ["0", "1", "2"]);
}

#[suite::test]
fn a_class_that_writes_too_much_is_silenced_and_says_so() {
    let mut state = State::new(&logging(100), Sink::None);
    let now = Instant::now();
    for i in 0..10 {
        state.write(now, log::Level::Info, "loud", &format!("{i}"));
    }
    state.write(now, log::Level::Info, "other", "heard");
    state.write(now + Duration::from_secs(2), log::Level::Info, "loud", "still silent");
    state.write(now + Duration::from_secs(4), log::Level::Info, "loud", "back");
    assert_eq!(
        texts(&state),
        ["0", "1", "heard", "9 messages were dropped: too many at once", "back"]
    );
    state.write(now + Duration::from_secs(6), log::Level::Info, "loud", "a new second");
    assert_eq!(texts(&state).len(), 6);
}

#[suite::test]
fn lines_name_time_level_and_class() {
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_772_323_205_007);
    let entry = Entry { time, level: log::Level::Info, class: "cli".into(), text: "hello".into() };
    assert_eq!(entry.to_string(), "2026/03/01 00:00:05:007 notice  cli            hello");
    assert_eq!(class("ferrovia_net::fib"), "net");
    assert_eq!(class("af_packet"), "af_packet");
}

#[suite::test]
fn a_file_that_was_moved_away_is_opened_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (path, old) = (dir.path().join("f.log"), dir.path().join("f.log.1"));
    let mut state = State::new(&Logging::default(), Sink::file(&path).unwrap());
    let now = Instant::now();
    state.write(now, log::Level::Info, "a", "one");
    std::fs::rename(&path, &old).unwrap();
    state.write(now, log::Level::Info, "a", "two");
    state.sink.reopen().unwrap();
    state.write(now, log::Level::Info, "a", "three");
    state.sink.raw(b"last words\n");
    let read = |p| std::fs::read_to_string(p).unwrap();
    assert_eq!((read(&old).lines().count(), read(&path).lines().count()), (2, 2));
    assert!(read(&path).contains("three\nlast words\n"));
}

#[suite::test]
fn syslog_gets_what_is_serious_enough() {
    let (ours, theirs) = std::os::unix::net::UnixDatagram::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let mut state = State::new(&Logging::default(), Sink::Syslog(Some(ours)));
    state.write(Instant::now(), log::Level::Info, "a", "not for syslog");
    state.write(Instant::now(), log::Level::Error, "cli", "broken");
    let mut buffer = [0; 256];
    let n = theirs.recv(&mut buffer).unwrap();
    let line = std::str::from_utf8(&buffer[..n]).unwrap();
    assert!(
        line.starts_with("<27>")
            && line.ends_with(&format!(" ferrovia[{}]: cli: broken", std::process::id())),
        "{line}"
    );
    assert!(theirs.recv(&mut buffer).is_err());
}
