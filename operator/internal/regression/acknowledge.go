package regression

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/internal/series"
)

// AcknowledgementKind says what an acknowledgement does.
type AcknowledgementKind string

const (
	// Expected is written before a change is measured, Accepted after it. Both move the baseline to the new level.
	Expected AcknowledgementKind = "Expected"
	Accepted AcknowledgementKind = "Accepted"
	// Fixed says that a revision brings the old level back. It moves nothing: the runs show whether that is true.
	Fixed AcknowledgementKind = "Fixed"
)

// Acknowledgement is what someone says of a change. It is kept in Git.
type Acknowledgement struct {
	Kind AcknowledgementKind `json:"kind"`
	// Experiment, Testbed and Figure select series; an empty one selects all.
	Experiment string `json:"experiment,omitempty"`
	Testbed    string `json:"testbed,omitempty"`
	Figure     string `json:"figure,omitempty"`
	// Revision or Run is where the change is, or that of the fix.
	Revision string `json:"revision,omitempty"`
	Run      string `json:"run,omitempty"`
	// MaximumLossPercent is the largest loss that is Expected or Accepted, 0 for none: then the device may only become better. Without it, each change is.
	MaximumLossPercent *int32 `json:"maximumLossPercent,omitempty"`
	// Note says why.
	Note string `json:"note,omitempty"`
}

const (
	maxAcknowledgementBytes = 1 << 20
	maxAcknowledgements     = 1000
	// maxLossPercent is more than 100: a delay can become many times as long.
	maxLossPercent = 1000
)

// ReadAcknowledgements reads a list of acknowledgements from YAML or JSON.
func ReadAcknowledgements(in io.Reader) ([]Acknowledgement, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxAcknowledgementBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxAcknowledgementBytes {
		return nil, fmt.Errorf("there are more than %d bytes of acknowledgements", maxAcknowledgementBytes)
	}
	var list []Acknowledgement
	if err := yaml.UnmarshalStrict(text, &list); err != nil {
		return nil, err
	}
	if len(list) > maxAcknowledgements {
		return nil, fmt.Errorf("there are %d acknowledgements: give at most %d", len(list), maxAcknowledgements)
	}
	var found []error
	for i, a := range list {
		if err := a.validate(); err != nil {
			found = append(found, fmt.Errorf("acknowledgement %d: %w", i+1, err))
		}
	}
	return list, errors.Join(found...)
}

func (a Acknowledgement) validate() error {
	if !slices.Contains([]AcknowledgementKind{Expected, Accepted, Fixed}, a.Kind) {
		return fmt.Errorf("kind is %q: give Expected, Accepted or Fixed", a.Kind)
	}
	if (a.Revision == "") == (a.Run == "") {
		return errors.New("give either revision or run, where the change is")
	}
	if m := a.MaximumLossPercent; m != nil && (*m < 0 || *m > maxLossPercent) {
		return fmt.Errorf("maximumLossPercent is %d: give 0 to %d", *m, maxLossPercent)
	}
	return nil
}

// selects reports whether an acknowledgement is about a series.
func (a Acknowledgement) selects(k series.Key) bool {
	return cmp.Or(a.Experiment, k.Experiment) == k.Experiment && cmp.Or(a.Testbed, k.Testbed) == k.Testbed && cmp.Or(a.Figure, k.Figure) == k.Figure
}

// names reports whether an acknowledgement names a run or its revision.
func (a Acknowledgement) names(p series.Point) bool {
	return a.Run != "" && a.Run == p.Run || a.Revision != "" && a.Revision == p.Subject.Revision
}

// place is where a change is, as far as it is known: the number of its first run is from first to last, and no more than at, the last run that
// interleaved runs compared.
type place struct {
	first, last, at int
	// lossPartsPerMillion is by how much the device became worse; 0 where it became better.
	lossPartsPerMillion int64
}

// mayBegin reports whether the version whose first run is the given one may have made the change. Its place is uncertain by some runs, but not where
// another version was tested first there, or between.
func (p place) mayBegin(run int, points []series.Point) bool {
	if run < 0 || run < p.first-window || run > min(p.last+window, p.at) {
		return false
	}
	from, to := run+1, p.first
	if run > p.last {
		from, to = p.last, run-1
	}
	for i := from; i <= to; i++ {
		if i == 0 || points[i].Subject != points[i-1].Subject {
			return false
		}
	}
	return true
}

// covers reports whether an acknowledgement is about a loss of that size.
func (a Acknowledgement) covers(p place) bool {
	return a.MaximumLossPercent == nil || p.lossPartsPerMillion <= int64(*a.MaximumLossPercent)*10_000
}

// begins reports whether what an acknowledgement names begins with a run: a revision that comes back does so more than once.
func (a Acknowledgement) begins(run int, points []series.Point) bool {
	return a.names(points[run]) && (run == 0 || !a.names(points[run-1]))
}

// beginningAt returns the first run of what an acknowledgement names that may have made the change; -1 where there is none. Only runs from the given
// one on count.
func (a Acknowledgement) beginningAt(p place, points []series.Point, from int) int {
	for i := max(from, p.first-window, 0); i < len(points) && i <= p.last+window; i++ {
		if a.begins(i, points) && p.mayBegin(i, points) {
			return i
		}
	}
	return -1
}

// acknowledged returns the number of the acknowledgement that moves the baseline to a change, and the first run of what it names; -1 where there is
// none. An acknowledgement of one of the kinds is about one change: taken has the first runs of those that are known.
func acknowledged(k series.Key, p place, points []series.Point, list []Acknowledgement, taken map[int]int, kinds ...AcknowledgementKind) (number, run int) {
	for i, a := range list {
		if !slices.Contains(kinds, a.Kind) || !a.selects(k) || !a.covers(p) {
			continue
		}
		known, isTaken := taken[i]
		if run := a.beginningAt(p, points, known); run >= 0 && (!isTaken || run == known) {
			return i, run
		}
	}
	return -1, -1
}

// saidFixed returns the acknowledgement that says that a change was fixed by a run that was measured after it; nil where there is none.
func saidFixed(k series.Key, c Change, points []series.Point, list []Acknowledgement) *Acknowledgement {
	for i, a := range list {
		if a.Kind != Fixed || !a.selects(k) {
			continue
		}
		for run := c.first + 1; run < len(points); run++ {
			if a.begins(run, points) {
				return &list[i]
			}
		}
	}
	return nil
}
