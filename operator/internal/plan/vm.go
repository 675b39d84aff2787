package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/generator"
)

// VM is the virtual machine that a function or a neighbor runs in.
type VM struct {
	VCPUs       int32 `json:"vcpus"`
	MemoryBytes int64 `json:"memoryBytes"`
	// Queues is the number of queue pairs of each Virtio port.
	Queues       int32                 `json:"queues"`
	CPUPlacement v1alpha1.CPUPlacement `json:"cpuPlacement"`
	// WeightMilliCPU is what all vCPUs that share their cores request together; 0
	// is SharedMilliCPU for each.
	WeightMilliCPU int64                 `json:"weightMilliCPU,omitempty"`
	NUMA           v1alpha1.NUMAPolicy   `json:"numa"`
	Hugepages      v1alpha1.HugepageSize `json:"hugepages,omitempty"`
	Realtime       v1alpha1.Realtime     `json:"realtime"`
	Boot           v1alpha1.Boot         `json:"boot"`
	OnDifference   v1alpha1.OnDifference `json:"onDifference,omitempty" digest:"-"`
	// Custom is the user's own VM; nil for a reference function.
	Custom *Custom `json:"custom,omitempty"`
}

// Dedicated reports whether each vCPU has a dedicated core.
func (m *VM) Dedicated() bool { return m.CPUPlacement != v1alpha1.CPUPlacementShared }

// Isolated reports whether QEMU's own threads have a core too.
func (m *VM) Isolated() bool {
	return m.CPUPlacement == v1alpha1.CPUPlacementDedicatedWithIsolatedEmulator
}

// RequestMilliCPU returns what the vCPUs request.
func (m *VM) RequestMilliCPU() int64 {
	if m.Dedicated() {
		return int64(m.VCPUs) * 1000
	}
	return cmp.Or(m.WeightMilliCPU, int64(m.VCPUs)*SharedMilliCPU)
}

// IsVM reports whether the function runs in a virtual machine.
func (f *Function) IsVM() bool { return f.VM != nil }

// KubeVirt requests this for a VM's pod in addition to the guest's own memory:
// GetMemoryOverhead, the console's and the image's containers of KubeVirt 1.7. A cluster may have
// other settings; the scheduler decides.
const (
	mebibyte = 1 << 20

	// SharedMilliCPU is what a vCPU requests that shares its core, KubeVirt's own default.
	SharedMilliCPU = 100

	// pagetableShare of the memory, for the page tables.
	pagetableShare = 512
	// launcherBytes are launcher, its monitor, virtlogd, virtqemud and QEMU itself.
	launcherBytes = (100 + 25 + 25 + 40 + 30) * mebibyte
	// threadBytes are for each vCPU, and for the thread of the disks.
	threadBytes = 8 * mebibyte
	// guaranteedBytes are added where the pod's requests are its limits.
	guaranteedBytes = 100 * mebibyte
)

var (
	consoleAndImage           = Resources{RequestMilliCPU: 5 + 1, MemoryBytes: 36_000_000}
	consoleAndImageGuaranteed = Resources{RequestMilliCPU: 15 + 10, MemoryBytes: 100_000_000}
)

// applyVM puts a function into a virtual machine.
func applyVM(in Input, f *Function, spec *v1alpha1.NetworkFunction) {
	platform := spec.EffectivePlatform()
	f.VM = &VM{
		VCPUs:        platform.VCPUs,
		MemoryBytes:  platform.Memory.Bytes() + wholePages(plannerOf(spec.Function).memoryBytes(*f), platform.Hugepages),
		Queues:       queuesOf(spec, platform),
		CPUPlacement: platform.CPUPlacement,
		NUMA:         platform.NUMA,
		Hugepages:    platform.Hugepages,
		Realtime:     platform.Realtime,
		Boot:         platform.Boot,
		OnDifference: platform.OnDifference,
	}
	f.Image = cmp.Or(in.Testbed.Spec.SystemUnderTest.GuestImage, in.Defaults.GuestImage)
	if spec.Custom != nil {
		f.VM.Boot = v1alpha1.BootDisk
		f.VM.Custom = customOf(spec.Custom.Effective())
		f.VM.Custom.ManagementMAC = strings.ToLower(in.Testbed.Spec.SystemUnderTest.MACAddressesOf(*spec).Management)
		f.Image = spec.Custom.ContainerDisk
	}
	f.Resources = f.VM.requests()
	if f.hasDevices() {
		f.Resources.MemoryBytes += vfioBytes
	}
	for i := range f.Config.Ports {
		// The guest names its NICs itself: the function finds them by their MAC addresses.
		f.Config.Ports[i].Interface = ""
	}
}

// wholePages rounds up to the size of the pages that back a VM's memory,
// without hugepages to mebibytes.
func wholePages(bytes int64, hugepages v1alpha1.HugepageSize) int64 {
	page := int64(mebibyte)
	if hugepages != "" {
		page = v1alpha1.ByteQuantity(hugepages).Bytes()
	}
	return (bytes + page - 1) / page * page
}

// queuesOf returns the queue pairs of the Virtio ports; admission ensures that both ports agree.
func queuesOf(spec *v1alpha1.NetworkFunction, platform v1alpha1.Platform) int32 {
	for _, port := range []v1alpha1.FunctionPort{spec.West, spec.East} {
		if port.Queues != nil {
			return *port.Queues
		}
	}
	return platform.VCPUs
}

// requests returns those of the pod in which KubeVirt runs the VM. Memory of hugepages is
// counted separately.
func (m *VM) requests() Resources {
	r := Resources{
		RequestMilliCPU: m.RequestMilliCPU(),
		MemoryBytes:     m.MemoryBytes/pagetableShare + launcherBytes + (int64(m.VCPUs)+1)*threadBytes,
	}
	overhead := consoleAndImage
	if m.Dedicated() {
		r.MemoryBytes += guaranteedBytes
		overhead = consoleAndImageGuaranteed
	}
	if m.Isolated() {
		r.RequestMilliCPU += 1000
	}
	if m.Hugepages == "" {
		r.MemoryBytes += m.MemoryBytes
	}
	r.RequestMilliCPU += overhead.RequestMilliCPU
	r.MemoryBytes += overhead.MemoryBytes
	return r
}

// checkKubeVirt checks that KubeVirt is there if a function or a neighbor is a virtual machine.
func checkKubeVirt(in Input) error {
	if in.KubeVirt {
		return nil
	}
	lacking := func(what, name, field string) error {
		return fail(v1alpha1.ReasonKubeVirtNotInstalled,
			fmt.Sprintf("install KubeVirt on the cluster and apply the run under a new name, or set the %s's runtime to Pod in the run's %s", what, field),
			"%s %q is a virtual machine, but the cluster does not know the kind VirtualMachineInstance of kubevirt.io/v1", what, name)
	}
	for _, function := range in.Run.Spec.Experiment.Chain {
		if function.Runtime == v1alpha1.RuntimeVirtualMachine {
			return lacking("function", function.Name, "spec.experiment.chain")
		}
	}
	for _, neighbor := range in.Run.Spec.Experiment.NoisyNeighbors {
		if neighbor.Runtime == v1alpha1.RuntimeVirtualMachine {
			return lacking("neighbor", neighbor.Name, "spec.experiment.noisyNeighbors")
		}
	}
	return nil
}

// vms returns the virtual machines of the chain and of its neighbors.
func (p *Plan) vms() []*VM {
	var found []*VM
	for _, f := range p.Functions {
		if f.IsVM() {
			found = append(found, f.VM)
		}
	}
	for _, n := range p.Neighbors {
		if n.IsVM() {
			found = append(found, n.VM)
		}
	}
	return found
}

// forVMs keeps the nodes on which KubeVirt runs the run's VMs.
func (c candidates) forVMs(vms []*VM) (candidates, error) {
	labels := vmLabels(vms)
	if labels == nil {
		return c, nil
	}
	for _, wanted := range labels {
		c = c.keepDevices(func(n *corev1.Node) bool { return wanted.matches(n) })
		if len(c.devices) == 0 {
			return c, fail(v1alpha1.ReasonNoMatchingNode, wanted.remedy,
				"the run has a virtual machine, but no node that spec.systemUnderTest.nodeSelector of the testbed matches has the label %s", wanted)
		}
	}
	pages := map[corev1.ResourceName]int64{}
	for _, m := range vms {
		if m.Hugepages != "" {
			pages[generator.HugepagesResource(m.Hugepages)] += m.MemoryBytes
		}
	}
	for _, size := range []v1alpha1.HugepageSize{"2Mi", "1Gi"} {
		name := generator.HugepagesResource(size)
		wanted := pages[name]
		c = c.keepDevices(func(n *corev1.Node) bool {
			has := n.Status.Allocatable[name]
			return wanted <= has.Value()
		})
		if len(c.devices) == 0 {
			return c, fail(v1alpha1.ReasonInsufficientHugepages,
				"set aside more pages of this size on a node and restart its kubelet, or lower platform.memory or leave out platform.hugepages in the run's spec.experiment.chain",
				"the chain's virtual machines ask for %s of %s, but no node that matches has that much allocatable",
				resource.NewQuantity(wanted, resource.BinarySI), name)
		}
	}
	return c, nil
}

// keepDevices keeps the nodes for the functions that match; those for the generator too where
// both must be one node.
func (c candidates) keepDevices(match func(*corev1.Node) bool) candidates {
	drop := func(n *corev1.Node) bool { return !match(n) }
	c.devices = slices.DeleteFunc(slices.Clone(c.devices), drop)
	if c.together {
		c.generators = c.devices
	}
	return c
}

// nodeLabel is a label that KubeVirt asks of a VM's node; an empty value means any.
type nodeLabel struct {
	// keys are its name in KubeVirt's versions, the oldest first.
	keys          []string
	value, remedy string
}

func (l nodeLabel) String() string { return strings.TrimSuffix(l.keys[0]+"="+l.value, "=") }

func (l nodeLabel) matches(node *corev1.Node) bool {
	return slices.ContainsFunc(l.keys, func(key string) bool {
		value, found := node.Labels[key]
		return found && (l.value == "" || value == l.value)
	})
}

// vmLabels returns what KubeVirt's scheduling asks of the node of the run's VMs, and
// nil where there is none.
func vmLabels(vms []*VM) []nodeLabel {
	if len(vms) == 0 {
		return nil
	}
	var dedicated, realtime bool
	for _, m := range vms {
		dedicated = dedicated || m.Dedicated()
		realtime = realtime || m.Realtime == v1alpha1.RealtimeEnabled
	}
	labels := []nodeLabel{{[]string{kubevirtv1.NodeSchedulable}, "true", "KubeVirt's virt-handler sets it where it runs: look at its pods, and at the placement in the KubeVirt resource"}}
	if dedicated {
		labels = append(labels, nodeLabel{[]string{kubevirtv1.DeprecatedCPUManager, kubevirtv1.CPUManager}, "true", "dedicated CPUs need the kubelet's static CPU manager and KubeVirt's feature gate CPUManager; or set platform.cpuPlacement Shared in the run's spec.experiment.chain"})
	}
	if realtime {
		labels = append(labels, nodeLabel{[]string{kubevirtv1.RealtimeLabel}, "", "KubeVirt sets it where kernel.sched_rt_runtime_us is -1; or set platform.realtime Disabled in the run's spec.experiment.chain"})
	}
	return labels
}

// ofVMs adds to a remedy the field in which virtual machines say what they need.
func ofVMs(functions []Function, field string) string {
	if !slices.ContainsFunc(functions, func(f Function) bool { return f.IsVM() }) {
		return ""
	}
	if field == "cpu" {
		return " or platform.vcpus"
	}
	return " or platform." + field
}
