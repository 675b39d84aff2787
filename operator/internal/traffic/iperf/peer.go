package iperf

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"time"

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/endpoint"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
)

const (
	// requestTimeout bounds a request that starts or ends something.
	requestTimeout = 15 * time.Second
	// answerTimeout is the time limit of an answer after a test's lifetime.
	answerTimeout = 15 * time.Second
	// maxAnswerBytes is more than an agent sends.
	maxAnswerBytes = 17 << 20
	// maxProblemBytes of a refusal that is not the agent's own are kept.
	maxProblemBytes = 256
)

// peer is one end.
type peer struct {
	name    string
	at      netip.AddrPort
	address netip.Addr
	client  *http.Client
}

// refusal is an agent's own refusal.
type refusal struct {
	end     string
	code    int
	message string
}

func (r *refusal) Error() string { return fmt.Sprintf("the agent at the %s end: %s", r.end, r.message) }

func (a *peer) up(ctx context.Context) (measure.TCPEnd, error) {
	var end measure.TCPEnd
	text, err := a.ask(ctx, requestTimeout, http.MethodPut, "/up", nil)
	if err != nil {
		return end, explain(err, measure.TCPTrial{})
	}
	if err := json.Unmarshal(text, &end); err != nil {
		return end, fmt.Errorf("reading the state of the %s end: %w", a.name, err)
	}
	return end, nil
}

func (a *peer) down(ctx context.Context) error {
	_, err := a.ask(ctx, requestTimeout, http.MethodPut, "/down", nil)
	return err
}

func (a *peer) serve(ctx context.Context, port uint16, seconds int) error {
	_, err := a.ask(ctx, requestTimeout, http.MethodPost, "/servers", endpoint.Server{Address: a.address, Port: port, Seconds: seconds})
	return err
}

// collect runs after the client has ended, so the server also has, or it ends by itself
// when it receives nothing.
func (a *peer) collect(ctx context.Context, port uint16) ([]byte, error) {
	return a.ask(ctx, endpoint.Server{}.Lifetime()+answerTimeout, http.MethodGet, fmt.Sprintf("/servers/%d", port), nil)
}

func (a *peer) stop(ctx context.Context, port uint16) error {
	_, err := a.ask(ctx, requestTimeout, http.MethodDelete, fmt.Sprintf("/servers/%d", port), nil)
	return err
}

func (a *peer) send(ctx context.Context, request endpoint.Client) ([]byte, error) {
	return a.ask(ctx, request.Lifetime()+answerTimeout, http.MethodPost, "/clients", request)
}

// ask makes one request and reads the whole answer.
func (a *peer) ask(ctx context.Context, timeout time.Duration, method, path string, body any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+a.at.String()+path, &content)
	if err != nil {
		return nil, err
	}
	response, err := a.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking the agent at the %s end: %w", a.name, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return nil, fmt.Errorf("reading the answer of the agent at the %s end: %w", a.name, err)
	}
	text = caller.WithoutToken(response, text)
	if response.StatusCode >= http.StatusBadRequest {
		var problem endpoint.Problem
		if json.Unmarshal(text, &problem) != nil || problem.Message == "" {
			problem.Message = excerpt.Line(response.Status+": "+string(text), maxProblemBytes)
		}
		return nil, &refusal{a.name, response.StatusCode, problem.Message}
	}
	return text, nil
}
