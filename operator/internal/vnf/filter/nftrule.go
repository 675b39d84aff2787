//go:build linux

package filter

import (
	"encoding/binary"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/vnf"
)

func counter(w walk, name string) expr.Any {
	return &expr.Objref{Type: int(nftables.ObjTypeCounter), Name: counterName(w, name)}
}

func verdict(accept bool) expr.Any { return &expr.Verdict{Kind: verdictKind(accept)} }

func verdictKind(accept bool) expr.VerdictKind {
	if accept {
		return expr.VerdictAccept
	}
	return expr.VerdictDrop
}

// tracked returns "ct <key> <bits>": any of the bits is set.
func tracked(key expr.CtKey, bits uint32) []expr.Any {
	return []expr.Any{
		&expr.Ct{Key: key, Register: register},
		&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: 4,
			Mask: binary.NativeEndian.AppendUint32(nil, bits), Xor: make([]byte, 4)},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: make([]byte, 4)},
	}
}

// match returns what `nft` makes of "ip saddr ..." and "udp dport ...".
func match(rule vnf.FirewallRule, ipv6 bool) []expr.Any {
	if rule.Source.IsValid() {
		return matchSource(rule, ipv6)
	}
	first, last := binary.BigEndian.AppendUint16(nil, rule.Ports.First), binary.BigEndian.AppendUint16(nil, rule.Ports.Last)
	if rule.Ports.First == rule.Ports.Last {
		return append(port(), &expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: first})
	}
	return append(port(),
		&expr.Cmp{Op: expr.CmpOpGte, Register: register, Data: first},
		&expr.Cmp{Op: expr.CmpOpLte, Register: register, Data: last})
}

func matchSource(rule vnf.FirewallRule, ipv6 bool) []expr.Any {
	exprs := source(ipv6)
	if bits := rule.Source.Bits(); !rule.Source.IsSingleIP() {
		length := rule.Source.Addr().BitLen() / 8
		mask := make([]byte, length)
		for bit := range bits {
			mask[bit/8] |= 0x80 >> (bit % 8)
		}
		exprs = append(exprs, &expr.Bitwise{SourceRegister: register, DestRegister: register, Len: uint32(length), Mask: mask, Xor: make([]byte, length)})
	}
	return append(exprs, &expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: rule.Source.Addr().AsSlice()})
}

// source puts the source address of a packet into the register.
func source(ipv6 bool) []expr.Any {
	offset, length := uint32(12), uint32(4)
	if ipv6 {
		offset, length = 8, 16
	}
	return []expr.Any{&expr.Payload{DestRegister: register, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: length}}
}

// port puts the destination port of a UDP packet into the register. No other packet matches.
func port() []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: register},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{unix.IPPROTO_UDP}},
		&expr.Payload{DestRegister: register, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
	}
}
