package clock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestSleep(t *testing.T) {
	stopped := errors.New("stopped")
	for name, test := range map[string]struct {
		cancelAfter, sleep, want time.Duration
		err                      error
	}{
		"the time passes":               {time.Hour, time.Minute, time.Minute, nil},
		"the context ends first":        {time.Second, time.Minute, time.Second, stopped},
		"the context has ended already": {0, time.Minute, 0, stopped},
		"no time at all":                {time.Hour, 0, 0, nil},
		"a time that is over":           {time.Hour, -time.Minute, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if test.cancelAfter == 0 {
					cancel(stopped)
				} else {
					timer := time.AfterFunc(test.cancelAfter, func() { cancel(stopped) })
					defer timer.Stop()
				}
				begin := time.Now()
				if err := Sleep(ctx, test.sleep); !errors.Is(err, test.err) || err == nil && test.err != nil {
					t.Errorf("got %v, want %v", err, test.err)
				}
				if got := time.Since(begin); got != test.want {
					t.Errorf("slept %v, want %v", got, test.want)
				}
			})
		})
	}
}
