// SPDX-License-Identifier: Apache-2.0

// Package generated uses bindings that GoVPP's generator made of the daemon's own descriptions just before.
package generated

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.fd.io/govpp"
	"go.fd.io/govpp/api"

	_ "ferrovia.test/clients/binapi/arp"
	"ferrovia.test/clients/binapi/ethernet_types"
	interfaces "ferrovia.test/clients/binapi/interface"
	"ferrovia.test/clients/binapi/ip_neighbor"
	"ferrovia.test/clients/binapi/ip_types"
	"ferrovia.test/clients/binapi/memclnt"
	"ferrovia.test/clients/binapi/vlib"
	"ferrovia.test/clients/binapi/vpe"
)

func TestGeneratedBindings(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, err := govpp.Connect(filepath.Join(os.Getenv("FERROVIA_RUN"), "api.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Disconnect()
	channel, err := conn.NewAPIChannel()
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	// All of them fit: the generator's own check of what it read.
	n := 0
	for packages, messages := range api.GetRegisteredMessages() {
		if !strings.HasPrefix(packages, "ferrovia.test/") {
			continue
		}
		for _, message := range messages {
			n++
			if err := channel.CheckCompatiblity(message); err != nil {
				t.Errorf("%s: %v", message.GetMessageName(), err)
			}
		}
	}
	if n < 100 {
		t.Errorf("%d messages", n)
	}
	if reply, err := vpe.NewServiceClient(conn).ShowVersion(ctx, &vpe.ShowVersion{}); err != nil || reply.Version == "" {
		t.Error(reply, err)
	}
	if reply, err := vlib.NewServiceClient(conn).CliInband(ctx, &vlib.CliInband{Cmd: "show version"}); err != nil || reply.Reply == "" {
		t.Error(reply, err)
	}
	if reply, err := memclnt.NewServiceClient(conn).GetAPIJSON(ctx, &memclnt.GetAPIJSON{}); err != nil || len(reply.JSON) < 10_000 {
		t.Error(len(reply.JSON), err)
	}
	loop, err := interfaces.NewServiceClient(conn).CreateLoopback(ctx, &interfaces.CreateLoopback{})
	if err != nil {
		t.Fatal(err)
	}
	neighbor := ip_neighbor.IPNeighbor{SwIfIndex: loop.SwIfIndex, Flags: ip_neighbor.IP_API_NEIGHBOR_FLAG_STATIC}
	if neighbor.MacAddress, err = ethernet_types.ParseMacAddress("02:fe:00:00:00:aa"); err != nil {
		t.Fatal(err)
	}
	if neighbor.IPAddress, err = ip_types.ParseAddress("10.99.0.2"); err != nil {
		t.Fatal(err)
	}
	neighbors := ip_neighbor.NewServiceClient(conn)
	if _, err := neighbors.IPNeighborAddDel(ctx, &ip_neighbor.IPNeighborAddDel{IsAdd: true, Neighbor: neighbor}); err != nil {
		t.Fatal(err)
	}
	stream, err := neighbors.IPNeighborDump(ctx, &ip_neighbor.IPNeighborDump{SwIfIndex: loop.SwIfIndex})
	if err != nil {
		t.Fatal(err)
	}
	one, err := stream.Recv()
	if err != nil || one.Neighbor.IPAddress.String() != "10.99.0.2" || one.Neighbor.MacAddress != neighbor.MacAddress {
		t.Errorf("%+v %v", one, err)
	}
}
