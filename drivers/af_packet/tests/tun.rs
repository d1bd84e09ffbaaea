// SPDX-License-Identifier: Apache-2.0
//! An interface without a link layer. Needs root and /dev/net/tun.

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::AsRawFd,
};

use super::af_packet_lab::{collect, frame, namespace, send};
use af_packet::{Config, HostInterface, Mode};
use netlink::Rtnl;
use wire::offload::Offload;

/// A tun device; what is written to it is received by the interface `tun0`, and the other way
/// round.
fn tun() -> File {
    let file = File::options().read(true).write(true).open("/dev/net/tun").unwrap();
    // `struct ifreq`: a name of 16 bytes, then the flags
    let mut request = [0u8; 40];
    request[..4].copy_from_slice(b"tun0");
    request[16..18].copy_from_slice(&((libc::IFF_TUN | libc::IFF_NO_PI) as u16).to_ne_bytes());
    // SAFETY: the request is as long as `struct ifreq` and lives for the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, request.as_mut_ptr()) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    file
}

#[suite::test(netns)]
fn packets_without_a_link_layer_header() {
    let Some(namespace) = namespace() else { return };
    if !testkit::has_file("/dev/net/tun") {
        return;
    }
    let mut device = namespace.run(|| Ok(tun())).unwrap();
    let mut rtnl = Rtnl::in_namespace(&namespace).unwrap();
    let index = rtnl.link("tun0").unwrap().index;
    rtnl.set_admin_up(index, true).unwrap();
    let config = Config { mode: Mode::Ip, ..Config::new("tun0") };
    let mut host = namespace.run(|| HostInterface::open(&config)).unwrap();

    let v4 = frame(100, 1)[14..].to_vec();
    let mut v6 = vec![0u8; 60];
    v6[..8].copy_from_slice(&[0x60, 0, 0, 0, 0, 20, 59, 64]);
    device.write_all(&v4).unwrap();
    device.write_all(&v6).unwrap();
    let got = collect(&mut host.rx[0], 2, |frame| frame.with_bytes(<[u8]>::to_vec));
    assert_eq!(got, [v4.clone(), v6.clone()]);

    send(&mut host.tx[0], [&v6, &v4].map(|packet| (Offload::NONE, &packet[..])));
    for packet in [v6, v4] {
        let mut bytes = [0; 200];
        let len = device.read(&mut bytes).unwrap();
        assert_eq!(bytes[..len], packet);
    }
}
