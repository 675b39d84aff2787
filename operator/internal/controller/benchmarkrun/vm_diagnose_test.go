package benchmarkrun

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
)

type vmChange func(*kubevirtv1.VirtualMachineInstance)

// testVM makes a virtual machine, created at the epoch.
func testVM(name string, changes ...vmChange) *kubevirtv1.VirtualMachineInstance {
	m := &kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid-of-machine", CreationTimestamp: metav1.NewTime(epoch), Labels: map[string]string{v1alpha1.LabelDeployment: "1"}}}
	m.Status.Phase = kubevirtv1.Scheduling
	for _, change := range changes {
		change(m)
	}
	return m
}

func phase(p kubevirtv1.VirtualMachineInstancePhase) vmChange {
	return func(m *kubevirtv1.VirtualMachineInstance) { m.Status.Phase = p }
}

func says(kind kubevirtv1.VirtualMachineInstanceConditionType, status corev1.ConditionStatus, reason, message string) vmChange {
	return func(m *kubevirtv1.VirtualMachineInstance) {
		m.Status.Conditions = append(m.Status.Conditions, kubevirtv1.VirtualMachineInstanceCondition{
			Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(epoch)})
	}
}

func nics(m *kubevirtv1.VirtualMachineInstance) {
	m.Status.Interfaces = []kubevirtv1.VirtualMachineInstanceNetworkInterface{
		{Name: "default", MAC: "52:54:00:00:00:01", QueueCount: 1},
		{Name: "west", MAC: "02:00:00:00:0a:05", QueueCount: 1}, {Name: "east", MAC: "02:00:00:00:0a:06", QueueCount: 1},
	}
}

// withPorts requests both ports.
func withPorts(m *kubevirtv1.VirtualMachineInstance) {
	m.Spec.Domain.Devices.Interfaces = []kubevirtv1.Interface{{Name: "west", Model: "virtio"}, {Name: "east", Model: "virtio"}}
}

func serves(m *kubevirtv1.VirtualMachineInstance) {
	phase(kubevirtv1.Running)(m)
	nics(m)
	says(kubevirtv1.VirtualMachineInstanceReady, corev1.ConditionTrue, "", "")(m)
}

// initialized makes it a launcher whose init containers have ended in order.
func initialized(p *corev1.Pod) {
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "container-disk-binary",
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}}}
}

func computeEnded(code int32, reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "compute",
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}}}
	}
}

// vmOf returns a workload of a component that is a virtual machine.
func vmOf(component string) *chain.Workload {
	s := newScope(launched, neighborVM())
	s.plan.Functions[0].VM = &plan.VM{}
	for _, w := range s.workloads() {
		if w.Component == component {
			return &w
		}
	}
	return nil
}

func TestDiagnoseVMStart(t *testing.T) {
	const bound = 5 * time.Minute
	end := epoch.Add(bound)
	launcher := func(changes ...func(*corev1.Pod)) *corev1.Pod {
		return ptr.To(pod("l", append([]func(*corev1.Pod){initialized}, changes...)...))
	}
	synchronized := func(reason, message string) vmChange {
		return says(kubevirtv1.VirtualMachineInstanceSynchronized, corev1.ConditionFalse, reason, message)
	}
	tests := map[string]struct {
		vm       *kubevirtv1.VirtualMachineInstance
		launcher *corev1.Pod
		reason   string
		message  string
		at       time.Time
	}{
		"ready": {testVM("m", serves), launcher(ready), "", "", time.Time{}},
		"ready, NICs not reported": {testVM("m", withPorts, says(kubevirtv1.VirtualMachineInstanceReady, corev1.ConditionTrue, "", "")), launcher(ready),
			v1alpha1.ReasonVirtualMachineNotStarted, `virtual machine "m" is ready, but KubeVirt has not reported its NICs yet`, end},
		// It ends because the run was suspended, and the run was resumed before that.
		"being deleted": {testVM("m", phase(kubevirtv1.Succeeded), func(m *kubevirtv1.VirtualMachineInstance) {
			m.DeletionTimestamp = ptr.To(metav1.NewTime(epoch.Add(time.Hour)))
		}), nil,
			v1alpha1.ReasonPodStuck, `the previous virtual machine "m" is still being deleted`, end.Add(time.Hour)},
		"no pod": {testVM("m"), nil, v1alpha1.ReasonVirtualMachineNotStarted,
			`virtual machine "m" has no pod yet: KubeVirt's virt-controller has not said why; look at its pods`, end},
		"pod refused": {testVM("m", synchronized("FailedCreate", "exceeded quota")), nil, v1alpha1.ReasonVirtualMachineNotStarted,
			`virtual machine "m" has no pod yet: FailedCreate: exceeded quota`, end},
		"no KVM": {testVM("m"), launcher(unscheduled("0/1 nodes are available: 1 Insufficient devices.kubevirt.io/kvm.")), v1alpha1.ReasonUnschedulable,
			`pod "l" cannot be scheduled: 0/1 nodes are available: 1 Insufficient devices.kubevirt.io/kvm.; the node offers no /dev/kvm: switch on hardware virtualization, or let KubeVirt emulate it (useEmulation) where figures do not matter`, end},
		"no hugepages": {testVM("m"), launcher(unscheduled("0/1 nodes are available: 1 Insufficient hugepages-2Mi.")), v1alpha1.ReasonUnschedulable,
			`pod "l" cannot be scheduled: 0/1 nodes are available: 1 Insufficient hugepages-2Mi.; set aside more hugepages on the node, or leave out platform.hugepages`, end},
		"no CPU manager": {testVM("m"), launcher(unscheduled("0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.")), v1alpha1.ReasonUnschedulable,
			`pod "l" cannot be scheduled: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.; the node lacks a label that KubeVirt asks for, such as kubevirt.io/schedulable=true or, with dedicated CPUs, cpumanager=true`, end},
		"no image": {testVM("m", synchronized("ErrImagePull", "x")), launcher(waiting("ErrImagePull", "x: not found")), v1alpha1.ReasonImageUnavailable,
			`pod "l": image "registry/image:1" cannot be pulled; correct its name, or give the pod a pull secret`, epoch.Add(imagePullTimeout)},
		"pod not made": {testVM("m"), launcher(waiting("CreateContainerConfigError", "no secret")), v1alpha1.ReasonPodStuck,
			`pod "l" does not start: container "c": CreateContainerConfigError: no secret`, end},
		"domain refused": {testVM("m", phase(kubevirtv1.Scheduled), synchronized("Synchronizing with the Domain failed.", "no NIC model")), launcher(running), v1alpha1.ReasonVirtualMachineNotStarted,
			`virtual machine "m" does not start (phase Scheduled): Synchronizing with the Domain failed.: no NIC model`, end},
		"virt-handler silent": {testVM("m", phase(kubevirtv1.Scheduled)), launcher(running), v1alpha1.ReasonVirtualMachineNotStarted,
			`virtual machine "m" does not start (phase Scheduled): its pod runs, and KubeVirt's virt-handler has not said why; look at its pod on the node`, end},
		"never ready": {testVM("m", phase(kubevirtv1.Running), says(kubevirtv1.VirtualMachineInstanceReady, corev1.ConditionFalse, "ContainersNotReady", "containers with unready status: [compute]")), launcher(running),
			v1alpha1.ReasonChainNotReady, `virtual machine "m" runs, and the function in it is not ready: containers with unready status: [compute]`, end},
		"died in its boot": {testVM("m", phase(kubevirtv1.Failed)), launcher(computeEnded(1, "Error")), v1alpha1.ReasonVirtualMachineNotStarted,
			`virtual machine "m" ended before it was ready: phase Failed; container "compute" ended with exit code 1`, time.Time{}},
		"out of memory": {testVM("m", phase(kubevirtv1.Failed)), launcher(computeEnded(137, "OOMKilled")), v1alpha1.ReasonVirtualMachineNotStarted,
			`virtual machine "m" ended before it was ready: phase Failed; container "compute" ended with exit code 137 (OOMKilled); give it more memory`, time.Time{}},
		"shut itself down": {testVM("m", phase(kubevirtv1.Succeeded)), nil, v1alpha1.ReasonVirtualMachineNotStarted,
			`virtual machine "m" ended before it was ready: phase Succeeded, and its pod is gone`, time.Time{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := diagnoseVMStart(test.vm, test.launcher, bound, vmOf(chain.ComponentFunction))
			if test.reason == "" {
				if got != nil {
					t.Fatalf("got %+v for a healthy machine", got)
				}
				return
			}
			if got == nil {
				t.Fatal("no problem")
			}
			if diff := cmp.Diff(*got, problem{test.reason, test.message, test.at}, cmp.AllowUnexported(problem{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDiagnoseVMLost(t *testing.T) {
	tests := map[string]struct {
		vm       *kubevirtv1.VirtualMachineInstance
		launcher *corev1.Pod
		want     string
		at       time.Time
	}{
		"healthy":     {testVM("m", serves), nil, "", time.Time{}},
		"gone":        {nil, nil, `function "f": its virtual machine is gone`, time.Time{}},
		"deleted":     {testVM("m", serves, func(m *kubevirtv1.VirtualMachineInstance) { m.DeletionTimestamp = ptr.To(metav1.NewTime(epoch)) }), nil, `function "f": its virtual machine is being deleted`, time.Time{}},
		"powered off": {testVM("m", serves, phase(kubevirtv1.Succeeded)), nil, `function "f": its virtual machine ended: phase Succeeded, and its pod is gone`, time.Time{}},
		"killed":      {testVM("m", phase(kubevirtv1.Failed)), ptr.To(pod("l", computeEnded(137, "OOMKilled"))), `function "f": its virtual machine ended: phase Failed; container "compute" ended with exit code 137 (OOMKilled); give it more memory`, time.Time{}},
		"evicted":     {testVM("m", phase(kubevirtv1.Failed)), ptr.To(pod("l", evicted)), `function "f": its virtual machine ended: phase Failed; Evicted: The node was low on resource: memory.`, time.Time{}},
		"unready": {testVM("m", phase(kubevirtv1.Running), says(kubevirtv1.VirtualMachineInstanceReady, corev1.ConditionFalse, "GuestNotRunning", "Guest VM is not reported as running")), nil,
			`function "f" is no longer ready: Guest VM is not reported as running`, epoch.Add(causeTimeout)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := diagnoseVMLost(`function "f"`, v1alpha1.ReasonChainFailed, test.vm, test.launcher)
			if test.want == "" {
				if got != nil {
					t.Fatalf("got %+v for a healthy machine", got)
				}
				return
			}
			if got == nil || got.reason != v1alpha1.ReasonChainFailed || got.message != test.want || !got.deadline.Equal(test.at) {
				t.Errorf("got %+v, want %q at %s", got, test.want, test.at)
			}
		})
	}
}

func TestLastLines(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"one\r\ntwo\n\n":         "one | two",
		"\x1b[0;31mred\x1b[0m\n": "red",
		"a\x00b\tc":              "ab c",
		strings.Repeat("x", 200) + "\n" + strings.Repeat("y", 230): strings.Repeat("y", 230),
		strings.Repeat("x", 300):                                   "..." + strings.Repeat("x", consoleLimit-3),
	} {
		if got := lastLines(text); got != want {
			t.Errorf("lastLines(%q) is %q, want %q", text, got, want)
		}
	}
}

// TestConsoleFitsTheMessage checks that however long both are, the console's end is there.
func TestConsoleFitsTheMessage(t *testing.T) {
	long := &problem{reason: "r", message: strings.Repeat("m", maxMessageBytes)}
	got := withConsole(long, lastLines(strings.Repeat("y", 999)+" panic")).message
	if len(got) > maxMessageBytes || !strings.HasSuffix(got, "panic") {
		t.Errorf("%d characters, ending %q", len(got), got[len(got)-20:])
	}
	if withConsole(nil, "x") != nil || withConsole(long, "") != long {
		t.Error("something is added to nothing")
	}
}

// TestBooting checks that a VM that runs has the time that its user gave it, and no
// more.
func TestBooting(t *testing.T) {
	ran := func(m *kubevirtv1.VirtualMachineInstance) {
		serves(m)
		m.Status.PhaseTransitionTimestamps = []kubevirtv1.VirtualMachineInstancePhaseTransitionTimestamp{
			{Phase: kubevirtv1.Scheduling, PhaseTransitionTimestamp: metav1.NewTime(epoch)},
			{Phase: kubevirtv1.Running, PhaseTransitionTimestamp: metav1.NewTime(epoch.Add(20 * time.Second))},
		}
	}
	const boot = 60
	vm := testVM("m", ran)
	for _, now := range []time.Duration{20 * time.Second, 79 * time.Second} {
		got := booting("virtual machine", vm.Name, runningSince(vm), boot, epoch.Add(now))
		if got == nil || got.deadline != epoch.Add(80*time.Second) || got.expired(epoch.Add(now)) || !strings.Contains(got.message, "bootSeconds gives it 1m0s") {
			t.Errorf("after %s: %+v", now, got)
		}
	}
	if got := booting("virtual machine", vm.Name, runningSince(vm), boot, epoch.Add(80*time.Second)); got != nil {
		t.Errorf("when its time is over: %+v", got)
	}
	if got := booting("virtual machine", "m", runningSince(testVM("m", serves)), boot, epoch.Add(59*time.Second)); got == nil {
		t.Error("a VM without a history of phases does not wait")
	}
	if got := booting("virtual machine", vm.Name, runningSince(vm), 0, epoch); got != nil {
		t.Errorf("without bootSeconds: %+v", got)
	}
}

// TestSchedulingRemedy checks that the remedy names the fields of the workload that the VM belongs to.
func TestSchedulingRemedy(t *testing.T) {
	function, neighbor := vmOf(chain.ComponentFunction), vmOf(chain.ComponentNeighbor)
	for _, test := range []struct {
		lacking string
		of      *chain.Workload
		want    string
	}{
		{"cpu", function, "; fewer platform.vcpus, or another node"},
		{"memory", function, "; less platform.memory, or another node"},
		{"cpu", neighbor, "; fewer workers or less cpu in spec.experiment.noisyNeighbors, or another node"},
		{"memory", neighbor, "; less memory in spec.experiment.noisyNeighbors, or another node"},
		{"example.com/other", neighbor, ""},
	} {
		if got := schedulingRemedy("0/1 nodes are available: 1 Insufficient "+test.lacking+".", test.of); got != test.want {
			t.Errorf("%s of a %s: %q, want %q", test.lacking, test.of.Component, got, test.want)
		}
	}
}

// own makes the second function a user's own VM, which has a pod.
func own(s *scope) {
	s.run.Spec.Experiment.Chain[1] = v1alpha1.NetworkFunction{Name: "two", Function: v1alpha1.FunctionCustom, Runtime: v1alpha1.RuntimeVirtualMachine,
		Custom: &v1alpha1.CustomFunction{ContainerDisk: "x"}}
	vm := testVM(s.names.Function("two"), serves)
	s.vms = []kubevirtv1.VirtualMachineInstance{*vm}
	s.chainPods = append(s.chainPods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: launcherPrefix + vm.Name, OwnerReferences: []metav1.OwnerReference{{UID: vm.UID, Controller: new(true)}}}})
}

// consoleText is a console that shows a text.
type consoleText string

func (c consoleText) Tail(context.Context, string, string, string, bool) (string, error) {
	return string(c), nil
}

// TestConsolesAreLeftOut checks that the installation decides whether the verdict has what a guest printed.
func TestConsolesAreLeftOut(t *testing.T) {
	for without, want := range map[bool]string{
		false: `the measurer says why; the console of "two" ends: password: secret`,
		true:  "the measurer says why",
	} {
		s := newScope(launched, withRecords(open), withRecords(gaveUp(v1alpha1.ReasonNoPathThroughChain)), functions(ready, ready), own)
		r := &Reconciler{Console: consoleText("password: secret\n"), Defaults: plan.Defaults{WithoutConsoles: without}}
		if err := r.readConsole(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if got := decide(s); got.outcome == nil || got.outcome.message != want {
			t.Errorf("without consoles: %t: %+v, want %q", without, got.outcome, want)
		}
	}
}

// ownContainer makes the second function a user's own container.
func ownContainer(s *scope) {
	s.run.Spec.Experiment.Chain[1] = v1alpha1.NetworkFunction{Name: "two", Function: v1alpha1.FunctionCustom, Runtime: v1alpha1.RuntimePod,
		Custom: &v1alpha1.CustomFunction{Container: &v1alpha1.CustomContainer{Image: "x"}}}
}

// TestSilentContainer checks that the verdict has the end of the log of a user's own container that forwards nothing, and of one that runs
// and does not become ready.
func TestSilentContainer(t *testing.T) {
	r := &Reconciler{Console: consoleText("no license\n")}
	for name, test := range map[string]struct {
		s    *scope
		want string
	}{
		"forwards nothing": {newScope(launched, withRecords(open), withRecords(gaveUp(v1alpha1.ReasonNoPathThroughChain)), functions(ready, ready), ownContainer),
			`the measurer says why; the console of "two" ends: no license`},
		"is not ready": {newScope(launched, withRecords(calibrated), functions(ready, unready("no answer")), ownContainer, after(time.Hour)),
			"runs and is not ready: no answer; its console ends: no license"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := r.readConsole(t.Context(), test.s); err != nil {
				t.Fatal(err)
			}
			if got := decide(test.s); got.outcome == nil || !strings.Contains(got.outcome.message, test.want) {
				t.Errorf("%+v, want %q", got.outcome, test.want)
			}
		})
	}
}

// TestContainerIsAskedNothing checks that nothing is missed that a user's container could not answer, and that it boots as long as its
// user said.
func TestContainerIsAskedNothing(t *testing.T) {
	s := newScope(launched)
	s.plan.Functions = []plan.Function{{Name: "two", Runtime: v1alpha1.RuntimePod, Container: &plan.Container{}}}
	if diff := cmp.Diff([]measure.FunctionSource{{Name: "two"}}, s.sources().Functions); diff != "" {
		t.Error(diff)
	}
	p := pod("two", ready, func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "function", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(epoch)}}}}
	})
	if got := booting("pod", p.Name, containersSince(&p), 10, epoch.Add(9*time.Second)); got == nil || got.deadline != epoch.Add(10*time.Second) {
		t.Errorf("%+v", got)
	}
	if got := booting("pod", p.Name, containersSince(&p), 10, epoch.Add(10*time.Second)); got != nil {
		t.Errorf("when its time is over: %+v", got)
	}
}

// TestSilentVM checks that if no probe frame passes through a user's own VM, the
// verdict has the end of its console.
func TestSilentVM(t *testing.T) {
	s := newScope(launched, withRecords(open), withRecords(gaveUp(v1alpha1.ReasonNoPathThroughChain)), functions(ready, ready), own)
	if name, _ := s.failedVM(); name != s.names.Function("two") {
		t.Fatalf("the console of %q is read", name)
	}
	s.console = map[string]string{s.names.Function("two"): "two login"}
	got := decide(s)
	if got.outcome == nil || got.outcome.reason != v1alpha1.ReasonNoPathThroughChain ||
		got.outcome.message != `the measurer says why; the console of "two" ends: two login` {
		t.Errorf("%+v", got.outcome)
	}
	other := newScope(launched, withRecords(open), withRecords(gaveUp(v1alpha1.ReasonGeneratorUnreliable)), functions(ready, ready), own)
	if name, _ := other.failedVM(); name != "" {
		t.Errorf("the console of %q is read for a failure of the generator", name)
	}
}

// TestCustomIsAskedNothing checks that no answer of a user's VM is missed, because nothing in it could answer.
func TestCustomIsAskedNothing(t *testing.T) {
	s := newScope(launched)
	s.plan.Run.Namespace = "lab"
	s.plan.Functions = []plan.Function{{Name: "two", Runtime: v1alpha1.RuntimeVirtualMachine, VM: &plan.VM{Custom: &plan.Custom{}}}}
	want := []measure.FunctionSource{{Name: "two", Guest: "lab_" + s.plan.Names().Function("two")}}
	if diff := cmp.Diff(want, s.sources().Functions); diff != "" {
		t.Error(diff)
	}
}

// TestReported checks that nothing waits for KubeVirt if it cannot know the answer.
func TestReported(t *testing.T) {
	bridged := kubevirtv1.Interface{Name: "west", Model: "virtio", InterfaceBindingMethod: kubevirtv1.InterfaceBindingMethod{Bridge: &kubevirtv1.InterfaceBridge{}}}
	virtual := kubevirtv1.Interface{Name: "east", InterfaceBindingMethod: kubevirtv1.InterfaceBindingMethod{SRIOV: &kubevirtv1.InterfaceSRIOV{}}}
	west := []kubevirtv1.VirtualMachineInstanceNetworkInterface{{Name: "west", MAC: "02:00:00:00:0a:05"}}
	for name, test := range map[string]struct {
		interfaces []kubevirtv1.Interface
		devices    []kubevirtv1.HostDevice
		status     []kubevirtv1.VirtualMachineInstanceNetworkInterface
		want       bool
	}{
		"nothing said of a bridged port": {[]kubevirtv1.Interface{bridged, virtual}, nil, nil, false},
		"all that can be said":           {[]kubevirtv1.Interface{bridged, virtual}, nil, west, true},
		"virtual function, whole NIC":    {[]kubevirtv1.Interface{virtual}, []kubevirtv1.HostDevice{{Name: "west"}}, nil, true},
	} {
		m := testVM("m")
		m.Spec.Domain.Devices.Interfaces, m.Spec.Domain.Devices.HostDevices, m.Status.Interfaces = test.interfaces, test.devices, test.status
		if got := reported(m); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
