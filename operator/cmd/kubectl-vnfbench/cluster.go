package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// cluster reads runs of one namespace.
type cluster struct {
	client    client.WithWatch
	namespace string
	// config connects to the cluster; nil in tests with a client that has no cluster.
	config *rest.Config
	// openLog replaces the way to the logs of pods, for tests.
	openLog logOpener
}

func newCluster(flags *genericclioptions.ConfigFlags) (*cluster, error) {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	namespace, _, err := flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("reading the namespace from the kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, authorizationv1.AddToScheme, storagev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	return &cluster{client: c, namespace: namespace, config: config}, nil
}

// run gets one run.
func (c *cluster) run(ctx context.Context, name string) (*v1alpha1.BenchmarkRun, error) {
	var run v1alpha1.BenchmarkRun
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, &run); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, notFound(c.namespace, name)
		}
		return nil, explain(err)
	}
	return &run, nil
}

func (c *cluster) runNames(ctx context.Context) ([]string, error) {
	var runs v1alpha1.BenchmarkRunList
	if err := c.client.List(ctx, &runs, client.InNamespace(c.namespace)); err != nil {
		return nil, explain(err)
	}
	names := make([]string, len(runs.Items))
	for i, run := range runs.Items {
		names[i] = run.Name
	}
	return names, nil
}

// source returns the run by its name alone, as a list and as a watch.
func (c *cluster) source(name string) source { return clusterSource{c, name} }

type clusterSource struct {
	*cluster
	name string
}

func (s clusterSource) options(extra metav1.ListOptions) []client.ListOption {
	return []client.ListOption{
		client.InNamespace(s.namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector(metav1.ObjectNameField, s.name)},
		&client.ListOptions{Raw: &extra},
	}
}

func (s clusterSource) list(ctx context.Context) (*v1alpha1.BenchmarkRunList, error) {
	var runs v1alpha1.BenchmarkRunList
	if err := s.client.List(ctx, &runs, s.options(metav1.ListOptions{})...); err != nil {
		return nil, explain(err)
	}
	return &runs, nil
}

func (s clusterSource) watch(ctx context.Context, resourceVersion string) (watch.Interface, error) {
	return s.client.Watch(ctx, &v1alpha1.BenchmarkRunList{},
		s.options(metav1.ListOptions{ResourceVersion: resourceVersion, AllowWatchBookmarks: true})...)
}

func notFound(namespace, name string) error {
	return fmt.Errorf("BenchmarkRun %q does not exist in namespace %q", name, namespace)
}

// explain adds the cause to the errors that users meet first.
func explain(err error) error {
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the cluster lacks a kind of vnfbench; is it installed there, in the plugin's version? %w", err)
	}
	return err
}
