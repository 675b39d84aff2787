package placeholder_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/placeholder"
)

func TestVariables(t *testing.T) {
	for name, want := range map[string]string{
		"Name": "VNFBENCH_NAME", "MTUBytes": "VNFBENCH_MTU_BYTES", "West.MAC": "VNFBENCH_WEST_MAC", "East.VLAN": "VNFBENCH_EAST_VLAN",
		"West.AddressIPv4": "VNFBENCH_WEST_ADDRESS_IPV4", "East.PrefixLengthIPv6": "VNFBENCH_EAST_PREFIX_LENGTH_IPV6",
		"West.NextHopIPv4": "VNFBENCH_WEST_NEXT_HOP_IPV4", "East.NextHopMAC": "VNFBENCH_EAST_NEXT_HOP_MAC", "West.MTUBytes": "VNFBENCH_WEST_MTU_BYTES",
	} {
		if got := placeholder.VariableOf(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	got := placeholder.Values{"West.MAC": "m", "Name": "n"}.Variables()
	if diff := cmp.Diff([]placeholder.Variable{{Name: "VNFBENCH_NAME", Value: "n"}, {Name: "VNFBENCH_WEST_MAC", Value: "m"}}, got); diff != "" {
		t.Error(diff)
	}
}

// TestJSONHasEveryPlaceholder checks that each placeholder leads to its value in the object, as a path of the same name.
func TestJSONHasEveryPlaceholder(t *testing.T) {
	values := placeholder.Of(config())
	text, err := values.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&root); err != nil {
		t.Fatal(err)
	}
	for name, want := range values {
		object, last := root, name
		if port, below, found := strings.Cut(name, "."); found {
			object, last = root[port].(map[string]any), below
		}
		got := object[last]
		if number, is := got.(json.Number); is {
			got = number.String()
		}
		if got != want {
			t.Errorf("%s is %v, want %s", name, got, want)
		}
	}
	if root["West"].(map[string]any)["MTUBytes"] != json.Number("1500") || root["Name"] != "fw" {
		t.Errorf("numbers and texts are mixed up: %s", text)
	}
}

func TestCheckReferences(t *testing.T) {
	values := placeholder.Values{"West.MAC": "m", "East.MAC": "n", "Name": "o"}
	for text, want := range map[string]string{
		"$(VNFBENCH_WEST_MAC) and $(VNFBENCH_EAST_MAC)": "",
		"$$(VNFBENCH_NO)": "", "$(VNFBENCH_NO": "", "$(date)": "", "VNFBENCH_NO": "",
		"$$$(VNFBENCH_NO)":                    "$(VNFBENCH_NO) is no variable; after VNFBENCH_ come NAME, WEST_MAC, and those of WEST with EAST",
		"$(VNFBENCH_NAME)$(VNFBENCH_WESTMAC)": "$(VNFBENCH_WESTMAC) is no variable",
	} {
		err := values.CheckReferences(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
