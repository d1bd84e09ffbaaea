// SPDX-License-Identifier: Apache-2.0
//! A session: the variables and the state machine of RFC 5880 6.8, without a clock and a network of
//! its own. Times are in nanoseconds of the instance's clock, intervals in microseconds.

use crate::auth::Auth;
use crate::packet::{Control, Diag, State};
use crate::poll::Poll;

/// Least interval of packets while a session isn't up, and of required ones while echo packets
/// watch the path (6.8.3, 6.8.9).
pub const SLOW: u32 = 1_000_000;
/// Least interval of packets that a session sends: no setting makes a flood.
pub const FASTEST: u32 = 1000;
/// Nanoseconds of a microsecond.
const MICRO: u64 = 1000;

/// Settings of an operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Interval of our packets, unless the peer receives more slowly (`bfd.DesiredMinTxInterval`).
    pub desired_min_tx: u32,
    /// Least interval at which packets are received.
    pub required_min_rx: u32,
    /// Detection time multiplier in our packets: the peer takes the session down when as many
    /// packets in a row are missing.
    pub detect_mult: u8,
}

/// Variables that packets of the peer set (6.8.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remote {
    /// Its discriminator; 0 while it is unknown.
    pub disc: u32,
    /// State of its session.
    pub state: State,
    /// Its diagnostic code.
    pub diag: Diag,
    /// Least interval at which it receives; 0 asks for silence.
    pub min_rx: u32,
    /// Interval of its packets, unless we receive more slowly.
    pub desired_min_tx: u32,
    /// Least interval at which it sends echo packets back; 0 if it doesn't.
    pub min_echo_rx: u32,
    /// Its multiplier.
    pub detect_mult: u8,
    /// It wants no periodic packets while both ends are up.
    pub demand: bool,
}

/// The echo function of a session (6.8.9).
#[derive(Clone, Copy, Debug, Default)]
pub struct Echo {
    /// There is a source address for echo packets.
    pub available: bool,
    /// Echo packets watch the path.
    pub active: bool,
    /// Time at which the last one came back, or at which the function began.
    pub heard: u64,
    /// Time at which the last one was sent.
    pub sent: Option<u64>,
}

/// A packet that a session sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sending {
    /// A control packet.
    Control,
    /// An echo packet that is worthless after this time.
    Echo(u64),
}

/// The reason why a session discards a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Authentication is missing, unexpected or wrong.
    Authentication,
    /// An operator holds the session down.
    AdminDown,
}

/// A session.
#[derive(Clone, Debug)]
pub struct Session {
    /// Settings of an operator.
    pub config: Settings,
    /// False for one between neighbours of a link.
    pub multihop: bool,
    /// Our discriminator.
    pub disc: u32,
    /// Our state.
    pub state: State,
    /// Reason of the last change to a lower state.
    pub diag: Diag,
    /// Variables that the peer reports.
    pub remote: Remote,
    /// Least interval of the peer's packets in the detection time. A lower one replaces it when the
    /// poll sequence ends (6.8.3).
    pub rx_in_force: u32,
    /// Interval of our packets. A longer one replaces it when the poll sequence ends (6.8.3).
    pub tx_in_force: u32,
    /// Poll sequences.
    pub poll: Poll,
    /// The key, if packets are authenticated.
    pub auth: Option<Auth>,
    /// Replaces `auth` with the first packet that proves it, or that comes without.
    pub next_auth: Option<Option<Auth>>,
    /// Sequence number of the next packet.
    pub tx_sequence: u32,
    /// Sequence number of the last packet, if known, and the time until which it is.
    pub rx_sequence: Option<(u32, u64)>,
    /// Time of the last valid packet.
    pub heard: Option<u64>,
    /// Time of the last packet, apart from answers to polls.
    pub sent: Option<u64>,
    /// Time of a packet that is sent because something has changed.
    urgent: Option<u64>,
    /// Part of the interval at which the next packet is sent, in 1/1024.
    jitter: u64,
    /// The echo function.
    pub echo: Echo,
    /// The last packet sent, without P, F and sequence number.
    last: Option<Control>,
}

impl Session {
    /// A session that begins in the state Down.
    pub fn new(config: Settings, multihop: bool, disc: u32, auth: Option<Auth>, seq: u32) -> Self {
        let remote = Remote {
            disc: 0,
            state: State::Down,
            diag: Diag::NONE,
            // 6.8.1: 1 until the first packet of the peer.
            min_rx: 1,
            desired_min_tx: 0,
            min_echo_rx: 0,
            detect_mult: 0,
            demand: false,
        };
        let mut this = Self {
            config,
            multihop,
            disc,
            state: State::Down,
            diag: Diag::NONE,
            remote,
            rx_in_force: 0,
            tx_in_force: 0,
            poll: Poll::Idle,
            auth,
            next_auth: None,
            tx_sequence: seq,
            rx_sequence: None,
            heard: None,
            sent: None,
            urgent: None,
            jitter: 1024,
            echo: Echo::default(),
            last: None,
        };
        this.put_in_force();
        this
    }

    /// The interval that packets announce as ours. While the session isn't up, it is at least a
    /// second (6.8.3).
    pub fn desired_min_tx(&self) -> u32 {
        let configured = self.config.desired_min_tx.max(FASTEST);
        if self.state == State::Up { configured } else { configured.max(SLOW) }
    }

    /// The least interval that packets announce. While echo packets watch the path, control packets
    /// are slow (6.8.9).
    pub fn required_min_rx(&self) -> u32 {
        let configured = self.config.required_min_rx;
        if self.echo.active { configured.max(SLOW) } else { configured }
    }

    /// Interval of periodic packets before jitter, in microseconds (6.8.7).
    pub fn tx_interval(&self) -> u32 {
        self.tx_in_force.max(self.remote.min_rx)
    }

    /// Time for which the peer may be silent, in nanoseconds (6.8.4).
    pub fn detection_time(&self) -> u64 {
        let interval = self.rx_in_force.max(self.remote.desired_min_tx);
        u64::from(self.remote.detect_mult) * u64::from(interval) * MICRO
    }

    /// Interval of echo packets before jitter, in microseconds.
    pub fn echo_interval(&self) -> u32 {
        self.tx_in_force.max(self.remote.min_echo_rx)
    }

    /// Time for which no echo packet may come back, in nanoseconds.
    fn echo_detection_time(&self) -> u64 {
        u64::from(self.config.detect_mult) * u64::from(self.echo_interval()) * MICRO
    }

    /// Puts the announced intervals into force.
    pub(crate) fn put_in_force(&mut self) {
        (self.rx_in_force, self.tx_in_force) = (self.required_min_rx(), self.desired_min_tx());
    }

    /// Announces intervals that may have changed. While the session is up, the peer's packets may
    /// still have the old ones, so that the slower detection and the faster sending stay until it
    /// has answered (6.8.3).
    fn announce(&mut self, now: u64) {
        let (rx, tx) = (self.required_min_rx(), self.desired_min_tx());
        if self.state != State::Up {
            self.put_in_force();
        } else {
            self.rx_in_force = self.rx_in_force.max(rx);
            self.tx_in_force = self.tx_in_force.min(tx);
        }
        if matches!(self.state, State::Init | State::Up) {
            self.poll.request(now);
        }
    }

    /// Changes settings.
    pub fn configure(&mut self, config: Settings, now: u64) {
        let (rx, tx) = (self.config.required_min_rx, self.config.desired_min_tx);
        self.config = config;
        // A new multiplier needs no poll: each packet has it.
        if (rx, tx) != (config.required_min_rx, config.desired_min_tx) {
            self.announce(now);
        }
    }

    /// Changes the state: notes the reason, sends a packet soon, ends a poll, and puts the
    /// intervals of the new state into force.
    pub(crate) fn enter(&mut self, state: State, diag: Diag, now: u64) {
        if self.state == state {
            return;
        }
        (self.state, self.diag) = (state, diag);
        // The peer learns of it between periodic packets (6.8.7), but no faster than it receives.
        // A host on the link can change the state with each packet, hence the least interval.
        if self.remote.min_rx != 0 {
            let gap = u64::from(self.remote.min_rx.max(FASTEST)) * MICRO;
            self.urgent = Some(self.sent.map_or(now, |sent| (sent + gap).max(now)));
        }
        if state < State::Init {
            self.poll = Poll::Idle;
        }
        self.set_echo(now);
        self.put_in_force();
    }

    /// Holds the session down, or lets it come up again (6.8.16).
    pub fn set_admin(&mut self, up: bool, now: u64) {
        match (up, self.state) {
            (false, _) => self.enter(State::AdminDown, Diag::ADMIN_DOWN, now),
            (true, State::AdminDown) => {
                self.heard = self.heard.map(|_| now);
                self.enter(State::Down, Diag::NONE, now);
            }
            (true, _) => {}
        }
    }

    /// Notes whether there is a source address for echo packets.
    pub fn set_echo_source(&mut self, available: bool, now: u64) {
        self.echo.available = available;
        self.set_echo(now);
    }

    /// Begins or ends the echo function (6.8.9; not over several hops, RFC 5883 4).
    pub(crate) fn set_echo(&mut self, now: u64) {
        let both_up = self.state == State::Up && self.remote.state == State::Up;
        let active =
            self.echo.available && !self.multihop && both_up && self.remote.min_echo_rx != 0;
        if active != self.echo.active {
            (self.echo.active, self.echo.heard, self.echo.sent) = (active, now, None);
            if self.state == State::Up {
                self.announce(now);
            }
        }
    }

    /// Replaces the key, now or with the first packet that proves the new one.
    pub fn set_auth(&mut self, auth: Option<Auth>, delayed: bool) {
        if delayed {
            self.next_auth = Some(auth);
        } else {
            (self.auth, self.next_auth, self.rx_sequence) = (auth, None, None);
        }
    }

    /// Returns true while packets are sent at intervals (6.8.7).
    fn is_periodic(&self) -> bool {
        let both_up = self.state == State::Up && self.remote.state == State::Up;
        let quiet = self.remote.demand && both_up && !self.poll.is_active();
        self.remote.min_rx != 0 && !quiet
    }

    /// The time at which the next control packet is sent, if any.
    pub fn next_control(&self) -> Option<u64> {
        if self.urgent.is_some() && self.remote.min_rx != 0 {
            return self.urgent;
        }
        let interval = u64::from(self.tx_interval()) * MICRO / 1024 * self.jitter;
        self.is_periodic().then(|| self.sent.map_or(0, |sent| sent + interval))
    }

    /// The time at which the next echo packet is sent, if any.
    fn next_echo(&self) -> Option<u64> {
        let interval = u64::from(self.echo_interval()) * MICRO / 1024 * self.jitter;
        self.echo.active.then(|| self.echo.sent.map_or(0, |sent| sent + interval))
    }

    /// The time at which the peer's silence is detected. While a session is down, each end sends
    /// only once in a second (6.8.3).
    fn expiry(&self) -> Option<u64> {
        let heard = self.heard.filter(|_| self.remote.disc != 0)?;
        let slow = u64::from(self.remote.detect_mult) * u64::from(SLOW) * MICRO;
        let time = match self.state {
            State::AdminDown | State::Down => self.detection_time().max(slow),
            State::Init | State::Up => self.detection_time(),
        };
        Some(heard + time + 1)
    }

    /// The time at which the loss of echo packets is detected.
    fn echo_expiry(&self) -> Option<u64> {
        self.echo.active.then(|| self.echo.heard + self.echo_detection_time() + 1)
    }

    /// The next time at which something is due, if any.
    pub fn due(&self) -> Option<u64> {
        let all = [self.expiry(), self.echo_expiry(), self.poll.begins()];
        let sends = [self.next_control(), self.next_echo()];
        all.into_iter().chain(sends).flatten().min()
    }

    /// Detects silence and lost echo packets, and begins a queued poll. Packets that are due come
    /// from [`Self::next_packet`].
    pub fn expire(&mut self, now: u64) {
        let past = |at: Option<u64>| at.is_some_and(|at| at <= now);
        if past(self.expiry()) {
            if matches!(self.state, State::Init | State::Up) {
                self.enter(State::Down, Diag::EXPIRED, now);
            }
            // 6.8.1, 6.8.18.
            (self.remote.disc, self.remote.min_rx, self.remote.demand) = (0, 1, false);
            self.remote.state = State::Down;
        } else if past(self.echo_expiry()) {
            self.enter(State::Down, Diag::ECHO_FAILED, now);
        }
        self.poll.step(now);
    }

    /// The next packet that is due, which the caller has to send. `random` is any number.
    pub fn next_packet(&mut self, now: u64, random: u64) -> Option<Sending> {
        if self.next_control().is_some_and(|at| at <= now) {
            (self.sent, self.urgent) = (Some(now), None);
            self.draw_jitter(random);
            return Some(Sending::Control);
        }
        if self.next_echo().is_some_and(|at| at <= now) {
            self.echo.sent = Some(now);
            self.draw_jitter(random);
            return Some(Sending::Echo(now + self.echo_detection_time()));
        }
        None
    }

    /// Intervals are 75 to 100 % of the nominal ones, at most 90 % if one lost packet is enough for
    /// the peer (6.8.7).
    const fn draw_jitter(&mut self, random: u64) {
        let span = if self.config.detect_mult == 1 { 154 } else { 256 };
        self.jitter = 768 + random % span;
    }

    /// Notes that an echo packet has come back in time.
    pub fn echoed(&mut self, now: u64) {
        self.echo.heard = now;
    }

    /// The control packet with the current variables. With `answer`, it answers a poll.
    pub fn control(&mut self, answer: bool) -> Control {
        let mut packet = Control {
            diag: self.diag,
            state: self.state,
            // The control plane ends with this process, and so do the sessions (6.8.15).
            independent: false,
            detect_mult: self.config.detect_mult,
            my_disc: self.disc,
            your_disc: self.remote.disc,
            desired_min_tx: self.desired_min_tx(),
            required_min_rx: self.required_min_rx(),
            // Echo packets of others are forwarded as fast as any packet.
            required_min_echo_rx: if self.multihop { 0 } else { 1 },
            ..Control::default()
        };
        let changed = self.last != Some(packet);
        self.last = Some(packet);
        if let Some(auth) = self.auth {
            // Keyed: the number grows when the packet has other fields than the last one (6.7.4).
            if auth.kind == crate::auth::AuthType::Meticulous || changed {
                self.tx_sequence = self.tx_sequence.wrapping_add(1);
            }
            packet.auth = Some(auth.section(self.tx_sequence));
        }
        // A packet has at most one of both bits (6.5).
        packet.r#final = answer;
        packet.poll = !answer && self.poll.is_active();
        packet
    }

    /// Processes a packet that has passed all checks of authentication (6.8.6). Returns true if it
    /// has to be answered at once.
    ///
    /// # Errors
    /// An operator holds the session down: the packet is discarded.
    pub(crate) fn take(&mut self, packet: &Control, now: u64) -> Result<bool, Refusal> {
        self.remote = Remote {
            disc: packet.my_disc,
            state: packet.state,
            diag: packet.diag,
            min_rx: packet.required_min_rx,
            desired_min_tx: packet.desired_min_tx,
            min_echo_rx: packet.required_min_echo_rx,
            detect_mult: packet.detect_mult,
            demand: packet.demand,
        };
        self.heard = Some(now);
        if packet.r#final && self.poll.finish(now) {
            self.put_in_force();
        }
        if self.state == State::AdminDown {
            return Err(Refusal::AdminDown);
        }
        use State::*;
        match (self.state, packet.state) {
            (Down, AdminDown) => {}
            (_, AdminDown) => self.enter(Down, Diag::NEIGHBOR_DOWN, now),
            (Down, Down) => self.enter(Init, Diag::NONE, now),
            (Down | Init, Init) | (Init, Up) => self.enter(Up, Diag::NONE, now),
            (Up, Down) => self.enter(Down, Diag::NEIGHBOR_DOWN, now),
            _ => {}
        }
        self.set_echo(now);
        Ok(packet.poll)
    }
}
