package replay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"time"
	"unicode/utf8"

	"vnfbench.io/operator/internal/traffic/trex/zmtp"
)

// relayMaxBytes bounds a message; a request may be larger than a server takes.
const relayMaxBytes = 64 << 20

// Relay is between clients and a real server, forwards every message unchanged, and records what it
// understood of it. It listens before the server does, so a refused connection looks like one that
// is closed at once.
type Relay struct {
	server   string
	listener net.Listener
	life     context.Context
	end      context.CancelFunc
	running  sync.WaitGroup
	started  time.Time

	mutex       sync.Mutex
	recording   Recording
	connections int
}

// NewRelay listens on a free port of loopback for clients of the server at host:port. The
// recording's time starts now.
func NewRelay(server string) (*Relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Relay{server: server, listener: listener, started: time.Now()}
	r.life, r.end = context.WithCancel(context.Background())
	r.running.Go(r.accept)
	return r, nil
}

// Address returns the address to which clients connect.
func (r *Relay) Address() string { return r.listener.Addr().String() }

// Close ends all connections.
func (r *Relay) Close() error {
	r.end()
	err := r.listener.Close()
	r.running.Wait()
	return err
}

// Note adds a note to the recording.
func (r *Relay) Note(text string) {
	r.add(Exchange{Milliseconds: r.since(time.Now()), Note: text})
}

// Recording returns what was recorded so far.
func (r *Relay) Recording() Recording {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append(Recording(nil), r.recording...)
}

func (r *Relay) add(e Exchange) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	e.N = len(r.recording) + 1
	r.recording = append(r.recording, e)
}

// since returns a time in the recording, in ms with one decimal.
func (r *Relay) since(at time.Time) float64 {
	return math.Round(at.Sub(r.started).Seconds()*1e4) / 10
}

func (r *Relay) accept() {
	for {
		stream, err := r.listener.Accept()
		if err != nil {
			return // it was closed
		}
		r.mutex.Lock()
		r.connections++
		number := r.connections
		r.mutex.Unlock()
		r.running.Go(func() {
			defer func() { _ = stream.Close() }()
			r.serve(stream, number)
		})
	}
}

// serve forwards messages until either side ends.
func (r *Relay) serve(stream net.Conn, number int) {
	server, err := zmtp.Dial(r.life, r.server, relayMaxBytes)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	client, err := zmtp.Accept(r.life, stream, relayMaxBytes)
	if err != nil {
		return
	}
	for {
		request, err := client.Receive(r.life)
		if err != nil {
			return
		}
		began := time.Now()
		response, lost := server.Exchange(r.life, request)
		e := Exchange{
			Connection: number, Milliseconds: r.since(began), Took: math.Round(time.Since(began).Seconds()*1e5) / 100,
			RequestCompressed: IsCompressed(request), ResponseCompressed: IsCompressed(response),
			RequestBytes: len(request), ResponseBytes: len(response), ConnectionLost: lost != nil,
		}
		var raw string
		if e.Request, raw = understand(request); isNull(e.Request) {
			e.RequestRaw, e.RequestRawBytes = &raw, len(request)
		}
		if e.Response, raw = understand(response); isNull(e.Response) && lost == nil {
			e.ResponseRaw = &raw
		}
		r.add(e)
		if lost != nil || client.Send(r.life, response) != nil {
			return
		}
	}
}

func isNull(text json.RawMessage) bool { return string(text) == "null" }

// understand returns a message's JSON, or null and its octets as characters.
func understand(message []byte) (text json.RawMessage, raw string) {
	plain, err := Expand(message, relayMaxBytes)
	if err != nil {
		plain = message
	}
	var compact bytes.Buffer
	if err == nil && utf8.Valid(plain) && json.Compact(&compact, plain) == nil {
		text = compact.Bytes()
	} else {
		text = json.RawMessage("null")
	}
	characters := make([]rune, len(plain))
	for i, octet := range plain {
		characters[i] = rune(octet)
	}
	return text, string(characters)
}

// Write writes a recording in the format of the fixtures, without empty fields: false, 0 and absent
// values.
func (r Recording) Write(to io.Writer) error {
	buffer := bufio.NewWriter(to)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	for _, e := range r {
		if err := encoder.Encode(e); err != nil {
			return fmt.Errorf("n %d: %w", e.N, err)
		}
	}
	return buffer.Flush()
}
