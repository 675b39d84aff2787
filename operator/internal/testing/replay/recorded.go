package replay

import (
	"encoding/json"
	"sync"
	"testing"

	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// volatile are parameters that differ in every recording.
var volatile = []string{"api_h", "handler", "session_id", "user", "ticket_id", "key"}

// key returns what two equal requests have in common: the method and the parameters that are the
// same in every recording. 1 and 1.0 are equal.
func key(c Call, ignored []string) string {
	params := map[string]any{}
	for name, text := range c.Params {
		var value any
		if json.Unmarshal(text, &value) == nil {
			params[name] = value
		}
	}
	for _, name := range volatile {
		delete(params, name)
	}
	for _, name := range ignored {
		delete(params, name)
	}
	text, err := json.Marshal(params)
	if err != nil {
		panic(err) // it came from JSON
	}
	return c.Method + " " + string(text)
}

// given are the tokens that a server gave, which a client must give back.
type given struct {
	apiH     string
	handlers map[string]bool
}

// open are the methods that need no api_h.
var open = map[string]bool{"api_sync_v2": true, "api_sync": true, "get_version": true, "ping": true}

// check fails the test if a call lacks the tokens that the server gave.
func (g *given) check(t testing.TB, c Call) {
	t.Helper()
	if apiH := c.Text("api_h"); !open[c.Method] && apiH != g.apiH {
		t.Errorf("%q came with the api_h %q, and the server gave %q", c.Method, apiH, g.apiH)
	}
	if _, has := c.Params["handler"]; has && !g.handlers[c.Text("handler")] {
		t.Errorf("%q came with the handler %s, which the server never gave", c.Method, c.Params["handler"])
	}
}

// note keeps the tokens in an answer.
func (g *given) note(c Call, a Answer) {
	text, err := json.Marshal(a.Result)
	if err != nil || a.refusal != nil {
		return
	}
	var handler string
	var all struct {
		APIH    string            `json:"api_h"`
		Handler string            `json:"handler"`
		Ports   map[string]string `json:"ports"`
	}
	switch c.Method {
	case "api_sync_v2":
		if json.Unmarshal(text, &all) == nil {
			g.apiH = all.APIH
		}
	case "acquire":
		if json.Unmarshal(text, &handler) == nil {
			g.handlers[handler] = true
		}
		if json.Unmarshal(text, &all) == nil {
			g.handlers[all.Handler] = true
			for _, handler := range all.Ports {
				g.handlers[handler] = true
			}
		}
	}
}

// InOrder wants exactly the calls of a recording, in their order, and gives the recorded answers.
// The test fails if it ends before all were made. The division into batches does not matter, nor do
// ignored parameters.
func InOrder(t testing.TB, turns []Turn, ignored ...string) Responder {
	r := &inOrder{t: t, turns: turns, ignored: ignored, given: given{handlers: map[string]bool{}}}
	t.Cleanup(func() {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		if len(r.turns) > 0 && !t.Failed() {
			t.Errorf("%d calls of the recording were not made, the first is n %d: %q", len(r.turns), r.turns[0].N, r.turns[0].Call.Method)
		}
	})
	return r
}

type inOrder struct {
	t       testing.TB
	ignored []string
	mutex   sync.Mutex
	turns   []Turn
	given   given
}

func (r *inOrder) Respond(c Call) Answer {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.given.check(r.t, c)
	if len(r.turns) == 0 {
		r.t.Errorf("a call after the end of the recording: %.300s", key(c, r.ignored))
		return Refuse(rpc.CodeInternal, "the recording is over")
	}
	next := r.turns[0]
	if got, want := key(c, r.ignored), key(next.Call, r.ignored); got != want {
		r.t.Errorf("a call that is not the recorded one, n %d:\n got %.600s\nwant %.600s", next.N, got, want)
		return Refuse(rpc.CodeInternal, "not the call that was recorded")
	}
	r.turns = r.turns[1:]
	r.given.note(c, next.Answer)
	return next.Answer
}

// ByRequest gives the recorded answers to calls of the recording, in any order. If the recording
// has several answers to one call, it gives them in their order and repeats the last one. Any other
// call fails the test.
func ByRequest(t testing.TB, turns []Turn, ignored ...string) Responder {
	r := &byRequest{t: t, ignored: ignored, answers: map[string][]Answer{}, given: given{handlers: map[string]bool{}}}
	for _, turn := range turns {
		key := key(turn.Call, ignored)
		r.answers[key] = append(r.answers[key], turn.Answer)
	}
	return r
}

type byRequest struct {
	t       testing.TB
	ignored []string
	mutex   sync.Mutex
	answers map[string][]Answer
	given   given
}

func (r *byRequest) Respond(c Call) Answer {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.given.check(r.t, c)
	key := key(c, r.ignored)
	answers := r.answers[key]
	if len(answers) == 0 {
		r.t.Errorf("a call that is not in the recording: %.600s", key)
		return Refuse(rpc.CodeInternal, "not in the recording")
	}
	if len(answers) > 1 {
		r.answers[key] = answers[1:]
	}
	r.given.note(c, answers[0])
	return answers[0]
}
