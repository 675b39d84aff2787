package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// unpack returns the files of a bundle.
func unpack(t *testing.T, b *Bundle) map[string]string {
	t.Helper()
	var packed bytes.Buffer
	if err := b.Write(&packed, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(&packed)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		out[header.Name] = string(text)
	}
}

const token = "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl"

// TestNoSecretIsPacked puts secrets everywhere, and looks for them in all that is packed.
func TestNoSecretIsPacked(t *testing.T) {
	b := New("router")
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "router",
		Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "hidden-1", "kept": "annotation"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "hidden-2"}}}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{Name: "DB_PASSWORD", Value: "hidden-3"}, {Name: "AGENT_TOKEN_FILE", Value: "/run/agent-token"}, {Name: "MODE", Value: "router"}}, Args: []string{"--password=hidden-4"}}}
	secret := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Name: "keys"}, StringData: map[string]string{"key": "hidden-5"}}
	machine := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "vnfbench.io/v1alpha1", "kind": "BenchmarkRun", "spec": map[string]any{"chain": []any{map[string]any{"userData": "hidden-6", "name": "r1"}}}}}
	stored := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: map[string]string{"plan.json": "{\"functions\":[{\"custom\":{\"userData\":\"#cloud-config \\\"hidden-11\\\"\"}}],\"version\":3}"}}
	for name, object := range map[string]runtime.Object{"pod.yaml": pod, "secret.yaml": secret, "run.yaml": machine, "plan.yaml": stored} {
		if err := b.AddObject(name, object); err != nil {
			t.Fatal(err)
		}
	}
	b.Add("logs/pod.log", []byte("GET https://user:hidden-7@registry.example/v2\nAuthorization: Bearer hidden-8-hidden\ntoken "+token+
		"\n-----BEGIN EC PRIVATE KEY-----\nhidden-9\n-----END EC PRIVATE KEY-----\n{\"client_secret\": \"hidden-10\", \"frames\": 12}\nkept: line\n"))
	b.LeaveOut("events", "forbidden:\nno right")
	files := unpack(t, b)
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all.WriteString(files[name])
	}
	if strings.Contains(all.String(), "hidden") || strings.Contains(all.String(), token[:30]) {
		t.Errorf("a secret is in the bundle:\n%s", all.String())
	}
	for _, kept := range []string{"kept: annotation", "/run/agent-token", "value: router", "kept: line", `{"client_secret": "REDACTED", "frames": 12}`, "registry.example/v2", "name: r1", `"version": 3`, "REDACTED (8 bytes)"} {
		if !strings.Contains(all.String(), kept) {
			t.Errorf("%q is lost:\n%s", kept, all.String())
		}
	}
	list := files["router/README.txt"]
	for _, want := range []string{"pod.yaml (2 replaced)", "logs/pod.log (5 replaced)", "run.yaml (1 replaced)", "plan.yaml (1 replaced)", "secret.yaml: Secrets are never", "events: forbidden: no right"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %q:\n%s", want, list)
		}
	}
	if _, has := files["router/secret.yaml"]; has || b.Files() != 4 || len(b.Left()) != 2 {
		t.Errorf("%d files, left %q", b.Files(), b.Left())
	}
}

// TestSameBundle checks that the same content gives the same bytes.
func TestSameBundle(t *testing.T) {
	pack := func() string {
		b := New("a")
		b.Add("b", []byte("c"))
		var out bytes.Buffer
		if err := b.Write(&out, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if pack() != pack() {
		t.Error("the bytes differ")
	}
}

// TestOrdinaryTextStays checks that what is no secret is not replaced.
func TestOrdinaryTextStays(t *testing.T) {
	for _, text := range []string{"throughput 64 bytes: 1000000 frames/s", "basic throughput of the device", "the token is valid for 1h", "https://registry.example:5000/v2", "secretName: router-keys", "sha256:eyJhbGciOiJ", "automountServiceAccountToken: false"} {
		if got, n := redactText(text); got != text || n != 0 {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestName(t *testing.T) {
	if got := Name("../a b/c:1"); got != "-a-b-c-1" {
		t.Errorf("got %q", got)
	}
}
