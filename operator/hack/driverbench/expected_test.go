package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestLowerLimits checks that each exception is of a device that is measured, is lower than the gate of its kind, and is said.
func TestLowerLimits(t *testing.T) {
	gates := map[string]float64{}
	for _, d := range ringDevices {
		for directions := 1; directions <= 2; directions++ {
			gates[ringName(d, directions)] = d.leastLimit
		}
	}
	for name, e := range lowerLimits {
		gate, measured := gates[name]
		if least, said := leastLimitOf(name, gate); !measured || least != e.least || least >= gate || !strings.Contains(said, e.why) {
			t.Errorf("%s: measured %v, %.2f of %.2f, %s", name, measured, least, gate, said)
		}
	}
	if least, said := leastLimitOf("another", 0.9); least != 0.9 || said != fmt.Sprintf("want %.2f at least", 0.9) {
		t.Errorf("%.2f, %s", least, said)
	}
}
