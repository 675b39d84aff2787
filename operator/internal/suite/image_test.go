package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

const ofImages = `
experiment:
  startupSeconds: 60
  chain:
  - {name: fw, function: Firewall}
  - {name: vyos, function: Custom, runtime: VirtualMachine, custom: {containerDisk: "r.example/vyos:1"}}
  - {name: vpp, function: Custom, custom: {container: {image: "r.example/vpp:1"}}}
  - {name: disk, function: Custom, runtime: VirtualMachine, custom: {persistentVolumeClaimRef: {name: disk}}}
subject: {fromImage: {function: %s}}
matrix: {axes: [{name: a, path: "%s", values: [%s]}]}`

// TestImageOfTheSubject checks which image the labels are read from, and that one subject has one image.
func TestImageOfTheSubject(t *testing.T) {
	s, err := Parse(template(t, fmt.Sprintf(ofImages, "vyos", "chain[fw].firewall.rules", "1, 2")))
	if err != nil || s.Image != "r.example/vyos:1" || s.Startup != time.Minute {
		t.Errorf("%+v, %v", s, err)
	}
	// Axes may name another image than the experiment, if all cells have it.
	s, err = Parse(template(t, fmt.Sprintf(ofImages, "vyos", "chain[vyos].custom.containerDisk", `"r.example/vyos:2"`)))
	if err != nil || s.Image != "r.example/vyos:2" {
		t.Errorf("%+v, %v", s, err)
	}
	s, err = Parse(template(t, fmt.Sprintf(ofImages, "vpp", "chain[vpp].custom.container.image", `"r.example/vpp:2"`)))
	if err != nil || s.Image != "r.example/vpp:2" {
		t.Errorf("a container: %+v, %v", s, err)
	}
	s, err = Parse(template(t, "subject: {name: fw}"))
	if err != nil || s.Image != "" || s.Startup != 5*time.Minute {
		t.Errorf("without labels: %+v, %v", s, err)
	}
	for name, test := range map[string]struct{ function, path, values, message string }{
		"no such function":          {"router", "startupSeconds", "5", `no function "router"`},
		"a function of the project": {"fw", "startupSeconds", "5", `function "fw" of cell "a-5" names no image`},
		"a disk that is no image":   {"disk", "startupSeconds", "5", `function "disk" of cell "a-5" names no image`},
		"two images":                {"vyos", "chain[vyos].custom.containerDisk", `"r.example/vyos:1", "r.example/vyos:2"`, "a suite has one subject"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(template(t, fmt.Sprintf(ofImages, test.function, test.path, test.values)))
			if measure.ReasonOf(err) != v1alpha1.ReasonInvalidExperiment || !strings.Contains(err.Error(), "spec.template.subject.fromImage.function") || !strings.Contains(err.Error(), test.message) {
				t.Errorf("%v, want %q", err, test.message)
			}
		})
	}
}
