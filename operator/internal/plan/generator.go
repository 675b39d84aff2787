package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/generator"
	"vnfbench.io/operator/internal/generator/registry"
	"vnfbench.io/operator/internal/measure"
)

// Generator is the traffic pod.
type Generator struct {
	Image       string              `json:"image"`
	Resources   Resources           `json:"resources"`
	Tolerations []corev1.Toleration `json:"tolerations,omitempty" digest:"-"`
	generator.Pod
}

// fromFrameToFrame are the metrics that need the delay variation of each frame.
var fromFrameToFrame = []v1alpha1.Metric{
	v1alpha1.MetricDelayVariationP99, v1alpha1.MetricJitterMean, v1alpha1.MetricJitterP99, v1alpha1.MetricJitterMax,
}

// requirements lists what a run asks of its generator, one for each limit. Each says which field
// asks for what, and how a user avoids it.
var requirements = []struct {
	// field of the run's spec, and what to do with it.
	field, remedy string
	offers        func(generator.Limits) bool
	// asks returns what the field asks for, and "" where it asks for nothing of the kind.
	asks func(run v1alpha1.Experiment) string
}{
	{"traffic.packets", "leave it out", func(l generator.Limits) bool { return l.Fragments }, func(run v1alpha1.Experiment) string {
		if len(run.Traffic.Packets) == 0 {
			return ""
		}
		return "packets in fragments"
	}},
	// Where each field takes its own random value, pairs of values are not flows.
	{"traffic.flows", "lower it, or use flowOrder Sequential", func(l generator.Limits) bool { return l.RandomTuples }, func(run v1alpha1.Experiment) string {
		flows := flowsOf(run.Traffic)
		if flows == nil || !flows.Random {
			return ""
		}
		for _, field := range flows.Fields {
			if most := (measure.Flows{Count: measure.MaximumFlows, Fields: flows.Fields}).Values(field); flows.Count > most {
				return fmt.Sprintf("%d flows in random order, of which %s distinguishes %d", flows.Count, field, most)
			}
		}
		return ""
	}},
	{"chain", "use addressResolution Static for it", func(l generator.Limits) bool { return l.Resolution }, func(run v1alpha1.Experiment) string {
		for _, i := range outermost(run.Chain) {
			if f := run.Chain[i]; f.AddressResolution == v1alpha1.AddressResolutionDynamic {
				return fmt.Sprintf("addressResolution Dynamic of function %q next to the generator", f.Name)
			}
		}
		return ""
	}},
	{"acceptance", "use PacketDelayVariationP99Nanoseconds", func(l generator.Limits) bool { return l.DelayVariation }, func(run v1alpha1.Experiment) string {
		for _, criterion := range run.Acceptance {
			if slices.Contains(fromFrameToFrame, criterion.Metric) {
				return fmt.Sprintf("a verdict on %s (%q)", criterion.Metric, criterion.Name)
			}
		}
		return ""
	}},
}

// generatorOf returns the testbed's generator, and nil where it has an unknown name, which
// CheckGenerator refuses.
func generatorOf(testbed *v1alpha1.Testbed) *generator.Generator {
	return registry.Of(testbed.Spec.Generator.Driver)
}

// limitsOf returns the limits of the testbed's generator, and none where it is not known.
func limitsOf(testbed *v1alpha1.Testbed) generator.Limits {
	if g := generatorOf(testbed); g != nil {
		return g.Limits
	}
	return generator.Limits{}
}

// CheckGenerator returns what about a testbed's generator forbids every run, and cannot be known
// at admission; nil where nothing does.
func CheckGenerator(testbed *v1alpha1.Testbed, defaults Defaults) *measure.Failure {
	g := generatorOf(testbed)
	if g == nil {
		return &measure.Failure{
			Reason: v1alpha1.ReasonNotOfferedByDriver,
			Remedy: fmt.Sprintf("set the testbed's spec.generator.driver to one of %s", names(registry.Offering(func(generator.Limits) bool { return true }), ", ")),
			Err:    fmt.Errorf("testbed %q has driver %q, which this operator does not have", testbed.Name, testbed.Spec.Generator.Driver),
		}
	}
	if own := g.OwnImage; own != nil && testbed.Spec.Generator.Image == "" && defaults.GeneratorImages[g.Name] == "" {
		return &measure.Failure{
			Reason: v1alpha1.ReasonImageMissing,
			Remedy: fmt.Sprintf("build one by %s and name it in the testbed's spec.generator.image, or for all testbeds in the chart's value generatorImages.%s", own.Guide, g.Name),
			Err:    fmt.Errorf("testbed %q has driver %s, of which this project ships no image, and names none", testbed.Name, g.Name),
		}
	}
	if g.Check == nil {
		return nil
	}
	return g.Check(testbed)
}

func checkGenerator(in Input) error {
	if failure := CheckGenerator(in.Testbed, in.Defaults); failure != nil {
		return failure
	}
	for _, r := range requirements {
		if r.offers(limitsOf(in.Testbed)) {
			continue
		}
		if asks := r.asks(in.Run.Spec.Experiment); asks != "" {
			return fail(v1alpha1.ReasonNotOfferedByDriver,
				fmt.Sprintf("in the run's spec.experiment.%s, %s%s", r.field, r.remedy, orUse("; or", r.offers)),
				"spec.experiment.%s asks for %s, which driver %s of testbed %q does not offer", r.field, asks, in.Testbed.Spec.Generator.Driver, in.Testbed.Name)
		}
	}
	return nil
}

// orUse returns the end of a remedy: which generators offer it, "" where none does.
func orUse(or string, offers func(generator.Limits) bool) string {
	if offering := registry.Offering(offers); len(offering) > 0 {
		return fmt.Sprintf("%s use a testbed with driver %s", or, names(offering, " or "))
	}
	return ""
}

func names(drivers []v1alpha1.GeneratorDriver, separator string) string {
	var texts []string
	for _, d := range drivers {
		texts = append(texts, string(d))
	}
	return strings.Join(texts, separator)
}

// trafficPod returns the testbed's traffic pod.
func trafficPod(in Input) Generator {
	g, spec := generatorOf(in.Testbed), in.Testbed.Spec.Generator
	image := in.Defaults.TrafficImage
	if g.OwnImage != nil {
		image = in.Defaults.GeneratorImages[g.Name]
	}
	return Generator{
		Image:       cmp.Or(spec.Image, image),
		Resources:   resourcesOf(spec.CPU, defaultGeneratorMilliCPU, spec.Memory, g.DefaultMemory),
		Tolerations: spec.Tolerations,
		Pod:         g.Pod(in.Testbed),
	}
}

// driverOf returns the settings of the testbed's driver for the measurer's instructions.
func driverOf(in Input, segments []Segment) (measure.DriverSettings, error) {
	g := generatorOf(in.Testbed)
	west, east := segments[0].West, segments[len(segments)-1].East
	settings, err := g.Settings(in.Testbed, [2]generator.Port{
		{Side: west.Interface, Network: west.Network, ResourceName: west.ResourceName},
		{Side: east.Interface, Network: east.Network, ResourceName: east.ResourceName},
	})
	if err != nil {
		return measure.DriverSettings{}, err
	}
	return measure.NewDriverSettings(string(g.Name), settings)
}

// hugepagesNeeds returns what the traffic pod and users' own containers take of hugepages, and what VMs
// take of the same size on the same node. What VMs take alone is checked with their nodes.
func hugepagesNeeds(testbed *v1alpha1.Testbed, pages *generator.Hugepages, functions []Function) []need {
	var needs []need
	for _, size := range []v1alpha1.HugepageSize{"1Gi", "2Mi"} {
		name := generator.HugepagesResource(size)
		n := need{
			resource: string(name), unit: " bytes",
			allocatable: func(node *corev1.Node) int64 {
				quantity := node.Status.Allocatable[name]
				return quantity.Value()
			},
			reason: v1alpha1.ReasonInsufficientHugepages,
			remedy: fmt.Sprintf("set aside more pages of %s on a node and restart its kubelet", size),
		}
		if pages != nil && pages.PageSize == size {
			n.generator = pages.Bytes
			field := generatorOf(testbed).Field()
			n.remedy += fmt.Sprintf(", or lower the testbed's %s.hugepages.memory, or set its pageSize to what the nodes have", field)
		}
		var ofVMs int64
		for _, f := range functions {
			switch {
			case f.IsVM() && f.VM.Hugepages == size:
				ofVMs += f.VM.MemoryBytes
			case f.Container != nil && f.Container.Hugepages != nil && f.Container.Hugepages.PageSize == size:
				n.functions += f.Container.Hugepages.Bytes
			}
		}
		if n.functions > 0 {
			n.remedy += ", or change custom.container.hugepages in the run's spec.experiment.chain"
		}
		if n.generator+n.functions > 0 {
			n.functions += ofVMs
			needs = append(needs, n)
		}
	}
	return needs
}

// missingHugepages returns what any run takes of hugepages.
func missingHugepages(testbed *v1alpha1.Testbed) []need {
	if g := generatorOf(testbed); g != nil {
		return hugepagesNeeds(testbed, g.Pod(testbed).Hugepages, nil)
	}
	return nil
}

// hasCongestionControl returns a check whether a generator's TCP, or the kernel's between the
// endpoints, offers an algorithm.
func hasCongestionControl(algorithm string) func(generator.Limits) bool {
	return func(l generator.Limits) bool {
		return l.Stateful == nil || slices.Contains(l.Stateful.CongestionControls, algorithm)
	}
}
