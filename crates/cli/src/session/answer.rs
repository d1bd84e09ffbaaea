// SPDX-License-Identifier: Apache-2.0
//! Output that the session sends when its requests are answered.

#[cfg(doc)]
use super::Event;
use super::{Mode, Session, Waiting};
use crate::complete::Completion;
use crate::frames::Reply;
use crate::{Error, OutputPiece};

/// Bytes of one frame.
const PART: usize = 1 << 20;

impl Session {
    /// Sends output of a command.
    pub fn emit(&mut self, said: OutputPiece) {
        match (self.mode, said) {
            (Mode::Frames, OutputPiece::Answer(text)) => self.replies(&text, Reply::Out),
            (Mode::Frames, OutputPiece::Chunk(text)) => self.replies(&text, Reply::More),
            (Mode::Person, OutputPiece::Answer(text)) => self.pager.show(&text, &mut self.out),
            (Mode::Person, OutputPiece::Chunk(text)) => {
                self.out.extend(text.replace('\n', "\r\n").as_bytes())
            }
            (_, OutputPiece::Answer(text) | OutputPiece::Chunk(text)) => {
                self.out.extend(text.as_bytes())
            }
        }
    }

    /// Returns true if notes of commands reach an operator: on a terminal, or by `ferroctl`, which
    /// keeps them apart from the answer. A program that reads the answer itself gets none.
    pub fn takes_notes(&self) -> bool {
        self.config.notes && matches!(self.mode, Mode::Frames | Mode::Person)
    }

    /// Sends a note.
    pub fn note(&mut self, note: &str) {
        match self.mode {
            Mode::Frames => self.reply(&Reply::Note(note.to_string())),
            Mode::Person => self.pager.show(note, &mut self.out),
            _ => {}
        }
    }

    /// Sends a text in frames of a size that any client takes.
    fn replies(&mut self, mut text: &str, frame: fn(String) -> Reply) {
        loop {
            let (part, rest) = text.split_at(text.floor_char_boundary(PART));
            self.reply(&frame(part.to_string()));
            text = rest;
            if text.is_empty() {
                return;
            }
        }
    }

    /// Sends the end of a command. `json`: the client wants its errors as JSON.
    pub fn done(&mut self, result: Result<(), Error>, json: bool) {
        let status = result.as_ref().map_or_else(Error::code, |()| 0);
        if let Err(e) = result {
            let text = if json { crate::output::pretty(&e.to_json()) } else { format!("{e}\n") };
            match self.mode {
                Mode::Frames => self.reply(&Reply::Error(text)),
                _ => self.emit(OutputPiece::Answer(text)),
            }
        }
        self.waiting = Waiting::No;
        self.answered = true;
        (self.cancel, self.enough) = (false, false);
        match self.mode {
            Mode::Frames => self.reply(&Reply::End(status)),
            Mode::Vppctl => self.out.push(0),
            _ if !self.pager.is_waiting() => self.prompt(),
            _ => {}
        }
    }

    /// Sends the answer to [`Event::Complete`].
    pub fn completed(&mut self, found: &Completion) {
        self.waiting = Waiting::No;
        if self.mode == Mode::Frames {
            let words = found.words().iter().map(|w| w.to_string()).collect();
            self.reply(&Reply::Words(found.start, words));
            self.reply(&Reply::End(0));
            return;
        }
        let words = found.words();
        let Some(common) = found.common() else { return self.out.push(7) };
        let start = found.start.saturating_sub(self.block.len());
        let typed = self.editor.cursor().saturating_sub(start);
        if words.len() == 1 {
            self.editor.replace(start, &format!("{common} "), &mut self.out);
        } else if common.len() > typed {
            self.editor.replace(start, common, &mut self.out);
        } else {
            let list = columns(&words, self.editor.columns);
            self.out.extend(b"\r\n");
            self.out.extend(list.as_bytes());
            self.editor.draw(&mut self.out);
        }
    }

    /// Sends the answer to [`Event::Help`].
    pub fn help(&mut self, found: &Completion) {
        self.waiting = Waiting::No;
        if self.mode == Mode::Frames {
            self.reply(&Reply::Out(found.help()));
            self.reply(&Reply::End(0));
            return;
        }
        self.out.extend(found.help().replace('\n', "\r\n").as_bytes());
        self.editor.draw(&mut self.out);
    }

    pub(super) fn prompt(&mut self) {
        let open = !self.block.is_empty();
        let prompt = if open {
            format!("{:>1$}", "> ", self.config.prompt.len())
        } else {
            self.config.prompt.clone()
        };
        match self.mode {
            Mode::Person => {
                self.editor.prompt = prompt;
                self.editor.draw(&mut self.out);
            }
            Mode::Plain { prompt: true } => self.out.extend(prompt.as_bytes()),
            _ => {}
        }
    }
}

/// Words in as many columns as fit.
fn columns(words: &[&str], width: usize) -> String {
    let widest = words.iter().map(|w| w.chars().count()).max().unwrap_or(0) + 2;
    let across = (width / widest).max(1);
    let mut out = String::new();
    for row in words.chunks(across) {
        let line: String = row.iter().map(|w| format!("{w:widest$}")).collect();
        out += line.trim_end();
        out += "\r\n";
    }
    out
}
