package plan

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/generator"
	"vnfbench.io/operator/internal/placeholder"
)

// Container is what is special about the user's own program in a pod. It has only a digest of user
// data, as Custom has.
type Container struct {
	Command []string                     `json:"command,omitempty"`
	Args    []string                     `json:"args,omitempty"`
	Env     []v1alpha1.ContainerVariable `json:"env,omitempty"`
	// Capabilities are all that the container has.
	Capabilities []v1alpha1.ContainerCapability `json:"capabilities,omitempty"`
	Forwarding   v1alpha1.Forwarding            `json:"forwarding"`
	// Hugepages are mounted at /dev/hugepages; nil where it has none.
	Hugepages *generator.Hugepages `json:"hugepages,omitempty"`
	// ImagePullSecret and ImagePullPolicy are empty where the run's apply.
	ImagePullSecret string            `json:"imagePullSecret,omitempty" digest:"-"`
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty" digest:"-"`
	// UserDataSecret is the user's own; it is not read.
	UserDataSecret string `json:"userDataSecret,omitempty"`
	// UserDataDigest is of the text in the run's spec, with its placeholders; empty where there is none.
	UserDataDigest string `json:"userDataDigest,omitempty"`
	// WithoutLog leaves what the program prints out of the messages of its run.
	WithoutLog bool `json:"withoutLog,omitempty" digest:"-"`

	Readiness v1alpha1.CustomReadiness `json:"readiness" digest:"-"`
}

// applyContainer puts the user's own program into a pod.
func applyContainer(f *Function, spec v1alpha1.CustomFunction, defaults Defaults) {
	f.Image = spec.Container.Image
	f.Container = &Container{
		Command: spec.Container.Command, Args: spec.Container.Args, Env: spec.Container.Env,
		Capabilities: spec.Container.Capabilities, Forwarding: spec.Container.Forwarding,
		ImagePullSecret: nameOf(spec.ImagePullSecretRef), ImagePullPolicy: spec.ImagePullPolicy,
		UserDataSecret: nameOf(spec.UserDataSecretRef), UserDataDigest: textDigest(spec.UserData),
		WithoutLog: defaults.WithoutConsoles, Readiness: *spec.Readiness,
	}
	if pages := spec.Container.Hugepages; pages != nil {
		f.Container.Hugepages = &generator.Hugepages{PageSize: pages.PageSize, Bytes: pages.Bytes()}
	}
}

// OwnsPorts reports whether a program of the function reads its ports past the kernel, and the devices of
// SR-IOV may have no interface in its pod.
func (f *Function) OwnsPorts() bool {
	return f.IsVM() || f.Container != nil && f.Container.Forwarding == v1alpha1.ForwardingUserSpace
}

// checkReferences finds a variable in the texts of a user's own container that has no value. Its error is a *measure.Failure that names the field.
func checkReferences(f *Function) error {
	if f.Container == nil {
		return nil
	}
	values := placeholder.Of(f.Config)
	check := func(field, text string) error {
		problem := values.CheckReferences(text)
		if problem == nil {
			return nil
		}
		return fail(v1alpha1.ReasonInvalidPlaceholder,
			fmt.Sprintf("correct custom.container.%s of function %q in spec.experiment.chain and apply the run under a new name", field, f.Name),
			"custom.container.%s of function %q: %w", field, f.Name, problem)
	}
	for i, text := range f.Container.Command {
		if err := check(fmt.Sprintf("command[%d]", i), text); err != nil {
			return err
		}
	}
	for i, text := range f.Container.Args {
		if err := check(fmt.Sprintf("args[%d]", i), text); err != nil {
			return err
		}
	}
	for _, variable := range f.Container.Env {
		if err := check(fmt.Sprintf("env[%s].value", variable.Name), variable.Value); err != nil {
			return err
		}
	}
	return nil
}

// checkRights finds a user's own container that can read nothing from one of its ports: an interface of the kernel, from which only packet
// sockets read, or what NET_ADMIN sets. What a user's own network and the driver of a virtual function give is not known.
func checkRights(p *Plan) error {
	for i := range p.Functions {
		f := &p.Functions[i]
		if f.Container == nil || !f.OwnsPorts() || slices.Contains(f.Container.Capabilities, v1alpha1.CapabilityNetRaw) || slices.Contains(f.Container.Capabilities, v1alpha1.CapabilityNetAdmin) {
			continue
		}
		for _, end := range p.PortsOf(f.Name) {
			if end.Existing || end.ResourceName != "" || end.PCIAddress != "" {
				continue
			}
			return fail(v1alpha1.ReasonInvalidConfiguration,
				fmt.Sprintf("add NET_RAW to custom.container.capabilities of function %q in spec.experiment.chain, and NET_ADMIN if its program needs it, and apply the run under a new name", f.Name),
				"function %q reads its ports itself (custom.container.forwarding UserSpace), but without NET_RAW in custom.container.capabilities it can open no packet socket at port %s, which is an interface of the kernel", f.Name, end.Interface)
		}
	}
	return nil
}
