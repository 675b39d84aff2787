package neighbor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/measure"
)

// maxAnswerBytes is the limit of an answer that is read.
const maxAnswerBytes = 64 << 10

// Client talks to agents.
type Client struct{ http *http.Client }

// NewClient returns a client for the agents at the addresses, which sends the token in a file as caller.Client does.
func NewClient(tokenFile string, addresses ...string) *Client {
	return &Client{http: caller.Client(tokenFile, addresses...)}
}

// Close ends the connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Start has the agent at an address start a load.
func (c *Client) Start(ctx context.Context, address string, load measure.NeighborLoad) (Status, error) {
	body, err := json.Marshal(load)
	if err != nil {
		return Status{}, err
	}
	return c.do(ctx, http.MethodPost, address, PathStart, body)
}

// Stop has the agent end its load, which may take some seconds.
func (c *Client) Stop(ctx context.Context, address string) (Status, error) {
	return c.do(ctx, http.MethodPost, address, PathStop, nil)
}

// Status returns what the agent has done.
func (c *Client) Status(ctx context.Context, address string) (Status, error) {
	return c.do(ctx, http.MethodGet, address, PathStatus, nil)
}

func (c *Client) do(ctx context.Context, method, address, path string, body []byte) (Status, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+address+path, bytes.NewReader(body))
	if err != nil {
		return Status{}, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return Status{}, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return Status{}, err
	}
	text = caller.WithoutToken(response, text)
	if response.StatusCode != http.StatusOK {
		return Status{}, fmt.Errorf("HTTP %d: %s", response.StatusCode, strings.TrimSpace(string(text)))
	}
	var status Status
	if err := json.Unmarshal(text, &status); err != nil {
		return Status{}, fmt.Errorf("reading its answer: %w", err)
	}
	return status, nil
}
