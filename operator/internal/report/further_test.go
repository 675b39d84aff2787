package report

import (
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// further returns a run of every measurement besides throughput and latency.
func further(t *testing.T) (*v1alpha1.BenchmarkRun, []measure.Record) {
	run, records := fixture(t)
	run.Spec.Experiment.Measurements = furtherMeasurements()
	run.Spec.Experiment.Acceptance, run.Status.Acceptance, run.Status.Warnings = nil, nil, nil
	run.Status.Results, run.Status.CPU = furtherResults(), nil
	run.Status.Plan.OrderSeed = new(int64(2544))
	return run, records
}

func furtherMeasurements() v1alpha1.Measurements {
	return v1alpha1.Measurements{
		SettleMilliseconds: 2000,
		Latency:            &v1alpha1.Latency{Preset: v1alpha1.PresetRFC2544, TaggedFrame: &v1alpha1.TaggedFrame{Streams: 20, StreamMilliseconds: 30_000, AfterMilliseconds: 15_000}},
		FixedLoad:          &v1alpha1.FixedLoad{DiscardSeconds: new(int32(20))},
		FrameLossRate:      &v1alpha1.FrameLossRate{StepPercent: 10, TrialMilliseconds: 5000},
		BackToBack:         &v1alpha1.BackToBack{Repeats: 5},
		ReceiveRate:        &v1alpha1.ReceiveRate{TrialMilliseconds: 1000, Trials: 3},
		Recovery:           &v1alpha1.Recovery{OverloadSeconds: 60},
		Soak:               &v1alpha1.Soak{Size: "256", DurationSeconds: 86_400, IntervalSeconds: 300},
	}
}

func furtherResults() []v1alpha1.FrameResult {
	return []v1alpha1.FrameResult{packetResult(), {Size: "256", FrameBytes: 256, Latency: taggedFrames(), FixedLoad: fixedLoadResults(), FrameLossRate: lossCurve(), BackToBack: bursts(), ReceiveRate: receiveRate(), Recovery: recovery(), Soak: soak()}}
}

func packetResult() v1alpha1.FrameResult {
	directions := directionsAround(20_000, 2)
	for i := range directions {
		directions[i].SentFragments, directions[i].ReceivedFragments = new(3*directions[i].SentFrames), new(3*directions[i].ReceivedFrames+4)
	}
	return v1alpha1.FrameResult{
		Size: "udp-4096", FrameBytes: 4142, Packet: &v1alpha1.PacketResult{PayloadBytes: 4096, Fragments: 3},
		Throughput: []v1alpha1.ThroughputResult{{
			Goal: "NDR", Regularity: v1alpha1.Regular, FramesPerSecond: 50_000, FragmentsPerSecond: new(int64(150_000)),
			Layer1BitsPerSecond: 1_711_200_000, LineRatePartsPerMillion: 171_120, LowerBoundFramesPerSecond: 50_000, Trials: 9,
		}},
		Latency: []v1alpha1.LatencyResult{{Load: "ndr100", IntendedFramesPerSecond: 50_000, TrialMilliseconds: 20_000, ShortestTrialMilliseconds: new(int64(5_000)), Directions: atLoad(directions)}},
	}
}

func taggedFrames() []v1alpha1.LatencyResult {
	directions := atLoad(directionsAround(6000, 0))
	directions[0].TaggedFrames = &v1alpha1.TaggedFramesResult{
		SentFrames: 20, ReceivedFrames: 19, MinNanoseconds: 4000, MeanNanoseconds: 5900, MaxNanoseconds: 9000, StandardDeviationNanoseconds: 1100,
	}
	directions[1].TaggedFrames = &v1alpha1.TaggedFramesResult{SentFrames: 20}
	return []v1alpha1.LatencyResult{{Load: "ndr100", IntendedFramesPerSecond: 240_000, TrialMilliseconds: 120_000, Directions: directions}}
}

func bursts() *v1alpha1.BackToBackResult {
	return &v1alpha1.BackToBackResult{
		MeanFrames: 4180, MinFrames: 4000, MaxFrames: 4300, StandardDeviationFrames: 130, StepFrames: 100, LongestBurstFrames: 640_000,
		Bursts: []int64{4000, 4100, 4200, 4300, 4300}, MaximumFramesPerSecond: 320_000, MaximumOrigin: v1alpha1.MaximumCalibration,
		ThroughputFramesPerSecond: 240_000, ImpliedBufferNanoseconds: 13_062_500, CorrectedBufferNanoseconds: new(int64(3_265_625)), Lateness: waits(2_100_000),
	}
}

func receiveRate() *v1alpha1.ReceiveRateResult {
	return &v1alpha1.ReceiveRateResult{
		IntendedFramesPerSecond: 320_000, MaximumOrigin: v1alpha1.MaximumCalibration,
		MeanFramesPerSecond: 281_000, MinFramesPerSecond: 280_000, MaxFramesPerSecond: 282_000, StandardDeviationFramesPerSecond: 1000, Lateness: waits(3_500_000),
		Trials: []v1alpha1.ReceiveRateTrial{
			{Trial: 1, OfferedFramesPerSecond: 320_000, ForwardingFramesPerSecond: 280_000, LossPartsPerMillion: 125_000},
			{Trial: 2, OfferedFramesPerSecond: 320_000, ForwardingFramesPerSecond: 282_000, LossPartsPerMillion: 118_750},
			{Trial: 3, OfferedFramesPerSecond: 319_990, ForwardingFramesPerSecond: 281_000, LossPartsPerMillion: 121_848},
		},
	}
}

func recovery() *v1alpha1.RecoveryResult {
	return &v1alpha1.RecoveryResult{
		End: v1alpha1.RecoveryRecovered, Goal: "NDR", OverloadFramesPerSecond: 264_000, OverloadLossPartsPerMillion: 90_910,
		ReducedFramesPerSecond: 132_000, LowerBoundMilliseconds: new(int64(620)), UpperBoundMilliseconds: new(int64(741)),
		ResolutionMilliseconds: new(int64(121)), CleanFrames: new(int64(132_000)), Trials: 16, LossyTrials: 6, Lateness: waits(900),
	}
}

func soak() *v1alpha1.SoakResult {
	return &v1alpha1.SoakResult{
		IntendedFramesPerSecond: 12_207, Bias: &v1alpha1.LatencyBias{P50Nanoseconds: 2_100, LowestP50Nanoseconds: new(int64(2_050)), HighestP50Nanoseconds: new(int64(2_320)), P99Nanoseconds: 3_400}, End: v1alpha1.SoakLoss, SendingSeconds: 900, LossPartsPerMillion: 1334, Lateness: waits(700),
		Worst: v1alpha1.WorstCase{
			LossPartsPerMillion: 4000, LatencyMeanNanoseconds: 7000, LatencyP99Nanoseconds: 31_000, LatencyMaxNanoseconds: 2_000_000,
			DelayVariationMaxNanoseconds: new(int64(1_990_000)), JitterP99Nanoseconds: new(int64(1500)), OneWayBudgetPartsPerMillion: 13_334,
		},
		Intervals: []v1alpha1.SoakInterval{
			{P50Nanoseconds: 6000, P99Nanoseconds: 20_000, MaxNanoseconds: 90_000, JitterP99Nanoseconds: new(int64(1200))},
			{StartSeconds: 300, P50Nanoseconds: 6000, P99Nanoseconds: 20_500, MaxNanoseconds: 95_000, JitterP99Nanoseconds: new(int64(1210))},
			{StartSeconds: 601, LossPartsPerMillion: 4000, P50Nanoseconds: 6500, P99Nanoseconds: 31_000, MaxNanoseconds: 2_000_000, JitterP99Nanoseconds: new(int64(1500))},
		},
	}
}

func lossCurve() *v1alpha1.FrameLossRateResult {
	return &v1alpha1.FrameLossRateResult{
		MaximumFramesPerSecond: 320_000, MaximumOrigin: v1alpha1.MaximumCalibration, End: v1alpha1.EndTwoTrialsWithoutLoss,
		Points: []v1alpha1.LossPoint{
			{Percent: 100, IntendedFramesPerSecond: 320_000, OfferedFramesPerSecond: 319_900, ForwardingFramesPerSecond: 280_000, LossPartsPerMillion: 124_727, Lateness: waits(3_600_000),
				Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtPartlyInterrupted, v1alpha1.DoubtUnsteadyPacing}, AwayPartsPerMillion: 2500},
			{Percent: 90, IntendedFramesPerSecond: 288_000, OfferedFramesPerSecond: 288_000, ForwardingFramesPerSecond: 287_999, LossPartsPerMillion: 1},
			{Percent: 80, IntendedFramesPerSecond: 256_000, OfferedFramesPerSecond: 256_000, ForwardingFramesPerSecond: 256_000},
			{Percent: 70, IntendedFramesPerSecond: 224_000, OfferedFramesPerSecond: 224_000, ForwardingFramesPerSecond: 224_000},
		},
	}
}

func waits(p50 int64) *v1alpha1.DelayQuantiles {
	return &v1alpha1.DelayQuantiles{P50Nanoseconds: p50, P99Nanoseconds: p50 + 1000, MaxNanoseconds: p50 + 20_000}
}

func delaysAround(nanoseconds int64) v1alpha1.Delays {
	return v1alpha1.Delays{
		Samples: 732_420, MinNanoseconds: nanoseconds / 2, MeanNanoseconds: nanoseconds, P50Nanoseconds: nanoseconds - 10,
		P90Nanoseconds: 2 * nanoseconds, P99Nanoseconds: 3 * nanoseconds, P999Nanoseconds: new(4 * nanoseconds),
		P9999Nanoseconds: new(5 * nanoseconds), MaxNanoseconds: 6 * nanoseconds,
	}
}

func directionsAround(nanoseconds, lost int64) []v1alpha1.DirectionResult {
	var out []v1alpha1.DirectionResult
	for i, direction := range []measure.Direction{measure.Forward, measure.Reverse} {
		around := nanoseconds + int64(i)*100
		out = append(out, v1alpha1.DirectionResult{
			Direction: string(direction), SentFrames: 732_420, ReceivedFrames: 732_420 - lost, LossPartsPerMillion: lost,
			Latency: delaysAround(around), DelayVariation: delaysAround(around / 4), PacketDelayVariationP999Nanoseconds: new(4*around - around/2),
			Jitter: &v1alpha1.Jitter{MeanNanoseconds: around / 5, P99Nanoseconds: around / 4, MaxNanoseconds: around / 2},
		})
	}
	return out
}

func atLoad(directions []v1alpha1.DirectionResult) (out []v1alpha1.LatencyDirectionResult) {
	for _, d := range directions {
		out = append(out, v1alpha1.LatencyDirectionResult{DirectionResult: d})
	}
	return out
}

func fixedLoadResults() []v1alpha1.FixedLoadResult {
	silent := directionsAround(6000, 0)
	silent[1] = v1alpha1.DirectionResult{Direction: string(measure.Reverse), SentFrames: 732_420, LossPartsPerMillion: 1_000_000}
	return []v1alpha1.FixedLoadResult{
		{
			Profile: "b256", Bias: &v1alpha1.LatencyBias{P50Nanoseconds: 1_900, LowestP50Nanoseconds: new(int64(1_880)), HighestP50Nanoseconds: new(int64(1_930)), P99Nanoseconds: 2_800}, IntendedFramesPerSecond: 12_207,
			Worst: v1alpha1.WorstCase{
				LatencyMeanNanoseconds: 8100, LatencyP99Nanoseconds: 24_300, LatencyMaxNanoseconds: 48_600,
				DelayVariationMaxNanoseconds: new(int64(12_150)), JitterP99Nanoseconds: new(int64(1620)), OneWayBudgetPartsPerMillion: 324, LossPartsPerMillion: 2,
			},
			Repeats: []v1alpha1.RepeatResult{
				{Repeat: 1, TrialMilliseconds: 60_000, Directions: directionsAround(7000, 0)}, {Repeat: 2, TrialMilliseconds: 120_000, Directions: directionsAround(8000, 2)},
			},
		},
		{
			Profile: "starved", IntendedFramesPerSecond: 12_207,
			Worst:   v1alpha1.WorstCase{LossPartsPerMillion: 1_000_000, LatencyMaxNanoseconds: 36_000, OneWayBudgetPartsPerMillion: 240},
			Repeats: []v1alpha1.RepeatResult{{Repeat: 1, TrialMilliseconds: 60_000, Directions: silent}},
		},
	}
}
