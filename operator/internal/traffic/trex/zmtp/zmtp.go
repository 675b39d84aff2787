// Package zmtp exchanges messages with a ZeroMQ socket over TCP: the client's side of REQ
// and REP as ZMTP 3.0 describes them (https://rfc.zeromq.org/spec/23/), mechanism NULL,
// and the server's side of the same for tests. It takes a context and the bytes of a
// request, and returns the bytes of its answer.
//
// It is not a ZeroMQ library: a connection has no queue, no goroutine and no independent
// life. Every step ends with its context, and a connection on which a step failed is
// closed, so that the answer to an abandoned request can never be mistaken for the answer
// to the next one.
package zmtp

import "errors"

// Socket types of the peers that may connect to each other here.
const (
	REQ = "REQ"
	REP = "REP"
)

// DefaultMaxMessageBytes bounds what a peer may send in one message.
const DefaultMaxMessageBytes = 64 << 20

var (
	// ErrProtocol is in every error that means that the peer does not conform to ZMTP
	// 3.0.
	ErrProtocol = errors.New("not ZMTP 3.0 as expected")
	// ErrTooLarge is in an error about a message above the limit. Such an error is also
	// an ErrProtocol.
	ErrTooLarge error = tooLarge{}
)

type tooLarge struct{}

func (tooLarge) Error() string        { return "message is too large" }
func (tooLarge) Is(target error) bool { return target == ErrProtocol }
