package procedure

import (
	"encoding/json"
	"strings"
	"testing"

	"vnfbench.io/operator/internal/vnf/filter"
)

// The names are those of a firewall's own status.
func TestFirewallCounterNames(t *testing.T) {
	text, err := json.Marshal(filter.Status{})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{counterEntered, counterMatched, counterUnmatched, counterKnown, counterEstablished} {
		if _, found := fields[strings.TrimPrefix(name, "firewall.")]; !found {
			t.Errorf("a firewall's status has no %q", name)
		}
	}
}
