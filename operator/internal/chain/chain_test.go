package chain_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/measurer"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
	"vnfbench.io/operator/internal/vnf"
)

// TestMetadata checks that every object can be found by its run and names its kind.
func TestMetadata(t *testing.T) {
	in := plantest.Input(2)
	seen := map[string]bool{}
	for _, object := range objectsOf(mustMake(t, in)) {
		content, err := chain.Unstructured(object)
		if err != nil {
			t.Fatal(err)
		}
		id := content.GetKind() + "/" + content.GetName()
		if content.GetKind() == "" || content.GetAPIVersion() == "" || content.GetName() == "" {
			t.Errorf("%s lacks kind, API version or name", id)
		}
		if seen[id] {
			t.Errorf("%s is there twice", id)
		}
		seen[id] = true
		if content.GetNamespace() != plantest.Namespace {
			t.Errorf("%s is in namespace %q", id, content.GetNamespace())
		}
		labels := content.GetLabels()
		if labels[v1alpha1.LabelRun] != string(in.Run.UID) || labels[v1alpha1.LabelTestbed] != string(in.Testbed.UID) || labels[v1alpha1.LabelComponent] == "" {
			t.Errorf("%s has labels %v", id, labels)
		}
		if content.GetAnnotations()[v1alpha1.AnnotationRun] != in.Run.Name {
			t.Errorf("%s has annotations %v", id, content.GetAnnotations())
		}
	}
}

// TestUnclaimedFields checks that server-side apply does not own what others fill in.
func TestUnclaimedFields(t *testing.T) {
	p := mustMake(t, plantest.Input(1))
	results, err := chain.Unstructured(chain.ResultsConfigMap(p))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"data", "binaryData", "immutable"} {
		if _, found := results.Object[field]; found {
			t.Errorf("the results' ConfigMap claims %s", field)
		}
	}
	for _, object := range objectsOf(p) {
		content, err := chain.Unstructured(object)
		if err != nil {
			t.Fatal(err)
		}
		if _, found := content.Object["status"]; found {
			t.Errorf("%s claims a status", content.GetKind())
		}
		if path := findNull(content.Object); path != "" {
			t.Errorf("%s has a null at %s", content.GetKind(), path)
		}
	}
}

func findNull(value any) string {
	switch value := value.(type) {
	case nil:
		return "."
	case map[string]any:
		for key, inner := range value {
			if path := findNull(inner); path != "" {
				return key + "/" + path
			}
		}
	case []any:
		for _, inner := range value {
			if path := findNull(inner); path != "" {
				return "[]/" + path
			}
		}
	}
	return ""
}

func TestInstructionsConfigMap(t *testing.T) {
	p := mustMake(t, plantest.Input(1))
	configMap := chain.PlanConfigMap(p)
	var instructions measure.Instructions
	if err := json.Unmarshal([]byte(configMap.Data[plan.KeyInstructions]), &instructions); err != nil {
		t.Fatal(err)
	}
	if instructions.Digest != p.Digest {
		t.Errorf("the instructions carry digest %q, the plan %q", instructions.Digest, p.Digest)
	}
	if configMap.Immutable == nil || !*configMap.Immutable {
		t.Error("the plan can be changed")
	}
}

// TestFunctionConfiguration checks that the function reads what is mounted for it.
func TestFunctionConfiguration(t *testing.T) {
	for _, c := range plantest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			for _, function := range functionsOf(mustMake(t, c.Input())) {
				var text []byte
				if function.ConfigMap == nil && function.Secret == nil || function.ConfigMap != nil && function.ConfigMap.Data["network.json"] != "" {
					// The user's own VM or container: see TestSeed and TestContainerVariablesComeFirst.
					continue
				}
				if function.VM != nil {
					text = function.Secret.Data["userdata"]
				} else {
					text = []byte(function.ConfigMap.Data["config.json"])
				}
				if _, err := vnf.Parse(text); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestAttachments checks that pods ask Multus for the names that the networks have.
func TestAttachments(t *testing.T) {
	for _, c := range plantest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			in := c.Input()
			p := mustMake(t, in)
			known := map[string]bool{}
			for _, network := range chain.Networks(p) {
				known[network.GetName()] = true
			}
			for network := range in.Networks {
				known[network] = true
			}
			pods := map[string]string{"measurer": chain.MeasurerJob(p).Spec.Template.Annotations["k8s.v1.cni.cncf.io/networks"]}
			for _, function := range functionsOf(p) {
				if function.VM != nil {
					expectNetworks(t, function.VM, known)
					continue
				}
				pods[function.Pod.Name] = function.Pod.Annotations["k8s.v1.cni.cncf.io/networks"]
			}
			for pod, text := range pods {
				var list []struct{ Name, Namespace, Interface, MAC string }
				if err := json.Unmarshal([]byte(text), &list); err != nil {
					t.Fatal(err)
				}
				if len(list) < 2 || list[0].Interface != "west" || list[1].Interface != "east" {
					t.Errorf("%s joins %+v, want west and east first", pod, list)
				}
				for _, network := range list {
					key := strings.TrimPrefix(network.Namespace+"/"+network.Name, plantest.Namespace+"/")
					if !known[key] || network.Namespace == "" {
						t.Errorf("%s joins %q in %q, which does not exist", pod, network.Name, network.Namespace)
					}
				}
			}
		})
	}
}

func TestNetworks(t *testing.T) {
	in := plantest.Input(1)
	in.Run.Spec.Experiment.Chain[0].East.MTUBytes = new(int32(2000))
	p := mustMake(t, in)
	type config struct {
		Name    string
		Plugins []struct {
			Type, Bridge string
			MTU          int
			Sysctl       map[string]string
		}
	}
	read := func(object *unstructured.Unstructured) config {
		text, _, err := unstructured.NestedString(object.Object, "spec", "config")
		if err != nil {
			t.Fatal(err)
		}
		var c config
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	byName := map[string]config{}
	for _, object := range chain.Networks(p) {
		byName[object.GetName()] = read(object)
	}
	traffic, function := byName[p.Segments[1].East.Network], byName[p.Segments[1].West.Network]
	if traffic.Plugins[0].Bridge != function.Plugins[0].Bridge || traffic.Plugins[0].Bridge != p.Segments[1].Bridge {
		t.Errorf("the ends of a segment are on bridges %q and %q", traffic.Plugins[0].Bridge, function.Plugins[0].Bridge)
	}
	if traffic.Plugins[0].MTU != 1500 || function.Plugins[0].MTU != 2000 {
		t.Errorf("MTU %d and %d, want the testbed's 1500 and the port's 2000", traffic.Plugins[0].MTU, function.Plugins[0].MTU)
	}
	if traffic.Plugins[1].Sysctl["net.ipv6.conf.IFNAME.disable_ipv6"] != "1" {
		t.Errorf("the traffic port is not quiet: %v", traffic.Plugins[1].Sysctl)
	}
	for _, sysctl := range vnf.Sysctls(true, true) {
		if function.Plugins[1].Sysctl[sysctl.Key] != sysctl.Value {
			t.Errorf("the function's port has %s %q, want %q", sysctl.Key, function.Plugins[1].Sysctl[sysctl.Key], sysctl.Value)
		}
	}
	if want := 2 * 3; len(byName) != want {
		t.Errorf("%d networks, want %d", len(byName), want)
	}
}

// TestConfinement checks that no container of a run has more than its work needs.
func TestConfinement(t *testing.T) {
	in := plantest.Input(1)
	p := mustMake(t, in)
	nice := plantest.Input(1)
	nice.Testbed.Spec.Generator.XDP.Scheduling = v1alpha1.SchedulingRealTime
	fair := plantest.Input(1)
	fair.Testbed.Spec.Generator.XDP.Scheduling = v1alpha1.SchedulingFair
	for name, test := range map[string]struct {
		pod          corev1.PodSpec
		capabilities []corev1.Capability
		hostNetwork  bool
	}{
		"measurer":              {chain.MeasurerJob(p).Spec.Template.Spec, []corev1.Capability{"BPF", "NET_ADMIN"}, false},
		"measurer in real time": {chain.MeasurerJob(mustMake(t, nice)).Spec.Template.Spec, []corev1.Capability{"BPF", "NET_ADMIN", "SYS_NICE"}, false},
		"measurer without it":   {chain.MeasurerJob(mustMake(t, fair)).Spec.Template.Spec, []corev1.Capability{"BPF", "NET_ADMIN"}, false},
		"function":              {functionsOf(p)[0].Pod.Spec, []corev1.Capability{"NET_ADMIN"}, false},
		"cleanup":               {chain.BridgeCleanup(in.Testbed, "ns", "n", in.Defaults).Spec.Template.Spec, []corev1.Capability{"NET_ADMIN"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if test.pod.HostNetwork != test.hostNetwork || test.pod.HostPID || test.pod.HostIPC {
				t.Error("the pod shares more of the node than it needs")
			}
			if test.pod.AutomountServiceAccountToken == nil || *test.pod.AutomountServiceAccountToken {
				t.Error("the namespace's token is mounted")
			}
			for _, volume := range test.pod.Volumes {
				if volume.HostPath != nil {
					t.Errorf("volume %q is a path of the node", volume.Name)
				}
			}
			for _, container := range test.pod.Containers {
				context := container.SecurityContext
				if !slices.Equal(context.Capabilities.Add, test.capabilities) || !slices.Equal(context.Capabilities.Drop, []corev1.Capability{"ALL"}) {
					t.Errorf("capabilities %+v, want %v alone", context.Capabilities, test.capabilities)
				}
				if *context.Privileged || *context.AllowPrivilegeEscalation || !*context.ReadOnlyRootFilesystem {
					t.Errorf("security context %+v", context)
				}
			}
		})
	}
}

// TestRights checks that the measurer's token patches the results, makes their chunks, and nothing else.
func TestRights(t *testing.T) {
	p := mustMake(t, plantest.Input(1))
	rules := chain.Role(p).Rules
	if len(rules) != 2 || !slices.Equal(rules[0].Verbs, []string{"patch"}) || !slices.Equal(rules[0].ResourceNames, []string{p.Names().Results}) ||
		!slices.Equal(rules[1].Verbs, []string{"create", "patch"}) || !slices.Equal(rules[1].ResourceNames, p.Names().Chunks()) ||
		len(rules[1].ResourceNames) != measure.MaximumChunks || rules[1].ResourceNames[0] != p.Names().Results+"-0" {
		t.Errorf("rules %+v", rules)
	}
	for _, rule := range rules {
		if !slices.Equal(rule.Resources, []string{"configmaps"}) || !slices.Equal(rule.APIGroups, []string{""}) {
			t.Errorf("rule %+v", rule)
		}
	}
	binding := chain.RoleBinding(p)
	if binding.RoleRef.Name != chain.Role(p).Name || binding.Subjects[0].Name != chain.ServiceAccount(p).Name ||
		chain.MeasurerJob(p).Spec.Template.Spec.ServiceAccountName != chain.ServiceAccount(p).Name {
		t.Errorf("binding %+v", binding)
	}
}

// TestGuaranteed checks that a generator that names its CPU can get dedicated cores.
func TestGuaranteed(t *testing.T) {
	p := mustMake(t, plantest.ExistingNetworks())
	resources := chain.MeasurerJob(p).Spec.Template.Spec.Containers[0].Resources
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if request, limit := resources.Requests[name], resources.Limits[name]; request.Cmp(limit) != 0 {
			t.Errorf("%s: request %s, limit %s", name, request.String(), limit.String())
		}
	}
}

func TestPoliciesSelectTheRunsPods(t *testing.T) {
	p := mustMake(t, plantest.Input(1))
	// KubeVirt gives a VM's labels to its launcher's pod.
	vm := functionsOf(mustMake(t, plantest.VMInput(1)))[0].VM
	pods := []map[string]string{chain.MeasurerJob(p).Spec.Template.Labels, functionsOf(p)[0].Pod.Labels, observerOf(p).Labels, vm.Labels}
	selects := func(selector, labels map[string]string) bool {
		for key, value := range selector {
			if labels[key] != value {
				return false
			}
		}
		return true
	}
	for i, policy := range policiesOf(p) {
		for j, labels := range pods {
			matches := selects(policy.Spec.PodSelector.MatchLabels, labels)
			if matches != (i == j || i == 1 && j == 3) {
				t.Errorf("policy %q on pod %v: %t", policy.Name, labels, matches)
			}
		}
		if len(policy.Spec.PolicyTypes) != 2 {
			t.Errorf("policy %q leaves a way open", policy.Name)
		}
		// Only the measurer may ask, on one port; no other pod may ask any pod.
		if isMeasurer := i == 0; isMeasurer != (len(policy.Spec.Ingress) == 0) || isMeasurer != (len(policy.Spec.Egress) > 0) {
			t.Errorf("policy %q: ingress %+v, egress %+v", policy.Name, policy.Spec.Ingress, policy.Spec.Egress)
		}
		for _, rule := range policy.Spec.Ingress {
			if len(rule.From) != 1 || !selects(rule.From[0].PodSelector.MatchLabels, pods[0]) || selects(rule.From[0].PodSelector.MatchLabels, pods[1]) ||
				len(rule.Ports) != 1 || rule.Ports[0].Port.IntValue() != 8080 {
				t.Errorf("policy %q lets in %+v", policy.Name, rule)
			}
		}
	}
	to := policiesOf(p)[0].Spec.Egress[1:]
	if len(to) != 2 || !selects(to[0].To[0].PodSelector.MatchLabels, pods[1]) || !selects(to[1].To[0].PodSelector.MatchLabels, pods[2]) {
		t.Errorf("the measurer may reach %+v", to)
	}
}

// TestPodsStayOnTheirNode checks that autoscalers do not move a pod or a virtual machine of a run, and that of other objects
// nothing says so.
func TestPodsStayOnTheirNode(t *testing.T) {
	kinds := map[string]int{}
	for _, in := range []plan.Input{plantest.Neighbors(), plantest.TCP(), plantest.VMs()} {
		for _, w := range chain.Render(mustMake(t, in), plantest.Issuer()) {
			for _, object := range append([]chain.Object{w.Object}, w.Needs...) {
				annotations, stays := object.GetAnnotations(), false
				switch o := object.(type) {
				case *batchv1.Job:
					annotations, stays = o.Spec.Template.Annotations, true
				case *corev1.Pod, *kubevirtv1.VirtualMachineInstance:
					stays = true
				}
				kinds[fmt.Sprintf("%T", object)]++
				if says := annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false" && annotations["karpenter.sh/do-not-disrupt"] == "true"; says != stays {
					t.Errorf("%T %s has %v", object, object.GetName(), annotations)
				}
			}
		}
	}
	for _, kind := range []string{"*v1.Job", "*v1.Pod", "*v1.VirtualMachineInstance", "*v1.ConfigMap"} {
		if kinds[kind] == 0 {
			t.Errorf("there is no %s: %v", kind, kinds)
		}
	}
}

// TestAgentsListenOnThePodsAddress checks that no agent of a pod listens on a measured port.
func TestAgentsListenOnThePodsAddress(t *testing.T) {
	var agents []chain.Workload
	for _, in := range []plan.Input{plantest.Neighbors(), plantest.TCP()} {
		agents = append(agents, chain.Render(mustMake(t, in), plantest.Issuer())[1:]...)
	}
	for _, w := range agents {
		pod, isPod := w.Object.(*corev1.Pod)
		if !isPod {
			continue
		}
		container := &pod.Spec.Containers[0]
		at := slices.Index(container.Command, "--listen")
		if at < 0 || container.Command[at+1] != fmt.Sprintf("[$(POD_IP)]:%d", w.Port) {
			t.Errorf("pod %s: %q", pod.Name, container.Command)
		}
		if !slices.ContainsFunc(container.Env, func(e corev1.EnvVar) bool {
			return e.Name == "POD_IP" && e.ValueFrom.FieldRef.FieldPath == "status.podIP"
		}) {
			t.Errorf("pod %s: %+v", pod.Name, container.Env)
		}
	}
}

// TestObserver checks that the observer sees the node's processes and has no other privilege.
func TestObserver(t *testing.T) {
	in := plantest.Input(1)
	p := mustMake(t, in)
	pod := observerOf(p)
	security := pod.Spec.Containers[0].SecurityContext
	if !pod.Spec.HostPID || pod.Spec.HostNetwork || pod.Spec.HostIPC || len(pod.Spec.Volumes) > 0 || *pod.Spec.AutomountServiceAccountToken ||
		len(security.Capabilities.Add) > 0 || !slices.Equal(security.Capabilities.Drop, []corev1.Capability{"ALL"}) ||
		!*security.RunAsNonRoot || *security.RunAsUser == 0 || *security.AllowPrivilegeEscalation || !*security.ReadOnlyRootFilesystem ||
		security.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%+v %+v", pod.Spec, security)
	}
	if slices.Contains(pod.Spec.Containers[0].Command, "--guest") {
		t.Errorf("%q looks for a virtual machine of a pod", pod.Spec.Containers[0].Command)
	}
	p.Functions[0].Runtime = v1alpha1.RuntimeVirtualMachine
	if want := "benchmarks_" + p.Names().Function("router-1"); !slices.Contains(observerOf(p).Spec.Containers[0].Command, want) {
		t.Errorf("%q does not look for %q", observerOf(p).Spec.Containers[0].Command, want)
	}
	digest := p.Digest
	in.Testbed.Spec.SystemUnderTest.Observer = v1alpha1.ObserverDisabled
	p = mustMake(t, in)
	if observerOf(p) != nil || len(policiesOf(p)) != 2 {
		t.Error("a testbed without an observer has one")
	}
	if p.Digest != digest {
		t.Error("the observer makes another experiment of a run")
	}
}

func TestLabelsAtTheirLimit(t *testing.T) {
	in := plantest.Input(1)
	in.Run.Name = strings.Repeat("x", 253)
	in.Testbed.UID = types.UID(strings.Repeat("u", 36))
	for _, object := range objectsOf(mustMake(t, in)) {
		if len(object.GetName()) > 63 {
			t.Errorf("%q has %d characters", object.GetName(), len(object.GetName()))
		}
		for key, value := range object.GetLabels() {
			if len(value) > 63 {
				t.Errorf("%q: label %s has %d characters", object.GetName(), key, len(value))
			}
		}
	}
}

// TestFailurePolicy checks that the Job knows the measurer's exit code for a failure that
// another attempt would have again.
func TestFailurePolicy(t *testing.T) {
	job := chain.MeasurerJob(mustMake(t, plantest.Input(1)))
	rule := job.Spec.PodFailurePolicy.Rules[0]
	if rule.Action != batchv1.PodFailurePolicyActionFailJob || !slices.Equal(rule.OnExitCodes.Values, []int32{measurer.ExitFailure}) {
		t.Errorf("rule %+v, want the Job to fail at exit code %d", rule, measurer.ExitFailure)
	}
	if *rule.OnExitCodes.ContainerName != job.Spec.Template.Spec.Containers[0].Name {
		t.Errorf("the rule is about container %q", *rule.OnExitCodes.ContainerName)
	}
	if job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Error("a failure policy needs the restart policy Never")
	}
}
