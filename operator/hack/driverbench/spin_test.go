package main

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/traffic/xdp"
)

// TestSpinKeepsTheSchedule checks that a spinner omits no frame, sends none before it is due, and
// after a stall none sooner than the rule for catching up allows.
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
		if i == 0 {
			continue
		}
		arrears := uint64(max(0, int64(departures[i-1])-int64(start+uint64(i)*1e9/rate)))
		if least := minGap(gap, arrears); at-departures[i-1] < least {
			t.Errorf("frame %d left %d ns after the one before, want at least %d", i, at-departures[i-1], least)
		}
	}
}

func TestSpinEnds(t *testing.T) {
	now := uint64(nanotime())
	if made := spin(make([]uint64, 1000), 100, now, now+uint64(25*time.Millisecond)); made > 3 {
		t.Errorf("made %d frames in 25 ms at 100 a second", made)
	}
}

// TestMinGap wants 7/8 of a gap, 15/16 of a short one, and less with more arrears.
func TestMinGap(t *testing.T) {
	for _, c := range []struct{ gap, arrears, want uint64 }{
		{1_000_000, 0, 875_000}, {16_000, 0, 15_000}, {10_000, 0, 9_375},
		{1_000_000, 5_000_000, 466_666}, {16_000, 5_000_000, 7_741},
	} {
		if got := minGap(c.gap, c.arrears); got != c.want {
			t.Errorf("gap %d with arrears of %d: %d, want %d", c.gap, c.arrears, got, c.want)
		}
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
