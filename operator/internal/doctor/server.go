package doctor

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/version"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/installed"
)

// Versions of groups that the checks ask the API server for.
const (
	admissionVersion = "admissionregistration.k8s.io/v1"
	networkVersion   = "k8s.cni.cncf.io/v1"
	kubeVirtVersion  = "kubevirt.io/v1"
)

// Groups returns the versions of groups in Facts.Resources.
func Groups() []string {
	return []string{admissionVersion, networkVersion, kubeVirtVersion, v1alpha1.GroupVersion.String()}
}

// OperatorLabels are those of the operator's Deployment.
func OperatorLabels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": "vnfbench"}
}

// oldestServer is the oldest version of Kubernetes that docs/how-to/install.md names.
var oldestServer = version.MustParseGeneric("1.31.0")

func apiServer(f Facts) Finding {
	if f.Version.Err != nil {
		return found(Fail, "check the kubeconfig, its context, and the way to the API server", "no answer: %v", f.Version.Err)
	}
	current, err := version.ParseGeneric(f.Version.Value)
	switch {
	case err != nil:
		return found(Unknown, "look at `kubectl version`", "the version %q cannot be read: %v", f.Version.Value, err)
	case current.LessThan(oldestServer):
		return found(Fail, "upgrade Kubernetes to 1.31 or newer", "Kubernetes %s", f.Version.Value)
	}
	return fine("Kubernetes %s", f.Version.Value)
}

func admissionPolicies(f Facts) Finding {
	switch has, err := f.has(admissionVersion, "validatingadmissionpolicies"); {
	case err != nil:
		return unanswered(err, "read the API server's discovery")
	case !has:
		return found(Fail, "upgrade Kubernetes, or let the API server serve "+admissionVersion, "the API server has no ValidatingAdmissionPolicy of %s, by which manifests are checked", admissionVersion)
	}
	return fine("the API server has ValidatingAdmissionPolicy")
}

// ourResources are those of the project's CustomResourceDefinitions.
var ourResources = []string{"benchmarkmeasurements", "benchmarkruns", "benchmarksuiteruns", "benchmarksuites", "testbeds"}

// install says how to install the operator.
const install = "install the chart: see how-to/install.md" + documentation

func kinds(f Facts) Finding {
	var missing []string
	for _, resource := range ourResources {
		has, err := f.has(v1alpha1.GroupVersion.String(), resource)
		if err != nil {
			return unanswered(err, "read the API server's discovery")
		}
		if !has {
			missing = append(missing, resource)
		}
	}
	switch len(missing) {
	case 0:
		return fine("the API server has all kinds of %s", v1alpha1.GroupVersion)
	case len(ourResources):
		return found(Warning, install, "vnfbench is not installed")
	}
	return found(Fail, "apply all CustomResourceDefinitions of the operator's version: see how-to/upgrade.md"+documentation, "the API server lacks %s", strings.Join(missing, ", "))
}

func operators(f Facts) Finding {
	switch {
	case f.Operators.Err != nil:
		return unanswered(f.Operators.Err, "list Deployments of all namespaces")
	case len(f.Operators.Value) == 0 && f.installed():
		return found(Fail, install, "the kinds are installed, and no Deployment has the labels of the operator")
	case len(f.Operators.Value) == 0:
		return found(Warning, install, "vnfbench is not installed")
	case len(f.Operators.Value) > 1:
		return found(Fail, "remove all but one: Testbeds are of the whole cluster", "%d operators are installed: %s", len(f.Operators.Value), excerpt.List(namesOf(f.Operators.Value), ", "))
	}
	o := f.Operators.Value[0]
	if o.Status.AvailableReplicas == 0 {
		return found(Fail, "look at `kubectl -n "+o.Namespace+" describe deployment,pods`", "Deployment %s has no pod that is available", nameOf(o))
	}
	return fine("Deployment %s: %d of %d pods are available", nameOf(o), o.Status.AvailableReplicas, o.Status.Replicas)
}

func nameOf(d appsv1.Deployment) string { return d.Namespace + "/" + d.Name }

func namesOf(deployments []appsv1.Deployment) []string {
	var names []string
	for _, d := range deployments {
		names = append(names, nameOf(d))
	}
	return names
}

// pullFailures are the kubelet's reasons for which a container waits for its image.
var pullFailures = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"}

// images says which images of the operator the nodes have. Only a node knows whether it reaches a registry.
func images(f Facts) Finding {
	for _, pod := range f.Pods.Value {
		for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			if waiting := container.State.Waiting; waiting != nil && slices.Contains(pullFailures, waiting.Reason) {
				return found(Fail, "correct the image's name, the registry's certificate, or the pull secret", "pod %s/%s: image %s: %s: %s",
					pod.Namespace, pod.Name, container.Image, waiting.Reason, excerpt.Line(waiting.Message, 300))
			}
		}
	}
	const look = "after the first run, look at its pods; or pull the images on a node: crictl pull IMAGE"
	switch {
	case f.Operators.Err != nil:
		return unanswered(f.Operators.Err, "list Deployments of all namespaces")
	case len(f.Operators.Value) == 0:
		return found(Unknown, "push the images to a registry that the nodes reach: see how-to/install.md"+documentation, "the operator is not installed, so its images are not known")
	case f.Nodes.Err != nil:
		return unanswered(f.Nodes.Err, "list nodes")
	}
	wanted := installed.PodImages(&f.Operators.Value[0])
	var missing []string
	for _, image := range wanted {
		if !f.hasImage(image) {
			missing = append(missing, image)
		}
	}
	switch {
	case len(wanted) == 0:
		return found(Unknown, look, "Deployment %s names no image of runs in its arguments", nameOf(f.Operators.Value[0]))
	case len(missing) > 0:
		return found(Unknown, look, "no node lists %s among its images, and only a node knows whether it can pull: %s", plural(len(missing), "image"), excerpt.List(missing, ", "))
	}
	return fine("a node has each of the %s of runs", plural(len(wanted), "image"))
}

// hasImage reports whether a node lists an image. A node lists at most 50, so an image can be there without it.
func (f Facts) hasImage(image string) bool {
	for _, node := range f.Nodes.Value {
		for _, listed := range node.Status.Images {
			if slices.Contains(listed.Names, image) {
				return true
			}
		}
	}
	return false
}

func testbeds(f Facts) Finding {
	switch {
	case !f.installed():
		return found(Unknown, install, "vnfbench is not installed")
	case f.Testbeds.Err != nil:
		return unanswered(f.Testbeds.Err, "list testbeds: bind them the ClusterRole vnfbench-viewer")
	case len(f.Testbeds.Value) == 0:
		return found(Warning, "apply one, such as the one in the chart's notes: `helm get notes RELEASE -n NAMESPACE`", "the cluster has no Testbed")
	}
	var ready, notReady []string
	for _, t := range f.Testbeds.Value {
		if c := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionReady); c == nil {
			notReady = append(notReady, t.Name+" (the operator has not looked at it)")
		} else if c.Status != "True" {
			notReady = append(notReady, t.Name+" ("+c.Reason+": "+excerpt.Line(c.Message, 300)+")")
		} else {
			ready = append(ready, t.Name)
		}
	}
	const look = "do what the message says, and look at `kubectl describe testbeds`"
	switch {
	case len(ready) == 0:
		return found(Fail, look, "no Testbed is ready: %s", excerpt.List(notReady, "; "))
	case len(notReady) > 0:
		return found(Warning, look, "ready: %s; not ready: %s", excerpt.List(ready, ", "), excerpt.List(notReady, "; "))
	}
	return fine("ready: %s", excerpt.List(ready, ", "))
}

func storageClass(f Facts) Finding {
	if f.StorageClasses.Err != nil {
		return unanswered(f.StorageClasses.Err, "list storageclasses")
	}
	for _, class := range f.StorageClasses.Value {
		for _, annotation := range []string{"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"} {
			if class.Annotations[annotation] == "true" {
				return fine("%s is the default", class.Name)
			}
		}
	}
	const use = "only the results service needs one, on a volume: name one in the chart's values, or archive into a bucket: see how-to/archive.md" + documentation
	if len(f.StorageClasses.Value) == 0 {
		return found(Warning, use, "the cluster has no StorageClass")
	}
	return found(Warning, use, "none of %s is the default", plural(len(f.StorageClasses.Value), "StorageClass"))
}
