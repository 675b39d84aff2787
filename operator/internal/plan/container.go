package plan

import (
	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/generator"
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
