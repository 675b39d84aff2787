package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

// measuring is a good run with other measurements, and criteria where given.
func measuring(t *testing.T, measurements, acceptance string) error {
	t.Helper()
	fields := map[string]string{"spec.experiment.measurements": measurements}
	if acceptance != "" {
		fields["spec.experiment.acceptance"] = acceptance
	}
	return create(object(t, goodRun, fields))
}

func TestBadMeasurementsAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		measurements, acceptance string
		want                     []string
	}{
		"preset and loads": {"{latency: {preset: CSIT, loads: [{name: a, framesPerSecond: 5}]}}", "",
			[]string{"spec.experiment.measurements.latency", "either preset or loads"}},
		"unknown preset": {"{throughput: {}, latency: {preset: Mine}}", "",
			[]string{"spec.experiment.measurements.latency.preset", "Unsupported value"}},
		"preset without its goal": {"{throughput: {goals: [{name: PDR}]}, latency: {preset: NDR95}}", "",
			[]string{"spec.experiment.measurements.latency", "throughput.goals does not have"}},
		"profile without a rate": {"{fixedLoad: {profiles: [{name: a, size: '64'}]}}", "",
			[]string{"spec.experiment.measurements.fixedLoad.profiles[0]", "either framesPerSecond or layer2BitsPerSecond"}},
		"profile with both rates": {"{fixedLoad: {profiles: [{name: a, size: '64', framesPerSecond: 5, layer2BitsPerSecond: 5000}]}}", "",
			[]string{"spec.experiment.measurements.fixedLoad.profiles[0]", "either framesPerSecond or layer2BitsPerSecond"}},
		"profile of another frame size": {"{fixedLoad: {profiles: [{name: a, size: '256', framesPerSecond: 5}]}}", "",
			[]string{"spec.experiment.measurements.fixedLoad.profiles", "names size 256", "name one that is measured"}},
		"profile named as a load": {"{latency: {loads: [{name: a, framesPerSecond: 5}]}, fixedLoad: {profiles: [{name: a, size: '64', framesPerSecond: 5}]}}", "",
			[]string{"spec.experiment.measurements.fixedLoad.profiles", "name of a latency load"}},
		"profile named as a preset's load": {"{throughput: {}, latency: {}, fixedLoad: {profiles: [{name: pdr50, size: '64', framesPerSecond: 5}]}}", "",
			[]string{"spec.experiment.measurements.fixedLoad.profiles", "name of a latency load"}},
		"no profile":     {"{fixedLoad: {profiles: []}}", "", []string{"spec.experiment.measurements.fixedLoad.profiles", "at least 1 items"}},
		"eleven repeats": {"{fixedLoad: {repeats: 11, profiles: [{name: a, size: '64', framesPerSecond: 5}]}}", "", []string{"repeats", "less than or equal to 10"}},
		"criterion on a profile without its size": {"{fixedLoad: {profiles: [{name: a, size: '64', framesPerSecond: 5}]}}",
			"[{name: c, metric: LossPartsPerMillion, load: a, atMost: 0}]", []string{"spec.experiment.acceptance", "give it the profile's size"}},
		"criterion on no profile": {"{fixedLoad: {profiles: [{name: a, size: '64', framesPerSecond: 5}]}}",
			"[{name: c, metric: LossPartsPerMillion, load: b, size: '64', atMost: 0}]", []string{"spec.experiment.acceptance", "name one that is measured"}},
		"steps of 11 percent": {"{frameLossRate: {stepPercent: 11}}", "", []string{"stepPercent", "less than or equal to 10"}},
		"steps of 1 percent":  {"{frameLossRate: {stepPercent: 1}}", "", []string{"stepPercent", "greater than or equal to 2"}},
		"bursts without a throughput": {"{backToBack: {}, latency: {loads: [{name: a, framesPerSecond: 5}]}}", "",
			[]string{"spec.experiment.measurements.backToBack", "lossPartsPerMillion 0"}},
		"bursts without a goal of no loss": {"{backToBack: {}, throughput: {goals: [{name: PDR, lossPartsPerMillion: 5}]}}", "",
			[]string{"spec.experiment.measurements.backToBack", "lossPartsPerMillion 0"}},
		"one search for bursts": {"{throughput: {}, backToBack: {repeats: 1}}", "", []string{"repeats", "greater than or equal to 2"}},
		"criterion on bursts that are not measured": {"{throughput: {}}", "[{name: c, metric: BackToBackFrames, atLeast: 1}]",
			[]string{"spec.experiment.acceptance", "needs measurements.backToBack"}},
		"criterion on bursts at a load": {"{throughput: {}, latency: {}, backToBack: {}}", "[{name: c, metric: BackToBackFrames, load: idle, atLeast: 1}]",
			[]string{"spec.experiment.acceptance", "forbidden with those"}},
		"21 trials at the maximum": {"{receiveRate: {trials: 21}}", "", []string{"trials", "less than or equal to 20"}},
		"criterion on a receive rate that is not measured": {"{throughput: {}}", "[{name: c, metric: ReceiveRateFramesPerSecond, atLeast: 1}]",
			[]string{"spec.experiment.acceptance", "needs measurements.receiveRate"}},
		"recovery without throughput": {"{recovery: {}, receiveRate: {}}", "", []string{"spec.experiment.measurements.recovery", "add throughput"}},
		"recovery of no goal":         {"{throughput: {}, recovery: {goal: X}}", "", []string{"spec.experiment.measurements.recovery", "name one of throughput.goals"}},
		"recovery of a longer row":    {"{throughput: {}, recovery: {cleanTrials: 9, maximumTrials: 8}}", "", []string{"cleanTrials", "at most maximumTrials"}},
		"recovery of few trials":      {"{throughput: {}, recovery: {maximumTrials: 5}}", "", []string{"recovery.cleanTrials", "(default 10)", "lower cleanTrials"}},
		"recovery alone":              {"{recovery: {}}", "", []string{"spec.experiment.measurements.recovery", "add throughput"}},
		"criterion on no recovery": {"{throughput: {}}", "[{name: c, metric: RecoveryUpperBoundMilliseconds, atMost: 500}]",
			[]string{"spec.experiment.acceptance", "needs measurements.recovery"}},
		"criterion on a recovery that takes long": {"{throughput: {}, recovery: {}}", "[{name: c, metric: RecoveryUpperBoundMilliseconds, atLeast: 500}]",
			[]string{"spec.experiment.acceptance", "use atMost"}},
		"a seed of the spec's order": {"{throughput: {}, order: Declared, seed: 7}", "", []string{"spec.experiment.measurements.seed", "seed goes with order Random"}},
		"another order":              {"{throughput: {}, order: Reverse}", "", []string{"spec.experiment.measurements.order", "Random"}},
		"another scope":              {"{throughput: {}, repeats: 2, repeatScope: Run}", "", []string{"spec.experiment.measurements.repeatScope", "Chain"}},
		"a deployment for each of one repeat": {"{throughput: {}, repeatScope: Chain}", "",
			[]string{"spec.experiment.measurements.repeatScope", "set repeats to 2 or more"}},
		"a deployment for what is not repeated": {"{soak: {size: '64', framesPerSecond: 5}, repeats: 2, repeatScope: Chain}", "",
			[]string{"spec.experiment.measurements.repeatScope", "add throughput"}},
		"soak without a load":           {"{soak: {size: '64'}}", "", []string{"spec.experiment.measurements.soak", "either framesPerSecond or goal"}},
		"soak of another size":          {"{soak: {size: '100', framesPerSecond: 5}}", "", []string{"spec.experiment.measurements.soak.size is 100", "name one that is measured"}},
		"soak of no goal":               {"{throughput: {}, soak: {size: '64', goal: X, percent: 5}}", "", []string{"spec.experiment.measurements.soak.goal", "none of throughput.goals"}},
		"soak of 289 intervals":         {"{soak: {size: '64', framesPerSecond: 5, durationSeconds: 289, intervalSeconds: 1}}", "", []string{"intervalSeconds", "more than 288 intervals"}},
		"soak below an interval":        {"{soak: {size: '64', framesPerSecond: 5, durationSeconds: 9, intervalSeconds: 10}}", "", []string{"intervalSeconds", "at most durationSeconds"}},
		"fixed load as long as the run": {"{fixedLoad: {durationSeconds: 86390, profiles: [{name: a, size: '64', framesPerSecond: 5}]}}", "", []string{"spec.experiment.deadlineSeconds", "durationSeconds and discardSeconds", "raise it"}},
		"soak as long as the run":       {"{soak: {size: '64', framesPerSecond: 5, durationSeconds: 86400}}", "", []string{"spec.experiment.deadlineSeconds", "raise it"}},
		"tagged frames and the trials' length": {"{throughput: {}, latency: {trialMilliseconds: 9000, taggedFrame: {}}}", "",
			[]string{"spec.experiment.measurements.latency.trialMilliseconds", "set taggedFrame.streamMilliseconds"}},
		"tagged frames and repeats": {"{repeats: 2, throughput: {}, latency: {taggedFrame: {}}}", "",
			[]string{"spec.experiment.measurements.latency.taggedFrame", "leave repeats out"}},
		"a tag after the stream": {"{throughput: {}, latency: {taggedFrame: {streamMilliseconds: 60000}}}", "",
			[]string{"spec.experiment.measurements.latency.taggedFrame.afterMilliseconds", "must be below streamMilliseconds"}},
		"a profile's tagged frames and repeats": {"{profile: RFC2544, repeats: 2}", "",
			[]string{"spec.experiment.measurements.latency.taggedFrame", "leave repeats out"}},
		"a profile's loads without their goal": {"{profile: RFC2544, throughput: {goals: [{name: PDR}]}}", "",
			[]string{"spec.experiment.measurements.latency", "goal NDR (profile RFC2544)"}},
		"101 streams":                  {"{throughput: {}, latency: {taggedFrame: {streams: 101}}}", "", []string{"streams", "less than or equal to 100"}},
		"streams as long as the run":   {"{throughput: {}, latency: {taggedFrame: {streams: 24, streamMilliseconds: 3600000}}}", "", []string{"spec.experiment.deadlineSeconds", "raise it"}},
		"criterion on no tagged frame": {"{throughput: {}, latency: {}}", "[{name: c, metric: TaggedFrameMeanNanoseconds, load: idle, atMost: 5}]", []string{"spec.experiment.acceptance", "needs measurements.latency.taggedFrame"}},
		"load named soak": {"{soak: {size: '64', framesPerSecond: 5}, latency: {loads: [{name: soak, framesPerSecond: 5}]}}", "",
			[]string{"spec.experiment.measurements", "give that one another name"}},
		"criterion on a soak without its size": {"{soak: {size: '64', framesPerSecond: 5}}",
			"[{name: c, metric: LossPartsPerMillion, load: soak, atMost: 0}]", []string{"spec.experiment.acceptance", "give it measurements.soak.size"}},
		"criterion on a soak's median": {"{soak: {size: '64', framesPerSecond: 5}}",
			"[{name: c, metric: LatencyP50Nanoseconds, load: soak, size: '64', atMost: 0}]", []string{"spec.experiment.acceptance", "a soak has no such metric"}},
		"criterion on no soak": {"{throughput: {}}",
			"[{name: c, metric: LossPartsPerMillion, load: soak, size: '64', atMost: 0}]", []string{"spec.experiment.acceptance", "name one that is measured"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := measuring(t, test.measurements, test.acceptance)
			if err == nil {
				t.Fatal("was accepted")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("does not say %q: %s", want, clip(err.Error()))
				}
			}
		})
	}
}

// TestCriteriaThatCannotBothPass refuses an atLeast above an atMost of one figure, and takes both of different figures.
func TestCriteriaThatCannotBothPass(t *testing.T) {
	const measured = "{throughput: {}, latency: {}, tcp: {streams: [1, 4]}}"
	const words = "no figure can pass criterion low"
	rate := func(low, high string) string {
		return "[{name: low, metric: ThroughputFramesPerSecond, goal: " + low + "}, {name: high, metric: ThroughputFramesPerSecond, goal: " + high + "}]"
	}
	delay := func(low, high string) string {
		return "[{name: low, metric: LatencyP99Nanoseconds, load: " + low + "}, {name: high, metric: LatencyP99Nanoseconds, load: " + high + "}]"
	}
	for name, test := range map[string]struct {
		acceptance string
		refused    bool
	}{
		"crossed":               {rate("NDR, atLeast: 11", "NDR, atMost: 10"), true},
		"touching":              {rate("NDR, atLeast: 10", "NDR, atMost: 10"), false},
		"two goals":             {rate("NDR, atLeast: 11", "PDR, atMost: 10"), false},
		"two loads":             {delay("idle, atLeast: 11", "pdr50, atMost: 10"), false},
		"one load":              {delay("idle, atLeast: 11", "idle, atMost: 10"), true},
		"two sizes":             {delay("idle, size: '64', atLeast: 11", "idle, size: '512', atMost: 10"), false},
		"one size and all":      {delay("idle, size: '64', atLeast: 11", "idle, atMost: 10"), true},
		"two metrics":           {"[{name: low, metric: LatencyP99Nanoseconds, load: idle, atLeast: 11}, {name: high, metric: LatencyP50Nanoseconds, load: idle, atMost: 10}]", false},
		"two numbers of TCP":    {"[{name: low, metric: TCPRetransmits, streams: 1, atLeast: 11}, {name: high, metric: TCPRetransmits, streams: 4, atMost: 10}]", false},
		"one number and all":    {"[{name: low, metric: TCPRetransmits, streams: 1, atLeast: 11}, {name: high, metric: TCPRetransmits, atMost: 10}]", true},
		"two limits, one above": {"[{name: low, metric: TCPRetransmits, atLeast: 11}, {name: high, metric: TCPRetransmits, atLeast: 10}]", false},
	} {
		t.Run(name, func(t *testing.T) {
			switch err := measuring(t, measured, test.acceptance); {
			case err == nil && test.refused:
				t.Error("was accepted")
			case err != nil && (!test.refused || !strings.Contains(err.Error(), words)):
				t.Error(clip(err.Error()))
			}
		})
	}
}

// A recovery needs a goal's throughput, and an overload that is shorter than the run.
func TestRecoveryIsAdmitted(t *testing.T) {
	of := func(deadline string) error {
		return create(object(t, goodRun, map[string]string{
			"spec.experiment.measurements":    "{throughput: {goals: [{name: NDR}]}, recovery: {goal: NDR}}",
			"spec.experiment.acceptance":      "[{name: c, metric: RecoveryUpperBoundMilliseconds, atMost: 500}]",
			"spec.experiment.deadlineSeconds": deadline,
		}))
	}
	if err := of("600"); err != nil {
		t.Error(err)
	}
	if err := of("60"); err == nil || !strings.Contains(err.Error(), "lower overloadSeconds") {
		t.Errorf("an overload as long as the run: %v", err)
	}
}

// TestTrialsAreShorterThanTheRun refuses a trial that deadlineSeconds would end.
func TestTrialsAreShorterThanTheRun(t *testing.T) {
	for _, measurements := range []string{
		"{throughput: {goals: [{name: NDR, trialMilliseconds: %d, durationSumMilliseconds: 60000}]}}",
		"{throughput: {}, latency: {trialMilliseconds: %d}}", "{frameLossRate: {trialMilliseconds: %d}}", "{receiveRate: {trialMilliseconds: %d}}",
	} {
		for trial, refused := range map[int]bool{59_999: false, 60_000: true} {
			err := create(object(t, goodRun, map[string]string{
				"spec.experiment.measurements": fmt.Sprintf(measurements, trial), "spec.experiment.acceptance": "[]", "spec.experiment.deadlineSeconds": "60",
			}))
			if said := err != nil && strings.Contains(err.Error(), "spec.experiment.deadlineSeconds is not longer than one trial"); said != refused || err != nil && !refused {
				t.Errorf("%s with %d ms: %v", measurements, trial, err)
			}
		}
	}
}

// A criterion may name the loads of a preset and no others.
func TestCriteriaOnPresets(t *testing.T) {
	names := map[string]bool{}
	presets := []v1alpha1.LatencyPreset{"", v1alpha1.PresetStandard, v1alpha1.PresetCSIT, v1alpha1.PresetNDR95, v1alpha1.PresetRFC2544}
	for _, preset := range presets {
		for _, load := range (&v1alpha1.Latency{Preset: preset}).MeasuredLoads() {
			names[load.Name] = true
		}
	}
	for _, preset := range presets {
		measured := map[string]bool{}
		for _, load := range (&v1alpha1.Latency{Preset: preset}).MeasuredLoads() {
			measured[load.Name] = true
		}
		latency := "{}"
		if preset != "" {
			latency = "{preset: " + string(preset) + "}"
		}
		for name := range names {
			err := measuring(t, "{throughput: {}, latency: "+latency+"}",
				"[{name: a, metric: LatencyP99Nanoseconds, load: "+name+", atMost: 1}]")
			if (err == nil) != measured[name] {
				t.Errorf("preset %q, load %q: %v", preset, name, err)
			}
		}
	}
}
