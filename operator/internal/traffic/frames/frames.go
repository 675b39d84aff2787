// Package frames has what the drivers of frames share. It takes a measure.Path and trials,
// and returns the streams by direction, why a trial cannot be made, the trial of a probe,
// and percentiles of delays. It is pure: a driver makes and counts the frames.
package frames

import (
	"fmt"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/headers"
)

// DefaultProbeTimeout is how long a driver looks for a way through the chain by default.
const DefaultProbeTimeout = 5 * time.Second

// One probe is a few frames in every direction. A device that is still learning may lose
// them, so a driver repeats probes until the time is up.
const (
	probeFrames = 10
	probeRate   = 1000
	probeSettle = 150 * time.Millisecond
	// ProbeFrameBytes is the size of a probe's frames if they have no larger signature.
	ProbeFrameBytes = 128
)

// Streams are a path's streams by direction; nil means none. Port i sends stream i.
type Streams [2]*measure.Stream

// Of returns the streams of a path from which frames can be made.
func Of(path measure.Path) (streams Streams, err error) {
	invalid := func(format string, args ...any) (Streams, error) {
		return Streams{}, measure.Failf(v1alpha1.ReasonInvalidPath, "correct the Testbed's spec.ports, or the run's spec.experiment.traffic", format, args...)
	}
	if path.Ports[0].Interface == path.Ports[1].Interface {
		return invalid("both ports are %q", path.Ports[0].Interface)
	}
	if err := headers.CheckVLANs(path); err != nil {
		return invalid("%w", err)
	}
	if len(path.Streams) == 0 {
		return invalid("there is no stream")
	}
	for i, s := range path.Streams {
		index := Index(s.Direction)
		if index < 0 || streams[index] != nil {
			return invalid("stream %d: direction %q is unknown or there twice", i, s.Direction)
		}
		if err := headers.Check(s); err != nil {
			return invalid("%w", err)
		}
		streams[index] = &s
	}
	return streams, nil
}

// Index returns a direction's place in Streams, or -1 if there is no such direction.
func Index(direction measure.Direction) int {
	switch direction {
	case measure.Forward:
		return 0
	case measure.Reverse:
		return 1
	}
	return -1
}

// WithoutShares returns streams of which each has the full load.
func (s Streams) WithoutShares() Streams {
	for i := range s {
		if s[i] != nil {
			whole := *s[i]
			whole.LoadPercent = 0
			s[i] = &whole
		}
	}
	return s
}

// Probe returns a trial that shows whether frames of the streams arrive. signatureBytes
// is the least payload of a frame.
func (s Streams) Probe(signatureBytes int) measure.Trial {
	return measure.Trial{
		FrameBytes:              max(ProbeFrameBytes, s.minFrameBytes(signatureBytes)),
		IntendedFramesPerSecond: probeRate,
		DurationNanoseconds:     int64(probeFrames) * int64(time.Second) / probeRate,
		SettleNanoseconds:       int64(probeSettle),
	}
}

// minFrameBytes returns the size of the smallest frame that every stream can have.
func (s Streams) minFrameBytes(signatureBytes int) int {
	smallest := headers.MinFrameBytes
	for _, stream := range s {
		if stream != nil {
			smallest = max(smallest, headers.MinimumFrameBytes(*stream, signatureBytes))
		}
	}
	return smallest
}

// Missing returns the directions in which no frame arrived.
func Missing(outcome measure.Outcome) (missing []measure.Direction) {
	for _, d := range outcome.Directions {
		if d.ReceivedFrames == 0 {
			missing = append(missing, d.Direction)
		}
	}
	return missing
}

// Doubts collects what a generator doubts about its own trial.
type Doubts []measure.Doubt

// Add adds a doubt whose detail is formatted as by fmt.Sprintf.
func (d *Doubts) Add(code string, invalid bool, format string, args ...any) {
	*d = append(*d, measure.Doubt{Code: code, Invalid: invalid, Detail: fmt.Sprintf(format, args...)})
}
