package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"vnfbench.io/operator/internal/testing/resultstest"
)

// TestUIServesAFolder serves documents of a folder without a cluster: those in it are shown, what a link names outside of it is not, and nothing
// is left at the end.
func TestUIServesAFolder(t *testing.T) {
	temporary, folder, outside := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	doc := resultstest.Run(t, "lab", "last-year", 0)
	if err := os.WriteFile(filepath.Join(folder, "a.json"), resultstest.JSON(t, doc), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "b.json"), resultstest.JSON(t, resultstest.Run(t, "lab", "outside", 0)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "b.json"), filepath.Join(folder, "b.json")); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var out, notes buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &notes}
	command := newCommand(streams)
	command.SetArgs([]string{"ui", folder, "--no-browser"})
	done := make(chan int, 1)
	go func() { done <- execute(ctx, command, streams) }()
	page := ""
	for end := time.Now().Add(30 * time.Second); !strings.Contains(page, "1 run, the newest first"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the page is %q; %s", page, notes.String())
		}
		address := strings.TrimSpace(out.String())
		if address == "" {
			continue
		}
		answer, err := http.Get(address) //nolint:noctx // It is the command's own address.
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		page = string(text)
	}
	if !strings.Contains(page, "last-year") || strings.Contains(page, "outside") {
		t.Error(page)
	}
	stop()
	if code := <-done; code != exitSucceeded {
		t.Errorf("it ends with %d: %s", code, notes.String())
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}

// TestUIToken checks that the token of the user, or of the service account, is sent, and that a user without one is advised.
func TestUIToken(t *testing.T) {
	var asked authenticationv1.TokenRequest
	var path string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		asked.Status = authenticationv1.TokenRequestStatus{Token: "made", ExpirationTimestamp: metav1.NewTime(time.Now().Add(time.Hour))}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(asked)
	}))
	defer api.Close()
	got := ""
	service := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") }))
	defer service.Close()
	// A client certificate is nothing to send to the service.
	config := &rest.Config{Host: api.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	for name, at := range map[string]struct {
		account, token, want string
	}{"the user's": {"", "mine", "Bearer mine"}, "the account's": {"reader", "mine", "Bearer made"}} {
		config.BearerToken = at.token
		through, err := showingUI{serviceAccount: at.account}.transport(t.Context(), config, "lab")
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, service.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := through.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if got != at.want {
			t.Errorf("%s: the service got %q", name, got)
		}
	}
	if path != "/api/v1/namespaces/lab/serviceaccounts/reader/token" || *asked.Spec.ExpirationSeconds != tokenSeconds {
		t.Errorf("it asked %s for %+v", path, asked.Spec)
	}
	config.BearerToken = ""
	if _, err := (showingUI{}).transport(t.Context(), config, "lab"); err == nil || !strings.Contains(err.Error(), "--service-account") {
		t.Errorf("without a token: %v", err)
	}
}

// TestUITarget checks which pod and port of the service are forwarded.
func TestUITarget(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "results"}, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": "results"}, Ports: []corev1.ServicePort{{Name: "metrics", Port: 1}, {Name: "https", Port: 443, TargetPort: intstr.FromString("pages")}},
	}}
	pod := func(name string, ready corev1.ConditionStatus, labels map[string]string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: name, Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 8082}, {Name: "pages", ContainerPort: 8443}},
		}}}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}}
	}
	u := showingUI{serviceNamespace: "system", serviceName: "results"}
	clients := fake.NewClientset(service, pod("a", corev1.ConditionFalse, service.Spec.Selector), pod("b", corev1.ConditionTrue, service.Spec.Selector), pod("c", corev1.ConditionTrue, nil))
	if found, port, err := u.target(t.Context(), clients); err != nil || found.Name != "b" || port != 8443 {
		t.Errorf("%v %d %v", found, port, err)
	}
	if _, _, err := u.target(t.Context(), fake.NewClientset(service)); err == nil || !strings.Contains(err.Error(), "no pod of service") {
		t.Error(err)
	}
	if _, _, err := u.target(t.Context(), fake.NewClientset()); err == nil || !strings.Contains(err.Error(), "results.enabled") {
		t.Error(err)
	}
}
