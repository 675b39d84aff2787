package trialstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/configmaptest"
	"vnfbench.io/operator/internal/trialstore"
)

const namespace, name = "lab", "run-results"

func config(server trialstore.Patcher, pod string) trialstore.Config {
	return trialstore.Config{ConfigMaps: server, Name: name, Digest: "sha256:plan", Measurer: pod, UID: "uid-of-" + pod}
}

func open(t *testing.T, server trialstore.Patcher, pod string) *trialstore.Store {
	t.Helper()
	s, err := trialstore.Open(t.Context(), config(server, pod))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func record(index int) measure.Record {
	return measure.Record{
		Index: index, Stage: measure.StageThroughput,
		Trial: measure.Trial{FrameBytes: 64, IntendedFramesPerSecond: 1000, DurationNanoseconds: 1e9},
		Outcome: measure.Outcome{
			StartedAt: time.Date(2000, 1, 1, 0, 0, index, 123456789, time.UTC), SendingNanoseconds: 1e9,
			Directions: []measure.DirectionOutcome{{Direction: measure.Forward, IntendedFrames: 1000, SentFrames: 1000, ReceivedFrames: 999}},
			Doubts:     []measure.Doubt{{Code: measure.DoubtSteal, Detail: "the <CPU> was away"}},
		},
	}
}

func appendAll(t *testing.T, s *trialstore.Store, indexes ...int) {
	t.Helper()
	for _, index := range indexes {
		if err := s.Append(t.Context(), record(index)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReplay(t *testing.T) {
	server := configmaptest.New(namespace, name)
	first := open(t, server, "a")
	appendAll(t, first, 0, 1, 2)

	second := open(t, server, "b")
	want := []measure.Record{record(0), record(1), record(2)}
	for i := range want {
		want[i].Measurer = "a"
	}
	if diff := cmp.Diff(want, second.Records()); diff != "" {
		t.Error(diff)
	}
	appendAll(t, second, 3)

	third := open(t, server, "c")
	if got := third.Holder(); got != (measure.Holder{Measurer: "c", UID: "uid-of-c", Restarts: 2, Protocol: measure.Protocol()}) {
		t.Errorf("got %+v", got)
	}
	if got := third.Records(); len(got) != 4 || got[3].Measurer != "b" {
		t.Errorf("got %+v", got)
	}
	if data := server.Data(); strings.ContainsAny(data["trial-000000.json"], "\n\t") || data[measure.KeyDigest] != "sha256:plan" {
		t.Errorf("got %v", data)
	}
}

func TestAppendOutOfOrder(t *testing.T) {
	s := open(t, configmaptest.New(namespace, name), "a")
	if err := s.Append(t.Context(), record(1)); err == nil {
		t.Error("a gap was stored")
	}
}

func TestOpenRefuses(t *testing.T) {
	trial := func(index int) string {
		text, err := json.Marshal(record(index))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, data := range map[string]map[string]string{
		"foreign digest":    {measure.KeyDigest: "sha256:other"},
		"no digest":         {"trial-000000.json": trial(0)},
		"gap":               {measure.KeyDigest: "sha256:plan", "trial-000000.json": trial(0), "trial-000002.json": trial(2)},
		"wrong index":       {measure.KeyDigest: "sha256:plan", "trial-000000.json": trial(5)},
		"unreadable trial":  {measure.KeyDigest: "sha256:plan", "trial-000000.json": "{"},
		"unreadable holder": {measure.KeyDigest: "sha256:plan", measure.KeyHolder: "?"},
	} {
		t.Run(name, func(t *testing.T) {
			server := configmaptest.New(namespace, "run-results")
			server.Edit(func(c *corev1.ConfigMap) { c.Data = data })
			_, err := trialstore.Open(t.Context(), config(server, "a"))
			if measure.ReasonOf(err) != v1alpha1.ReasonResultsLost {
				t.Errorf("got %v", err)
			}
			if server.Writes() != 0 {
				t.Error("something was written")
			}
		})
	}
}

func TestFencing(t *testing.T) {
	server := configmaptest.New(namespace, name)
	first := open(t, server, "a")
	appendAll(t, first, 0)
	second := open(t, server, "b")
	appendAll(t, second, 1)

	before := server.Data()
	if err := first.Append(t.Context(), record(1)); !errors.Is(err, trialstore.ErrSuperseded) || measure.ReasonOf(err) != "" {
		t.Errorf("append: got %v", err)
	}
	if err := first.Fail(t.Context(), measure.FailureState{Reason: "X"}); !errors.Is(err, trialstore.ErrSuperseded) {
		t.Errorf("fail: got %v", err)
	}
	if err := first.AwaitChain(t.Context(), 0); !errors.Is(err, trialstore.ErrSuperseded) {
		t.Errorf("await: got %v", err)
	}
	if diff := cmp.Diff(before, server.Data()); diff != "" {
		t.Errorf("the one that was fenced off wrote: %s", diff)
	}
	appendAll(t, second, 2)
}

// TestFencingWithinOnePod checks that a container that restarts in the same pod has the same UID, but is another measurer.
func TestFencingWithinOnePod(t *testing.T) {
	server := configmaptest.New(namespace, name)
	first, second := open(t, server, "a"), open(t, server, "a")
	if second.Holder().Restarts != 1 {
		t.Errorf("got %+v", second.Holder())
	}
	if err := first.Append(t.Context(), record(0)); !errors.Is(err, trialstore.ErrSuperseded) {
		t.Errorf("got %v", err)
	}
}

// TestConflictWithTheController checks that the controller can write its key at any time.
func TestConflictWithTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := configmaptest.New(namespace, name)
		s := open(t, server, "a")
		for i := range 3 {
			server.Edit(func(c *corev1.ConfigMap) { c.Data[measure.KeyChain] = fmt.Sprint("Stage", i) })
			appendAll(t, s, i)
		}
		if got := open(t, server, "b").Records(); len(got) != 3 {
			t.Errorf("got %d records", len(got))
		}
	})
}

func TestConflictWhileClaiming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := configmaptest.New(namespace, name)
		edits := 0
		racing := racer{server, func(body []byte) {
			if strings.Contains(string(body), "holder") && edits < 2 {
				edits++
				server.Edit(func(c *corev1.ConfigMap) { c.Data[measure.KeyChain] = fmt.Sprint(edits) })
			}
		}}
		s := open(t, racing, "a")
		appendAll(t, s, 0)
		if edits != 2 || s.Holder().Restarts != 0 {
			t.Errorf("%d edits, holder %+v", edits, s.Holder())
		}
	})
}

func TestResultsLost(t *testing.T) {
	for name, harm := range map[string]func(*configmaptest.Server){
		"deleted":   (*configmaptest.Server).Delete,
		"recreated": func(s *configmaptest.Server) { s.Edit(func(c *corev1.ConfigMap) { c.UID = "another" }) },
		"trial removed": func(s *configmaptest.Server) {
			s.Edit(func(c *corev1.ConfigMap) { delete(c.Data, "trial-000000.json") })
		},
		"trial changed": func(s *configmaptest.Server) {
			s.Edit(func(c *corev1.ConfigMap) { c.Data["trial-000000.json"] = "{}" })
		},
		"holder removed": func(s *configmaptest.Server) { s.Edit(func(c *corev1.ConfigMap) { delete(c.Data, measure.KeyHolder) }) },
		"digest changed": func(s *configmaptest.Server) {
			s.Edit(func(c *corev1.ConfigMap) { c.Data[measure.KeyDigest] = "x" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := configmaptest.New(namespace, "run-results")
			s := open(t, server, "a")
			appendAll(t, s, 0)
			harm(server)
			if err := s.Append(t.Context(), record(1)); measure.ReasonOf(err) != v1alpha1.ReasonResultsLost {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestPendingIsCoalesced(t *testing.T) {
	server := configmaptest.New(namespace, name)
	s := open(t, server, "a")
	before := server.Writes()
	for percent := range 10 {
		if err := s.SetProgress(measure.Progress{Stage: "x", Percent: percent}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SetGenerator(measure.GeneratorState{Chain: &measure.Description{Driver: "XDP"}}); err != nil {
		t.Fatal(err)
	}
	appendAll(t, s, 0)
	if got := server.Writes() - before; got != 1 {
		t.Errorf("%d writes", got)
	}
	next := open(t, server, "b")
	if next.Progress().Percent != 9 || next.Generator().Chain.Driver != "XDP" {
		t.Errorf("got %+v, %+v", next.Progress(), next.Generator())
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Errorf("nothing is pending, yet %v", err)
	}
}

func TestDoneAndFailure(t *testing.T) {
	server := configmaptest.New(namespace, name)
	s := open(t, server, "a")
	appendAll(t, s, 0)
	if s.Finished() || s.Failure() != nil {
		t.Error("ended before its end")
	}
	want := measure.FailureState{Reason: "ChainFailed", Message: "no frame came through"}
	if err := errors.Join(s.Fail(t.Context(), want), s.Done(t.Context())); err != nil {
		t.Fatal(err)
	}
	next := open(t, server, "b")
	if got := next.Failure(); !next.Finished() || got == nil || *got != want {
		t.Errorf("got %v, %v", next.Finished(), got)
	}
	if got := server.Data()[measure.KeyDone]; got != `{"trials":1}` {
		t.Errorf("got %s", got)
	}
}

func TestAwaitChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := configmaptest.New(namespace, name)
		s := open(t, server, "a")
		start := time.Now()
		go func() {
			time.Sleep(10*time.Second + time.Millisecond)
			server.Edit(func(c *corev1.ConfigMap) { c.Data[measure.KeyChain] = measure.ChainReady })
		}()
		if err := s.SetProgress(measure.Progress{Calibrated: true}); err != nil {
			t.Fatal(err)
		}
		writes := server.Writes()
		if err := s.AwaitChain(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 11*time.Second {
			t.Errorf("took %v", took)
		}
		if !strings.Contains(server.Data()[measure.KeyProgress], `"calibrated":true`) || server.Writes() != writes+1 {
			t.Errorf("%d writes", server.Writes()-writes)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		server.Edit(func(c *corev1.ConfigMap) { delete(c.Data, measure.KeyChain) })
		stopped := errors.New("stopped")
		cancel(stopped)
		if err := s.AwaitChain(ctx, 0); !errors.Is(err, stopped) {
			t.Errorf("got %v", err)
		}
	})
}

// TestAwaitAnotherDeployment checks that a chain that is ready with a lower number is not taken.
func TestAwaitAnotherDeployment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := configmaptest.New(namespace, name)
		ready := func(deployments string) {
			server.Edit(func(c *corev1.ConfigMap) {
				c.Data[measure.KeyChain], c.Data[measure.KeyDeployments] = measure.ChainReady, deployments
			})
		}
		ready(`[{"number":1}]`)
		s := open(t, server, "a")
		if err := s.AwaitChain(t.Context(), 1); err != nil || s.Deployment() != 1 {
			t.Errorf("deployment %d: %v", s.Deployment(), err)
		}
		start := time.Now()
		time.AfterFunc(1500*time.Millisecond, func() { server.Edit(func(c *corev1.ConfigMap) { delete(c.Data, measure.KeyChain) }) })
		time.AfterFunc(4500*time.Millisecond, func() { ready(`[{"number":1},{"number":3}]`) })
		if err := s.AwaitChain(t.Context(), 2); err != nil || s.Deployment() != 3 {
			t.Errorf("deployment %d: %v", s.Deployment(), err)
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// TestRealClient checks the real client by the same rules over HTTP.
func TestRealClient(t *testing.T) {
	server := configmaptest.New(namespace, name)
	web := httptest.NewServer(server)
	defer web.Close()
	client, err := typedcorev1.NewForConfig(&rest.Config{Host: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	first := open(t, client.ConfigMaps(namespace), "a")
	appendAll(t, first, 0)
	server.Edit(func(c *corev1.ConfigMap) { c.Data[measure.KeyChain] = measure.ChainReady })
	appendAll(t, first, 1)
	if err := first.AwaitChain(t.Context(), 0); err != nil {
		t.Error(err)
	}
	second := open(t, client.ConfigMaps(namespace), "b")
	if len(second.Records()) != 2 {
		t.Errorf("got %d records", len(second.Records()))
	}
	if err := first.Append(t.Context(), record(2)); !errors.Is(err, trialstore.ErrSuperseded) {
		t.Errorf("got %v", err)
	}
	server.Delete()
	if err := second.Append(t.Context(), record(2)); measure.ReasonOf(err) != v1alpha1.ReasonResultsLost {
		t.Errorf("got %v", err)
	}
}
