package caller

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// Client returns a client for the agents at the addresses, "192.0.2.1:8080", and for no other place: not by
// a redirect, nor by the environment's proxies. Its requests have the token that is in the file at that time, which the
// kubelet renews; without a file, they have none.
func Client(tokenFile string, addresses ...string) *http.Client {
	return &http.Client{
		Transport: &transport{
			inner:     &http.Transport{DisableCompression: true, IdleConnTimeout: time.Minute},
			addresses: addresses, tokenFile: tokenFile,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type transport struct {
	inner     *http.Transport
	addresses []string
	tokenFile string
}

// CloseIdleConnections lets http.Client close them.
func (t *transport) CloseIdleConnections() { t.inner.CloseIdleConnections() }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	sent, err := t.withToken(request)
	if err != nil {
		if request.Body != nil {
			_ = request.Body.Close() // nothing was read of it
		}
		return nil, err
	}
	return t.inner.RoundTrip(sent)
}

// withToken returns the request with the token, or an error if it does not go to an agent.
func (t *transport) withToken(request *http.Request) (*http.Request, error) {
	if !slices.Contains(t.addresses, request.URL.Host) {
		return nil, fmt.Errorf("%q is not the address of an agent of this run", request.URL.Host)
	}
	if t.tokenFile == "" {
		return request, nil
	}
	token, err := os.ReadFile(t.tokenFile)
	if err != nil {
		return nil, fmt.Errorf("reading the token for the run's agents: %w", err)
	}
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	return request, nil
}
