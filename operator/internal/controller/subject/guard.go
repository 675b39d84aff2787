package subject

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
)

// access is how a host may be asked.
type access int

const (
	onlyHTTPS access = iota
	plainHTTP
)

// Registries are the hosts that may be asked, as HOST:PORT. Nothing else may be.
type Registries map[string]access

// ParseRegistries reads hosts as HOST, HOST:PORT, or with http:// before them for plain HTTP. "docker.io" is the host that its images have.
func ParseRegistries(texts []string) (Registries, error) {
	registries := Registries{}
	for _, text := range texts {
		host, plain := strings.CutPrefix(text, "http://")
		parsed, err := url.Parse("//" + host)
		if err != nil || host == "" || parsed.Host != host || parsed.Hostname() == "" || strings.ContainsAny(host, "*?#%, \t") {
			return nil, fmt.Errorf("%q is no registry: write its host as registry.example or registry.example:5000, or http://registry.example:5000 for plain HTTP", text)
		}
		if host == "docker.io" {
			host = "index.docker.io"
		}
		if !plain {
			registries[address(host, "https")] = max(registries[address(host, "https")], onlyHTTPS)
			continue
		}
		// Both are tried.
		registries[address(host, "http")], registries[address(host, "https")] = plainHTTP, plainHTTP
	}
	return registries, nil
}

// of returns how a host may be asked, and whether it may be.
func (r Registries) of(host, scheme string) (access, bool) {
	how, allowed := r[address(host, scheme)]
	return how, allowed
}

// address returns a host with its port in one form.
func address(host, scheme string) string {
	parsed := url.URL{Host: strings.ToLower(host)}
	port := parsed.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return net.JoinHostPort(strings.TrimSuffix(parsed.Hostname(), "."), port)
}

// refusedHost is the error for a host that is not in the list.
type refusedHost struct{ host string }

func (e *refusedHost) Error() string {
	return fmt.Sprintf("the operator may not read from host %q", e.host)
}

// errTooMuch is the error for answers beyond the bounds.
var errTooMuch = errors.New("the registry sends more than the labels of an image can be")

// guard lets requests to allowed hosts pass, whatever a registry redirects to, and by HTTPS alone unless plain HTTP is allowed. It bounds all
// answers together.
type guard struct {
	next     http.RoundTripper
	allowed  Registries
	bytes    atomic.Int64
	requests atomic.Int64
}

func newGuard(next http.RoundTripper, allowed Registries) *guard {
	g := &guard{next: next, allowed: allowed}
	g.bytes.Store(maxBytes)
	g.requests.Store(maxRequests)
	return g
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	scheme := r.URL.Scheme
	if how, allowed := g.allowed.of(r.URL.Host, scheme); scheme == "http" && (!allowed || how != plainHTTP) {
		// The name of a host, such as one in .local, lets the library try plain HTTP.
		scheme = "https"
	}
	if _, allowed := g.allowed.of(r.URL.Host, scheme); !allowed || scheme != "http" && scheme != "https" {
		return nil, &refusedHost{r.URL.Host}
	}
	if g.requests.Add(-1) < 0 {
		return nil, errTooMuch
	}
	if scheme != r.URL.Scheme {
		r = r.Clone(r.Context())
		r.URL.Scheme = scheme
	}
	response, err := g.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = &bounded{response.Body, &g.bytes}
	return response, nil
}

// bounded is a body that ends with an error where no bytes are left.
type bounded struct {
	io.ReadCloser
	left *atomic.Int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left.Add(-int64(n)) < 0 {
		return 0, errTooMuch
	}
	return n, err
}
