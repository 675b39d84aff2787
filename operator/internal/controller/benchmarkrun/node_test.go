package benchmarkrun

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/trialstore"
)

// TestNodeBecomesWarnings checks that what the measurer read about its node is among the run's warnings.
func TestNodeBecomesWarnings(t *testing.T) {
	s := newScope(launched)
	s.plan.GeneratorNode, s.plan.DeviceNode = "one", "one"
	text, err := json.Marshal(measure.GeneratorState{
		Chain: &measure.Description{Driver: "XDP", Scheduling: "RealTime", RealTimeLimited: true, RingFrames: 256, FrameCostNanoseconds: 68,
			Ports: []measure.PortState{{
				Interface: "west0", RefusedFrames: measure.RefusedUnproven, InterruptMicroseconds: new(int64(3)), AdaptiveInterrupts: true,
				NextHop: netip.MustParseAddr("198.18.0.2"), NextHopMAC: "02:00:00:00:00:05",
			}}},
		Node: &measure.NodeFacts{CPUs: []int{0, 1}, OnlineCPUs: 2, ScalingGovernors: []string{"powersave"}, Ports: []measure.PortDriver{{Interface: "west", Driver: "veth"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.decode(&corev1.ConfigMap{Data: map[string]string{measure.KeyGenerator: string(text)}}, &kept{}, trialstore.NoChunks)
	if s.recordsErr != nil {
		t.Fatal(s.recordsErr)
	}
	after := summarize(s, decide(s))
	if g := after.Generator; g == nil || g.CPUs != 2 || g.IsolatedCPUs != 0 || len(g.ScalingGovernors) != 1 || g.Scheduling != "RealTime" ||
		g.Hop != string(measure.HopInline) || !strings.Contains(g.HopReason, "frames pass over a bridge") || g.RingFrames != 256 || g.FrameCostNanoseconds != 68 ||
		len(g.Interfaces) != 1 || g.Interfaces[0].Driver != "veth" || len(g.Ports) != 1 || !reflect.DeepEqual(g.Ports[0], v1alpha1.GeneratorPort{
		Name: "west0", RefusedFrames: "Unproven", InterruptMicroseconds: new(int64(3)), AdaptiveInterrupts: true,
		NextHop: "198.18.0.2", NextHopMACAddress: "02:00:00:00:00:05"}) {
		t.Errorf("the generator's report is %+v", g)
	}
	for _, code := range []string{v1alpha1.WarningNoCPUIsolation, v1alpha1.WarningSharedCores, v1alpha1.WarningRealTimeScheduling, v1alpha1.WarningInterruptModeration} {
		if !slices.ContainsFunc(after.Warnings, func(w v1alpha1.Warning) bool { return w.Code == code }) {
			t.Errorf("no %s in %+v", code, after.Warnings)
		}
	}
}
