package rpc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Special values for a port's id, which is its number in the server's configuration.
const (
	// NoPort is for methods that need no handler.
	NoPort = -1
	// AllPorts is the whole server, which ASTF acquires and releases at once.
	AllPorts = -2
)

// Acquire makes the client the owner of a port, or with AllPorts of the whole server in
// ASTF, which acquires every port too. Without force it fails with ErrOwned while another
// session, also of this user, owns it. force takes the port over, with the traffic that
// it may be sending, as is necessary after a client that did not release it.
func (c *Client) Acquire(ctx context.Context, port int, force bool) error {
	params := map[string]any{"user": c.options.User, "session_id": c.options.SessionID, "force": force}
	now := c.now()
	if port == AllPorts {
		var all struct {
			Handler    string            `json:"handler"`
			Ports      map[string]string `json:"ports"`
			Exceptions map[string]string `json:"exception"`
		}
		if err := c.Call(ctx, "acquire", params, &all); err != nil {
			return err
		}
		handlers := map[int]string{AllPorts: all.Handler}
		for text, handler := range all.Ports {
			port, err := strconv.Atoi(text)
			if err != nil {
				return fmt.Errorf("%w: acquire gave a port %q", ErrProtocol, text)
			}
			handlers[port] = handler
		}
		if err := c.keep(now, handlers); err != nil {
			return err
		}
		for _, profile := range slices.Sorted(maps.Keys(all.Exceptions)) {
			return fmt.Errorf("TRex is acquired, and has a fault in its profile %q: %s", profile, all.Exceptions[profile])
		}
		return nil
	}
	if port < 0 {
		return fmt.Errorf("acquiring port %d: ports count from 0, and AllPorts is the whole server", port)
	}
	params["port_id"] = port
	var handler string
	if err := c.Call(ctx, "acquire", params, &handler); err != nil {
		return err
	}
	return c.keep(now, map[int]string{port: handler})
}

// keep records what an acquire gave. Its time is when the server began to keep events for
// the session, if it did not before.
func (c *Client) keep(now time.Time, handlers map[int]string) error {
	for port, handler := range handlers {
		if handler == "" {
			return fmt.Errorf("%w: acquire gave no handler for port %d", ErrProtocol, port)
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for port, handler := range handlers {
		c.handlers[port] = handler
	}
	if c.fetched.IsZero() {
		c.fetched = now
	}
	return nil
}

// Release releases a port, or with AllPorts the whole server. Its traffic continues, and
// its streams stay.
func (c *Client) Release(ctx context.Context, port int) error {
	err := c.CallPort(ctx, port, "release", nil, nil)
	if err == nil || errors.Is(err, ErrOwned) || errors.Is(err, ErrNotAcquired) {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if port == AllPorts {
			clear(c.handlers)
		}
		delete(c.handlers, port)
	}
	return err
}

func (c *Client) handler(port int) (string, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	handler, ok := c.handlers[port]
	return handler, ok
}
