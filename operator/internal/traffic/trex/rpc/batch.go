package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"vnfbench.io/operator/internal/clock"
)

// Request is one request of a batch. Port is the id of an acquired port, or
// NoPort or AllPorts; note that zero is a port. Err is set by Batch.
type Request struct {
	Method         string
	Port           int
	Params, Result any
	Err            error
}

// batchBytes is the maximum size of requests in one batch. A batch may have
// MaxRequestBytes; the server answers no other client while it works on one.
const batchBytes = 500_000

// Batch makes several requests in one exchange, or in as few as their sizes allow, in
// their order. One that fails does not stop those after it; each has its own error and
// result. Batch returns the first error of all. After an exchange that failed as a whole,
// its requests and the following ones have its error.
func (c *Client) Batch(ctx context.Context, requests []*Request) error {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	rest := requests
	for len(rest) > 0 {
		chunk, err := c.chunk(rest)
		if err == nil {
			err = c.exchange(ctx, chunk)
		}
		if err != nil {
			for _, r := range rest {
				r.Err = err
			}
			return first(requests)
		}
		for _, r := range chunk {
			// Settle what was answered even if the next request fails.
			_ = c.settle(ctx, r)
		}
		rest = rest[len(chunk):]
	}
	return first(requests)
}

func first(requests []*Request) error {
	for _, r := range requests {
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}

// chunk returns the first requests that fit into one batch: at least one.
func (c *Client) chunk(requests []*Request) ([]*Request, error) {
	total := 0
	for i, r := range requests {
		params, err := object(r.Params)
		if err != nil {
			return nil, fmt.Errorf("TRex method %q: %w", r.Method, err)
		}
		text, err := json.Marshal(params)
		if err != nil {
			return nil, fmt.Errorf("TRex method %q: %w", r.Method, err)
		}
		// The text around the parameters takes less than 200 bytes.
		if total += len(text) + len(r.Method) + 200; i > 0 && total > batchBytes {
			return requests[:i], nil
		}
	}
	return requests, nil
}

// settle handles answers that are not final: it tries again when the server asks for
// that, and asks for the result of work that continues, until the context ends. It
// returns the request's error.
func (c *Client) settle(ctx context.Context, r *Request) error {
	ticket := ""
	for {
		var said *Error
		if !errors.As(r.Err, &said) {
			return r.Err
		}
		attempt := &Request{Method: r.Method, Port: r.Port, Params: r.Params, Result: r.Result}
		switch said.Code {
		case CodeInProgress:
			ticket = said.Specific
			fallthrough
		case CodeTryAgain:
			if ticket == "" {
				break
			}
			id, err := strconv.ParseUint(ticket, 10, 64)
			if err != nil {
				r.Err = fmt.Errorf("%w: %q is in progress with the ticket %q", ErrProtocol, r.Method, ticket)
				return r.Err
			}
			attempt.Method, attempt.Port, attempt.Params = "get_async_results", NoPort, map[string]uint64{"ticket_id": id}
		default:
			return r.Err
		}
		if clock.Sleep(ctx, pollInterval) != nil {
			r.Err = c.busy(ctx, r.Err, ctx.Err())
			return r.Err
		}
		if err := c.exchange(ctx, []*Request{attempt}); err != nil {
			if ctx.Err() != nil {
				err = c.busy(ctx, r.Err, err)
			}
			r.Err = err
			return err
		}
		r.Err = attempt.Err
		if errors.As(r.Err, &said) {
			said.Method = r.Method // and not get_async_results
		}
	}
}

// busy returns the error of a wait that the context ended; said is the server's last
// answer.
func (c *Client) busy(ctx context.Context, said, ended error) error {
	if errors.Is(context.Cause(ctx), ErrClosed) {
		return ErrClosed
	}
	return fmt.Errorf("%w: %w: %w", ErrBusy, ended, said)
}
