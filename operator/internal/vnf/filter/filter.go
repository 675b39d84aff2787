//go:build linux

// Package filter puts a firewall's rules into the kernel and reports what they
// counted. A vnf.Firewall goes in; tables of nf_tables or x_tables come out, in
// the network namespace of the calling thread, with only the capability
// NET_ADMIN. Both backends hold the same chain, separately for each IP version:
//
//	established  accepts packets of answered flows            (Stateful)
//	known        accepts packets of flows seen before         (Stateful)
//	invalid      drops what connection tracking cannot place  (Stateful)
//	entered      counts what reaches the rules
//	rules        in sequence; one of them matches the traffic, and one may look
//	             up all others in a set
//	unmatched    counts what no rule matched, and applies the policy
package filter

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/vnf"
)

// Implementations of the backends.
const (
	ImplementationNFTables = "nf_tables"
	ImplementationXTables  = "x_tables"
	ImplementationNone     = "none"
)

// counters are the counts of one IP version, or of all.
type counters struct {
	established, known, invalid, entered, unmatched uint64
	matchPackets, matchBytes                        uint64
}

func (c *counters) add(other counters) {
	c.established += other.established
	c.known += other.known
	c.invalid += other.invalid
	c.entered += other.entered
	c.unmatched += other.unmatched
	c.matchPackets += other.matchPackets
	c.matchBytes += other.matchBytes
}

// backend is one way of keeping rules.
type backend interface {
	// load replaces what this package loaded before.
	load() error
	// count returns what the kernel holds for each IP version.
	count() (held, error)
	// fingerprint returns a text that changes when the rules do. It is cheap.
	fingerprint() (string, error)
	counters() (counters, error)
}

// held is how many rules of the walk, and elements of their set or map, there are.
type held struct{ rules, elements int }

func (h held) String() string { return fmt.Sprintf("%d rules and %d elements", h.rules, h.elements) }

// same returns what all IP versions have, or an error.
func same(versions []held) (held, error) {
	for _, h := range versions {
		if h != versions[0] {
			return held{}, fmt.Errorf("there are %s for IPv4, and %s for IPv6", versions[0], h)
		}
	}
	return versions[0], nil
}

// Filter is one firewall's rules.
type Filter struct {
	firewall *vnf.Firewall
	backend  backend
	log      *slog.Logger

	// mu allows requests for /status while rules are being loaded.
	mu          sync.Mutex
	held        held
	fingerprint string
	loading     time.Duration
}

// New returns the filter of a checked configuration; it changes nothing yet.
func New(firewall *vnf.Firewall, log *slog.Logger) *Filter {
	f := &Filter{firewall: firewall, log: log}
	switch {
	case !firewall.Filtered():
	case firewall.Backend == vnf.BackendIptables:
		f.backend = &xtables{firewall: firewall}
	default:
		f.backend = &nfTables{firewall: firewall}
	}
	return f
}

// Prepare loads the rules. A second call loads them again, and their counters
// start at 0.
func (f *Filter) Prepare() error {
	f.log.Info("loading the firewall's rules", "backend", f.firewall.Backend, "mode", f.firewall.Mode, "rules", f.firewall.Rules, "lookup", f.firewall.Lookup)
	if err := f.load(); err != nil {
		return fmt.Errorf("loading the firewall's rules: %w", err)
	}
	state := f.state()
	f.log.Info("loaded the firewall's rules", "implementation", state.Implementation, "rules", state.Rules, "elements", state.Elements, "loadMilliseconds", state.LoadMilliseconds)
	return nil
}

// Apply does nothing: the rules are loaded before the ports are up.
func (f *Filter) Apply() error { return nil }

// Interface returns "": a firewall makes no interface that forwards by itself.
func (f *Filter) Interface() string { return "" }

// load replaces earlier rules in the kernel, and counts the new ones there.
func (f *Filter) load() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.backend == nil {
		return nil
	}
	if err := f.checkTracking(); err != nil {
		return err
	}
	started := time.Now()
	if err := f.backend.load(); err != nil {
		return err
	}
	f.loading = time.Since(started)
	found, err := f.backend.count()
	if err != nil {
		return fmt.Errorf("counting the rules that were loaded: %w", err)
	}
	if want := (held{len(f.firewall.Walk(false)), len(f.firewall.Elements(false))}); found != want {
		return fmt.Errorf("the kernel holds %s, want %s", found, want)
	}
	f.held = found
	if f.fingerprint, err = f.backend.fingerprint(); err != nil {
		return fmt.Errorf("asking for the rules' state: %w", err)
	}
	return nil
}

// Check returns why the rules are not the loaded ones. It is cheap: rules are
// counted when they are loaded, and then only watched for change.
func (f *Filter) Check() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.backend == nil {
		return nil
	}
	if f.fingerprint == "" {
		return errors.New("the firewall's rules are not loaded")
	}
	now, err := f.backend.fingerprint()
	if err != nil {
		return fmt.Errorf("asking for the firewall's rules: %w", err)
	}
	if now != f.fingerprint {
		return fmt.Errorf("the firewall's rules were changed by another process: %s, was %s", now, f.fingerprint)
	}
	return nil
}

// Status returns the rules and what they counted.
func (f *Filter) Status() vnf.FunctionStatus {
	state := f.state()
	status := vnf.FunctionStatus{State: vnf.State{Firewall: &state}}
	if f.backend == nil {
		return status
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c, err := f.backend.counters()
	if err != nil {
		status.CountersProblem = err.Error()
		return status
	}
	status.Counters = map[string]int64{
		vnf.CounterEnteredPackets: int64(c.entered), vnf.CounterMatchedPackets: int64(c.matchPackets), vnf.CounterMatchedBytes: int64(c.matchBytes),
		vnf.CounterUnmatchedPackets: int64(c.unmatched), vnf.CounterEstablishedPackets: int64(c.established),
		vnf.CounterKnownFlowPackets: int64(c.known), vnf.CounterInvalidPackets: int64(c.invalid),
	}
	return status
}

// state returns the part of the kernel that holds the rules.
func (f *Filter) state() vnf.FirewallState {
	f.mu.Lock()
	defer f.mu.Unlock()
	state := vnf.FirewallState{Implementation: ImplementationNone, Rules: int32(f.held.rules), Elements: int32(f.held.elements), LoadMilliseconds: f.loading.Milliseconds()}
	switch f.backend.(type) {
	case *xtables:
		state.Implementation = ImplementationXTables
	case *nfTables:
		state.Implementation = ImplementationNFTables
	}
	return state
}

const trackedMaximum = "/proc/sys/net/netfilter/nf_conntrack_max"

// checkTracking requires room for every flow. Once the table is full, the kernel
// drops the first packet of each further flow, and the result would show that
// as loss of the device.
func (f *Filter) checkTracking() error {
	if f.firewall.Mode != vnf.ModeStateful || f.firewall.TrackedFlows == 0 {
		return nil
	}
	maximum, err := readNumber(trackedMaximum)
	if err != nil {
		return nil // not there before connection tracking is loaded; load says what is missing
	}
	if maximum > 0 && uint64(f.firewall.TrackedFlows) > maximum {
		return fmt.Errorf("the traffic has %d flows, but the node's connection tracking holds %d: raise sysctl net.netfilter.nf_conntrack_max on the node, or lower the traffic's flows",
			f.firewall.TrackedFlows, maximum)
	}
	return nil
}

func readNumber(path string) (uint64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64)
}

// explain adds to the kernel's refusal what is missing and where.
func explain(err error, missing string) error {
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: the container needs the capability NET_ADMIN", err)
	case errors.Is(err, unix.ENOMEM):
		return fmt.Errorf("%w: the rules do not fit into the memory; raise the function's memory", err)
	default:
		return fmt.Errorf("%w: %s", err, missing)
	}
}
