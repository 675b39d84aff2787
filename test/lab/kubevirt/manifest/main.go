// Command manifest writes the objects that deploy KubeVirt: its namespace, its
// kind, and virt-operator with its rights, as KubeVirt's own generators make
// them, with the images that its flags name.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"kubevirt.io/client-go/version"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/components"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/rbac"
	"kubevirt.io/kubevirt/tools/util"
)

const (
	namespace = "kubevirt"
	verbosity = "2"
)

func main() {
	registry := flag.String("registry", "", "what the images' names begin with")
	tag := flag.String("tag", "", "the images' tag")
	flag.Parse()
	if *registry == "" || *tag == "" {
		fmt.Fprintln(os.Stderr, "manifest: give --registry and --tag")
		os.Exit(2)
	}
	if err := write(os.Stdout, *registry, *tag); err != nil {
		fmt.Fprintln(os.Stderr, "manifest:", err)
		os.Exit(1)
	}
}

// write writes the objects in the order in which they are to be made.
func write(w io.Writer, registry, tag string) error {
	kind, err := components.NewKubeVirtCrd()
	if err != nil {
		return fmt.Errorf("generating KubeVirt's kind: %w", err)
	}
	objects := []any{namespaceObject(), kind, components.NewKubeVirtPriorityClassCR()}
	objects = append(objects, rbac.GetAllOperator(namespace)...)
	for _, o := range append(objects, operator(registry, tag)) {
		if err := util.MarshallObject(o, w); err != nil {
			return fmt.Errorf("writing an object: %w", err)
		}
	}
	return nil
}

func namespaceObject() *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{
			"kubevirt.io":                        "",
			"pod-security.kubernetes.io/enforce": "privileged",
		}},
	}
}

func operator(registry, tag string) any {
	image := func(name string) string { return registry + "/" + name + ":" + tag }
	release := version.Get().GitVersion
	d := components.NewOperatorDeployment(
		namespace, registry, "", release, verbosity, release, "",
		image("virt-api"), image("virt-controller"), image("virt-handler"), image("virt-launcher"),
		// These belong to features that are off; there are no such images.
		image("virt-exportproxy"), image("virt-exportserver"), image("virt-synchronization-controller"),
		image("libguestfs-tools"), image("pr-helper"), image("sidecar-shim"),
		image("virt-operator"), corev1.PullIfNotPresent)
	one := int32(1) // there is one node
	d.Spec.Replicas = &one
	return d
}
