package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestNoNamespaceCanBeRead: an operator starts that may watch none of its namespaces, as after the deletion of the only one. It lists
// runs, and none of what controllers need; it removes the finalizer of the deleted run, and says that it is not ready.
func TestNoNamespaceCanBeRead(t *testing.T) {
	patched, asked := make(chan string, 1), make(chan string, 1000)
	answers := map[string]string{}
	var groups []string
	for version, kinds := range map[string][]string{
		"v1": {"Node", "Pod", "ConfigMap"}, "batch/v1": {"Job"}, "rbac.authorization.k8s.io/v1": {"Role", "RoleBinding"}, "coordination.k8s.io/v1": {"Lease"},
		"vnfbench.io/v1alpha1": {"BenchmarkRun", "BenchmarkSuite", "BenchmarkSuiteRun"},
	} {
		var resources []string
		for _, kind := range kinds {
			resources = append(resources, fmt.Sprintf(`{"name":"%ss","singularName":"","namespaced":true,"kind":%q,"verbs":["get","list","patch"]}`, strings.ToLower(kind), kind))
		}
		path := "/api/" + version
		if name, short, found := strings.Cut(version, "/"); found {
			path = "/apis/" + version
			groups = append(groups, fmt.Sprintf(`{"name":%q,"versions":[{"groupVersion":%q,"version":%q}],"preferredVersion":{"groupVersion":%q,"version":%q}}`, name, version, short, version, short))
		}
		answers["GET "+path] = fmt.Sprintf(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[%s]}`, version, strings.Join(resources, ","))
	}
	metadata := fmt.Sprintf(`"metadata":{"namespace":"going","name":"run","uid":"u","resourceVersion":"1","deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":[%q]}`, v1alpha1.Finalizer)
	maps.Copy(answers, map[string]string{
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews": `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":false}}`,
		"GET /api":  `{"kind":"APIVersions","versions":["v1"]}`,
		"GET /apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[` + strings.Join(groups, ",") + `]}`,
		"GET /apis/vnfbench.io/v1alpha1/benchmarkruns":                        `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",` + metadata + `}]}`,
		"GET /apis/coordination.k8s.io/v1/namespaces/home/leases":             `{"kind":"LeaseList","apiVersion":"coordination.k8s.io/v1","items":[]}`,
		"PATCH /apis/vnfbench.io/v1alpha1/namespaces/going/benchmarkruns/run": `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",` + metadata + `}`,
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := r.Method + " " + r.URL.Path
		answer, known := answers[request]
		if !known || r.URL.Query().Has("watch") {
			asked <- request + "?" + r.URL.RawQuery
			http.NotFound(w, r)
			return
		}
		if r.Method == http.MethodPatch {
			body, _ := io.ReadAll(r.Body)
			select {
			case patched <- string(body):
			default:
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "config")
	kubeconfig := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c}}]\n", server.URL)
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	probes, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := probes.Addr().String()
	_ = probes.Close()
	o, err := parse(strings.Fields("-traffic-image t -function-image f -guest-image g -endpoint-image e -neighbor-image n -neighbor-guest-image m -operator-namespace home -namespace going -metrics-bind-address 0 -health-probe-bind-address "+address), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, o) }()
	select {
	case patch := <-patched:
		if !strings.Contains(patch, `"path":"/metadata/finalizers","value":[]`) {
			t.Errorf("the patch is %s", patch)
		}
	case err := <-ended:
		t.Fatalf("the manager ended: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("the run's finalizer stays")
	}
	for path, want := range map[string]int{"/readyz": http.StatusInternalServerError, "/healthz": http.StatusOK} {
		response, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s is %s, want %d", path, response.Status, want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	close(asked)
	for request := range asked {
		t.Errorf("the manager asks for %s", request)
	}
}
