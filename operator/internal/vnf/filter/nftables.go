//go:build linux

package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/vnf"
)

const (
	tableName      = "vnfbench"
	chainForward   = "forward"
	chainNoTrack   = "untracked"
	register       = 1
	batchRules     = 500
	socketBytes    = 32 << 20
	bridgePriority = -200 // NF_BR_PRI_FILTER_BRIDGED, where nft puts "filter" of the bridge family
	rawPriority    = -300 // NF_IP_PRI_RAW, before connection tracking

	// Names of counters.
	counterEstablished = "established"
	counterKnown       = "known"
	counterInvalid     = "invalid"
	counterEntered     = "entered"
	counterMatch       = "match"
	counterUnmatched   = "unmatched"

	// statusConfirmed is IPS_CONFIRMED of the kernel's nf_conntrack_common.h.
	statusConfirmed = 1 << 3
)

const missingNFTables = "the kernel may lack a part of nf_tables; on the node: modprobe -a nf_tables nft_ct nft_objref"

const missingBridgeTracking = "a bridging firewall with backend nftables and mode Stateful needs nf_conntrack_bridge in the node's kernel (on the node: modprobe nf_conntrack_bridge), or else mode Stateless, or backend iptables"

// nfTables keeps the rules in nf_tables: the tables ip and ip6 where packets
// are routed, one table of the bridge family where they are bridged.
type nfTables struct{ firewall *vnf.Firewall }

// walk is the chain of one IP version.
type walk struct {
	table *nftables.Table
	chain string
	ipv6  bool
}

func (n *nfTables) bridged() bool { return n.firewall.Forwarding == vnf.ForwardingBridged }

func (n *nfTables) walks() []walk {
	if n.bridged() {
		table := &nftables.Table{Name: tableName, Family: nftables.TableFamilyBridge}
		return []walk{{table, "ipv4", false}, {table, "ipv6", true}}
	}
	return []walk{
		{&nftables.Table{Name: tableName, Family: nftables.TableFamilyIPv4}, chainForward, false},
		{&nftables.Table{Name: tableName, Family: nftables.TableFamilyIPv6}, chainForward, true},
	}
}

// connect opens a socket with room for the answers to a whole batch: the
// kernel answers every rule before the first answer is read.
func connect() (*nftables.Conn, error) {
	conn, err := nftables.New(nftables.AsLasting(), nftables.WithSockOptions(func(socket *netlink.Conn) error {
		return errors.Join(socket.SetReadBuffer(socketBytes), socket.SetWriteBuffer(socketBytes))
	}))
	if err != nil {
		return nil, explain(fmt.Errorf("opening a netlink socket for nf_tables: %w", err), missingNFTables)
	}
	return conn, nil
}

func (n *nfTables) load() error {
	conn, err := connect()
	if err != nil {
		return err
	}
	defer conn.CloseLasting() //nolint:errcheck // nothing is written by closing
	if err := n.clear(conn); err != nil {
		return err
	}
	walks := n.walks()
	for i, w := range walks {
		if i == 0 || w.table != walks[0].table {
			n.addTable(conn, w.table)
		}
		n.addChain(conn, w)
	}
	if err := flush(conn, n.missing()); err != nil {
		return fmt.Errorf("making the tables of nf_tables: %w", err)
	}
	for _, w := range walks {
		if err := n.addSet(conn, w); err != nil {
			return fmt.Errorf("loading the %s of table %q, chain %q: %w", n.firewall.Lookup, w.table.Name, w.chain, err)
		}
		if err := n.addRules(conn, w); err != nil {
			return fmt.Errorf("loading the rules of table %q, chain %q: %w", w.table.Name, w.chain, err)
		}
	}
	return nil
}

func (n *nfTables) missing() string {
	if n.bridged() && n.firewall.Mode == vnf.ModeStateful {
		return missingBridgeTracking
	}
	return missingNFTables
}

// clear removes what a container loaded before its restart.
func (n *nfTables) clear(conn *nftables.Conn) error {
	tables, err := conn.ListTables()
	if err != nil {
		return explain(fmt.Errorf("listing the tables of nf_tables: %w", err), missingNFTables)
	}
	for _, table := range tables {
		if table.Name == tableName {
			conn.DelTable(table)
		}
	}
	return flush(conn, missingNFTables)
}

func flush(conn *nftables.Conn, missing string) error {
	if err := conn.Flush(); err != nil {
		if errors.Is(err, os.ErrPermission) {
			return fmt.Errorf("%w: the container needs the capability NET_ADMIN", err)
		}
		return explain(err, missing)
	}
	return nil
}

// addTable adds a table with its counters and, without state, the chain that
// keeps packets from connection tracking.
func (n *nfTables) addTable(conn *nftables.Conn, table *nftables.Table) {
	conn.AddTable(table)
	for _, w := range n.walks() {
		if w.table.Family != table.Family {
			continue
		}
		for _, name := range n.counterNames() {
			conn.AddObj(&nftables.CounterObj{Table: table, Name: counterName(w, name)})
		}
	}
	if n.firewall.Mode == vnf.ModeStateless {
		chain := conn.AddChain(&nftables.Chain{
			Name: chainNoTrack, Table: table, Type: nftables.ChainTypeFilter,
			Hooknum: nftables.ChainHookPrerouting, Priority: nftables.ChainPriorityRef(rawPriority),
		})
		conn.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{&expr.Notrack{}}})
	}
}

func (n *nfTables) counterNames() []string {
	names := []string{counterEntered, counterMatch, counterUnmatched}
	if n.firewall.Mode == vnf.ModeStateful {
		names = append(names, counterEstablished, counterKnown, counterInvalid)
	}
	return names
}

// counterName distinguishes the IP versions, which share a table where packets are bridged.
func counterName(w walk, name string) string {
	if w.ipv6 {
		return name + "6"
	}
	return name + "4"
}

// addChain adds the chain of an IP version. Bridged frames are sorted by their
// type first; a bridge passes what is not IP.
func (n *nfTables) addChain(conn *nftables.Conn, w walk) {
	if !n.bridged() {
		policy := nftables.ChainPolicyAccept
		if n.firewall.DefaultPolicy == vnf.VerdictDrop {
			policy = nftables.ChainPolicyDrop
		}
		conn.AddChain(&nftables.Chain{
			Name: w.chain, Table: w.table, Type: nftables.ChainTypeFilter, Policy: &policy,
			Hooknum: nftables.ChainHookForward, Priority: nftables.ChainPriorityFilter,
		})
		return
	}
	conn.AddChain(&nftables.Chain{Name: w.chain, Table: w.table})
	forward := conn.AddChain(&nftables.Chain{
		Name: chainForward, Table: w.table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookForward, Priority: nftables.ChainPriorityRef(bridgePriority),
	})
	protocol := []byte{0x08, 0x00}
	if w.ipv6 {
		protocol = []byte{0x86, 0xdd}
	}
	conn.AddRule(&nftables.Rule{Table: w.table, Chain: forward, Exprs: []expr.Any{
		&expr.Meta{Key: expr.MetaKeyPROTOCOL, Register: register},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: protocol},
		&expr.Verdict{Kind: expr.VerdictJump, Chain: w.chain},
	}})
}

func (n *nfTables) addRules(conn *nftables.Conn, w walk) error {
	chain := &nftables.Chain{Name: w.chain, Table: w.table}
	add := func(exprs ...expr.Any) {
		conn.AddRule(&nftables.Rule{Table: w.table, Chain: chain, Exprs: exprs})
	}
	if n.firewall.Mode == vnf.ModeStateful {
		add(append(tracked(expr.CtKeySTATE, expr.CtStateBitESTABLISHED|expr.CtStateBitRELATED),
			counter(w, counterEstablished), verdict(true))...)
		add(append(tracked(expr.CtKeySTATUS, statusConfirmed), counter(w, counterKnown), verdict(true))...)
		add(append(tracked(expr.CtKeySTATE, expr.CtStateBitINVALID), counter(w, counterInvalid), verdict(false))...)
	}
	add(counter(w, counterEntered))
	for i, rule := range n.firewall.Walk(w.ipv6) {
		switch {
		case rule.Lookup:
			add(n.lookup(w)...)
		case rule.Match:
			add(append(match(rule, w.ipv6), counter(w, counterMatch), verdict(rule.Accept))...)
		default:
			add(append(match(rule, w.ipv6), verdict(rule.Accept))...)
		}
		if i%batchRules == batchRules-1 {
			if err := flush(conn, n.missing()); err != nil {
				return err
			}
		}
	}
	add(counter(w, counterUnmatched), verdict(n.firewall.DefaultPolicy == vnf.VerdictAccept))
	return flush(conn, n.missing())
}

// fixedRules returns how many rules of a chain are not part of the walk.
func (n *nfTables) fixedRules() int {
	if n.firewall.Mode == vnf.ModeStateful {
		return 5
	}
	return 2
}

func (n *nfTables) count() (held, error) {
	conn, err := connect()
	if err != nil {
		return held{}, err
	}
	defer conn.CloseLasting() //nolint:errcheck // nothing is written by closing
	var versions []held
	for _, w := range n.walks() {
		rules, err := conn.GetRules(w.table, &nftables.Chain{Name: w.chain, Table: w.table})
		if err != nil {
			return held{}, err
		}
		elements, err := n.countElements(conn, w)
		if err != nil {
			return held{}, err
		}
		versions = append(versions, held{len(rules) - n.fixedRules(), elements})
	}
	return same(versions)
}

// fingerprint returns the generation of the namespace's rules. The kernel
// increases it with every change of any table.
func (n *nfTables) fingerprint() (string, error) {
	conn, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	replies, err := conn.Execute(netlink.Message{
		Header: netlink.Header{
			Type:  netlink.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETGEN),
			Flags: netlink.Request,
		},
		Data: make([]byte, 4), // struct nfgenmsg: no family
	})
	if err != nil {
		return "", err
	}
	for _, reply := range replies {
		if len(reply.Data) < 4 {
			continue
		}
		attributes, err := netlink.NewAttributeDecoder(reply.Data[4:])
		if err != nil {
			return "", err
		}
		attributes.ByteOrder = binary.BigEndian
		for attributes.Next() {
			if attributes.Type() == unix.NFTA_GEN_ID {
				return fmt.Sprintf("generation %d", attributes.Uint32()), nil
			}
		}
	}
	return "", errors.New("the kernel reports no generation of nf_tables")
}

func (n *nfTables) counters() (counters, error) {
	conn, err := connect()
	if err != nil {
		return counters{}, err
	}
	defer conn.CloseLasting() //nolint:errcheck // nothing is written by closing
	packets, bytes := map[string]uint64{}, map[string]uint64{}
	asked := map[nftables.TableFamily]bool{}
	for _, w := range n.walks() {
		if asked[w.table.Family] {
			continue
		}
		asked[w.table.Family] = true
		objects, err := conn.GetObjects(w.table)
		if err != nil {
			return counters{}, fmt.Errorf("reading the counters of nf_tables: %w", err)
		}
		for _, object := range objects {
			if counted, ok := object.(*nftables.CounterObj); ok {
				packets[counted.Name] += counted.Packets
				bytes[counted.Name] += counted.Bytes
			}
		}
	}
	var total counters
	for _, w := range n.walks() {
		total.add(counters{
			established: packets[counterName(w, counterEstablished)], known: packets[counterName(w, counterKnown)],
			invalid: packets[counterName(w, counterInvalid)], entered: packets[counterName(w, counterEntered)],
			unmatched:    packets[counterName(w, counterUnmatched)],
			matchPackets: packets[counterName(w, counterMatch)], matchBytes: bytes[counterName(w, counterMatch)],
		})
	}
	return total, nil
}
