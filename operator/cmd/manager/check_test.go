package main

import (
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

func TestParseCheck(t *testing.T) {
	got, err := parseCheck([]string{checkCommand, "--namespace=home", "--deployment=a", "--deployment=b"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := []any{"home", []string{"a", "b"}, time.Minute}
	if diff := cmp.Diff(want, []any{got.namespace, []string(got.deployments), got.timeout}); diff != "" {
		t.Error(diff)
	}
	for text, wrong := range map[string][]string{
		"-namespace is required":  {"--deployment=a"},
		"-deployment is required": {"--namespace=home"},
		`unexpected argument "b"`: {"--namespace=home", "--deployment=a", "b"},
		"-log-format":             {"--namespace=home", "--deployment=a", "--log-format=xml"},
		flag.ErrHelp.Error():      {"-h"},
	} {
		if _, err := parseCheck(append([]string{checkCommand}, wrong...), io.Discard); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v, want %q", wrong, err, text)
		}
	}
}

// TestCheckPrintsFailures checks the output with an API server that knows nothing.
func TestCheckPrintsFailures(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	var out strings.Builder
	err := checkIn(t.Context(), &rest.Config{Host: server.URL}, &checkOptions{namespace: "home", deployments: []string{"operator"}, timeout: time.Millisecond}, &out)
	if err == nil || err.Error() != "7 of 7 checks failed" {
		t.Errorf("error %v", err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 7 || !strings.HasPrefix(out.String(), "FAIL  Deployment home/operator is ready: ") {
		t.Errorf("printed %d lines:\n%s", lines, out.String())
	}
}
