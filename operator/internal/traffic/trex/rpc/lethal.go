package rpc

import (
	"encoding/json"
	"fmt"
)

// lethal refuses what ends the process of a TRex server (seen with v3.08): an assertion
// or an exception that the server does not catch. This package cannot make the other
// kind, requests that are not objects.
func lethal(method string, params map[string]json.RawMessage) error {
	if method == "acquire" && string(params["session_id"]) == "0" {
		return fmt.Errorf("%w: %q with session_id 0", ErrLethal, method)
	}
	return nil
}
