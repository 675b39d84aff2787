package main

import (
	"math"
	"time"
)

// limits finds the highest load without loss, and compares it with what arrives flat out: the best with the best. It prints next to it
// what at least half of the trials pass.
func (b bench) limits(least, partly float64) (limit float64, err error) {
	slowest, flatOut, err := b.flatOut()
	if err != nil {
		return 0, err
	}
	if limit, err = b.limitBetween(flatOut*0.2, flatOut*1.2, b.passes); err != nil {
		return 0, err
	}
	half, err := b.limitBetween(flatOut*0.2, limit*limitStep, b.halfPass)
	if err != nil {
		return 0, err
	}
	b.verdict(limit/flatOut >= least, "flat out %.0f frames/s with all frames timed (%.0f in the slowest trial), limit %.0f, share %.2f, want %.2f at least; half of the trials pass %.0f, share %.2f; flat out with a part timed %.0f, share %.2f",
		flatOut, slowest, limit, limit/flatOut, least, half, half/flatOut, partly, limit/partly)
	return limit, nil
}

// limitBetween finds the highest load that passes between two loads.
func (b bench) limitBetween(low, high float64, passes func(framesPerSecond float64) (bool, error)) (float64, error) {
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
		time.Sleep(ringPause)
		o, err := b.d.Measure(b.ctx, trialOf(64, 0, ringWindow))
		if err != nil {
			return 0, 0, err
		}
		least, most = min(least, o.ForwardingFramesPerSecond()), max(most, o.ForwardingFramesPerSecond())
	}
	return least, most, nil
}

// passes lets a load pass if any of the trials passes: other work only makes a device worse. A load that
// lost little may be below the limit, so it gets more trials than one that is clearly above.
func (b bench) passes(framesPerSecond float64) (bool, error) {
	least := 1.0
	for n := 0; moreTrials(n, b.rounds, least); n++ {
		missing, err := b.missing(framesPerSecond)
		if err != nil {
			return false, err
		}
		if least = min(least, missing); least == 0 {
			return true, nil
		}
	}
	return false, nil
}

// halfPass lets a load pass if at least half of the trials pass.
func (b bench) halfPass(framesPerSecond float64) (bool, error) {
	return halfOf(b.rounds, func() (bool, error) {
		missing, err := b.missing(framesPerSecond)
		return missing == 0, err
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
	time.Sleep(ringPause)
	o, err := b.d.Measure(b.ctx, trialOf(64, uint64(framesPerSecond), ringWindow))
	return o.LossRatio() + o.UnsentRatio(), err
}

// moreTrials returns whether a load gets another trial, by how many it had and the least that was missing in one.
func moreTrials(had, rounds int, least float64) bool {
	return had < rounds || had < nearRounds*rounds && least < nearLoss
}
