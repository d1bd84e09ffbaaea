// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"fmt"
	"strings"
	"testing"

	"go.fd.io/govpp/adapter"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ethernet_types"
	"go.fd.io/govpp/binapi/fib_types"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_neighbor"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/pg"
)

const (
	host    = "02:fe:00:00:00:aa"
	packets = 300
	nowhere = ^interface_types.InterfaceIndex(0)
)

// port makes pgN, up, with the address 10.(N+1).0.1/24 and a host 10.(N+1).0.2 behind it.
func (c *client) port(n int) interface_types.InterfaceIndex {
	c.t.Helper()
	t := c.t
	made, err := pg.NewServiceClient(c).PgCreateInterfaceV2(c.ctx, &pg.PgCreateInterfaceV2{
		InterfaceID: interface_types.InterfaceIndex(n), Mode: pg.PG_API_MODE_ETHERNET,
	})
	must(t, err)
	index := made.SwIfIndex
	c.up(index, interface_types.IF_STATUS_API_FLAG_ADMIN_UP)
	prefix, err := ip_types.ParseAddressWithPrefix(fmt.Sprintf("10.%d.0.1/24", n+1))
	must(t, err)
	_, err = c.interfaces().SwInterfaceAddDelAddress(c.ctx, &interfaces.SwInterfaceAddDelAddress{
		SwIfIndex: index, IsAdd: true, Prefix: prefix,
	})
	must(t, err)
	mac, err := ethernet_types.ParseMacAddress(host)
	must(t, err)
	address, err := ip_types.ParseAddress(fmt.Sprintf("10.%d.0.2", n+1))
	must(t, err)
	_, err = ip_neighbor.NewServiceClient(c).IPNeighborAddDel(c.ctx, &ip_neighbor.IPNeighborAddDel{
		IsAdd: true,
		Neighbor: ip_neighbor.IPNeighbor{
			SwIfIndex: index, Flags: ip_neighbor.IP_API_NEIGHBOR_FLAG_STATIC, MacAddress: mac, IPAddress: address,
		},
	})
	must(t, err)
	return index
}

// route adds or deletes a route by 10.2.0.2, or to nowhere; the number of its counters.
func (c *client) route(add bool, text string, by interface_types.InterfaceIndex) uint32 {
	c.t.Helper()
	prefix, err := ip_types.ParsePrefix(text)
	must(c.t, err)
	gateway, err := ip_types.ParseIP4Address("10.2.0.2")
	must(c.t, err)
	path := fib_types.FibPath{SwIfIndex: uint32(by), Weight: 1, Proto: fib_types.FIB_API_PATH_NH_PROTO_IP4}
	path.Nh.Address.SetIP4(gateway)
	if by == nowhere {
		path = fib_types.FibPath{SwIfIndex: ^uint32(0), Weight: 1, Type: fib_types.FIB_API_PATH_TYPE_DROP}
	}
	reply, err := ip.NewServiceClient(c).IPRouteAddDel(c.ctx, &ip.IPRouteAddDel{
		IsAdd: add, Route: ip.IPRoute{Prefix: prefix, NPaths: 1, Paths: []fib_types.FibPath{path}},
	})
	must(c.t, err)
	return reply.StatsIndex
}

// send puts frames into pg0 and waits until the stream is through.
func (c *client) send(name, mac, to string) {
	c.t.Helper()
	c.cli(fmt.Sprintf("packet-generator new {\n name %s\n limit %d\n size 100-100\n interface pg0\n data {\n"+
		" IP4: %s -> %s\n UDP: 10.1.0.2 -> %s\n UDP: 1000 -> 2000\n }\n}\n", name, packets, host, mac, to))
	generator := pg.NewServiceClient(c)
	_, err := generator.PgEnableDisable(c.ctx, &pg.PgEnableDisable{IsEnabled: true, StreamName: name})
	must(c.t, err)
	eventually(c.t, "the end of the stream", func() bool {
		return !strings.Contains(c.cli("show packet-generator"), "Yes")
	})
	c.cli("packet-generator delete " + name)
}

func TestRouter(t *testing.T) {
	c := connect(t)
	conn, stats := connectStats(t)
	in, out := c.port(0), c.port(1)
	mac := c.details()["pg0"].L2Address.String()
	number := c.route(true, "192.168.7.0/24", out)
	combined := func(name string, index uint32) adapter.CombinedCounter {
		entries, err := stats.DumpStats("^" + name + "$")
		must(t, err)
		if len(entries) != 1 {
			t.Fatalf("%s: %d entries", name, len(entries))
		}
		return adapter.ReduceCombinedCounterStatIndex(entries[0].Data.(adapter.CombinedCounterStat), int(index))
	}
	c.route(true, "192.168.8.0/24", nowhere)
	all := &api.InterfaceStats{}
	_, err := c.interfaces().SwInterfaceClearStats(c.ctx, &interfaces.SwInterfaceClearStats{SwIfIndex: nowhere})
	must(t, err)
	c.send("routed", mac, "192.168.7.9")
	c.send("dropped", mac, "192.168.8.9")

	if to := combined("/net/route/to", number); to.Packets() != packets {
		t.Errorf("route: %v", to)
	}
	must(t, conn.GetInterfaceStats(all))
	left, right := all.Interfaces[in], all.Interfaces[out]
	if left.InterfaceName != "pg0" || left.Rx.Packets != 2*packets || left.Rx.Bytes != 200*packets || left.Drops != packets || left.IP4 != 2*packets {
		t.Errorf("%+v", left)
	}
	if right.InterfaceName != "pg1" || right.Tx.Packets != packets || right.Tx.Bytes != 100*packets || right.Rx.Packets != 0 {
		t.Errorf("%+v", right)
	}
	if linked := combined("/interfaces/pg1/tx", 0); linked != (adapter.CombinedCounter{packets, 100 * packets}) {
		t.Errorf("by the interface's name: %v", linked)
	}

	errors := &api.ErrorStats{}
	must(t, conn.GetErrorStats(errors))
	found := []string{}
	for _, counter := range errors.Errors {
		sum := uint64(0)
		for _, value := range counter.Values {
			sum += value
		}
		if sum == packets {
			found = append(found, counter.CounterName)
		}
	}
	if !strings.Contains(strings.Join(found, " "), "/err/ip4") {
		t.Errorf("no reason counted %d times: %v", packets, found)
	}

	nodes := &api.NodeStats{}
	must(t, conn.GetNodeStats(nodes))
	vectors := map[string]uint64{}
	for _, node := range nodes.Nodes {
		if node.Vectors > 0 && (node.Calls == 0 || node.Clocks == 0) {
			t.Errorf("%+v", node)
		}
		vectors[node.NodeName] = node.Vectors
	}
	// All packets pass the super-path, and those without a route the graph behind it. So does what
	// loopbacks of other tests return to themselves.
	others := vectors["ethernet-input"] - packets
	if vectors["super-path"] != 2*packets+others || vectors["ip4-lookup"] != packets {
		t.Errorf("%v", vectors)
	}
	system := &api.SystemStats{}
	must(t, conn.GetSystemStats(system))
	beat := system.Heartbeat
	eventually(t, "another heartbeat", func() bool {
		must(t, conn.GetSystemStats(system))
		return system.Heartbeat > beat
	})
	// One row, as VPP has it. Gauges (/sys/num_worker_threads, /buffer-pools/) have the number 9 since VPP 26.06, which GoVPP
	// doesn't know yet: they are listed, and read as 0.
	if len(system.VectorRatePerWorker) != 1 {
		t.Errorf("%+v", system)
	}
	buffers := &api.BufferStats{}
	must(t, conn.GetBufferStats(buffers))
	if _, listed := buffers.Buffer["default-numa-0"]; !listed {
		t.Errorf("%+v", buffers)
	}

	c.route(false, "192.168.7.0/24", out)
	c.routes(out)
	for _, index := range []interface_types.InterfaceIndex{in, out} {
		must(t, c.Invoke(c.ctx, &interfaces.SwInterfaceSetFlags{SwIfIndex: index}, &interfaces.SwInterfaceSetFlagsReply{}))
	}
}

// routes adds a thousand routes without waiting for answers, and reads them back.
func (c *client) routes(by interface_types.InterfaceIndex) {
	t := c.t
	count := func() (n int) {
		stream, err := ip.NewServiceClient(c).IPRouteDump(c.ctx, &ip.IPRouteDump{})
		must(t, err)
		for _, one := range dump(t, stream.Recv) {
			if strings.HasPrefix(one.Route.Prefix.String(), "172.16.") {
				if one.Route.NPaths != 1 || one.Route.Paths[0].SwIfIndex != uint32(by) {
					t.Errorf("%+v", one.Route)
				}
				n++
			}
		}
		return n
	}
	gateway, err := ip_types.ParseIP4Address("10.2.0.2")
	must(t, err)
	path := fib_types.FibPath{SwIfIndex: uint32(by), Weight: 1}
	path.Nh.Address.SetIP4(gateway)
	for _, add := range []bool{true, false} {
		stream, err := c.NewStream(c.ctx)
		must(t, err)
		send := func(i int) error {
			prefix, err := ip_types.ParsePrefix(fmt.Sprintf("172.16.%d.%d/32", i/250, i%250))
			if err != nil {
				return err
			}
			route := ip.IPRoute{Prefix: prefix, NPaths: 1, Paths: []fib_types.FibPath{path}}
			return stream.SendMsg(&ip.IPRouteAddDel{IsAdd: add, Route: route})
		}
		// A stream knows what it will receive once it has sent.
		must(t, send(0))
		sent := make(chan error, 1)
		go func() {
			for i := 1; i < 1000; i++ {
				if err := send(i); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		for i := 0; i < 1000; i++ {
			message, err := stream.RecvMsg()
			must(t, err)
			if reply := message.(*ip.IPRouteAddDelReply); reply.Retval != 0 {
				t.Fatalf("%+v", reply)
			}
		}
		must(t, <-sent)
		must(t, stream.Close())
		if n := count(); n != map[bool]int{true: 1000, false: 0}[add] {
			t.Errorf("%d routes, added: %v", n, add)
		}
	}
}
