package plan_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

func containerInput(change func(*v1alpha1.CustomFunction)) plan.Input {
	in := plantest.Input(2)
	custom := v1alpha1.CustomFunction{Container: &v1alpha1.CustomContainer{Image: "example/vpp:1", Capabilities: []v1alpha1.ContainerCapability{"NET_RAW"}}}
	change(&custom)
	in.Run.Spec.Experiment.Chain[1] = plantest.CustomPod("own", custom)
	return in
}

func asItIs(*v1alpha1.CustomFunction) {}

func TestContainerDefaults(t *testing.T) {
	f := mustMake(t, containerInput(asItIs)).Functions[1]
	want := &plan.Container{Capabilities: []v1alpha1.ContainerCapability{"NET_RAW"}, Forwarding: v1alpha1.ForwardingUserSpace, Readiness: v1alpha1.CustomReadiness{Kind: v1alpha1.ReadinessProbe}}
	if diff := cmp.Diff(want, f.Container); diff != "" {
		t.Error(diff)
	}
	if !f.IsCustom() || f.IsVM() || !f.OwnsPorts() || f.Image != "example/vpp:1" || f.Runtime != v1alpha1.RuntimePod {
		t.Errorf("%+v", f)
	}
}

// TestContainerReplacesTheRouter checks that a container has the addresses that a reference router would have there.
func TestContainerReplacesTheRouter(t *testing.T) {
	want, got := mustMake(t, plantest.Input(2)).Functions[1].Config, mustMake(t, containerInput(asItIs)).Functions[1].Config
	want.Function, want.Name = "Custom", "own"
	if want.Digest() != got.Digest() {
		t.Errorf("%+v\n%+v", want, got)
	}
}

func TestContainerDigest(t *testing.T) {
	digest := func(change func(*v1alpha1.CustomFunction)) string { return mustMake(t, containerInput(change)).Digest }
	plain := digest(asItIs)
	for name, same := range map[string]func(*v1alpha1.CustomFunction){
		"how it is pulled": func(c *v1alpha1.CustomFunction) {
			c.ImagePullSecretRef, c.ImagePullPolicy = &v1alpha1.LocalReference{Name: "s"}, corev1.PullAlways
		},
		"a default": func(c *v1alpha1.CustomFunction) { c.Container.Forwarding = v1alpha1.ForwardingUserSpace },
		"how it is asked": func(c *v1alpha1.CustomFunction) {
			c.Readiness = &v1alpha1.CustomReadiness{Kind: v1alpha1.ReadinessExec, Command: []string{"true"}}
		},
	} {
		if digest(same) != plain {
			t.Errorf("%s changes the digest", name)
		}
	}
	for name, other := range map[string]func(*v1alpha1.CustomFunction){
		"the image": func(c *v1alpha1.CustomFunction) { c.Container.Image = "example/vpp:2" },
		"command":   func(c *v1alpha1.CustomFunction) { c.Container.Command = []string{"vpp"} },
		"arguments": func(c *v1alpha1.CustomFunction) { c.Container.Args = []string{"-c"} },
		"a variable": func(c *v1alpha1.CustomFunction) {
			c.Container.Env = []v1alpha1.ContainerVariable{{Name: "A", Value: "1"}}
		},
		"a capability": func(c *v1alpha1.CustomFunction) {
			c.Container.Capabilities = []v1alpha1.ContainerCapability{"NET_RAW", "IPC_LOCK"}
		},
		"forwarding": func(c *v1alpha1.CustomFunction) { c.Container.Forwarding = v1alpha1.ForwardingKernel },
		"user data":  func(c *v1alpha1.CustomFunction) { c.UserData = "other" },
		"a secret":   func(c *v1alpha1.CustomFunction) { c.UserDataSecretRef = &v1alpha1.LocalReference{Name: "s"} },
	} {
		if digest(other) == plain {
			t.Errorf("%s: the digest stays the same", name)
		}
	}
}

func TestPlanKeepsNoUserDataOfContainers(t *testing.T) {
	p := mustMake(t, containerInput(func(c *v1alpha1.CustomFunction) { c.UserData = "password: swordfish {{ .West.MAC }}" }))
	if text := p.JSON(); bytes.Contains(text, []byte("swordfish")) {
		t.Errorf("the plan holds user data:\n%s", text)
	}
	expectFailure(t, failureOf(t, containerInput(func(c *v1alpha1.CustomFunction) { c.UserData = "{{ .Nothing }}" })),
		v1alpha1.ReasonInvalidPlaceholder, []string{`custom.userData of function "own": line 1: `}, "correct custom.userData")
}

// TestContainerHugepages checks that pages for a container are looked for on its node.
func TestContainerHugepages(t *testing.T) {
	in := containerInput(func(c *v1alpha1.CustomFunction) {
		c.Container.Hugepages = &v1alpha1.ContainerHugepages{PageSize: "2Mi", Pages: 512}
	})
	expectFailure(t, failureOf(t, in), v1alpha1.ReasonInsufficientHugepages,
		[]string{"1073741824 bytes", "hugepages-2Mi"}, "change custom.container.hugepages")
	for i := range in.Nodes {
		plantest.Offer(&in.Nodes[i], "hugepages-2Mi", 1<<30)
	}
	pages := mustMake(t, in).Functions[1].Container.Hugepages
	if pages.Bytes != 1<<30 || pages.Resource() != "hugepages-2Mi" {
		t.Errorf("%+v", pages)
	}
}

// TestContainerIsNotOnTheSendingCore checks that a frame that waits for a user's program is not counted as one that the
// kernel works on at once.
func TestContainerIsNotOnTheSendingCore(t *testing.T) {
	in := containerInput(asItIs)
	in.Run.Spec.Experiment.Chain = in.Run.Spec.Experiment.Chain[1:]
	hop, why := mustMake(t, in).Hop()
	if hop != measure.HopTap || !strings.Contains(why, "a program of the user's") {
		t.Errorf("%s: %s", hop, why)
	}
}

// TestContainerBootSeconds checks that the measurer waits for as long as the container may boot.
func TestContainerBootSeconds(t *testing.T) {
	in := containerInput(func(c *v1alpha1.CustomFunction) { c.Readiness = &v1alpha1.CustomReadiness{BootSeconds: 30} })
	if got := mustMake(t, in).Instructions.StartupSeconds; got != 330 {
		t.Errorf("%d seconds, want 300 and 30", got)
	}
}

// TestContainersShareAPool checks that a container that reads its ports itself takes virtual functions of a virtual machine's pool,
// whose devices the kernel has released, and that one with the kernel's forwarding does not.
func TestContainersShareAPool(t *testing.T) {
	input := func(forwarding v1alpha1.Forwarding) plan.Input {
		in := plantest.VMSRIOV(2)
		custom := v1alpha1.CustomFunction{Container: &v1alpha1.CustomContainer{Image: "x", Forwarding: forwarding}}
		f := plantest.CustomPod("own", custom)
		f.West, f.East = in.Run.Spec.Experiment.Chain[1].West, in.Run.Spec.Experiment.Chain[1].East
		in.Run.Spec.Experiment.Chain[1] = f
		return in
	}
	mustMake(t, input(v1alpha1.ForwardingUserSpace))
	expectFailure(t, failureOf(t, input(v1alpha1.ForwardingKernel)), v1alpha1.ReasonResourceMissing, []string{`function "own" in a pod`}, "vfio-pci")
}

// TestContainerReferences checks that a variable that does not exist is refused where Kubernetes would leave it in the text.
func TestContainerReferences(t *testing.T) {
	for field, change := range map[string]func(*v1alpha1.CustomContainer){
		"command[1]": func(c *v1alpha1.CustomContainer) { c.Command = []string{"vpp", "$(VNFBENCH_WEST_MAX)"} },
		"args[0]":    func(c *v1alpha1.CustomContainer) { c.Args = []string{"$(VNFBENCH_WEST_MAC),$(VNFBENCH_WEST_MAX)"} },
		"env[ROUTER_ID].value": func(c *v1alpha1.CustomContainer) {
			c.Env = []v1alpha1.ContainerVariable{{Name: "ROUTER_ID", Value: "$(VNFBENCH_WEST_MAX)"}}
		},
	} {
		in := containerInput(func(c *v1alpha1.CustomFunction) { change(c.Container) })
		expectFailure(t, failureOf(t, in), v1alpha1.ReasonInvalidPlaceholder,
			[]string{"custom.container." + field + ` of function "own": $(VNFBENCH_WEST_MAX) is no variable`, "WEST_MAC"}, "correct custom.container."+field)
	}
	mustMake(t, containerInput(func(c *v1alpha1.CustomFunction) {
		c.Container.Args = []string{"$(VNFBENCH_EAST_NEXT_HOP_MAC) $$(VNFBENCH_NO) $(date) $(VNFBENCH_NO"}
	}))
}

// TestContainerRights checks that a program without rights is refused at an interface of the kernel alone.
func TestContainerRights(t *testing.T) {
	without := func(c *v1alpha1.CustomFunction) { c.Container.Capabilities = nil }
	expectFailure(t, failureOf(t, containerInput(without)), v1alpha1.ReasonInvalidConfiguration, []string{`function "own"`, "port west", "NET_RAW"}, "add NET_RAW to custom.container.capabilities")
	mustMake(t, containerInput(func(c *v1alpha1.CustomFunction) {
		c.Container.Capabilities = []v1alpha1.ContainerCapability{"NET_ADMIN"}
	}))
	mustMake(t, containerInput(func(c *v1alpha1.CustomFunction) {
		without(c)
		c.Container.Forwarding = v1alpha1.ForwardingKernel
	}))
	// What a user's own network gives is not known.
	in := plantest.ExistingNetworks()
	in.Run.Spec.Experiment.Chain[0] = plantest.CustomPod("own", v1alpha1.CustomFunction{Container: &v1alpha1.CustomContainer{Image: "x"}})
	mustMake(t, in)
}
