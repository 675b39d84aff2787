package preview_test

import (
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/preview"
	"vnfbench.io/operator/internal/testing/plantest"
)

func planned(t *testing.T, in plan.Input) *plan.Plan {
	t.Helper()
	p, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestOf checks that a preview has every pod and port of a plan.
func TestOf(t *testing.T) {
	p := planned(t, plantest.Input(2))
	got := preview.Of(p)
	if got.Run != "benchmarks/routers" || got.Testbed != "lab" || got.GeneratorNode != "node-a" || got.DeviceNode != "node-a" || got.Driver != "XDP" || got.Digest != p.Digest || got.EstimatedSeconds < 1 || len(got.Sizes) != 3 {
		t.Errorf("%+v", got)
	}
	roles := map[string]int{}
	for _, pod := range got.Pods {
		roles[pod.Role]++
		if pod.Name == "" || pod.Image == "" || pod.Node != "node-a" || pod.RequestMilliCPU == 0 || pod.MemoryBytes == 0 || pod.Runtime != "Pod" {
			t.Errorf("%+v", pod)
		}
	}
	if roles["Generator"] != 1 || roles["Function"] != 2 || roles["Observer"] != 1 {
		t.Errorf("the pods are %v", roles)
	}
	macs := map[string]bool{}
	for _, port := range got.Ports {
		macs[port.MAC] = true
		if !strings.HasPrefix(port.Through, "bridge ") || (port.Of == "generator") != (len(port.Addresses) == 0) {
			t.Errorf("%+v", port)
		}
	}
	// Three segments and the calibration, with two ends each.
	if len(got.Ports) != 8 || len(macs) != 8 || got.Ports[0].Of != "generator" || got.Ports[1].Of != p.Functions[0].Name {
		t.Errorf("the ports are %+v", got.Ports)
	}
	if len(got.Streams) != 2 || got.Streams[0].Source == got.Streams[1].Source {
		t.Errorf("the streams are %+v", got.Streams)
	}
}

// TestAssume checks that a run can be planned where its testbed names what no cluster was asked for.
func TestAssume(t *testing.T) {
	sriov := func(tb *v1alpha1.Testbed) {
		tb.Spec.Ports.West = v1alpha1.TestbedPort{Attachment: v1alpha1.PortSRIOV, SRIOV: &v1alpha1.SRIOVPort{ResourceName: "openshift.io/west"}}
		tb.Spec.Ports.East = v1alpha1.TestbedPort{Attachment: v1alpha1.PortSRIOV, SRIOV: &v1alpha1.SRIOVPort{ResourceName: "openshift.io/east"}}
		tb.Spec.SystemUnderTest.Attachments = []v1alpha1.Attachment{v1alpha1.AttachmentSRIOV}
	}
	for name, test := range map[string]struct {
		change func(*v1alpha1.BenchmarkRun, *v1alpha1.Testbed)
		// reason of the failure; empty for none.
		reason string
	}{
		"bridges": {func(*v1alpha1.BenchmarkRun, *v1alpha1.Testbed) {}, ""},
		"one node": {func(_ *v1alpha1.BenchmarkRun, tb *v1alpha1.Testbed) {
			tb.Spec.Generator.NodeSelector = map[string]string{"kubernetes.io/hostname": "a"}
		}, ""},
		"bridge between two nodes": {func(_ *v1alpha1.BenchmarkRun, tb *v1alpha1.Testbed) {
			tb.Spec.Generator.NodeSelector, tb.Spec.SystemUnderTest.NodeSelector = map[string]string{"role": "generator"}, map[string]string{"role": "device"}
		}, v1alpha1.ReasonNoMatchingNode},
		"virtual functions on two nodes": {func(r *v1alpha1.BenchmarkRun, tb *v1alpha1.Testbed) {
			sriov(tb)
			tb.Spec.Generator.NodeSelector, tb.Spec.SystemUnderTest.NodeSelector = map[string]string{"role": "generator"}, map[string]string{"role": "device"}
			r.Spec.Experiment.Chain[0].West.Attachment, r.Spec.Experiment.Chain[0].East.Attachment = v1alpha1.AttachmentSRIOV, v1alpha1.AttachmentSRIOV
		}, ""},
		"virtual functions, and a port that is none": {func(_ *v1alpha1.BenchmarkRun, tb *v1alpha1.Testbed) { sriov(tb) }, v1alpha1.ReasonAttachmentNotOffered},
		"existing networks": {func(_ *v1alpha1.BenchmarkRun, tb *v1alpha1.Testbed) {
			for _, port := range []*v1alpha1.TestbedPort{&tb.Spec.Ports.West, &tb.Spec.Ports.East} {
				*port = v1alpha1.TestbedPort{Attachment: v1alpha1.PortNetworkAttachmentDefinition, NetworkAttachmentDefinition: &v1alpha1.ExistingNetwork{
					GeneratorRef: v1alpha1.NetworkReference{Name: "generator", Namespace: "lab"}, DeviceRef: &v1alpha1.NetworkReference{Name: "device"}}}
			}
		}, ""},
	} {
		run, testbed := plantest.Run(1), plantest.Testbed()
		test.change(run, testbed)
		_, err := plan.Make(preview.Assume(run, testbed))
		if (err == nil) != (test.reason == "") || err != nil && !strings.HasPrefix(err.Error(), test.reason) {
			t.Errorf("%s: %v, want %q", name, err, test.reason)
		}
	}
}
