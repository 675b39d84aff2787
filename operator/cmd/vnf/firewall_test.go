//go:build linux

package main

import (
	"testing"

	"vnfbench.io/operator/internal/vnf"
)

// TestFirewallPod checks that NET_ADMIN alone is enough to load rules in either backend, and that
// the status has the fields that others read.
func TestFirewallPod(t *testing.T) {
	for _, of := range []struct {
		backend, lookup, implementation string
		rules, elements                 int32
	}{
		{vnf.BackendNftables, vnf.LookupList, "nf_tables", 20_001, 0},
		{vnf.BackendIptables, vnf.LookupList, "x_tables", 20_001, 0},
		{vnf.BackendNftables, vnf.LookupMap, "nf_tables", 2, 20_000},
		{vnf.BackendIptables, vnf.LookupSet, "x_tables", 2, 20_000},
	} {
		t.Run(of.backend+", "+of.lookup, func(t *testing.T) {
			p := newPod(t)
			p.tune(t)
			config, err := vnf.Load(p.config)
			if err != nil {
				t.Fatal(err)
			}
			config.Function = vnf.FunctionFirewall
			config.Firewall = &vnf.Firewall{
				Backend: of.backend, Mode: vnf.ModeStateless, Forwarding: vnf.ForwardingRouted, Rules: 20_000,
				MatchBy: vnf.MatchByAddress, MatchPosition: vnf.PositionLast, Lookup: of.lookup, Verdict: vnf.VerdictAccept, DefaultPolicy: vnf.VerdictDrop,
			}
			p.write(t, config)
			log := &lockedBuffer{}
			firewall := p.start(t, log, "run", "--config", p.config)
			t.Cleanup(func() {
				_ = firewall.Process.Kill()
				_ = firewall.Wait() // returns that it was killed
				if t.Failed() {
					t.Log(log.String())
				}
			})
			p.eventually(t, "")
			requireOnlyNetAdmin(t, firewall.Process.Pid)
			var status vnf.Status
			p.getStatus(t, &status)
			if f := status.Firewall; f == nil || f.Implementation != of.implementation || f.Rules != of.rules || f.Elements != of.elements || status.CountersProblem != "" {
				t.Errorf("the firewall is %+v, problem %q, want %+v", f, status.CountersProblem, of)
			}
			for _, name := range []string{vnf.CounterMatchedPackets, vnf.CounterMatchedBytes} {
				if value, found := status.Counters[name]; !found || value != 0 {
					t.Errorf("counters %v, want %s 0", status.Counters, name)
				}
			}
		})
	}
}
