package simulated_test

import (
	"testing"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/contract"
	"vnfbench.io/operator/internal/traffic/simulated"
)

func TestContract(t *testing.T) {
	both := []measure.Direction{measure.Forward, measure.Reverse}
	contract.Run(t, func(*testing.T) measure.Driver {
		return simulated.New(simulated.Config{Device: simulated.HardCap{CapacityFramesPerSecond: 10e6}, Directions: both, Seed: 1})
	}, contract.Capabilities{Frames: &contract.Frames{Directions: both, Fragments: true, DelayVariation: true}})
}
