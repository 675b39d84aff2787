package v1alpha1

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/equality"
)

// MeasurementProfile names a set of measurements with their settings.
// +kubebuilder:validation:Enum=Quick;Standard;RFC2544;CSIT;TST009
type MeasurementProfile string

// The profiles.
const (
	// ProfileQuick gives a first answer in under a minute for each size: NDR and
	// PDR with trials of 500 ms and a precision of 5 %, latency at idle and pdr50.
	ProfileQuick MeasurementProfile = "Quick"
	// ProfileStandard searches NDR and PDR with trials of 1 s and a precision of
	// 2 %, and measures latency at idle, pdr50 and pdr90.
	ProfileStandard MeasurementProfile = "Standard"
	// ProfileRFC2544 is RFC 2544's throughput (section 26.1) and latency of tagged
	// frames at that throughput (section 26.2), with trials of 60 s and 120 s and
	// 2 s of waiting (section 23).
	ProfileRFC2544 MeasurementProfile = "RFC2544"
	// ProfileCSIT has the goals and loads of FD.io CSIT: NDR and PDR at 0.5 % with
	// a duration sum of 21 s, and latency at idle, pdr10, pdr50 and pdr90.
	ProfileCSIT MeasurementProfile = "CSIT"
	// ProfileTST009 is the binary search with loss verification of ETSI GS NFV-TST
	// 009 section 12.3.3, with trials of 60 s, and latency at that throughput.
	ProfileTST009 MeasurementProfile = "TST009"
)

// profileGoal returns a goal whose trials decide one by one.
func profileGoal(name string, lossPartsPerMillion, trialMilliseconds, widthPartsPerMillion int32) Goal {
	return Goal{Name: name, LossPartsPerMillion: lossPartsPerMillion, TrialMilliseconds: trialMilliseconds,
		DurationSumMilliseconds: trialMilliseconds, WidthPartsPerMillion: widthPartsPerMillion}
}

// csitGoal returns a goal as FD.io CSIT sets it for MLRsearch.
func csitGoal(name string, lossPartsPerMillion int32) Goal {
	return Goal{Name: name, LossPartsPerMillion: lossPartsPerMillion, ExceedPercent: 50,
		TrialMilliseconds: 1000, DurationSumMilliseconds: 21000, WidthPartsPerMillion: 5000}
}

// throughputOf returns the search of a profile; no profile is Standard.
func throughputOf(profile MeasurementProfile) Throughput {
	out := Throughput{Method: MethodMLRsearch, MaximumSearchSeconds: 1200}
	switch profile {
	case ProfileQuick:
		out.Goals = []Goal{profileGoal("NDR", 0, 500, 50000), profileGoal("PDR", 1000, 500, 50000)}
	case ProfileRFC2544:
		out.Method, out.MaximumSearchSeconds = MethodRFC2544, 7200
		out.Goals = []Goal{profileGoal("NDR", 0, 60000, 5000)}
	case ProfileCSIT:
		out.Goals = []Goal{csitGoal("NDR", 0), csitGoal("PDR", 5000)}
	case ProfileTST009:
		out.Method, out.MaximumSearchSeconds = MethodTST009WithLossVerification, 7200
		out.Goals = []Goal{profileGoal("NDR", 0, 60000, 10000)}
	default:
		out.Goals = []Goal{profileGoal("NDR", 0, 1000, 20000), profileGoal("PDR", 1000, 1000, 20000)}
	}
	return out
}

// latencyOf returns the latency loads of a profile; no profile is Standard.
func latencyOf(profile MeasurementProfile) Latency {
	switch profile {
	case ProfileQuick:
		idle := int64(idleFramesPerSecond)
		return Latency{TrialMilliseconds: 1000, Loads: []LatencyLoad{
			{Name: "idle", FramesPerSecond: &idle}, {Name: "pdr50", Goal: "PDR", Percent: new(int32(50))},
		}}
	case ProfileRFC2544:
		return Latency{TrialMilliseconds: 5000, Preset: PresetRFC2544,
			TaggedFrame: &TaggedFrame{Streams: 20, StreamMilliseconds: 120000, AfterMilliseconds: 60000}}
	case ProfileCSIT:
		return Latency{TrialMilliseconds: 5000, Preset: PresetCSIT}
	case ProfileTST009:
		return Latency{TrialMilliseconds: 60000, Preset: PresetRFC2544}
	}
	return Latency{TrialMilliseconds: 5000, Preset: PresetStandard}
}

// SameAs reports whether two runs measure the same, whether they set fields or left them to a
// profile.
func (m Measurements) SameAs(other Measurements) bool {
	a, b := m.Filled(), other.Filled()
	a.Profile, b.Profile = "", ""
	a.RepeatScope, b.RepeatScope = cmp.Or(a.RepeatScope, RepeatTrials), cmp.Or(b.RepeatScope, RepeatTrials)
	a.Order, b.Order = cmp.Or(a.Order, OrderRandom), cmp.Or(b.Order, OrderRandom)
	return equality.Semantic.DeepEqual(a, b)
}

// Filled returns the measurements with everything that is absent set: with a profile, to the
// profile's measurements; without one, only the settings of those that are present.
func (m Measurements) Filled() Measurements {
	out := *m.DeepCopy()
	if out.Profile != "" {
		if out.Throughput == nil {
			out.Throughput = &Throughput{MinimumFramesPerSecond: 1000}
		}
		if out.Latency == nil {
			out.Latency = new(latencyOf(out.Profile))
		}
	}
	if t := out.Throughput; t != nil {
		t.fill(throughputOf(out.Profile))
	}
	out.fillGoals()
	if l := out.Latency; l != nil {
		l.fill(latencyOf(out.Profile))
	}
	warmUp, settle := int32(1000), int32(100)
	switch out.Profile {
	case ProfileQuick:
		warmUp = 500
	case ProfileRFC2544, ProfileTST009:
		warmUp, settle = 2000, 2000
	}
	if out.WarmUpMilliseconds == nil {
		out.WarmUpMilliseconds = &warmUp
	}
	if out.SettleMilliseconds == 0 {
		out.SettleMilliseconds = settle
	}
	out.Repeats = max(1, out.Repeats)
	if out.NoisyNeighbors == NeighborsWithAndWithout {
		out.pairRepeats()
	}
	return out
}

// pairRepeats makes each number of repeats even, for the order without, with, with, without.
func (m *Measurements) pairRepeats() {
	even := func(n *int32) { *n += *n % 2 }
	if m.Latency == nil || m.Latency.TaggedFrame == nil {
		even(&m.Repeats)
	}
	if m.FixedLoad != nil {
		even(&m.FixedLoad.Repeats)
	}
	if m.BackToBack != nil {
		even(&m.BackToBack.Repeats)
	}
	if m.ReceiveRate != nil {
		even(&m.ReceiveRate.Trials)
	}
}

func (t *Throughput) fill(from Throughput) {
	if t.Method == "" {
		t.Method = from.Method
	}
	if t.Method == MethodTST009WithLossVerification && t.LossVerification == nil {
		t.LossVerification = &LossVerification{MaximumRepeats: 1}
	}
	if len(t.Goals) == 0 {
		t.Goals = from.Goals
		for i := range t.Goals {
			// Only MLRsearch decides by more than one trial.
			if goal := &t.Goals[i]; t.Method != MethodMLRsearch {
				goal.ExceedPercent, goal.DurationSumMilliseconds = 0, goal.TrialMilliseconds
			}
		}
	}
	if t.MaximumSearchSeconds == 0 {
		t.MaximumSearchSeconds = from.MaximumSearchSeconds
	}
}

func (l *Latency) fill(from Latency) {
	// Tagged frames have streams of their length, at the profile's load.
	if l.Preset == "" && len(l.Loads) == 0 && l.TrialMilliseconds == 0 && l.TaggedFrame == nil {
		l.TaggedFrame = from.TaggedFrame
	}
	if l.Preset == "" && len(l.Loads) == 0 {
		l.Preset, l.Loads = from.Preset, from.Loads
	}
	l.Preset, l.Loads = "", l.MeasuredLoads()
	if l.TaggedFrame == nil && l.TrialMilliseconds == 0 {
		l.TrialMilliseconds = from.TrialMilliseconds
	}
}
