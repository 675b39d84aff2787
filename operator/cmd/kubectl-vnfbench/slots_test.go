package main

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/report"
)

// TestSlots checks the lines of slots: what is due, sent, received and lost, the percentiles, and what an older measurer did not keep.
func TestSlots(t *testing.T) {
	slots := func(file string, want int) string {
		t.Helper()
		var out bytes.Buffer
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}
		command := newCommand(streams)
		command.SetArgs([]string{"distribution", file, "--load", "idle", "--slots"})
		if code := execute(t.Context(), command, streams); code != want {
			t.Errorf("exit code %d, want %d: %s", code, want, &out)
		}
		return out.String()
	}
	if got := slots(writeDocument(t, func(*report.Document) {}), exitError); !strings.Contains(got, "no trial that counts") {
		t.Errorf("without slots it prints %q", got)
	}
	text := slots(writeDocument(t, func(d *report.Document) {
		for i := range d.Trials {
			s := &measure.Series{SlotNanoseconds: 1e8}
			s.Add(measure.Slot{DueFrames: 100, SentFrames: 100, ReceivedFrames: 100, DelaySum: 900, MaxNanoseconds: 30, Delays: []measure.DelayCount{{Nanoseconds: 8, Frames: 90}, {Nanoseconds: 25, Frames: 10}}})
			s.Add(measure.Slot{DueFrames: 100, SentFrames: 80, ReceivedFrames: 70, DelaySum: 700, MaxNanoseconds: 20, Delays: []measure.DelayCount{{Nanoseconds: 10, Frames: 70}}})
			d.Trials[i].Outcome.Directions[0].Series = s
			older := *s
			older.LostFrames, older.P50Nanoseconds, older.P99Nanoseconds = nil, nil, nil
			d.Trials[i].Outcome.Directions[1].Series = &older
		}
	}), exitSucceeded)
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(lines) < 5 || (len(lines)-1)%4 != 0 {
		t.Fatalf("got %q, %v", lines, err)
	}
	for n, want := range [][]string{
		{"1", "0", "100", "100", "100", "100", "0", "9", "8", "25", "30"}, {"2", "100", "100", "100", "80", "70", "10", "10", "10", "10", "20"},
		{"1", "0", "100", "100", "", "100", "", "9", "", "", "30"}, {"2", "100", "100", "100", "", "70", "", "10", "", "", "20"},
	} {
		if got := lines[n+1][5:]; !slices.Equal(got, want) || lines[n+1][3] != "idle" {
			t.Errorf("line %d is %q, want %q", n+1, got, want)
		}
	}
}
