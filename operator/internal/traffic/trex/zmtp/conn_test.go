package zmtp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// soon limits the time until something that was cut ends, on a busy machine.
const soon = 20 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer listens, and does what a test needs with each connection.
func peer(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		stream, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = stream.Close() }()
		do(stream)
	}()
	t.Cleanup(func() { _ = listener.Close(); <-done })
	return listener.Addr().String()
}

func echo(t *testing.T) string {
	return peer(t, func(stream net.Conn) {
		c, err := Accept(context.Background(), stream, 0)
		if err != nil {
			return
		}
		for {
			body, err := c.Receive(context.Background())
			if err != nil {
				return
			}
			if c.Send(context.Background(), body) != nil {
				return
			}
		}
	})
}

func TestExchange(t *testing.T) {
	c, err := Dial(t.Context(), echo(t), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for _, length := range []int{0, 1, 255, 256, 1 << 20} {
		sent := bytes.Repeat([]byte("a"), length)
		got, err := c.Exchange(t.Context(), sent)
		if err != nil || !bytes.Equal(got, sent) {
			t.Fatalf("%d octets: %d came back, %v", length, len(got), err)
		}
	}
	if _, err := c.Exchange(t.Context(), make([]byte, 1<<20+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an answer above the limit: %v", err)
	}
	if _, err := c.Exchange(t.Context(), []byte("a")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the connection is usable after an error: %v", err)
	}
}

// drain reads until the other side closes.
func drain(stream net.Conn) { _, _ = io.Copy(io.Discard, stream) }

// reached is when a blocked step has begun, on a busy machine.
const reached = 2 * time.Second

// Every step ends with its context, cancelled or expired, and names itself.
func TestStepsEndWithTheirContext(t *testing.T) {
	steps := map[string]struct {
		sends []byte
		reads bool
		word  string
		size  int
	}{
		"no greeting":   {nil, true, "exchanging greetings", 1},
		"half greeting": {greeting()[:12], true, "exchanging greetings", 1},
		"no READY":      {greeting(), true, "exchanging socket types", 1},
		"no answer":     {append(greeting(), ready(REP)...), true, "waiting for an answer", 1},
		// This is more than the buffers of two sockets hold.
		"the peer does not read": {append(greeting(), ready(REP)...), false, "sending", 32 << 20},
	}
	for name, step := range steps {
		for how, end := range map[string]func() (context.Context, context.CancelFunc){
			"deadline": func() (context.Context, context.CancelFunc) {
				return context.WithTimeout(context.Background(), reached)
			},
			"cancel": func() (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(context.Background())
				time.AfterFunc(reached, cancel)
				return ctx, cancel
			},
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				over := make(chan struct{})
				defer close(over)
				address := peer(t, func(s net.Conn) {
					_, _ = s.Write(step.sends)
					if step.reads {
						drain(s)
						return
					}
					<-over
				})
				ctx, cancel := end()
				defer cancel()
				began := time.Now()
				c, err := Dial(ctx, address, 0)
				if err == nil {
					_, err = c.Exchange(ctx, make([]byte, step.size))
				}
				if took := time.Since(began); took > soon {
					t.Errorf("it took %v", took)
				}
				if !errors.Is(err, ctx.Err()) || ctx.Err() == nil || !strings.Contains(fmt.Sprint(err), step.word) {
					t.Errorf("it is %v", err)
				}
			})
		}
	}
}

// A context that has already ended finds no connection.
func TestDialWithAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the test says so")
	cancel(cause)
	_, err := Dial(ctx, "127.0.0.1:1", 0)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("it is %v", err)
	}
}

// An unrequested message is not the answer to the next request.
func TestUnaskedAnswer(t *testing.T) {
	address := peer(t, func(s net.Conn) {
		c, err := Accept(context.Background(), s, 0)
		if err != nil {
			return
		}
		_, _ = c.Receive(context.Background())
		_, _ = s.Write(AppendMessage(AppendMessage(nil, []byte("one")), []byte("another")))
		drain(s)
	})
	c, err := Dial(t.Context(), address, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Exchange(t.Context(), []byte("a")); err != nil || string(got) != "one" {
		t.Fatalf("%q, %v", got, err)
	}
	if got, err := c.Exchange(t.Context(), []byte("b")); !errors.Is(err, ErrProtocol) {
		t.Errorf("%q was taken, %v", got, err)
	}
}

// The error distinguishes a server that ends between two messages from one that ends
// within one.
func TestPeerEnds(t *testing.T) {
	for name, end := range map[string]struct {
		sent string
		want error
	}{
		"between": {"", io.EOF},
		"within":  {"\x01\x00\x00\x05abc", io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			address := peer(t, func(s net.Conn) {
				c, err := Accept(context.Background(), s, 0)
				if err != nil {
					return
				}
				_, _ = c.Receive(context.Background())
				_, _ = s.Write([]byte(end.sent))
			})
			conn, err := Dial(t.Context(), address, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = conn.Exchange(t.Context(), []byte("a"))
			if !errors.Is(err, end.want) {
				t.Errorf("it is %v", err)
			}
		})
	}
}
