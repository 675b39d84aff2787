package regression

import (
	"maps"
	"math"
	"math/rand/v2"
	"testing"
)

// bed simulates a series: a level for each run, a deviation, and legs that are drawn on request.
type bed struct {
	random    *rand.Rand
	deviation float64
	// levels are those of the versions, environment what is added at each run.
	levels, environment []float64
	runs                []Run
	pairs               map[Question][]Pair
	// answers limits the pairs of a question; below 0 all are made.
	answers int
	// calibration is that of the legs of each side.
	oldCalibration, newCalibration float64
	// held is the share of the time for which other work has the core that sends while each side is measured.
	oldHeld, newHeld float64
}

func newBed(seed uint64, deviation float64, runs int) *bed {
	return &bed{
		random: rand.New(rand.NewPCG(seed, 1)), deviation: deviation, levels: make([]float64, runs), environment: make([]float64, runs),
		pairs: map[Question][]Pair{}, answers: -1, oldCalibration: math.NaN(), newCalibration: math.NaN(),
	}
}

// step moves the levels from a run on.
func (b *bed) step(from int, size float64) *bed {
	for i := from; i < len(b.levels); i++ {
		b.levels[i] += size
	}
	return b
}

// move moves the environment from a run on.
func (b *bed) move(from int, size float64) *bed {
	for i := from; i < len(b.environment); i++ {
		b.environment[i] += size
	}
	return b
}

// draw makes the runs.
func (b *bed) draw() *bed {
	for i := range b.levels {
		b.runs = append(b.runs, Run{Value: b.deploy(i, i), Calibration: math.NaN()})
	}
	return b
}

func (b *bed) deploy(version, at int) float64 {
	return b.levels[version] + b.environment[at] + b.deviation*b.random.NormFloat64()
}

func (b *bed) Pairs(q Question, count int) []Pair {
	if b.answers >= 0 {
		count = min(count, b.answers)
	}
	for len(b.pairs[q]) < count {
		b.pairs[q] = append(b.pairs[q], Pair{
			Leg{b.deploy(q.Old, q.At), b.oldCalibration, -math.Log1p(-2 * b.oldHeld)}, Leg{b.deploy(q.New, q.At), b.newCalibration, -math.Log1p(-2 * b.newHeld)},
		})
	}
	return b.pairs[q][:count]
}

func (b *bed) walk() []Event { return Walk(Default(), b.runs, b) }

// those returns the events of some kinds.
func those(events []Event, kinds ...Kind) (out []Event) {
	for _, e := range events {
		for _, kind := range kinds {
			if e.Kind == kind {
				out = append(out, e)
			}
		}
	}
	return out
}

func TestQuietSeriesHaveNoChange(t *testing.T) {
	for seed := range uint64(20) {
		if got := those(newBed(seed, 0.004, 100).draw().walk(), Regression, Improvement, Minor); len(got) > 0 {
			t.Errorf("seed %d: %+v", seed, got)
		}
	}
}

func TestAStepIsOneChange(t *testing.T) {
	for name, test := range map[string]struct {
		size float64
		kind Kind
	}{"a fall": {-0.03, Regression}, "a rise": {0.03, Improvement}, "a large fall": {-0.3, Regression}} {
		for seed := range uint64(20) {
			got := those(newBed(seed, 0.004, 100).step(60, test.size).draw().walk(), Regression, Improvement)
			if len(got) != 1 || got[0].Kind != test.kind || got[0].At < 60 || got[0].At > 62 || got[0].First < 59 || got[0].First > 61 {
				t.Errorf("%s, seed %d: %+v", name, seed, got)
				continue
			}
			if got[0].Low > test.size || got[0].High < test.size {
				t.Errorf("%s, seed %d: %v is not in %v to %v", name, seed, test.size, got[0].Low, got[0].High)
			}
		}
	}
}

// TestAnEnvironmentThatMovesIsNoChange checks a testbed that becomes slower without a change of the device.
func TestAnEnvironmentThatMovesIsNoChange(t *testing.T) {
	for seed := range uint64(20) {
		events := newBed(seed, 0.004, 100).move(60, -0.03).draw().walk()
		if got := those(events, Regression, Improvement); len(got) > 0 {
			t.Errorf("seed %d: %+v", seed, got)
		}
		if got := those(events, Shift); len(got) != 1 || math.Abs(got[0].Size+0.03) > 0.01 {
			t.Errorf("seed %d: the shift is %+v", seed, got)
		}
	}
}

func TestSmallStepsAddUp(t *testing.T) {
	found := 0
	for seed := range uint64(20) {
		b := newBed(seed, 0.0025, 95)
		for i := 60; i < 80; i++ {
			b.step(i, -0.001)
		}
		if len(those(b.draw().walk(), Regression)) > 0 {
			found++
		}
	}
	if found < 18 {
		t.Errorf("a loss of 2 %% in 20 steps is found in %d of 20 series", found)
	}
}

func TestARecordedPlatformChange(t *testing.T) {
	for name, test := range map[string]struct {
		code    float64
		answers int
		want    Kind
	}{
		"the kernel alone":         {0, -1, Same},
		"the kernel and the code":  {-0.03, -1, Regression},
		"no legs connect the two":  {-0.03, 0, Break},
		"legs are not enough yet":  {-0.03, 2, Break},
		"the code became faster":   {0.03, -1, Improvement},
		"the code hides the other": {0.02, -1, Improvement},
	} {
		for seed := range uint64(10) {
			b := newBed(seed, 0.003, 66).step(60, test.code).move(60, -0.02).draw()
			b.answers = test.answers
			for i := range b.runs {
				b.runs[i].Platform = map[bool]string{true: "old", false: "new"}[i < 60]
			}
			var got []Event
			for _, e := range b.walk() {
				if e.At == 60 && e.Cause == PlatformChanged && e.Kind != Shift {
					got = append(got, e)
				}
			}
			if len(got) != 1 || got[0].Kind != test.want {
				t.Errorf("%s, seed %d: %+v, want %s", name, seed, got, test.want)
			}
		}
	}
}

// TestAGeneratorThatMoved checks that a generator's loss is not the device's, with legs and without.
func TestAGeneratorThatMoved(t *testing.T) {
	for name, answers := range map[string]int{"with legs": -1, "without": 0} {
		b := newBed(1, 0.003, 80).move(60, -0.05).draw()
		b.answers = answers
		for i := range b.runs {
			b.runs[i].Calibration = 16 + b.environment[i]
		}
		events := b.walk()
		if got := those(events, Regression, Improvement); len(got) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
		moved := 0
		for _, e := range events {
			if e.Cause == GeneratorMoved {
				moved++
			}
		}
		if moved == 0 {
			t.Errorf("%s: no event names the generator: %+v", name, events)
		}
	}
	// A generator that differs between the two sides of the legs decides nothing.
	b := newBed(1, 0.003, 80).step(60, -0.05).draw()
	b.oldCalibration, b.newCalibration = 16, 15.9
	events := b.walk()
	if got := those(events, Regression); len(got) > 0 {
		t.Errorf("the generator differs between the sides: %+v", got)
	}
	if got := those(events, Inconclusive); len(got) == 0 || !got[0].GeneratorDiffers {
		t.Errorf("got %+v", events)
	}
}

func TestASuspicionWithoutLegsStaysOpen(t *testing.T) {
	b := newBed(3, 0.003, 70).step(60, -0.03).draw()
	b.answers = 0
	w := walkThrough(Default(), b.runs, b, chanceLimit{})
	if w.open == nil || w.open.First < 59 || w.open.First > 61 || w.open.At != 69 {
		t.Errorf("open is %+v", w.open)
	}
	// The old level comes back: the question is closed, and no run of the other level is in the baseline as one of many.
	b = newBed(3, 0.003, 80).step(60, -0.03).step(63, 0.03).draw()
	b.answers = 0
	if w := walkThrough(Default(), b.runs, b, chanceLimit{}); w.open != nil {
		t.Errorf("open is %+v", w.open)
	}
}

// TestAQuestionIsGivenUp checks that an open question ends after some runs or at a further fall, and that the next one compares with its runs.
func TestAQuestionIsGivenUp(t *testing.T) {
	for name, test := range map[string]struct{ further, runs int }{"at a further fall": {64, 65}, "after ten runs": {80, 81}} {
		for seed := range uint64(10) {
			b := newBed(seed, 0.003, test.runs).step(60, -0.03).step(test.further, -0.5).draw()
			b.answers = 0
			w := walkThrough(Default(), b.runs, b, chanceLimit{})
			closed := those(w.events, Closed)
			if len(closed) != 1 || closed[0].First < 58 || closed[0].First > 61 {
				t.Errorf("%s, seed %d: closed %+v", name, seed, closed)
			}
			if w.open == nil || w.open.First != test.further || w.open.Old < 60 {
				t.Errorf("%s, seed %d: open is %+v", name, seed, w.open)
			}
		}
	}
	// A new platform does not hide a question.
	b := newBed(1, 0.003, 70).step(60, -0.03).draw()
	b.answers = 0
	for i := range b.runs {
		b.runs[i].Platform = map[bool]string{true: "a", false: "b"}[i < 65]
	}
	if events := b.walk(); len(those(events, Closed)) != 1 || len(those(events, Break)) != 1 {
		t.Errorf("a new platform: %+v", events)
	}
}

// TestMissingAnswers checks, with answers that come for some questions only, that no question is open for long, and that each one that was closed was asked.
func TestMissingAnswers(t *testing.T) {
	for seed := range uint64(100) {
		b := newBed(seed, 0.008, 100).step(30, -0.03).step(35, -0.05).step(60, 0.04).step(80, -0.02).draw()
		for i := range b.runs {
			b.runs[i].Platform = map[bool]string{true: "a", false: "b"}[i < 62]
		}
		w := newWalk(Default(), b.runs, sometimes{b})
		for at := range b.runs {
			w.step(at)
			if w.open != nil && at-w.opened >= unansweredRuns {
				t.Fatalf("seed %d: at run %d a question is open since run %d", seed, at, w.opened)
			}
		}
		for i, e := range w.events {
			if e.Kind == Closed && (i == 0 || w.events[i-1].Kind != Unconfirmed || w.events[i-1].Question != e.Question) {
				t.Errorf("seed %d: %+v was closed after %+v", seed, e, w.events[max(0, i-1)])
			}
		}
	}
}

// TestQuietSeriesWithoutAnswers counts the falls that chance leaves without an answer where none is ever given, in series without a change.
func TestQuietSeriesWithoutAnswers(t *testing.T) {
	for deviation, most := range map[float64]int{0.0025: 0, 0.005: 0, 0.01: 30, 0.02: 90} {
		count := 0
		for seed := range uint64(300) {
			b := newBed(seed, deviation, 100).draw()
			b.answers = 0
			for _, e := range those(b.walk(), Closed) {
				if e.Size <= -Default().alarmSize() {
					count++
					break
				}
			}
		}
		if t.Logf("variation %v: %d of 300 series", deviation, count); count > most {
			t.Errorf("variation %v: %d of 300 series have one, want at most %d", deviation, count, most)
		}
	}
}

// sometimes answers the questions of every third run.
type sometimes struct{ *bed }

func (s sometimes) Pairs(q Question, count int) []Pair {
	if q.At%3 > 0 {
		return nil
	}
	return s.bed.Pairs(q, count)
}

func TestOneOutlierIsNoChange(t *testing.T) {
	for seed := range uint64(10) {
		b := newBed(seed, 0.003, 80).draw()
		b.runs[50].Value -= 0.2
		if got := those(b.walk(), Regression, Improvement, Shift); len(got) > 0 {
			t.Errorf("seed %d: %+v", seed, got)
		}
	}
}

func TestFewRunsSayNothing(t *testing.T) {
	if got := newBed(1, 0.001, 10).step(6, -0.1).draw().walk(); len(got) > 0 {
		t.Errorf("got %+v", got)
	}
}

// TestBasesAreKept checks that a base that is kept is the one that the runs have: it is forgotten where a segment begins or an outlier is found.
func TestBasesAreKept(t *testing.T) {
	for seed := range uint64(20) {
		b := newBed(seed, 0.006, 90).step(40, -0.03).move(65, -0.03).draw()
		for _, at := range []int{20, 21, 33, 55} {
			b.runs[at].Value -= 0.1
		}
		w := newWalk(Default(), b.runs, b)
		compared := 0
		for at := range b.runs {
			w.step(at)
			bases, beginnings := maps.Clone(w.bases), maps.Clone(w.beginnings)
			w.forget()
			for end, kept := range bases {
				if fresh := w.baseline(end); fresh != kept {
					t.Fatalf("seed %d, run %d: the baseline up to run %d is %+v, kept as %+v", seed, at, end, fresh, kept)
				}
			}
			for end, kept := range beginnings {
				if fresh := w.beginning(end); fresh != kept {
					t.Fatalf("seed %d, run %d: the beginning up to run %d is %+v, kept as %+v", seed, at, end, fresh, kept)
				}
			}
			compared += len(bases)
		}
		if compared < 100 {
			t.Errorf("seed %d: %d bases are compared", seed, compared)
		}
	}
	w := newWalk(Default(), newBed(1, 0.005, 40).draw().runs, nil)
	before, beginning := w.baseline(19), w.beginning(19)
	w.leaveOut(19)
	if got := w.baseline(19); got.count != before.count-1 {
		t.Errorf("the baseline has %d values with an outlier, and had %d without", got.count, before.count)
	}
	if got := w.beginning(19); got.count != beginning.count-1 {
		t.Errorf("the beginning has %d values with an outlier, and had %d without", got.count, beginning.count)
	}
}
