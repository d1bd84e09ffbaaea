# SPDX-License-Identifier: Apache-2.0
"""Small programs as users of VPP's Python package write them: each begins with nothing and does one thing."""

import fnmatch
import unittest

from vpp_papi import VppEnum
from vpp_papi.vpp_stats import VPPStats
from support import STATS_SOCK, Connected, client, eventually


class Programs(unittest.TestCase):
    def test_one_call(self):
        """Connect, ask for the version, leave."""
        vpp = client()
        vpp.connect("version")
        reply = vpp.api.show_version()
        vpp.disconnect()
        self.assertEqual((reply.retval, reply.program), (0, "ferrovia"))
        self.assertRegex(reply.build_date, r"^(\d{4}-\d\d-\d\d)?$")
        self.assertTrue(reply.build_directory.startswith("/"))

    def test_interfaces(self):
        """All interfaces, by name."""
        vpp = client()
        vpp.connect("interfaces")
        names = [row.interface_name for row in vpp.api.sw_interface_dump(name_filter_valid=False)]
        vpp.disconnect()
        self.assertEqual(names[0], "local0")

    def test_a_module_that_is_not_built(self):
        """The package has no function for it, and the daemon says what it belongs to."""
        vpp = client()
        vpp.connect("wireguard")
        try:
            self.assertFalse(hasattr(vpp.api, "wireguard_interface_delete"))
            message = "wireguard_interface_delete_f9e6675e"
            self.assertEqual(vpp.validate_message_table([message]), [message])
            rows = vpp.api.cli_inband(cmd="show api modules not-built").reply.splitlines()
            self.assertIn(["wireguard", "wireguard_plugin.so"], [row.split() for row in rows])
            refused = vpp.api.cli_inband(cmd="show wireguard peer")
            self.assertNotEqual(refused.retval, 0)
            self.assertIn("wireguard_plugin.so", refused.reply)
        finally:
            vpp.disconnect()


class Router(Connected):
    def test_a_loopback_with_address_table_and_route(self):
        """What introductions to the API do, step by step."""
        self.ok(self.api.ip_table_add_del(is_add=1, table={"table_id": 77, "is_ip6": False, "name": "blue"}))
        loop = self.ok(self.api.create_loopback()).sw_if_index
        self.ok(self.api.sw_interface_set_table(sw_if_index=loop, is_ipv6=False, vrf_id=77))
        up = VppEnum.vl_api_if_status_flags_t.IF_STATUS_API_FLAG_ADMIN_UP
        self.ok(self.api.sw_interface_set_flags(sw_if_index=loop, flags=up))
        self.ok(self.api.sw_interface_add_del_address(sw_if_index=loop, is_add=True, prefix="10.99.0.1/24"))
        self.ok(self.api.sw_interface_tag_add_del(sw_if_index=loop, is_add=True, tag="customer 7"))
        path = {"sw_if_index": loop, "weight": 1, "nh": {"address": {"ip4": "10.99.0.9"}},
                "label_stack": [{"is_uniform": 0, "label": 0, "ttl": 0, "exp": 0}] * 16}
        route = {"table_id": 77, "prefix": "203.0.113.0/24", "n_paths": 1, "paths": [path]}
        self.ok(self.api.ip_route_add_del(is_add=True, is_multipath=False, route=route))
        found = self.api.ip_route_lookup(table_id=77, exact=0, prefix="203.0.113.5/32")
        self.assertEqual(str(self.ok(found).route.prefix), "203.0.113.0/24")
        row = [row for row in self.api.sw_interface_dump() if row.sw_if_index == loop][0]
        self.assertEqual((row.tag, bool(row.flags & up)), ("customer 7", True))
        self.ok(self.api.ip_route_add_del(is_add=False, is_multipath=False, route=route))
        self.ok(self.api.delete_loopback(sw_if_index=loop))
        self.ok(self.api.ip_table_add_del(is_add=0, table={"table_id": 77, "is_ip6": False}))

    def test_errors_are_return_values(self):
        """A wrong index has VPP's number, and no exception."""
        self.assertEqual(self.api.sw_interface_set_flags(sw_if_index=4000, flags=1).retval, -2)


class Statistics(unittest.TestCase):
    """What the program vpp_get_stats does: ls, dump, poll."""

    @classmethod
    def setUpClass(cls):
        cls.stats = VPPStats(STATS_SOCK)
        cls.stats.connect()
        cls.addClassCleanup(cls.stats.disconnect)

    def test_ls(self):
        names = self.stats.directory
        for pattern in ("/if/rx", "/if/tx-error", "/sys/node/calls", "/err/*", "/nodes/*/vectors", "/interfaces/local0/rx",
                        "/mem/*/used", "/buffer-pools/*/available", "/sys/boottime", "/sys/heartbeat"):
            self.assertTrue(fnmatch.filter(names, pattern), pattern)
        listed = self.stats.ls(["^/if/", "^/sys/heartbeat"])
        self.assertTrue(all(name.startswith(("/if/", "/sys/heartbeat")) for name in listed))
        self.assertIn("/if/names", listed)

    def test_dump(self):
        values = self.stats.dump(self.stats.ls(["^/if/", "^/sys/"]))
        self.assertEqual(values["/if/names"][0], "local0")
        self.assertEqual(len(values["/if/rx"]), 1, "a row for each thread")
        self.assertGreater(values["/sys/boottime"], 1_600_000_000)

    def test_poll(self):
        before = self.stats.get_counter("/sys/heartbeat")
        eventually("three heartbeats", lambda: self.stats.get_counter("/sys/heartbeat") >= before + 3)


if __name__ == "__main__":
    unittest.main()
