// Package local serves pages to the browser of one user of this machine. A handler goes in, and an address comes out that others cannot guess.
package local

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"
)

// Site is an address on the loopback interface. Every account of a machine can connect there, and every page in a browser can make it ask: so
// the address has a secret, and a name of another host is refused.
type Site struct {
	listener net.Listener
	secret   string
}

// Listen listens on a port of 127.0.0.1; 0 is any free one.
func Listen(ctx context.Context, port int) (*Site, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	return &Site{listener, rand.Text()}, nil
}

// URL returns the address of the first page.
func (s *Site) URL() string { return "http://" + s.listener.Addr().String() + "/" + s.secret + "/" }

// Serve serves a handler until the context ends.
func (s *Site) Serve(ctx context.Context, handler http.Handler) error {
	server := &http.Server{Handler: s.guarded(handler), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close ends the use of a site that is not served.
func (s *Site) Close() error { return s.listener.Close() }

// guarded lets requests through that have the secret and the host of the address. Another name of the host is one whose owner has it lead here.
func (s *Site) guarded(next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secret, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		isHost := r.Host == "127.0.0.1:"+port || r.Host == "localhost:"+port
		if !isHost || subtle.ConstantTimeCompare([]byte(secret), []byte(s.secret)) != 1 {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		http.StripPrefix("/"+s.secret, next).ServeHTTP(w, r)
	})
}

// Proxy returns a handler that asks another server through a transport, which adds the user's token. Nothing that says who the user is comes from
// the browser.
func Proxy(to *url.URL, through http.RoundTripper) http.Handler {
	return &httputil.ReverseProxy{
		Transport: through,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			kept := http.Header{}
			for _, name := range []string{"Accept", "Accept-Language", "If-None-Match", "Range", "If-Range"} {
				if values := r.In.Header.Values(name); len(values) > 0 {
					kept[name] = values
				}
			}
			r.Out.Header = kept
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "The results service does not answer: "+err.Error(), http.StatusBadGateway)
		},
	}
}
