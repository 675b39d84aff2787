package pace

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func requestOf(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "lab", Name: name}}
}

// TestLoopOfATenant checks that an object that changes a thousand times per second for a minute is worked on a bounded number
// of times, that each request that waits is asked for again, and that another object does not wait.
func TestLoopOfATenant(t *testing.T) {
	const second = 1000
	clock := clocktesting.NewFakePassiveClock(time.Now())
	worked := map[string]int{}
	limited := Limit(clock, reconcile.Func(func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
		worked[request.Name]++
		return reconcile.Result{}, nil
	}))
	reconciles := func(name string) time.Duration {
		result, err := limited.Reconcile(t.Context(), requestOf(name))
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}
	waited := 0
	for i := range 60 * second {
		if wait := reconciles("loop"); wait > time.Second/perSecond {
			t.Fatalf("a request waits %s", wait)
		} else if wait > 0 {
			waited++
		}
		if i%(second/2) == 0 && reconciles("other") > 0 {
			t.Fatalf("after %d changes of another object, a request waits", i)
		}
		clock.SetTime(clock.Now().Add(time.Second / second))
	}
	if most := burst + 60*perSecond + 1; worked["loop"] > most || worked["loop"] < most-2 || worked["loop"]+waited != 60*second {
		t.Errorf("%d of 60,000 changes are worked on, and %d wait, want %d", worked["loop"], waited, most)
	}
	if worked["other"] != 120 {
		t.Errorf("the other object is worked on %d times", worked["other"])
	}
}

// TestObjectsAreForgotten checks that what is kept of objects does not grow with those that are gone.
func TestObjectsAreForgotten(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	l := Limit(clock, reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil })).(*limited)
	for i := range 100 {
		l.wait(requestOf(string(rune('a' + i))))
	}
	clock.SetTime(clock.Now().Add(forgetInterval))
	if l.wait(requestOf("next")); len(l.limiters) != 1 {
		t.Errorf("%d objects are kept, want 1", len(l.limiters))
	}
}
