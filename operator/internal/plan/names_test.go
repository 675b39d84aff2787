package plan_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

func TestNames(t *testing.T) {
	longest := strings.Repeat("a", 20)
	for name, run := range map[string]string{
		"short":               "r",
		"longest":             strings.Repeat("x", 253),
		"with dots":           "a.b.c",
		"cut at a dot":        strings.Repeat("x", 29) + "." + strings.Repeat("y", 200),
		"cut between dashes":  strings.Repeat("x", 28) + "---" + strings.Repeat("y", 200),
		"begins with a digit": "1.2",
	} {
		t.Run(name, func(t *testing.T) {
			in := plantest.Input(1)
			in.Run.Name = run
			in.Run.Spec.Experiment.Chain[0].Name = longest
			p := mustMake(t, in)
			names := plan.NamesOf(in.Run)
			if names != p.Names() {
				t.Errorf("the run's names %+v differ from the plan's %+v", names, p.Names())
			}
			all := []string{names.Function(longest)}
			for i := range reflect.TypeFor[plan.Names]().NumField() {
				all = append(all, reflect.ValueOf(names).Field(i).String())
			}
			for _, segment := range append(p.Segments, *p.Calibration) {
				all = append(all, segment.West.Network, segment.East.Network)
			}
			for _, name := range all {
				if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
					t.Errorf("%q: %v", name, problems)
				}
			}
		})
	}
}

func TestNamesDistinguishRuns(t *testing.T) {
	one, other := plantest.Run(1), plantest.Run(1)
	other.UID = "another"
	if plan.NamesOf(one).Base == plan.NamesOf(other).Base {
		t.Error("two runs of one name have the same names")
	}
	if plan.NamesOf(one) != plan.NamesOf(plantest.Run(3)) {
		t.Error("the names depend on more than the run's name and UID")
	}
}

var bridgePattern = regexp.MustCompile(`^vb[0-9a-f]{8}-([0-8c]|n[0-7])$`)

func TestBridges(t *testing.T) {
	in := plantest.Input(8)
	listed := map[string]bool{}
	for _, name := range plan.BridgeNames(in.Testbed) {
		if len(name) > 15 || !bridgePattern.MatchString(name) {
			t.Errorf("%q is not a name for a bridge", name)
		}
		listed[name] = true
	}
	if len(listed) != 18 {
		t.Errorf("%d names, want those of 9 segments, the calibration and 8 neighbors", len(listed))
	}
	for i := range 8 {
		in.Run.Spec.Experiment.NoisyNeighbors = append(in.Run.Spec.Experiment.NoisyNeighbors, v1alpha1.NoisyNeighbor{Name: fmt.Sprint("n", i), Kind: v1alpha1.NeighborNetwork, FramesPerSecond: new(int64(1))})
	}
	in.Nodes[0].Status.Allocatable["memory"], in.Nodes[0].Status.Allocatable["cpu"] = resource.MustParse("8Gi"), resource.MustParse("8")
	p := mustMake(t, in)
	segments := append(p.Segments, *p.Calibration)
	for _, neighbor := range p.Neighbors {
		segments = append(segments, *neighbor.Network)
	}
	for _, segment := range segments {
		if !listed[segment.Bridge] {
			t.Errorf("bridge %q would not be cleaned up", segment.Bridge)
		}
		delete(listed, segment.Bridge)
	}
	if len(listed) != 0 {
		t.Errorf("%v are used by no segment of the longest chain", listed)
	}
}

func TestBridgesBelongToTheTestbed(t *testing.T) {
	one, other := plantest.Input(2), plantest.Input(2)
	other.Run.Name, other.Run.UID = "another", "another"
	if a, b := mustMake(t, one).Segments[1].Bridge, mustMake(t, other).Segments[1].Bridge; a != b {
		t.Errorf("two runs use %q and %q, want the same bridge", a, b)
	}
	other.Testbed.UID = "another"
	if a, b := mustMake(t, one).Segments[1].Bridge, mustMake(t, other).Segments[1].Bridge; a == b {
		t.Errorf("two testbeds use the same bridge %q", a)
	}
}

func TestCleanupName(t *testing.T) {
	testbed := plantest.Testbed()
	testbed.UID = types.UID(strings.Repeat("u", 64))
	name := plan.CleanupName(testbed, strings.Repeat("node.", 50)+"n")
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		t.Errorf("%q: %v", name, problems)
	}
	if name == plan.CleanupName(testbed, "other") {
		t.Error("two nodes have the same clean-up")
	}
}
