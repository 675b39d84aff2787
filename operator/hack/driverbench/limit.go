package main

import (
	"math"

	"vnfbench.io/operator/internal/measure"
)

// limits finds the highest load without loss, as a share of what arrives flat out. It prints next to it what at least half of the trials pass, and what
// arrives flat out with a part of the frames timed.
func (b bench) limits(least, partly float64) (limit float64, err error) {
	var made []relative
	missing := func(share float64) (float64, error) {
		r, err := b.at(share, ringWindow)
		made = append(made, r)
		if missing := missingOf(r.Outcome); r.steady {
			return missing, err
		} else {
			// No load passes while the machine's speed changes.
			return max(missing, nearLoss/2), err
		}
	}
	if limit, err = b.limitBetween(0.2, 1.2, func(share float64) (bool, error) { return b.passes(share, missing) }); err != nil {
		return 0, err
	}
	half, err := b.limitBetween(0.2, limit*limitStep, func(share float64) (bool, error) { return b.halfPass(share, missing) })
	if err != nil {
		return 0, err
	}
	slowest, fastest := math.Inf(1), 0.0
	for _, r := range made {
		slowest, fastest = min(slowest, r.flatOut), max(fastest, r.flatOut)
	}
	b.verdict(limit >= least, "limit %.2f of flat out right before and after, want %.2f at least; half of the trials pass %.2f; flat out %.0f frames/s with all frames timed (%.0f when it was slowest), %.0f with a part timed%s",
		limit, least, half, fastest, slowest, partly, unsteady(made))
	return limit, nil
}

// limitBetween finds the highest load that passes between two loads.
func (b bench) limitBetween(low, high float64, passes func(load float64) (bool, error)) (float64, error) {
	for high/low > limitStep {
		middle := math.Sqrt(low * high)
		passed, err := passes(middle)
		if err != nil {
			return 0, err
		}
		if passed {
			low = middle
		} else {
			high = middle
		}
	}
	return low, nil
}

// flatOut returns the least and the most that arrives flat out in several trials. Both differ much where other machines share the processor.
func (b bench) flatOut() (least, most float64, err error) {
	least = math.Inf(1)
	for range b.rounds {
		o, err := b.trial(0)
		if err != nil {
			return 0, 0, err
		}
		least, most = min(least, o.ForwardingFramesPerSecond()), max(most, o.ForwardingFramesPerSecond())
	}
	return least, most, nil
}

// passes lets a load pass if any of the trials passes: other work only makes a device worse. A load that
// lost little may be below the limit, so it gets more trials than one that is clearly above.
func (b bench) passes(load float64, missing func(load float64) (float64, error)) (bool, error) {
	least := 1.0
	for n := 0; moreTrials(n, b.rounds, least); n++ {
		share, err := missing(load)
		if err != nil {
			return false, err
		}
		if least = min(least, share); least == 0 {
			return true, nil
		}
	}
	return false, nil
}

// halfPass lets a load pass if at least half of the trials pass.
func (b bench) halfPass(load float64, missing func(load float64) (float64, error)) (bool, error) {
	return halfOf(b.rounds, func() (bool, error) {
		share, err := missing(load)
		return share == 0, err
	})
}

// halfOf returns whether at least half of the trials pass. It makes no more of them than decide that.
func halfOf(rounds int, trial func() (bool, error)) (bool, error) {
	passed, failed := 0, 0
	for 2*passed < rounds && 2*failed <= rounds {
		ok, err := trial()
		if err != nil {
			return false, err
		}
		if ok {
			passed++
		} else {
			failed++
		}
	}
	return 2*passed >= rounds, nil
}

// missing returns which share of a load is missing in a trial.
func (b bench) missing(framesPerSecond float64) (float64, error) {
	o, err := b.trial(framesPerSecond)
	return missingOf(o), err
}

func missingOf(o measure.Outcome) float64 { return o.LossRatio() + o.UnsentRatio() }

// moreTrials returns whether a load gets another trial, by how many it had and the least that was missing in one.
func moreTrials(had, rounds int, least float64) bool {
	return had < rounds || had < nearRounds*rounds && least < nearLoss
}
