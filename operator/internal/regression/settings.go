// Package regression judges a series: whether the device became worse. The runs of a series and what interleaved runs of
// an old and a new version measured go in, events and a verdict come out. A history alone never raises an alarm: it raises a
// suspicion, which asks for interleaved runs of both versions on the same testbed, and their difference decides. The
// package is pure: the same points give the same verdicts, so that every verdict can be worked out again.
package regression

import (
	"errors"
	"fmt"
)

// Settings say which changes count and how sure a verdict is. Shares are of the value: 0.02 is 2 %. Levels are
// quantiles of the normal distribution, and are used with Student's t of as many degrees of freedom as the values have.
type Settings struct {
	// Effect is the change that must be found. A change of less than half of it raises no alarm.
	Effect float64
	// MaxPairs bounds the pairs of interleaved runs that one question takes.
	MaxPairs int
	// MinRuns is how many runs of a segment the newest ones are compared with. A verdict takes three runs more.
	MinRuns int
	// FalseDiscoveryRate is the share of changes in a family of figures that may be chance.
	FalseDiscoveryRate float64
}

// Default returns the settings that docs/methodology/regression.md describes.
func Default() Settings {
	return Settings{Effect: 0.02, MaxPairs: 48, MinRuns: 8, FalseDiscoveryRate: 0.05}
}

// Bounds of settings.
const (
	minEffect, maxEffect = 0.001, 0.5
	minPairs, maxPairs   = 3, 200
	minRuns, maxRuns     = 5, longest
)

// Validate returns an error that names each setting that is outside of its bounds.
func (s Settings) Validate() error {
	var found []error
	if !(s.Effect >= minEffect && s.Effect <= maxEffect) {
		found = append(found, fmt.Errorf("the effect is %g %%: give %g to %g %%", 100*s.Effect, 100*minEffect, 100*maxEffect))
	}
	if s.MaxPairs < minPairs || s.MaxPairs > maxPairs {
		found = append(found, fmt.Errorf("the maximum number of pairs is %d: give %d to %d", s.MaxPairs, minPairs, maxPairs))
	}
	if s.MinRuns < minRuns || s.MinRuns > maxRuns {
		found = append(found, fmt.Errorf("the minimum number of runs is %d: give %d to %d", s.MinRuns, minRuns, maxRuns))
	}
	if !(s.FalseDiscoveryRate > 0 && s.FalseDiscoveryRate <= 0.5) {
		found = append(found, fmt.Errorf("the false discovery rate is %g: give more than 0, and at most 0.5", s.FalseDiscoveryRate))
	}
	return errors.Join(found...)
}

// alarmSize is the least change that raises an alarm.
func (s Settings) alarmSize() float64 { return s.Effect / 2 }

// The constants of the method. Each was chosen by what `make bench-regression` prints.
const (
	// window is the number of runs within which a change must be found.
	window = 3
	// longest is how many runs a baseline has at most.
	longest = 30
	// resolution is the least deviation of one run, whatever a history shows.
	resolution = 5e-4
	// priorDeviation is the deviation that is assumed before a series shows its own, and counts for priorDegrees.
	priorDeviation, priorDegrees = 0.005, 2

	// A fall is suspicious beyond a limit that leaves a change of the effect unnoticed with missLevel, at most
	// highLimit, which is singleLimit for one run alone. A window of fewer runs has at least shortLimit: waiting for all
	// runs is better than asking about each. For a rise and a longer window the limit is riseLimit and lateLimit.
	missLevel   = 2.2
	shortLimit  = 2.0
	highLimit   = 3.0
	singleLimit = 3.2
	riseLimit   = 3.5
	lateLimit   = 4.0
	// halfShare of the effect is the least change that is suspicious. Where a change of the effect could look smaller through noise, a smaller
	// fall is, but none below lowShare.
	halfShare, lowShare = 0.5, 0.15
	// recentRuns before the suspicious ones say what these would be without a change, as far as runs resemble each other.
	recentRuns = 2
	// backLimit is within how many standard errors of the base suspicious runs are back.
	backLimit = 0.5

	// slowRuns are compared with the beginning of a segment; after an answer there is a rest of slowRest runs.
	slowRuns, slowRest = 6, 10

	// changeLevel is how sure it is that there is a change, sameLevel that there is none of the effect, and sureLevel
	// the same where no later run raises the question again.
	changeLevel = 4.0
	sameLevel   = 2.5
	sureLevel   = 3.0
	// historyDegrees is what the deviation of a history counts for at most, next to that of the interleaved runs. It is left
	// out where they are noisier with the probability noisier.
	historyDegrees = 8
	noisier        = 0.01
	// legOutlier is how many deviations a leg may be from the median of its side; more than one pair in outlierPairs that
	// has such a leg is no accident.
	legOutlier, outlierPairs = 5.0, 6

	// runOutlier is the same for the runs of a history.
	runOutlier = 4.5
	// movedLevel and movedShare of the effect are how far the old version is from its own history when the environment has moved.
	movedLevel, movedShare = 3.5, 0.25
	// excursion is how many deviations of a run the environment may be off for a while. Beyond it, or when it is off excursionTimes in a
	// row with at most excursionRuns between, the series has another level. It is wideExcursion where legs vary less than calmLegs of what
	// runs do.
	excursion, wideExcursion, calmLegs = 2.2, 3.5, 0.7
	excursionTimes, excursionRuns      = 4, 4
	// placeLimit is by how much the doubled logarithm of the likelihood of a place is below that of the best one at most, where the runs do not tell
	// both apart: the 95 % point of chi-squared with one degree of freedom.
	placeLimit = 3.84
	// nearRuns before a question say whether the environment moved suddenly.
	nearRuns = 5
	// unansweredRuns is how many runs an open question waits for an answer while all runs are asked with it.
	unansweredRuns = 10
	// floorRuns are the last runs of which most must be floors, so that a floor is the level of the device.
	floorRuns = 8
	// floorLimit is how many standard errors values are below a floor that count as a fall from it.
	floorLimit = 3.5
	// openingRuns is how many legs are enough to begin a segment.
	openingRuns = 5
	// minDifferences is how many pairs it takes to see that there is a change.
	minDifferences = 3
)

// lateWindows are the longer windows.
var lateWindows = []int{6, 10}

// looks are the numbers of pairs after which the interleaved runs are judged.
var looks = []int{2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 200}
