// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"strings"
	"testing"

	"go.fd.io/govpp/api"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/vpe"
)

// A small program as users of GoVPP write it: makes a loopback with addresses of both families and reads it back.
func TestALoopbackFromNothing(t *testing.T) {
	c := connect(t)
	version, err := vpe.NewServiceClient(c).ShowVersion(c.ctx, &vpe.ShowVersion{})
	must(t, err)
	if version.Program != "ferrovia" || version.BuildDirectory == "" {
		t.Errorf("%+v", version)
	}
	loop, err := c.interfaces().CreateLoopback(c.ctx, &interfaces.CreateLoopback{})
	must(t, err)
	c.up(loop.SwIfIndex, interface_types.IF_STATUS_API_FLAG_ADMIN_UP)
	wanted := map[string]bool{"10.98.0.1/24": false, "2001:db8:98::1/64": true}
	for text := range wanted {
		prefix, err := ip_types.ParseAddressWithPrefix(text)
		must(t, err)
		_, err = c.interfaces().SwInterfaceAddDelAddress(c.ctx, &interfaces.SwInterfaceAddDelAddress{
			SwIfIndex: loop.SwIfIndex, IsAdd: true, Prefix: prefix,
		})
		must(t, err)
	}
	for text, six := range wanted {
		stream, err := ip.NewServiceClient(c).IPAddressDump(c.ctx, &ip.IPAddressDump{SwIfIndex: loop.SwIfIndex, IsIPv6: six})
		must(t, err)
		found := dump(t, stream.Recv)
		if len(found) != 1 || found[0].Prefix.String() != text {
			t.Errorf("%s: %v", text, found)
		}
	}
	_, err = c.interfaces().SwInterfaceSetMtu(c.ctx, &interfaces.SwInterfaceSetMtu{SwIfIndex: loop.SwIfIndex, Mtu: []uint32{1400, 0, 0, 0}})
	must(t, err)
	_, err = c.interfaces().DeleteLoopback(c.ctx, &interfaces.DeleteLoopback{SwIfIndex: loop.SwIfIndex})
	must(t, err)
	if _, there := c.details()["loop0"]; there {
		t.Error("the loopback is still there")
	}
}

// All kinds of statistics that a collector reads, with what each has to say at least.
func TestStatisticsOfEachKind(t *testing.T) {
	conn, stats := connectStats(t)
	found, err := stats.ListStats("^/if/", "^/sys/", "^/err/")
	must(t, err)
	names := map[string]bool{}
	for _, entry := range found {
		names[string(entry.Name)] = true
	}
	for _, name := range []string{"/if/rx", "/if/tx-unicast", "/sys/heartbeat", "/err/ip4-input/bad_checksum"} {
		if !names[name] {
			t.Errorf("no %s in %v", name, names)
		}
	}
	system, nodes, all := &api.SystemStats{}, &api.NodeStats{}, &api.InterfaceStats{}
	errors := &api.ErrorStats{}
	must(t, conn.GetSystemStats(system))
	must(t, conn.GetNodeStats(nodes))
	must(t, conn.GetInterfaceStats(all))
	must(t, conn.GetErrorStats(errors))
	if system.Heartbeat == 0 {
		t.Errorf("%+v", system)
	}
	lookup, checksum := false, false
	for _, node := range nodes.Nodes {
		lookup = lookup || node.NodeName == "ip4-lookup"
	}
	for _, counter := range errors.Errors {
		checksum = checksum || strings.HasSuffix(counter.CounterName, "ip4-input/bad_checksum")
	}
	if !lookup {
		t.Errorf("no ip4-lookup in %+v", nodes.Nodes)
	}
	if !checksum {
		t.Errorf("no ip4-input/bad_checksum in %+v", errors.Errors)
	}
	if len(all.Interfaces) == 0 || all.Interfaces[0].InterfaceName != "local0" {
		t.Errorf("%+v", all.Interfaces)
	}
}
