package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"vnfbench.io/operator/internal/archive"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/testing/resultstest"
)

// TestPagesShowWhatIsStored stores a document while the pages are served over HTTPS: they show it before the archive is listed again.
func TestPagesShowWhatIsStored(t *testing.T) {
	for authentication, want := range map[string]int{authenticationNone: http.StatusOK, authenticationToken: http.StatusUnauthorized} {
		store, err := archive.Open(t.Context(), "file://"+t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := free.Addr().String()
		if err := free.Close(); err != nil {
			t.Fatal(err)
		}
		o, err := parse([]string{"-archive", "mem://", "-pages-bind-address", address, "-pages-authentication", authentication, "-index", filepath.Join(t.TempDir(), "index")}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		p := &pages{options: o, config: &rest.Config{Host: "https://127.0.0.1:1"}, archive: store, log: logr.Discard()}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Start(ctx) }()
		client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // It is a certificate that no one can verify.
		get := func() (int, string) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("https://%s/api/v1/runs", address), nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := client.Do(r)
			if err != nil {
				return 0, err.Error()
			}
			defer func() { _ = answer.Body.Close() }()
			body, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			return answer.StatusCode, string(body)
		}
		wait := func(what string, is func(int, string) bool) {
			t.Helper()
			code, body := get()
			for end := time.Now().Add(20 * time.Second); !is(code, body); code, body = get() {
				if time.Now().After(end) {
					t.Fatalf("%s: %d %s", what, code, body)
				}
				time.Sleep(20 * time.Millisecond)
			}
		}
		wait("it does not serve", func(code int, _ string) bool { return code == want })
		if want == http.StatusOK {
			// The first listing is over: the next one is 30 s later.
			for p.index.Load().Status().Listed.IsZero() {
				time.Sleep(time.Millisecond)
			}
			doc := resultstest.Run(t, "lab", "stored", 0)
			var text bytes.Buffer
			if err := document.Write(&text, doc, true); err != nil {
				t.Fatal(err)
			}
			if err := p.Store(t.Context(), archive.RunKey("lab", "stored", doc.Run.UID), text.Bytes()); err != nil {
				t.Fatal(err)
			}
			wait("it does not show what was stored", func(_ int, body string) bool { return strings.Contains(body, `"name": "stored"`) })
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
