package zmtp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Conn is a connection after the handshake. It runs one step at a time, and two
// goroutines may not use it at once, except for Close.
type Conn struct {
	stream  net.Conn
	reader  *bufio.Reader
	maximum int
	// broken is set after the first error.
	broken bool
}

// Dial connects to a REP socket at host:port and makes the handshake. It refuses messages
// of more than maxMessageBytes; 0 is DefaultMaxMessageBytes.
func Dial(ctx context.Context, address string, maxMessageBytes int) (*Conn, error) {
	var dialer net.Dialer
	stream, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		// The dialer knows the deadline too, and can be faster than the context.
		var timeout net.Error
		if at, ok := ctx.Deadline(); ok && !time.Now().Before(at) && errors.As(err, &timeout) && timeout.Timeout() {
			<-ctx.Done()
		}
		if ctx.Err() != nil {
			err = ended(ctx)
		}
		return nil, fmt.Errorf("connecting: %w", err)
	}
	return handshake(ctx, stream, REQ, REP, maxMessageBytes)
}

// Accept makes the handshake of a REP socket on a stream from a listener.
func Accept(ctx context.Context, stream net.Conn, maxMessageBytes int) (*Conn, error) {
	return handshake(ctx, stream, REP, REQ, maxMessageBytes)
}

func handshake(ctx context.Context, stream net.Conn, own, peer string, maxMessageBytes int) (*Conn, error) {
	if maxMessageBytes <= 0 {
		maxMessageBytes = DefaultMaxMessageBytes
	}
	c := &Conn{stream: stream, reader: bufio.NewReader(stream), maximum: maxMessageBytes}
	err := c.within(ctx, "exchanging greetings", func() error {
		if _, err := stream.Write(greeting()); err != nil {
			return err
		}
		return readGreeting(c.reader)
	})
	if err != nil {
		return nil, err
	}
	err = c.within(ctx, "exchanging socket types", func() error {
		if _, err := stream.Write(ready(own)); err != nil {
			return err
		}
		return readReady(c.reader, peer)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Exchange sends a request and waits for its answer. After an error the
// connection is closed.
func (c *Conn) Exchange(ctx context.Context, request []byte) ([]byte, error) {
	if !c.broken && c.reader.Buffered() > 0 {
		c.broken = true
		_ = c.Close()
		return nil, fmt.Errorf("%w: the peer sent data without a request", ErrProtocol)
	}
	if err := c.Send(ctx, request); err != nil {
		return nil, err
	}
	return c.Receive(ctx)
}

// Send sends a message. After an error the connection is closed.
func (c *Conn) Send(ctx context.Context, body []byte) error {
	return c.within(ctx, "sending", func() error {
		_, err := c.stream.Write(AppendMessage(make([]byte, 0, len(body)+11), body))
		return err
	})
}

// Receive waits for a message. After an error the connection is closed. The error
// contains io.EOF if the peer closed the connection between two messages,
// io.ErrUnexpectedEOF if it did so within one.
func (c *Conn) Receive(ctx context.Context) ([]byte, error) {
	var body []byte
	err := c.within(ctx, "waiting for an answer", func() (err error) {
		body, err = ReadMessage(c.reader, c.maximum)
		return err
	})
	return body, err
}

// Close closes the connection, which ends a step that is under way.
func (c *Conn) Close() error {
	if err := c.stream.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// within makes one step of a connection. The end of ctx closes the stream, which ends any
// read or write that waits. So no connection remains after a step that failed.
func (c *Conn) within(ctx context.Context, what string, do func() error) error {
	if c.broken {
		return fmt.Errorf("%s: after an error: %w", what, net.ErrClosed)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.stream.Close() })
	err := do()
	if !stop() {
		err = ended(ctx)
	}
	if err == nil {
		return nil
	}
	c.broken = true
	_ = c.stream.Close()
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("the peer closed the connection: %w", err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// ended returns why a context is over; errors.Is finds both its error and its cause.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
