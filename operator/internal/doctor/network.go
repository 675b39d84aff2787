package doctor

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
)

func multus(f Facts) Finding {
	const remedy = "install Multus: https://github.com/k8snetworkplumbingwg/multus-cni"
	switch has, err := f.has(networkVersion, "network-attachment-definitions"); {
	case err != nil:
		return unanswered(err, "read the API server's discovery")
	case !has:
		return found(Fail, remedy, "the API server does not know the kind NetworkAttachmentDefinition of %s", networkVersion)
	case f.DaemonSets.Err != nil:
		return found(Unknown, "run this command as a user who may list DaemonSets of all namespaces", "the kind NetworkAttachmentDefinition is there; whether Multus runs is not known: %v", f.DaemonSets.Err)
	}
	var names, notReady []string
	for _, set := range f.DaemonSets.Value {
		isMultus := strings.Contains(set.Name, "multus") || slices.ContainsFunc(set.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return strings.Contains(c.Image, "multus") })
		if !isMultus || strings.Contains(set.Name, "admission") {
			continue
		}
		name := set.Namespace + "/" + set.Name
		names = append(names, name)
		if set.Status.NumberReady < set.Status.DesiredNumberScheduled {
			notReady = append(notReady, name)
		}
	}
	switch {
	case len(names) == 0:
		return found(Unknown, remedy+"; or look whether your distribution runs it in another way", "the kind NetworkAttachmentDefinition is there, and no DaemonSet is named multus or has its image")
	case len(notReady) > 0:
		return found(Fail, "look at the pods of this DaemonSet: a pod of a run on a node without Multus gets no traffic port", "not ready on every node: %s", excerpt.List(notReady, ", "))
	}
	return fine("the kind NetworkAttachmentDefinition, and DaemonSet %s on every node", excerpt.List(names, ", "))
}

// cniPlugins follows from runs that had bridges: plugins are files of nodes, which the API does not show.
func cniPlugins(f Facts) Finding {
	var seen []string
	for _, t := range f.Testbeds.Value {
		if t.Status.Calibration == nil {
			continue
		}
		for _, node := range t.Status.BridgeNodes {
			if !slices.Contains(seen, node.Name) {
				seen = append(seen, node.Name)
			}
		}
	}
	const look = "look on each node for the files bridge and tuning in /opt/cni/bin, with SR-IOV sriov, with whole NICs host-device: https://github.com/containernetworking/plugins"
	if len(seen) == 0 {
		return found(Unknown, look, "the API does not show the files of nodes, and no run has had bridges yet")
	}
	slices.Sort(seen)
	return fine("runs had ports on bridges on node %s, so bridge and tuning are there", excerpt.List(seen, ", "))
}

// Pod returns a pod with what the pods of runs need: the capabilities of a traffic pod, and an observer's sight of the node's
// processes. It is only asked about and never made.
func Pod(namespace string) *corev1.Pod {
	root, no := int64(0), false
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "vnfbench-doctor-"},
		Spec: corev1.PodSpec{
			HostPID:                      true,
			AutomountServiceAccountToken: &no,
			RestartPolicy:                corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "asked", Image: "vnfbench.io/asked",
				SecurityContext: &corev1.SecurityContext{RunAsUser: &root, Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"BPF", "NET_ADMIN", "NET_RAW"}}},
			}},
		},
	}
}

const enforce = "pod-security.kubernetes.io/enforce"

// violates is in every refusal of Pod Security.
const violates = "violates PodSecurity"

func podSecurity(f Facts) Finding {
	if f.NamespaceObject.Err != nil {
		return unanswered(f.NamespaceObject.Err, "get namespace "+f.Namespace)
	}
	label := "kubectl label namespace " + f.Namespace + " --overwrite " + enforce + "=privileged"
	if f.NamespaceObject.Value == nil {
		return found(Fail, "kubectl create namespace "+f.Namespace+" && "+label, "namespace %s does not exist", f.Namespace)
	}
	level := f.NamespaceObject.Value.Labels[enforce]
	switch {
	case strings.Contains(f.PodAdmission.Value, violates):
		return found(Fail, label, "namespace %s does not take the pods of runs: %s", f.Namespace, excerpt.Line(f.PodAdmission.Value, 400))
	case level == "privileged":
		return fine("namespace %s has the level privileged", f.Namespace)
	case level != "":
		return found(Fail, label, "namespace %s has the level %s, and pods of runs need privileged", f.Namespace, level)
	case f.PodAdmission.Err != nil:
		return found(Unknown, label, "namespace %s has no level, that of the cluster holds, and the API server does not say which: %v", f.Namespace, f.PodAdmission.Err)
	case f.PodAdmission.Value != "":
		return found(Unknown, label, "namespace %s has no level, that of the cluster holds, and a pod was refused for another reason: %s", f.Namespace, excerpt.Line(f.PodAdmission.Value, 400))
	}
	return fine("namespace %s takes pods as runs have them, by the cluster's level", f.Namespace)
}

// offersMachines reports whether a testbed offers ports of virtual machines alone.
func offersMachines(t *v1alpha1.Testbed) bool {
	return slices.ContainsFunc(t.Spec.SystemUnderTest.Attachments, func(a v1alpha1.Attachment) bool {
		switch a {
		case v1alpha1.AttachmentVirtio, v1alpha1.AttachmentE1000, v1alpha1.AttachmentE1000e, v1alpha1.AttachmentRTL8139:
			return true
		}
		return false
	})
}
