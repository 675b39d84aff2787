package controller

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"vnfbench.io/operator/internal/controller/benchmarkrun"
	"vnfbench.io/operator/internal/controller/suiterun"
	"vnfbench.io/operator/internal/controller/watches"
	"vnfbench.io/operator/internal/figure"
)

// TestEveryCacheReportsItsErrors checks that a kind that the operator cannot read is noticed, also that of virtual
// machines, which has its own cache.
func TestEveryCacheReportsItsErrors(t *testing.T) {
	handled := 0
	onError := func(context.Context, *toolscache.Reflector, error) { handled++ }
	manager, err := CacheOptions(nil, onError)
	if err != nil {
		t.Fatal(err)
	}
	vms, err := vmCacheOptions([]string{"lab"}, onError)
	if err != nil {
		t.Fatal(err)
	}
	if manager.DefaultWatchErrorHandler == nil || vms.DefaultWatchErrorHandler == nil {
		t.Fatal("a cache has no handler of errors")
	}
	manager.DefaultWatchErrorHandler(t.Context(), nil, nil)
	vms.DefaultWatchErrorHandler(t.Context(), nil, nil)
	if handled != 2 {
		t.Errorf("%d of 2 errors were handled", handled)
	}
	node := &corev1.Node{Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{SizeBytes: 1}}, Conditions: []corev1.NodeCondition{{}}}}
	if _, err := withoutImages(node); err != nil || len(node.Status.Images) > 0 || len(node.Status.Conditions) == 0 {
		t.Errorf("the cache has %+v of a node: %v", node.Status, err)
	}
	if len(vms.ByObject) > 0 || vms.DefaultLabelSelector == nil {
		t.Errorf("the cache of virtual machines has %+v", vms)
	}
}

// TestCachesAreBounded checks that the caches drop from every kind that tenants write what makes it large.
func TestCachesAreBounded(t *testing.T) {
	manager, err := CacheOptions(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	vms, err := vmCacheOptions(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	bounded := func(object client.Object, transform toolscache.TransformFunc) {
		object.SetAnnotations(map[string]string{"mine": strings.Repeat("a", 1<<18)})
		if _, err := transform(object); err != nil || len(object.GetAnnotations()) > 0 {
			t.Errorf("the cache has the annotations of a %T: %v", object, err)
		}
	}
	kinds := 0
	for object, by := range manager.ByObject {
		if _, isNode := object.(*corev1.Node); isNode {
			continue
		}
		kinds++
		switch object.(type) {
		case *corev1.ConfigMap, *rbacv1.Role, *rbacv1.RoleBinding:
			object = &metav1.PartialObjectMetadata{}
		}
		bounded(object, by.Transform)
	}
	if kinds != 8 {
		t.Errorf("%d kinds, want 8", kinds)
	}
	bounded(&kubevirtv1.VirtualMachineInstance{}, vms.DefaultTransform)
}

// TestMetricsAreDocumented checks that docs/reference/metrics.md lists the metrics that the manager registers, with their labels, and no others. The
// tests of test/monitoring check the alerts and the dashboard by that page.
func TestMetricsAreDocumented(t *testing.T) {
	registered, documented := map[string]string{}, map[string]string{}
	described := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	for _, collector := range append(gauges(nil, nil, nil), watches.New(nil), benchmarkrun.NewMetrics(), suiterun.NewMetrics(nil, nil), awaitingArchive(nil, nil)) {
		descriptions := make(chan *prometheus.Desc, 100)
		collector.Describe(descriptions)
		close(descriptions)
		for d := range descriptions {
			found := described.FindStringSubmatch(d.String())
			if found == nil {
				t.Fatalf("%s cannot be read", d)
			}
			registered[found[1]] = found[2]
		}
	}
	page, err := os.ReadFile("../../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("`([^`]+)`")
	rows := regexp.MustCompile("(?m)^\\| `(vnfbench_[a-z_]+)` \\| (gauge|counter|histogram) \\| ([^|]+) \\|").FindAllStringSubmatch(string(page), -1)
	for _, row := range rows {
		var labels []string
		for _, label := range name.FindAllStringSubmatch(strings.ReplaceAll(row[3], "[identity](#identity)", "`namespace`, `suite`, `cell`, `experiment`, `testbed`"), -1) {
			labels = append(labels, label[1])
		}
		documented[row[1]] = strings.Join(labels, ",")
		if strings.HasSuffix(row[1], "_total") != (row[2] == "counter") {
			t.Errorf("%s is no %s", row[1], row[2])
		}
	}
	if diff := cmp.Diff(registered, documented); diff != "" {
		t.Errorf("registered (-) and documented (+) metrics differ:\n%s", diff)
	}
	// What the page says of the library.
	ofLibrary := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "controller_runtime_reconcile_errors_total", Help: "Total number of reconciliation errors per controller"}, []string{"controller"})
	if !strings.Contains(string(page), "`controller_runtime_reconcile_errors_total{controller}`") {
		t.Error("the page does not name the metric of the library that alerts use")
	}
	var known prometheus.AlreadyRegisteredError
	if err := metrics.Registry.Register(ofLibrary); !errors.As(err, &known) {
		t.Errorf("the library has no such metric with these labels: %v", err)
	}
}

// TestFiguresAreDocumented checks that docs/reference/metrics.md names each metric of a figure that the manager exports.
func TestFiguresAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range figure.Metrics {
		if m.Is(figure.Compared|figure.Exported) != strings.Contains(string(page), "`"+string(m.Name)+"`") {
			t.Errorf("%s is exported: %t, and the page says something else", m.Name, m.Is(figure.Compared|figure.Exported))
		}
	}
}
