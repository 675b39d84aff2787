package trialstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/configmaptest"
	"vnfbench.io/operator/internal/trialstore"
)

// racer does something just before a patch arrives.
type racer struct {
	*configmaptest.Server
	before func(body []byte)
}

func (r racer) Patch(ctx context.Context, name string, pt types.PatchType, body []byte, opts metav1.PatchOptions, sub ...string) (*corev1.ConfigMap, error) {
	r.before(body)
	return r.Server.Patch(ctx, name, pt, body, opts, sub...)
}

var errRefused = errors.New("connection refused")

func until(end time.Time, before, after error) func([]byte) (error, error) {
	return func([]byte) (error, error) {
		if time.Now().Before(end) {
			return before, after
		}
		return nil, nil
	}
}

func TestOutage(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, name, errors.New("no role yet"))
	for what, test := range map[string]struct {
		lasts         time.Duration
		before, after error
		reason        string
	}{
		"a minute away":           {lasts: time.Minute, before: errRefused},
		"nearly too long":         {lasts: 4*time.Minute + 45*time.Second, before: errRefused},
		"permanent":               {lasts: time.Hour, before: errRefused, reason: v1alpha1.ReasonResultsNotStored},
		"rights come late":        {lasts: 10 * time.Second, before: forbidden},
		"answers lost on the way": {lasts: 20 * time.Second, after: errRefused},
		"bad request":             {lasts: time.Hour, before: apierrors.NewBadRequest("no"), reason: v1alpha1.ReasonResultsNotStored},
		"too large":               {lasts: time.Hour, before: apierrors.NewRequestEntityTooLargeError("no"), reason: v1alpha1.ReasonResultsTooLarge},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := configmaptest.New(namespace, name)
				s := open(t, server, "a")
				server.Fault(until(time.Now().Add(test.lasts), test.before, test.after))
				start := time.Now()
				err := s.Append(t.Context(), record(0))
				if measure.ReasonOf(err) != test.reason || (err == nil) != (test.reason == "") {
					t.Errorf("got %v", err)
				}
				if took := time.Since(start); took > 5*time.Minute {
					t.Errorf("took %v", took)
				}
				if err != nil {
					return
				}
				appendAll(t, s, 1)
				if got := open(t, server, "b").Records(); len(got) != 2 {
					t.Errorf("got %d records", len(got))
				}
			})
		})
	}
}

func TestOpenDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := configmaptest.New(namespace, name)
		server.Fault(until(time.Now().Add(time.Minute), nil, errRefused))
		if got := open(t, server, "a").Holder(); got.Restarts != 0 {
			t.Errorf("a claim whose answer was lost counts as a restart: %+v", got)
		}
	})
}

// TestStopWhileStoring checks that a request to stop leaves a measured trial one attempt, and no more than that.
func TestStopWhileStoring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := configmaptest.New(namespace, name)
		s := open(t, server, "a")
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		cancel(stopped)
		if err := s.Append(ctx, record(0)); err != nil {
			t.Errorf("the trial was given up: %v", err)
		}
		server.Fault(until(time.Now().Add(time.Hour), errRefused, nil))
		start := time.Now()
		err := s.Append(ctx, record(1))
		if !errors.Is(err, stopped) || measure.ReasonOf(err) != "" {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// TestStopWithoutAnswer checks that an API server that does not answer keeps no process beyond the pod's grace.
func TestStopWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		silent, err := trialstore.Open(ctx, config(hanging{}, "b"))
		if silent != nil || measure.ReasonOf(err) != v1alpha1.ReasonResultsNotStored {
			t.Errorf("got %v", err)
		}
		start := time.Now()
		time.AfterFunc(time.Second, func() { cancel(stopped) })
		if _, err := trialstore.Open(ctx, config(hanging{}, "b")); !errors.Is(err, stopped) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != 6*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// hanging never answers.
type hanging struct{}

func (hanging) Patch(ctx context.Context, _ string, _ types.PatchType, _ []byte, _ metav1.PatchOptions, _ ...string) (*corev1.ConfigMap, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestTooLarge(t *testing.T) {
	server := configmaptest.New(namespace, name)
	s := open(t, server, "a")
	big := record(0)
	big.Outcome.Doubts[0].Detail = strings.Repeat("x", 100<<10)
	var err error
	for big.Index = 0; err == nil && big.Index < 20; big.Index++ {
		err = s.Append(t.Context(), big)
	}
	if measure.ReasonOf(err) != v1alpha1.ReasonResultsTooLarge || !strings.Contains(err.Error(), "fewer frame sizes") {
		t.Fatalf("got %v", err)
	}
	if size := measure.Bytes(server.All()); size > trialstore.MaximumBytes || size < trialstore.MaximumBytes-(110<<10) {
		t.Errorf("%d bytes are stored", size)
	}
	if err := s.Fail(t.Context(), measure.FailureState{Reason: v1alpha1.ReasonResultsTooLarge}); err != nil {
		t.Errorf("there is no room for the failure itself: %v", err)
	}
}

// TestRoomForTrials checks that the 500 trials that a search may take fit, even with every figure present.
func TestRoomForTrials(t *testing.T) {
	server := configmaptest.New(namespace, name)
	s := open(t, server, "a")
	delays := measure.Delays{
		Samples: 1e9, MinNanoseconds: 12345, MeanNanoseconds: 123456, P50Nanoseconds: 123456, P90Nanoseconds: 1234567,
		P99Nanoseconds: 12345678, P999Nanoseconds: 12345678, P9999Nanoseconds: 12345678, MaxNanoseconds: 123456789,
	}
	full := record(0)
	full.Outcome.Directions = nil
	for _, direction := range []measure.Direction{measure.Forward, measure.Reverse} {
		full.Outcome.Directions = append(full.Outcome.Directions, measure.DirectionOutcome{
			Direction: direction, IntendedFrames: 1e9, SentFrames: 1e9, ReceivedFrames: 1e9, FirstFrameNanoseconds: 123456,
			Latency: delays, DelayVariation: delays, Jitter: &measure.Jitter{MeanNanoseconds: 12345, P99Nanoseconds: 123456, MaxNanoseconds: 1234567},
		})
	}
	if err := s.Append(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	if size := len(server.Data()["trial-000000.json"]); 500*size > trialstore.MaximumBytes {
		t.Errorf("a trial takes %d bytes", size)
	}
}

// slow answers each request after a time.
type slow struct {
	*configmaptest.Server
	each time.Duration
}

func (s slow) Patch(ctx context.Context, name string, pt types.PatchType, body []byte, opts metav1.PatchOptions, sub ...string) (*corev1.ConfigMap, error) {
	if err := clock.Sleep(ctx, s.each); err != nil {
		return nil, err
	}
	return s.Server.Patch(ctx, name, pt, body, opts, sub...)
}

// TestClaimOfManyChunks checks that a measurer takes full results over from an API server that answers slowly: each attempt
// continues with the chunks that the earlier ones have read.
func TestClaimOfManyChunks(t *testing.T) {
	for _, each := range []time.Duration{700 * time.Millisecond, 3 * time.Second} {
		t.Run(each.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := configmaptest.New(namespace, name)
				appendSized(t, open(t, server, "a"), 104, 8)
				if server.Chunks() < 12 {
					t.Fatalf("%d chunks", server.Chunks())
				}
				start := time.Now()
				next, err := trialstore.Open(t.Context(), config(slow{server, each}, "b"))
				if err != nil {
					t.Fatal(err)
				}
				if got := len(next.Records()); got != 104 {
					t.Errorf("%d trials", got)
				}
				if took := time.Since(start); took > 3*time.Minute {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}
