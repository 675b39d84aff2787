//go:build linux

package evidence

import (
	"encoding/json"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/neighbor"
	"vnfbench.io/operator/internal/observer"
	"vnfbench.io/operator/internal/testing/mutate"
	"vnfbench.io/operator/internal/vnf"
)

// FuzzAnswers reads two answers of a function, the observer and a neighbor, as they come before and after a
// trial. It checks that none causes a panic, and that what a record keeps of them is bounded.
func FuzzAnswers(f *testing.F) {
	function, functionErr := json.Marshal(vnf.Status{
		Version: vnf.StatusVersion, StartedAt: started, Ports: []vnf.PortStatus{{Name: "west", Counters: &vnf.PortCounters{RxPackets: 7}}},
		FunctionStatus: vnf.FunctionStatus{State: vnf.State{Firewall: &vnf.FirewallState{Rules: 3}}, Counters: map[string]int64{vnf.CounterMatchedPackets: 5}},
		CPU:            &vnf.CPUUsage{ElapsedNanoseconds: 5, Container: &vnf.ContainerTime{UserNanoseconds: 1}},
	})
	node, nodeErr := json.Marshal(observer.Snapshot{
		StartedAt: started, CPUs: 2, Node: measure.CPUTime{UserMilliseconds: 4}, SoftirqThreadsMilliseconds: new(int64(3)),
		Guests: []observer.GuestTime{{Name: "r1", Process: 7, StartTicks: 8}},
	})
	other, otherErr := json.Marshal(neighbor.Status{StartedAt: started, Running: true, ElapsedNanoseconds: 9})
	if functionErr != nil || nodeErr != nil || otherErr != nil {
		f.Fatal(functionErr, nodeErr, otherErr)
	}
	f.Add([]byte{}, []byte{})
	f.Add([]byte{0, 9, 0, 8}, []byte{0, 12, 0, 9, 0, 3, 2, 0})
	c := New(measure.Sources{
		Observer: "a:1", Functions: []measure.FunctionSource{{Name: "f1", Address: "b:1"}, {Name: "r1", Guest: "r1", Address: "c:1"}},
		Neighbors: []measure.NeighborSource{{Name: "n1", Address: "d:1"}},
	}, "")
	c.SetNeighbors(true)
	reading := func(edits []byte) (Reading, bool) {
		r := Reading{node: &observer.Snapshot{}, functions: []*vnf.Status{{}, {}}, neighbors: []*neighbor.Status{{}}}
		ok := jsonOf(r.node)(mutate.JSON(node, edits)) == nil && jsonOf(r.neighbors[0])(mutate.JSON(other, edits)) == nil
		for _, status := range r.functions {
			ok = ok && statusOf(status)(mutate.JSON(function, edits)) == nil
		}
		return r, ok
	}
	f.Fuzz(func(t *testing.T, before, after []byte) {
		first, ok := reading(before)
		second, also := reading(after)
		if !ok || !also {
			return
		}
		got := c.Between(first, second, time.Second)
		if len(got.Notes) > maxNotes || len(got.Functions) > 2 || len(got.Neighbors) > 1 {
			t.Fatalf("the record keeps %+v", got)
		}
		for _, one := range got.Functions {
			if len(one.Counters) > maxCounters {
				t.Fatalf("%d counters are kept", len(one.Counters))
			}
			for name, value := range one.Counters {
				if value < 0 || !counterName.MatchString(name) {
					t.Fatalf("counter %q is %d", name, value)
				}
			}
		}
		if _, err := json.Marshal(got); err != nil {
			t.Fatal(err)
		}
	})
}
