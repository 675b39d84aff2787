package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// MaxRequestBytes is the largest request that the server takes.
const MaxRequestBytes = 999_999

// call is a request in its form on the wire.
type call struct {
	Version string                     `json:"jsonrpc"`
	ID      uint64                     `json:"id"`
	Method  string                     `json:"method"`
	Params  map[string]json.RawMessage `json:"params"`
}

// object returns params as a JSON object. nil becomes an empty one; it refuses anything
// else that does not become an object, since the server requires one.
func object(params any) (map[string]json.RawMessage, error) {
	if params == nil {
		return map[string]json.RawMessage{}, nil
	}
	text, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	found := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &found); err != nil || found == nil {
		return nil, fmt.Errorf("params: %T becomes %.20s in JSON, and TRex wants an object", params, text)
	}
	return found, nil
}

// put sets one parameter to a text or a number.
func put(params map[string]json.RawMessage, name string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts and numbers always have a JSON form
	}
	params[name] = text
}

// reply is an answer in its form on the wire. Result stays nil if there is none, and is
// the text null if the server sent null.
type reply struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code     int    `json:"code"`
		Message  string `json:"message"`
		Specific string `json:"specific_err"`
	} `json:"error"`
}

// decode reads the answer to calls: one object for one call, an array in their order for
// several. If the server could not read the request as a whole, all calls get the same
// error, without an id.
func decode(message []byte, calls []call) ([]reply, error) {
	message = bytes.TrimSpace(message)
	if len(message) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrProtocol)
	}
	var replies []reply
	if message[0] == '[' {
		if err := json.Unmarshal(message, &replies); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		if len(calls) == 1 {
			return nil, fmt.Errorf("%w: an array answers a single request", ErrProtocol)
		}
	} else {
		var one reply
		if err := json.Unmarshal(message, &one); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		replies = []reply{one}
		if one.Error != nil && isNull(one.ID) && len(calls) > 1 {
			for range calls[1:] {
				replies = append(replies, one)
			}
		}
	}
	if len(replies) != len(calls) {
		return nil, fmt.Errorf("%w: %d answers to %d requests", ErrProtocol, len(replies), len(calls))
	}
	for i := range replies {
		if err := check(&replies[i], calls[i]); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

// check verifies that an answer is the one to its call.
func check(r *reply, to call) error {
	switch {
	case r.Version != "2.0":
		return fmt.Errorf("%w: jsonrpc is %q in the answer to %q", ErrProtocol, r.Version, to.Method)
	case (r.Error == nil) == (r.Result == nil):
		return fmt.Errorf("%w: neither a result nor an error, or both, in the answer to %q", ErrProtocol, to.Method)
	case r.Error != nil && isNull(r.ID):
		return nil // the server could not read the request's id
	case string(r.ID) != strconv.FormatUint(to.ID, 10):
		return fmt.Errorf("%w: it has the id %.40s, and that of the request %q is %d", ErrProtocol, r.ID, to.Method, to.ID)
	}
	return nil
}

func isNull(id json.RawMessage) bool { return len(id) == 0 || string(id) == "null" }
