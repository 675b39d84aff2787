package contract

import (
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
)

// Connections describes which trials a driver of many connections supports.
type Connections struct {
	// PerSecond is a rate that the path carries without a failure, 100 by default.
	PerSecond int64
}

var connectionParts = []part{
	{"makes connections at a rate", suite.connectionRate},
	{"holds connections at once", suite.heldConnections},
	{"refuses what cannot be connections", suite.invalidConnections},
}

func (s suite) exchanges(held int64) measure.Trial {
	rate := int64(100)
	if s.Connections != nil && s.Connections.PerSecond > 0 {
		rate = s.Connections.PerSecond
	}
	return measure.Trial{
		DurationNanoseconds: int64(time.Second), SettleNanoseconds: int64(10 * time.Millisecond),
		Connections: &measure.ConnectionsTrial{ConnectionsPerSecond: rate, RequestBytes: 128, ResponseBytes: 1024, ConcurrentConnections: held},
	}
}

func (s suite) connectionRate(t *testing.T) {
	trial := s.exchanges(0)
	o := s.measure(t, s.driver(t), trial).Connections
	// Counters are read twice in a second, and a busy machine reads them late.
	asked := trial.Connections.ConnectionsPerSecond
	for name, got := range map[string]int64{"began": o.AttemptsPerSecond(), "established": o.EstablishedPerSecond()} {
		if got < asked/2 || got > asked*3/2 {
			t.Errorf("%s %d connections/s, want about %d", name, got, asked)
		}
	}
	if o.HeldAtEnd != 0 {
		t.Errorf("%d connections are held, and none was to be", o.HeldAtEnd)
	}
}

func (s suite) heldConnections(t *testing.T) {
	const held = 50
	o := s.measure(t, s.driver(t), s.exchanges(held)).Connections
	if o.Attempts != held || o.HeldAtEnd != held || o.Concurrent != held {
		t.Errorf("%d connections begun, %d at once, %d held at the end, want %d of each", o.Attempts, o.Concurrent, o.HeldAtEnd, held)
	}
}

func (s suite) invalidConnections(t *testing.T) {
	d := s.driver(t)
	for name, spoil := range map[string]func(*measure.ConnectionsTrial){
		"no rate":       func(c *measure.ConnectionsTrial) { c.ConnectionsPerSecond = 0 },
		"no request":    func(c *measure.ConnectionsTrial) { c.RequestBytes = 0 },
		"no response":   func(c *measure.ConnectionsTrial) { c.ResponseBytes = 0 },
		"negative held": func(c *measure.ConnectionsTrial) { c.ConcurrentConnections = -1 },
	} {
		trial := s.exchanges(0)
		spoil(trial.Connections)
		s.refuses(t, d, name, trial)
	}
	s.measure(t, d, s.exchanges(0))
}

// checkConnections checks what is true of every outcome of connections.
func (s suite) checkConnections(t *testing.T, trial measure.Trial, o measure.Outcome) {
	t.Helper()
	if o.Connections == nil || o.TCP != nil || len(o.Directions) > 0 {
		t.Fatalf("the outcome is not one of connections alone: %+v", o)
	}
	c := *o.Connections
	if c.Established > c.Attempts || c.Completed > c.Established || c.Completed+c.Failed() != c.Attempts {
		t.Errorf("%d attempts, %d established, %d completed and %d failed do not add up", c.Attempts, c.Established, c.Completed, c.Failed())
	}
	if c.Failed() != 0 || c.Attempts == 0 {
		t.Errorf("%d of %d connections failed on a path that carries them: %+v", c.Failed(), c.Attempts, c)
	}
	if c.CountedNanoseconds < trial.DurationNanoseconds/2 {
		t.Errorf("counted %v of a trial of %v", time.Duration(c.CountedNanoseconds), trial.Duration())
	}
	if c.CountedAttempts > c.Attempts || c.CountedEstablished > c.Established {
		t.Errorf("%d attempts and %d established were counted, of %d and %d in all", c.CountedAttempts, c.CountedEstablished, c.Attempts, c.Established)
	}
	// Connections that are held exchange their payload before the counted time.
	if trial.Connections.ConcurrentConnections == 0 && (c.ForwardBytes <= 0 || c.ReverseBytes <= 0) {
		t.Errorf("%d bytes of requests and %d of responses arrived", c.ForwardBytes, c.ReverseBytes)
	}
	if c.GeneratorCPUPartsPerMillion < 0 || c.GeneratorCPUPartsPerMillion > 1_000_000 || c.Program.Name == "" {
		t.Errorf("made by %q with %d ppm of the CPUs", c.Program.Name, c.GeneratorCPUPartsPerMillion)
	}
}
