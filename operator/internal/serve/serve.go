//go:build linux

// Package serve answers over HTTP on the pod network, for the programs in a
// run's pods. An address and a handler go in; a server that does not wait for
// slow clients comes out.
package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Server answers until it is closed.
type Server struct {
	listener net.Listener
	server   *http.Server
	failed   chan error
}

// Start listens at once, so that an unavailable address is an error here, and
// serves in the background. An answer has no time limit: some wait for a
// measurement to end.
func Start(address string, handler http.Handler) (*Server, error) {
	listener, err := listen(address)
	if err != nil {
		return nil, err
	}
	s := &Server{
		listener: listener,
		server:   &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute},
		failed:   make(chan error, 1),
	}
	go func() {
		s.failed <- fmt.Errorf("serving %q: %w", address, s.server.Serve(listener))
	}()
	return s, nil
}

// Address returns the address where it listens, with the chosen port.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Failed returns a channel that receives why it stopped serving.
func (s *Server) Failed() <-chan error { return s.failed }

// Close ends the server at once.
func (s *Server) Close() error { return s.server.Close() }

// Until serves until the context ends, which is not an error. It logs the message,
// with the address, when the server is ready for requests.
func Until(ctx context.Context, address string, handler http.Handler, log *slog.Logger, message string) error {
	server, err := Start(address, handler)
	if err != nil {
		return err
	}
	defer server.Close()
	log.Info(message, "listen", server.Address())
	select {
	case <-ctx.Done():
		log.Info("ending")
		return nil
	case err := <-server.Failed():
		return err
	}
}
