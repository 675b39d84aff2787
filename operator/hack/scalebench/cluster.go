package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller"
)

const (
	// startTimeout is many times what an API server takes to start.
	startTimeout = 2 * time.Minute
	namespace    = "scale"
	testbedName  = "scale"
	nodeName     = "node-a"
)

// cluster is an API server with its etcd, one node, one namespace and one testbed.
type cluster struct {
	environment *envtest.Environment
	config      *rest.Config
	client      client.WithWatch
	kubeconfig  string
	etcdMetrics string
	// measurerWrites counts the requests of measurers.
	measurerWrites atomic.Int64
}

// startCluster starts all of it. The working directory is that of the Go module.
func startCluster(ctx context.Context) (c *cluster, err error) {
	c = &cluster{environment: &envtest.Environment{
		CRDDirectoryPaths:     []string{"../config/crd/bases", "internal/controller/envtest/testdata/network-attachment-definitions.yaml"},
		ErrorIfCRDPathMissing: true, CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: startTimeout},
		ControlPlaneStartTimeout: startTimeout, ControlPlaneStopTimeout: startTimeout,
	}}
	if c.config, err = c.environment.Start(); err != nil {
		return nil, fmt.Errorf("starting the API server: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.stop())
		}
	}()
	c.config.QPS = -1
	c.etcdMetrics = c.environment.ControlPlane.Etcd.URL.JoinPath("metrics").String()
	user, err := c.environment.AddUser(envtest.User{Name: "operator", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		return nil, err
	}
	credentials, err := user.KubeConfig()
	if err != nil {
		return nil, err
	}
	directory, err := os.MkdirTemp("", "scalebench-")
	if err != nil {
		return nil, err
	}
	c.kubeconfig = filepath.Join(directory, "kubeconfig")
	if err := os.WriteFile(c.kubeconfig, credentials, 0o600); err != nil {
		return nil, err
	}
	scheme, err := controller.Scheme()
	if err != nil {
		return nil, err
	}
	if c.client, err = client.NewWithWatch(c.config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	return c, c.prepare(ctx)
}

func (c *cluster) stop() error {
	if c.kubeconfig != "" {
		os.RemoveAll(filepath.Dir(c.kubeconfig))
	}
	return c.environment.Stop()
}

// prepare makes the node, the namespace and the testbed.
func (c *cluster) prepare(ctx context.Context) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}
	if err := c.client.Create(ctx, node); err != nil {
		return err
	}
	// Admission taints a new node until a controller marks it as ready.
	node.Spec.Taints = nil
	if err := c.client.Update(ctx, node); err != nil {
		return err
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi")}
	if err := c.client.Status().Update(ctx, node); err != nil {
		return err
	}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		// All finished runs stay: their deletion is other work.
		&v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Name: testbedName}, Spec: v1alpha1.TestbedSpec{HistoryLimit: 10_000}},
	} {
		if err := c.client.Create(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// measurerConfig returns a configuration of clients whose writes are counted.
func (c *cluster) measurerConfig() *rest.Config {
	config := rest.CopyConfig(c.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{next, &c.measurerWrites} })
	return config
}

// counting counts the requests that write. A measurer also reads by a patch, which is one too.
type counting struct {
	next   http.RoundTripper
	writes *atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (c counting) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		c.writes.Add(1)
	}
	return c.next.RoundTrip(request)
}
