//go:build linux

package main

import (
	"testing"

	"vnfbench.io/operator/internal/vnf"
)

// TestFirewallPod checks that NET_ADMIN alone is enough to load rules in either backend, and that
// the status has the fields that others read.
func TestFirewallPod(t *testing.T) {
	for backend, implementation := range map[string]string{vnf.BackendNftables: "nf_tables", vnf.BackendIptables: "x_tables"} {
		t.Run(backend, func(t *testing.T) {
			p := newPod(t)
			p.tune(t)
			config, err := vnf.Load(p.config)
			if err != nil {
				t.Fatal(err)
			}
			config.Function = vnf.FunctionFirewall
			config.Firewall = &vnf.Firewall{
				Backend: backend, Mode: vnf.ModeStateless, Forwarding: vnf.ForwardingRouted, Rules: 20_000,
				MatchBy: vnf.MatchByAddress, MatchPosition: vnf.PositionLast, Verdict: vnf.VerdictAccept, DefaultPolicy: vnf.VerdictDrop,
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
			if f := status.Firewall; f == nil || f.Implementation != implementation || f.Rules != 20_001 || status.CountersProblem != "" {
				t.Errorf("the firewall is %+v, problem %q, want 20001 rules in %s", f, status.CountersProblem, implementation)
			}
			for _, name := range []string{vnf.CounterMatchedPackets, vnf.CounterMatchedBytes} {
				if value, found := status.Counters[name]; !found || value != 0 {
					t.Errorf("counters %v, want %s 0", status.Counters, name)
				}
			}
		})
	}
}
