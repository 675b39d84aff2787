package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/doctor"
	"vnfbench.io/operator/internal/installed"
)

// kubeletTimeout is how long one kubelet may take to answer, maxKubelets how many are asked.
const (
	kubeletTimeout = 5 * time.Second
	maxKubelets    = 16
)

// survey asks the cluster for everything that the doctor looks at. It makes nothing there.
func (c *cluster) survey(ctx context.Context) (doctor.Facts, error) {
	config := *c.config
	// Each check has some questions, and a user waits for the answers.
	config.QPS, config.Burst = 50, 100
	asked, err := discovery.NewDiscoveryClientForConfig(&config)
	if err != nil {
		return doctor.Facts{}, err
	}
	facts := doctor.Facts{Namespace: c.namespace, Resources: map[string]doctor.Answer[[]string]{}, Kubelets: map[string]doctor.Answer[doctor.Kubelet]{}}
	info, err := asked.ServerVersion()
	if err != nil {
		return doctor.Facts{}, fmt.Errorf("the API server at %s does not answer: %w", c.config.Host, err)
	}
	facts.Version.Value = info.GitVersion
	for _, version := range doctor.Groups() {
		facts.Resources[version] = resourcesOf(asked, version)
	}
	facts.NamespaceObject = c.namespaceObject(ctx)
	facts.PodAdmission = c.podAdmission(ctx)
	facts.DaemonSets = listOf(ctx, c.client, &appsv1.DaemonSetList{}, func(l *appsv1.DaemonSetList) []appsv1.DaemonSet { return l.Items })
	facts.Operators = listOf(ctx, c.client, &appsv1.DeploymentList{}, func(l *appsv1.DeploymentList) []appsv1.Deployment { return l.Items }, client.MatchingLabels(installed.Labels()))
	facts.Pods = listOf(ctx, c.client, &corev1.PodList{}, func(l *corev1.PodList) []corev1.Pod { return l.Items }, client.InNamespace(c.namespace))
	facts.Nodes = listOf(ctx, c.client, &corev1.NodeList{}, func(l *corev1.NodeList) []corev1.Node { return l.Items })
	facts.StorageClasses = listOf(ctx, c.client, &storagev1.StorageClassList{}, func(l *storagev1.StorageClassList) []storagev1.StorageClass { return l.Items })
	facts.Testbeds = listOf(ctx, c.client, &v1alpha1.TestbedList{}, func(l *v1alpha1.TestbedList) []v1alpha1.Testbed { return l.Items })
	facts.KubeVirts = c.kubeVirts(ctx)
	for _, node := range facts.Nodes.Value[:min(len(facts.Nodes.Value), maxKubelets)] {
		facts.Kubelets[node.Name] = kubeletOf(ctx, asked.RESTClient(), node.Name)
	}
	for _, right := range doctor.Rights(c.namespace) {
		right.Allowed = c.allowed(ctx, right)
		facts.Rights = append(facts.Rights, right)
	}
	return facts, ctx.Err()
}

// resourcesOf returns the resources of a version of a group; none where the API server does not know the version.
func resourcesOf(asked discovery.DiscoveryInterface, version string) doctor.Answer[[]string] {
	list, err := asked.ServerResourcesForGroupVersion(version)
	if apierrors.IsNotFound(err) {
		return doctor.Answer[[]string]{}
	} else if err != nil {
		return doctor.Answer[[]string]{Err: err}
	}
	var names []string
	for _, resource := range list.APIResources {
		names = append(names, resource.Name)
	}
	return doctor.Answer[[]string]{Value: names}
}

// listOf lists objects; none where the cluster does not know their kind.
func listOf[L client.ObjectList, T any](ctx context.Context, from client.Client, list L, items func(L) []T, options ...client.ListOption) doctor.Answer[[]T] {
	if err := from.List(ctx, list, options...); err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		return doctor.Answer[[]T]{Err: err}
	}
	return doctor.Answer[[]T]{Value: items(list)}
}

func (c *cluster) namespaceObject(ctx context.Context) doctor.Answer[*corev1.Namespace] {
	var namespace corev1.Namespace
	if err := c.client.Get(ctx, client.ObjectKey{Name: c.namespace}, &namespace); apierrors.IsNotFound(err) {
		return doctor.Answer[*corev1.Namespace]{}
	} else if err != nil {
		return doctor.Answer[*corev1.Namespace]{Err: err}
	}
	return doctor.Answer[*corev1.Namespace]{Value: &namespace}
}

// podAdmission asks by a dry run, which makes nothing, whether the namespace takes pods as runs have them.
func (c *cluster) podAdmission(ctx context.Context) doctor.Answer[string] {
	err := c.client.Create(ctx, doctor.Pod(c.namespace), client.DryRunAll)
	status := apierrors.APIStatus(nil)
	switch {
	case err == nil:
		return doctor.Answer[string]{}
	case errors.As(err, &status) && (status.Status().Code == http.StatusForbidden || status.Status().Code == http.StatusUnprocessableEntity):
		return doctor.Answer[string]{Value: err.Error()}
	}
	return doctor.Answer[string]{Err: err}
}

func (c *cluster) kubeVirts(ctx context.Context) doctor.Answer[[]kubevirtv1.KubeVirt] {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: kubevirtv1.GroupVersion.Group, Version: kubevirtv1.GroupVersion.Version, Kind: "KubeVirtList"})
	answer := listOf(ctx, c.client, list, func(l *unstructured.UnstructuredList) []unstructured.Unstructured { return l.Items })
	var out []kubevirtv1.KubeVirt
	for _, item := range answer.Value {
		var k kubevirtv1.KubeVirt
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &k); err != nil {
			return doctor.Answer[[]kubevirtv1.KubeVirt]{Err: err}
		}
		out = append(out, k)
	}
	return doctor.Answer[[]kubevirtv1.KubeVirt]{Value: out, Err: answer.Err}
}

// kubeletOf reads the settings of a node's kubelet through the API server.
func kubeletOf(ctx context.Context, through rest.Interface, node string) doctor.Answer[doctor.Kubelet] {
	ctx, stop := context.WithTimeout(ctx, kubeletTimeout)
	defer stop()
	text, err := through.Get().AbsPath("/api/v1/nodes", node, "proxy", "configz").DoRaw(ctx)
	if err != nil {
		return doctor.Answer[doctor.Kubelet]{Err: err}
	}
	var settings struct {
		Kubelet doctor.Kubelet `json:"kubeletconfig"`
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		return doctor.Answer[doctor.Kubelet]{Err: fmt.Errorf("reading the kubelet's settings: %w", err)}
	}
	if settings.Kubelet.CPUManagerPolicy == "" {
		return doctor.Answer[doctor.Kubelet]{Err: errors.New("the kubelet's answer has no cpuManagerPolicy")}
	}
	return doctor.Answer[doctor.Kubelet]{Value: settings.Kubelet}
}

// allowed asks whether the user has a right.
func (c *cluster) allowed(ctx context.Context, right doctor.Right) doctor.Answer[bool] {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Namespace: right.Namespace, Verb: right.Verb, Group: right.Group, Resource: right.Resource, Subresource: right.Subresource,
	}}}
	if err := c.client.Create(ctx, review); err != nil {
		return doctor.Answer[bool]{Err: err}
	}
	return doctor.Answer[bool]{Value: review.Status.Allowed}
}
