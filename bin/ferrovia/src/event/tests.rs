// SPDX-License-Identifier: Apache-2.0
use super::*;
use std::cell::Cell;
use std::os::unix::net::UnixStream;

type Log = Vec<String>;

fn pair() -> (Rc<UnixStream>, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    (Rc::new(ours), theirs)
}

/// A loop on a clock that only the test moves.
fn events() -> (EventLoop<Log>, Rc<Cell<Duration>>) {
    let time = Rc::new(Cell::new(Duration::ZERO));
    let clock = Rc::clone(&time);
    (EventLoop::new(Arc::new(Waker::new().unwrap()), move || clock.get()).unwrap(), time)
}

/// Does what is due now.
fn now(events: &mut EventLoop<Log>, log: &mut Log) -> bool {
    events.turn(log, |_, _| Some(Duration::ZERO)).unwrap()
}

/// Waits for something to do.
fn wait(events: &mut EventLoop<Log>, log: &mut Log) -> bool {
    events.turn(log, |_, _| None).unwrap()
}

#[suite::test]
fn descriptors_report_input_and_hang_up() {
    let (mut events, _) = events();
    let mut log = Log::new();
    let (ours, mut theirs) = pair();
    let stream = Rc::clone(&ours);
    let token = events
        .add(ours, Interest::READ, move |log: &mut Log, _, ready| {
            let mut buf = [0; 16];
            let n = io::Read::read(&mut &*stream, &mut buf).unwrap();
            log.push(format!("{n} {}", ready.closed));
        })
        .unwrap();
    assert!(!now(&mut events, &mut log));
    io::Write::write_all(&mut theirs, b"abc").unwrap();
    assert!(wait(&mut events, &mut log));
    events.set_interest(token, Interest::NONE).unwrap();
    io::Write::write_all(&mut theirs, b"d").unwrap();
    assert!(!now(&mut events, &mut log), "not interested");
    drop(theirs);
    wait(&mut events, &mut log);
    assert_eq!(log, ["3 false", "1 true"]);
    events.remove(token);
    events.remove(token);
    assert!(!now(&mut events, &mut log));
}

#[suite::test]
fn a_handler_may_remove_itself_and_its_place_is_used_again() {
    let (mut events, _) = events();
    let mut log = Log::new();
    let own = Rc::new(Cell::new(None));
    let (ours, mut theirs) = pair();
    let mine = Rc::clone(&own);
    let token = events
        .add(ours, Interest::READ, move |log: &mut Log, events, _| {
            log.push("once".into());
            events.remove(mine.get().unwrap());
        })
        .unwrap();
    own.set(Some(token));
    io::Write::write_all(&mut theirs, b"x").unwrap();
    wait(&mut events, &mut log);
    assert!(!now(&mut events, &mut log));
    assert_eq!(log, ["once"]);
    assert_eq!(Rc::strong_count(&own), 1, "the handler is gone");
    let (other, _keep) = pair();
    let second = events
        .add(other, Interest::WRITE, |log: &mut Log, _, _| log.push("second".into()))
        .unwrap();
    assert_eq!((second.index, second.generation), (token.index, token.generation + 1));
    events.remove(token);
    wait(&mut events, &mut log);
    assert_eq!(log, ["once", "second"], "the old token doesn't reach the new entry");
}

#[suite::test]
fn timers_run_in_order_repeat_and_can_be_cancelled() {
    let (mut events, time) = events();
    let mut log = Log::new();
    events.timer(Duration::from_secs(20), |log: &mut Log, events: &mut EventLoop<Log>| {
        log.push("b".into());
        events.stop();
        None
    });
    let mut left = 3;
    events.timer(Duration::from_secs(10), move |log: &mut Log, _| {
        log.push(format!("a{left}"));
        left -= 1;
        (left > 0).then_some(Duration::ZERO)
    });
    let never = events.timer(Duration::from_secs(5), |log: &mut Log, _| {
        log.push("never".into());
        None
    });
    events.cancel(never);
    assert!(!now(&mut events, &mut log));
    time.set(time.get() + Duration::from_secs(15));
    while log.len() < 3 {
        time.set(time.get() + Duration::from_nanos(1));
        wait(&mut events, &mut log);
    }
    time.set(time.get() + Duration::from_secs(15));
    while !events.stopped() {
        now(&mut events, &mut log);
    }
    assert_eq!(log, ["a3", "a2", "a1", "b"]);
    assert_eq!(events.next_timer(), None);
}

#[suite::test]
fn a_timer_may_cancel_itself() {
    let (mut events, _) = events();
    let mut log = Log::new();
    let own = Rc::new(Cell::new(None));
    let mine = Rc::clone(&own);
    own.set(Some(events.timer(
        Duration::ZERO,
        move |log: &mut Log, events: &mut EventLoop<Log>| {
            log.push("once".into());
            events.cancel(mine.get().unwrap());
            Some(Duration::ZERO)
        },
    )));
    wait(&mut events, &mut log);
    assert_eq!((log.len(), events.next_timer()), (1, None));
}

#[suite::test]
fn another_thread_wakes_the_loop_and_no_work_is_missed() {
    let (mut events, _) = events();
    let waker = Arc::clone(&events.waker);
    let (send, receive) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        for i in 0..1000 {
            send.send(i).unwrap();
            waker.wake();
        }
    });
    let mut seen = 0;
    while seen < 1000 {
        // Without a wake-up this would wait for ever.
        events
            .turn(&mut Log::new(), |_, _| {
                seen += receive.try_iter().count();
                (seen == 1000).then_some(Duration::ZERO)
            })
            .unwrap();
    }
    thread.join().unwrap();
}
