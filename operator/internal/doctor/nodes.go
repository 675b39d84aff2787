package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/version"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/nodefacts"
	"vnfbench.io/operator/internal/placement"
	"vnfbench.io/operator/internal/plan"
)

const listNodes = "list nodes"

// usable are the nodes that take pods of runs: those that a testbed names, or without testbeds all that take a pod.
func (f Facts) usable() []corev1.Node {
	var out []corev1.Node
	for i := range f.Nodes.Value {
		node := &f.Nodes.Value[i]
		takes := len(f.Testbeds.Value) == 0 && placement.Find(node, nil, nil) == nil
		for _, t := range f.Testbeds.Value {
			generator, device := t.Spec.Generator, t.Spec.SystemUnderTest
			takes = takes || placement.Find(node, generator.NodeSelector, generator.Tolerations) == nil ||
				placement.Find(node, device.NodeSelector, device.Tolerations) == nil
		}
		if takes {
			out = append(out, *node)
		}
	}
	return out
}

func nodes(f Facts) Finding {
	if f.Nodes.Err != nil {
		return unanswered(f.Nodes.Err, listNodes)
	}
	var unmatched []string
	for i := range f.Testbeds.Value {
		if t := &f.Testbeds.Value[i]; !plan.Matches(t, f.Nodes.Value) {
			unmatched = append(unmatched, t.Name)
		}
	}
	usable := f.usable()
	switch {
	case len(unmatched) > 0:
		return found(Fail, "change spec.generator and spec.systemUnderTest of the Testbed (nodeSelector, tolerations), or the nodes", "no node takes what these Testbeds place: %s", excerpt.List(unmatched, ", "))
	case len(usable) == 0:
		return found(Fail, "make a node ready, uncordon one, or tolerate its taint in the Testbed", "none of %s takes pods", plural(len(f.Nodes.Value), "node"))
	}
	return fine("%d of %s can take runs", len(usable), plural(len(f.Nodes.Value), "node"))
}

// tuning says where the settings of nodes are explained.
const tuning = "see how-to/tune-a-node.md" + documentation

// oldestKernel is the first that sends live frames by BPF_PROG_RUN, as docs/how-to/install.md says.
var oldestKernel = version.MustParseGeneric("5.18.0")

func kernels(f Facts) Finding {
	if f.Nodes.Err != nil {
		return unanswered(f.Nodes.Err, listNodes)
	}
	usable := f.usable()
	releases := map[string]bool{}
	var old, unread, starving []string
	for _, node := range usable {
		release := node.Status.NodeInfo.KernelVersion
		named := fmt.Sprintf("%s (%s)", node.Name, release)
		releases[release] = true
		number, err := version.ParseGeneric(release)
		switch {
		case err != nil:
			unread = append(unread, named)
		case number.LessThan(oldestKernel):
			old = append(old, named)
		case nodefacts.StarvesSoftirqs(release):
			starving = append(starving, named)
		}
	}
	const upgrade = "use Linux 5.18 or newer on the nodes that make traffic (6.5 or newer is better), or choose others in the Testbed's spec.generator.nodeSelector"
	switch {
	case len(usable) == 0:
		return found(Unknown, "see the check nodes", "no node takes runs")
	case len(old) == len(usable):
		return found(Fail, upgrade, "no kernel sends live frames by BPF_PROG_RUN: %s", excerpt.List(old, ", "))
	case len(old) > 0:
		return found(Warning, upgrade, "kernels that cannot send live frames by BPF_PROG_RUN: %s", excerpt.List(old, ", "))
	case len(unread) > 0:
		return found(Unknown, "look at `uname -r` on the node", "versions that cannot be read: %s", excerpt.List(unread, ", "))
	case len(starving) > 0:
		return found(Warning, "use Linux 6.5 or newer: older ones leave network work to ksoftirqd, which other threads delay", "older than 6.5: %s", excerpt.List(starving, ", "))
	}
	return fine("Linux %s", excerpt.List(slices.Sorted(maps.Keys(releases)), ", "))
}

// bpf follows from runs: the API does not show what the kernel of a node allows.
func bpf(f Facts) Finding {
	var proven []string
	for _, t := range f.Testbeds.Value {
		if t.Spec.Generator.Driver != v1alpha1.DriverTRex && t.Status.Calibration != nil {
			proven = append(proven, t.Name)
		}
	}
	if len(proven) == 0 {
		return found(Unknown, "look on the nodes that make traffic: the file /sys/kernel/security/lockdown must not be [confidentiality], and /boot/config-$(uname -r) has CONFIG_BPF_SYSCALL=y, CONFIG_BPF_JIT=y and CONFIG_VETH",
			"no run has made traffic with the driver XDP yet, and the API does not show what a kernel allows")
	}
	return fine("runs have made traffic with the driver XDP on Testbed %s", excerpt.List(proven, ", "))
}

func cpuManagers(f Facts) Finding {
	if f.Nodes.Err != nil {
		return unanswered(f.Nodes.Err, listNodes)
	}
	var static, shared, unread []string
	var why error
	for _, node := range f.usable() {
		answer, asked := f.Kubelets[node.Name]
		switch {
		case asked && answer.Err == nil && answer.Value.CPUManagerPolicy == "static", (!asked || answer.Err != nil) && labeledStatic(&node):
			static = append(static, node.Name)
		case asked && answer.Err == nil:
			shared = append(shared, node.Name)
		default:
			unread, why = append(unread, node.Name), answer.Err
		}
	}
	const remedy = "for figures that are as steady as the node allows, set the kubelet's cpuManagerPolicy: static, and whole CPUs in the Testbed's spec.generator.cpu: " + tuning
	switch {
	case len(shared) > 0 && f.wantsCores():
		return found(Fail, remedy, "a Testbed asks for dedicated cores (spec.generator.xdp.scheduling RealTime, or spec.generator.trex.mode DPDK), and the CPU manager is not static on %s", excerpt.List(shared, ", "))
	case len(shared) > 0:
		return found(Warning, remedy, "the CPU manager is not static on %s", excerpt.List(shared, ", "))
	case len(unread) > 0:
		return found(Unknown, "run this command as a user who may get nodes/proxy, or look at cpuManagerPolicy in the kubelet's configuration", "the settings of the kubelet are not known on %s: %v", excerpt.List(unread, ", "), why)
	case len(static) == 0:
		return found(Unknown, "see the check nodes", "no node takes runs")
	}
	return fine("static on %s", excerpt.List(static, ", "))
}

// labeledStatic reports whether KubeVirt, in any of its versions, has found that the node's CPU manager is static.
func labeledStatic(node *corev1.Node) bool {
	return node.Labels[kubevirtv1.CPUManager] == "true" || node.Labels[kubevirtv1.DeprecatedCPUManager] == "true"
}

// wantsCores reports whether a testbed has threads that need a core each.
func (f Facts) wantsCores() bool {
	return slices.ContainsFunc(f.Testbeds.Value, func(t v1alpha1.Testbed) bool {
		g := t.Spec.Generator
		return g.XDP.Scheduling == v1alpha1.SchedulingRealTime || g.TRex != nil && g.TRex.Mode == v1alpha1.TRexDPDK
	})
}

// platforms says what the fingerprints of nodes show that makes figures unsteady.
func platforms(f Facts) Finding {
	var doubts, read []string
	for _, t := range f.Testbeds.Value {
		for _, node := range t.Status.Nodes {
			if node.Fingerprint == nil || slices.Contains(read, node.Name) {
				continue
			}
			read = append(read, node.Name)
			if other := slices.DeleteFunc(slices.Clone(node.Fingerprint.ScalingGovernors), func(g string) bool { return g == "performance" }); len(other) > 0 {
				doubts = append(doubts, fmt.Sprintf("%s has the scaling governor %s", node.Name, strings.Join(other, " ")))
			}
			if node.Fingerprint.Turbo == "Enabled" {
				doubts = append(doubts, node.Name+" has turbo")
			}
			if node.Fingerprint.Hypervisor != "" {
				doubts = append(doubts, node.Name+" is a virtual machine")
			}
			if node.Fingerprint.SMT == "on" {
				doubts = append(doubts, node.Name+" has SMT")
			}
		}
	}
	switch {
	case len(read) == 0:
		return found(Unknown, "make a run: its observer reads governors, turbo, isolated CPUs and more of the node", "no run has read a node yet")
	case len(doubts) > 0:
		return found(Warning, "figures may be unsteady: "+tuning, "%s", excerpt.List(doubts, "; "))
	}
	return fine("what runs have read of %s makes no figure unsteady", excerpt.List(read, ", "))
}

func hugePages(f Facts) Finding {
	if f.Nodes.Err != nil {
		return unanswered(f.Nodes.Err, listNodes)
	}
	if lacking := f.lacking(v1alpha1.ReasonInsufficientHugepages); lacking != "" {
		return found(Fail, "set them aside when the node starts: "+tuning, "%s", lacking)
	}
	pools := f.offered(func(name corev1.ResourceName) bool {
		return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
	})
	if len(pools) == 0 {
		return fine("no node has any, and no Testbed asks for them; the driver TRex with DPDK and tuned virtual machines need them")
	}
	return fine("%s", excerpt.List(pools, ", "))
}

func devicePlugins(f Facts) Finding {
	if f.Nodes.Err != nil {
		return unanswered(f.Nodes.Err, listNodes)
	}
	if lacking := f.lacking(v1alpha1.ReasonResourceMissing); lacking != "" {
		return found(Fail, "make the virtual functions, and let the device plugin offer them: see how-to/sriov.md"+documentation, "%s", lacking)
	}
	pools := f.offered(func(name corev1.ResourceName) bool {
		return strings.Contains(string(name), "/") && !strings.HasPrefix(string(name), "devices.kubevirt.io/")
	})
	if len(pools) == 0 {
		return fine("no node offers devices such as virtual functions, and no Testbed asks for them")
	}
	return fine("%s", excerpt.List(pools, ", "))
}

// lacking returns what testbeds name and their nodes do not offer, of the resources that fail with a reason.
func (f Facts) lacking(reason string) string {
	var out []string
	for i := range f.Testbeds.Value {
		t := &f.Testbeds.Value[i]
		if failure := plan.MissingResource(t, f.Nodes.Value); failure != nil && failure.Reason == reason {
			out = append(out, fmt.Sprintf("Testbed %s: %v", t.Name, failure.Err))
		}
	}
	return excerpt.List(out, "; ")
}

// offered returns what nodes can give of resources, all nodes together.
func (f Facts) offered(isAsked func(corev1.ResourceName) bool) []string {
	sums := map[corev1.ResourceName]*resource.Quantity{}
	for _, node := range f.usable() {
		for name, amount := range node.Status.Allocatable {
			if amount.IsZero() || !isAsked(name) {
				continue
			}
			if sums[name] == nil {
				sums[name] = &resource.Quantity{Format: amount.Format}
			}
			sums[name].Add(amount)
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		out = append(out, fmt.Sprintf("%s: %s", name, sums[name]))
	}
	return out
}
