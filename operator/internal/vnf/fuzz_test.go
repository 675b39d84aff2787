package vnf_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/mutate"
	"vnfbench.io/operator/internal/testing/plantest"
	"vnfbench.io/operator/internal/vnf"
)

// FuzzParseStatus checks that no answer of a function causes a panic, and that only this layout is read.
func FuzzParseStatus(f *testing.F) {
	seed, err := json.Marshal(vnf.Status{
		Version: vnf.StatusVersion, Function: vnf.FunctionRouter, Name: "r1", Ready: true, Reasons: []string{"x"},
		Ports:          []vnf.PortStatus{{Name: "west", Interface: "net1", Up: true, Counters: &vnf.PortCounters{RxPackets: 7}}},
		FunctionStatus: vnf.FunctionStatus{State: vnf.State{Firewall: &vnf.FirewallState{Rules: 3}}, Counters: map[string]int64{vnf.CounterMatchedPackets: 5}},
		CPU:            &vnf.CPUUsage{ElapsedNanoseconds: 5},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed, []byte{})
	f.Add(seed, []byte{0, 3, 0, 8})
	f.Add([]byte(`{"version":1e0}`), []byte{})
	f.Fuzz(func(t *testing.T, text, edits []byte) {
		status, err := vnf.ParseStatus(mutate.JSON(text, edits))
		if (err == nil) != (status != nil) {
			t.Fatalf("ParseStatus() = %+v, %v", status, err)
		}
		if err == nil && status.Version != vnf.StatusVersion {
			t.Fatalf("version %d was read", status.Version)
		}
	})
}

// FuzzParse checks that no configuration causes a panic, and that one that is accepted is accepted again
// with the same digest.
func FuzzParse(f *testing.F) {
	for _, c := range plantest.Cases() {
		made, err := plan.Make(c.Input())
		if err != nil {
			f.Fatal(err)
		}
		for _, function := range made.Functions {
			seed, err := json.Marshal(function.Config)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(seed, []byte{0, 9, 0, 8, 0, 12, 0, 17})
		}
	}
	f.Add([]byte(routerJSON), []byte{})
	f.Fuzz(func(t *testing.T, text, edits []byte) {
		config, err := vnf.Parse(mutate.JSON(text, edits))
		if err != nil {
			return
		}
		written, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		again, err := vnf.Parse(written)
		if err != nil || again.Digest() != config.Digest() {
			t.Fatalf("written and read again: %v\n%s", err, bytes.TrimSpace(written))
		}
	})
}
