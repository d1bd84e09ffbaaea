// SPDX-License-Identifier: Apache-2.0
//! Type-ahead and pasted text. Every line runs, in order, as if it were typed at its own prompt.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use rustyline::{
    Cmd, ConditionalEventHandler, Event, EventContext, EventHandler, KeyCode, KeyEvent, Modifiers,
    RepeatCount,
};
use std::io::stdin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

/// Microseconds between two keys below which they came together: no person types as fast.
const TOGETHER: u64 = 3_000;

/// Set between the start and end marks of a bracketed paste.
#[derive(Clone, Default)]
pub struct Pasted(Arc<AtomicBool>);

impl Pasted {
    /// Returns true if the current key is pasted.
    pub fn now(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The keyboard of a conversation.
#[derive(Default)]
pub struct Keyboard {
    pasted: Pasted,
    pace: Pace,
}

impl Keyboard {
    /// The flag that is set while keys are pasted.
    pub fn pasted(&self) -> Pasted {
        self.pasted.clone()
    }

    /// Clears the paste flag: the end mark may never arrive.
    pub fn forget_paste(&self) {
        self.pasted.0.store(false, Ordering::Relaxed);
    }

    /// Returns true if input may be pending behind the current line. Input that the line editor has
    /// read can't be seen, but keys that came together with the line's end show that lines are
    /// pasted or typed ahead.
    pub fn is_ahead(&self) -> bool {
        let stdin = stdin();
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        self.pasted.now()
            || self.pace.together()
            || poll(&mut fds, Some(&Timespec::default())).is_ok_and(|n| n > 0)
    }

    /// Key bindings for the start and end marks of a bracketed paste, for Tab inside one, and for
    /// all other keys, whose pace is noted. Pasted text is handled like typed text, so its
    /// lines run.
    pub fn bindings(&self) -> [(Event, EventHandler); 4] {
        let key = |code| Event::KeySeq(vec![KeyEvent(code, Modifiers::NONE)]);
        let bracket = |opens| EventHandler::Conditional(Box::new(Bracket(self.pasted(), opens)));
        [
            (key(KeyCode::BracketedPasteStart), bracket(true)),
            (key(KeyCode::BracketedPasteEnd), bracket(false)),
            (key(KeyCode::Tab), EventHandler::Conditional(Box::new(Blank(self.pasted())))),
            (Event::Any, EventHandler::Conditional(Box::new(self.pace.clone()))),
        ]
    }

    /// Sets the terminal's mode while no line is edited: keys that come early are kept as they are,
    /// without echo; ^C still interrupts. The original mode is restored when the value is
    /// dropped.
    pub fn between_lines(&self) -> Option<Mode> {
        let original = tcgetattr(stdin()).ok()?;
        let mut quiet = original.clone();
        quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(stdin(), OptionalActions::Drain, &quiet).ok()?;
        Some(Mode(original))
    }
}

/// The mode in which the terminal was found.
pub struct Mode(Termios);

impl Drop for Mode {
    fn drop(&mut self) {
        // A terminal that is gone needs no mode.
        let _ = tcsetattr(stdin(), OptionalActions::Drain, &self.0);
    }
}

/// Time of the last key, and time between it and the one before, in microseconds.
#[derive(Clone, Default)]
struct Pace(Arc<(AtomicU64, AtomicU64)>);

impl Pace {
    /// Returns true if the last two keys came together.
    fn together(&self) -> bool {
        self.0.1.load(Ordering::Relaxed) < TOGETHER
    }
}

impl ConditionalEventHandler for Pace {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, _: &EventContext<'_>) -> Option<Cmd> {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        // The first key is at 1 s: it is alone.
        let now = 1_000_000 + START.elapsed().as_micros() as u64;
        let before = self.0.0.swap(now, Ordering::Relaxed);
        self.0.1.store(now - before, Ordering::Relaxed);
        None
    }
}

/// Notes where a paste begins and ends.
struct Bracket(Pasted, bool);

impl ConditionalEventHandler for Bracket {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, _: &EventContext<'_>) -> Option<Cmd> {
        self.0.0.store(self.1, Ordering::Relaxed);
        Some(Cmd::Noop)
    }
}

/// A pasted tabulator is a blank; one that is typed completes.
struct Blank(Pasted);

impl ConditionalEventHandler for Blank {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, _: &EventContext<'_>) -> Option<Cmd> {
        self.0.now().then(|| Cmd::Insert(1, " ".into()))
    }
}
