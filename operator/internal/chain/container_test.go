package chain_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

func podsOf(t *testing.T, p *plan.Plan) (pods []*corev1.Pod, workloads []chain.Workload) {
	t.Helper()
	for _, w := range chain.Render(p, plantest.Issuer()) {
		if pod, is := w.Object.(*corev1.Pod); is && w.Component == chain.ComponentFunction {
			pods, workloads = append(pods, pod), append(workloads, w)
		}
	}
	return pods, workloads
}

// TestContainersGetNoRightsOfTheNode checks what every container of a user lacks, and which capabilities each has.
func TestContainersGetNoRightsOfTheNode(t *testing.T) {
	pods, _ := podsOf(t, mustMake(t, plantest.CustomPods()))
	want := [][]corev1.Capability{{"NET_RAW"}, {"NET_ADMIN"}, {"IPC_LOCK", "NET_RAW"}}
	for i, pod := range pods {
		rights := pod.Spec.Containers[0].SecurityContext
		switch {
		case *rights.Privileged, *rights.AllowPrivilegeEscalation, !slices.Equal(rights.Capabilities.Drop, []corev1.Capability{"ALL"}):
			t.Errorf("%s: %+v", pod.Name, rights)
		case !slices.Equal(rights.Capabilities.Add, want[i]):
			t.Errorf("%s has %v, want %v", pod.Name, rights.Capabilities.Add, want[i])
		case rights.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault, *pod.Spec.AutomountServiceAccountToken, *pod.Spec.EnableServiceLinks:
			t.Errorf("%s: %+v", pod.Name, pod.Spec)
		case pod.Spec.HostNetwork, pod.Spec.HostPID, pod.Spec.HostIPC, pod.Spec.ServiceAccountName != "":
			t.Errorf("%s is of its node: %+v", pod.Name, pod.Spec)
		}
		for _, volume := range pod.Spec.Volumes {
			if volume.HostPath != nil {
				t.Errorf("%s has the path %s of its node", pod.Name, volume.HostPath.Path)
			}
		}
	}
}

// TestContainerKeepsItsUser checks that only a container with capabilities is user 0.
func TestContainerKeepsItsUser(t *testing.T) {
	p := mustMake(t, plantest.CustomPods())
	p.Functions[0].Container.Capabilities = nil
	pods, _ := podsOf(t, p)
	if user := pods[0].Spec.Containers[0].SecurityContext.RunAsUser; user != nil {
		t.Errorf("without capabilities it is user %d, and not that of its image", *user)
	}
	if user := pods[1].Spec.Containers[0].SecurityContext.RunAsUser; user == nil || *user != 0 {
		t.Errorf("with a capability its user is %v, and only user 0 gets it", user)
	}
}

// TestContainerKeepsItsLog checks that an installation that reads no consoles reads no end of a container's log either.
func TestContainerKeepsItsLog(t *testing.T) {
	in := plantest.CustomPods()
	for without, want := range map[bool]corev1.TerminationMessagePolicy{false: corev1.TerminationMessageFallbackToLogsOnError, true: corev1.TerminationMessageReadFile} {
		in.Defaults.WithoutConsoles = without
		pods, _ := podsOf(t, mustMake(t, in))
		if got := pods[0].Spec.Containers[0].TerminationMessagePolicy; got != want {
			t.Errorf("without consoles %v: %s, want %s", without, got, want)
		}
	}
}

// TestContainerVariablesComeFirst checks that users' own variables and arguments can name those of the ports.
func TestContainerVariablesComeFirst(t *testing.T) {
	pods, workloads := podsOf(t, mustMake(t, plantest.CustomPods()))
	env := pods[1].Spec.Containers[0].Env
	if last := env[len(env)-1]; last.Name != "ROUTER_ID" || last.Value != "$(VNFBENCH_WEST_HOST_IPV4)" {
		t.Errorf("the user's variable is not the last one: %+v", env)
	}
	known := map[string]string{}
	for _, variable := range env {
		known[variable.Name] = variable.Value
	}
	if known["VNFBENCH_WEST_HOST_IPV4"] != "198.18.1.2" || known["VNFBENCH_NAME"] != "frr" {
		t.Errorf("%v", known)
	}
	file := workloads[1].Needs[0].(*corev1.ConfigMap).Data["network.json"]
	if !strings.Contains(file, `"HostIPv4": "198.18.1.2"`) || !strings.Contains(file, `"MTUBytes": 1500`) {
		t.Error(file)
	}
}

func TestContainerReadiness(t *testing.T) {
	pods, workloads := podsOf(t, mustMake(t, plantest.CustomPods()))
	probes := []*corev1.Probe{pods[0].Spec.Containers[0].ReadinessProbe, pods[1].Spec.Containers[0].ReadinessProbe, pods[2].Spec.Containers[0].ReadinessProbe}
	if probes[0] != nil {
		t.Errorf("kind Probe has a probe of Kubernetes: %+v", probes[0])
	}
	if probes[1].Exec == nil || probes[1].Exec.Command[0] != "vtysh" || probes[1].HTTPGet != nil {
		t.Errorf("%+v", probes[1])
	}
	if probes[2].TCPSocket == nil || probes[2].TCPSocket.Port.IntValue() != 5002 || workloads[2].BootSeconds != 5 {
		t.Errorf("%+v, after %d seconds", probes[2], workloads[2].BootSeconds)
	}
}

// TestContainersForwardNothingTwice checks that the kernel forwards no IPv4 packets in the pod of a program that reads virtual functions itself,
// also where a port has no interface that a setting could name, and that no runtime checks an interface there.
func TestContainersForwardNothingTwice(t *testing.T) {
	p := mustMake(t, plantest.CustomPods())
	var found int
	for _, network := range chain.Networks(p) {
		var config struct {
			DisableCheck bool
			Plugins      []struct {
				Type   string
				Sysctl map[string]string
				MTU    int
				Args   struct{ CNI struct{ MAC *string } }
			}
		}
		text, _, _ := unstructured.NestedString(network.Object, "spec", "config")
		if err := json.Unmarshal([]byte(text), &config); err != nil {
			t.Fatal(err)
		}
		of := network.GetName() == p.Segments[len(p.Segments)-1].West.Network
		if config.DisableCheck != of {
			t.Errorf("%s: %s", network.GetName(), text)
		}
		if !of {
			continue
		}
		found++
		want := map[string]string{"net.ipv4.conf.all.forwarding": "0"}
		if last := config.Plugins[len(config.Plugins)-1]; config.Plugins[0].Type != "sriov" || last.Type != "tuning" || last.MTU != 0 || !maps.Equal(last.Sysctl, want) ||
			last.Args.CNI.MAC == nil || *last.Args.CNI.MAC != "" {
			t.Errorf("%s", text)
		}
	}
	if found != 1 {
		t.Errorf("%d networks of virtual functions", found)
	}
}
