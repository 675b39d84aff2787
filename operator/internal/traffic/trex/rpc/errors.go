package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"vnfbench.io/operator/internal/traffic/trex/zmtp"
)

// What a caller may test for with errors.Is. It also finds the context's own errors if a
// deadline or a cancellation ended a call.
var (
	// ErrConnection: no exchange with the server was possible, or the current one was cut
	// or not answered in time. Whether the server did what the cut request asked is not
	// known. The next call connects again.
	ErrConnection = errors.New("no exchange with the TRex server")
	// ErrProtocol: what answered is not a TRex server, or a faulty one.
	ErrProtocol = errors.New("not an answer of a TRex server")
	// ErrServerRestarted: a server process other than that of Dial answers. Everything
	// that the client knew is invalid, and every further call fails: dial again.
	ErrServerRestarted = errors.New("the TRex server was started again")
	// ErrVersion: the server does not have the version of the API that Dial asked for.
	ErrVersion = errors.New("the TRex server speaks another version of its API")
	// ErrMode: the server was started for another API: STL without, ASTF with
	// --astf.
	ErrMode = errors.New("the TRex server runs in another mode")
	// ErrOwned: a port belongs to another user or session, or one of them took it.
	ErrOwned = errors.New("the port belongs to another user or session")
	// ErrNotAcquired: a call needs a port that was not acquired, or was released.
	ErrNotAcquired = errors.New("the port is not acquired")
	// ErrBusy: the server asked to try again, or was still at work, until the context
	// ended.
	ErrBusy = errors.New("the TRex server is still busy")
	// ErrTooLarge: a request exceeds MaxRequestBytes; it was not sent.
	ErrTooLarge = errors.New("the request is too large")
	// ErrLethal: a request is known to end the server's process; it was not sent.
	ErrLethal = errors.New("the request would end the TRex server's process")
	// ErrClosed: the client was closed.
	ErrClosed = errors.New("the TRex client is closed")
)

// Hangs reports whether nothing came back: the server is dead or does not answer.
func Hangs(err error) bool {
	return errors.Is(err, ErrConnection) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrBusy)
}

// Interrupted reports whether a new connection, and perhaps a new server, may help: the
// server died, hung or was restarted, or another client took a port.
func Interrupted(err error) bool {
	return Hangs(err) || errors.Is(err, ErrServerRestarted) || errors.Is(err, ErrOwned) || errors.Is(err, ErrNotAcquired)
}

// Codes of errors, from JSON-RPC 2.0 and TRex.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeExecute        = -32000
	CodeTryAgain       = -32001
	CodeInProgress     = -32002
	CodeNoResults      = -32003
)

// Error is what the server answered instead of a result.
type Error struct {
	Method string
	// Code is one of the constants Code...
	Code int
	// Message names the kind of the error, one sentence per Code.
	Message string
	// Specific says what is wrong; it can be empty.
	Specific string
}

func (e *Error) Error() string {
	if e.Specific == "" {
		return fmt.Sprintf("TRex refuses %q: %s (%d)", e.Method, e.Message, e.Code)
	}
	// Some sentences have two lines.
	return fmt.Sprintf("TRex refuses %q: %s (%d, %s)", e.Method, strings.Join(strings.Fields(e.Specific), " "), e.Code, e.Message)
}

// meanings distinguishes what TRex answers with the same code, by the only difference:
// its sentences.
var meanings = []struct {
	words string
	means error
}{
	{"API verification failed", ErrServerRestarted},
	{"port is already taken by", ErrOwned},
	{"port is already owned by another session", ErrOwned},
	{"port is not owned by you", ErrOwned},
	{"context is already taken", ErrOwned},
	{"please acquire the port", ErrNotAcquired},
	{"must acquire the context", ErrNotAcquired},
	{"RPC configuration mismatch", ErrMode},
	{"ersion mismatch", ErrVersion},
}

// Is finds ErrServerRestarted, ErrOwned, ErrNotAcquired, ErrMode and ErrVersion in the
// server's text.
func (e *Error) Is(target error) bool {
	for _, known := range meanings {
		if known.means == target && strings.Contains(e.Specific, known.words) {
			return true
		}
	}
	return false
}

// transport gives an error of the connection a kind, if it has none.
func transport(err error) error {
	switch {
	case errors.Is(err, ErrProtocol):
		return err
	case errors.Is(err, zmtp.ErrProtocol):
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return fmt.Errorf("%w: %w", ErrConnection, err)
}
