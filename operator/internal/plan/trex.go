package plan

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// maximumExtraConfigurationBytes bounds what a testbed adds to TRex's configuration.
const maximumExtraConfigurationBytes = 4096

// defaultTRexMemory holds the server, its packet buffers in mode AFPacket, and
// the measurer.
var defaultTRexMemory = resource.MustParse("1Gi")

// reservedConfiguration is what the measurer alone says to TRex: which ports it
// takes, and where it listens. A server elsewhere would stand open to others.
var reservedConfiguration = []string{"ezqm_ch_port", "interfaces", "interfaces_vdevs", "port_limit", "telnet_port", "zmq_pub_port", "zmq_rpc_port"}

// notOfferedByTRex is the one list of what a run may ask of driver XDP and not of TRex.
var notOfferedByTRex = []struct {
	// field of the run's spec, and what to do with it.
	field, remedy string
	// asks is what the field asks for; empty where it asks for nothing of the kind.
	asks func(run v1alpha1.Experiment) string
}{
	// Its streams are whole packets.
	{"traffic.packets", "leave it out", func(run v1alpha1.Experiment) string {
		if len(run.Traffic.Packets) == 0 {
			return ""
		}
		return "packets in fragments"
	}},
	// Each field takes a random value of its own, so pairs of values are no flows.
	{"traffic.flows", "lower it, or use flowOrder Sequential", func(run v1alpha1.Experiment) string {
		flows := flowsOf(run.Traffic)
		if flows == nil || !flows.Random {
			return ""
		}
		for _, field := range flows.Fields {
			if most := (measure.Flows{Count: measure.MaximumFlows, Fields: flows.Fields}).Values(field); flows.Count > most {
				return fmt.Sprintf("%d flows in random order, of which %s tells %d apart", flows.Count, field, most)
			}
		}
		return ""
	}},
	// It keeps RFC 3550's jitter, and no difference of one frame and the next.
	{"acceptance", "use JitterNanoseconds or PacketDelayVariationP99Nanoseconds", func(run v1alpha1.Experiment) string {
		for _, criterion := range run.Acceptance {
			if criterion.Metric == v1alpha1.MetricDelayVariationP99 {
				return fmt.Sprintf("a verdict on %s (%q)", criterion.Metric, criterion.Name)
			}
		}
		return ""
	}},
}

// Hugepages are what a pod has of memory in large pages.
type Hugepages struct {
	PageSize v1alpha1.HugepageSize `json:"pageSize"`
	Bytes    int64                 `json:"bytes"`
}

// Resource is the name by which a pod asks for them.
func (h *Hugepages) Resource() corev1.ResourceName { return hugepagesOf(h.PageSize) }

// trexOf are the settings of the testbed's driver TRex; nil with any other.
func trexOf(testbed *v1alpha1.Testbed) *v1alpha1.TRexGenerator {
	if generator := testbed.Spec.Generator; generator.Driver == v1alpha1.DriverTRex {
		return generator.TRex
	}
	return nil
}

func usesDPDK(testbed *v1alpha1.Testbed) bool {
	trex := trexOf(testbed)
	return trex != nil && trex.Mode == v1alpha1.TRexDPDK
}

// CheckGenerator says what of a testbed's generator stands against every run,
// and cannot be known at admission; nil where nothing does.
func CheckGenerator(testbed *v1alpha1.Testbed, defaults Defaults) *measure.Failure {
	if trexOf(testbed) == nil {
		return nil
	}
	if testbed.Spec.Generator.Image == "" && defaults.TRexImage == "" {
		return &measure.Failure{
			Reason: v1alpha1.ReasonImageMissing,
			Remedy: "build one by docs/how-to/trex.md and name it in the testbed's spec.generator.image, or for all testbeds in the chart's value trexImage",
			Err:    fmt.Errorf("testbed %q has driver TRex, of which this project ships no image, and names none", testbed.Name),
		}
	}
	_, failure := extraConfiguration(testbed)
	return failure
}

func checkTRex(in Input) error {
	if trexOf(in.Testbed) == nil {
		return nil
	}
	if failure := CheckGenerator(in.Testbed, in.Defaults); failure != nil {
		return failure
	}
	for _, lack := range notOfferedByTRex {
		if asks := lack.asks(in.Run.Spec.Experiment); asks != "" {
			return fail(v1alpha1.ReasonNotOfferedByDriver,
				fmt.Sprintf("in the run's spec.experiment.%s, %s; or use a testbed with driver XDP", lack.field, lack.remedy),
				"spec.experiment.%s asks for %s, which driver TRex of testbed %q does not offer", lack.field, asks, in.Testbed.Name)
		}
	}
	return nil
}

// checkTRexPorts wants a device plugin's device at each port of mode DPDK.
// Admission refuses all attachments that never have one.
func checkTRexPorts(in Input, segments []Segment) error {
	if !usesDPDK(in.Testbed) {
		return nil
	}
	west, east := segments[0].West, segments[len(segments)-1].East
	for _, end := range []End{west, east} {
		if end.ResourceName == "" {
			return fail(v1alpha1.ReasonResourceMissing,
				fmt.Sprintf("annotate the network %q with k8s.v1.cni.cncf.io/resourceName, or use another attachment in the testbed's spec.ports.%s", end.NetworkKey(), end.Interface),
				"generator.trex.mode DPDK takes a device that a device plugin gives, but the network of port %s names no resource", end.Interface)
		}
	}
	return nil
}

// extraConfiguration is what the testbed adds to TRex's configuration, as YAML
// with sorted keys; "" where it adds nothing.
func extraConfiguration(testbed *v1alpha1.Testbed) (string, *measure.Failure) {
	trex := trexOf(testbed)
	if trex == nil || trex.ExtraConfiguration == nil || len(trex.ExtraConfiguration.Raw) == 0 {
		return "", nil
	}
	invalid := func(remedy, format string, arguments ...any) *measure.Failure {
		return &measure.Failure{
			Reason: v1alpha1.ReasonInvalidGeneratorConfiguration, Remedy: remedy,
			Err: fmt.Errorf("the testbed's spec.generator.trex.extraConfiguration "+format, arguments...),
		}
	}
	var mapping map[string]any
	if err := yaml.Unmarshal(trex.ExtraConfiguration.Raw, &mapping); err != nil {
		return "", invalid("make it a mapping", "is none: %w", err)
	}
	if len(mapping) == 0 {
		return "", nil
	}
	for _, key := range reservedConfiguration {
		if _, found := mapping[key]; found {
			return "", invalid(fmt.Sprintf("leave %s out; the ports are those of spec.ports", key),
				"has %s, which the measurer alone sets, like all of %s", key, strings.Join(reservedConfiguration, ", "))
		}
	}
	text, err := yaml.Marshal(mapping)
	if err != nil {
		return "", invalid("make it a mapping of numbers, texts and lists", "cannot be written as YAML: %w", err)
	}
	if len(text) > maximumExtraConfigurationBytes {
		return "", invalid(fmt.Sprintf("shorten it to %d bytes", maximumExtraConfigurationBytes), "has %d bytes as YAML", len(text))
	}
	return string(text), nil
}

// hugepagesOfGenerator is nil where the traffic pod has none.
func hugepagesOfGenerator(testbed *v1alpha1.Testbed) *Hugepages {
	if !usesDPDK(testbed) || trexOf(testbed).Hugepages == nil {
		return nil
	}
	pages := trexOf(testbed).Hugepages
	return &Hugepages{PageSize: pages.PageSize, Bytes: pages.Memory.Value()}
}

// hugepagesNeeds are what the traffic pod takes of hugepages, and machines of
// the same size on the same node; none where the traffic pod takes none.
func hugepagesNeeds(pages *Hugepages, functions []Function) []need {
	if pages == nil {
		return nil
	}
	name := pages.Resource()
	n := need{
		resource: string(name), unit: " bytes", generator: pages.Bytes,
		allocatable: func(node *corev1.Node) int64 {
			quantity := node.Status.Allocatable[name]
			return quantity.Value()
		},
		reason: v1alpha1.ReasonInsufficientHugepages,
		remedy: fmt.Sprintf("set aside more pages of %s on a node and restart its kubelet, or lower the testbed's spec.generator.trex.hugepages.memory, or set its pageSize to what the nodes have", pages.PageSize),
	}
	for _, f := range functions {
		if f.IsMachine() && f.Machine.Hugepages == pages.PageSize {
			n.functions += f.Machine.MemoryBytes
		}
	}
	return []need{n}
}

// driverOf is how the measurer's instructions set the testbed's driver.
func driverOf(in Input, segments []Segment) (measure.DriverSettings, error) {
	generator := in.Testbed.Spec.Generator
	settings := measure.DriverSettings{Name: string(generator.Driver)}
	trex := trexOf(in.Testbed)
	if trex == nil {
		settings.Threads, settings.TransmitPath = int(generator.XDP.Threads), string(generator.XDP.TransmitPath)
		// The default leaves no trace in the instructions, nor in their digest.
		if generator.XDP.Scheduling != v1alpha1.SchedulingAuto {
			settings.Scheduling = string(generator.XDP.Scheduling)
		}
		return settings, nil
	}
	extra, failure := extraConfiguration(in.Testbed)
	if failure != nil {
		return settings, failure
	}
	settings.TRex = &measure.TRexSettings{
		Mode: string(trex.Mode), CoresPerPort: int(trex.CoresPerPort), ExtraConfiguration: extra,
	}
	if pages := hugepagesOfGenerator(in.Testbed); pages != nil {
		settings.TRex.HugepagesMebibytes = pages.Bytes >> 20
	}
	if usesDPDK(in.Testbed) {
		settings.TRex.Resources = [2]string{segments[0].West.ResourceName, segments[len(segments)-1].East.ResourceName}
	}
	return settings, nil
}
