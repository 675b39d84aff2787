package report

import (
	"fmt"

	"vnfbench.io/operator/internal/distribution"
	"vnfbench.io/operator/internal/measure"
)

// DelayDistribution is that of the delays of a load in one direction, of all trials that count and kept theirs.
type DelayDistribution struct {
	Stage      measure.Stage
	Size, Load string
	// FramesPerSecond is that of trials whose load has no name, such as those of a search; 0 for any other.
	FramesPerSecond uint64
	// Neighbors is true for the trials next to noisy neighbors.
	Neighbors bool
	Direction measure.Direction
	Delays    distribution.Histogram
	// Trials are merged, and their frames are these. A frame that was lost has no delay.
	Trials                     int
	SentFrames, ReceivedFrames uint64
}

// Arrived returns the share of the frames that arrived.
func (d DelayDistribution) Arrived() float64 {
	if d.SentFrames == 0 {
		return 1
	}
	return min(1, float64(d.ReceivedFrames)/float64(d.SentFrames))
}

// Instructions returns the whole task of the measurer.
func (in *Inputs) Instructions() (measure.Instructions, error) {
	if in == nil {
		return measure.Instructions{}, fmt.Errorf("the document has no plan; one that `kubectl vnfbench export RUN` writes has it")
	}
	p, err := in.planned()
	return p.Instructions, err
}

// Delays returns the distributions of delay, in the order of the trials.
func (d Document) Delays() ([]DelayDistribution, error) {
	instructions, err := d.Inputs.Instructions()
	if err != nil {
		return nil, err
	}
	keys, merged, _, err := mergeDistributions(instructions, d.Trials, Selection{})
	if err != nil {
		return nil, err
	}
	var out []DelayDistribution
	for _, key := range keys {
		if key.of != ofDelay {
			continue
		}
		one := DelayDistribution{
			Stage: key.stage, Size: key.size, Load: key.load, FramesPerSecond: key.framesPerSecond, Neighbors: key.neighbors, Direction: key.direction,
			Delays: distribution.Merge(merged[key].histograms...), Trials: len(merged[key].histograms),
			SentFrames: merged[key].sent, ReceivedFrames: merged[key].received,
		}
		out = append(out, one)
	}
	return out, nil
}
