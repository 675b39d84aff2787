//go:build linux

package filter

import (
	"encoding/binary"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"

	"vnfbench.io/operator/internal/vnf"
)

// setName is the name of the set or verdict map of an IP version, without its version.
const setName = "others"

// verdictRegister is NFT_REG_VERDICT: a map that is looked up into it decides on the packet.
const verdictRegister = 0

// set returns the set or the verdict map of an IP version. With its size the kernel chooses
// the structure that it has for a set that does not grow.
func (n *nfTables) set(w walk) *nftables.Set {
	set := &nftables.Set{
		Table: w.table, Name: counterName(w, setName), Size: uint32(n.firewall.Rules), KeyByteOrder: binaryutil.BigEndian,
		IsMap: n.firewall.Lookup == vnf.LookupMap,
	}
	switch {
	case n.firewall.MatchBy == vnf.MatchByPort:
		set.KeyType = nftables.TypeInetService
	case w.ipv6:
		set.KeyType = nftables.TypeIP6Addr
	default:
		set.KeyType = nftables.TypeIPAddr
	}
	if set.IsMap {
		set.DataType = nftables.TypeVerdict
	}
	return set
}

// addSet adds the set or map of an IP version with its elements, in batches:
// the length of an attribute has 16 bits.
func (n *nfTables) addSet(conn *nftables.Conn, w walk) error {
	if !n.firewall.LooksUp() {
		return nil
	}
	set := n.set(w)
	if err := conn.AddSet(set, nil); err != nil {
		return err
	}
	for batch := range slices.Chunk(n.firewall.Elements(w.ipv6), batchRules) {
		elements := make([]nftables.SetElement, 0, len(batch))
		for _, rule := range batch {
			elements = append(elements, element(rule, set.IsMap))
		}
		if err := conn.SetAddElements(set, elements); err != nil {
			return err
		}
		if err := flush(conn, n.missing()); err != nil {
			return err
		}
	}
	return nil
}

// element returns a rule as an element of a set, or of a map with its verdict.
func element(rule vnf.FirewallRule, verdicts bool) nftables.SetElement {
	element := nftables.SetElement{Key: binary.BigEndian.AppendUint16(nil, rule.Ports.First)}
	if rule.Source.IsValid() {
		element.Key = rule.Source.Addr().AsSlice()
	}
	if verdicts {
		element.VerdictData = &expr.Verdict{Kind: verdictKind(rule.Accept)}
	}
	return element
}

// lookup returns what `nft` makes of "ip saddr @others4 drop" and "ip saddr vmap @others4".
func (n *nfTables) lookup(w walk) []expr.Any {
	exprs := source(w.ipv6)
	if n.firewall.MatchBy == vnf.MatchByPort {
		exprs = port()
	}
	set := n.set(w)
	if set.IsMap {
		return append(exprs, &expr.Lookup{SourceRegister: register, SetName: set.Name, IsDestRegSet: true, DestRegister: verdictRegister})
	}
	return append(exprs, &expr.Lookup{SourceRegister: register, SetName: set.Name}, verdict(false))
}

// countElements returns how many elements the kernel holds for an IP version.
func (n *nfTables) countElements(conn *nftables.Conn, w walk) (int, error) {
	if !n.firewall.LooksUp() {
		return 0, nil
	}
	elements, err := conn.GetSetElements(n.set(w))
	return len(elements), err
}
