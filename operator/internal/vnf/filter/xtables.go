//go:build linux

package filter

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/vnf"
)

// Socket options of x_tables (linux/netfilter_ipv4/ip_tables.h, and the same
// numbers in ip6_tables.h).
const (
	optionReplace = 64
	optionInfo    = 64
	optionEntries = 65

	infoBytes      = 84
	entriesHeader  = 40
	replaceHeader  = 96
	counterBytes   = 16
	tableNameBytes = 32
	hooks          = 5
	infoEntriesAt  = 76
	infoSizeAt     = 80
)

const missingXTables = "the node's kernel has no ip_tables, which backend iptables is; on the node: modprobe -a ip_tables iptable_filter iptable_raw ip6_tables ip6table_filter ip6table_raw xt_conntrack xt_tcpudp xt_CT, or use backend nftables"

// xtables keeps the rules in x_tables, as the command iptables-legacy does. A
// table is one block of memory that the kernel takes as a whole. Writing it with
// the same system call needs no command, no library and no privilege beyond
// NET_ADMIN, and works in a guest that has only this binary.
type xtables struct {
	firewall *vnf.Firewall
	// loaded are the tables of each IP version, without their entries.
	loaded []loadedTable
}

type loadedTable struct {
	protocol protocol
	table    *table
	bytes    int
}

// protocol is x_tables of one IP version.
type protocol struct {
	ipv6          bool
	domain, level int
	layout        layout
}

func protocols() []protocol {
	return []protocol{
		{false, unix.AF_INET, unix.SOL_IP, layoutIPv4},
		{true, unix.AF_INET6, unix.SOL_IPV6, layoutIPv6},
	}
}

func (x *xtables) load() error {
	x.loaded = nil
	for _, p := range protocols() {
		lookup, err := x.loadSet(p)
		if err != nil {
			return err
		}
		if x.firewall.Mode == vnf.ModeStateless {
			if err := p.replace(rawTable(p.layout), missingXTables); err != nil {
				return fmt.Errorf("loading table raw: %w", err)
			}
		}
		t := filterTable(x.firewall, p, lookup)
		if err := p.replace(t, x.missing()); err != nil {
			return fmt.Errorf("loading table filter: %w", err)
		}
		x.loaded = append(x.loaded, loadedTable{p, t, len(t.entries)})
		t.entries = nil
	}
	return nil
}

// info is what the kernel reports about a table.
type info struct{ entries, bytes int }

func (p protocol) info(table string) (info, error) {
	buffer := make([]byte, infoBytes)
	copy(buffer, table)
	if err := p.get(optionInfo, buffer); err != nil {
		return info{}, explain(fmt.Errorf("asking x_tables for table %q: %w", table, err), missingXTables)
	}
	return info{
		entries: int(binary.NativeEndian.Uint32(buffer[infoEntriesAt:])),
		bytes:   int(binary.NativeEndian.Uint32(buffer[infoSizeAt:])),
	}, nil
}

// replace swaps a whole table. The error of a kernel that does not take it has
// what may be missing.
func (p protocol) replace(t *table, missing string) error {
	before, err := p.info(t.name)
	if err != nil {
		return err
	}
	// The kernel returns the counters of the table that it discards.
	thrown := make([]byte, max(before.entries, 1)*counterBytes)
	var pinner runtime.Pinner
	defer pinner.Unpin()
	pinner.Pin(&thrown[0])
	buffer := make([]byte, replaceHeader, replaceHeader+len(t.entries))
	copy(buffer, t.name)
	put := func(at int, value uint32) { binary.NativeEndian.PutUint32(buffer[at:], value) }
	put(tableNameBytes, t.validHooks)
	put(tableNameBytes+4, uint32(t.number))
	put(tableNameBytes+8, uint32(len(t.entries)))
	for hook := range hooks {
		put(tableNameBytes+12+4*hook, t.hookEntry[hook])
		put(tableNameBytes+32+4*hook, t.underflow[hook])
	}
	put(tableNameBytes+52, uint32(before.entries))
	binary.NativeEndian.PutUint64(buffer[tableNameBytes+56:], uint64(uintptr(unsafe.Pointer(&thrown[0]))))
	if err := p.set(optionReplace, append(buffer, t.entries...)); err != nil {
		return explain(fmt.Errorf("putting %d entries into x_tables: %w", t.number, err), missing)
	}
	return nil
}

// set writes a socket option, and get reads one. Any socket of the IP version
// works, and a datagram socket needs no additional privilege.
func (p protocol) set(name int, buffer []byte) error {
	return p.withSocket(func(socket uintptr) unix.Errno {
		_, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, socket, uintptr(p.level), uintptr(name),
			uintptr(unsafe.Pointer(&buffer[0])), uintptr(len(buffer)), 0)
		return errno
	})
}

func (p protocol) get(name int, buffer []byte) error {
	return p.withSocket(func(socket uintptr) unix.Errno {
		length := uint32(len(buffer))
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, socket, uintptr(p.level), uintptr(name),
			uintptr(unsafe.Pointer(&buffer[0])), uintptr(unsafe.Pointer(&length)), 0)
		return errno
	})
}

func (p protocol) withSocket(do func(socket uintptr) unix.Errno) error {
	socket, err := unix.Socket(p.domain, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	if errno := do(uintptr(socket)); errno != 0 {
		return errno
	}
	return nil
}

func (x *xtables) count() (held, error) {
	var versions []held
	for _, l := range x.loaded {
		i, err := l.protocol.info(l.table.name)
		if err != nil {
			return held{}, err
		}
		elements, err := x.countElements(l.protocol)
		if err != nil {
			return held{}, err
		}
		versions = append(versions, held{i.entries - l.table.fixed, elements})
	}
	return same(versions)
}

// fingerprint returns the size of the tables, and of the sets.
func (x *xtables) fingerprint() (string, error) {
	var texts []string
	for _, p := range protocols() {
		i, err := p.info(tableFilter)
		if err != nil {
			return "", err
		}
		texts = append(texts, fmt.Sprintf("%d entries of %d bytes", i.entries, i.bytes))
		if !x.firewall.LooksUp() {
			continue
		}
		elements, err := x.countElements(p)
		if err != nil {
			return "", err
		}
		texts = append(texts, fmt.Sprintf("a set of %d elements", elements))
	}
	return strings.Join(texts, ", "), nil
}

// counters reads the whole tables: the kernel offers no smaller request.
func (x *xtables) counters() (counters, error) {
	var total counters
	for _, l := range x.loaded {
		t := l.table
		counted, err := l.entryCounters()
		if err != nil {
			return counters{}, fmt.Errorf("reading the counters of x_tables: %w", err)
		}
		of := func(index int) uint64 {
			if index < 0 {
				return 0
			}
			return counted[index].packets
		}
		c := counters{
			established: of(t.established), known: of(t.known), invalid: of(t.invalid),
			entered: of(t.entered), unmatched: of(t.unmatched), matchPackets: of(t.match),
		}
		if t.match >= 0 {
			c.matchBytes = counted[t.match].bytes
		}
		total.add(c)
	}
	return total, nil
}

type entryCounter struct{ packets, bytes uint64 }

func (l loadedTable) entryCounters() ([]entryCounter, error) {
	p, name := l.protocol, l.table.name
	i, err := p.info(name)
	if err != nil {
		return nil, err
	}
	if i.bytes != l.bytes || i.entries != l.table.number {
		return nil, fmt.Errorf("table %q has %d entries of %d bytes, want %d of %d: another process changed it",
			name, i.entries, i.bytes, l.table.number, l.bytes)
	}
	buffer := make([]byte, entriesHeader+i.bytes)
	copy(buffer, name)
	binary.NativeEndian.PutUint32(buffer[tableNameBytes:], uint32(i.bytes))
	if err := p.get(optionEntries, buffer); err != nil {
		return nil, explain(err, missingXTables)
	}
	entries := buffer[entriesHeader:]
	counted := make([]entryCounter, 0, l.table.number)
	for at := 0; at+p.layout.headerBytes <= len(entries); {
		counted = append(counted, entryCounter{
			packets: binary.NativeEndian.Uint64(entries[at+p.layout.countersAt:]),
			bytes:   binary.NativeEndian.Uint64(entries[at+p.layout.countersAt+8:]),
		})
		next := int(binary.NativeEndian.Uint16(entries[at+p.layout.offsetsAt+2:]))
		if next < p.layout.headerBytes {
			break
		}
		at += next
	}
	if len(counted) != l.table.number {
		return nil, fmt.Errorf("table %q is not as it was written", name)
	}
	return counted, nil
}
