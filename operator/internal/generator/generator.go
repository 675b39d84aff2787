// Package generator describes a traffic generator to everything that decides about a run
// before the run starts: its name, its limits, what it refuses, its settings and its pod.
// Only the measurer links the other half of a generator, a measure.Opener.
//
// Each generator's folder has a package planning, which makes one Generator, and package
// registry lists them. The plan holds everything that is decided here.
package generator

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// Generator is one traffic generator as the plan sees it. All of it is pure.
type Generator struct {
	// Name is the API's: a Testbed's spec.generator.driver.
	Name   v1alpha1.GeneratorDriver
	Limits Limits
	// OwnImage is nil if the operator's own image of the measurer has all that the
	// generator needs.
	OwnImage *OwnImage
	// DefaultMemory is the traffic pod's if a testbed names none.
	DefaultMemory v1alpha1.ByteQuantity
	// Check returns what in a testbed's settings forbids every run and cannot be known at
	// admission, or nil. A nil Check refuses nothing.
	Check func(testbed *v1alpha1.Testbed) *measure.Failure
	// Pod returns what the traffic pod needs for the generator.
	Pod func(testbed *v1alpha1.Testbed) Pod
	// Settings returns what the measurer's driver reads, as a value that JSON can encode,
	// or why a testbed with these traffic ports, west and east, cannot have it.
	Settings func(testbed *v1alpha1.Testbed, ports [2]Port) (any, error)
}

// Field returns the path of a generator's settings in a testbed: by rule in
// spec.generator, at its name in lower case.
func (g *Generator) Field() string { return "spec.generator." + strings.ToLower(string(g.Name)) }

// Limits are what a run can ask of a generator.
type Limits struct {
	// MaxFrameBytes is the largest frame that it sends, with the check sequence and
	// without a tag.
	MaxFrameBytes int
	// Fragments says that it sends packets in fragments, and TaggedFragments that it also
	// does so on a path with VLAN tags.
	Fragments, TaggedFragments bool
	// RandomTuples says that with flows in random order a frame takes all fields of one
	// flow. Otherwise each field takes a separate random value.
	RandomTuples bool
	// ReceiveRing says that frames that are due wait in a ring while the device holds the core
	// that sends, so that a device on this core can lose them.
	ReceiveRing bool
	// Resolution says that its ports answer ARP and neighbor discovery, and ask for the device's
	// hardware address. Otherwise they send to the planned one, and answer nothing.
	Resolution bool
	// DelayVariation says that it measures the delay variation from frame to frame (IPDV),
	// and the jitter over a trial.
	DelayVariation bool
	// Stateful is nil if the generator has no TCP. Machines at the chain's ends then make
	// the TCP connections, and runs cannot measure connections.
	Stateful *StatefulLimits
}

// StatefulLimits are what a run can ask of a generator's own TCP.
type StatefulLimits struct {
	// Tagged says that it has VLAN tags, TargetRate that it can keep to a rate.
	Tagged, TargetRate bool
	// CongestionControls are the algorithms that it has, by the kernel's names.
	CongestionControls []string
}

// OwnImage is that of a generator that is not in the operator's own image of the
// measurer.
type OwnImage struct {
	// Guide is the page that says how to build the image, Rebuild the command that does.
	Guide, Rebuild string
}

// Port is a traffic port of the generator.
type Port struct {
	// Side is west or east, Network the NetworkAttachmentDefinition that it joins.
	Side, Network string
	// ResourceName is the device plugin's resource; empty where it takes none.
	ResourceName string
}

// Pod is what the traffic pod has in addition to the measurer's needs.
type Pod struct {
	// Capabilities are all that the container has.
	Capabilities []corev1.Capability `json:"capabilities"`
	// Directories are those that it may write to.
	Directories []Directory `json:"directories,omitempty"`
	// OwnsPorts says that the generator drives the ports itself: the kernel has no
	// interface for them, and the measurer needs to know their devices.
	OwnsPorts bool `json:"ownsPorts,omitempty"`
	// Hugepages are mounted at /dev/hugepages; nil where it has none.
	Hugepages *Hugepages `json:"hugepages,omitempty"`
}

// Directory is an empty directory of bounded size.
type Directory struct {
	Name     string `json:"name"`
	Path     string `json:"path"`
	MaxBytes int64  `json:"maxBytes"`
}

// Hugepages is the memory in large pages that a pod has.
type Hugepages struct {
	PageSize v1alpha1.HugepageSize `json:"pageSize"`
	Bytes    int64                 `json:"bytes"`
}

// Resource returns the name by which a pod requests them.
func (h *Hugepages) Resource() corev1.ResourceName { return HugepagesResource(h.PageSize) }

// HugepagesResource returns the name of a node's resource of one page size.
func HugepagesResource(size v1alpha1.HugepageSize) corev1.ResourceName {
	return corev1.ResourceName(corev1.ResourceHugePagesPrefix + string(size))
}
