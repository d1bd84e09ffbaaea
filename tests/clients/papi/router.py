# SPDX-License-Identifier: Apache-2.0
"""A router is configured, packets go through it, and the stats segment says how many."""

import ipaddress
import os
import struct
import unittest

from vpp_papi import VppEnum
from vpp_papi.vpp_stats import VPPStats
from support import RUN, STATS_SOCK, Connected, client, eventually

PACKETS = 500
# The package wants all sixteen.
NO_LABELS = [{"is_uniform": 0, "label": 0, "ttl": 0, "exp": 0}] * 16
HOST = "02:fe:00:00:00:aa"


def checksum(words):
    total = sum(struct.unpack(f">{len(words) // 2}H", words))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def frame(to, destination, ttl=64, spoilt=False):
    """100 bytes of Ethernet, IPv4 and UDP without checksum."""
    source, destination = (ipaddress.ip_address(a).packed for a in ("10.1.0.2", destination))
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 86, 1, 0, ttl, 17, 0, source, destination)
    sum_ = checksum(header) ^ (0x5555 if spoilt else 0)
    header = header[:10] + struct.pack(">H", sum_) + header[12:]
    ethernet = bytes(to) + bytes.fromhex(HOST.replace(":", "")) + b"\x08\x00"
    return ethernet + header + struct.pack(">HHHH", 1000, 2000, 66, 0) + bytes(58)


def write_pcap(path, frames):
    with open(path, "wb") as file:
        file.write(struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for data in frames:
            file.write(struct.pack("=IIII", 0, 0, len(data), len(data)) + data)


def read_pcap(path):
    with open(path, "rb") as file:
        data = file.read()[24:]
    frames = []
    while data:
        length = struct.unpack("=I", data[8:12])[0]
        frames.append(data[16:16 + length])
        data = data[16 + length:]
    return frames


class Traffic(Connected):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stats = VPPStats(STATS_SOCK)
        cls.stats.connect()
        cls.addClassCleanup(cls.stats.disconnect)
        cls.ports = [cls.port(cls(), number) for number in (0, 1)]

    def port(self, number):
        """pgN, up, with the address 10.(N+1).0.1/24 and a host 10.(N+1).0.2 behind it."""
        mode = VppEnum.vl_api_pg_interface_mode_t.PG_API_MODE_ETHERNET
        index = self.ok(self.api.pg_create_interface_v3(interface_id=number, mode=mode)).sw_if_index
        up = VppEnum.vl_api_if_status_flags_t.IF_STATUS_API_FLAG_ADMIN_UP
        self.ok(self.api.sw_interface_set_flags(sw_if_index=index, flags=up))
        network = f"10.{number + 1}.0"
        self.ok(self.api.sw_interface_add_del_address(sw_if_index=index, is_add=1, prefix=f"{network}.1/24"))
        static = VppEnum.vl_api_ip_neighbor_flags_t.IP_API_NEIGHBOR_FLAG_STATIC
        neighbor = {"sw_if_index": index, "flags": static, "mac_address": HOST, "ip_address": f"{network}.2"}
        self.ok(self.api.ip_neighbor_add_del(is_add=1, neighbor=neighbor))
        return index

    def interface(self, index):
        return [row for row in self.api.sw_interface_dump() if row.sw_if_index == index][0]

    def mac(self, index):
        return self.interface(index).l2_address.packed

    def route(self, prefix, via, is_add=1):
        """A route by way of a host behind a port; the number of its counters."""
        path = {
            "sw_if_index": self.ports[via],
            "weight": 1,
            "proto": VppEnum.vl_api_fib_path_nh_proto_t.FIB_API_PATH_NH_PROTO_IP4,
            "nh": {"address": {"ip4": f"10.{via + 1}.0.2"}},
            "n_labels": 0,
            "label_stack": NO_LABELS,
        }
        route = {"prefix": prefix, "n_paths": 1, "paths": [path]}
        return self.ok(self.api.ip_route_add_del(is_add=is_add, is_multipath=0, route=route)).stats_index

    def send(self, name, frames):
        """The frames into pg0, until the stream is through."""
        path = os.path.join(RUN, f"{name}.pcap")
        write_pcap(path, frames)
        self.cli(f"packet-generator new pcap {path} source pg0 name {name}")
        self.ok(self.api.pg_enable_disable(is_enabled=1, stream_name=name))
        eventually("the end of " + name, lambda: "Yes" not in self.cli("show packet-generator"))
        self.cli(f"packet-generator delete {name}")

    def combined(self, name, index):
        column = self.stats[name][:, index]
        return column.sum_packets(), column.sum_octets()

    def test_packets_are_routed_and_counted(self):
        number = self.route("192.168.7.0/24", via=1)
        self.ok(self.api.sw_interface_clear_stats(sw_if_index=0xFFFFFFFF))
        out = os.path.join(RUN, "out.pcap")
        self.ok(self.api.pg_capture(interface_id=1, is_enabled=1, pcap_file_name=out))
        before = self.combined("/net/route/to", number)
        self.send("routed", [frame(self.mac(self.ports[0]), "192.168.7.9")] * PACKETS)
        self.ok(self.api.pg_capture(interface_id=1, is_enabled=0, pcap_file_name=out))

        wanted = frame(bytes.fromhex(HOST.replace(":", "")), "192.168.7.9", ttl=63)
        wanted = wanted[:6] + self.mac(self.ports[1]) + wanted[12:]
        self.assertEqual(read_pcap(out), [wanted] * PACKETS)

        octets = PACKETS * len(wanted)
        self.assertEqual(self.combined("/if/rx", self.ports[0]), (PACKETS, octets))
        self.assertEqual(self.combined("/if/tx", self.ports[1]), (PACKETS, octets))
        self.assertEqual(self.combined("/if/rx", self.ports[1]), (0, 0))
        for link, count in (("pg0/rx", PACKETS), ("pg1/tx", PACKETS), ("pg1/rx", 0)):
            self.assertEqual(self.stats["/interfaces/" + link].sum_packets(), count, link)
        self.assertEqual(self.stats["/if/ip4"][:, self.ports[0]].sum(), PACKETS)
        self.assertEqual(self.stats["/if/drops"][:, self.ports[0]].sum(), 0)
        packets, _ = self.combined("/net/route/to", number)
        self.assertEqual(packets - before[0], PACKETS)
        names = self.stats["/if/names"]
        self.assertEqual([names[index] for index in self.ports], ["pg0", "pg1"])

    def test_what_is_dropped_is_counted_by_reason(self):
        mac = self.mac(self.ports[0])
        before = self.stats.set_errors()
        self.send("bad", [frame(mac, "10.2.0.2", spoilt=True)] * 7 + [frame(mac, "10.2.0.2", ttl=1)] * 5
                  + [frame(mac, "172.30.0.1")] * 3)
        after = self.stats.set_errors()
        more = {name: count - before.get(name, 0) for name, count in after.items()}
        for name, count in (("ip4-input/bad_checksum", 7), ("ip4-rewrite/time_expired", 5),
                            ("ip4-lookup/dst_lookup_miss", 3)):
            self.assertEqual(more.get("/err/" + name), count, more)
            self.assertEqual(self.stats.get_err_counter("/err/" + name), after["/err/" + name])
        self.assertIn("/err/ip4-input/bad_checksum", self.stats.set_errors_str())

    def test_directory(self):
        names = self.stats.ls(["/if/", "/sys/", "/err/", "/net/"])
        for name in ("rx", "tx", "rx-unicast", "rx-multicast", "rx-broadcast", "tx-unicast", "tx-multicast",
                     "tx-broadcast", "drops", "punt", "ip4", "ip6", "rx-no-buf", "rx-miss", "rx-error", "tx-error",
                     "names"):
            self.assertIn("/if/" + name, names)
        for name in ("heartbeat", "last_update", "boottime", "vector_rate", "vector_rate_per_worker", "input_rate",
                     "num_worker_threads", "last_stats_clear"):
            self.assertIn("/sys/" + name, names)
        for name in ("route/to", "route/via", "adjacency"):
            self.assertIn("/net/" + name, names)
        dumped = self.stats.dump(self.stats.ls(["/.*"]))
        self.assertGreater(len(dumped), 100)
        self.assertEqual([name for name, value in dumped.items() if value is None], [])
        self.assertEqual(self.stats["/sys/num_worker_threads"], 1)
        self.assertGreater(self.stats["/buffer-pools/default-numa-0/available"], 0)
        beat = self.stats["/sys/heartbeat"]
        eventually("another heartbeat", lambda: self.stats["/sys/heartbeat"] > beat)

    def test_a_reader_follows_interfaces_that_come_and_go(self):
        for _ in range(20):
            index = self.ok(self.api.create_loopback()).sw_if_index
            name = self.interface(index).interface_name
            self.assertEqual(self.stats[f"/interfaces/{name}/rx"].sum_packets(), 0)
            self.assertEqual(self.stats["/if/names"][index], name)
            self.ok(self.api.delete_loopback(sw_if_index=index))
            self.assertEqual(self.stats.ls([f"/interfaces/{name}/"]), [])

    def test_routes_are_dumped_as_they_were_added(self):
        prefixes = {f"172.16.{number}.0/24" for number in range(50)}
        numbers = {self.route(prefix, via=1) for prefix in prefixes}
        self.assertEqual(len(numbers), len(prefixes))
        table = {"table_id": 0, "is_ip6": False}
        rows = {str(row.route.prefix): row.route for row in self.api.ip_route_dump(table=table)}
        self.assertLessEqual(prefixes, set(rows))
        route = rows["172.16.7.0/24"]
        self.assertEqual(route.n_paths, 1)
        self.assertEqual(route.paths[0].sw_if_index, self.ports[1])
        self.assertEqual(str(route.paths[0].nh.address.ip4), "10.2.0.2")
        self.assertIn(route.stats_index, numbers)
        for prefix in prefixes:
            self.route(prefix, via=1, is_add=0)
        rows = {str(row.route.prefix) for row in self.api.ip_route_dump(table=table)}
        self.assertFalse(prefixes & rows)

    def test_addresses_and_neighbours_are_dumped(self):
        rows = self.api.ip_address_dump(sw_if_index=self.ports[0], is_ipv6=False)
        self.assertEqual([str(row.prefix) for row in rows], ["10.1.0.1/24"])
        rows = self.api.ip_neighbor_dump(sw_if_index=self.ports[1], af=0)
        self.assertEqual([(str(row.neighbor.ip_address), str(row.neighbor.mac_address)) for row in rows],
                         [("10.2.0.2", HOST)])

    def test_ten_thousand_routes_without_waiting(self):
        vpp = client()
        replies = []
        vpp.register_event_callback(lambda _, message: replies.append((message.context, message.retval)))
        vpp.connect("routes", do_async=True)
        path = {"sw_if_index": self.ports[1], "weight": 1, "nh": {"address": {"ip4": "10.2.0.2"}},
                "label_stack": NO_LABELS}
        for is_add in (1, 0):
            replies.clear()
            contexts = []
            for number in range(10_000):
                prefix = f"100.64.{number >> 8}.{number & 255}/32"
                route = {"prefix": prefix, "n_paths": 1, "paths": [path]}
                contexts.append(vpp.api.ip_route_add_del(is_add=is_add, is_multipath=0, route=route))
            eventually("10,000 replies", lambda: len(replies) >= len(contexts))
            self.assertEqual(replies, [(context, 0) for context in contexts])
            rows = self.api.ip_route_dump(table={"table_id": 0, "is_ip6": False})
            found = sum(str(row.route.prefix).startswith("100.64.") for row in rows)
            self.assertEqual(found, 10_000 if is_add else 0)
        vpp.register_event_callback(None)
        vpp.disconnect()


class Events(Connected):
    def setUp(self):
        self.seen = []
        self.vpp.register_event_callback(lambda name, event: self.seen.append((name, event)))

    def events(self, name):
        return [event for kind, event in self.seen if kind == name]

    def test_links_go_up_and_down(self):
        self.ok(self.api.want_interface_events(enable_disable=1, pid=os.getpid()))
        index = self.ok(self.api.create_loopback()).sw_if_index
        up = VppEnum.vl_api_if_status_flags_t.IF_STATUS_API_FLAG_ADMIN_UP
        self.ok(self.api.sw_interface_set_flags(sw_if_index=index, flags=up))
        self.ok(self.api.sw_interface_set_flags(sw_if_index=index, flags=0))
        self.ok(self.api.delete_loopback(sw_if_index=index))
        ours = lambda: [event for event in self.events("sw_interface_event") if event.sw_if_index == index]
        eventually("the interface's end", lambda: [event for event in ours() if event.deleted])
        flags = [bool(event.flags & up) for event in ours() if not event.deleted]
        self.assertIn(True, flags)
        self.assertIn(False, flags[flags.index(True):])
        self.assertEqual({event.pid for event in ours()}, {os.getpid()})
        self.ok(self.api.want_interface_events(enable_disable=0, pid=os.getpid()))
        seen = len(self.seen)
        index = self.ok(self.api.create_loopback()).sw_if_index
        self.ok(self.api.sw_interface_set_flags(sw_if_index=index, flags=up))
        self.ok(self.api.delete_loopback(sw_if_index=index))
        self.ok(self.api.control_ping())
        self.assertEqual(len(self.seen), seen)

    def test_neighbours_come_and_go(self):
        index = self.ok(self.api.create_loopback()).sw_if_index
        self.ok(self.api.sw_interface_set_flags(sw_if_index=index, flags=1))
        self.ok(self.api.sw_interface_add_del_address(sw_if_index=index, is_add=1, prefix="10.77.0.1/24"))
        self.ok(self.api.want_ip_neighbor_events_v2(enable=1, pid=os.getpid(), ip="0.0.0.0", sw_if_index=index))
        neighbor = {"sw_if_index": index, "mac_address": HOST, "ip_address": "10.77.0.5"}
        for is_add in (1, 0):
            self.ok(self.api.ip_neighbor_add_del(is_add=is_add, neighbor=neighbor))
        events = eventually("two events", lambda: len(self.events("ip_neighbor_event_v2")) == 2
                            and self.events("ip_neighbor_event_v2"))
        self.assertEqual([str(event.neighbor.ip_address) for event in events], ["10.77.0.5"] * 2)
        flags = VppEnum.vl_api_ip_neighbor_event_flags_t
        self.assertEqual([event.flags for event in events],
                         [flags.IP_NEIGHBOR_API_EVENT_FLAG_ADDED, flags.IP_NEIGHBOR_API_EVENT_FLAG_REMOVED])
        self.ok(self.api.delete_loopback(sw_if_index=index))
