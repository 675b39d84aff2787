// Package generator says what a traffic generator is to everything that decides
// about a run before anything runs: its name, its limits, what it refuses, its
// settings and its pod. The other half of a generator, a measure.Opener, is linked
// into the measurer alone.
//
// A generator's folder has a package planning that makes one Generator of this, and
// package registry lists them. What is decided here is written into the plan.
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
	// OwnImage is nil where the operator's own image of the measurer has all that
	// the generator needs.
	OwnImage *OwnImage
	// DefaultMemory of the traffic pod, where a testbed names none.
	DefaultMemory string
	// Check returns what of a testbed's settings forbids every run and cannot be
	// known at admission; nil where nothing does. A nil Check refuses nothing.
	Check func(testbed *v1alpha1.Testbed) *measure.Failure
	// Pod returns what the traffic pod has for the generator.
	Pod func(testbed *v1alpha1.Testbed) Pod
	// Settings returns what the measurer's driver reads, as a value that JSON can
	// write, or why a testbed with these traffic ports, west and east, cannot have it.
	Settings func(testbed *v1alpha1.Testbed, ports [2]Port) (any, error)
}

// Field is where a testbed has the settings of a generator: by rule in
// spec.generator, at its name in lower case.
func (g *Generator) Field() string { return "spec.generator." + strings.ToLower(string(g.Name)) }

// Limits are what a generator can be asked for.
type Limits struct {
	// MaxFrameBytes is the largest frame that it sends, check sequence included and
	// without a tag.
	MaxFrameBytes int
	// Fragments says that it sends packets in fragments, and TaggedFragments that it
	// does so on a path with VLAN tags too.
	Fragments, TaggedFragments bool
	// RandomTuples says that of flows in random order a frame takes all fields of
	// one flow. Otherwise each field takes a random value of its own.
	RandomTuples bool
	// DelayVariation says that it measures the delay variation from frame to frame
	// (IPDV), and not just its mean.
	DelayVariation bool
	// Stateful is nil where it has no TCP of its own. TCP is then made between
	// machines at the chain's ends, and connections cannot be measured.
	Stateful *StatefulLimits
}

// StatefulLimits are what a generator's own TCP can be asked for.
type StatefulLimits struct {
	// Tagged says that it has VLAN tags, TargetRate that it can be held to a rate.
	Tagged, TargetRate bool
	// CongestionControls are the algorithms that it has, by the kernel's names.
	CongestionControls []string
}

// OwnImage is that of a generator that the operator's own image of the measurer
// does not have.
type OwnImage struct {
	// Guide is the page that says how to build one, Rebuild the command that does.
	Guide, Rebuild string
}

// Port is a traffic port of the generator.
type Port struct {
	// Side is west or east, Network the NetworkAttachmentDefinition that it joins.
	Side, Network string
	// ResourceName is the device plugin's resource; empty where it takes none.
	ResourceName string
}

// Pod is what the traffic pod has beside the measurer's own needs.
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

// Directory is an empty one of bounded size.
type Directory struct {
	Name     string `json:"name"`
	Path     string `json:"path"`
	MaxBytes int64  `json:"maxBytes"`
}

// Hugepages are what a pod has of memory in large pages.
type Hugepages struct {
	PageSize v1alpha1.HugepageSize `json:"pageSize"`
	Bytes    int64                 `json:"bytes"`
}

// Resource is the name by which a pod asks for them.
func (h *Hugepages) Resource() corev1.ResourceName { return HugepagesResource(h.PageSize) }

// HugepagesResource is the name of a node's resource of one page size.
func HugepagesResource(size v1alpha1.HugepageSize) corev1.ResourceName {
	return corev1.ResourceName(corev1.ResourceHugePagesPrefix + string(size))
}
