package envtest

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
)

const trexImage = "registry.test/trex:1"

// byTRex makes TRex send the testbed's frames, through packet sockets.
func byTRex(image string) func(*v1alpha1.Testbed) {
	return func(testbed *v1alpha1.Testbed) {
		testbed.Spec.Generator.Driver, testbed.Spec.Generator.Image = v1alpha1.DriverTRex, image
		testbed.Spec.Generator.TRex = &v1alpha1.TRexGenerator{Mode: v1alpha1.TRexAFPacket}
	}
}

// trafficPod waits for the measurer's pod.
func (l *lab) trafficPod() *corev1.Pod {
	l.t.Helper()
	var pods []corev1.Pod
	l.Eventually(func() []corev1.Pod { pods = l.pods(chain.ComponentMeasurer); return pods }).Should(HaveLen(1))
	return &pods[0]
}

func TestTRexRun(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathCalibration], n.withoutVariation = true, true })
	testbed := l.testbed(byTRex(trexImage))
	run := l.run("trex")
	container := l.trafficPod().Spec.Containers[0]
	l.Expect(container.Image).To(Equal(trexImage))
	l.Expect(container.Command[0]).To(Equal("measurer"))
	l.Expect(container.SecurityContext.Capabilities.Add).To(ConsistOf(corev1.Capability("IPC_LOCK"), corev1.Capability("NET_ADMIN"), corev1.Capability("NET_RAW")))
	l.Expect(container.Resources.Limits.Memory().String()).To(Equal("1Gi"))

	// From here on a simulated driver measures, without what TRex does not count: this shows
	// that nothing in the operator prevents TRex.
	l.node.set(func(n *node) { n.silent[pathCalibration] = false })
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Eventually(l.testbedState(testbed, v1alpha1.ConditionCalibrated)).Should(Equal("True/Calibrated"))
}

// TestTRexWithoutImage checks that a testbed without an image reports it, and its run fails with the same reason.
func TestTRexWithoutImage(t *testing.T) {
	l := newLab(t, nil)
	testbed := l.testbed(byTRex(""))
	l.Eventually(l.testbedState(testbed, v1alpha1.ConditionReady)).Should(Equal("False/ImageMissing"))
	run := l.run("trex")
	l.expect(run, v1alpha1.ConditionSucceeded, "False/ImageMissing")
	l.Expect(l.message(run, v1alpha1.ConditionPlanned)).To(ContainSubstring("spec.generator.image"))
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
	l.Expect(l.pods(chain.ComponentMeasurer)).To(BeEmpty())
}

func TestTRexMakesNoFragments(t *testing.T) {
	l := newLab(t, nil)
	l.testbed(byTRex(trexImage))
	run := l.run("packets", func(run *v1alpha1.BenchmarkRun) {
		run.Spec.Experiment.Traffic.Packets = []v1alpha1.Packet{{PayloadBytes: 4096}}
	})
	l.expect(run, v1alpha1.ConditionSucceeded, "False/NotOfferedByDriver")
	l.Expect(l.message(run, v1alpha1.ConditionPlanned)).To(ContainSubstring("spec.experiment.traffic.packets"))
}

// TestTRexOnVirtualFunctions checks that the API server accepts the pod with hugepages and devices. The testbed reports what no
// node has; when a node has it, the testbed becomes ready by itself.
func TestTRexOnVirtualFunctions(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(starts(chain.ComponentMeasurer, pending))
	const west, east = "vnfbench.test/trex-west", "vnfbench.test/trex-east"
	// Other tests, which run in parallel, must not get this node.
	here := map[string]string{"trex": l.namespace}
	node, err := makeNode(l.namespace, here, corev1.Taint{Key: "trex", Effect: corev1.TaintEffectNoSchedule})
	l.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { l.Expect(cluster.Delete(context.Background(), node)).To(Succeed()) })
	offer := func(resources map[corev1.ResourceName]string) {
		for name, quantity := range resources {
			node.Status.Allocatable[name] = resource.MustParse(quantity)
		}
		node.Status.Capacity = node.Status.Allocatable
		l.Expect(cluster.Status().Update(l.ctx, node)).To(Succeed())
	}
	offer(map[corev1.ResourceName]string{"cpu": "16", west: "2", east: "2"})

	port := func(pool string) v1alpha1.TestbedPort {
		return v1alpha1.TestbedPort{Attachment: v1alpha1.PortSRIOV, SRIOV: &v1alpha1.SRIOVPort{ResourceName: pool}}
	}
	testbed := l.testbed(func(testbed *v1alpha1.Testbed) {
		tolerations := []corev1.Toleration{{Key: "trex", Operator: corev1.TolerationOpExists}}
		testbed.Spec.Generator = v1alpha1.Generator{
			Driver: v1alpha1.DriverTRex, Image: trexImage, CPU: "4", NodeSelector: here, Tolerations: tolerations,
			TRex: &v1alpha1.TRexGenerator{Hugepages: &v1alpha1.TRexHugepages{Memory: "2Gi"}},
		}
		testbed.Spec.Ports = v1alpha1.TestbedPorts{West: port(west), East: port(east)}
		testbed.Spec.SystemUnderTest.NodeSelector, testbed.Spec.SystemUnderTest.Tolerations = here, tolerations
		testbed.Spec.SystemUnderTest.Attachments = []v1alpha1.Attachment{v1alpha1.AttachmentSRIOV}
	})
	l.Eventually(l.testbedState(testbed, v1alpha1.ConditionReady)).Should(Equal("False/InsufficientHugepages"))
	offer(map[corev1.ResourceName]string{"hugepages-1Gi": "2Gi"})
	l.Eventually(l.testbedState(testbed, v1alpha1.ConditionReady)).Should(Equal("True/Ready"))
	l.Expect(l.testbedState(testbed, v1alpha1.ConditionCalibrated)()).To(Equal("False/NotCalibrated"))

	l.run("dpdk", func(run *v1alpha1.BenchmarkRun) {
		run.Spec.Experiment.Chain[0].West.Attachment, run.Spec.Experiment.Chain[0].East.Attachment = v1alpha1.AttachmentSRIOV, v1alpha1.AttachmentSRIOV
	})
	pod := l.trafficPod()
	limits := pod.Spec.Containers[0].Resources.Limits
	for name, want := range map[corev1.ResourceName]string{"cpu": "4", "hugepages-1Gi": "2Gi", west: "1", east: "1"} {
		quantity := limits[name]
		l.Expect(quantity.String()).To(Equal(want), string(name))
	}
	l.Expect(pod.Status.QOSClass).To(Equal(corev1.PodQOSGuaranteed))
}
