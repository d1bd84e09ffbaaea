# SPDX-License-Identifier: Apache-2.0
"""Connecting, calling, dumping, in each of the ways the package has; what goes wrong, said by a return value."""

import asyncio
import json
import os
import threading
import unittest

from vpp_papi import VPPApiClient, vpp_papi_async
from support import API_DIR, API_SOCK, PATIENCE, PID, Connected, client, eventually


def described():
    """Every message that the files describe: name and CRC."""
    for folder, _, names in os.walk(API_DIR):
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                for message in json.load(file)["messages"]:
                    yield message[0], message[-1]["crc"][2:]


class Session(Connected):
    def test_every_described_message_is_in_the_table(self):
        wanted = [f"{name}_{crc}" for name, crc in described()]
        self.assertGreater(len(wanted), 90)
        self.assertEqual(self.vpp.validate_message_table(wanted), [])
        table = self.vpp.dump_message_table()
        self.assertEqual(sorted(table), sorted(wanted))
        self.assertEqual(len(set(table.values())), len(table))
        self.assertNotIn(0, table.values())

    def test_numbers_that_clients_know_by_heart(self):
        names = {number: name.rsplit("_", 1)[0] for name, number in self.vpp.dump_message_table().items()}
        for number, name in (
            (15, "sockclnt_create"),
            (16, "sockclnt_create_reply"),
            (17, "sockclnt_delete"),
            (18, "sockclnt_delete_reply"),
            (23, "control_ping"),
            (24, "control_ping_reply"),
            (27, "get_api_json"),
            (28, "get_api_json_reply"),
        ):
            self.assertEqual(names[number], name)

    def test_every_request_became_a_function(self):
        requests = [name for name in self.vpp.services if name in self.vpp.messages]
        self.assertEqual([name for name in requests if not hasattr(self.api, name)], [])

    def test_ping_says_who_answers(self):
        reply = self.ok(self.api.control_ping())
        self.assertEqual(reply.vpe_pid, PID)
        self.assertEqual(reply.client_index, self.vpp.transport.socket_index)

    def test_version(self):
        reply = self.ok(self.api.show_version())
        self.assertTrue(reply.program)
        self.assertRegex(reply.version, r"^\d+\.\d+")
        self.assertIn(reply.version, self.cli("show version"))

    def test_threads(self):
        reply = self.ok(self.api.show_threads())
        self.assertEqual(reply.count, len(reply.thread_data))
        for thread in reply.thread_data:
            self.assertTrue(os.path.exists(f"/proc/{PID}/task/{thread.pid}"), thread)

    def test_messages_of_the_dump_come_in_order(self):
        self.cli("show version")
        entries = self.api.log_dump()
        times = [entry.timestamp for entry in entries]
        self.assertEqual(times, sorted(times))

    def test_commands(self):
        self.assertEqual(self.cli("show version"), self.cli("show version\n"))
        self.assertEqual(self.cli("show version"), self.cli("sh ver"))
        wrong = self.api.cli_inband(cmd="show nonsense")
        self.assertNotEqual(wrong.retval, 0)
        self.assertIn("nonsense", wrong.reply)

    def test_floats_are_in_the_order_of_the_host(self):
        self.assertEqual(self.api.get_f64_increment_by_one(f64_value=41.5).f64_value, 42.5)

    def test_graph(self):
        node = self.ok(self.api.get_node_index(node_name="ip4-lookup"))
        self.assertGreater(node.node_index, 0)
        self.assertEqual(self.api.get_node_index(node_name="no-such-node").retval, -63)

    def test_an_argument_that_is_no_field_is_refused_by_the_package(self):
        with self.assertRaises(VPPApiClient.VPPValueError):
            self.api.control_ping(nonsense=1)

    def test_a_wrong_interface_is_a_return_value(self):
        neighbor = {"sw_if_index": 4242, "ip_address": "10.0.0.9", "mac_address": "02:fe:00:00:00:09"}
        reply = self.api.ip_neighbor_add_del(is_add=1, neighbor=neighbor)
        self.assertEqual(reply.retval, -2)
        self.assertEqual(self.api.sw_interface_set_flags(sw_if_index=4242, flags=1).retval, -2)


class Ways(unittest.TestCase):
    def test_connect_again_and_again(self):
        vpp = client()
        seen = set()
        for _ in range(20):
            vpp.connect("again")
            seen.add(vpp.transport.socket_index)
            self.assertEqual(vpp.api.control_ping().retval, 0)
            self.assertEqual(vpp.disconnect().response, 1)
        self.assertEqual(len(seen), 20)
        vpp.connect("the last one")
        eventually("the end of the earlier ones",
                   lambda: "again" not in vpp.api.cli_inband(cmd="show api clients").reply)
        self.assertIn("the last one", vpp.api.cli_inband(cmd="show api clients").reply)
        vpp.disconnect()

    def test_descriptions_over_the_connection(self):
        vpp = VPPApiClient(bootstrapapi=True, server_address=API_SOCK, read_timeout=PATIENCE)
        vpp.connect("bootstrap")
        try:
            self.assertEqual(sorted(vpp.messages), sorted(name for name, _ in described()))
            self.assertEqual(vpp.api.show_version().retval, 0)
            self.assertGreater(len(vpp.api.sw_interface_dump()), 0)
        finally:
            vpp.disconnect()

    def test_several_clients_at_once(self):
        problems = []

        def talk(number):
            try:
                vpp = client()
                vpp.connect(f"client {number}")
                for _ in range(50):
                    reply = vpp.api.control_ping()
                    if reply.client_index != vpp.transport.socket_index:
                        problems.append(f"client {number} got another's reply: {reply}")
                    if vpp.api.sw_interface_dump()[0].interface_name != "local0":
                        problems.append(f"client {number}: no local0")
                vpp.disconnect()
            except Exception as error:  # pylint: disable=broad-except
                problems.append(f"client {number}: {error!r}")

        threads = [threading.Thread(target=talk, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])

    def test_requests_without_waiting(self):
        vpp = client(async_thread=False)
        replies = []
        vpp.register_event_callback(lambda name, message: replies.append((name, message.context)))
        vpp.connect("pipelined", do_async=True)
        contexts = [vpp.api.control_ping() for _ in range(2000)]
        eventually("2000 replies", lambda: len(replies) >= len(contexts))
        self.assertEqual(replies, [("control_ping_reply", context) for context in contexts])
        # Each of these answers is some hundred kilobytes.
        replies.clear()
        contexts = [vpp.api.get_api_json() for _ in range(30)]
        eventually("30 long replies", lambda: len(replies) >= len(contexts))
        self.assertEqual(replies, [("get_api_json_reply", context) for context in contexts])
        vpp.disconnect()

    def test_asyncio(self):
        async def talk():
            vpp = vpp_papi_async.VPPApiClient(server_address=API_SOCK)
            self.assertEqual(await vpp.connect("asyncio", asyncio.Queue()), 0)
            pings = await asyncio.gather(*(vpp.api.control_ping() for _ in range(100)))
            self.assertEqual({reply.vpe_pid for reply in pings}, {PID})
            self.assertEqual((await vpp.api.cli_inband(cmd="show nonsense")).retval != 0, True)
            _, interfaces = await vpp.api.sw_interface_dump()
            self.assertEqual(interfaces[0].interface_name, "local0")
            await vpp.disconnect()

        asyncio.run(talk())
