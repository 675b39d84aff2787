package main

import (
	"math"

	"vnfbench.io/operator/internal/measure"
)

// tried is what a trial at a load found: which share of it is missing, and which load it was. That is the one that was asked
// for, unless it is a share of a rate that is known only after the trial.
type tried struct{ missing, load float64 }

// limits finds the highest load without loss, as a share of what arrives flat out. It prints next to it what at least half of the trials pass, and what
// arrives flat out with a part of the frames timed.
func (b bench) limits(leastOfKind, partly float64) (limit float64, err error) {
	var made []relative
	try := func(share float64) (tried, error) {
		r, err := b.at(share, ringWindow)
		made = append(made, r)
		found := tried{missingOf(r.Outcome), r.share}
		if !r.steady {
			// No load passes while the machine's speed changes.
			found.missing = max(found.missing, nearLoss/2)
		}
		return found, err
	}
	if limit, err = limitBetween(0.2, 1.2, func(share float64) (float64, error) { return b.passes(share, try) }); err != nil {
		return 0, err
	}
	half, err := limitBetween(0.2, limit*limitStep*steadyFlatOut, func(share float64) (float64, error) { return b.halfPass(share, try) })
	if err != nil {
		return 0, err
	}
	limit = max(limit, half)
	slowest, fastest := math.Inf(1), 0.0
	for _, r := range made {
		slowest, fastest = min(slowest, r.flatOut), max(fastest, r.flatOut)
	}
	least, wanted := leastLimitOf(b.name, leastOfKind)
	b.verdict(limit >= least, "limit %.2f of flat out, the higher of right before and right after, %s; half of the trials pass %.2f; flat out %.0f frames/s with all frames timed (%.0f when it was slowest), %.0f with a part timed%s",
		limit, wanted, half, fastest, slowest, partly, unsteady(made))
	return limit, nil
}

// limitBetween finds the highest load that passes between two loads. A trial may have had a little less than the load that was
// asked for, so the limit is the most that a load which passed has reached; 0 for one that did not pass.
func limitBetween(low, high float64, passes func(load float64) (reached float64, err error)) (limit float64, err error) {
	for high/low > limitStep {
		middle := math.Sqrt(low * high)
		reached, err := passes(middle)
		if err != nil {
			return 0, err
		}
		if reached > 0 {
			low, limit = middle, max(limit, reached)
		} else {
			high = middle
		}
	}
	if limit == 0 {
		limit = low
	}
	return limit, nil
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
func (b bench) passes(load float64, try func(load float64) (tried, error)) (reached float64, err error) {
	least := 1.0
	for n := 0; moreTrials(n, b.rounds, least); n++ {
		found, err := try(load)
		if err != nil {
			return 0, err
		}
		if least = min(least, found.missing); least == 0 {
			return found.load, nil
		}
	}
	return 0, nil
}

// halfPass lets a load pass if at least half of the trials pass, and returns the lowest load of them.
func (b bench) halfPass(load float64, try func(load float64) (tried, error)) (reached float64, err error) {
	reached = math.Inf(1)
	passed, err := halfOf(b.rounds, func() (bool, error) {
		found, err := try(load)
		if found.missing == 0 {
			reached = min(reached, found.load)
		}
		return found.missing == 0, err
	})
	if err != nil || !passed {
		return 0, err
	}
	return reached, nil
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

// try measures a load once.
func (b bench) try(framesPerSecond float64) (tried, error) {
	o, err := b.trial(framesPerSecond)
	return tried{missingOf(o), framesPerSecond}, err
}

// missingOf returns which share of a load is missing in a trial.
func missingOf(o measure.Outcome) float64 { return o.LossRatio() + o.UnsentRatio() }

// moreTrials returns whether a load gets another trial, by how many it had and the least that was missing in one.
func moreTrials(had, rounds int, least float64) bool {
	return had < rounds || had < nearRounds*rounds && least < nearLoss
}
