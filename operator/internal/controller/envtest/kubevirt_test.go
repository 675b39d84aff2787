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

// vmFinalizer is KubeVirt's: a VM is deleted after its pod.
const vmFinalizer = "foregroundDeleteVirtualMachine"

// stepVMs acts as virt-controller and virt-handler.
func (n *node) stepVMs(ctx context.Context, pods []corev1.Pod) error {
	var vms kubevirtv1.VirtualMachineInstanceList
	if err := cluster.List(ctx, &vms, client.InNamespace(n.namespace)); err != nil {
		return err
	}
	for i := range vms.Items {
		if err := n.stepVM(ctx, &vms.Items[i], pods); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) stepVM(ctx context.Context, vm *kubevirtv1.VirtualMachineInstance, pods []corev1.Pod) error {
	var launcher *corev1.Pod
	for i := range pods {
		if metav1.IsControlledBy(&pods[i], vm) {
			launcher = &pods[i]
		}
	}
	if !vm.DeletionTimestamp.IsZero() {
		if launcher != nil {
			return client.IgnoreNotFound(cluster.Delete(ctx, launcher))
		}
		controllerutil.RemoveFinalizer(vm, vmFinalizer)
		return client.IgnoreNotFound(cluster.Update(ctx, vm))
	}
	if controllerutil.AddFinalizer(vm, vmFinalizer) {
		return cluster.Update(ctx, vm)
	}
	if launcher == nil {
		return makeLauncher(ctx, vm)
	}
	if n.seen[vm.UID] {
		return nil
	}
	become := n.vm
	if become == nil {
		become = vmReady
	}
	become(vm)
	if err := cluster.Update(ctx, vm); err != nil {
		return err
	}
	n.seen[vm.UID] = true
	return nil
}

// makeLauncher makes the pod with the VM's labels and annotations, as KubeVirt does.
func makeLauncher(ctx context.Context, vm *kubevirtv1.VirtualMachineInstance) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: vm.Namespace, Name: "virt-launcher-" + vm.Name + "-" + rand.String(5),
		Labels: maps.Clone(vm.Labels), Annotations: maps.Clone(vm.Annotations),
	}}
	pod.Spec.Containers = []corev1.Container{{Name: "compute", Image: "launcher:1"}}
	if boot := vm.Spec.Domain.Firmware.KernelBoot; boot != nil {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "kernel-boot", Image: boot.Container.Image})
	}
	if err := controllerutil.SetControllerReference(vm, pod, cluster.Scheme()); err != nil {
		return err
	}
	return cluster.Create(ctx, pod)
}

// vmReady sets what KubeVirt reports about a VM as it was requested.
func vmReady(vm *kubevirtv1.VirtualMachineInstance) {
	s := &vm.Status
	s.Phase, s.NodeName = kubevirtv1.Running, nodeName
	s.Machine = &kubevirtv1.Machine{Type: "pc-q35-9.2"}
	s.CurrentCPUTopology = &kubevirtv1.CPUTopology{Sockets: 1, Cores: vm.Spec.Domain.CPU.Cores, Threads: 1}
	s.Memory = &kubevirtv1.MemoryStatus{GuestCurrent: vm.Spec.Domain.Memory.Guest}
	for _, nic := range vm.Spec.Domain.Devices.Interfaces {
		s.Interfaces = append(s.Interfaces, kubevirtv1.VirtualMachineInstanceNetworkInterface{Name: nic.Name, MAC: nic.MacAddress, QueueCount: 1})
	}
	setReady(vm, corev1.ConditionTrue, "")
}

func setReady(vm *kubevirtv1.VirtualMachineInstance, status corev1.ConditionStatus, message string) {
	vm.Status.Conditions = []kubevirtv1.VirtualMachineInstanceCondition{{
		Type: kubevirtv1.VirtualMachineInstanceReady, Status: status, Message: message, LastTransitionTime: metav1.Now(),
	}}
}

func vmUnready(vm *kubevirtv1.VirtualMachineInstance) {
	vmReady(vm)
	setReady(vm, corev1.ConditionFalse, "the agent says no")
}

func vmFailed(vm *kubevirtv1.VirtualMachineInstance) {
	vmReady(vm)
	setReady(vm, corev1.ConditionFalse, "")
	vm.Status.Phase = kubevirtv1.Failed
}

// vms offers virtual machines on the testbed.
func vms(testbed *v1alpha1.Testbed) {
	testbed.Spec.SystemUnderTest.Attachments = []v1alpha1.Attachment{v1alpha1.AttachmentVeth, v1alpha1.AttachmentVirtio, v1alpha1.AttachmentE1000}
}

func inVM(changes ...func(*v1alpha1.NetworkFunction)) func(*v1alpha1.BenchmarkRun) {
	return func(run *v1alpha1.BenchmarkRun) {
		run.Spec.Experiment.Chain[0].Runtime = v1alpha1.RuntimeVirtualMachine
		for _, change := range changes {
			change(&run.Spec.Experiment.Chain[0])
		}
	}
}

// noisyVM adds a neighbor in a virtual machine, next to the router's pod.
func noisyVM(run *v1alpha1.BenchmarkRun) {
	run.Spec.Experiment.NoisyNeighbors = []v1alpha1.NoisyNeighbor{{Name: "noisy", Kind: v1alpha1.NeighborCPU, Runtime: v1alpha1.RuntimeVirtualMachine}}
}

// theVM waits for the run's virtual machine.
func (l *lab) theVM() *kubevirtv1.VirtualMachineInstance {
	l.t.Helper()
	var list kubevirtv1.VirtualMachineInstanceList
	l.Eventually(func() int {
		l.Expect(cluster.List(l.ctx, &list, client.InNamespace(l.namespace))).To(Succeed())
		return len(list.Items)
	}).Should(Equal(1))
	return &list.Items[0]
}

// expectNothingLeft: no VM, no pod, no secret, once the testbed is released.
func (l *lab) expectNothingLeft(run *v1alpha1.BenchmarkRun) {
	l.t.Helper()
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
	var vms kubevirtv1.VirtualMachineInstanceList
	var pods corev1.PodList
	var secrets corev1.SecretList
	// Where a test let time pass, the operator's clock is ahead, and a machine that is just being deleted no longer counts.
	l.Eventually(func() int {
		l.Expect(cluster.List(l.ctx, &vms, client.InNamespace(l.namespace))).To(Succeed())
		return len(vms.Items)
	}).Should(BeZero())
	for _, list := range []client.ObjectList{&vms, &pods, &secrets} {
		l.Expect(cluster.List(l.ctx, list, client.InNamespace(l.namespace))).To(Succeed())
	}
	if len(vms.Items)+len(pods.Items)+len(secrets.Items) > 0 {
		l.t.Errorf("%d virtual machines, %d pods and %d secrets are left", len(vms.Items), len(pods.Items), len(secrets.Items))
	}
}

func kubeVirt(n *node) { n.kubeVirt = true }

// TestVirtualMachines checks that without KubeVirt a run says so; the same operator runs virtual
// machines once KubeVirt is installed.
func TestVirtualMachines(t *testing.T) {
	t.Run("KubeVirt comes later", func(t *testing.T) {
		l := startLab(t, nil)
		l.testbed(vms)
		before := l.run("before", inVM())
		l.expect(before, v1alpha1.ConditionSucceeded, "False/KubeVirtNotInstalled")
		l.expect(before, v1alpha1.ConditionAdmitted, "False/Released")

		l.Expect(installKubeVirt()).To(Succeed())
		l.node.set(kubeVirt)
		unlabeled := l.run("unlabeled", inVM())
		l.expect(unlabeled, v1alpha1.ConditionSucceeded, "False/NoMatchingNode")
		l.Expect(labelNode()).To(Succeed())
		l.measured()
	})
	t.Parallel()
	tests := map[string]func(*lab){
		"not ready": func(l *lab) {
			l.node.set(func(n *node) { n.vm = vmUnready })
			run := l.run("run", inVM())
			l.pendsThenFails(run, "the agent says no", v1alpha1.ReasonChainNotReady)
			l.expectNothingLeft(run)
		},
		"dies in its boot": func(l *lab) {
			l.node.set(func(n *node) { n.vm = vmFailed })
			run := l.run("run", inVM())
			l.expect(run, v1alpha1.ConditionSucceeded, "False/VirtualMachineNotStarted")
			l.expectNothingLeft(run)
		},
		"killed in the middle": func(l *lab) {
			l.node.set(func(n *node) { n.silent[pathChain] = true })
			run := l.run("run", inVM())
			l.expect(run, v1alpha1.ConditionChainReady, "True/ChainReady")
			vm := l.theVM()
			vmFailed(vm)
			l.Expect(cluster.Update(l.ctx, vm)).To(Succeed())
			l.expect(run, v1alpha1.ConditionSucceeded, "False/ChainFailed")
			l.expectNothingLeft(run)
		},
		"no node": func(l *lab) {
			l.node.set(func(n *node) {
				n.vm = func(m *kubevirtv1.VirtualMachineInstance) { m.Status.Phase = kubevirtv1.Scheduling }
				n.starts["function"] = unschedulable
			})
			run := l.run("run", inVM())
			l.pendsThenFails(run, "cannot be scheduled", v1alpha1.ReasonUnschedulable)
			l.expectNothingLeft(run)
		},
		"no image": func(l *lab) {
			l.node.set(func(n *node) {
				n.vm = func(m *kubevirtv1.VirtualMachineInstance) { m.Status.Phase = kubevirtv1.Scheduling }
				n.starts["function"] = waits("ErrImageNeverPull", "absent")
			})
			run := l.run("run", inVM())
			l.expect(run, v1alpha1.ConditionSucceeded, "False/ImageUnavailable")
			l.expectNothingLeft(run)
		},
		"differs": func(l *lab) {
			l.node.set(func(n *node) {
				n.vm = func(m *kubevirtv1.VirtualMachineInstance) {
					vmReady(m)
					m.Status.CurrentCPUTopology.Cores = 3
				}
			})
			run := l.run("run", inVM(func(f *v1alpha1.NetworkFunction) {
				f.Platform = &v1alpha1.Platform{OnDifference: v1alpha1.OnDifferenceFail}
			}))
			l.expect(run, v1alpha1.ConditionSucceeded, "False/VirtualMachineMismatch")
			l.expectNothingLeft(run)
		},
		"the user's own": func(l *lab) {
			l.node.set(func(n *node) { n.silent[pathChain] = true })
			run := l.run("run", inVM(func(f *v1alpha1.NetworkFunction) {
				f.Function = v1alpha1.FunctionCustom
				f.Custom = &v1alpha1.CustomFunction{ContainerDisk: "example/vyos:1", UserData: "west {{ .West.AddressIPv4 }}"}
			}))
			l.expect(run, v1alpha1.ConditionChainReady, "True/ChainReady")
			vm, seed := l.theVM(), &corev1.Secret{}
			name := vm.Spec.Volumes[1].CloudInitNoCloud.UserDataSecretRef.Name
			l.Expect(cluster.Get(l.ctx, client.ObjectKey{Namespace: l.namespace, Name: name}, seed)).To(Succeed())
			l.Expect(string(seed.Data["userdata"])).To(Equal("west 198.18.0.2/24"))
			l.Expect(metav1.IsControlledBy(seed, run)).To(BeTrue())
			l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
			l.Eventually(l.objects).Should(BeEmpty())
		},
		"a placeholder that is none": func(l *lab) {
			run := l.run("run", inVM(func(f *v1alpha1.NetworkFunction) {
				f.Function = v1alpha1.FunctionCustom
				f.Custom = &v1alpha1.CustomFunction{ContainerDisk: "example/vyos:1", UserData: "{{ .West.Address }}"}
			}))
			l.expect(run, v1alpha1.ConditionSucceeded, "False/InvalidPlaceholder")
			l.expectNothingLeft(run)
		},
		"labels say what is tested": (*lab).takesSubjectsFromLabels,
		"a neighbor that boots without end": func(l *lab) {
			l.node.set(func(n *node) { n.vm = vmUnready })
			run := l.run("run", noisyVM)
			vm := l.theVM()
			l.Expect(vm.Labels).To(HaveKeyWithValue(v1alpha1.LabelComponent, "neighbor"))
			l.Expect(metav1.IsControlledBy(vm, run)).To(BeTrue())
			l.pendsThenFails(run, "the agent says no", v1alpha1.ReasonNeighborNotStarted)
			l.expectNothingLeft(run)
		},
		"a neighbor, deleted": func(l *lab) {
			l.node.set(func(n *node) { n.silent[pathChain] = true })
			run := l.run("run", noisyVM)
			l.expect(run, v1alpha1.ConditionChainReady, "True/ChainReady")
			l.theVM()
			l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
			l.Eventually(l.objects).Should(BeEmpty())
		},
		"a deployment for each repeat": func(l *lab) {
			run := l.run("run", inVM(), redeployed)
			l.expectDeployments(run, 2)
			l.Expect(run.Status.Deployments[1].Functions[0].Runtime).To(Equal(v1alpha1.RuntimeVirtualMachine))
			l.expectNothingLeft(run)
		},
		"suspended and deleted": func(l *lab) {
			l.node.set(func(n *node) { n.silent[pathChain] = true })
			run := l.run("run", inVM())
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
			l.testbed(vms)
			test(l)
		})
	}
}

// measured runs a VM to its verdict, and checks what the status says about it.
func (l *lab) measured() {
	l.t.Helper()
	run := l.run("measured", inVM())
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
