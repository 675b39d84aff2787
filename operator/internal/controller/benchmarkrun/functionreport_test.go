package benchmarkrun

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/vnf"
)

// vmScope returns a calibrated run whose two functions are virtual machines, as
// KubeVirt reports them when all is well.
func vmScope(changes ...vmChange) *scope {
	s := newScope(launched, withRecords(calibrated))
	s.plan.Functions = nil
	for i := range s.run.Spec.Experiment.Chain {
		f := &s.run.Spec.Experiment.Chain[i]
		f.Runtime = v1alpha1.RuntimeVirtualMachine
		s.plan.Functions = append(s.plan.Functions, plan.Function{
			Name: f.Name, Runtime: f.Runtime, Image: "guest:1", WestAttachment: v1alpha1.AttachmentVirtio, EastAttachment: v1alpha1.AttachmentE1000,
			VM:     &plan.VM{VCPUs: 2, MemoryBytes: 512 << 20, Queues: 2, OnDifference: v1alpha1.OnDifferenceWarn},
			Config: vnf.Config{Ports: []vnf.Port{{Name: "west", MAC: "02:00:00:00:0a:05"}, {Name: "east", MAC: "02:00:00:00:0a:06"}}},
		})
		m := testVM(s.names.Function(f.Name), serves, reportedWell)
		m.UID = types.UID("uid-of-" + m.Name)
		s.vms = append(s.vms, *m)
	}
	for _, change := range changes {
		change(&s.vms[0])
	}
	return s
}

func reportedWell(m *kubevirtv1.VirtualMachineInstance) {
	m.Spec.Domain.CPU = &kubevirtv1.CPU{Model: "host-model"}
	m.Spec.Domain.Devices.Interfaces = []kubevirtv1.Interface{{Name: "default", Model: "virtio"}, {Name: "west", Model: "virtio"}, {Name: "east", Model: "e1000"}}
	m.Status.NodeName = "b"
	m.Status.Machine = &kubevirtv1.Machine{Type: "pc-q35-9.2"}
	m.Status.LauncherContainerImageVersion = "launcher:1"
	m.Status.CurrentCPUTopology = &kubevirtv1.CPUTopology{Sockets: 1, Cores: 2, Threads: 1}
	m.Status.Memory = &kubevirtv1.MemoryStatus{GuestCurrent: new(resource.MustParse("512Mi"))}
	m.Status.Interfaces[1].QueueCount = 2
}

func TestReportsOfVMs(t *testing.T) {
	s := vmScope()
	launcher := pod("virt-launcher", ready)
	launcher.OwnerReferences = []metav1.OwnerReference{{UID: s.vms[0].UID, Controller: new(true)}}
	launcher.Spec.Containers = []corev1.Container{{Name: "compute", Image: "launcher:1"}, {Name: "kernel", Image: "guest:1"}}
	launcher.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "kernel", ImageID: "sha256:7"}, {Name: "compute", ImageID: "sha256:8"}}
	s.chainPods = []corev1.Pod{launcher}
	want := v1alpha1.FunctionReport{
		Name: "one", Attachments: []v1alpha1.Attachment{v1alpha1.AttachmentVirtio, v1alpha1.AttachmentE1000}, Runtime: v1alpha1.RuntimeVirtualMachine, Node: "b", ImageID: "sha256:7",
		VirtualMachine: &v1alpha1.VirtualMachineReport{
			MachineType: "pc-q35-9.2", CPUModel: "host-model", VCPUs: 2, MemoryBytes: 512 << 20, LauncherImage: "launcher:1",
			Ports: []v1alpha1.VirtualPortReport{
				{Name: "west", Model: "virtio", MAC: "02:00:00:00:0a:05", Queues: 2}, {Name: "east", Model: "e1000", MAC: "02:00:00:00:0a:06", Queues: 1},
			},
		},
	}
	reports := s.reports()
	if len(reports) != 2 {
		t.Fatalf("%d reports", len(reports))
	}
	if diff := cmp.Diff(want, reports[0]); diff != "" {
		t.Error(diff)
	}
	if warnings := vmWarnings(s.plan, reports); warnings != nil {
		t.Errorf("a VM as it was asked for has warnings: %+v", warnings)
	}
	// A VM that is gone keeps its report.
	s.run.Status.Chain, s.vms = reports, nil
	if diff := cmp.Diff(reports, s.reports()); diff != "" {
		t.Errorf("without the VMs:\n%s", diff)
	}
}

func TestDifferences(t *testing.T) {
	tests := map[string]struct {
		change vmChange
		want   string
	}{
		"vCPUs": {func(m *kubevirtv1.VirtualMachineInstance) { m.Status.CurrentCPUTopology.Cores = 4 }, `KubeVirt runs function "one" with vCPUs 4 instead of 2`},
		"memory": {func(m *kubevirtv1.VirtualMachineInstance) {
			m.Status.Memory.GuestCurrent = new(resource.MustParse("1Gi"))
		},
			`KubeVirt runs function "one" with memory in bytes 1073741824 instead of 536870912`},
		"queues": {func(m *kubevirtv1.VirtualMachineInstance) { m.Status.Interfaces[1].QueueCount = 1 }, `KubeVirt runs function "one" with queues of port west 1 instead of 2`},
		"MAC":    {func(m *kubevirtv1.VirtualMachineInstance) { m.Status.Interfaces[2].MAC = "02:00:00:00:00:99" }, `KubeVirt runs function "one" with MAC address of port east 02:00:00:00:00:99 instead of 02:00:00:00:0a:06`},
		"MAC in capitals": {func(m *kubevirtv1.VirtualMachineInstance) {
			m.Status.Interfaces[1].MAC = strings.ToUpper(m.Status.Interfaces[1].MAC)
		}, ""},
		"model": {func(m *kubevirtv1.VirtualMachineInstance) { m.Spec.Domain.Devices.Interfaces[2].Model = "e1000e" }, `KubeVirt runs function "one" with model of port east e1000e instead of e1000`},
		"node":  {func(m *kubevirtv1.VirtualMachineInstance) { m.Status.NodeName = "c" }, `KubeVirt runs function "one" with node c instead of b`},
		"nothing reported": {func(m *kubevirtv1.VirtualMachineInstance) {
			m.Status.CurrentCPUTopology, m.Status.Memory, m.Status.Interfaces[1].QueueCount = nil, nil, 0
		}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := vmScope(test.change)
			got := ""
			if warnings := vmWarnings(s.plan, s.reports()); len(warnings) > 0 {
				got = warnings[0].Message
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			// With a warning the chain opens; with Fail the run ends.
			if d := decide(s); d.action != actOpenChain {
				t.Errorf("with Warn the action is %s", d.action)
			}
			s.plan.Functions[0].VM.OnDifference = v1alpha1.OnDifferenceFail
			d := decide(s)
			if failed := d.action == actFinish && d.outcome.reason == v1alpha1.ReasonVirtualMachineMismatch; failed != (test.want != "") {
				t.Errorf("with Fail the action is %s, %+v", d.action, d.outcome)
			}
		})
	}
}

func TestDecideVMs(t *testing.T) {
	if d := decide(vmScope(phase(kubevirtv1.Failed))); d.action != actFinish || d.outcome.reason != v1alpha1.ReasonVirtualMachineNotStarted {
		t.Errorf("a VM that failed in its boot: %s %+v", d.action, d.outcome)
	}
	s := vmScope()
	s.vms = s.vms[:1]
	if d := decide(s); d.action != actLaunchChain {
		t.Errorf("a VM is missing: %s", d.action)
	}
	withRecords(open)(s)
	if d := decide(s); d.action != actFinish || d.outcome.reason != v1alpha1.ReasonChainFailed {
		t.Errorf("a VM went away in the middle: %s %+v", d.action, d.outcome)
	}
	s = vmScope(phase(kubevirtv1.Failed))
	withRecords(open)(s)
	s.console = map[string]string{s.names.Function("one"): "Kernel panic"}
	if d := decide(s); d.outcome == nil || d.outcome.message != `function "one": its virtual machine ended: phase Failed, and its pod is gone; its console ends: Kernel panic` {
		t.Errorf("a VM died in the middle: %+v", d.outcome)
	}
	// The remains of a run that has ended are stopped before the testbed is released.
	s = vmScope()
	finished(metav1.ConditionFalse, v1alpha1.ReasonChainFailed)(s)
	s.job = nil
	if d := decide(s); d.action != actStopPods {
		t.Errorf("VMs remain: %s", d.action)
	}
}

func gatewayConfig(implementation string) vnf.Config {
	return vnf.Config{Function: vnf.FunctionEncryptionGateway, Settings: vnf.Settings{Gateway: &vnf.Gateway{Implementation: implementation}}}
}

// TestReportsOfFirewallsAndGateways checks that what a function reports about itself is in its report, even after it is gone.
func TestReportsOfFirewallsAndGateways(t *testing.T) {
	s := newScope(launched, withRecords(open), functions(ready, ready))
	s.plan.Functions = []plan.Function{
		{Name: "one", Runtime: v1alpha1.RuntimePod, Config: gatewayConfig(vnf.ImplementationAuto)},
		{Name: "two", Runtime: v1alpha1.RuntimePod, Config: gatewayConfig(vnf.ImplementationUserspace)},
	}
	if reports := s.reports(); len(reports) != 2 || reports[0].EncryptionGateway != nil || functionWarnings(s.plan, reports) != nil {
		t.Errorf("before any function was asked: %+v", reports)
	}
	gateway := &vnf.EncryptionGatewayState{Protocol: "WireGuard", Implementation: "Userspace", Threads: 2, TunnelMTUBytes: 1500}
	s.records.device = &measure.DeviceState{Functions: []measure.FunctionState{
		{Name: "one", State: vnf.State{EncryptionGateway: gateway}},
		{Name: "two", State: vnf.State{EncryptionGateway: gateway, Firewall: &vnf.FirewallState{Implementation: "nf_tables", Rules: 2, Elements: 1000, LoadMilliseconds: 40}}},
	}}
	status := summarize(s, decide(s))
	want := &v1alpha1.EncryptionGatewayReport{Protocol: "WireGuard", Implementation: "Userspace", Threads: 2, TunnelMTUBytes: 1500}
	if diff := cmp.Diff(want, status.Chain[0].EncryptionGateway); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&v1alpha1.FirewallReport{Implementation: "nf_tables", Rules: 2, Elements: 1000, LoadMilliseconds: 40}, status.Chain[1].Firewall); diff != "" {
		t.Error(diff)
	}
	// The second was asked to run in user space: that is not a surprise.
	named := slices.IndexFunc(status.Warnings, func(w v1alpha1.Warning) bool { return w.Code == v1alpha1.WarningUserspaceEncryption })
	if named < 0 || !strings.Contains(status.Warnings[named].Message, `under "one" has no WireGuard`) || strings.Contains(status.Warnings[named].Message, "two") {
		t.Errorf("warnings %+v", status.Warnings)
	}
	s.run.Status.Chain, s.chainPods = status.Chain, nil
	if diff := cmp.Diff(status.Chain, s.reports()); diff != "" {
		t.Errorf("without the pods:\n%s", diff)
	}
	gateway.Implementation = "Kernel"
	if warnings := functionWarnings(s.plan, s.reports()); warnings != nil {
		t.Errorf("the kernel encrypts: %+v", warnings)
	}
}
