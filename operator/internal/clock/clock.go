// Package clock waits for time to pass, and knows the clock of a server. Every wait in the product ends with its
// context, so that a pod that is stopped does not sleep until it is killed.
package clock

import (
	"context"
	"time"
)

// Sleep waits for the duration. It returns the context's cause when the context
// ends first, and at once when it has ended already.
func Sleep(ctx context.Context, duration time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
