package astf

import (
	"encoding/json"
	"sync"
	"testing"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/contract"
	"vnfbench.io/operator/internal/testing/replay"
)

// simulated returns the replay server with the fake's traffic: the fake answers what
// concerns traffic, and everything else is as recorded.
func simulated(t *testing.T) *replay.Server {
	t.Helper()
	f := &fake{bytesPerSecond: 125_000_000}
	recorded := recordedAnswers(t)
	var mutex sync.Mutex
	return replay.New(t, replay.Func(func(c replay.Call) replay.Answer {
		mutex.Lock()
		defer mutex.Unlock()
		if !f.knows(c.Method) {
			return recorded.Respond(c)
		}
		given, err := json.Marshal(c.Params)
		if err != nil {
			t.Errorf("%q: %v", c.Method, err)
			return replay.Answer{}
		}
		result, err := f.do(c.Method, given)
		if err != nil {
			t.Errorf("%q: %v", c.Method, err)
		}
		return replay.Result(result)
	}))
}

// TestContract makes every trial over the wire, with a server that sends what the profile
// says.
func TestContract(t *testing.T) {
	contract.Run(t, func(t *testing.T) measure.Driver {
		p := &listening{simulated(t).Address(), &process{}}
		d, err := Open(t.Context(), Config{Server: p, Between: between})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}, contract.Capabilities{TCP: &contract.TCP{SameClock: true}, Connections: &contract.Connections{}, Parallel: true})
}
