package baseline

import (
	"fmt"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/platform"
)

// on returns the platform of a run on two nodes of which each value has a name.
func on(name, digit string) []v1alpha1.PlatformPart {
	fingerprint := func(node, digit string) *v1alpha1.Fingerprint {
		long := func(fact string) string {
			return fmt.Sprintf("%s of %s %s %s", fact, node, name, strings.Repeat("x", 100))
		}
		return &v1alpha1.Fingerprint{
			Digest: "sha256:" + strings.Repeat(digit, 64), Kernel: long("kernel"), CPUModel: long("model"), Microcode: "0x" + digit, Turbo: long("turbo"),
			ScalingGovernors: []string{long("governor")}, KernelParameters: []string{long("isolcpus")},
		}
	}
	return platform.Parts(platform.Run{
		Plan:   &v1alpha1.PlanSummary{DeviceNode: "device-" + name, GeneratorNode: "generator-" + name},
		Device: &v1alpha1.DeviceReport{Fingerprint: fingerprint("device", digit)},
		Generator: &v1alpha1.GeneratorReport{
			ImageID: "measurer@sha256:" + strings.Repeat(digit, 64), MeasurerVersion: name, Fingerprint: fingerprint("generator", digit+"0"),
		},
		OperatorVersion: "operator " + name,
	})
}

// TestPlatformWarning checks that a message within the API's bound names all parts of two wholly different platforms, and how many have
// no values in it.
func TestPlatformWarning(t *testing.T) {
	report := v1alpha1.BaselineReport{Platform: on("then", "1")}
	message := PlatformWarning(report, on("now", "2"), false)[0].Message
	names, values, found := strings.Cut(message, "Before and now: ")
	if len(message) > v1alpha1.MaxWarningBytes || !found {
		t.Errorf("%d bytes: %s", len(message), message)
	}
	for _, p := range report.Platform {
		if !strings.Contains(names, " "+p.Name+",") && !strings.Contains(names, " "+p.Name+".") {
			t.Errorf("%s is not in %q", p.Name, names)
		}
	}
	said := strings.Count(values, " -> ")
	if more := fmt.Sprintf(", and %d more, see status.baseline.platform.", len(report.Platform)-said); said == 0 || !strings.HasSuffix(values, more) {
		t.Errorf("%d values are said, and the end is not %q: %s", said, more, message)
	}
	if got := PlatformWarning(report, on("then", "1"), false); got != nil {
		t.Errorf("the same platform: %+v", got)
	}
}

// TestNamesInBounds checks that names alone are in the bound where no value is.
func TestNamesInBounds(t *testing.T) {
	got := inBounds(strings.Repeat("m", 400)+". ", []string{"kernel " + strings.Repeat("v", 200), "turbo on -> off"})
	if want := "These differ: kernel, turbo. See status.baseline.platform."; len(got) > v1alpha1.MaxWarningBytes || !strings.HasSuffix(got, want) {
		t.Error(got)
	}
}
