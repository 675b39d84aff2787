package v1alpha1_test

import (
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestRepeatScopeIsAdmitted checks that every measurement that is repeated can have a deployment for each repeat.
func TestRepeatScopeIsAdmitted(t *testing.T) {
	for _, measurements := range []string{
		"{profile: Quick, repeats: 2, repeatScope: Chain}",
		"{throughput: {}, repeats: 20, repeatScope: Chain, order: Random, soak: {size: '64', framesPerSecond: 5, durationSeconds: 60, intervalSeconds: 10}}",
		"{latency: {loads: [{name: a, framesPerSecond: 5}]}, repeats: 2, repeatScope: Chain}",
		"{tcp: {}, repeats: 2, repeatScope: Chain}",
		"{throughput: {}, repeatScope: Trials}",
	} {
		if err := measuring(t, measurements, ""); err != nil {
			t.Errorf("%s: %v", measurements, err)
		}
	}
	if err := create(object(t, goodRun, map[string]string{
		"spec.experiment.noisyNeighbors": "[{name: a, kind: CPU}]",
		"spec.experiment.measurements":   "{throughput: {}, repeats: 2, repeatScope: Chain, noisyNeighbors: WithAndWithout}",
	})); err != nil {
		t.Error(err)
	}
}

// TestSameScope checks that runs whose repeats mean something else do not compare.
func TestSameScope(t *testing.T) {
	of := func(scope v1alpha1.RepeatScope) v1alpha1.Measurements {
		return v1alpha1.Measurements{Profile: v1alpha1.ProfileQuick, Repeats: 2, RepeatScope: scope}
	}
	if !of("").SameAs(of(v1alpha1.RepeatTrials)) || of("").SameAs(of(v1alpha1.RepeatChain)) {
		t.Error("the default is Trials, and no other scope is the same")
	}
}
