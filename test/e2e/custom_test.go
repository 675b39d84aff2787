package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// guestConfiguration is what the project's own guest reads as user data, with
// placeholders where the plan's values go.
const guestConfiguration = `{"function": "Router", "name": "{{ .Name }}",
"ports": [
  {"name": "west", "mac": "{{ .West.MAC }}", "mtuBytes": {{ .West.MTUBytes }}, "addresses": ["{{ .West.AddressIPv4 }}", "{{ .West.AddressIPv6 }}"]},
  {"name": "east", "mac": "{{ .East.MAC }}", "mtuBytes": {{ .East.MTUBytes }}, "addresses": ["{{ .East.AddressIPv4 }}", "{{ .East.AddressIPv6 }}"]}],
"routes": [
  {"destination": "{{ .West.NetworkIPv4 }}", "via": "{{ .West.NextHopIPv4 }}", "port": "west"},
  {"destination": "{{ .East.NetworkIPv4 }}", "via": "{{ .East.NextHopIPv4 }}", "port": "east"}],
"neighbors": [
  {"address": "{{ .West.NextHopIPv4 }}", "mac": "{{ .West.NextHopMAC }}", "port": "west"},
  {"address": "{{ .East.NextHopIPv4 }}", "mac": "{{ .East.NextHopMAC }}", "port": "east"}]}`

// guestImage is the one that the operator was installed with.
func guestImage(t *testing.T) string {
	t.Helper()
	var deployments appsv1.DeploymentList
	must(t, cluster.List(t.Context(), &deployments, client.InNamespace(systemNamespace), client.MatchingLabels{"app.kubernetes.io/name": "vnfbench"}))
	for _, deployment := range deployments.Items {
		for _, argument := range deployment.Spec.Template.Spec.Containers[0].Args {
			if image, found := strings.CutPrefix(argument, "--guest-image="); found {
				return image
			}
		}
	}
	t.Fatal("the operator was installed without an image of the guest")
	return ""
}

// customChain is the guest in the place of a user's own image, on its disk and
// with its ports in the other order.
func customChain(t *testing.T, userData, readiness string) string {
	t.Helper()
	text, err := json.Marshal(userData)
	must(t, err)
	return "[{name: own, function: Custom, runtime: VirtualMachine, custom: {interfaceOrder: EastWest, containerDisk: '" +
		guestImage(t) + "', readiness: " + readiness + ", userData: " + string(text) + "}}]"
}

func customRun(t *testing.T, name, userData, readiness string, startupSeconds int) string {
	t.Helper()
	text := machineRun(name, "", 5000, startupSeconds)
	router := "[{name: r1, function: Router, runtime: VirtualMachine}]"
	if !strings.Contains(text, router) {
		t.Fatalf("there is no %s in %s", router, text)
	}
	return strings.Replace(text, router, customChain(t, userData, readiness), 1)
}

// TestKubeVirtCustom measures a user's own machine that is asked for nothing.
func TestKubeVirtCustom(t *testing.T) {
	ns := machines(t)
	apply(t, ns, customRun(t, "custom", guestConfiguration, "{bootSeconds: 5}", 240))
	until(t, ns, "custom", 2*waitForGuest, "finished", finished)
	run := ends(t, ns, "custom", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	if len(run.Status.Results) != 1 {
		t.Fatalf("%d results", len(run.Status.Results))
	}
	checkResult(t, run.Status.Results[0], 0, 1)
	checkMachine(t, run, "virtio")
	nothingLeft(t, ns)
	noMachines(t, ns)
}

// TestKubeVirtCustomForwardsNothing: the machine runs, and its configuration is none.
func TestKubeVirtCustomForwardsNothing(t *testing.T) {
	ns := machines(t)
	apply(t, ns, customRun(t, "silent", `{"function": "None"}`, "{}", 60))
	run := ends(t, ns, "silent", metav1.ConditionFalse, v1alpha1.ReasonNoPathThroughChain)
	if message := condition(run, v1alpha1.ConditionSucceeded).Message; !strings.Contains(message, `the console of "own" ends: `) {
		t.Errorf("the message does not hold the guest's last words: %s", message)
	}
	nothingLeft(t, ns)
	noMachines(t, ns)
}
