package envtest

import (
	"context"
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"vnfbench.io/operator/api/v1alpha1"
)

// machineFinalizer is KubeVirt's: a machine is deleted after its pod.
const machineFinalizer = "foregroundDeleteVirtualMachine"

// stepMachines acts as virt-controller and virt-handler.
func (n *node) stepMachines(ctx context.Context, pods []corev1.Pod) error {
	var machines kubevirtv1.VirtualMachineInstanceList
	if err := cluster.List(ctx, &machines, client.InNamespace(n.namespace)); err != nil {
		return err
	}
	for i := range machines.Items {
		if err := n.stepMachine(ctx, &machines.Items[i], pods); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) stepMachine(ctx context.Context, machine *kubevirtv1.VirtualMachineInstance, pods []corev1.Pod) error {
	var launcher *corev1.Pod
	for i := range pods {
		if metav1.IsControlledBy(&pods[i], machine) {
			launcher = &pods[i]
		}
	}
	if !machine.DeletionTimestamp.IsZero() {
		if launcher != nil {
			return client.IgnoreNotFound(cluster.Delete(ctx, launcher))
		}
		controllerutil.RemoveFinalizer(machine, machineFinalizer)
		return client.IgnoreNotFound(cluster.Update(ctx, machine))
	}
	if controllerutil.AddFinalizer(machine, machineFinalizer) {
		return cluster.Update(ctx, machine)
	}
	if launcher == nil {
		return makeLauncher(ctx, machine)
	}
	if n.seen[machine.UID] {
		return nil
	}
	become := n.machine
	if become == nil {
		become = machineReady
	}
	become(machine)
	if err := cluster.Update(ctx, machine); err != nil {
		return err
	}
	n.seen[machine.UID] = true
	return nil
}

// makeLauncher makes the pod with the machine's labels and annotations, as KubeVirt does.
func makeLauncher(ctx context.Context, machine *kubevirtv1.VirtualMachineInstance) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: machine.Namespace, Name: "virt-launcher-" + machine.Name + "-" + rand.String(5),
		Labels: maps.Clone(machine.Labels), Annotations: maps.Clone(machine.Annotations),
	}}
	pod.Spec.Containers = []corev1.Container{{Name: "compute", Image: "launcher:1"}}
	if boot := machine.Spec.Domain.Firmware.KernelBoot; boot != nil {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "kernel-boot", Image: boot.Container.Image})
	}
	if err := controllerutil.SetControllerReference(machine, pod, cluster.Scheme()); err != nil {
		return err
	}
	return cluster.Create(ctx, pod)
}

// machineReady sets what KubeVirt reports about a machine as it was requested.
func machineReady(machine *kubevirtv1.VirtualMachineInstance) {
	s := &machine.Status
	s.Phase, s.NodeName = kubevirtv1.Running, nodeName
	s.Machine = &kubevirtv1.Machine{Type: "pc-q35-9.2"}
	s.CurrentCPUTopology = &kubevirtv1.CPUTopology{Sockets: 1, Cores: machine.Spec.Domain.CPU.Cores, Threads: 1}
	s.Memory = &kubevirtv1.MemoryStatus{GuestCurrent: machine.Spec.Domain.Memory.Guest}
	for _, nic := range machine.Spec.Domain.Devices.Interfaces {
		s.Interfaces = append(s.Interfaces, kubevirtv1.VirtualMachineInstanceNetworkInterface{Name: nic.Name, MAC: nic.MacAddress, QueueCount: 1})
	}
	setReady(machine, corev1.ConditionTrue, "")
}

func setReady(machine *kubevirtv1.VirtualMachineInstance, status corev1.ConditionStatus, message string) {
	machine.Status.Conditions = []kubevirtv1.VirtualMachineInstanceCondition{{
		Type: kubevirtv1.VirtualMachineInstanceReady, Status: status, Message: message, LastTransitionTime: metav1.Now(),
	}}
}

func machineUnready(machine *kubevirtv1.VirtualMachineInstance) {
	machineReady(machine)
	setReady(machine, corev1.ConditionFalse, "the agent says no")
}

func machineFailed(machine *kubevirtv1.VirtualMachineInstance) {
	machineReady(machine)
	setReady(machine, corev1.ConditionFalse, "")
	machine.Status.Phase = kubevirtv1.Failed
}

// machines offers virtual machines on the testbed.
func machines(testbed *v1alpha1.Testbed) {
	testbed.Spec.SystemUnderTest.Attachments = []v1alpha1.Attachment{v1alpha1.AttachmentVeth, v1alpha1.AttachmentVirtio, v1alpha1.AttachmentE1000}
}

func inMachine(changes ...func(*v1alpha1.NetworkFunction)) func(*v1alpha1.BenchmarkRun) {
	return func(run *v1alpha1.BenchmarkRun) {
		run.Spec.Experiment.Chain[0].Runtime = v1alpha1.RuntimeVirtualMachine
		for _, change := range changes {
			change(&run.Spec.Experiment.Chain[0])
		}
	}
}

// noisyMachine adds a neighbor in a virtual machine, next to the router's pod.
func noisyMachine(run *v1alpha1.BenchmarkRun) {
	run.Spec.Experiment.NoisyNeighbors = []v1alpha1.NoisyNeighbor{{Name: "noisy", Kind: v1alpha1.NeighborCPU, Runtime: v1alpha1.RuntimeVirtualMachine}}
}

// theMachine waits for the run's virtual machine.
func (l *lab) theMachine() *kubevirtv1.VirtualMachineInstance {
	l.t.Helper()
	var list kubevirtv1.VirtualMachineInstanceList
	l.Eventually(func() int {
		l.Expect(cluster.List(l.ctx, &list, client.InNamespace(l.namespace))).To(Succeed())
		return len(list.Items)
	}).Should(Equal(1))
	return &list.Items[0]
}

// expectNothingLeft: no machine, no pod, no secret, once the testbed is released.
func (l *lab) expectNothingLeft(run *v1alpha1.BenchmarkRun) {
	l.t.Helper()
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
	var machines kubevirtv1.VirtualMachineInstanceList
	var pods corev1.PodList
	var secrets corev1.SecretList
	for _, list := range []client.ObjectList{&machines, &pods, &secrets} {
		l.Expect(cluster.List(l.ctx, list, client.InNamespace(l.namespace))).To(Succeed())
	}
	if len(machines.Items)+len(pods.Items)+len(secrets.Items) > 0 {
		l.t.Errorf("%d virtual machines, %d pods and %d secrets are left", len(machines.Items), len(pods.Items), len(secrets.Items))
	}
}

func kubeVirt(n *node) { n.kubeVirt = true }

// TestVirtualMachines checks that without KubeVirt a run says so; the same operator runs virtual
// machines once KubeVirt is installed.
func TestVirtualMachines(t *testing.T) {
	t.Run("KubeVirt comes later", func(t *testing.T) {
		l := startLab(t, nil)
		l.testbed(machines)
		before := l.run("before", inMachine())
		l.expect(before, v1alpha1.ConditionSucceeded, "False/KubeVirtNotInstalled")
		l.expect(before, v1alpha1.ConditionAdmitted, "False/Released")

		l.Expect(installKubeVirt()).To(Succeed())
		l.node.set(kubeVirt)
		unlabeled := l.run("unlabeled", inMachine())
		l.expect(unlabeled, v1alpha1.ConditionSucceeded, "False/NoMatchingNode")
		l.Expect(labelNode()).To(Succeed())
		l.measured()
	})
	tests := map[string]func(*lab){
		"not ready": func(l *lab) {
			l.node.set(func(n *node) { n.machine = machineUnready })
			run := l.run("run", inMachine())
			l.pendsThenFails(run, "the agent says no", v1alpha1.ReasonChainNotReady)
			l.expectNothingLeft(run)
		},
		"dies in its boot": func(l *lab) {
			l.node.set(func(n *node) { n.machine = machineFailed })
			run := l.run("run", inMachine())
			l.expect(run, v1alpha1.ConditionSucceeded, "False/VirtualMachineNotStarted")
			l.expectNothingLeft(run)
		},
		"killed in the middle": func(l *lab) {
			l.node.set(func(n *node) { n.silent[pathChain] = true })
			run := l.run("run", inMachine())
			l.expect(run, v1alpha1.ConditionChainReady, "True/ChainReady")
			machine := l.theMachine()
			machineFailed(machine)
			l.Expect(cluster.Update(l.ctx, machine)).To(Succeed())
			l.expect(run, v1alpha1.ConditionSucceeded, "False/ChainFailed")
			l.expectNothingLeft(run)
		},
		"no node": func(l *lab) {
			l.node.set(func(n *node) {
				n.machine = func(m *kubevirtv1.VirtualMachineInstance) { m.Status.Phase = kubevirtv1.Scheduling }
				n.starts["function"] = unschedulable
			})
			run := l.run("run", inMachine())
			l.pendsThenFails(run, "cannot be scheduled", v1alpha1.ReasonUnschedulable)
			l.expectNothingLeft(run)
		},
		"no image": func(l *lab) {
			l.node.set(func(n *node) {
				n.machine = func(m *kubevirtv1.VirtualMachineInstance) { m.Status.Phase = kubevirtv1.Scheduling }
				n.starts["function"] = waits("ErrImageNeverPull", "absent")
			})
			run := l.run("run", inMachine())
			l.expect(run, v1alpha1.ConditionSucceeded, "False/ImageUnavailable")
			l.expectNothingLeft(run)
		},
		"differs": func(l *lab) {
			l.node.set(func(n *node) {
				n.machine = func(m *kubevirtv1.VirtualMachineInstance) {
					machineReady(m)
					m.Status.CurrentCPUTopology.Cores = 3
				}
			})
			run := l.run("run", inMachine(func(f *v1alpha1.NetworkFunction) {
				f.Platform = &v1alpha1.Platform{OnDifference: v1alpha1.OnDifferenceFail}
			}))
			l.expect(run, v1alpha1.ConditionSucceeded, "False/VirtualMachineMismatch")
			l.expectNothingLeft(run)
		},
		"the user's own": func(l *lab) {
			l.node.set(func(n *node) { n.silent[pathChain] = true })
			run := l.run("run", inMachine(func(f *v1alpha1.NetworkFunction) {
				f.Function = v1alpha1.FunctionCustom
				f.Custom = &v1alpha1.CustomFunction{ContainerDisk: "example/vyos:1", UserData: "west {{ .West.AddressIPv4 }}"}
			}))
			l.expect(run, v1alpha1.ConditionChainReady, "True/ChainReady")
			machine, seed := l.theMachine(), &corev1.Secret{}
			name := machine.Spec.Volumes[1].CloudInitNoCloud.UserDataSecretRef.Name
			l.Expect(cluster.Get(l.ctx, client.ObjectKey{Namespace: l.namespace, Name: name}, seed)).To(Succeed())
			l.Expect(string(seed.Data["userdata"])).To(Equal("west 198.18.0.2/24"))
			l.Expect(metav1.IsControlledBy(seed, run)).To(BeTrue())
			l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
			l.Eventually(l.objects).Should(BeEmpty())
		},
		"a placeholder that is none": func(l *lab) {
			run := l.run("run", inMachine(func(f *v1alpha1.NetworkFunction) {
				f.Function = v1alpha1.FunctionCustom
				f.Custom = &v1alpha1.CustomFunction{ContainerDisk: "example/vyos:1", UserData: "{{ .West.Address }}"}
			}))
			l.expect(run, v1alpha1.ConditionSucceeded, "False/InvalidPlaceholder")
			l.expectNothingLeft(run)
		},
		"a neighbor that boots without end": func(l *lab) {
			l.node.set(func(n *node) { n.machine = machineUnready })
			run := l.run("run", noisyMachine)
			machine := l.theMachine()
			l.Expect(machine.Labels).To(HaveKeyWithValue(v1alpha1.LabelComponent, "neighbor"))
			l.Expect(metav1.IsControlledBy(machine, run)).To(BeTrue())
			l.pendsThenFails(run, "the agent says no", v1alpha1.ReasonNeighborNotStarted)
			l.expectNothingLeft(run)
		},
		"a neighbor, deleted": func(l *lab) {
			l.node.set(func(n *node) { n.silent[pathChain] = true })
			run := l.run("run", noisyMachine)
			l.expect(run, v1alpha1.ConditionChainReady, "True/ChainReady")
			l.theMachine()
			l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
			l.Eventually(l.objects).Should(BeEmpty())
		},
		"suspended and deleted": func(l *lab) {
			l.node.set(func(n *node) { n.silent[pathChain] = true })
			run := l.run("run", inMachine())
			l.expect(run, v1alpha1.ConditionChainReady, "True/ChainReady")
			l.setSuspend(run, true)
			l.expect(run, v1alpha1.ConditionAdmitted, "False/Suspended")
			l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
			l.Eventually(l.objects).Should(BeEmpty())
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			l.node.set(kubeVirt)
			l.testbed(machines)
			test(l)
		})
	}
}

// measured runs a machine to its verdict, and checks what the status says about it.
func (l *lab) measured() {
	l.t.Helper()
	run := l.run("measured", inMachine())
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.expectNothingLeft(run)
	if len(run.Status.Chain) != 1 || run.Status.Chain[0].VirtualMachine == nil || run.Status.Chain[0].VirtualMachine.MachineType != "pc-q35-9.2" ||
		len(run.Status.Chain[0].VirtualMachine.Ports) != 2 {
		l.t.Errorf("status.chain is %+v", run.Status.Chain)
	}
	if len(run.Status.Results) != 1 {
		l.t.Errorf("%d results", len(run.Status.Results))
	}
}

// labelNode makes the node one on which KubeVirt runs.
func labelNode() error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}
	return cluster.Patch(context.Background(), node, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"kubevirt.io/schedulable":"true"}}}`)))
}
