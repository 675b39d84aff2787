package replay

import (
	"encoding/json"

	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// Call is one request as the server read it.
type Call struct {
	Method string                     `json:"method"`
	Params map[string]json.RawMessage `json:"params"`
}

// Text returns a parameter that is a string, or "" if there is none.
func (c Call) Text(name string) string {
	var text string
	_ = json.Unmarshal(c.Params[name], &text)
	return text
}

// Number returns a parameter that is an integer, or -1 if there is none.
func (c Call) Number(name string) int64 {
	number := int64(-1)
	if json.Unmarshal(c.Params[name], &number) != nil {
		return -1
	}
	return number
}

// Answer is a server's answer to a call. The zero Answer is the result null.
type Answer struct {
	// Result is anything with a JSON form.
	Result any
	// Lost ends the server's process instead of an answer.
	Lost    bool
	refusal *refusal
}

type refusal struct {
	Code     int    `json:"code"`
	Message  string `json:"message"`
	Specific string `json:"specific_err,omitempty"`
}

// Result returns an answer with a result.
func Result(result any) Answer { return Answer{Result: result} }

// Refuse returns an answer with an error of TRex: its code and its specific text.
func Refuse(code int, specific string) Answer {
	return Answer{refusal: &refusal{Code: code, Message: messages[code], Specific: specific}}
}

// messages are TRex's, by code.
var messages = map[int]string{
	rpc.CodeParse:         "Bad JSON Format",
	rpc.CodeInvalidParams: "Bad parameters for method",
	rpc.CodeInternal:      "Internal Server Error",
	rpc.CodeExecute:       "Failed To Execute Method",
	rpc.CodeTryAgain:      "Try again later",
	rpc.CodeInProgress:    "Work in progress",
	rpc.CodeNoResults:     "No results for request",
}

// Refused reports whether the answer is an error, and its code.
func (a Answer) Refused() (code int, refused bool) {
	if a.refusal == nil {
		return 0, false
	}
	return a.refusal.Code, true
}

// encode returns an answer as TRex writes it, with a request's id.
func (a Answer) encode(id json.RawMessage) map[string]any {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	said := map[string]any{"id": id, "jsonrpc": "2.0"}
	if a.refusal != nil {
		said["error"] = a.refusal
	} else {
		said["result"] = a.Result
	}
	return said
}

// Responder answers each call: one at a time on one connection, but on several connections at once.
type Responder interface {
	Respond(Call) Answer
}

// Func is a responder that is a function.
type Func func(Call) Answer

// Respond calls the function.
func (f Func) Respond(c Call) Answer { return f(c) }
