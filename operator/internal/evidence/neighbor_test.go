//go:build linux

package evidence

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/neighbor"
)

func TestNeighbors(t *testing.T) {
	pod, address := newPods(t)
	c := New(measure.Sources{Neighbors: []measure.NeighborSource{{Name: "n", Address: address}, {Name: "gone", Address: "127.0.0.1:1"}}}, "")
	defer c.Close()
	look := func(s neighbor.Status) Reading {
		s.StartedAt = started
		pod.say(neighbor.PathStatus, s)
		return c.After(t.Context(), 0)
	}
	first := neighbor.Status{ElapsedNanoseconds: int64(time.Second), Running: true, CPUNanoseconds: 5e8, SentFrames: 100, ReceivedFrames: 90}
	// While the neighbors rest, they are not asked.
	if got := c.Between(look(first), look(first), time.Second); len(got.Neighbors)+len(got.Notes) > 0 {
		t.Errorf("%+v", got)
	}
	c.SetNeighbors(true)
	before := look(first)
	got := c.Between(before, look(neighbor.Status{ElapsedNanoseconds: int64(2 * time.Second), CPUNanoseconds: 24e8, SentFrames: 300, ReceivedFrames: 280}), time.Second)
	want := []measure.NeighborEvidence{{Name: "n", ElapsedMilliseconds: 1000, CPUMilliseconds: 1900, SentFrames: 200, ReceivedFrames: 190, Stopped: true}}
	if diff := cmp.Diff(want, got.Neighbors); diff != "" || len(got.Notes) != 1 {
		t.Error(diff, got.Notes)
	}
	// Another agent's counters are unrelated to those before.
	pod.say(neighbor.PathStatus, neighbor.Status{StartedAt: started.Add(time.Second)})
	if got := c.Between(before, c.After(t.Context(), 0), time.Second); len(got.Neighbors) > 0 || len(got.Notes) != 2 {
		t.Errorf("%+v", got)
	}
}
