package v1alpha1_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
)

func TestProfilesFillWhatIsAbsent(t *testing.T) {
	names := func(m v1alpha1.Measurements) (goals, loads []string) {
		for _, g := range m.Throughput.Goals {
			goals = append(goals, g.Name)
		}
		for _, l := range m.Latency.MeasuredLoads() {
			loads = append(loads, l.Name)
		}
		return goals, loads
	}
	for profile, want := range map[v1alpha1.MeasurementProfile]struct {
		method                v1alpha1.SearchMethod
		goals, loads          []string
		trial, warmUp, settle int32
		tagged                bool
	}{
		v1alpha1.ProfileQuick:    {v1alpha1.MethodMLRsearch, []string{"NDR", "PDR"}, []string{"idle", "pdr50"}, 500, 500, 100, false},
		v1alpha1.ProfileStandard: {v1alpha1.MethodMLRsearch, []string{"NDR", "PDR"}, []string{"idle", "pdr50", "pdr90"}, 1000, 1000, 100, false},
		v1alpha1.ProfileRFC2544:  {v1alpha1.MethodRFC2544, []string{"NDR"}, []string{"ndr100"}, 60000, 2000, 2000, true},
		v1alpha1.ProfileCSIT:     {v1alpha1.MethodMLRsearch, []string{"NDR", "PDR"}, []string{"idle", "pdr10", "pdr50", "pdr90"}, 1000, 1000, 100, false},
		v1alpha1.ProfileTST009:   {v1alpha1.MethodTST009WithLossVerification, []string{"NDR"}, []string{"ndr100"}, 60000, 2000, 2000, false},
	} {
		t.Run(string(profile), func(t *testing.T) {
			m := v1alpha1.Measurements{Profile: profile}.Filled()
			goals, loads := names(m)
			if diff := cmp.Diff([]any{want.method, want.goals, want.loads, want.trial, want.warmUp, want.settle, want.tagged},
				[]any{m.Throughput.Method, goals, loads, m.Throughput.Goals[0].TrialMilliseconds, *m.WarmUpMilliseconds, m.SettleMilliseconds, m.Latency.TaggedFrame != nil}); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(m, m.Filled()); diff != "" {
				t.Errorf("filling again changes it: %s", diff)
			}
		})
	}
}

func TestWhatIsGivenTakesPrecedence(t *testing.T) {
	goals := []v1alpha1.Goal{{Name: "mine", TrialMilliseconds: 700, DurationSumMilliseconds: 700}}
	warmUp := int32(0)
	m := v1alpha1.Measurements{
		Profile: v1alpha1.ProfileRFC2544, Throughput: &v1alpha1.Throughput{Goals: goals}, WarmUpMilliseconds: &warmUp,
		Latency: &v1alpha1.Latency{Preset: v1alpha1.PresetNDR95},
	}.Filled()
	if diff := cmp.Diff(goals, m.Throughput.Goals); diff != "" {
		t.Error(diff)
	}
	if m.Throughput.Method != v1alpha1.MethodRFC2544 || len(m.Latency.Loads) != 2 || m.Latency.Loads[1].Goal != "NDR" || *m.Latency.Loads[1].Percent != 95 || *m.WarmUpMilliseconds != 0 || m.SettleMilliseconds != 2000 {
		t.Errorf("got %+v, want the user's goals, preset and warm-up, and RFC 2544's method and waiting", m)
	}
}

func TestWithoutAProfileNothingIsAdded(t *testing.T) {
	m := v1alpha1.Measurements{ReceiveRate: &v1alpha1.ReceiveRate{}}.Filled()
	if m.Throughput != nil || m.Latency != nil {
		t.Errorf("got %+v, want the receive rate alone", m)
	}
	m = v1alpha1.Measurements{Throughput: &v1alpha1.Throughput{}}.Filled()
	if m.Latency != nil || len(m.Throughput.Goals) != 2 || *m.WarmUpMilliseconds != 1000 || m.SettleMilliseconds != 100 {
		t.Errorf("got %+v, want the search of Standard", m)
	}
}

func TestAProfilesGoalsFitTheUsersMethod(t *testing.T) {
	m := v1alpha1.Measurements{Profile: v1alpha1.ProfileCSIT, Throughput: &v1alpha1.Throughput{Method: v1alpha1.MethodRFC2544}}.Filled()
	for _, goal := range m.Throughput.Goals {
		if goal.ExceedPercent != 0 || goal.DurationSumMilliseconds != goal.TrialMilliseconds {
			t.Errorf("got %+v, want a goal that decides by single trials", goal)
		}
	}
}

func TestAProfilesTaggedFramesBelongToItsLoads(t *testing.T) {
	m := v1alpha1.Measurements{Profile: v1alpha1.ProfileRFC2544, Latency: &v1alpha1.Latency{}}.Filled()
	if m.Latency.TaggedFrame == nil {
		t.Error("got no tagged frames, want those of the profile")
	}
	m = v1alpha1.Measurements{Profile: v1alpha1.ProfileRFC2544, Latency: &v1alpha1.Latency{TrialMilliseconds: 120000}}.Filled()
	if m.Latency.TaggedFrame != nil {
		t.Errorf("got %+v, want trials without tagged frames", m.Latency.TaggedFrame)
	}
}

func TestSameMeasurements(t *testing.T) {
	standard := v1alpha1.Measurements{Profile: v1alpha1.ProfileStandard}
	written := v1alpha1.Measurements{Throughput: &v1alpha1.Throughput{MinimumFramesPerSecond: 1000}, Latency: &v1alpha1.Latency{}}
	if !standard.SameAs(written) {
		t.Error("the profile and its measurements differ")
	}
	verified := v1alpha1.Measurements{Profile: v1alpha1.ProfileTST009, Throughput: &v1alpha1.Throughput{MinimumFramesPerSecond: 1000, Method: v1alpha1.MethodTST009WithLossVerification}}
	if !(v1alpha1.Measurements{Profile: v1alpha1.ProfileTST009}).SameAs(verified) {
		t.Error("the method of the profile and the same method differ")
	}
	declared, random := standard, standard
	declared.Order, random.Order = v1alpha1.OrderDeclared, v1alpha1.OrderRandom
	if standard.SameAs(declared) || !standard.SameAs(random) {
		t.Error("no order is the declared one, or is not the random one")
	}
	if standard.SameAs(v1alpha1.Measurements{Profile: v1alpha1.ProfileQuick}) {
		t.Error("two profiles are the same")
	}
}

// TestProfilesAreAdmitted applies profiles with parts of the user's own.
func TestProfilesAreAdmitted(t *testing.T) {
	for name, measurements := range map[string]string{
		"Quick": "{profile: Quick}", "Standard": "{profile: Standard}", "RFC2544": "{profile: RFC2544}", "CSIT": "{profile: CSIT}", "TST009": "{profile: TST009}",
		"longer trials":  "{profile: RFC2544, throughput: {goals: [{name: NDR, trialMilliseconds: 120000, durationSumMilliseconds: 120000}]}}",
		"another method": "{profile: CSIT, throughput: {method: RFC2544}}",
		"verification":   "{profile: TST009, throughput: {lossVerification: {maximumRepeats: 2}}}",
		"loads":          "{profile: RFC2544, repeats: 2, latency: {loads: [{name: a, framesPerSecond: 5}]}}",
	} {
		t.Run(name, func(t *testing.T) {
			if err := measuring(t, measurements, ""); err != nil {
				t.Error(err)
			}
		})
	}
	err := create(object(t, goodRun, map[string]string{"spec.experiment.measurements": "{profile: RFC2544}", "spec.experiment.deadlineSeconds": "1800"}))
	if err == nil || !strings.Contains(err.Error(), "spec.experiment.deadlineSeconds is shorter than the streams") {
		t.Errorf("got %v, want the deadline to be refused: the profile's streams take 2400 s", err)
	}
}

// TestRecoveryNamesItsGoal checks that a recovery of the first goal and one that names it are the same measurement.
func TestRecoveryNamesItsGoal(t *testing.T) {
	of := func(goal string) v1alpha1.Measurements {
		return v1alpha1.Measurements{Profile: v1alpha1.ProfileStandard, Recovery: &v1alpha1.Recovery{Goal: goal, OverloadSeconds: 60}}.Filled()
	}
	first := of("").Throughput.Goals[0].Name
	if diff := cmp.Diff(of(first), of("")); diff != "" || first == "" {
		t.Errorf("goal %q: %s", first, diff)
	}
}

// TestRepeatsOfAComparison checks that each side is measured an even number of times, except where one repeat is all there can be.
func TestRepeatsOfAComparison(t *testing.T) {
	for _, test := range []struct {
		repeats    int32
		comparison v1alpha1.NoisyNeighborComparison
		tagged     bool
		want       int32
	}{
		{0, "", false, 1}, {3, v1alpha1.NeighborsWith, false, 3}, {0, v1alpha1.NeighborsWithAndWithout, false, 2},
		{1, v1alpha1.NeighborsWithAndWithout, false, 2}, {4, v1alpha1.NeighborsWithAndWithout, false, 4},
		{19, v1alpha1.NeighborsWithAndWithout, false, 20}, {1, v1alpha1.NeighborsWithAndWithout, true, 1},
	} {
		m := v1alpha1.Measurements{
			Repeats: test.repeats, NoisyNeighbors: test.comparison, Latency: &v1alpha1.Latency{},
			FixedLoad: &v1alpha1.FixedLoad{Repeats: test.repeats}, BackToBack: &v1alpha1.BackToBack{Repeats: test.repeats}, ReceiveRate: &v1alpha1.ReceiveRate{Trials: test.repeats},
		}
		if test.tagged {
			m.Latency.TaggedFrame = &v1alpha1.TaggedFrame{}
		}
		got, own := m.Filled().Filled(), test.repeats
		if test.comparison == v1alpha1.NeighborsWithAndWithout {
			own += own % 2
		}
		if got.Repeats != test.want {
			t.Errorf("%+v: %d repeats", test, got.Repeats)
		}
		if got.FixedLoad.Repeats != own || got.BackToBack.Repeats != own || got.ReceiveRate.Trials != own {
			t.Errorf("%+v: %d of a fixed load, %d of bursts, %d of the receive rate", test, got.FixedLoad.Repeats, got.BackToBack.Repeats, got.ReceiveRate.Trials)
		}
	}
}
