package local

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// start serves a handler, and returns its site.
func start(t *testing.T, handler http.Handler) *Site {
	t.Helper()
	site, err := Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- site.Serve(ctx, handler) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return site
}

// ask sends a request, with another name of the host where one is given.
func ask(t *testing.T, method, address, host string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	r.Header.Set("Cookie", "a=b")
	r.Header.Set("X-Forwarded-User", "root")
	r.Header.Set("Authorization", "Bearer other")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// TestOnlyTheAddressItselfAnswers checks that a request needs the secret, a name of this machine, and a method that reads.
func TestOnlyTheAddressItselfAnswers(t *testing.T) {
	site := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "served ", r.URL.RequestURI()) }))
	at, err := url.Parse(site.URL())
	if err != nil || at.Hostname() != "127.0.0.1" || len(site.secret) < 20 {
		t.Fatal(at, err)
	}
	if code, body := ask(t, http.MethodGet, site.URL()+"runs/a/b?q=c", ""); code != http.StatusOK || body != "served /runs/a/b?q=c" {
		t.Errorf("%d %s", code, body)
	}
	if code, _ := ask(t, http.MethodGet, site.URL(), "localhost:"+at.Port()); code != http.StatusOK {
		t.Errorf("localhost: %d", code)
	}
	for name, of := range map[string]struct {
		method, address, host string
		want                  int
	}{
		"without the secret":   {http.MethodGet, "http://" + at.Host + "/", "", http.StatusNotFound},
		"another secret":       {http.MethodGet, "http://" + at.Host + "/x/", "", http.StatusNotFound},
		"another host":         {http.MethodGet, site.URL(), "attacker.example:" + at.Port(), http.StatusNotFound},
		"a method that writes": {http.MethodPost, site.URL(), "", http.StatusMethodNotAllowed},
	} {
		if code, body := ask(t, of.method, of.address, of.host); code != of.want || strings.Contains(body, "served") {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
}

// TestProxySendsNothingOfTheBrowser checks that the token is that of the transport, and that headers of the browser which name a user are left out.
func TestProxySendsNothingOfTheBrowser(t *testing.T) {
	var got http.Header
	var path string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got, path = r.Header, r.URL.RequestURI() }))
	defer service.Close()
	to, err := url.Parse(service.URL)
	if err != nil {
		t.Fatal(err)
	}
	site := start(t, Proxy(to, tokenOf("mine")))
	if code, _ := ask(t, http.MethodGet, site.URL()+"series?figure=x", ""); code != http.StatusOK {
		t.Fatal(code)
	}
	if got.Get("Authorization") != "Bearer mine" || got.Get("Cookie") != "" || got.Get("X-Forwarded-User") != "" || got.Get("X-Forwarded-For") != "" || path != "/series?figure=x" {
		t.Errorf("%s with %v", path, got)
	}
	service.Close()
	if code, body := ask(t, http.MethodGet, site.URL(), ""); code != http.StatusBadGateway || !strings.Contains(body, "does not answer") {
		t.Errorf("%d %s", code, body)
	}
}

// tokenOf is a transport that adds a token.
type tokenOf string

func (o tokenOf) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+string(o))
	return http.DefaultTransport.RoundTrip(r)
}
