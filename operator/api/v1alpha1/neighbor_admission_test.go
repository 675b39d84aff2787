package v1alpha1_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func withNeighbors(t *testing.T, neighbors, comparison string) *unstructured.Unstructured {
	t.Helper()
	fields := map[string]string{"spec.experiment.noisyNeighbors": neighbors}
	if comparison != "" {
		fields["spec.experiment.measurements"] = "{throughput: {}, noisyNeighbors: " + comparison + "}"
	}
	return object(t, goodRun, fields)
}

func TestNeighborsAreAdmitted(t *testing.T) {
	for name, test := range map[string]struct{ neighbors, comparison string }{
		"cpu":      {"[{name: a, kind: CPU, workers: 2, loadPercent: 80, cpu: 500m}]", ""},
		"memory":   {"[{name: a, kind: Memory, memory: 1Gi}]", "With"},
		"disk":     {"[{name: a, kind: Disk, disk: 4Mi, runtime: Pod}]", "WithAndWithout"},
		"frames":   {"[{name: a, kind: Network, framesPerSecond: 1000, frameBytes: 64, directions: Forward, attachment: Veth}]", ""},
		"bits":     {"[{name: a, kind: Network, bitsPerSecond: 100000000}]", ""},
		"machines": {"[{name: a, kind: CPU, workers: 2, cpu: 500m, runtime: VirtualMachine}, {name: b, kind: Network, framesPerSecond: 1, runtime: VirtualMachine}, {name: c, kind: Network, framesPerSecond: 1, runtime: VirtualMachine, attachment: E1000}]", ""},
		"several":  {"[{name: a, kind: CPU}, {name: b, kind: CPU}, {name: c, kind: Memory}]", "WithAndWithout"},
	} {
		if err := create(withNeighbors(t, test.neighbors, test.comparison)); err != nil {
			t.Errorf("%s: %s", name, clip(err.Error()))
		}
	}
}

func TestBadNeighborsAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		neighbors, comparison string
		want                  []string
	}{
		"an unknown runtime":      {"[{name: a, kind: CPU, runtime: Process}]", "", []string{"spec.experiment.noisyNeighbors[0].runtime", "Unsupported value"}},
		"another attachment":      {"[{name: a, kind: Network, framesPerSecond: 1, attachment: SRIOV}]", "", []string{"spec.experiment.noisyNeighbors[a].attachment", "Veth with runtime Pod"}},
		"a card of a pod":         {"[{name: a, kind: Network, framesPerSecond: 1, attachment: Virtio}]", "", []string{"spec.experiment.noisyNeighbors[a].attachment", "Veth with runtime Pod"}},
		"large frames of rtl8139": {"[{name: a, kind: Network, framesPerSecond: 1, attachment: RTL8139, frameBytes: 1519, runtime: VirtualMachine}]", "", []string{"spec.experiment.noisyNeighbors[0].frameBytes", "at most 1518 bytes"}},
		"no weight at all":        {"[{name: a, kind: CPU, cpu: 0}]", "", []string{"spec.experiment.noisyNeighbors[0].cpu", "1m to 1024"}},
		"a veth of a machine":     {"[{name: a, kind: Network, framesPerSecond: 1, attachment: Veth, runtime: VirtualMachine}]", "", []string{"spec.experiment.noisyNeighbors[a].attachment", "leave it out"}},
		"no kind":                 {"[{name: a}]", "", []string{"spec.experiment.noisyNeighbors[0].kind", "Required"}},
		"unknown kind":            {"[{name: a, kind: GPU}]", "", []string{"spec.experiment.noisyNeighbors[0].kind", "Unsupported value"}},
		"a name twice":            {"[{name: a, kind: CPU}, {name: a, kind: Disk}]", "", []string{"spec.experiment.noisyNeighbors[1]", "Duplicate value"}},
		"nine":                    {"[{name: a, kind: CPU}, {name: b, kind: CPU}, {name: c, kind: CPU}, {name: d, kind: CPU}, {name: e, kind: CPU}, {name: f, kind: CPU}, {name: g, kind: CPU}, {name: h, kind: CPU}, {name: i, kind: CPU}]", "", []string{"spec.experiment.noisyNeighbors", "at most 8 items"}},
		"percent of memory":       {"[{name: a, kind: Memory, loadPercent: 50}]", "", []string{"spec.experiment.noisyNeighbors[0].loadPercent", "only for kind CPU"}},
		"memory of a CPU":         {"[{name: a, kind: CPU, memory: 1Gi}]", "", []string{"spec.experiment.noisyNeighbors[0].memory", "only for kind Memory"}},
		"disk of a CPU":           {"[{name: a, kind: CPU, disk: 1Gi}]", "", []string{"spec.experiment.noisyNeighbors[0].disk", "only for kind Disk"}},
		"frames of a CPU":         {"[{name: a, kind: CPU, framesPerSecond: 1}]", "", []string{"spec.experiment.noisyNeighbors[0]", "attachment are for Network"}},
		"no frames":               {"[{name: a, kind: Network}]", "", []string{"spec.experiment.noisyNeighbors[0].framesPerSecond", "give either framesPerSecond or bitsPerSecond"}},
		"frames twice":            {"[{name: a, kind: Network, framesPerSecond: 1, bitsPerSecond: 100000}]", "", []string{"spec.experiment.noisyNeighbors[0].framesPerSecond", "give either"}},
		"workers of a network":    {"[{name: a, kind: Network, framesPerSecond: 1, workers: 2}]", "", []string{"spec.experiment.noisyNeighbors[0].workers", "leave workers out"}},
		"too little memory":       {"[{name: a, kind: Memory, memory: 1Mi}]", "", []string{"spec.experiment.noisyNeighbors[0].memory", "4Mi to 16Ti"}},
		"too little disk":         {"[{name: a, kind: Disk, disk: 1Mi}]", "", []string{"spec.experiment.noisyNeighbors[0].disk", "4Mi to 1Ti"}},
		"too many workers":        {"[{name: a, kind: CPU, workers: 257}]", "", []string{"spec.experiment.noisyNeighbors[0].workers", "less than or equal to 256"}},
		"nothing to compare":      {"[]", "WithAndWithout", []string{"spec.experiment.measurements.noisyNeighbors", "add spec.experiment.noisyNeighbors, or leave it out"}},
		"an unknown comparison":   {"[{name: a, kind: CPU}]", "Without", []string{"spec.experiment.measurements.noisyNeighbors", "Unsupported value"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := create(withNeighbors(t, test.neighbors, test.comparison))
			if err == nil {
				t.Fatal("was accepted")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("does not say %q: %s", want, clip(err.Error()))
				}
			}
		})
	}
}

// A figure belongs to the neighbors that it was measured with.
func TestNeighborsAreImmutable(t *testing.T) {
	run := withNeighbors(t, "[{name: a, kind: CPU}]", "")
	run.SetName("neighbors")
	if err := server.Create(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Delete(t.Context(), run) }()
	changed := run.DeepCopy()
	neighbors, _, _ := unstructured.NestedSlice(changed.Object, "spec", "experiment", "noisyNeighbors")
	neighbors[0].(map[string]any)["workers"] = int64(2)
	if err := unstructured.SetNestedSlice(changed.Object, neighbors, "spec", "experiment", "noisyNeighbors"); err != nil {
		t.Fatal(err)
	}
	if err := server.Patch(t.Context(), changed, client.MergeFrom(run)); err == nil || !strings.Contains(err.Error(), "immutable") {
		t.Errorf("got %v", err)
	}
}
