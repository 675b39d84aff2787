package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
)

// ErrNoSlots says that no trial that was asked for has slots.
var ErrNoSlots = errors.New("there are no slots")

// slotsHead lists the columns. New columns are added only at the end.
var slotsHead = []string{
	"trial", "stage", "size", "load", "direction", "slot", "startMilliseconds", "slotMilliseconds", "dueFrames", "sentFrames", "receivedFrames", "lostFrames",
	"meanNanoseconds", "p50Nanoseconds", "p99Nanoseconds", "maxNanoseconds",
}

// WriteSlots writes what happened within the trials that count as CSV, slot by slot. What an older measurer did not keep is empty.
func WriteSlots(w io.Writer, doc Document, selection Selection) error {
	if doc.Inputs == nil || len(doc.Trials) == 0 {
		return fmt.Errorf("%w: the document has no trials; write it by kubectl vnfbench export RUN", ErrNoSlots)
	}
	p, err := doc.Inputs.planned()
	if err != nil {
		return err
	}
	out, counts, rows := csv.NewWriter(w), procedure.Counted(p.Instructions, doc.Trials), 0
	// An error stays in the writer until the call of Error.
	_ = out.Write(slotsHead)
	for _, r := range doc.Trials {
		if !counts[r.Index] || !selection.has(r) {
			continue
		}
		for _, d := range r.Outcome.Directions {
			for n := range d.Series.Slots() {
				rows++
				_ = out.Write(append([]string{strconv.Itoa(r.Index), string(r.Stage), r.Trial.Size, r.Load, string(d.Direction)}, slotColumns(d.Series, n)...))
			}
		}
	}
	if rows == 0 {
		return fmt.Errorf("%w: no trial that counts of size %q at load %q has any; those of latency, fixed loads and soaks with driver XDP have, as far as the results have room", ErrNoSlots, selection.Size, selection.Load)
	}
	out.Flush()
	return out.Error()
}

// slotColumns returns the columns of a slot.
func slotColumns(s *measure.Series, n int) []string {
	known := func(value uint64, known bool) string {
		if !known {
			return ""
		}
		return decimal(value)
	}
	milliseconds := func(nanoseconds int64) string { return strconv.FormatFloat(float64(nanoseconds)/1e6, 'f', -1, 64) }
	of := func(list []uint64) string {
		if n >= len(list) {
			return ""
		}
		return decimal(list[n])
	}
	return []string{
		strconv.Itoa(n + 1), milliseconds(int64(n) * s.SlotNanoseconds), milliseconds(s.SlotNanoseconds), decimal(s.Due(n)), known(s.Sent(n)), decimal(s.ReceivedFrames[n]), known(s.Lost(n)),
		of(s.MeanNanoseconds), of(s.P50Nanoseconds), of(s.P99Nanoseconds), of(s.MaxNanoseconds),
	}
}
