//go:build linux

package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

const (
	// firstClosedPort to lastClosedPort are all TCP ports that any part of TRex v3.08
	// listens on: 4500 publisher, 4501 RPC (src/platform_cfg.h), 4507 Scapy, 4511 and
	// 4512 the emulation (src/stx/common/trex_rx_core.cpp). The server that this package
	// starts opens the first two, on every address, and asks for no password.
	firstClosedPort = 4500
	lastClosedPort  = 4512

	firewallTable = "vnfbench-trex"
	firewallChain = "input"
	register      = 1
	interfaceName = 16 // IFNAMSIZ
)

// closePorts drops what comes to the server's ports through any interface except
// loopback, in the calling thread's network namespace. It replaces what an earlier
// measurer left there.
func closePorts() error {
	connection, err := nftables.New()
	if err != nil {
		return notClosed(err)
	}
	table := &nftables.Table{Name: firewallTable, Family: nftables.TableFamilyINet}
	// A table that does not exist cannot be deleted; one that exists can be added.
	connection.AddTable(table)
	connection.DelTable(table)
	connection.AddTable(table)
	chain := connection.AddChain(&nftables.Chain{
		Name: firewallChain, Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookInput, Priority: nftables.ChainPriorityFilter,
	})
	loopback := make([]byte, interfaceName)
	copy(loopback, "lo")
	connection.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{
		&expr.Meta{Key: expr.MetaKeyIIFNAME, Register: register},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: loopback},
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: register},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{unix.IPPROTO_TCP}},
		&expr.Payload{DestRegister: register, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
		&expr.Cmp{Op: expr.CmpOpGte, Register: register, Data: binary.BigEndian.AppendUint16(nil, firstClosedPort)},
		&expr.Cmp{Op: expr.CmpOpLte, Register: register, Data: binary.BigEndian.AppendUint16(nil, lastClosedPort)},
		&expr.Verdict{Kind: expr.VerdictDrop},
	}})
	if err := connection.Flush(); err != nil {
		return notClosed(err)
	}
	return nil
}

// openPorts removes the rule.
func openPorts() error {
	connection, err := nftables.New()
	if err != nil {
		return fmt.Errorf("opening a netlink socket for nf_tables: %w", err)
	}
	connection.DelTable(&nftables.Table{Name: firewallTable, Family: nftables.TableFamilyINet})
	if err := connection.Flush(); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing table %q of nf_tables: %w", firewallTable, err)
	}
	return nil
}

func notClosed(err error) error {
	remedy := "load nf_tables on the node (modprobe nf_tables), with its family inet"
	if errors.Is(err, os.ErrPermission) {
		remedy = "add NET_ADMIN to the container's capabilities"
	}
	return measure.Failf(v1alpha1.ReasonControlPortsOpen, remedy,
		"TRex's TCP ports %d to %d cannot be closed to other pods, and it was not started: %w", firstClosedPort, lastClosedPort, err)
}
