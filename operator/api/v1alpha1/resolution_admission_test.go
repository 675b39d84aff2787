package v1alpha1_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAddressResolution checks which functions can resolve addresses.
func TestAddressResolution(t *testing.T) {
	for name, c := range map[string]struct {
		chain string
		want  []string // of the refusal; none: it is admitted
	}{
		"a router":              {"[{name: r, function: Router, addressResolution: Dynamic}]", nil},
		"a routed firewall":     {"[{name: f, function: Firewall, addressResolution: Dynamic, firewall: {mode: None}}]", nil},
		"a static machine":      {"[{name: own, function: Custom, runtime: VirtualMachine, addressResolution: Static, custom: {containerDisk: x}}]", nil},
		"a static bridge":       {"[{name: f, function: Firewall, addressResolution: Static, firewall: {mode: None, forwarding: Bridged}}]", nil},
		"a bridged firewall":    {"[{name: f, function: Firewall, addressResolution: Dynamic, firewall: {mode: None, forwarding: Bridged}}]", []string{"spec.experiment.chain[f].addressResolution", "leave addressResolution out"}},
		"an encryption gateway": {"[{name: a, function: EncryptionGateway, addressResolution: Dynamic}, {name: b, function: EncryptionGateway}]", []string{"spec.experiment.chain[a].addressResolution", "leave addressResolution out"}},
		"another word":          {"[{name: r, function: Router, addressResolution: ARP}]", []string{"spec.experiment.chain[0].addressResolution", "Unsupported value"}},
	} {
		t.Run(name, func(t *testing.T) {
			checkRefusal(t, object(t, goodRun, map[string]string{"spec.experiment.chain": c.chain}), c.want)
		})
	}
}

// TestFixedMACAddresses checks the addresses that a testbed fixes for functions Custom.
func TestFixedMACAddresses(t *testing.T) {
	const first = "function: a, management: '52:54:00:00:00:01', west: '52:54:00:00:00:02', east: '3C:FD:FE:00:00:03'"
	for name, c := range map[string]struct {
		systemUnderTest string
		want            []string
	}{
		"one function":            {"macAddresses: [{" + first + "}]", nil},
		"two functions":           {"macAddresses: [{" + first + "}, {function: b, west: '52:54:00:00:00:04'}]", nil},
		"nothing":                 {"macAddresses: [{function: a}]", []string{"spec.systemUnderTest.macAddresses[0]", "at least 2 properties"}},
		"a group address":         {"macAddresses: [{function: a, west: '53:54:00:00:00:02'}]", []string{"spec.systemUnderTest.macAddresses[0].west", "should match"}},
		"no address":              {"macAddresses: [{function: a, west: '52:54:00:00:00'}]", []string{"spec.systemUnderTest.macAddresses[0].west", "should match"}},
		"of no NIC":               {"macAddresses: [{function: a, west: '00:00:00:00:00:00'}]", []string{"spec.systemUnderTest.macAddresses has an address that no NIC has"}},
		"twice in a function":     {"macAddresses: [{function: a, west: '52:54:00:00:00:0a', east: '52:54:00:00:00:0A'}]", []string{"spec.systemUnderTest.macAddresses: 52:54:00:00:00:0a is in the testbed twice", "another address"}},
		"twice in two functions":  {"macAddresses: [{" + first + "}, {function: b, west: '52:54:00:00:00:01'}]", []string{"52:54:00:00:00:01 is in the testbed twice"}},
		"that of a whole NIC":     {"macAddresses: [{" + first + "}], hostDevices: {west: {resourceName: a/b, macAddress: '3c:fd:fe:00:00:03'}}", []string{"3c:fd:fe:00:00:03 is in the testbed twice"}},
		"one function twice":      {"macAddresses: [{" + first + "}, {function: a, west: '52:54:00:00:00:04'}]", []string{"spec.systemUnderTest.macAddresses[1]", "Duplicate value"}},
		"no function":             {"macAddresses: [{west: '52:54:00:00:00:02'}]", []string{"spec.systemUnderTest.macAddresses[0].function", "Required"}},
		"a function's wrong name": {"macAddresses: [{function: A, west: '52:54:00:00:00:02'}]", []string{"spec.systemUnderTest.macAddresses[0].function", "should match"}},
	} {
		t.Run(name, func(t *testing.T) {
			checkRefusal(t, object(t, goodTestbed, map[string]string{"spec.systemUnderTest": "{" + c.systemUnderTest + "}"}), c.want)
		})
	}
}

// checkRefusal verifies that an object is refused in these words, or admitted if there are none.
func checkRefusal(t *testing.T, o *unstructured.Unstructured, want []string) {
	t.Helper()
	err := create(o)
	if len(want) == 0 {
		if err != nil {
			t.Error(err)
		}
		return
	}
	if err == nil {
		t.Fatal("was admitted")
	}
	for _, words := range want {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("the refusal does not say %q: %v", words, err)
		}
	}
}
