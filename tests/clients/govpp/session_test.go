// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"go.fd.io/govpp"
	"go.fd.io/govpp/adapter/socketclient"
	"go.fd.io/govpp/api"
	_ "go.fd.io/govpp/binapi/af_packet"
	_ "go.fd.io/govpp/binapi/arp"
	_ "go.fd.io/govpp/binapi/feature"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	_ "go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_neighbor"
	"go.fd.io/govpp/binapi/memclnt"
	_ "go.fd.io/govpp/binapi/pg"
	_ "go.fd.io/govpp/binapi/ping"
	_ "go.fd.io/govpp/binapi/tapv2"
	_ "go.fd.io/govpp/binapi/trace"
	_ "go.fd.io/govpp/binapi/tracedump"
	"go.fd.io/govpp/binapi/vlib"
	"go.fd.io/govpp/binapi/vpe"
	"go.fd.io/govpp/core"
)

// What GoVPP ships is of VPP 25.10 (or older), what is served is of 26.06. Whatever both know has to be the same.
func TestShippedBindingsFit(t *testing.T) {
	socket := socketclient.NewVppClient(place("api.sock"))
	must(t, socket.Connect())
	defer func() { must(t, socket.Disconnect()) }()
	c := connect(t)
	channel := c.channel()
	served := served(t)
	fitting, absent := 0, []string{}
	for packages, messages := range api.GetRegisteredMessages() {
		if !strings.HasSuffix(path.Clean(packages), "govpp/binapi") {
			continue
		}
		for _, message := range messages {
			name := message.GetMessageName()
			switch crc, known := served[name]; {
			case !known:
				absent = append(absent, name)
				var incompatible *api.CompatibilityError
				if err := channel.CheckCompatiblity(message); !errors.As(err, &incompatible) {
					t.Errorf("%s isn't served, but: %v", name, err)
				}
			case crc != message.GetCrcString():
				t.Errorf("%s is served with %s, shipped with %s", name, crc, message.GetCrcString())
			default:
				fitting++
				must(t, channel.CheckCompatiblity(message))
				if _, err := socket.GetMsgID(name, crc); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if fitting < 80 {
		t.Errorf("%d messages fit", fitting)
	}
	sort.Strings(absent)
	t.Logf("%d messages fit; %d aren't served: %s", fitting, len(absent), strings.Join(absent, " "))
}

// served is what the daemon's own descriptions say: CRCs by name.
func served(t *testing.T) map[string]string {
	crcs := map[string]string{}
	must(t, filepath.WalkDir(os.Getenv("FERROVIA_API"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var module struct{ Messages [][]json.RawMessage }
		if err := json.Unmarshal(text, &module); err != nil {
			return err
		}
		for _, message := range module.Messages {
			var name string
			var last struct{ Crc string }
			if err := json.Unmarshal(message[0], &name); err != nil {
				return err
			}
			if err := json.Unmarshal(message[len(message)-1], &last); err != nil {
				return err
			}
			crcs[name] = strings.TrimPrefix(last.Crc, "0x")
		}
		return nil
	}))
	return crcs
}

func TestChannel(t *testing.T) {
	c := connect(t)
	channel := c.channel()
	ping := &memclnt.ControlPingReply{}
	must(t, channel.SendRequest(&memclnt.ControlPing{}).ReceiveReply(ping))
	if ping.VpePID != pid(t) {
		t.Errorf("%+v", ping)
	}
	version := &vpe.ShowVersionReply{}
	must(t, channel.SendRequest(&vpe.ShowVersion{}).ReceiveReply(version))
	if version.Program == "" || version.Version == "" {
		t.Errorf("%+v", version)
	}
	// Requests under way at the same time are answered in their order.
	var requests []api.RequestCtx
	for i := 0; i < 50; i++ {
		requests = append(requests, channel.SendRequest(&vlib.CliInband{Cmd: "show version"}))
	}
	for _, request := range requests {
		reply := &vlib.CliInbandReply{}
		must(t, request.ReceiveReply(reply))
		if !strings.Contains(reply.Reply, version.Version) {
			t.Errorf("%+v", reply)
		}
	}
	names := []string{}
	multi := channel.SendMultiRequest(&interfaces.SwInterfaceDump{SwIfIndex: ^interface_types.InterfaceIndex(0)})
	for {
		details := &interfaces.SwInterfaceDetails{}
		last, err := multi.ReceiveReply(details)
		must(t, err)
		if last {
			break
		}
		names = append(names, strings.TrimRight(details.InterfaceName, "\x00"))
	}
	if len(names) == 0 || names[0] != "local0" {
		t.Error(names)
	}
}

func TestStream(t *testing.T) {
	c := connect(t)
	stream, err := c.NewStream(c.ctx, core.WithRequestSize(10), core.WithReplySize(100))
	must(t, err)
	defer func() { must(t, stream.Close()) }()
	must(t, stream.SendMsg(&interfaces.SwInterfaceDump{SwIfIndex: ^interface_types.InterfaceIndex(0)}))
	must(t, stream.SendMsg(&memclnt.ControlPing{}))
	details := 0
	for {
		message, err := stream.RecvMsg()
		must(t, err)
		if _, end := message.(*memclnt.ControlPingReply); end {
			break
		}
		if _, ok := message.(*interfaces.SwInterfaceDetails); !ok {
			t.Fatalf("%T", message)
		}
		details++
	}
	if details == 0 {
		t.Error("no details")
	}
	if _, found := c.details()["local0"]; !found {
		t.Error("no local0")
	}
}

func TestErrorsAreReturnValues(t *testing.T) {
	c := connect(t)
	_, err := c.interfaces().SwInterfaceSetFlags(c.ctx, &interfaces.SwInterfaceSetFlags{SwIfIndex: 4242})
	var code api.VPPApiError
	if !errors.As(err, &code) || code != api.INVALID_SW_IF_INDEX {
		t.Error(err)
	}
	reply := &ip_neighbor.IPNeighborAddDelReply{}
	must(t, c.Invoke(c.ctx, &ip_neighbor.IPNeighborAddDel{IsAdd: true, Neighbor: ip_neighbor.IPNeighbor{SwIfIndex: 4242}}, reply))
	if reply.Retval != int32(api.INVALID_SW_IF_INDEX) {
		t.Error(reply)
	}
	inband, err := vlib.NewServiceClient(c).CliInband(c.ctx, &vlib.CliInband{Cmd: "show nonsense"})
	if err == nil || !strings.Contains(inband.Reply, "nonsense") {
		t.Error(inband, err)
	}
}

func TestEvents(t *testing.T) {
	c := connect(t)
	watcher, err := c.WatchEvent(c.ctx, &interfaces.SwInterfaceEvent{})
	must(t, err)
	defer watcher.Close()
	_, err = c.interfaces().WantInterfaceEvents(c.ctx, &interfaces.WantInterfaceEvents{EnableDisable: 1, PID: 42})
	must(t, err)
	loop, err := c.interfaces().CreateLoopback(c.ctx, &interfaces.CreateLoopback{})
	must(t, err)
	c.up(loop.SwIfIndex, interface_types.IF_STATUS_API_FLAG_ADMIN_UP)
	c.up(loop.SwIfIndex, 0)
	_, err = c.interfaces().DeleteLoopback(c.ctx, &interfaces.DeleteLoopback{SwIfIndex: loop.SwIfIndex})
	must(t, err)
	up, down := false, false
	for {
		select {
		case <-c.ctx.Done():
			t.Fatalf("no end of the interface; up: %v, then down: %v", up, down)
		case message := <-watcher.Events():
			event := message.(*interfaces.SwInterfaceEvent)
			if event.SwIfIndex != loop.SwIfIndex {
				continue
			}
			if event.PID != 42 {
				t.Errorf("%+v", event)
			}
			is := event.Flags&interface_types.IF_STATUS_API_FLAG_ADMIN_UP != 0
			down = down || up && !is
			up = up || is
			if event.Deleted {
				if !up || !down {
					t.Errorf("up: %v, then down: %v", up, down)
				}
				return
			}
		}
	}
}

func TestHealthChecksAndReconnecting(t *testing.T) {
	core.HealthCheckProbeInterval = 100 * time.Millisecond
	core.HealthCheckReplyTimeout = patience
	for i := 0; i < 3; i++ {
		conn, events, err := govpp.AsyncConnect(place("api.sock"), 3, 100*time.Millisecond)
		must(t, err)
		select {
		case event := <-events:
			if event.State != core.Connected {
				t.Fatalf("%+v", event)
			}
		case <-time.After(patience):
			t.Fatal("no connection")
		}
		channel, err := conn.NewAPIChannel()
		must(t, err)
		// Several probes.
		time.Sleep(300 * time.Millisecond)
		must(t, channel.SendRequest(&memclnt.ControlPing{}).ReceiveReply(&memclnt.ControlPingReply{}))
		channel.Close()
		select {
		case event := <-events:
			t.Errorf("%+v", event)
		default:
		}
		conn.Disconnect()
	}
}

func TestSeveralConnections(t *testing.T) {
	var all sync.WaitGroup
	for i := 0; i < 8; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			conn, err := govpp.Connect(place("api.sock"))
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Disconnect()
			channel, err := conn.NewAPIChannel()
			if err != nil {
				t.Error(err)
				return
			}
			defer channel.Close()
			for i := 0; i < 200; i++ {
				if err := channel.SendRequest(&memclnt.ControlPing{}).ReceiveReply(&memclnt.ControlPingReply{}); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	all.Wait()
}
