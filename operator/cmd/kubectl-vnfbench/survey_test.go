package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestKubeletOf reads the settings of kubelets through an API server that answers as real ones do.
func TestKubeletOf(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/nodes/static/proxy/configz":
			fmt.Fprint(w, `{"kubeletconfig":{"kind":"KubeletConfiguration","cpuManagerPolicy":"static","topologyManagerPolicy":"single-numa-node","reservedSystemCPUs":"0-1"}}`)
		case "/api/v1/nodes/other/proxy/configz":
			fmt.Fprint(w, `{"componentconfig":{}}`)
		case "/api/v1/nodes/broken/proxy/configz":
			fmt.Fprint(w, `<html>`)
		case "/apis/kubevirt.io/v1":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"kubevirt.io/v1","resources":[{"name":"kubevirts"},{"name":"kubevirts/status"}]}`)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		}
	}))
	defer server.Close()
	asked, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	for node, want := range map[string]string{"static": "", "other": "has no cpuManagerPolicy", "broken": "reading the kubelet's settings", "absent": "could not find"} {
		answer := kubeletOf(t.Context(), asked.RESTClient(), node)
		if (answer.Err == nil) != (want == "") || answer.Err != nil && !strings.Contains(answer.Err.Error(), want) {
			t.Errorf("%s: %v, want %q", node, answer.Err, want)
		}
		if got := answer.Value; want == "" && (got.CPUManagerPolicy != "static" || got.TopologyManagerPolicy != "single-numa-node" || got.ReservedSystemCPUs != "0-1") {
			t.Errorf("%s: %+v", node, got)
		}
	}
	if got := resourcesOf(asked, "kubevirt.io/v1"); got.Err != nil || !slices.Equal(got.Value, []string{"kubevirts", "kubevirts/status"}) {
		t.Errorf("a group that is there: %+v", got)
	}
	if got := resourcesOf(asked, "k8s.cni.cncf.io/v1"); got.Err != nil || got.Value != nil {
		t.Errorf("a group that is absent: %+v", got)
	}
}

// TestKubeVirts reads the KubeVirt resource without its type in the scheme.
func TestKubeVirts(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "kubevirt.io", Version: "v1", Kind: "KubeVirt"}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind("KubeVirtList"), &unstructured.UnstructuredList{})
	object := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "kubevirt", "name": "kubevirt"},
		"spec":     map[string]any{"configuration": map[string]any{"developerConfiguration": map[string]any{"featureGates": []any{"CPUManager"}, "useEmulation": true}}},
		"status":   map[string]any{"phase": "Deployed", "observedKubeVirtVersion": "v1.9.0"},
	}}
	object.SetGroupVersionKind(kind)
	c := &cluster{client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(object).Build(), namespace: "lab"}
	answer := c.kubeVirts(t.Context())
	if answer.Err != nil || len(answer.Value) != 1 {
		t.Fatalf("%+v", answer)
	}
	got := answer.Value[0]
	if got.Status.Phase != "Deployed" || got.Status.ObservedKubeVirtVersion != "v1.9.0" || !got.Spec.Configuration.DeveloperConfiguration.UseEmulation || !slices.Equal(got.Spec.Configuration.DeveloperConfiguration.FeatureGates, []string{"CPUManager"}) {
		t.Errorf("%+v", got)
	}
}
