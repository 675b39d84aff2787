// Package series keeps every figure of every run as a point of a series, and reads and writes series as JSON lines and CSV.
// A point that is a floor, irregular or in doubt is kept, and is never a value: Series lists it among those that
// say why they are none. A doubt that is no more than that other work held the core that sends leaves a value with a bound.
package series

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
)

// Key identifies a series.
type Key struct {
	// Namespace is that of the suite. It is empty for points of documents and files to which no one gave one: they are a separate series.
	Namespace string `json:"namespace,omitempty"`
	// Experiment is the digest or the name of what was measured: traffic, measurement, topology and generator.
	Experiment string `json:"experiment"`
	Testbed    string `json:"testbed"`
	// Figure is a metric, followed by what it is of: "ThroughputFramesPerSecond 64 NDR".
	Figure string `json:"figure"`
}

func (k Key) String() string {
	series := k.Experiment + " on " + k.Testbed + ": " + k.Figure
	if k.Namespace != "" {
		return k.Namespace + "/" + series
	}
	return series
}

// bare returns the key without its namespace.
func (k Key) bare() Key {
	k.Namespace = ""
	return k
}

// Subject is what was tested.
type Subject struct {
	Name     string `json:"name,omitempty"`
	Version  string `json:"version,omitempty"`
	Revision string `json:"revision,omitempty"`
	Image    string `json:"image,omitempty"`
}

// String names the subject in a sentence, by its most exact part.
func (s Subject) String() string {
	for _, part := range []string{s.Revision, s.Version, s.Image} {
		if part != "" {
			if s.Name != "" {
				return s.Name + " " + part
			}
			return part
		}
	}
	return s.Name
}

// Side is that of a leg.
type Side string

const (
	Old Side = "Old"
	New Side = "New"
)

// Leg marks a point of an interleaved run, which answers a question about a scheduled run and is no run of the series.
type Leg struct {
	// Run is the scheduled run of the question, Cause the question.
	Run   string `json:"run"`
	Cause string `json:"cause"`
	// OldRun is the run whose version the old side is. It is a part of the question: two figures of one run can be compared with different versions.
	// A leg that was kept before there was this field has none, and answers the question of its run and cause.
	OldRun string `json:"oldRun,omitempty"`
	Side   Side   `json:"side"`
	// Pair counts from 1. A pair has one leg of each side.
	Pair int `json:"pair"`
}

// Point is one figure of one run.
type Point struct {
	Key
	// Time is when the run was measured.
	Time time.Time `json:"time"`
	// Run names the run. Two points of a series have the same one only with different RunUID.
	Run string `json:"run"`
	// RunUID is that of the run's object: a suite that is made again can give a run the name of an earlier one. It is empty where it is not known.
	RunUID string `json:"runUID,omitempty"`
	// Execution names what the run is a part of. Its figures are judged as one family.
	Execution string `json:"execution,omitempty"`
	// Value is in Unit.
	Value int64  `json:"value"`
	Unit  string `json:"unit,omitempty"`
	// LowerIsBetter says which way is worse.
	LowerIsBetter bool `json:"lowerIsBetter,omitempty"`
	// Repeats are the values that Value is formed from.
	Repeats []int64 `json:"repeats,omitempty"`
	// Bound is empty or Exact where Value is what was found, and AtLeast or AtMost where the true one may be beyond it.
	Bound figure.Bound `json:"bound,omitempty"`
	// Cause is why the value is not better, such as the device's loss.
	Cause string `json:"cause,omitempty"`
	// Doubts are why the device's value may be another one, Warnings what else the run says.
	Doubts   []v1alpha1.DoubtCode `json:"doubts,omitempty"`
	Warnings []string             `json:"warnings,omitempty"`
	// UpperBound is the most that the value would be without other work on the core that sends, if that costs at most twice its time
	// (assumed), and Value the least; 0 where it is not known.
	UpperBound int64 `json:"upperBound,omitempty"`
	// CalibrationLevel is what the generator reached without the device, in its own unit; 0 where it is not known.
	CalibrationLevel int64 `json:"calibrationLevel,omitempty"`
	// Platform is the digest of the nodes' fingerprints and of the versions, PlatformParts what it is made of.
	Platform      string            `json:"platform,omitempty"`
	PlatformParts map[string]string `json:"platformParts,omitempty"`
	Subject       Subject           `json:"subject,omitzero"`
	// SubjectTime is when what was tested was made; zero where it is not known.
	SubjectTime time.Time `json:"subjectTime,omitzero"`
	// Deployed is the same for points of runs that deployed the same. It is no part of a stored point: it is empty where the one who judges does not
	// know it.
	Deployed string `json:"-"`
	// Document is where the whole result is.
	Document string `json:"document,omitempty"`
	Leg      *Leg   `json:"leg,omitempty"`
}

// id identifies a point in a store.
func (p Point) id() string {
	return strings.Join([]string{p.Experiment, p.Testbed, p.Figure, p.Run, p.Namespace, p.RunUID}, "\x00")
}

// openDoubts returns the doubts that no bound limits.
func (p Point) openDoubts() []v1alpha1.DoubtCode {
	return slices.DeleteFunc(slices.Clone(p.Doubts), func(code v1alpha1.DoubtCode) bool { return code == v1alpha1.DoubtUnsteadyPacing && p.UpperBound > 0 })
}

// NoValue returns why a point is no value of the device, in words; empty for a value.
func (p Point) NoValue() string {
	switch {
	case p.Bound == figure.AtLeast && !p.LowerIsBetter:
		return "a floor: the device may do better"
	case p.Bound != "" && p.Bound != figure.Exact:
		return "a bound: the device's value may be beyond it"
	case slices.Contains(p.Doubts, v1alpha1.DoubtIrregularResult):
		return "the search was irregular"
	case len(p.openDoubts()) > 0:
		return "in doubt: " + string(p.openDoubts()[0])
	case p.Value <= 0:
		return "0: no share of it can be taken"
	}
	return ""
}

// disturbances are doubts that say what other work did to the generator, and nothing of the device.
var disturbances = []v1alpha1.DoubtCode{
	v1alpha1.DoubtUnsteadyPacing, v1alpha1.DoubtInterruptedTrials, v1alpha1.DoubtPartlyInterrupted, v1alpha1.DoubtSoftirqStarved,
	v1alpha1.DoubtStretchedTrials, v1alpha1.DoubtCalibrationDrift,
}

// isDisturbed reports whether a point would be a value except for disturbances.
func (p Point) isDisturbed() bool {
	if p.NoValue() == "" {
		return false
	}
	p.Doubts = slices.DeleteFunc(slices.Clone(p.Doubts), func(code v1alpha1.DoubtCode) bool { return slices.Contains(disturbances, code) })
	return p.NoValue() == ""
}

// floorDoubts say nothing more than that a figure is a floor, and why.
var floorDoubts = []v1alpha1.DoubtCode{v1alpha1.DoubtLongestBurst, v1alpha1.DoubtMaximumLoad, v1alpha1.DoubtGeneratorCeiling}

// IsFloor reports whether a point is no value, and shows that the device does at least as well as it says.
func (p Point) IsFloor() bool {
	isBound := p.Bound == figure.AtLeast && !p.LowerIsBetter || p.Bound == figure.AtMost && p.LowerIsBetter
	return isBound && p.Value > 0 && !slices.ContainsFunc(p.Doubts, func(code v1alpha1.DoubtCode) bool { return !slices.Contains(floorDoubts, code) })
}

// Bounds of a point's parts. A decoder refuses more before it is stored.
const (
	maxWord       = 512
	maxWords      = 64
	maxRepeats    = 100
	maxPairNumber = 1000
)

var printable = regexp.MustCompile(`^[\P{C}]*$`)

// Validate returns an error that names each field that is missing or outside of its bounds.
func (p Point) Validate() error {
	var found []error
	refuse := func(format string, args ...any) { found = append(found, fmt.Errorf(format, args...)) }
	for _, field := range []struct {
		name, value string
		required    bool
	}{
		{"experiment", p.Experiment, true}, {"testbed", p.Testbed, true}, {"figure", p.Figure, true}, {"run", p.Run, true},
		{"namespace", p.Namespace, false}, {"runUID", p.RunUID, false},
		{"execution", p.Execution, false}, {"unit", p.Unit, false}, {"cause", p.Cause, false}, {"platform", p.Platform, false},
		{"document", p.Document, false}, {"subject.name", p.Subject.Name, false}, {"subject.version", p.Subject.Version, false},
		{"subject.revision", p.Subject.Revision, false}, {"subject.image", p.Subject.Image, false},
	} {
		switch {
		case field.value == "" && field.required:
			refuse("%s is empty: name it", field.name)
		case len(field.value) > maxWord:
			refuse("%s has %d bytes: give at most %d", field.name, len(field.value), maxWord)
		case !printable.MatchString(field.value):
			refuse("%s has control characters: remove them", field.name)
		}
	}
	if p.Time.IsZero() {
		refuse("time is missing: give it as 2026-01-31T12:00:00Z")
	}
	if !slices.Contains([]figure.Bound{"", figure.Exact, figure.AtLeast, figure.AtMost}, p.Bound) {
		refuse("bound is %q: give Exact, AtLeast or AtMost", p.Bound)
	}
	if p.UpperBound != 0 && (p.UpperBound < p.Value || p.LowerIsBetter) {
		refuse("upperBound is %d: give 0 where it is not known, and at least the value where more is better", p.UpperBound)
	}
	if p.CalibrationLevel < 0 {
		refuse("calibrationLevel is %d: give 0 where it is not known", p.CalibrationLevel)
	}
	for _, list := range []struct {
		name     string
		len, max int
	}{{"repeats", len(p.Repeats), maxRepeats}, {"doubts", len(p.Doubts), maxWords}, {"warnings", len(p.Warnings), maxWords}, {"platformParts", len(p.PlatformParts), maxWords}} {
		if list.len > list.max {
			refuse("%s has %d entries: give at most %d", list.name, list.len, list.max)
		}
	}
	if p.Leg != nil {
		found = append(found, p.Leg.Validate())
	}
	return errors.Join(found...)
}

// Validate returns an error that names each field that is not as it must be.
func (l Leg) Validate() error {
	var found []error
	if l.Run == "" || len(l.Run) > maxWord {
		found = append(found, fmt.Errorf("leg.run is %q: name the run that the leg was made for", l.Run))
	}
	if l.Cause == "" || len(l.Cause) > maxWord {
		found = append(found, fmt.Errorf("leg.cause is %q: name the question that the leg answers, such as Step", l.Cause))
	}
	if len(l.OldRun) > maxWord {
		found = append(found, fmt.Errorf("leg.oldRun has %d bytes: give at most %d", len(l.OldRun), maxWord))
	}
	if l.Side != Old && l.Side != New {
		found = append(found, fmt.Errorf("leg.side is %q: give Old or New", l.Side))
	}
	if l.Pair < 1 || l.Pair > maxPairNumber {
		found = append(found, fmt.Errorf("leg.pair is %d: give 1 to %d", l.Pair, maxPairNumber))
	}
	return errors.Join(found...)
}

// LogValue returns the natural logarithm of the value, with its sign changed where less is better, so that a fall is
// always worse. It has no meaning where NoValue says why.
func (p Point) LogValue() float64 {
	if p.LowerIsBetter {
		return -math.Log(float64(p.Value))
	}
	return math.Log(float64(p.Value))
}

// LogHeld returns by how much at most other work on the core that sends has lowered LogValue; 0 where no bound is known.
func (p Point) LogHeld() float64 {
	if p.UpperBound <= 0 || p.Value <= 0 {
		return 0
	}
	return math.Log(float64(p.UpperBound) / float64(p.Value))
}

// LogCalibration returns the logarithm of the generator's level; NaN where it is not known.
func (p Point) LogCalibration() float64 {
	if p.CalibrationLevel <= 0 {
		return math.NaN()
	}
	return math.Log(float64(p.CalibrationLevel))
}
