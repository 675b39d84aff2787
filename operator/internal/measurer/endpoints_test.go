package measurer

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
	"vnfbench.io/operator/internal/trialstore"
)

// ends are two ends that carry what they are asked to.
type ends struct {
	// open and fail may refuse an opening and a trial, by their number.
	open, fail func(n int) error
	opened     []measure.Endpoints
	trials     int
	closed     int
}

// Open opens the ends, or a generator that is both of them with its own TCP.
func (e *ends) Open(_ context.Context, opening measure.Opening) (measure.Driver, error) {
	switch {
	case opening.Endpoints != nil && opening.Driver.Name == measure.EndpointDriver:
		e.opened = append(e.opened, *opening.Endpoints)
	case opening.Stateful != nil:
		e.opened = append(e.opened, measure.Endpoints{})
	default:
		return nil, errors.New("there are neither ends nor clients and servers")
	}
	if e.open != nil {
		if err := e.open(len(e.opened)); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (e *ends) Measure(_ context.Context, trial measure.Trial) (measure.Outcome, error) {
	e.trials++
	if e.fail != nil {
		if err := e.fail(e.trials); err != nil {
			return measure.Outcome{}, err
		}
	}
	if c := trial.Connections; c != nil {
		n := c.ConnectionsPerSecond * 10
		return measure.Outcome{SendingNanoseconds: trial.DurationNanoseconds, TotalNanoseconds: trial.DurationNanoseconds, Connections: &measure.ConnectionsOutcome{
			CountedNanoseconds: 10e9, CountedAttempts: n, CountedEstablished: n, Attempts: n, Established: n, Completed: n,
		}}, nil
	}
	out := &measure.TCPOutcome{}
	for _, direction := range trial.TCP.Directions {
		bytes := int64(trial.TCP.Streams) * 125_000_000
		out.Directions = append(out.Directions, measure.TCPDirectionOutcome{
			Direction: direction, SentBytes: bytes, SentNanoseconds: 1e9, ReceivedBytes: bytes, ReceivedNanoseconds: 1e9,
		})
	}
	return measure.Outcome{SendingNanoseconds: trial.DurationNanoseconds, TotalNanoseconds: trial.DurationNanoseconds, TCP: out}, nil
}

func (e *ends) Description() measure.Description { return measure.Description{Driver: "iperf3"} }
func (e *ends) Close() error                     { e.closed++; return nil }

var whereEnds = measure.Endpoints{West: netip.MustParseAddrPort("10.0.0.1:8080"), East: netip.MustParseAddrPort("10.0.0.2:8080")}

// withTCP adds TCP to a measurer's instructions, and the addresses of the ends.
func (l *lab) withTCP(t *testing.T, m *Measurer, e *ends, frames bool) *Measurer {
	t.Helper()
	text, err := json.Marshal(whereEnds)
	if err != nil {
		t.Fatal(err)
	}
	l.server.Edit(func(c *corev1.ConfigMap) {
		c.Data[measure.KeyChain], c.Data[measure.KeyEndpoints] = measure.ChainReady, string(text)
	})
	m.Instructions.TCP = &v1alpha1.TCP{Streams: []int32{1, 4}, DurationSeconds: 10, Directions: v1alpha1.DirectionsForward}
	m.Instructions.TCPPath = &measure.TCPPath{}
	if !frames {
		m.Instructions.Sizes, m.Instructions.Throughput, m.Instructions.Latency = nil, nil, nil
	}
	l.ends, m.Log = e, slog.New(slog.DiscardHandler)
	return m
}

func (l *lab) records(t *testing.T) []measure.Record {
	t.Helper()
	store, err := trialstore.Open(t.Context(), trialstore.Config{
		ConfigMaps: l.server, Name: results, Digest: "sha256:plan", Measurer: "reader", UID: "reader",
	})
	if err != nil {
		t.Fatal(err)
	}
	return store.Records()
}

// TestTCPAlone measures TCP alone: no traffic port is opened, and the ends are asked at the addresses from the
// controller.
func TestTCPAlone(t *testing.T) {
	l, e := newLab(), &ends{}
	m := l.withTCP(t, l.measurer("a"), e, false)
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(l.opened) != 0 || e.trials != 2 || e.closed != 1 {
		t.Errorf("opened %v, %d trials, closed %d times", l.opened, e.trials, e.closed)
	}
	if diff := cmp.Diff([]measure.Endpoints{whereEnds}, e.opened, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	figures := procedure.Results(m.Instructions, l.records(t))
	if figures.TCP == nil || len(figures.TCP.Streams) != 2 || figures.TCP.Streams[1].Directions[0].GoodputBitsPerSecond != 4_000_000_000 {
		t.Errorf("figures are %+v", figures.TCP)
	}
}

// TestTCPAfterFrames measures TCP after frames: the generator's ports are released first.
func TestTCPAfterFrames(t *testing.T) {
	l, e := newLab(), &ends{}
	e.open = func(int) error {
		if l.closed != 2 {
			t.Errorf("%d paths are closed when the ends are opened, want both", l.closed)
		}
		return nil
	}
	m := l.withTCP(t, l.measurer("a"), e, true)
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	records := l.records(t)
	for i, want := range []measure.Stage{measure.StageTCP, measure.StageTCP} {
		if got := records[len(records)-2+i]; got.Stage != want {
			t.Errorf("record %d is of stage %s", got.Index, got.Stage)
		}
	}
}

// TestTCPRestart checks that a measurer that dies in a trial is followed by one that repeats that trial, and those that it is compared with.
func TestTCPRestart(t *testing.T) {
	killed := errors.New("killed")
	l, e := newLab(), &ends{fail: func(n int) error {
		if n == 2 {
			return killed
		}
		return nil
	}}
	if err := l.withTCP(t, l.measurer("a"), e, false).Run(t.Context()); !errors.Is(err, killed) || ExitCode(err) != ExitAgain {
		t.Fatalf("got %v", err)
	}
	if err := l.withTCP(t, l.measurer("b"), e, false).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if records := l.records(t); len(records) != 3 || e.trials != 4 || records[1].Trial.TCP.Streams != 1 || records[2].Trial.TCP.Streams != 4 || records[1].Measurer != "b" {
		t.Errorf("%d trials made, stored are %+v", e.trials, records)
	}
}

// TestTCPTimeout checks that the measurer asks an end that is not reachable yet again, for a bounded time.
func TestTCPTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unreachable := &measure.Failure{Reason: v1alpha1.ReasonEndpointFailed, Err: errors.New("no answer")}
		l, e := newLab(), &ends{open: func(n int) error {
			if n < 4 {
				return unreachable
			}
			return nil
		}}
		if err := l.withTCP(t, l.measurer("a"), e, false).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		l, e = newLab(), &ends{open: func(int) error { return unreachable }}
		err := l.withTCP(t, l.measurer("a"), e, false).Run(t.Context())
		if measure.ReasonOf(err) != v1alpha1.ReasonEndpointFailed || ExitCode(err) != ExitFailure {
			t.Errorf("got %v", err)
		}
		// startupSeconds is 30.
		if n := len(e.opened); n < 25 || n > 31 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestTCPWithoutAPlaceToAsk(t *testing.T) {
	l, e := newLab(), &ends{}
	m := l.withTCP(t, l.measurer("a"), e, false)
	l.server.Edit(func(c *corev1.ConfigMap) { delete(c.Data, measure.KeyEndpoints) })
	if err := m.Run(t.Context()); measure.ReasonOf(err) != v1alpha1.ReasonEndpointFailed {
		t.Errorf("got %v", err)
	}
}

// TestTCPByTheGenerator checks that a generator with its own TCP takes the chain's path, after the traffic ports are
// released, and asks for no ends.
func TestTCPByTheGenerator(t *testing.T) {
	l, e := newLab(), &ends{}
	m := l.withTCP(t, l.measurer("a"), e, true)
	m.Instructions.Stateful = &measure.Stateful{}
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(l.opened) == 0 || e.trials != 2 || e.closed != 1 {
		t.Errorf("opened %v, %d trials, closed %d times", l.opened, e.trials, e.closed)
	}
	if figures := procedure.Results(m.Instructions, l.records(t)); figures.TCP == nil || len(figures.TCP.Streams) != 2 {
		t.Errorf("figures are %+v", figures.TCP)
	}
}

// TestNoGeneratorWithTCP checks that a driver that is asked for what it does not support ends the run at once.
func TestNoGeneratorWithTCP(t *testing.T) {
	l, e := newLab(), &ends{open: func(int) error { return measure.NotOpened("Pigeon", "frames") }}
	m := l.withTCP(t, l.measurer("a"), e, false)
	m.Instructions.Stateful = &measure.Stateful{}
	if err := m.Run(t.Context()); measure.ReasonOf(err) != v1alpha1.ReasonNotOfferedByDriver || len(e.opened) != 1 {
		t.Errorf("got %v", err)
	}
}

// TestConnections checks that TCP and connections share one driver, which is opened once.
func TestConnections(t *testing.T) {
	l, e := newLab(), &ends{}
	m := l.withTCP(t, l.measurer("a"), e, false)
	m.Instructions.Stateful = &measure.Stateful{}
	m.Instructions.Connections = &v1alpha1.Connections{Loads: []v1alpha1.ConnectionsLoad{{
		Name: "web", DurationSeconds: 10, ConnectionsPerSecond: 100, RequestBytes: 64, ResponseBytes: 64,
	}}}
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	figures := procedure.Results(m.Instructions, l.records(t))
	if e.trials != 3 || len(e.opened) != 1 || figures.Connections == nil || *figures.Connections.Loads[0].EstablishedConnectionsPerSecond != 100 {
		t.Errorf("%d trials on %d openings: %+v", e.trials, len(e.opened), figures.Connections)
	}
}
