// SPDX-License-Identifier: Apache-2.0

// Package clients drives the daemon by GoVPP and the bindings that come with it.
package clients

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.fd.io/govpp"
	"go.fd.io/govpp/adapter/statsclient"
	"go.fd.io/govpp/api"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/vlib"
	"go.fd.io/govpp/core"
)

// Long enough for a loaded machine; what is waited for usually takes milliseconds.
const patience = 20 * time.Second

func place(name string) string {
	return filepath.Join(os.Getenv("FERROVIA_RUN"), name)
}

func pid(t *testing.T) uint32 {
	n, err := strconv.ParseUint(os.Getenv("FERROVIA_PID"), 10, 32)
	must(t, err)
	return uint32(n)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !check(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

// client is one connection and the ways to use it.
type client struct {
	*core.Connection
	t   *testing.T
	ctx context.Context
}

func connect(t *testing.T) *client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	conn, err := govpp.Connect(place("api.sock"))
	must(t, err)
	t.Cleanup(conn.Disconnect)
	return &client{conn, t, ctx}
}

func (c *client) channel() api.Channel {
	c.t.Helper()
	channel, err := c.NewAPIChannel()
	must(c.t, err)
	channel.SetReplyTimeout(patience)
	c.t.Cleanup(channel.Close)
	return channel
}

func (c *client) interfaces() interfaces.RPCService {
	return interfaces.NewServiceClient(c)
}

// cli runs a command that has to succeed.
func (c *client) cli(line string) string {
	c.t.Helper()
	reply, err := vlib.NewServiceClient(c).CliInband(c.ctx, &vlib.CliInband{Cmd: line})
	if err != nil {
		c.t.Fatalf("%s: %v: %v", line, err, reply)
	}
	return reply.Reply
}

// dump reads a stream to its end.
func dump[M any](t *testing.T, receive func() (M, error)) (all []M) {
	t.Helper()
	for {
		one, err := receive()
		if errors.Is(err, io.EOF) {
			return all
		}
		must(t, err)
		all = append(all, one)
	}
}

func (c *client) details() map[string]*interfaces.SwInterfaceDetails {
	c.t.Helper()
	stream, err := c.interfaces().SwInterfaceDump(c.ctx, &interfaces.SwInterfaceDump{SwIfIndex: ^interface_types.InterfaceIndex(0)})
	must(c.t, err)
	found := map[string]*interfaces.SwInterfaceDetails{}
	for _, one := range dump(c.t, stream.Recv) {
		found[strings.TrimRight(one.InterfaceName, "\x00")] = one
	}
	return found
}

func (c *client) up(index interface_types.InterfaceIndex, flags interface_types.IfStatusFlags) {
	c.t.Helper()
	_, err := c.interfaces().SwInterfaceSetFlags(c.ctx, &interfaces.SwInterfaceSetFlags{SwIfIndex: index, Flags: flags})
	must(c.t, err)
}

func connectStats(t *testing.T) (*core.StatsConnection, *statsclient.StatsClient) {
	t.Helper()
	stats := statsclient.NewStatsClient(place("stats.sock"))
	conn, err := core.ConnectStats(stats)
	must(t, err)
	t.Cleanup(conn.Disconnect)
	return conn, stats
}
