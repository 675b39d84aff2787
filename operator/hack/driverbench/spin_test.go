package main

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/traffic/xdp"
)

// TestSpinKeepsTheSchedule checks that a spinner omits no frame and sends none before it is due.
func TestSpinKeepsTheSchedule(t *testing.T) {
	const rate, gap = 3_000, 1_000_000_000 / 3_000
	departures := make([]uint64, 60)
	// The first 15 frames are overdue.
	start := uint64(nanotime()) - 15*gap
	if made := spin(departures, rate, start, start+uint64(time.Hour)); made != len(departures) {
		t.Fatalf("made %d of %d", made, len(departures))
	}
	for i, at := range departures {
		if due := start + uint64(i)*1e9/rate; at < due {
			t.Errorf("frame %d left %d ns early", i, due-at)
		}
	}
}

func TestSpinEnds(t *testing.T) {
	now := uint64(nanotime())
	if made := spin(make([]uint64, 1000), 100, now, now+uint64(25*time.Millisecond)); made > 3 {
		t.Errorf("made %d frames in 25 ms at 100 a second", made)
	}
}

func TestSpinnerRound(t *testing.T) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	cpu := 0
	for !allowed.IsSet(cpu) {
		cpu++
	}
	const rate, window = 1_000, 500 * time.Millisecond
	errs, err := spinnerFor(cpu, xdp.Fair, window).round(rate, window)
	if err != nil {
		t.Fatal(err)
	}
	// On a busy machine many may be too late.
	if errs.Gaps < 1 || errs.Gaps > 499 || errs.P50Nanoseconds > errs.P99Nanoseconds || errs.P99Nanoseconds > errs.MaxNanoseconds {
		t.Errorf("%+v", errs)
	}
	// A CPU that does not exist is an error, and gives no figure.
	if _, err := (spinner{cpu: 1023}).round(rate, time.Millisecond); err == nil {
		t.Error("spun on CPU 1023")
	}
}

// TestSpinnerKeepsToTheLimit checks that a real-time spinner stays within the kernel's limit, or is
// an ordinary thread and says why.
func TestSpinnerKeepsToTheLimit(t *testing.T) {
	runtime, period, err := realTimeLimit()
	if err != nil {
		t.Fatal(err)
	}
	short := spinnerFor(0, xdp.RealTime, 100*time.Millisecond)
	long := spinnerFor(0, xdp.RealTime, time.Hour)
	if runtime < 0 {
		if short.pause != 0 || long.scheduling != xdp.RealTime {
			t.Errorf("without a limit: %+v and %+v", short, long)
		}
		return
	}
	if short.scheduling != xdp.RealTime || short.pause != period-100*time.Millisecond || short.why != "" {
		t.Errorf("short rounds: %+v", short)
	}
	if long.scheduling != xdp.Fair || long.why == "" {
		t.Errorf("long rounds: %+v", long)
	}
}
