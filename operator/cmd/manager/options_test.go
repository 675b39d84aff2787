package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/watches"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
)

func TestParse(t *testing.T) {
	o, err := parse(strings.Fields(`-traffic-image t:1 -function-image f:1 -guest-image g:1 -endpoint-image e:1 -neighbor-image n:1 -neighbor-guest-image m:1 -generator-image TRex=x:1 -namespace a,b -namespace c
		-image-pull-policy Never -image-pull-secret s -run-priority-class lab -api-server-port 6443 -api-server-address 192.0.2.1/32,2001:db8::/64 -subject-registry registry.example,http://plain.example:5000 -subject-registry-folder /etc/r -leader-elect -shutdown-timeout 7s`), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := plan.Defaults{TrafficImage: "t:1", FunctionImage: "f:1", GuestImage: "g:1", EndpointImage: "e:1", NeighborImage: "n:1", NeighborGuestImage: "m:1", GeneratorImages: map[v1alpha1.GeneratorDriver]string{v1alpha1.DriverTRex: "x:1"}, ImagePullPolicy: corev1.PullNever, ImagePullSecrets: []string{"s"}, PriorityClassName: "lab", APIServerPorts: []int32{6443}, APIServerAddresses: []string{"192.0.2.1/32", "2001:db8::/64"}, AgentTokens: true, Protocol: measure.Protocol(), Version: version}
	if diff := cmp.Diff(want, o.defaults); diff != "" {
		t.Error(diff)
	}
	if len(o.registries) != 2 || o.subjectFolder != "/etc/r" {
		t.Errorf("registries %v, folder %q", o.registries, o.subjectFolder)
	}
	if diff := cmp.Diff(list{"a", "b", "c"}, o.namespaces); diff != "" {
		t.Error(diff)
	}
	settings, err := o.manager(watches.New(clock.RealClock{}))
	if err != nil {
		t.Fatal(err)
	}
	if settings.Controller.MaxConcurrentReconciles != 4 {
		t.Errorf("%d reconciliations at the same time, want 4", settings.Controller.MaxConcurrentReconciles)
	}
	if len(settings.Cache.DefaultNamespaces) != 3 || !settings.LeaderElection || settings.Metrics.FilterProvider == nil || *settings.GracefulShutdownTimeout != 7*time.Second {
		t.Errorf("the manager's settings are %+v", settings)
	}
}

// TestAgentAuthentication checks that agents ask for a token unless the installation says otherwise.
func TestAgentAuthentication(t *testing.T) {
	images := "-traffic-image t -function-image f -guest-image g -endpoint-image e -neighbor-image n -neighbor-guest-image m "
	for arguments, want := range map[string]bool{"": true, "-agent-authentication Token": true, "-agent-authentication None": false} {
		o, err := parse(strings.Fields(images+arguments), io.Discard)
		if err != nil || o.defaults.AgentTokens != want {
			t.Errorf("%q: %t, %v", arguments, o.defaults.AgentTokens, err)
		}
	}
}

// TestGuestConsoles checks that messages have what guests print unless the installation says otherwise.
func TestGuestConsoles(t *testing.T) {
	images := "-traffic-image t -function-image f -guest-image g -endpoint-image e -neighbor-image n -neighbor-guest-image m "
	for arguments, want := range map[string]bool{"": false, "-guest-consoles Message": false, "-guest-consoles None": true} {
		o, err := parse(strings.Fields(images+arguments), io.Discard)
		if err != nil || o.defaults.WithoutConsoles != want {
			t.Errorf("%q: %t, %v", arguments, o.defaults.WithoutConsoles, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	images := "-traffic-image t -function-image f -guest-image g -endpoint-image e -neighbor-image n -neighbor-guest-image m "
	for name, arguments := range map[string]string{
		"no images":            "",
		"no guest":             "-traffic-image t -function-image f",
		"no neighbor":          "-traffic-image t -function-image f -guest-image g -endpoint-image e",
		"no neighbors' guest":  "-traffic-image t -function-image f -guest-image g -endpoint-image e -neighbor-image n",
		"pull policy":          images + "-image-pull-policy Sometimes",
		"priority class":       images + "-run-priority-class Lab/High",
		"agents":               images + "-agent-authentication Password",
		"log format":           images + "-log-format xml",
		"guests' consoles":     images + "-guest-consoles Log",
		"image of no driver":   images + "-generator-image Pigeon=p:1",
		"image of the default": images + "-generator-image XDP=x:1",
		"no image at all":      images + "-generator-image TRex",
		"address":              images + "-api-server-address 192.0.2.1/24",
		"registry with a path": images + "-subject-registry registry.example/team",
		"registry by HTTPS":    images + "-subject-registry https://registry.example",
		"no certificate":       images + "-metrics-secure=false -metrics-certificate /tls",
		"port":                 images + "-api-server-port 70000",
		"no reconciliation":    images + "-max-concurrent-reconciles 0",
		"too many at a time":   images + "-max-concurrent-reconciles 33",
		"no time to stop":      images + "-shutdown-timeout 0s",
		"an argument":          images + "start",
		"unknown flag":         images + "-zap-devel",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parse(strings.Fields(arguments), io.Discard); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestLogIsJSON(t *testing.T) {
	var output bytes.Buffer
	o := &options{logFormat: "json", logLevel: 1}
	log := o.logger(&output)
	log.V(1).Info("Deciding", "action", "Plan")
	log.V(4).Info("Reading")
	var line map[string]any
	if err := json.Unmarshal(output.Bytes(), &line); err != nil {
		t.Fatalf("not one line of JSON: %v\n%s", err, output.String())
	}
	if line["action"] != "Plan" {
		t.Errorf("got %v", line)
	}
}
