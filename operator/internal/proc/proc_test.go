package proc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func read(t *testing.T, text string) (Times, map[int]Times, error) {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "proc/stat"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	fs, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return ReadCPUs(fs)
}

// TestReadCPUs checks that no guest is counted twice, and a CPU that is offline is in the sum alone.
func TestReadCPUs(t *testing.T) {
	total, online, err := read(t, `cpu  2715 17782 6996 80250 452 3 75 43 1005 6
cpu0 1065 9055 3248 40718 38 1 11 21 2 3
cpu3 1650 8727 3748 39532 414 2 64 22 1700 3
intr 1 2 3
ctxt 99
softirq 45 1 2 3 4 5 6 7 8 9 0
`)
	if err != nil {
		t.Fatal(err)
	}
	wantTotal := Times{
		User: 17_100 * time.Millisecond, Nice: 177_760 * time.Millisecond, System: 69_960 * time.Millisecond, Idle: 802_500 * time.Millisecond,
		IOWait: 4520 * time.Millisecond, IRQ: 30 * time.Millisecond, Softirq: 750 * time.Millisecond, Steal: 430 * time.Millisecond,
		Guest: 10_110 * time.Millisecond,
	}
	if diff := cmp.Diff(wantTotal, total); diff != "" {
		t.Errorf("sum (-want +got):\n%s", diff)
	}
	want := map[int]Times{
		0: {
			User: 10_630 * time.Millisecond, Nice: 90_520 * time.Millisecond, System: 32_480 * time.Millisecond, Idle: 407_180 * time.Millisecond,
			IOWait: 380 * time.Millisecond, IRQ: 10 * time.Millisecond, Softirq: 110 * time.Millisecond, Steal: 210 * time.Millisecond,
			Guest: 50 * time.Millisecond,
		},
		// The guest's counter is ahead of the user's.
		3: {
			Nice: 87_240 * time.Millisecond, System: 37_480 * time.Millisecond, Idle: 395_320 * time.Millisecond, IOWait: 4140 * time.Millisecond,
			IRQ: 20 * time.Millisecond, Softirq: 640 * time.Millisecond, Steal: 220 * time.Millisecond, Guest: 17_030 * time.Millisecond,
		},
	}
	if diff := cmp.Diff(want, online); diff != "" {
		t.Errorf("CPUs (-want +got):\n%s", diff)
	}
}

// TestTicksAreWhole checks that no tick is lost on the way through procfs's seconds.
func TestTicksAreWhole(t *testing.T) {
	for _, ticks := range []int64{0, 1, 7, 29, 57, 58, 115, 1001, 4503, 123_456_789, 31_536_000_000, 1<<40 + 1} {
		for n := ticks; n < ticks+200; n++ {
			if got := duration(float64(n) / 100); got != time.Duration(n)*Tick {
				t.Fatalf("%d ticks became %v", n, got)
			}
		}
	}
}

func TestReadCPUsErrors(t *testing.T) {
	for name, text := range map[string]string{
		"empty":         "",
		"only the sum":  "cpu 1 2 3 4 5 6 7 8 9 10\n",
		"no sum":        "cpu0 1 2 3 4 5 6 7 8 9 10\n",
		"not a number":  "cpu0 1 2 3 x 5 6 7 8 9 10\n",
		"not a counter": "cpux 1 2 3 4 5 6 7 8 9 10\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, got, err := read(t, text); err == nil || !strings.Contains(err.Error(), "processor times") {
				t.Errorf("got %+v, %v, want an error", got, err)
			}
		})
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a root without /proc was opened")
	}
}

func TestThisMachine(t *testing.T) {
	fs, err := Open("/")
	if err != nil {
		t.Fatal(err)
	}
	total, online, err := ReadCPUs(fs)
	if err != nil || total.Idle == 0 || len(online) == 0 {
		t.Errorf("got %+v of %d CPUs, %v", total, len(online), err)
	}
}

func BenchmarkReadCPUs(b *testing.B) {
	fs, err := Open("/")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := ReadCPUs(fs); err != nil {
			b.Fatal(err)
		}
	}
}
