package measurer

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/neighbor"
	"vnfbench.io/operator/internal/procedure"
)

// agent is a neighbor that only answers as a real one would.
type agent struct {
	mu sync.Mutex
	// calls are the starts and stops.
	calls   []string
	running bool
	looks   int64
	// refuse is how many starts are refused first; idle keeps its counters unchanged; problem
	// ends its load at once.
	refuse  int
	idle    bool
	problem string
	// deaf refuses every stop.
	deaf bool
}

func (a *agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	status := neighbor.Status{}
	switch r.URL.Path {
	case neighbor.PathStart:
		var load measure.NeighborLoad
		if err := json.NewDecoder(r.Body).Decode(&load); err != nil || load.Workers != 2 {
			http.Error(w, "no load", http.StatusBadRequest)
			return
		}
		if a.refuse > 0 {
			a.refuse--
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		}
		a.calls, a.running = append(a.calls, "start"), a.problem == ""
	case neighbor.PathStop:
		if a.deaf {
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		a.calls = append(a.calls, "stop")
		if a.running {
			status.Stressors = []measure.Stressor{{Name: "cpu", Operations: 7, OperationsPerSecond: 1}}
		}
		a.running = false
	}
	a.looks++
	status.ElapsedNanoseconds, status.Running, status.Problem = a.looks*int64(time.Second), a.running, a.problem
	if a.running && !a.idle {
		status.CPUNanoseconds = uint64(a.looks) * uint64(1900*time.Millisecond)
	}
	_ = json.NewEncoder(w).Encode(status)
}

// withNeighbor returns a lab with a neighbor, and without its waits.
func withNeighbor(t *testing.T, a *agent) (*lab, func(*Measurer) *Measurer) {
	t.Helper()
	timeout, pause, settle := neighborTimeout, neighborPause, neighborSettle
	neighborTimeout, neighborPause, neighborSettle = 200*time.Millisecond, time.Millisecond, time.Millisecond
	t.Cleanup(func() { neighborTimeout, neighborPause, neighborSettle = timeout, pause, settle })
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	l := newLab()
	l.chainReadyAt(measure.Sources{Neighbors: []measure.NeighborSource{{Name: "noisy", Address: strings.TrimPrefix(server.URL, "http://")}}})
	return l, func(m *Measurer) *Measurer {
		m.Instructions = compared(m.Instructions)
		return m
	}
}

func compared(instr measure.Instructions) measure.Instructions {
	instr.Sizes = []measure.Size{measure.FrameSize(64)}
	instr.Neighbors = []measure.NeighborLoad{{Name: "noisy", Kind: measure.NeighborCPU, Workers: 2, LoadPercent: 100}}
	instr.NoisyNeighbors = v1alpha1.NeighborsWithAndWithout
	return instr
}

// TestNeighborsLoadTheSecondSide checks that the neighbors rest for the first half, load for the second, and stop at the end. The
// records and the results show what they did.
func TestNeighborsLoadTheSecondSide(t *testing.T) {
	a := &agent{refuse: 2}
	l, loaded := withNeighbor(t, a)
	l.before = func(_ int, o *measure.Outcome) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.running {
			o.TotalNanoseconds++
		}
		return nil
	}
	if err := loaded(l.measurer("a")).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"stop", "start", "stop"}, a.calls); diff != "" {
		t.Error(diff)
	}
	store, _ := l.stored(t)
	with := 0
	for _, r := range store.Records() {
		if !r.Neighbors {
			if r.Evidence != nil && len(r.Evidence.Neighbors) > 0 {
				t.Errorf("trial %d was made without neighbors and has %+v", r.Index, r.Evidence.Neighbors)
			}
			continue
		}
		with++
		if procedure.WantsEvidence(r.Stage) && (r.Evidence == nil || len(r.Evidence.Neighbors) != 1 || r.Evidence.Neighbors[0].CPUMilliseconds == 0 || r.Evidence.Neighbors[0].Stopped) {
			t.Errorf("trial %d has %+v", r.Index, r.Evidence)
		}
	}
	if with == 0 {
		t.Error("no trial was made with neighbors")
	}
	figures := procedure.Results(compared(l.instructions()), store.Records())
	if got := figures.Neighbors.Loads[0]; got.Trials == 0 || *got.MilliCPU != 1900 || *got.IntendedMilliCPU != 2000 {
		t.Errorf("%+v", got)
	}
	var states []measure.NeighborState
	l.server.Edit(func(c *corev1.ConfigMap) {
		if err := json.Unmarshal([]byte(c.Data[measure.KeyNeighbors]), &states); err != nil {
			t.Error(err)
		}
	})
	if diff := cmp.Diff([]measure.NeighborState{{Name: "noisy", Stressors: []measure.Stressor{{Name: "cpu", Operations: 7, OperationsPerSecond: 1}}}}, states); diff != "" {
		t.Error(diff)
	}
}

// TestNeighborsInTurns checks that the neighbors rest and load in turns, that the node has time to become quiet, and that
// everything that they did is counted, although they rest at the end.
func TestNeighborsInTurns(t *testing.T) {
	a := &agent{}
	l, loaded := withNeighbor(t, a)
	l.repeats = 4
	m := loaded(l.measurer("a"))
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"stop", "start", "stop", "start", "stop"}, a.calls); diff != "" {
		t.Error(diff)
	}
	store, _ := l.stored(t)
	want := []measure.NeighborState{{Name: "noisy", Stressors: []measure.Stressor{{Name: "cpu", Operations: 14, OperationsPerSecond: 1}}}}
	if diff := cmp.Diff(want, store.Neighbors()); diff != "" {
		t.Error(diff)
	}
	side, changes := false, 0
	for _, r := range store.Records() {
		if r.Neighbors != side {
			side, changes = r.Neighbors, changes+1
		}
	}
	if changes != 4 || side {
		t.Errorf("%d changes of the side, at the end with neighbors: %t", changes, side)
	}
}

// TestNeighborsAfterARestart checks that the next measurer does not know what the neighbors do, and commands them again. Both halves
// of the pair that was under way are made again.
func TestNeighborsAfterARestart(t *testing.T) {
	a := &agent{}
	l, loaded := withNeighbor(t, a)
	with := 0
	l.before = func(int, *measure.Outcome) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.running {
			if with++; with == 3 {
				return ErrStopped
			}
		}
		return nil
	}
	if err := loaded(l.measurer("a")).Run(t.Context()); err == nil {
		t.Fatal("it was not stopped")
	}
	l.before = nil
	if err := loaded(l.measurer("b")).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(a.calls, " "); got != "stop start stop stop start stop" {
		t.Errorf("the calls are %s", got)
	}
}

func TestNeighborsThatDoNotLoad(t *testing.T) {
	for name, test := range map[string]struct {
		agent   *agent
		sources *measure.Sources
		want    string
	}{
		"never starts":  {&agent{refuse: 1 << 30}, nil, "HTTP 503: not yet"},
		"ends at once":  {&agent{problem: "stress-ng ended: exit status 3"}, nil, "it ended: stress-ng ended: exit status 3"},
		"does not move": {&agent{idle: true}, nil, "its counters do not move"},
		"no address":    {&agent{}, &measure.Sources{}, "do not say where it is"},
		"no agent":      {&agent{}, &measure.Sources{Neighbors: []measure.NeighborSource{{Name: "noisy", Address: "127.0.0.1:1"}}}, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			l, loaded := withNeighbor(t, test.agent)
			if test.sources != nil {
				l.chainReadyAt(*test.sources)
			}
			err := loaded(l.measurer("a")).Run(t.Context())
			if measure.ReasonOf(err) != v1alpha1.ReasonNeighborNotStarted || !strings.Contains(err.Error(), `neighbor "noisy"`) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestNeighborsRestForTheCalibration checks that neighbors do not load when the delay without a device is
// measured, and that one which cannot be stopped costs that delay alone.
func TestNeighborsRestForTheCalibration(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		a := &agent{}
		l, _ := withNeighbor(t, a)
		l.calibrateLoads = true
		l.before = func(int, *measure.Outcome) error {
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.running != (len(l.opened) == 2) {
				t.Errorf("after opening %v the neighbor runs: %t", l.opened, a.running)
			}
			a.deaf = deaf && len(l.opened) == 2
			return nil
		}
		m := l.measurer("a")
		m.Instructions = compared(m.Instructions)
		m.Instructions.NoisyNeighbors = ""
		if err := m.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		store, _ := l.stored(t)
		for _, load := range procedure.Results(m.Instructions, store.Records()).Frames[0].Latency {
			if (load.Bias == nil) != (deaf && load.Load != "idle") {
				t.Errorf("deaf: %t, %s: %+v", deaf, load.Load, load.Bias)
			}
		}
	}
}
