// Package replay is a TRex server for tests, on loopback. It uses ZMTP as the real one does, gives
// answers that were recorded from a real one or that a test wrote, fails the test on any unexpected
// call, and misbehaves on demand. A Responder goes in; an address comes out.
package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"sync"
	"testing"

	"vnfbench.io/operator/internal/traffic/trex/rpc"
	"vnfbench.io/operator/internal/traffic/trex/zmtp"
)

// Server listens until its test ends.
type Server struct {
	t         testing.TB
	responder Responder
	running   sync.WaitGroup

	mutex    sync.Mutex
	address  string
	listener net.Listener
	// life ends with the server's process, and all connections with it.
	life    context.Context
	end     context.CancelFunc
	welcome Welcome
	faults  []planned
	calls   []Call
	// messages are the calls in each message, by method.
	messages [][]string
}

type planned struct {
	method string
	fault  Fault
}

// New starts a server on a free port of loopback.
func New(t testing.TB, responder Responder) *Server {
	t.Helper()
	s := &Server{t: t, responder: responder, address: "127.0.0.1:0"}
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

// Address returns the address where it listens, also again after a Stop.
func (s *Server) Address() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.address
}

// Start listens again after a Stop.
func (s *Server) Start() {
	s.t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		s.t.Fatalf("listening: %v", err)
	}
	s.listener, s.address = listener, listener.Addr().String()
	s.life, s.end = context.WithCancel(context.Background())
	life := s.life
	s.running.Go(func() { s.accept(life, listener) })
}

// Stop closes the listener and all connections, as a process that ends does.
func (s *Server) Stop() {
	s.halt()
	s.running.Wait()
}

// halt does what Stop does, from within the server.
func (s *Server) halt() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.end()
	_ = s.listener.Close()
}

// Restart stops and starts the server, with another api_h if the responder is a Script.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	if again, ok := s.responder.(interface{ Restart() }); ok {
		again.Restart()
	}
	s.Start()
}

// Inject makes a fault answer the next message that calls a method, or any message if method is
// empty. Several faults come one after the other.
func (s *Server) Inject(method string, fault Fault) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.faults = append(s.faults, planned{method, fault})
}

// Greet sets how the server greets new connections.
func (s *Server) Greet(welcome Welcome) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.welcome = welcome
}

// Calls returns all calls so far, in their order.
func (s *Server) Calls() []Call {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]Call(nil), s.calls...)
}

// Messages returns the methods in each message so far; a batch has several.
func (s *Server) Messages() [][]string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([][]string(nil), s.messages...)
}

// Count returns how often a method was called so far.
func (s *Server) Count(method string) int {
	count := 0
	for _, call := range s.Calls() {
		if call.Method == method {
			count++
		}
	}
	return count
}

func (s *Server) accept(life context.Context, listener net.Listener) {
	for {
		stream, err := listener.Accept()
		if err != nil {
			return // it was closed
		}
		s.running.Go(func() {
			defer func() { _ = stream.Close() }()
			c := &connection{server: s, life: life, stream: stream}
			c.serve()
		})
	}
}

// connection is one client's connection.
type connection struct {
	server *Server
	life   context.Context
	stream net.Conn
}

func (c *connection) serve() {
	c.server.mutex.Lock()
	welcome := c.server.welcome
	c.server.mutex.Unlock()
	if welcome != Polite {
		if welcome != Silent && welcome != Slamming {
			_, _ = c.stream.Write(welcome.octets())
		}
		if welcome != Slamming {
			c.waitForEnd()
		}
		return
	}
	socket, err := zmtp.Accept(c.life, c.stream, 2*rpc.MaxRequestBytes)
	if err != nil {
		return // a client that gave up, or one of another kind
	}
	for {
		request, err := socket.Receive(c.life)
		if err != nil {
			return
		}
		answer, methods, ok := c.server.handle(request)
		if !ok {
			c.server.halt()
			return
		}
		if fault, planned := c.server.planned(methods); planned {
			if !fault.answer(c, answer) {
				return
			}
			continue
		}
		if socket.Send(c.life, answer) != nil {
			return
		}
	}
}

// waitForEnd reads until the client closes or the server ends.
func (c *connection) waitForEnd() {
	stop := context.AfterFunc(c.life, func() { _ = c.stream.Close() })
	defer stop()
	var dropped [512]byte
	for {
		if _, err := c.stream.Read(dropped[:]); err != nil {
			return
		}
	}
}

// planned removes and returns the first fault for one of the methods.
func (s *Server) planned(methods []string) (Fault, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for i, next := range s.faults {
		for _, method := range methods {
			if next.method == "" || next.method == method {
				s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
				return next.fault, true
			}
		}
	}
	return Fault{}, false
}

// handle returns the answer to a message; ok is false if the process ends.
func (s *Server) handle(message []byte) (answer []byte, methods []string, ok bool) {
	text, err := Expand(message, 2*rpc.MaxRequestBytes)
	if err != nil {
		s.t.Errorf("a request cannot be uncompressed: %v", err)
		return nil, nil, false
	}
	if len(text) > rpc.MaxRequestBytes {
		s.t.Errorf("a request of %d bytes came, and a server takes %d", len(text), rpc.MaxRequestBytes)
	}
	requests, isMessage := many(text)
	if !isMessage {
		s.t.Errorf("a request came that is neither an object nor an array of objects, which ends a server: %.80q", text)
		return nil, nil, false
	}
	if len(requests) == 0 {
		s.t.Errorf("a request came that calls nothing: %.80q", text)
	}
	var replies []map[string]any
	for _, request := range requests {
		reply, method, alive := s.one(request)
		if !alive {
			return nil, nil, false
		}
		replies, methods = append(replies, reply), append(methods, method)
	}
	s.mutex.Lock()
	s.messages = append(s.messages, methods)
	s.mutex.Unlock()
	var said any = replies
	if len(replies) == 1 {
		said = replies[0]
	}
	answer, err = plain(said)
	if err == nil && IsCompressed(message) {
		answer, err = Compress(answer)
	}
	if err != nil {
		s.t.Errorf("an answer to %q has no JSON form: %v", methods, err)
		return nil, nil, false
	}
	return answer, methods, true
}

// one returns the answer to one request.
func (s *Server) one(text json.RawMessage) (reply map[string]any, method string, alive bool) {
	var request struct {
		Call
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(text, &request); err != nil || request.Params == nil || request.Version != "2.0" || len(request.ID) == 0 || request.Method == "" {
		s.t.Errorf("a request is not JSON-RPC 2.0 with an id, a method and an object of parameters: %.300s", text)
		return nil, "", false
	}
	s.mutex.Lock()
	s.calls = append(s.calls, request.Call)
	s.mutex.Unlock()
	answer := s.responder.Respond(request.Call)
	return answer.encode(request.ID), request.Method, !answer.Lost
}

// plain returns JSON with a newline, without the escapes for HTML.
func plain(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return text.Bytes(), err
}
