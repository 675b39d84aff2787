package controller

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/internal/controller/benchmarkrun"
	"vnfbench.io/operator/internal/controller/suite"
	"vnfbench.io/operator/internal/controller/suiterun"
	"vnfbench.io/operator/internal/controller/watches"
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

// TestMonitoringNamesMetricsThatExist checks the alerts and the dashboard: each metric of this project is one that a controller has, with the labels that
// are selected and shown, and the page of metrics lists it.
func TestMonitoringNamesMetricsThatExist(t *testing.T) {
	labels := map[string]string{}
	described := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	for _, collector := range []prometheus.Collector{watches.New(nil), benchmarkrun.NewMetrics(), suiterun.NewMetrics(nil, nil), &suite.Gauges{}, &benchmarkrun.Gauges{}} {
		descriptions := make(chan *prometheus.Desc, 100)
		collector.Describe(descriptions)
		close(descriptions)
		for d := range descriptions {
			found := described.FindStringSubmatch(d.String())
			if found == nil {
				t.Fatalf("%s cannot be read", d)
			}
			labels[found[1]] = found[2]
		}
	}
	page, err := os.ReadFile("../../../docs/concepts/lifecycle.md")
	if err != nil {
		t.Fatal(err)
	}
	// What has a parenthesis is a pattern of names, not a name.
	used := regexp.MustCompile(`(vnfbench_[a-z_]+)(?:\{([^}]*)\}|[^(a-z_])`)
	selected := regexp.MustCompile(`([a-z]+)(?:=|!=|=~|!~)\\?"`)
	shown := regexp.MustCompile(`\$labels\.([a-z]+)`)
	named := 0
	for _, file := range []string{"rules.yaml", "dashboard.json"} {
		text, err := os.ReadFile("../../../charts/vnfbench/files/monitoring/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, &map[string]any{}); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for _, part := range regexp.MustCompile(`- alert:|"targets":`).Split(string(text), -1) {
			for _, use := range used.FindAllStringSubmatch(part, -1) {
				named++
				name := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(use[1], "")
				known, exists := labels[name]
				if !exists || !strings.Contains(string(page), "`"+name) {
					t.Errorf("%s: there is no metric %s, or docs/concepts/lifecycle.md does not list it", file, name)
				}
				for _, label := range append(selected.FindAllStringSubmatch(use[2], -1), shown.FindAllStringSubmatch(part, -1)...) {
					if !slices.Contains(strings.Split(known, ","), label[1]) {
						t.Errorf("%s: %s has no label %q, but %s", file, name, label[1], known)
					}
				}
			}
		}
	}
	if named < 10 {
		t.Errorf("%d metrics are named, want at least 10", named)
	}
}
