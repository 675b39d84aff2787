package envtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
)

// TestTenantWritesNothingOfTheCluster: a tenant writes neither a Testbed nor the status of a run, by which plans are
// believed and nodes are given.
func TestTenantWritesNothingOfTheCluster(t *testing.T) {
	l := newLab(t, nil)
	testbed := l.testbed()
	run := l.run("run", func(r *v1alpha1.BenchmarkRun) { r.Spec.Suspend = true })
	mallory := l.tenant()
	merge := func(text string) client.Patch {
		return client.RawPatch("application/merge-patch+json", []byte(text))
	}
	for name, err := range map[string]error{
		"makes a Testbed": mallory.Create(l.ctx, &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Name: "mine-" + l.namespace}}),
		"names a NIC":     mallory.Patch(l.ctx, testbed.DeepCopy(), merge(`{"spec":{"ports":{"west":{"attachment":"HostDevice","hostDevice":{"pciAddress":"0000:00:03.0"}}}}}`)),
		"holds a testbed": mallory.Status().Patch(l.ctx, testbed.DeepCopy(), merge(`{"status":{"activeRuns":[]}}`)),
		"signs a plan":    mallory.Status().Patch(l.ctx, run.DeepCopy(), merge(`{"status":{"plan":{"storedDigest":"0"}}}`)),
		"makes a network": mallory.Create(l.ctx, networkNamed(l.namespace, "mine")),
	} {
		l.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s: %v", name, err)
	}
}

// TestRunGetsWhatTheTestbedNames: a tenant's run asks for ports that the Testbed does not offer, and gets no network.
func TestRunGetsWhatTheTestbedNames(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	mallory := l.tenant()
	for i, attachment := range []v1alpha1.Attachment{v1alpha1.AttachmentSRIOV, v1alpha1.AttachmentHostDevice} {
		run := runOf(l, fmt.Sprintf("run-%d", i))
		run.Spec.Experiment.Chain[0].West.Attachment, run.Spec.Experiment.Chain[0].East.Attachment = attachment, attachment
		l.Expect(mallory.Create(l.ctx, run)).To(Succeed())
		l.expect(run, v1alpha1.ConditionSucceeded, "False/AttachmentNotOffered")
	}
	l.Expect(l.networks()).To(BeEmpty())
	l.Expect(l.pods(chain.ComponentMeasurer)).To(BeEmpty())
}

// networkNamed returns a network on the node's own bridge.
func networkNamed(namespace, name string) client.Object {
	network := &unstructured.Unstructured{}
	network.SetGroupVersionKind(chain.NetworkAttachmentDefinition)
	network.SetNamespace(namespace)
	network.SetName(name)
	network.Object["spec"] = map[string]any{"config": `{"type":"bridge","bridge":"cni0"}`}
	return network
}

// rights are what a pod of a run has.
type rights struct {
	image        string
	capabilities []string
	user         int64
	hostPID      bool
}

// TestPodsOfATenantsRun: whatever a tenant puts into a run, its pods have the images of the installation, the
// capabilities of this list, no token but the measurer's, and no part of the node but the list of processes.
func TestPodsOfATenantsRun(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	mallory := l.tenant()
	run := runOf(l, "run")
	e := &run.Spec.Experiment
	e.Chain = []v1alpha1.NetworkFunction{
		{Name: "router", Function: v1alpha1.FunctionRouter},
		{Name: "firewall", Function: v1alpha1.FunctionFirewall},
		{Name: "west", Function: v1alpha1.FunctionEncryptionGateway},
		{Name: "east", Function: v1alpha1.FunctionEncryptionGateway},
	}
	e.Measurements.TCP = &v1alpha1.TCP{Streams: []int32{1}}
	e.NoisyNeighbors = []v1alpha1.NoisyNeighbor{
		{Name: "cpu", Kind: v1alpha1.NeighborCPU},
		{Name: "disk", Kind: v1alpha1.NeighborDisk, Disk: "4Mi"},
		{Name: "network", Kind: v1alpha1.NeighborNetwork, FramesPerSecond: ptr.To[int64](1000)},
	}
	l.Expect(mallory.Create(l.ctx, run)).To(Succeed())
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	want := map[string]rights{
		"measurer":   {"registry.test/measurer:1", []string{"BPF", "NET_ADMIN"}, 0, false},
		"fn":         {"registry.test/vnf:1", []string{"NET_ADMIN"}, 0, false},
		"tcp":        {"registry.test/endpoint:1", []string{"NET_ADMIN"}, 0, false},
		"nb-network": {"registry.test/neighbor:1", []string{"NET_RAW"}, 0, false},
		"nb":         {"registry.test/neighbor:1", nil, 65532, false},
		"observer":   {"registry.test/vnf:1", nil, 65532, true},
	}
	var pods corev1.PodList
	l.Expect(cluster.List(l.ctx, &pods, client.InNamespace(l.namespace))).To(Succeed())
	seen := map[string]bool{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		kind := ""
		for name := range want {
			if strings.Contains(pod.Name, "-"+name) && len(name) > len(kind) {
				kind = name
			}
		}
		seen[kind] = true
		l.Expect(rightsOf(l, pod)).To(Equal(want[kind]), "pod %s", pod.Name)
	}
	l.Expect(seen).To(HaveLen(len(want)))
}

// rightsOf returns the rights of a pod, and checks those that no pod of a run has.
func rightsOf(l *lab, pod *corev1.Pod) rights {
	l.t.Helper()
	l.Expect(pod.Spec.Containers).To(HaveLen(1))
	l.Expect(pod.Spec.InitContainers).To(BeEmpty())
	l.Expect(pod.Spec.HostNetwork || pod.Spec.HostIPC).To(BeFalse())
	l.Expect(pod.Spec.AutomountServiceAccountToken).To(HaveValue(BeFalse()))
	container := &pod.Spec.Containers[0]
	given := container.SecurityContext
	l.Expect(given.Privileged).To(HaveValue(BeFalse()))
	l.Expect(given.AllowPrivilegeEscalation).To(HaveValue(BeFalse()))
	l.Expect(given.ReadOnlyRootFilesystem).To(HaveValue(BeTrue()))
	l.Expect(given.Capabilities.Drop).To(Equal([]corev1.Capability{"ALL"}))
	for _, volume := range pod.Spec.Volumes {
		if volume.HostPath != nil {
			l.Expect(volume.HostPath.Path).To(Equal("/dev/net/tun"))
		}
		l.Expect(volume.PersistentVolumeClaim).To(BeNil())
		if volume.Secret != nil {
			l.Expect(volume.Secret.SecretName).To(ContainSubstring("-keys-"))
		}
		if token := volume.Projected; token != nil {
			l.Expect(pod.Labels).To(HaveKeyWithValue(v1alpha1.LabelComponent, chain.ComponentMeasurer))
		}
	}
	found := rights{image: container.Image, user: ptr.Deref(given.RunAsUser, -1), hostPID: pod.Spec.HostPID}
	for _, c := range given.Capabilities.Add {
		found.capabilities = append(found.capabilities, string(c))
	}
	slices.Sort(found.capabilities)
	return found
}
