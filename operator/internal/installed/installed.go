// Package installed reads from the operator's Deployment how it was installed: a Deployment goes in, the images of runs and the other
// defaults of plans come out.
package installed

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
)

// Labels are those by which the operator's Deployment is found.
func Labels() map[string]string { return map[string]string{"app.kubernetes.io/name": "vnfbench"} }

// Arguments returns the values of the manager's flags by their names, each with all values that it was given.
func Arguments(operator *appsv1.Deployment) map[string][]string {
	out := map[string][]string{}
	for _, container := range operator.Spec.Template.Spec.Containers {
		for i, argument := range container.Args {
			if !strings.HasPrefix(argument, "-") {
				continue
			}
			name, value, hasValue := strings.Cut(strings.TrimLeft(argument, "-"), "=")
			if !hasValue && i+1 < len(container.Args) && !strings.HasPrefix(container.Args[i+1], "-") {
				value = container.Args[i+1]
			}
			out[name] = append(out[name], value)
		}
	}
	return out
}

// podImages are the flags with images of pods. Those of virtual machines are needed with KubeVirt alone.
var podImages = []string{"traffic-image", "function-image", "endpoint-image", "neighbor-image"}

// PodImages returns the images of runs' pods.
func PodImages(operator *appsv1.Deployment) []string {
	arguments := Arguments(operator)
	var out []string
	for _, flag := range podImages {
		if image := last(arguments[flag]); image != "" && !slices.Contains(out, image) {
			out = append(out, image)
		}
	}
	return out
}

// Defaults returns what the operator puts into plans where testbeds and runs leave it out, as far as plans show it.
func Defaults(operator *appsv1.Deployment) plan.Defaults {
	arguments := Arguments(operator)
	value := func(flag string) string { return last(arguments[flag]) }
	d := plan.Defaults{
		TrafficImage: value("traffic-image"), FunctionImage: value("function-image"), GuestImage: value("guest-image"), EndpointImage: value("endpoint-image"),
		NeighborImage: value("neighbor-image"), NeighborGuestImage: value("neighbor-guest-image"),
		ImagePullPolicy: corev1.PullPolicy(value("image-pull-policy")), ImagePullSecrets: arguments["image-pull-secret"], PriorityClassName: value("run-priority-class"),
		GeneratorImages: map[v1alpha1.GeneratorDriver]string{},
	}
	for _, pair := range arguments["generator-image"] {
		driver, image, _ := strings.Cut(pair, "=")
		d.GeneratorImages[v1alpha1.GeneratorDriver(driver)] = image
	}
	return d
}

// last returns the value that counts of a flag that was given several times.
func last(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}
