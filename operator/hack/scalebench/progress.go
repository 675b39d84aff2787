package main

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// progressInterval is how often the program says what it does.
const progressInterval = 20 * time.Second

// progress has what the program does now. The zero value is ready.
type progress struct{ doing atomic.Pointer[string] }

// is sets what the program does.
func (p *progress) is(format string, args ...any) { p.doing.Store(new(fmt.Sprintf(format, args...))) }

// print prints a line at each interval until the context ends.
func (p *progress) print(ctx context.Context, w io.Writer, interval time.Duration) {
	start, ticker := time.Now(), time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			doing := "starting"
			if text := p.doing.Load(); text != nil {
				doing = *text
			}
			fmt.Fprintf(w, "%s: %s\n", now.Sub(start).Round(time.Second), doing)
		}
	}
}
