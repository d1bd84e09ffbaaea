# SPDX-License-Identifier: Apache-2.0
"""The daemon under test, and connections to it by VPP's own client package."""

import os
import time
import unittest

from vpp_papi import VPPApiClient

RUN = os.environ["FERROVIA_RUN"]
API_DIR = os.environ["FERROVIA_API"]
PID = int(os.environ["FERROVIA_PID"])
API_SOCK = os.path.join(RUN, "api.sock")
STATS_SOCK = os.path.join(RUN, "stats.sock")

# Long enough for a loaded machine; what is waited for usually takes milliseconds.
PATIENCE = 20


def client(**more):
    """A client that knows what the daemon's own files say."""
    return VPPApiClient(apidir=API_DIR, server_address=API_SOCK, read_timeout=PATIENCE, **more)


def eventually(what, check):
    """Waits until `check` gives something, and gives it."""
    end = time.monotonic() + PATIENCE
    while True:
        found = check()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(what + " did not happen")
        time.sleep(0.01)


class Connected(unittest.TestCase):
    """Tests of one class share one connection."""

    @classmethod
    def setUpClass(cls):
        cls.vpp = client()
        cls.vpp.connect(cls.__name__)
        cls.addClassCleanup(cls.vpp.disconnect)
        cls.api = cls.vpp.api

    def cli(self, line):
        """A command that has to succeed, through the API."""
        reply = self.api.cli_inband(cmd=line)
        self.assertEqual(reply.retval, 0, f"{line}: {reply.reply}")
        return reply.reply

    def ok(self, reply):
        """A reply that says so."""
        self.assertEqual(reply.retval, 0, reply)
        return reply
