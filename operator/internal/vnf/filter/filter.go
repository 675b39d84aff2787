//go:build linux

// Package filter puts a firewall's rules into the kernel and tells what they
// counted. A vnf.Firewall goes in; tables of nf_tables or x_tables come out, in
// the network namespace of the calling thread, with the capability NET_ADMIN
// alone. Both backends hold the same chain, for each IP version by itself:
//
//	established  accepts packets of answered flows            (Stateful)
//	known        accepts packets of flows seen before         (Stateful)
//	invalid      drops what connection tracking cannot place  (Stateful)
//	entered      counts what begins the walk
//	rules        one after the other; one of them matches the traffic
//	unmatched    counts what no rule matched, and applies the policy
package filter

import (
	"errors"
	"fmt"
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

// Status is what the kernel holds and counted, both IP versions together. Part
// of the function's /status.
type Status struct {
	Backend string `json:"backend"`
	// Implementation is the part of the kernel that holds the rules:
	// "nf_tables", "x_tables", or "none" with mode None.
	Implementation string `json:"implementation"`
	Mode           string `json:"mode"`
	Forwarding     string `json:"forwarding"`
	// Rules that the kernel holds for each IP version, the match rule among
	// them, counted when they were loaded. Rules around the walk do not count.
	Rules int `json:"rules"`
	// EnteredPackets came to the first rule of the walk.
	EnteredPackets uint64 `json:"enteredPackets"`
	// MatchPackets and MatchBytes met the match rule and matched it.
	MatchPackets uint64 `json:"matchPackets"`
	MatchBytes   uint64 `json:"matchBytes"`
	// UnmatchedPackets came to the walk's end, where the policy is applied.
	UnmatchedPackets uint64 `json:"unmatchedPackets"`
	// EstablishedPackets, KnownFlowPackets and InvalidPackets did not walk,
	// because of what connection tracking knew about them.
	EstablishedPackets uint64 `json:"establishedPackets"`
	KnownFlowPackets   uint64 `json:"knownFlowPackets"`
	InvalidPackets     uint64 `json:"invalidPackets"`
	// TrackedFlows are in the namespace's connection tracking now.
	TrackedFlows uint64 `json:"trackedFlows"`
	// LoadMilliseconds is how long it took to load the rules.
	LoadMilliseconds int64 `json:"loadMilliseconds"`
	// Problem is why counters are missing.
	Problem string `json:"problem,omitempty"`
}

// counters are those of one IP version, or of all.
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
	// count is the number of rules of the walk for each IP version, from the kernel.
	count() (int, error)
	// fingerprint is cheap, and changes when the rules do.
	fingerprint() (string, error)
	counters() (counters, error)
}

// Filter is one firewall's rules.
type Filter struct {
	firewall *vnf.Firewall
	backend  backend

	// mu lets /status be asked while rules are being loaded.
	mu          sync.Mutex
	rules       int
	fingerprint string
	loading     time.Duration
}

// New is the filter of a checked configuration; it touches nothing yet.
func New(firewall *vnf.Firewall) *Filter {
	f := &Filter{firewall: firewall}
	switch {
	case !firewall.Filtered():
	case firewall.Backend == vnf.BackendIptables:
		f.backend = &xtables{firewall: firewall}
	default:
		f.backend = &nfTables{firewall: firewall}
	}
	return f
}

// Load puts the rules into the kernel in place of earlier ones, and counts them there.
func (f *Filter) Load() error {
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
	rules, err := f.backend.count()
	if err != nil {
		return fmt.Errorf("counting the rules that were loaded: %w", err)
	}
	if want := len(f.firewall.Walk(false)); rules != want {
		return fmt.Errorf("the kernel holds %d rules, want %d", rules, want)
	}
	f.rules = rules
	if f.fingerprint, err = f.backend.fingerprint(); err != nil {
		return fmt.Errorf("asking for the rules' state: %w", err)
	}
	return nil
}

// Check says why the rules are not those that were loaded. It is cheap: rules
// are counted when they are loaded, and then only watched for change.
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
		return fmt.Errorf("the firewall's rules were changed by somebody else: %s, was %s", now, f.fingerprint)
	}
	return nil
}

// Status is the filter's state now.
func (f *Filter) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	status := Status{
		Backend: f.firewall.Backend, Implementation: ImplementationNone,
		Mode: f.firewall.Mode, Forwarding: f.firewall.Forwarding,
		Rules: f.rules, LoadMilliseconds: f.loading.Milliseconds(),
	}
	switch f.backend.(type) {
	case *xtables:
		status.Implementation = ImplementationXTables
	case *nfTables:
		status.Implementation = ImplementationNFTables
	}
	// Without connection tracking in the kernel there is no such file.
	status.TrackedFlows, _ = readNumber(trackedCount)
	if f.backend == nil {
		return status
	}
	c, err := f.backend.counters()
	if err != nil {
		status.Problem = err.Error()
		return status
	}
	status.EnteredPackets, status.UnmatchedPackets = c.entered, c.unmatched
	status.MatchPackets, status.MatchBytes = c.matchPackets, c.matchBytes
	status.EstablishedPackets, status.KnownFlowPackets, status.InvalidPackets = c.established, c.known, c.invalid
	return status
}

const (
	trackedCount   = "/proc/sys/net/netfilter/nf_conntrack_count"
	trackedMaximum = "/proc/sys/net/netfilter/nf_conntrack_max"
)

// checkTracking wants room for every flow: once the table is full the kernel
// drops the first packet of each further flow, and that would be taken for the
// device's loss.
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

// explain adds to the kernel's refusal what is missing where.
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
