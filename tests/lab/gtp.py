# SPDX-License-Identifier: Apache-2.0
"""Adds a PDP context to a GTP device of Linux: gtp.py DEVICE LOCAL-TEID REMOTE-TEID PEER MS.

Generic netlink, as linux/genetlink.h and linux/gtp.h have it.
"""

import socket
import struct
import sys

CTRL, GETFAMILY, FAMILY_ID, FAMILY_NAME = 16, 3, 1, 2
REQUEST_ACK = 5
NEWPDP, LINK, VERSION, PEER, MS, I_TEI, O_TEI = 0, 1, 2, 4, 5, 8, 9


def attribute(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def request(sock, family, command, attributes):
    body = struct.pack("=BBH", command, 0 if family != CTRL else 1, 0) + b"".join(attributes)
    sock.send(struct.pack("=IHHII", 16 + len(body), family, REQUEST_ACK, 1, 0) + body)
    found = None
    while True:
        answer = sock.recv(65536)
        while answer:
            length, kind = struct.unpack_from("=IH", answer)
            if kind == 2:
                (error,) = struct.unpack_from("=i", answer, 16)
                if error:
                    sys.exit(f"netlink: error {error}")
                return found
            found = answer[20:length]
            answer = answer[(length + 3) & ~3 :]


def family(sock, name):
    attributes = request(sock, CTRL, GETFAMILY, [attribute(FAMILY_NAME, name.encode() + b"\0")])
    while attributes:
        length, kind = struct.unpack_from("=HH", attributes)
        if kind == FAMILY_ID:
            return struct.unpack_from("=H", attributes, 4)[0]
        attributes = attributes[(length + 3) & ~3 :]
    sys.exit(f"no netlink family is named {name}")


device, local, remote, peer, ms = sys.argv[1:]
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16) as sock:
    number = lambda value: struct.pack("=I", int(value))
    request(
        sock,
        family(sock, "gtp"),
        NEWPDP,
        [
            attribute(VERSION, number(1)),
            attribute(LINK, number(socket.if_nametoindex(device))),
            attribute(PEER, socket.inet_aton(peer)),
            attribute(MS, socket.inet_aton(ms)),
            attribute(I_TEI, number(local)),
            attribute(O_TEI, number(remote)),
        ],
    )
