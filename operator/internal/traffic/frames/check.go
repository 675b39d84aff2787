package frames

import (
	"fmt"
	"slices"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// TooLarge returns why a frame cannot be sent; carrier says of what it is more than.
func TooLarge(frameBytes, maxBytes int, remedy, carrier string) error {
	return measure.Failf(v1alpha1.ReasonFrameTooLarge, fmt.Sprintf("use frames of at most %d bytes in spec.experiment.traffic (frameBytes, imix), or %s", maxBytes, remedy),
		"a frame of %d bytes is more than %s", frameBytes, carrier)
}

// Check returns the size of a trial's largest frame, or why no driver can make the trial.
// signatureBytes is the least payload of a frame.
func (s Streams) Check(trial measure.Trial, signatureBytes int) (largest int, err error) {
	invalid := func(remedy, format string, args ...any) (int, error) {
		return 0, measure.Failf(v1alpha1.ReasonInvalidTrial, remedy, format, args...)
	}
	switch after := trial.TaggedFrameNanoseconds; {
	case trial.TCP != nil || trial.Connections != nil:
		return invalid("measure TCP with another driver", "streams of frames carry no TCP connections")
	case trial.DurationNanoseconds <= 0 || trial.SettleNanoseconds < 0:
		return invalid("give a positive duration in spec.experiment.measurements", "a trial of %v with %v to settle", trial.Duration(), trial.Settle())
	case after < 0 || after >= trial.DurationNanoseconds:
		return invalid("tag a frame before the trial's end in measurements.latency.taggedFrame.afterMilliseconds", "a frame tagged after %v of a trial of %v", time.Duration(after), trial.Duration())
	}
	sizes, err := sizes(trial)
	if err != nil {
		return invalid("correct spec.experiment.traffic.imix or packets", "%w", err)
	}
	if smallest, limit := slices.Min(sizes), s.minFrameBytes(signatureBytes); smallest < limit {
		return 0, measure.Failf(v1alpha1.ReasonFrameTooSmall, fmt.Sprintf("use frames of at least %d bytes in spec.experiment.traffic (frameBytes, imix)", limit),
			"a frame of %d bytes has no room for headers and signature", smallest)
	}
	for _, stream := range s {
		if stream != nil && trial.IntendedFramesPerSecond > 0 && stream.IntendedFrames(trial) == 0 {
			return invalid("raise the load or the duration of that trial in spec.experiment.measurements", "%s: %d frames/s for %v is not one frame",
				stream.Direction, stream.FramesPerSecond(trial), trial.Duration())
		}
	}
	return slices.Max(sizes), nil
}

// sizes returns the sizes of all frames that a trial sends.
func sizes(trial measure.Trial) (sizes []int, err error) {
	switch {
	case trial.Packet != nil:
		if err := trial.Packet.Check(); err != nil {
			return nil, err
		}
		return trial.Packet.FragmentFrameBytes(), nil
	case trial.Mix != nil:
		if err := trial.Mix.Check(); err != nil {
			return nil, err
		}
		for _, f := range trial.Mix.Frames {
			sizes = append(sizes, f.FrameBytes)
		}
		return sizes, nil
	}
	return []int{trial.FrameBytes}, nil
}
