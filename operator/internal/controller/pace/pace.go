// Package pace bounds how often a control loop works on one object: requests go in, and those that come too often wait. Who
// may write an object, or others that lead to it, decides how often it changes.
package pace

import (
	"context"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// perSecond is how often a loop works on an object that changes without end.
	perSecond = 5
	// burst is how often it does so at once: a run that is launched, or that ends, takes fewer steps.
	burst = 100
	// forgetInterval is how often the objects are forgotten that were not worked on for a while.
	forgetInterval = time.Minute
)

// limited is a reconciler with a bound for each object.
type limited struct {
	next  reconcile.Reconciler
	clock clock.PassiveClock

	mutex     sync.Mutex
	limiters  map[reconcile.Request]*rate.Limiter
	forgotten time.Time
}

// Limit returns a reconciler that works on an object at most 100 times at once, and 5 times per second in the long run. A request
// that comes earlier waits, together with all that follow it, and other objects do not wait for it.
func Limit(clock clock.PassiveClock, next reconcile.Reconciler) reconcile.Reconciler {
	return &limited{next: next, clock: clock, limiters: map[reconcile.Request]*rate.Limiter{}, forgotten: clock.Now()}
}

// Reconcile implements reconcile.Reconciler.
func (l *limited) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if wait := l.wait(request); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	return l.next.Reconcile(ctx, request)
}

// wait returns how long a request has to wait; 0: it is taken.
func (l *limited) wait(request reconcile.Request) time.Duration {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := l.clock.Now()
	if now.Sub(l.forgotten) >= forgetInterval {
		// A limiter without use is as a new one.
		maps.DeleteFunc(l.limiters, func(_ reconcile.Request, limiter *rate.Limiter) bool { return limiter.TokensAt(now) >= burst })
		l.forgotten = now
	}
	limiter := l.limiters[request]
	if limiter == nil {
		limiter = rate.NewLimiter(perSecond, burst)
		l.limiters[request] = limiter
	}
	reservation := limiter.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}
