package v1alpha1_test

import (
	"strings"
	"testing"
)

func TestFirewallAdmission(t *testing.T) {
	chain := func(firewall string) map[string]string {
		return map[string]string{"spec.experiment.chain": "[{name: f, function: Firewall, firewall: " + firewall + "}]"}
	}
	for name, firewall := range map[string]string{
		"every default":       "{}",
		"no filter":           "{mode: None}",
		"all rules":           "{rules: 65535, backend: iptables, mode: Stateless, matchBy: Port, matchPosition: Middle}",
		"bridged":             "{forwarding: Bridged, mode: Stateless}",
		"a set":               "{lookup: Set, backend: iptables, rules: 65535}",
		"a map of ports":      "{lookup: Map, rules: 65534, matchBy: Port, matchPosition: First}",
		"a set of no rules":   "{lookup: Set, mode: None}",
		"policy that accepts": "{rules: 5000, matchPosition: None, defaultPolicy: Accept}",
	} {
		t.Run(name, func(t *testing.T) {
			if err := create(object(t, goodRun, chain(firewall))); err != nil {
				t.Error(err)
			}
		})
	}
	if err := create(object(t, goodRun, map[string]string{"spec.experiment.chain": "[{name: f, function: Firewall}]"})); err != nil {
		t.Errorf("without its settings: %v", err)
	}
	for name, test := range map[string]struct {
		firewall string
		want     []string
	}{
		"too many rules":  {"{rules: 65536}", []string{"spec.experiment.chain[0].firewall.rules", "less than or equal to 65535"}},
		"negative rules":  {"{rules: -1}", []string{"spec.experiment.chain[0].firewall.rules", "greater than or equal to 0"}},
		"rules in None":   {"{mode: None, rules: 1}", []string{"spec.experiment.chain[0].firewall.rules", "leave rules out"}},
		"verdict":         {"{verdict: Drop}", []string{"spec.experiment.chain[0].firewall.verdict", "use Accept"}},
		"all dropped":     {"{matchPosition: None}", []string{"spec.experiment.chain[0].firewall.defaultPolicy", "set defaultPolicy to Accept"}},
		"map of iptables": {"{lookup: Map, backend: iptables}", []string{"spec.experiment.chain[0].firewall.lookup", "set lookup to Set, or backend to nftables"}},
		"middle of a set": {"{lookup: Set, rules: 10, matchPosition: Middle}", []string{"spec.experiment.chain[0].firewall.matchPosition", "set matchPosition to First or Last"}},
		"a port twice":    {"{lookup: Map, rules: 65535, matchBy: Port}", []string{"spec.experiment.chain[0].firewall.rules", "at most 65534"}},
		"unknown lookup":  {"{lookup: Tree}", []string{"spec.experiment.chain[0].firewall.lookup", "Unsupported value"}},
		"unknown backend": {"{backend: pf}", []string{"spec.experiment.chain[0].firewall.backend", "Unsupported value", "nftables"}},
		"unknown match":   {"{matchBy: Name}", []string{"spec.experiment.chain[0].firewall.matchBy", "Unsupported value"}},
		"unknown layer":   {"{forwarding: Switched}", []string{"spec.experiment.chain[0].firewall.forwarding", "Unsupported value"}},
	} {
		t.Run(name, func(t *testing.T) {
			requireRefused(t, chain(test.firewall), test.want)
		})
	}
	t.Run("ports with TCP", func(t *testing.T) {
		fields := chain("{matchBy: Port}")
		fields["spec.experiment.measurements"] = "{tcp: {}}"
		requireRefused(t, fields, []string{"spec.experiment.chain", "ports of UDP", "use matchBy Address"})
	})
	t.Run("ports with fragments", func(t *testing.T) {
		fields := chain("{matchBy: Port, mode: Stateless}")
		fields["spec.experiment.traffic"] = "{packets: [{payloadBytes: 4096}]}"
		requireRefused(t, fields, []string{"spec.experiment.chain", "after a packet's first have no port", "use matchBy Address"})
		fields = chain("{matchBy: Port}")
		fields["spec.experiment.traffic"] = "{packets: [{payloadBytes: 4096}]}"
		if err := create(object(t, goodRun, fields)); err != nil {
			t.Errorf("with state, which puts packets together: %v", err)
		}
	})
}

func requireRefused(t *testing.T, fields map[string]string, wants []string) {
	t.Helper()
	err := create(object(t, goodRun, fields))
	if err == nil {
		t.Fatal("was accepted")
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("does not say %q: %s", want, clip(err.Error()))
		}
	}
}
