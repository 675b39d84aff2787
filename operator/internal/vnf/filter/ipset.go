//go:build linux

package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/vnf"
)

// Of linux/netfilter/ipset/ip_set.h: the socket option that names sets by their
// indexes, and what a list leaves out.
const (
	optionSet       = 83
	operationByName = 6
	setNameAt       = 8
	noSetIndex      = 65_535
	flagListHeader  = 1 << 2
)

// ipset is a set of the kernel's ip_set for one IP version.
type ipset struct {
	name string
	// kind is hash:ip or bitmap:port, as ipset calls it.
	kind string
	ipv6 bool
}

// setOf returns the set of an IP version.
func (x *xtables) setOf(p protocol) ipset {
	set := ipset{name: tableName + "4", kind: "hash:ip", ipv6: p.ipv6}
	if p.ipv6 {
		set.name = tableName + "6"
	}
	if x.firewall.MatchBy == vnf.MatchByPort {
		set.kind = "bitmap:port"
	}
	return set
}

// missing says what the kernel may lack when it does not take a table.
func (x *xtables) missing() string {
	if !x.firewall.LooksUp() {
		return missingXTables
	}
	return missingXTables + "; " + x.missingSet()
}

// missingSet says what the kernel may lack when it does not take a set.
func (x *xtables) missingSet() string {
	return "the node's kernel may have no ipset, which backend iptables with lookup Set is; on the node: modprobe -a " +
		strings.Join(x.firewall.SetModules(), " ") + ", or use lookup List, or backend nftables"
}

// loadSet puts the elements of an IP version into a set, and returns the match
// of the rule with it. A set of an earlier start goes first, after the table that
// has a rule with it.
func (x *xtables) loadSet(p protocol) ([]byte, error) {
	if !x.firewall.LooksUp() {
		return nil, nil
	}
	set := x.setOf(p)
	if _, err := set.index(); err == nil {
		if err := p.replace(filterTable(&vnf.Firewall{Mode: vnf.ModeNone, DefaultPolicy: vnf.VerdictDrop}, p, nil), missingXTables); err != nil {
			return nil, fmt.Errorf("emptying table filter: %w", err)
		}
		if _, err := set.request(nl.IPSET_CMD_DESTROY, 0); err != nil {
			return nil, fmt.Errorf("removing ipset %q of an earlier start: %w", set.name, err)
		}
	}
	if err := set.create(x.firewall.Rules); err != nil {
		return nil, explain(fmt.Errorf("making ipset %q, %s: %w", set.name, set.kind, err), x.missingSet())
	}
	for batch := range slices.Chunk(x.firewall.Elements(p.ipv6), batchRules) {
		if err := set.add(batch); err != nil {
			return nil, explain(fmt.Errorf("adding %d elements to ipset %q: %w", len(batch), set.name, err), x.missingSet())
		}
	}
	index, err := set.index()
	if err != nil {
		return nil, explain(err, x.missingSet())
	}
	return setMatch(index, x.firewall.MatchBy == vnf.MatchByAddress), nil
}

// countElements returns how many elements the set of an IP version has.
func (x *xtables) countElements(p protocol) (int, error) {
	if !x.firewall.LooksUp() {
		return 0, nil
	}
	return x.setOf(p).count()
}

// index returns the number by which rules of x_tables name the set (struct
// ip_set_req_get_set, for which any IPv4 socket works).
func (s ipset) index() (uint16, error) {
	buffer := make([]byte, setNameAt+nl.IPSET_MAXNAMELEN)
	binary.NativeEndian.PutUint32(buffer, operationByName)
	binary.NativeEndian.PutUint32(buffer[4:], nl.IPSET_PROTOCOL)
	copy(buffer[setNameAt:], s.name)
	if err := protocols()[0].get(optionSet, buffer); err != nil {
		return 0, fmt.Errorf("asking for ipset %q: %w", s.name, err)
	}
	index := binary.NativeEndian.Uint16(buffer[setNameAt:])
	if index == noSetIndex {
		return 0, fmt.Errorf("there is no ipset %q", s.name)
	}
	return index, nil
}

// create makes an empty set with room for so many elements.
func (s ipset) create(elements int) error {
	family, data := uint8(unix.AF_UNSPEC), nested(nl.IPSET_ATTR_DATA)
	if s.kind == "bitmap:port" {
		data.AddChild(port16(nl.IPSET_ATTR_PORT_FROM, 0))
		data.AddChild(port16(nl.IPSET_ATTR_PORT_TO, maxPort))
	} else {
		family = unix.AF_INET
		if s.ipv6 {
			family = unix.AF_INET6
		}
		data.AddChild(&nl.Uint32Attribute{Type: nl.IPSET_ATTR_MAXELEM | nl.NLA_F_NET_BYTEORDER, Value: uint32(elements)})
	}
	_, err := s.request(nl.IPSET_CMD_CREATE, unix.NLM_F_EXCL, nl.NewRtAttr(nl.IPSET_ATTR_TYPENAME, nl.ZeroTerminated(s.kind)),
		nl.NewRtAttr(nl.IPSET_ATTR_REVISION, nl.Uint8Attr(0)), nl.NewRtAttr(nl.IPSET_ATTR_FAMILY, nl.Uint8Attr(family)), data)
	return err
}

// add adds a batch of elements.
func (s ipset) add(rules []vnf.FirewallRule) error {
	batch := nested(nl.IPSET_ATTR_ADT)
	for _, rule := range rules {
		data := nested(nl.IPSET_ATTR_DATA)
		if rule.Source.IsValid() {
			version := nl.IPSET_ATTR_IPADDR_IPV4
			if s.ipv6 {
				version = nl.IPSET_ATTR_IPADDR_IPV6
			}
			address := nested(nl.IPSET_ATTR_IP)
			address.AddChild(nl.NewRtAttr(version|int(nl.NLA_F_NET_BYTEORDER), rule.Source.Addr().AsSlice()))
			data.AddChild(address)
		} else {
			data.AddChild(port16(nl.IPSET_ATTR_PORT, rule.Ports.First))
		}
		batch.AddChild(data)
	}
	// The kernel takes no batch without a place for the number of a line with an error.
	_, err := s.request(nl.IPSET_CMD_ADD, unix.NLM_F_EXCL, batch, &nl.Uint32Attribute{Type: nl.IPSET_ATTR_LINENO})
	return err
}

// count returns how many elements the set has. The kernel answers with the
// set's header, without its elements.
func (s ipset) count() (int, error) {
	messages, err := s.request(nl.IPSET_CMD_LIST, 0, &nl.Uint32Attribute{Type: nl.IPSET_ATTR_FLAGS | nl.NLA_F_NET_BYTEORDER, Value: flagListHeader})
	if err != nil {
		return 0, fmt.Errorf("listing ipset %q: %w", s.name, err)
	}
	elements := -1
	for _, message := range messages {
		for attribute := range nl.ParseAttributes(message[nl.SizeofNfgenmsg:]) {
			if attribute.Type != nl.IPSET_ATTR_DATA|nl.NLA_F_NESTED {
				continue
			}
			for of := range nl.ParseAttributes(attribute.Value) {
				if of.Type == nl.IPSET_ATTR_ELEMENTS|nl.NLA_F_NET_BYTEORDER {
					elements = int(of.Uint32())
				}
			}
		}
	}
	if elements < 0 {
		return 0, fmt.Errorf("the kernel does not say how many elements ipset %q has", s.name)
	}
	return elements, nil
}

// request sends a command about the set, and returns the kernel's answers.
func (s ipset) request(command, flags int, attributes ...nl.NetlinkRequestData) ([][]byte, error) {
	request := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_IPSET<<8|command, nl.GetIpsetFlags(command)|flags)
	request.AddData(&nl.Nfgenmsg{Version: nl.NFNETLINK_V0})
	request.AddData(nl.NewRtAttr(nl.IPSET_ATTR_PROTOCOL, nl.Uint8Attr(nl.IPSET_PROTOCOL)))
	request.AddData(nl.NewRtAttr(nl.IPSET_ATTR_SETNAME, nl.ZeroTerminated(s.name)))
	for _, attribute := range attributes {
		request.AddData(attribute)
	}
	answers, err := request.Execute(unix.NETLINK_NETFILTER, 0)
	// ipset has error numbers above those of the system.
	if errno := syscall.Errno(0); errors.As(err, &errno) && errno >= nl.IPSET_ERR_PRIVATE {
		return nil, nl.IPSetError(errno)
	}
	return answers, err
}

func nested(attribute int) *nl.RtAttr {
	return nl.NewRtAttr(attribute|unix.NLA_F_NESTED, nil)
}

func port16(attribute int, port uint16) *nl.RtAttr {
	return nl.NewRtAttr(attribute|unix.NLA_F_NET_BYTEORDER, binary.BigEndian.AppendUint16(nil, port))
}
