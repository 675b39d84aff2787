package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/regression"
)

// The shapes of noise.
const (
	gaussian       = "Gaussian"
	heavyTails     = "heavy tails"
	twoBands       = "two bands"
	stickyBands    = "sticky bands"
	drifting       = "drift"
	autocorrelated = "autocorrelated"
	outliers       = "outliers"
	kernel         = "kernel step"
	// busy is other work on the core that sends, as much as a lab with two cores has.
	busy = "busy core"
)

var shapes = []string{gaussian, heavyTails, twoBands, stickyBands, drifting, autocorrelated, outliers, kernel, busy}

// Parameters of the shapes. All sizes are relative.
const (
	// withinDeviation is between the repeats of one deployment, of which there are repeats.
	withinDeviation = 0.0025
	repeats         = 5
	// bandGap is between two bands. Sticky ones change with a boot, once in stickyRuns runs.
	bandGap    = 0.015
	stickyRuns = 25
	// driftSize is the fall in driftRuns runs.
	driftSize, driftRuns = 0.02, 100
	// correlation is that of one run and the next.
	correlation  = 0.6
	outlierShare = 0.01
	outlierDepth = 0.1
	kernelStep   = -0.03
	// Other work has the core for leastHeld to mostHeld of the time of a deployment, and for moreHeld more from the run on at which the kernel changes elsewhere. A
	// device loses heldCost times that, because its caches are cold afterwards.
	leastHeld, mostHeld, moreHeld = 0.007, 0.015, 0.005
	heldCost                      = 1.3
)

// bed is a simulated testbed with one series. Values are natural logarithms:
//
//	value(run, repeat) = code(version) + environment(time) + between(deployment) + within(repeat)
//
// All repeats of a deployment share the part between deployments, so repeats do not average it away.
type bed struct {
	shape     string
	deviation float64
	random    *rand.Rand
	// code is the level of each run's version, environment that of the testbed at each run, boot counts its boots.
	code, environment []float64
	boot              []int
	values            []float64
	pairs             map[regression.Question][]regression.Pair
	// legs is how many interleaved runs were made.
	legs int
	// held is the share of the time for which other work had the core of the last deployment.
	held float64
}

// newBed draws a series of some runs. The code changes by a size in ramp equal steps from run changeAt on; a size of 0 is none. The
// kernel changes at run kernelAt.
func newBed(shape string, deviation float64, seed, number uint64, runs, changeAt, ramp, kernelAt int, size float64) *bed {
	b := &bed{
		shape: shape, deviation: deviation, random: rand.New(rand.NewPCG(seed, number)),
		code: make([]float64, runs), environment: make([]float64, runs), boot: make([]int, runs), values: make([]float64, runs),
		pairs: map[regression.Question][]regression.Pair{},
	}
	for i := range runs {
		if i >= changeAt {
			b.code[i] = math.Log1p(size) * min(1, float64(i-changeAt+1)/float64(ramp))
		}
	}
	b.drawEnvironment(kernelAt)
	for i := range runs {
		b.values[i] = b.deploy(b.code[i] + b.environment[i])
	}
	return b
}

func (b *bed) drawEnvironment(kernelAt int) {
	low := b.random.Float64() < 0.5
	last := b.random.NormFloat64() * b.deviation
	boots := 0
	for i := range b.environment {
		switch b.shape {
		case drifting:
			b.environment[i] = -driftSize * float64(i) / driftRuns
		case autocorrelated:
			if i > 0 {
				last = correlation*last + math.Sqrt(1-correlation*correlation)*b.random.NormFloat64()*b.deviation
			}
			b.environment[i] = last
		case stickyBands:
			if i > 0 && b.random.Float64() < 1.0/stickyRuns {
				boots++
				low = b.random.Float64() < 0.5
			}
			if low {
				b.environment[i] = -bandGap
			}
		case kernel:
			if i >= kernelAt {
				boots, b.environment[i] = 1, math.Log1p(kernelStep)
			}
		case busy:
			if i >= kernelAt {
				b.environment[i] = math.Log1p(-heldCost * moreHeld)
			}
		}
		b.boot[i] = boots
	}
}

// deploy returns the value of a new deployment at a level: the median of its repeats.
func (b *bed) deploy(level float64) float64 {
	between := b.deviation * b.random.NormFloat64()
	switch b.shape {
	case heavyTails:
		// Student's t with 3 degrees of freedom, of the same deviation.
		square := 0.0
		for range 3 {
			n := b.random.NormFloat64()
			square += n * n
		}
		between /= math.Sqrt(square)
	case autocorrelated:
		between /= 2
	case twoBands:
		if b.random.Float64() < 0.5 {
			between -= bandGap
		}
	case busy:
		b.held = leastHeld + (mostHeld-leastHeld)*b.random.Float64()
		between += math.Log1p(-heldCost * b.held)
	case outliers:
		if b.random.Float64() < outlierShare {
			between += math.Log1p(-outlierDepth)
		}
	}
	var values [repeats]float64
	for i := range values {
		values[i] = level + between + withinDeviation*b.random.NormFloat64()
	}
	slices.Sort(values[:])
	return stat.Quantile(0.5, stat.Empirical, values[:], nil)
}

// Pairs implements regression.Legs: it deploys old and new by turns, in the environment of the question's run.
func (b *bed) Pairs(q regression.Question, count int) []regression.Pair {
	pairs := b.pairs[q]
	leg := func(version int) regression.Leg {
		b.legs++
		value := b.deploy(b.code[version] + b.environment[q.At])
		return regression.Leg{Value: value, Calibration: math.NaN(), Held: -math.Log1p(-measure.ExplainedTimes * b.held)}
	}
	for len(pairs) < count {
		var p regression.Pair
		if len(pairs)%2 == 0 {
			p.Old = leg(q.Old)
			p.New = leg(q.New)
		} else {
			p.New = leg(q.New)
			p.Old = leg(q.Old)
		}
		pairs = append(pairs, p)
	}
	b.pairs[q] = pairs
	return pairs[:count]
}

// runs returns the series. With known, a run says on which boot it was made.
func (b *bed) runs(known bool) []regression.Run {
	out := make([]regression.Run, len(b.values))
	for i, v := range b.values {
		out[i] = regression.Run{Value: v, Calibration: math.NaN()}
		if known {
			out[i].Platform = string(rune('a' + b.boot[i]))
		}
	}
	return out
}
