package rpc

import (
	"encoding/json"
	"fmt"
)

// lethal refuses what ends the process of a TRex server (seen with v3.08): an
// assertion or an exception that nothing there catches. Requests that are no
// object, the third kind, cannot be made with this package.
func lethal(method string, params map[string]json.RawMessage) error {
	switch method {
	case "acquire":
		if session := params["session_id"]; string(session) == "0" {
			return fmt.Errorf("%w: %q with session_id 0", ErrLethal, method)
		}
	case "get_stream_list":
		// Profiles other than that which always exists, and "all".
		if profile, given := params["profile_id"]; given && string(profile) != `"_"` && string(profile) != `"*"` {
			return fmt.Errorf(`%w: %q with the profile_id %s, which may be unknown; "get_all_streams" takes any`, ErrLethal, method, profile)
		}
	}
	return nil
}
