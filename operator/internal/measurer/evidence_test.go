package measurer

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/observer"
	"vnfbench.io/operator/internal/procedure"
	"vnfbench.io/operator/internal/trialstore"
	"vnfbench.io/operator/internal/vnf"
)

// watched is a chain whose node and function can be asked.
type watched struct {
	looks atomic.Int64
	// sending is true while frames are under way: the chain may not be asked then.
	sending atomic.Bool
}

func (c *watched) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.sending.Load() {
		http.Error(w, "frames are under way", http.StatusTeapot)
		return
	}
	n := c.looks.Add(1)
	var answer any
	switch r.URL.Path {
	case observer.PathNode:
		answer = observer.Node{Facts: measure.NodeFacts{OnlineCPUs: 4}}
	case observer.PathSnapshot:
		answer = observer.Snapshot{CPUs: 4, ElapsedNanoseconds: n * int64(100*time.Millisecond), Node: measure.CPUTime{SoftirqMilliseconds: n * 90}}
	case vnf.PathStatus:
		answer = map[string]any{"version": vnf.StatusVersion, "ports": []any{map[string]any{"name": "west", "counters": map[string]any{"rxPackets": n * 1000}}},
			"cpu": map[string]any{"elapsedNanoseconds": n * 1e8, "container": map[string]any{"userNanoseconds": n * 1e6}}}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// chainReadyAt is chainReady with sources to ask.
func (l *lab) chainReadyAt(sources measure.Sources) {
	text, err := json.Marshal(sources)
	if err != nil {
		panic(err)
	}
	l.server.Edit(func(c *corev1.ConfigMap) {
		c.Data[measure.KeyChain], c.Data[measure.KeySources] = measure.ChainReady, string(text)
	})
}

// TestEvidence checks that evidence is in the record of every trial that becomes a figure, survives a restart, and
// changes nothing else.
func TestEvidence(t *testing.T) {
	bare := newLab()
	bare.chainReady()
	if err := bare.measurer("a").Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	bareStore, _ := bare.stored(t)
	// Between two sizes nothing is under way that a restart would make again.
	second := slices.IndexFunc(bareStore.Records(), func(r measure.Record) bool {
		return r.Stage == measure.StageWarmUp && r.Trial.FrameBytes == 512
	})

	chain := &watched{}
	server := httptest.NewServer(chain)
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	l := newLab()
	l.chainReadyAt(measure.Sources{Observer: address, Functions: []measure.FunctionSource{{Name: "r1", Address: address}}})
	l.before = func(trial int, _ *measure.Outcome) error {
		if trial == second {
			return ErrStopped
		}
		return nil
	}
	if err := l.measurer("a").Run(t.Context()); ExitCode(err) != ExitStopped {
		t.Fatal(err)
	}
	if err := l.measurer("b").Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	store, figures := l.stored(t)
	asked := 0
	for _, r := range store.Records() {
		if (r.Evidence != nil) != procedure.WantsEvidence(r.Stage) {
			t.Errorf("trial %d, stage %s: %+v", r.Index, r.Stage, r.Evidence)
		}
		if e := r.Evidence; e != nil {
			asked++
			if e.Node == nil || e.Node.SoftirqMilliseconds == 0 || len(e.Functions) != 1 || e.Functions[0].Ports[0].ReceivedFrames == 0 || len(e.Notes) > 0 {
				t.Errorf("trial %d: %+v", r.Index, e)
			}
		}
	}
	if asked == 0 {
		t.Error("no trial has evidence")
	}
	if diff := cmp.Diff(bareStore.Records(), store.Records(), cmpopts.IgnoreFields(measure.Record{}, "Evidence", "Measurer")); diff != "" {
		t.Error(diff)
	}
	if len(figures.CPU) == 0 || figures.CPU[0].Node == nil {
		t.Errorf("%+v", figures.CPU)
	}
	var device measure.DeviceState
	if err := json.Unmarshal([]byte(l.server.Data()[measure.KeyDevice]), &device); err != nil || device.Node == nil || device.Node.OnlineCPUs != 4 {
		t.Errorf("%+v, %v", device, err)
	}
}

// TestEvidenceThatIsMissing checks that a chain without sources is still measured, and the results say so.
func TestEvidenceThatIsMissing(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	address := strings.TrimPrefix(server.URL, "http://")
	server.Close()
	l := newLab()
	l.chainReadyAt(measure.Sources{Observer: address, Functions: []measure.FunctionSource{{Name: "r1", Address: address}}})
	if err := l.measurer("a").Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	store, figures := l.stored(t)
	if !store.Finished() || len(figures.Frames) != 2 || len(figures.CPU) > 0 {
		t.Errorf("%+v", figures.Frames)
	}
	warned := 0
	for _, w := range figures.Warnings {
		if w.Code == v1alpha1.WarningEvidenceMissing && strings.Contains(w.Message, "did not answer") {
			warned++
		}
	}
	if warned != 2 {
		t.Errorf("%d warnings of two frame sizes: %+v", warned, figures.Warnings)
	}
}

// observed is a driver that reports when everything is sent, and what its trials saw.
type observed struct {
	measure.Driver
	chain *watched
	sent  func()
}

func (d *observed) NotifySent(sent func()) { d.sent = sent }

func (d *observed) Measure(_ context.Context, trial measure.Trial) (measure.Outcome, error) {
	d.chain.sending.Store(true)
	time.Sleep(5 * time.Millisecond)
	d.chain.sending.Store(false)
	looks := d.chain.looks.Load()
	if d.sent != nil {
		d.sent()
	}
	// The trial settles, and the second read happens in the meantime.
	for end := time.Now().Add(5 * time.Second); d.chain.looks.Load() == looks && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return measure.Outcome{SendingNanoseconds: trial.DurationNanoseconds}, nil
}

// TestLooksAroundSending checks that the chain is not asked while frames are sent, and the second read does not wait until the
// trial has settled.
func TestLooksAroundSending(t *testing.T) {
	chain := &watched{}
	server := httptest.NewServer(chain)
	defer server.Close()
	l := newLab()
	l.chainReadyAt(measure.Sources{Observer: strings.TrimPrefix(server.URL, "http://")})
	m := l.measurer("a")
	m.Results.Digest = m.Instructions.Digest
	var err error
	if m.store, err = trialstore.Open(t.Context(), m.Results); err != nil {
		t.Fatal(err)
	}
	if err := m.startEvidence(t.Context()); err != nil {
		t.Fatal(err)
	}
	driver := &observed{chain: chain}
	m.driver = driver
	step := procedure.Step{Path: procedure.PathChain, Stage: measure.StageLatency, Trial: measure.Trial{DurationNanoseconds: int64(100 * time.Millisecond)}}
	for range 3 {
		finish := m.beginEvidence(t.Context(), step)
		outcome, err := driver.Measure(t.Context(), step.Trial)
		if err != nil {
			t.Fatal(err)
		}
		before := chain.looks.Load()
		e := finish(outcome)
		if e == nil || e.Node == nil || len(e.Notes) > 0 || chain.looks.Load() != before {
			t.Errorf("%+v, %d looks after the trial", e, chain.looks.Load()-before)
		}
		if driver.sent != nil {
			t.Error("the driver would notify again")
		}
	}
	step.Stage = measure.StageWarmUp
	before := chain.looks.Load()
	if e := m.beginEvidence(t.Context(), step)(measure.Outcome{}); e != nil || chain.looks.Load() != before {
		t.Errorf("a warm-up has evidence: %+v", e)
	}
}
