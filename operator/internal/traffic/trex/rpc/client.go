// Package rpc is a client of TRex's interactive API: JSON-RPC 2.0 over a ZeroMQ REQ
// socket, as TRex v3.08 uses it on TCP port 4501. It takes a method's name and its
// parameters, and returns its result or an error that errors.Is distinguishes.
//
// A Client belongs to one server process: when another one answers at the same address,
// every call returns ErrServerRestarted from then on, because counters, streams and
// ownership are gone and numbers read from the new process would look as if nothing had
// happened.
//
// Each call ends with its context, at any step. The client drops a connection on which a
// call failed, and the next call makes a new one, so no answer can be mistaken for that
// to another request. The client does not repeat a cut request: the server may have done
// what it asks.
package rpc

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"vnfbench.io/operator/internal/traffic/trex/zmtp"
)

// API is one of the server's interfaces, of which a server process offers only one.
type API struct {
	Name         string
	Major, Minor int
}

// The interfaces with the versions that this package was written and recorded
// with. The server's major must be the same, and its minor not below.
var (
	STL  = API{Name: "STL", Major: 5, Minor: 1}
	ASTF = API{Name: "ASTF", Major: 2, Minor: 3}
)

// DefaultTimeout ends a call whose context has no deadline.
const DefaultTimeout = 10 * time.Second

// Options set a client; the zero value of every field except API is good.
type Options struct {
	// API is STL or ASTF.
	API API
	// User is the name that acquires ports; empty is "vnfbench".
	User string
	// SessionID is that of this client, by which the server distinguishes it from another
	// of the same user, and keeps events for it; 0 draws one.
	SessionID uint32
	// Timeout ends a call whose context has no deadline; 0 is DefaultTimeout.
	Timeout time.Duration
	// MaxAnswerBytes bounds an answer; 0 is 64 MiB.
	MaxAnswerBytes int
}

// pollInterval is the time between two attempts while the server is busy.
const pollInterval = 100 * time.Millisecond

// Client is connected to one TRex server process. Several goroutines may use it; requests
// run one after the other.
type Client struct {
	address string
	options Options
	// life ends at Close, and every call with it.
	life context.Context
	end  context.CancelCauseFunc
	now  func() time.Time
	// turn holds one token, which protects the following fields.
	turn      chan struct{}
	conn      *zmtp.Conn
	apiH      string
	lastID    uint64
	restarted bool

	mutex    sync.Mutex
	handlers map[int]string
	fetched  time.Time
}

// Dial connects to the server at host:port and makes the handshake of one API.
func Dial(ctx context.Context, address string, o Options) (*Client, error) {
	if o.API.Name == "" {
		return nil, errors.New("options: API is not set: STL or ASTF")
	}
	if o.User == "" {
		o.User = "vnfbench"
	}
	for o.SessionID == 0 {
		var drawn [4]byte
		if _, err := rand.Read(drawn[:]); err != nil {
			return nil, fmt.Errorf("drawing a session id: %w", err)
		}
		o.SessionID = binary.BigEndian.Uint32(drawn[:])
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxAnswerBytes <= 0 {
		o.MaxAnswerBytes = zmtp.DefaultMaxMessageBytes
	}
	c := &Client{address: address, options: o, now: time.Now, turn: make(chan struct{}, 1), handlers: map[int]string{}}
	c.life, c.end = context.WithCancelCause(context.Background())
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.alone(ctx, func() error { return c.connect(ctx) }); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("TRex at %s: %w", address, err)
	}
	return c, nil
}

// Address returns that of the server, SessionID and User those of the client.
func (c *Client) Address() string   { return c.address }
func (c *Client) SessionID() uint32 { return c.options.SessionID }
func (c *Client) User() string      { return c.options.User }

// Call makes one request; params is nil, or a struct or map that becomes a JSON object,
// to which the client adds what the handshake gave. result is nil, or a pointer that
// receives the result.
//
// Call repeats a request if the server asks for that, and waits while the server works,
// until the context ends.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	return c.one(ctx, &Request{Method: method, Port: NoPort, Params: params, Result: result})
}

// CallPort does the same as Call, with the port's id and the handler that Acquire got.
// With AllPorts it sends the handler of the whole server.
func (c *Client) CallPort(ctx context.Context, port int, method string, params, result any) error {
	return c.one(ctx, &Request{Method: method, Port: port, Params: params, Result: result})
}

// Check returns an error unless the server of Dial is alive: it answers, and it is the
// same process.
func (c *Client) Check(ctx context.Context) error {
	return c.Call(ctx, "get_global_cfg", nil, nil)
}

// Close ends the connection and every call that is under way. It releases nothing, and
// traffic continues.
func (c *Client) Close() error {
	c.end(ErrClosed)
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if c.conn == nil {
		return nil
	}
	err := c.conn.Close()
	c.conn = nil
	return err
}

// one makes one request and waits for what it started.
func (c *Client) one(ctx context.Context, r *Request) error {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.exchange(ctx, []*Request{r}); err != nil {
		return err
	}
	return c.settle(ctx, r)
}

// bound gives a call a deadline if it has none, and ends it with the client.
func (c *Client) bound(ctx context.Context) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.life, func() { end(context.Cause(c.life)) })
	cancel := func() {}
	if _, ok := ctx.Deadline(); !ok {
		ctx, cancel = context.WithTimeout(ctx, c.options.Timeout)
	}
	return ctx, func() { cancel(); stop(); end(nil) }
}

// alone waits for this call's turn.
func (c *Client) alone(ctx context.Context, do func() error) error {
	before := ctx.Err()
	if before == nil {
		select {
		case c.turn <- struct{}{}:
			defer func() { <-c.turn }()
			// The context may not show yet that the client was closed.
			if c.life.Err() != nil {
				return ErrClosed
			}
			return do()
		case <-ctx.Done():
		}
	}
	if errors.Is(context.Cause(ctx), ErrClosed) {
		return ErrClosed
	}
	if before != nil {
		return fmt.Errorf("not called: %w", before)
	}
	return fmt.Errorf("waiting for an earlier call: %w", ctx.Err())
}

// connect makes a connection if there is none, and verifies that the server is the one of
// the connections before.
func (c *Client) connect(ctx context.Context) error {
	if c.restarted {
		return ErrServerRestarted
	}
	if c.conn != nil {
		return nil
	}
	conn, err := zmtp.Dial(ctx, c.address, c.options.MaxAnswerBytes)
	if err != nil {
		return c.failed(ctx, err)
	}
	c.conn = conn
	params := map[string]json.RawMessage{}
	put(params, "name", c.options.API.Name)
	put(params, "major", c.options.API.Major)
	put(params, "minor", c.options.API.Minor)
	replies, err := c.roundTrip(ctx, []call{c.newCall("api_sync_v2", params)})
	if err != nil {
		return err
	}
	var agreed struct {
		Handler string `json:"api_h"`
	}
	if err := replies[0].into("api_sync_v2", &agreed); err != nil {
		c.drop()
		var refused *Error
		if errors.As(err, &refused) && refused.Code == CodeMethodNotFound {
			return fmt.Errorf("%w: it is older than v2.31: %w", ErrVersion, err)
		}
		return fmt.Errorf("handshake of API %s %d.%d: %w", c.options.API.Name, c.options.API.Major, c.options.API.Minor, err)
	}
	switch {
	case agreed.Handler == "":
		c.drop()
		return fmt.Errorf("%w: the handshake gave no api_h", ErrProtocol)
	case c.apiH != "" && c.apiH != agreed.Handler:
		c.drop()
		c.restarted = true
		return ErrServerRestarted
	}
	c.apiH = agreed.Handler
	return nil
}

func (c *Client) newCall(method string, params map[string]json.RawMessage) call {
	c.lastID++
	return call{Version: "2.0", ID: c.lastID, Method: method, Params: params}
}

// exchange makes one exchange of one or several requests, which get separate results and
// errors. The returned error is that of the exchange as a whole.
func (c *Client) exchange(ctx context.Context, requests []*Request) error {
	return c.alone(ctx, func() error {
		if err := c.connect(ctx); err != nil {
			return err
		}
		calls := make([]call, len(requests))
		for i, r := range requests {
			params, err := c.params(r)
			if err != nil {
				return fmt.Errorf("TRex method %q: %w", r.Method, err)
			}
			calls[i] = c.newCall(r.Method, params)
		}
		replies, err := c.roundTrip(ctx, calls)
		if err != nil {
			return err
		}
		for i, r := range requests {
			r.Err = replies[i].into(r.Method, r.Result)
			if errors.Is(r.Err, ErrServerRestarted) {
				c.drop()
				c.restarted = true
			}
		}
		return nil
	})
}

// params returns those of the request and those that the client adds.
func (c *Client) params(r *Request) (map[string]json.RawMessage, error) {
	params, err := object(r.Params)
	if err != nil {
		return nil, err
	}
	put(params, "api_h", c.apiH)
	if r.Port != NoPort {
		handler, ok := c.handler(r.Port)
		if !ok {
			return nil, fmt.Errorf("port %d: %w", r.Port, ErrNotAcquired)
		}
		put(params, "handler", handler)
		if r.Port != AllPorts {
			put(params, "port_id", r.Port)
		}
	}
	return params, lethal(r.Method, params)
}

// roundTrip sends calls as one message and reads their answers. After an error, the
// connection is gone.
func (c *Client) roundTrip(ctx context.Context, calls []call) ([]reply, error) {
	message, err := encode(calls)
	if err != nil {
		return nil, err
	}
	if len(message) > MaxRequestBytes {
		return nil, fmt.Errorf("%w: %q has %d bytes, and TRex takes at most %d: split it", ErrTooLarge, calls[0].Method, len(message), MaxRequestBytes)
	}
	answer, err := c.conn.Exchange(ctx, message)
	if err != nil {
		return nil, c.failed(ctx, fmt.Errorf("%q: %w", calls[0].Method, err))
	}
	replies, err := decode(answer, calls)
	if err != nil {
		return nil, c.failed(ctx, fmt.Errorf("%q: %w", calls[0].Method, err))
	}
	return replies, nil
}

// encode encodes one call alone, and several as an array, which is a batch.
func encode(calls []call) ([]byte, error) {
	if len(calls) == 1 {
		return json.Marshal(calls[0])
	}
	return json.Marshal(calls)
}

// failed drops the connection and names the kind of the error. A caller who cancelled the
// call, or closed the client, gets no error of the connection.
func (c *Client) failed(ctx context.Context, err error) error {
	c.drop()
	switch {
	case errors.Is(context.Cause(ctx), ErrClosed):
		return ErrClosed
	case errors.Is(ctx.Err(), context.Canceled):
		return err
	}
	return transport(err)
}

func (c *Client) drop() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// into stores the result, or returns the error.
func (r *reply) into(method string, result any) error {
	if r.Error != nil {
		return &Error{Method: method, Code: r.Error.Code, Message: r.Error.Message, Specific: r.Error.Specific}
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(r.Result, result); err != nil {
		return fmt.Errorf("the result of TRex method %q: %w", method, err)
	}
	return nil
}

// fetchedEvents records a fetch of events, and returns the time of the one before.
func (c *Client) fetchedEvents(now time.Time) (before time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	before, c.fetched = c.fetched, now
	return before
}
