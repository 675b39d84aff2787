package main

import (
	"strings"
	"testing"
)

// TestDevicesNamed checks that a part of a name selects devices, and that a name of none is an error.
func TestDevicesNamed(t *testing.T) {
	for text, want := range map[string]int{"": len(ringDevices), "iptables": 1, "slow router": 1} {
		if got, err := devicesNamed(text); err != nil || len(got) != want {
			t.Errorf("%q: %+v, %v, want %d", text, got, err, want)
		}
	}
	if _, err := devicesNamed("switch"); err == nil || !strings.Contains(err.Error(), `"slow router"`) {
		t.Errorf("a name of none: %v", err)
	}
}
