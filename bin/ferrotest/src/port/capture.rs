// SPDX-License-Identifier: Apache-2.0
//! Capture files: frames to be replayed, and frames that came back.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapReader, PcapWriter};
use pcap_file::{Endianness, TsResolution};

use super::{Rx, Taken, Tx};

/// Frames of a capture file with their times in nanoseconds, the first at 0.
///
/// # Errors
/// The file can't be read, or doesn't hold Ethernet frames.
pub fn read(path: &Path) -> Result<Vec<(u64, Vec<u8>)>, String> {
    let failed = |why: String| format!("{}: {why}", path.display());
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let mut reader =
        PcapReader::new(BufReader::new(file)).map_err(|error| failed(error.to_string()))?;
    let link = reader.header().datalink;
    if link != DataLink::ETHERNET {
        return Err(failed(format!("link type {link:?}, expected Ethernet frames")));
    }
    let (mut frames, mut first) = (Vec::new(), None);
    while let Some(packet) = reader.next_packet() {
        let packet = packet.map_err(|error| failed(error.to_string()))?;
        let time = packet.timestamp.as_nanos() as u64;
        let start = *first.get_or_insert(time);
        if packet.orig_len as usize != packet.data.len() {
            return Err(failed(format!(
                "frame {} is cut: {} of {} bytes; capture with a longer snap length",
                frames.len() + 1,
                packet.data.len(),
                packet.orig_len
            )));
        }
        frames.push((time.saturating_sub(start), packet.data.into_owned()));
    }
    if frames.is_empty() {
        return Err(failed("no frame in it".into()));
    }
    Ok(frames)
}

/// Writes frames to a capture file; a port that only sends.
pub struct CaptureTx(PcapWriter<BufWriter<File>>);

impl CaptureTx {
    /// Creates the file.
    ///
    /// # Errors
    /// It can't be written.
    pub fn create(path: &Path) -> Result<Self, String> {
        let failed = |why: String| format!("{}: {why}", path.display());
        let file = File::create(path).map_err(|error| failed(error.to_string()))?;
        let header = PcapHeader {
            ts_resolution: TsResolution::NanoSecond,
            endianness: Endianness::native(),
            ..PcapHeader::default()
        };
        let writer = PcapWriter::with_header(BufWriter::new(file), header);
        Ok(Self(writer.map_err(|error| failed(error.to_string()))?))
    }
}

impl Tx for CaptureTx {
    fn send<'d>(&mut self, now: u64, frames: impl Iterator<Item = &'d [u8]>) -> Taken {
        let mut taken = Taken::default();
        for frame in frames {
            let packet = PcapPacket::new(Duration::from_nanos(now), frame.len() as u32, frame);
            taken.sent += 1;
            taken.refused += usize::from(self.0.write_packet(&packet).is_err());
        }
        taken
    }
}

/// Frames of a capture file, as a port that only receives: each arrives at its time.
pub struct CaptureRx {
    frames: Vec<(u64, Vec<u8>)>,
    next: usize,
}

impl CaptureRx {
    /// Opens a file.
    ///
    /// # Errors
    /// As [`read`].
    pub fn open(path: &Path) -> Result<Self, String> {
        Ok(Self { frames: read(path)?, next: 0 })
    }
}

impl Rx for CaptureRx {
    fn receive(&mut self, now: u64, max: usize, mut f: impl FnMut(&[u8])) -> usize {
        let mut count = 0;
        while count < max
            && let Some((at, frame)) = self.frames.get(self.next)
            && *at <= now
        {
            f(frame);
            self.next += 1;
            count += 1;
        }
        count
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn files_give_back_their_frames_at_their_times() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.pcap");
        let frames = [vec![1; 60], vec![2; 1514]];
        {
            let mut tx = CaptureTx::create(&path).unwrap();
            for (n, frame) in frames.iter().enumerate() {
                let taken = tx.send(5_000 + 123 * n as u64, [frame.as_slice()].into_iter());
                assert_eq!(taken, Taken { sent: 1, refused: 0 });
            }
        }
        let expected: Vec<_> = [0, 123].into_iter().zip(frames.clone()).collect();
        assert_eq!(read(&path).unwrap(), expected);
        let mut rx = CaptureRx::open(&path).unwrap();
        let mut got = Vec::new();
        assert_eq!(rx.receive(122, 9, |frame| got.push(frame.to_vec())), 1);
        assert_eq!(rx.receive(123, 9, |frame| got.push(frame.to_vec())), 1);
        assert_eq!(got, frames);
    }

    #[suite::test]
    fn bad_files_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bad.pcap");
        assert!(read(&path).unwrap_err().contains("bad.pcap"));
        std::fs::write(&path, b"no capture").unwrap();
        assert!(read(&path).unwrap_err().contains("bad.pcap"));
    }
}
