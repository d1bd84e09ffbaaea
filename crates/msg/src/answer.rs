// SPDX-License-Identifier: Apache-2.0
//! Answers to requests: at once, later, or one by one as the client reads.

use crate::message::{Call, Dump, Head, Message, Reply};
use crate::out::SendBuffer;
use cli::Result;
use std::time::Duration;

/// An answer that takes longer than a turn.
pub trait Pending<W, R> {
    /// Returns the answer once it is there. `now` is the instance's clock.
    fn poll(&mut self, world: &W, now: Duration) -> Option<Result<R>>;
    /// Latest time of the next poll; otherwise whenever the control thread wakes.
    fn wake_at(&self) -> Option<Duration> {
        None
    }
    /// Cancels it: the client no longer waits for it.
    fn cancel(&mut self) {}
}

impl<W, R, P: Pending<W, R> + ?Sized> Pending<W, R> for Box<P> {
    fn poll(&mut self, world: &W, now: Duration) -> Option<Result<R>> {
        (**self).poll(world, now)
    }
    fn wake_at(&self) -> Option<Duration> {
        (**self).wake_at()
    }
    fn cancel(&mut self) {
        (**self).cancel();
    }
}

/// The rest of an answer.
pub enum Flow<W> {
    Done,
    /// Adds messages until it returns false: there are no more.
    Stream(Box<dyn FnMut(&mut SendBuffer) -> bool>),
    Pending(Box<dyn PendingReply<W>>),
}

/// [`Pending`], with the reply's type erased. It ends with the rest of the answer.
pub trait PendingReply<W> {
    fn poll(&mut self, world: &W, now: Duration, out: &mut SendBuffer) -> Option<Flow<W>>;
    fn wake_at(&self) -> Option<Duration>;
    fn cancel(&mut self);
}

/// The message ids of a request's answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ids {
    pub reply: u16,
    pub details: u16,
}

/// The destination of replies.
#[derive(Clone, Copy)]
pub struct ReplyTo {
    client: u32,
    context: u32,
    ids: Ids,
}

impl ReplyTo {
    pub fn new(client: u32, context: u32, ids: &Ids) -> Self {
        ReplyTo { client, context, ids: *ids }
    }

    fn head(&self, retval: i32) -> Head {
        Head { client_index: self.client, context: self.context, retval, pid: 0 }
    }
}

pub fn put_reply<R: Call>(reply: Result<R::Reply>, to: &ReplyTo, out: &mut SendBuffer) {
    let (retval, reply) = match reply {
        Ok(reply) => (0, Some(reply)),
        Err(error) => {
            log::debug!(target: "api", "{}: {}", R::NAME, error.brief());
            (error.code(), None)
        }
    };
    out.message(to.ids.reply, R::Reply::HEAD, &to.head(retval), |bytes| {
        R::Reply::write(reply.as_ref(), bytes);
    });
}

pub fn dumped<R: Dump, W, I>(answers: Result<I>, to: ReplyTo) -> Flow<W>
where
    I: IntoIterator<Item = R::Details>,
    I::IntoIter: 'static,
{
    match answers {
        Ok(answers) => details::<R, W>(answers.into_iter().map(Some), to, |_| {}),
        Err(error) => {
            // There is no place for it in the protocol.
            log::info!(target: "api", "{}: {}", R::NAME, error.brief());
            Flow::Done
        }
    }
}

/// As [`dumped`]; `None` is a step without an answer.
pub fn dumped_some<R: Dump, W, I>(answers: Result<I>, to: ReplyTo) -> Flow<W>
where
    I: IntoIterator<Item = Option<R::Details>>,
    I::IntoIter: 'static,
{
    match answers {
        Ok(answers) => details::<R, W>(answers.into_iter(), to, |_| {}),
        Err(error) => dumped::<R, W, Vec<_>>(Err(error), to),
    }
}

pub fn streamed<R: Dump + Call, W, I>(
    answers: Result<(I, R::Reply)>,
    to: ReplyTo,
    out: &mut SendBuffer,
) -> Flow<W>
where
    I: IntoIterator<Item = R::Details>,
    I::IntoIter: 'static,
{
    match answers {
        Ok((answers, reply)) => {
            let mut reply = Some(reply);
            details::<R, W>(answers.into_iter().map(Some), to, move |out| {
                if let Some(reply) = reply.take() {
                    put_reply::<R>(Ok(reply), &to, out);
                }
            })
        }
        Err(error) => {
            put_reply::<R>(Err(error), &to, out);
            Flow::Done
        }
    }
}

fn details<R: Dump, W>(
    mut answers: impl Iterator<Item = Option<R::Details>> + 'static,
    to: ReplyTo,
    mut end: impl FnMut(&mut SendBuffer) + 'static,
) -> Flow<W> {
    let head = to.head(0);
    Flow::Stream(Box::new(move |out| match answers.next() {
        Some(Some(answer)) => {
            out.message(to.ids.details, <R::Details as Message>::HEAD, &head, |bytes| {
                answer.put(bytes)
            });
            true
        }
        Some(None) => true,
        None => {
            end(out);
            false
        }
    }))
}

/// Waits for `pending`; `end` makes the rest of the answer of it.
pub fn later<W: 'static, T: 'static>(
    pending: Result<impl Pending<W, T> + 'static>,
    out: &mut SendBuffer,
    end: impl FnOnce(Result<T>, &mut SendBuffer) -> Flow<W> + 'static,
) -> Flow<W> {
    match pending {
        Ok(pending) => {
            let pending: Box<dyn Pending<W, T>> = Box::new(pending);
            Flow::Pending(Box::new(ErasedPending { pending, end: Some(end) }))
        }
        Err(error) => end(Err(error), out),
    }
}

struct ErasedPending<W, T, F> {
    pending: Box<dyn Pending<W, T>>,
    end: Option<F>,
}

impl<W, T, F: FnOnce(Result<T>, &mut SendBuffer) -> Flow<W>> PendingReply<W>
    for ErasedPending<W, T, F>
{
    fn poll(&mut self, world: &W, now: Duration, out: &mut SendBuffer) -> Option<Flow<W>> {
        let answer = self.pending.poll(world, now)?;
        self.end.take().map(|end| end(answer, out))
    }

    fn wake_at(&self) -> Option<Duration> {
        self.pending.wake_at()
    }

    fn cancel(&mut self) {
        self.pending.cancel();
    }
}
