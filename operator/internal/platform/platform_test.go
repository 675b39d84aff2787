package platform

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
)

// fingerprint is that of a node with a kernel.
func fingerprint(kernel string) *v1alpha1.Fingerprint {
	return &v1alpha1.Fingerprint{
		Digest: "sha256:" + strings.Repeat(kernel[:1], 64), Kernel: kernel, CPUModel: "EPYC 9354", ScalingGovernors: []string{"performance"},
		KernelParameters: []string{"isolcpus=2-7"},
	}
}

// onOneNode is a run whose generator and chain share a node.
func onOneNode() Run {
	return Run{
		Plan:            &v1alpha1.PlanSummary{DeviceNode: "a", GeneratorNode: "a"},
		Device:          &v1alpha1.DeviceReport{Fingerprint: fingerprint("6.1.0")},
		Generator:       &v1alpha1.GeneratorReport{ImageID: "registry/measurer@sha256:" + strings.Repeat("1", 64), MeasurerVersion: "1.0", Fingerprint: fingerprint("6.1.0")},
		OperatorVersion: "1.0",
	}
}

func TestDifferences(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Run)
		except []string
		want   []string
	}{
		"the same": {func(*Run) {}, nil, nil},
		"an image of another registry": {func(r *Run) {
			r.Generator.ImageID = strings.Replace(r.Generator.ImageID, "registry", "mirror", 1)
		}, nil, nil},
		"another kernel of the one node": {func(r *Run) {
			r.Device.Fingerprint, r.Generator.Fingerprint = fingerprint("7.0"), fingerprint("7.0")
		}, nil, []string{"kernel 6.1.0 -> 7.0", "device sha256:666666666666 -> sha256:777777777777"}},
		"another node of the same model": {func(r *Run) { r.Plan.DeviceNode, r.Plan.GeneratorNode = "b", "b" }, nil, []string{"deviceNode a -> b"}},
		"a second node":                  {func(r *Run) { r.Plan.GeneratorNode = "b" }, nil, []string{"generatorNode a -> b"}},
		"governor and processor": {func(r *Run) {
			f := fingerprint("6.1.0")
			f.Digest, f.CPUModel, f.ScalingGovernors = "sha256:other", "EPYC 9654", []string{"powersave"}
			r.Device.Fingerprint, r.Generator.Fingerprint = f, f
		}, nil, []string{"cpuModel EPYC 9354 -> EPYC 9654", "governors performance -> powersave", "device sha256:666666666666 -> sha256:other"}},
		"something that only the digest has": {func(r *Run) {
			f := fingerprint("6.1.0")
			f.Digest = "sha256:" + strings.Repeat("f", 64)
			r.Device.Fingerprint = f
		}, nil, []string{"device sha256:666666666666 -> sha256:ffffffffffff"}},
		"the end of a long value": {func(r *Run) {
			r.Device.Fingerprint.KernelParameters = []string{"isolcpus=2-7", strings.Repeat("x", 150)}
			r.Device.Fingerprint.Digest = "sha256:other"
		}, nil, []string{"kernelParameters isolcpus=2-7 -> isolcpus=2-7 " + strings.Repeat("x", 44) + "...", "device sha256:666666666666 -> sha256:other"}},
		"another release": {func(r *Run) {
			r.Generator.ImageID, r.Generator.MeasurerVersion, r.OperatorVersion = "measurer@sha256:"+strings.Repeat("2", 64), "1.1", "1.1"
		}, nil, []string{"generatorImage sha256:111111111111 -> sha256:222222222222", "measurer 1.0 -> 1.1"}},
		"another release that another part names": {func(r *Run) {
			r.Generator.ImageID, r.Generator.MeasurerVersion, r.OperatorVersion = "measurer@sha256:2", "1.1", "1.1"
		}, []string{GeneratorImage, Measurer}, nil},
		"another operator": {func(r *Run) { r.OperatorVersion = "1.1" }, nil, []string{"operator 1.0 -> 1.1"}},
		"nothing is known": {func(r *Run) { *r = Run{} }, nil, nil},
	} {
		now := onOneNode()
		test.change(&now)
		if diff := cmp.Diff(test.want, Differences(Parts(onOneNode()), Parts(now), test.except...)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Two nodes have their own facts, and what is said of the chain's node is not said again.
func TestDifferencesOfTwoNodes(t *testing.T) {
	run := func(device, generator string) []v1alpha1.PlatformPart {
		out := onOneNode()
		out.Device.Fingerprint, out.Generator.Fingerprint = fingerprint(device), fingerprint(generator)
		out.Generator.Fingerprint.Digest = "sha256:generator" + generator
		return Parts(out)
	}
	for _, test := range []struct {
		now  []v1alpha1.PlatformPart
		want []string
	}{
		{run("6.1.0", "7.0"), []string{"generatorKernel 6.1.0 -> 7.0", "generator sha256:generator6.1 -> sha256:generator7.0"}},
		{run("7.0", "7.0"), []string{"kernel 6.1.0 -> 7.0", "device sha256:666666666666 -> sha256:777777777777", "generator sha256:generator6.1 -> sha256:generator7.0"}},
		{run("7.0", "8.0"), []string{"kernel 6.1.0 -> 7.0", "generatorKernel 6.1.0 -> 8.0", "device sha256:666666666666 -> sha256:777777777777", "generator sha256:generator6.1 -> sha256:generator8.0"}},
	} {
		if diff := cmp.Diff(test.want, Differences(run("6.1.0", "6.1.0"), test.now)); diff != "" {
			t.Error(diff)
		}
	}
}

// A digest is the same for the same platform, whatever its nodes are called, and for points of earlier releases.
func TestDigest(t *testing.T) {
	run := onOneNode()
	of := func(change func(*Run)) string {
		r := onOneNode()
		change(&r)
		return Digest(Parts(r))
	}
	same := Digest(Parts(run))
	if want := "sha256:a557b278065df9ea"; same != want {
		t.Errorf("got %s, want %s", same, want)
	}
	if got := of(func(r *Run) { r.Plan.DeviceNode, r.OperatorVersion = "z", "2" }); got != same {
		t.Errorf("a name is another platform: %s", got)
	}
	if got := of(func(r *Run) { r.Device.Fingerprint.Digest = "sha256:x" }); got == same {
		t.Error("another node is the same platform")
	}
	if got := of(func(r *Run) { r.Generator.MeasurerVersion, r.MeasurerVersion = "", "1.0" }); got != same {
		t.Errorf("a version that the document has: %s", got)
	}
	if got := of(func(r *Run) { r.Device, r.Generator.Fingerprint = nil, nil }); got != "" {
		t.Errorf("nodes that were not observed have %s", got)
	}
}
