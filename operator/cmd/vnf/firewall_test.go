//go:build linux

package main

import (
	"testing"

	"vnfbench.io/operator/internal/vnf"
)

// TestFirewallPod: NET_ADMIN alone loads rules in either backend, and the
// status' JSON has the fields that others read.
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
				_ = firewall.Wait() // says that it was killed
				if t.Failed() {
					t.Log(log.String())
				}
			})
			p.eventually(t, "")
			requireOnlyNetAdmin(t, firewall.Process.Pid)
			var status struct{ Firewall map[string]any }
			p.getStatus(t, &status)
			for field, want := range map[string]any{
				"backend": backend, "implementation": implementation, "rules": 20_001.0, "matchPackets": 0.0, "matchBytes": 0.0,
			} {
				if got := status.Firewall[field]; got != want {
					t.Errorf("firewall.%s is %v, want %v", field, got, want)
				}
			}
			if _, found := status.Firewall["loadMilliseconds"]; !found || status.Firewall["problem"] != nil {
				t.Errorf("firewall is %v", status.Firewall)
			}
		})
	}
}
