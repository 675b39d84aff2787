package main

import (
	"crypto/tls"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/commandline"
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
	if diff := cmp.Diff(commandline.List{"a", "b", "c"}, o.namespaces); diff != "" {
		t.Error(diff)
	}
	settings, err := o.manager(watches.New(clock.RealClock{}), o.keeper("home", clock.RealClock{}))
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

// images are the arguments that every manager needs.
const images = "-traffic-image t -function-image f -guest-image g -endpoint-image e -neighbor-image n -neighbor-guest-image m "

// TestChoicesOfTheInstallation checks that agents ask for a token, that the cluster says where the API server is, and that messages have what guests print,
// unless the installation says otherwise.
func TestChoicesOfTheInstallation(t *testing.T) {
	type choices struct{ tokens, discovered, withoutConsoles bool }
	for arguments, want := range map[string]choices{
		"":                                 {true, true, false},
		"-agent-authentication Token":      {true, true, false},
		"-agent-authentication None":       {false, true, false},
		"-api-server-access Discovered":    {true, true, false},
		"-api-server-access Any":           {true, false, false},
		"-api-server-address 192.0.2.1/32": {true, false, false},
		"-guest-consoles Message":          {true, true, false},
		"-guest-consoles None":             {true, true, true},
	} {
		o, err := parse(strings.Fields(images+arguments), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if got := (choices{o.defaults.AgentTokens, o.defaults.APIServerDiscovered, o.defaults.WithoutConsoles}); got != want {
			t.Errorf("%q: %+v, want %+v", arguments, got, want)
		}
	}
}

// TestMetricsCertificate checks for which name, and from which Secret, metrics are served.
func TestMetricsCertificate(t *testing.T) {
	for arguments, want := range map[string]bool{"": false, "-metrics-service m": true, "-metrics-service m -metrics-bind-address 0": false} {
		o, err := parse(strings.Fields(images+arguments), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		keeper := o.keeper("home", clock.RealClock{})
		settings, err := o.manager(watches.New(clock.RealClock{}), keeper)
		if err != nil || (keeper != nil) != want || len(settings.Metrics.TLSOpts) > 0 != want {
			t.Fatalf("%q: %+v, %v", arguments, keeper, err)
		}
		if !want {
			continue
		}
		if keeper.Host != "m.home.svc" || keeper.Secret.String() != "home/m-certificate" {
			t.Errorf("%q: %+v", arguments, keeper)
		}
		config := &tls.Config{}
		if settings.Metrics.TLSOpts[0](config); config.GetCertificate == nil {
			t.Errorf("%q: the keeper serves nothing", arguments)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, arguments := range map[string]string{
		"no images":            "",
		"no guest":             "-traffic-image t -function-image f",
		"no neighbor":          "-traffic-image t -function-image f -guest-image g -endpoint-image e",
		"no neighbors' guest":  "-traffic-image t -function-image f -guest-image g -endpoint-image e -neighbor-image n",
		"pull policy":          images + "-image-pull-policy Sometimes",
		"priority class":       images + "-run-priority-class Lab/High",
		"agents":               images + "-agent-authentication Password",
		"access":               images + "-api-server-access Some",
		"service, no HTTPS":    images + "-metrics-service s -metrics-secure=false",
		"two certificates":     images + "-metrics-service s -metrics-certificate /tls",
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
