// Package platform says what figures hold for besides the device: the nodes, their kernels and processors, and the programs that
// measured. The statuses of a run go in, named parts come out; a digest of them separates the runs of a series, and their
// differences are said where two runs are compared. What is tested, the chain with its images, is no part.
package platform

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
)

// Names of parts that are not those of a fact. They are in points of series, so they stay.
const (
	deviceDigest, generatorDigest = "device", "generator"
	deviceNode, generatorNode     = "deviceNode", "generatorNode"
	// GeneratorImage is the content of the measurer's image, Measurer its version, and Operator that of the operator that planned.
	GeneratorImage, Measurer, operator = "generatorImage", "measurer", "operator"
)

// facts are what is named of a fingerprint, of the chain's node and of the generator's. The digest has everything else.
var facts = []struct {
	device, generator string
	of                func(*v1alpha1.Fingerprint) string
}{
	{"kernel", "generatorKernel", func(f *v1alpha1.Fingerprint) string { return f.Kernel }},
	{"cpuModel", "generatorCPUModel", func(f *v1alpha1.Fingerprint) string { return f.CPUModel }},
	{"microcode", "generatorMicrocode", func(f *v1alpha1.Fingerprint) string { return f.Microcode }},
	{"governors", "generatorGovernors", func(f *v1alpha1.Fingerprint) string { return strings.Join(f.ScalingGovernors, " ") }},
	{"turbo", "generatorTurbo", func(f *v1alpha1.Fingerprint) string { return f.Turbo }},
	{"kernelParameters", "generatorKernelParameters", func(f *v1alpha1.Fingerprint) string { return strings.Join(f.KernelParameters, " ") }},
}

// Run is what is known of a run. What is nil or empty is not known.
type Run struct {
	Plan      *v1alpha1.PlanSummary
	Device    *v1alpha1.DeviceReport
	Generator *v1alpha1.GeneratorReport
	// MeasurerVersion is used where the generator's report has none.
	MeasurerVersion, OperatorVersion string
}

// maxValueBytes is the API's bound of a part's value.
const maxValueBytes = 200

// Parts returns what the figures of a run hold for, each part that is known. The facts of the generator's node are left out where
// its fingerprint is that of the chain's node.
func Parts(run Run) []v1alpha1.PlatformPart {
	var out []v1alpha1.PlatformPart
	add := func(name, value string) {
		if value != "" {
			out = append(out, v1alpha1.PlatformPart{Name: name, Value: excerpt.Line(value, maxValueBytes)})
		}
	}
	if run.Plan != nil {
		add(deviceNode, run.Plan.DeviceNode)
		add(generatorNode, run.Plan.GeneratorNode)
	}
	var device, generator v1alpha1.Fingerprint
	if run.Device != nil && run.Device.Fingerprint != nil {
		device = *run.Device.Fingerprint
	}
	version := run.MeasurerVersion
	if g := run.Generator; g != nil {
		if g.Fingerprint != nil {
			generator = *g.Fingerprint
		}
		version = cmp.Or(g.MeasurerVersion, version)
		add(GeneratorImage, ImageDigest(g.ImageID))
	}
	for _, fact := range facts {
		add(fact.device, fact.of(&device))
		if generator.Digest != device.Digest {
			add(fact.generator, fact.of(&generator))
		}
	}
	add(deviceDigest, device.Digest)
	add(generatorDigest, generator.Digest)
	add(Measurer, version)
	add(operator, run.OperatorVersion)
	return out
}

// Digest returns a digest of the nodes' fingerprints and of the measurer's version; "" where no node was observed. Node names are not
// in it: a series continues where another node is the same.
func Digest(parts []v1alpha1.PlatformPart) string {
	device, generator := valueOf(parts, deviceDigest), valueOf(parts, generatorDigest)
	if device == "" && generator == "" {
		return ""
	}
	text := fmt.Sprintf("%q", []string{device, generator, valueOf(parts, Measurer)})
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text)))[:len("sha256:")+16]
}

// Differences names each part that both runs know and that differs, with both values after the name. What is said of the chain's node
// is not said again of the generator's, and the operator's version only where it is not the measurer's. A fingerprint is named next to
// its facts, because more may differ in it than they say. Parts in except are left out.
func Differences(then, now []v1alpha1.PlatformPart, except ...string) []string {
	var out []string
	change := func(name string) string {
		before, after := valueOf(then, name), valueOf(now, name)
		switch {
		case before == "" || after == "" || before == after:
			return ""
		case short(before) == short(after):
			return "differs"
		}
		return fmt.Sprintf("%s -> %s", short(before), short(after))
	}
	say := func(name, twin string) {
		if text := change(name); text != "" && text != change(twin) && !slices.Contains(except, name) {
			out = append(out, name+" "+text)
		}
	}
	say(deviceNode, "")
	say(generatorNode, deviceNode)
	for _, fact := range facts {
		say(fact.device, "")
		say(fact.generator, fact.device)
	}
	say(deviceDigest, "")
	say(generatorDigest, deviceDigest)
	say(GeneratorImage, "")
	say(Measurer, "")
	say(operator, Measurer)
	return out
}

// ImageDigest returns the part of an image's ID that says what is in it: registries may give one image several names.
func ImageDigest(imageID string) string { return imageID[strings.LastIndex(imageID, "@")+1:] }

// maxSaidBytes is how much of a value a sentence has, and a digest is distinct in fewer.
const maxSaidBytes = 60

func short(value string) string {
	if strings.HasPrefix(value, "sha256:") {
		return value[:min(len(value), len("sha256:")+12)]
	}
	return excerpt.Line(value, maxSaidBytes)
}

func valueOf(parts []v1alpha1.PlatformPart, name string) string {
	for _, p := range parts {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}
