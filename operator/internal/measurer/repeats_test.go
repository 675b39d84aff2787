package measurer

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/measure"
)

// TestRestartAnywhereInRepeats checks that a measurer that is killed in any trial of any repeat is followed by one that makes no more
// than that repeat of that size again.
func TestRestartAnywhereInRepeats(t *testing.T) {
	repeated := func() *lab {
		l := newLab()
		l.repeats = 3
		l.chainReady()
		return l
	}
	undisturbed := repeated()
	if err := undisturbed.measurer("a").Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, want := undisturbed.stored(t)
	longest := longestUnit(before.Records())
	if got := want.Frames[0].Throughput[0].Statistics; len(got) != 1 || got[0].N != 3 {
		t.Fatalf("%+v", got)
	}
	for k := range undisturbed.trials {
		t.Run(fmt.Sprintf("before trial %d", k), func(t *testing.T) {
			l := repeated()
			killed := errors.New("killed")
			l.before = func(trial int, _ *measure.Outcome) error {
				if trial == k {
					return killed
				}
				return nil
			}
			if err := l.measurer("a").Run(t.Context()); !errors.Is(err, killed) {
				t.Fatalf("got %v", err)
			}
			if err := l.measurer("b").Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			store, got := l.stored(t)
			if diff := cmp.Diff(want, got, anySessions); diff != "" || !store.Finished() || l.trials <= undisturbed.trials || l.trials > undisturbed.trials+1+longest {
				t.Errorf("%d trials: %s", l.trials, diff)
			}
		})
	}
}
