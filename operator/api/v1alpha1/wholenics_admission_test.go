package v1alpha1_test

import (
	"strings"
	"testing"
)

// TestOneNICOfOneNode checks that a testbed does not give the generator's NIC to a function too, where both are on one node
// for certain. Where they may be on two nodes, the plan decides.
func TestOneNICOfOneNode(t *testing.T) {
	const (
		ports   = "{west: {attachment: HostDevice, hostDevice: {pciAddress: '0000:0A:00.0'}}, east: {attachment: HostDevice, hostDevice: {pciAddress: '0000:0a:00.1'}}}"
		bridged = "{west: {attachment: HostDevice, hostDevice: {pciAddress: '0000:0A:00.0'}}}"
		same    = "hostDevices: {west: {pciAddress: '0000:0a:00.0'}}"
		node    = "nodeSelector: {kubernetes.io/hostname: generator}"
	)
	for name, test := range map[string]struct {
		ports, generator, systemUnderTest string
		refused                           bool
	}{
		"a bridge needs one node":        {bridged, "", same, true},
		"one node by name":               {ports, node, node + ", " + same, true},
		"crosswise":                      {ports, node, node + ", hostDevices: {east: {pciAddress: '0000:0a:00.0'}}", true},
		"the generator's eastern port":   {ports, node, node + ", hostDevices: {west: {pciAddress: '0000:0A:00.1'}}", true},
		"a virtual machine's":            {ports, node, node + ", hostDevices: {west: {pciAddress: '0000:0a:00.0', resourceName: a/b, macAddress: '3c:fd:fe:00:00:01'}}", true},
		"two nodes by name":              {ports, node, "nodeSelector: {kubernetes.io/hostname: device}, " + same, false},
		"any nodes":                      {ports, "", same, false},
		"any generator and a node":       {ports, "", node + ", " + same, false},
		"other NICs of one node":         {ports, node, node + ", hostDevices: {west: {pciAddress: '0000:0b:00.0'}, east: {pciAddress: '0000:0b:00.1'}}", false},
		"other NICs and a bridge":        {bridged, "", "hostDevices: {west: {pciAddress: '0000:0b:00.0'}}", false},
		"a bridge and no NIC of a chain": {bridged, "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			err := create(object(t, goodTestbed, map[string]string{
				"spec.ports": test.ports, "spec.generator": "{" + test.generator + "}", "spec.systemUnderTest": "{" + test.systemUnderTest + "}",
			}))
			if !test.refused {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatal("was admitted")
			}
			for _, want := range []string{"spec.systemUnderTest.hostDevices has pciAddress 0000:0", "name another NIC"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the refusal does not say %q: %v", want, err)
				}
			}
		})
	}
}
