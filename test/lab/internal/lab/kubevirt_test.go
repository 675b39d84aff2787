package lab

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"vnfbench.io/test/lab/internal/kubevirt"
)

func TestKubeVirtDeployed(t *testing.T) {
	all := []condition{{Type: "Available", Status: "True"}, {Type: "Progressing", Status: "False"}, {Type: "Degraded", Status: "False"}}
	for name, test := range map[string]struct {
		phase      string
		conditions []condition
		complaint  string
	}{
		"deployed":       {"Deployed", all, ""},
		"deploying":      {"Deploying", all, `"Deploying"`},
		"nothing known":  {"", nil, "has not begun"},
		"not available":  {"Deployed", nil, "not available"},
		"being replaced": {"Deployed", []condition{{Type: "Available", Status: "True"}, {Type: "Progressing", Status: "True"}}, "Progressing:True"},
	} {
		t.Run(name, func(t *testing.T) {
			var o kubeVirtObject
			o.Status.Phase, o.Status.Conditions = test.phase, test.conditions
			checkComplaint(t, o.deployed(), test.complaint)
		})
	}
}

func TestTakesGuests(t *testing.T) {
	for name, test := range map[string]struct{ object, complaint string }{
		"ready":      {`{"metadata":{"labels":{"kubevirt.io/schedulable":"true"}},"status":{"allocatable":{"devices.kubevirt.io/tun":"1k"}}}`, ""},
		"no handler": {`{"metadata":{"labels":{"kubevirt.io/schedulable":"false"}}}`, "virt-handler"},
		"no devices": {`{"metadata":{"labels":{"kubevirt.io/schedulable":"true"}},"status":{"allocatable":{"devices.kubevirt.io/tun":"0"}}}`, "tun"},
		"new node":   {`{}`, "virt-handler"},
	} {
		t.Run(name, func(t *testing.T) {
			var n schedulableNode
			if err := json.Unmarshal([]byte(test.object), &n); err != nil {
				t.Fatal(err)
			}
			checkComplaint(t, n.takesGuests(), test.complaint)
		})
	}
}

func checkComplaint(t *testing.T, err error, complaint string) {
	t.Helper()
	if (err != nil) != (complaint != "") || err != nil && !strings.Contains(err.Error(), complaint) {
		t.Errorf("got the error %v, want %q", err, complaint)
	}
}

// TestOldPodsAreNotReady checks that a component whose image changed is ready when a pod with the
// new image is.
func TestOldPodsAreNotReady(t *testing.T) {
	const pods = `{"items":[
{"metadata":{"labels":{"kubevirt.io":"virt-api"}},"spec":{"containers":[{"image":"localhost/a:1"}]},
 "status":{"containerStatuses":[{"ready":true,"state":{"running":{"startedAt":"1970-01-01T00:16:40Z"}}}]}},
{"metadata":{"labels":{"kubevirt.io":"virt-handler"}},"spec":{"containers":[]}}]}`
	var list podList
	if err := json.Unmarshal([]byte(pods), &list); err != nil {
		t.Fatal(err)
	}
	since := time.Unix(1000, 0)
	for name, test := range map[string]struct {
		component, image string
		since            time.Time
		want             bool
	}{
		"ready":             {"virt-api", "localhost/a:1", since, true},
		"another image":     {"virt-api", "localhost/a:2", since, false},
		"another component": {"virt-controller", "localhost/a:1", since, false},
		"before the start":  {"virt-api", "localhost/a:1", since.Add(time.Second), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := list.with(test.component, test.image).ready(test.since); got != test.want {
				t.Errorf("ready: %t, want %t", got, test.want)
			}
		})
	}
}

func TestRenderKubeVirt(t *testing.T) {
	for _, kvm := range []bool{true, false} {
		text, err := renderKubeVirt(kubevirt.Abilities{KVM: kvm})
		if err != nil {
			t.Fatal(err)
		}
		var object struct {
			Spec struct {
				Configuration struct {
					DeveloperConfiguration struct {
						UseEmulation bool
						FeatureGates []string
					}
				}
			}
		}
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		got := object.Spec.Configuration.DeveloperConfiguration
		if got.UseEmulation == kvm || len(got.FeatureGates) == 0 {
			t.Errorf("KVM %t: the configuration is %+v", kvm, got)
		}
	}
}
