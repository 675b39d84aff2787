//go:build linux

package filter

import (
	"log/slog"
	"strings"
	"testing"

	"vnfbench.io/operator/internal/vnf"
)

// kernelWith is a backend whose kernel holds what the test says.
type kernelWith struct{ held }

func (k kernelWith) load() error                  { return nil }
func (k kernelWith) count() (held, error)         { return k.held, nil }
func (k kernelWith) fingerprint() (string, error) { return "1", nil }
func (k kernelWith) counters() (counters, error)  { return counters{}, nil }

// TestWhatTheKernelHolds checks that rules or elements that are missing in the kernel end the function.
func TestWhatTheKernelHolds(t *testing.T) {
	firewall := &vnf.Firewall{Mode: vnf.ModeStateless, Rules: 1000, Lookup: vnf.LookupSet, MatchPosition: vnf.PositionLast}
	for found, want := range map[held]string{
		{2, 1000}: "",
		{2, 999}:  "the kernel holds 2 rules and 999 elements, want 2 rules and 1000 elements",
		{1, 1000}: "the kernel holds 1 rules and 1000 elements, want 2 rules and 1000 elements",
	} {
		f := &Filter{firewall: firewall, backend: kernelWith{found}, log: slog.New(slog.DiscardHandler)}
		switch err := f.Prepare(); {
		case want == "" && err != nil:
			t.Error(err)
		case want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)):
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := same([]held{{2, 1000}, {2, 999}}); err == nil || err.Error() != "there are 2 rules and 1000 elements for IPv4, and 2 rules and 999 elements for IPv6" {
		t.Error(err)
	}
}

// TestMissingSets checks that the refusal of a kernel without ipset names its modules.
func TestMissingSets(t *testing.T) {
	for matchBy, want := range map[string]string{
		vnf.MatchByAddress: "modprobe -a ip_set ip_set_hash_ip xt_set, or use lookup List",
		vnf.MatchByPort:    "modprobe -a ip_set ip_set_bitmap_port xt_set, or use lookup List",
	} {
		x := &xtables{firewall: &vnf.Firewall{Mode: vnf.ModeStateless, Rules: 1, Lookup: vnf.LookupSet, MatchBy: matchBy}}
		if got := x.missing(); !strings.HasPrefix(got, missingXTables) || !strings.Contains(got, want) {
			t.Errorf("%s: %s", matchBy, got)
		}
	}
}
