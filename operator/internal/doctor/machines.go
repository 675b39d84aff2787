package doctor

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/internal/excerpt"
)

// oldestKubeVirt is the oldest version that docs/how-to/virtual-machines.md names.
var oldestKubeVirt = version.MustParseGeneric("1.7.0")

// machinesGuide says where virtual machines are explained.
const machinesGuide = "see how-to/virtual-machines.md" + documentation

const (
	kvmDevice   corev1.ResourceName = "devices.kubevirt.io/kvm"
	vhostDevice corev1.ResourceName = "devices.kubevirt.io/vhost-net"
)

func kubeVirt(f Facts) Finding {
	var wanting []string
	for i := range f.Testbeds.Value {
		if offersMachines(&f.Testbeds.Value[i]) {
			wanting = append(wanting, f.Testbeds.Value[i].Name)
		}
	}
	switch has, err := f.has(kubeVirtVersion, "kubevirts"); {
	case err != nil:
		return unanswered(err, "read the API server's discovery")
	case !has && len(wanting) > 0:
		return found(Fail, "install KubeVirt 1.7 or newer: "+machinesGuide, "Testbed %s offers ports of virtual machines, and KubeVirt is not installed", excerpt.List(wanting, ", "))
	case !has:
		return fine("not installed: functions run in pods alone")
	case f.KubeVirts.Err != nil:
		return unanswered(f.KubeVirts.Err, "list kubevirts of all namespaces")
	case len(f.KubeVirts.Value) == 0:
		return found(Warning, "apply a KubeVirt resource: "+machinesGuide, "the kinds are there, and no KubeVirt resource is")
	}
	k := &f.KubeVirts.Value[0]
	current := k.Status.ObservedKubeVirtVersion
	number, err := version.ParseGeneric(current)
	switch {
	case k.Status.Phase != kubevirtv1.KubeVirtPhaseDeployed:
		return found(Warning, "wait until it is deployed: `kubectl get kubevirt -A`", "KubeVirt is in the phase %q", k.Status.Phase)
	case err != nil:
		return found(Unknown, "look at `kubectl get kubevirt -A -o yaml`", "the version %q of KubeVirt cannot be read", current)
	case number.LessThan(oldestKubeVirt):
		return found(Fail, "upgrade KubeVirt to 1.7 or newer", "KubeVirt %s", current)
	}
	return f.machines(k, fmt.Sprintf("KubeVirt %s", current))
}

// machines says what the nodes and the settings of KubeVirt leave out.
func (f Facts) machines(k *kubevirtv1.KubeVirt, what string) Finding {
	if f.Nodes.Err != nil {
		return unanswered(f.Nodes.Err, listNodes)
	}
	var takes, withoutKVM, withoutVhost []string
	for _, node := range f.usable() {
		if node.Labels[kubevirtv1.NodeSchedulable] != "true" {
			continue
		}
		takes = append(takes, node.Name)
		if amount := node.Status.Allocatable[kvmDevice]; amount.IsZero() {
			withoutKVM = append(withoutKVM, node.Name)
		}
		if amount := node.Status.Allocatable[vhostDevice]; amount.IsZero() {
			withoutVhost = append(withoutVhost, node.Name)
		}
	}
	emulates, gates := false, []string(nil)
	if developer := k.Spec.Configuration.DeveloperConfiguration; developer != nil {
		emulates, gates = developer.UseEmulation, developer.FeatureGates
	}
	var doubts, remedies []string
	doubt := func(remedy, format string, arguments ...any) {
		doubts, remedies = append(doubts, fmt.Sprintf(format, arguments...)), append(remedies, remedy)
	}
	switch {
	case len(takes) == 0:
		return found(Fail, "look at the pods of virt-handler: it sets the label "+kubevirtv1.NodeSchedulable+"=true on nodes", "%s, and no node that takes runs takes virtual machines", what)
	case emulates && len(withoutKVM) > 0:
		doubt("compare no figures of virtual machines: "+machinesGuide, "the processor is emulated (useEmulation) where /dev/kvm is absent: %s", excerpt.List(withoutKVM, ", "))
	case len(withoutKVM) > 0:
		doubt("switch on VT-x or AMD-V, and load kvm_intel or kvm_amd", "no /dev/kvm on %s", excerpt.List(withoutKVM, ", "))
	}
	if len(withoutVhost) > 0 {
		doubt("load the kernel module vhost_net", "no /dev/vhost-net on %s, so QEMU itself copies frames", excerpt.List(withoutVhost, ", "))
	}
	for _, gate := range []struct{ name, use string }{{"CPUManager", "platform.cpuPlacement Dedicated"}, {"HostDevices", "whole NICs"}} {
		if !slices.Contains(gates, gate.name) {
			doubt(fmt.Sprintf("for %s add the feature gate %s in spec.configuration.developerConfiguration.featureGates of the KubeVirt resource", gate.use, gate.name), "the feature gate %s is off", gate.name)
		}
	}
	if len(doubts) > 0 {
		return found(Warning, strings.Join(remedies, "; "), "%s on %s: %s", what, plural(len(takes), "node"), strings.Join(doubts, "; "))
	}
	return fine("%s on %s, with KVM, vhost-net, and the feature gates CPUManager and HostDevices", what, plural(len(takes), "node"))
}
