package plan_test

import (
	"errors"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
	xdp "vnfbench.io/operator/internal/traffic/xdp/planning"
)

func failureOf(t *testing.T, in plan.Input) *measure.Failure {
	t.Helper()
	_, err := plan.Make(in)
	var failure *measure.Failure
	if !errors.As(err, &failure) {
		t.Fatalf("got %v, want a failure", err)
	}
	return failure
}

func TestFailures(t *testing.T) {
	type input = *plan.Input
	tests := map[string]struct {
		change  func(input)
		reason  string
		message []string
		remedy  string
	}{
		"attachment not offered": {
			change:  func(in input) { in.Run.Spec.Experiment.Chain[1].East.Attachment = v1alpha1.AttachmentE1000 },
			reason:  v1alpha1.ReasonAttachmentNotOffered,
			message: []string{"port east", `"router-2"`, "E1000", "[Veth]"},
			remedy:  "spec.systemUnderTest.attachments",
		},
		"frame beyond the testbed": {
			change:  func(in input) { in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{64, 1519} },
			reason:  v1alpha1.ReasonFrameTooLarge,
			message: []string{"1519", `"lab"`, "mtuBytes 1500", "1518"},
			remedy:  "spec.ports.mtuBytes",
		},
		"frame beyond a function's port": {
			change:  func(in input) { in.Run.Spec.Experiment.Chain[0].West.MTUBytes = new(int32(1400)) },
			reason:  v1alpha1.ReasonFrameTooLarge,
			message: []string{"1518", "port west", `"router-1"`, "1400", "1418"},
			remedy:  "west.mtuBytes",
		},
		"frame beyond the driver": {
			change: func(in input) {
				in.Testbed.Spec.Ports.MTUBytes = 9000
				in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{9018}
			},
			reason:  v1alpha1.ReasonFrameTooLarge,
			message: []string{"9018", "XDP"},
			remedy:  "spec.experiment.traffic.frameBytes",
		},
		"MTU below that of IPv6, testbed": {
			change:  func(in input) { in.Testbed.Spec.Ports.MTUBytes = 1279 },
			reason:  v1alpha1.ReasonFrameTooLarge,
			message: []string{"1279", "1280"},
			remedy:  "spec.ports.mtuBytes",
		},
		"MTU below that of IPv6, function": {
			change:  func(in input) { in.Run.Spec.Experiment.Chain[0].East.MTUBytes = new(int32(576)) },
			reason:  v1alpha1.ReasonFrameTooLarge,
			message: []string{"576", "1280"},
			remedy:  `east.mtuBytes of function "router-1"`,
		},
		"latency load above line rate": {
			change: func(in input) {
				in.Run.Spec.Experiment.Measurements.Latency.Loads[0].FramesPerSecond = new(int64(812_744))
			},
			reason:  v1alpha1.ReasonLoadAboveLineRate,
			message: []string{"measurements.latency.loads[idle].framesPerSecond is 812744", "at most 812743 frames/s of 1518 bytes"},
			remedy:  "spec.experiment.traffic.frameBytes",
		},
		"maximum above line rate": {
			change: func(in input) {
				in.Run.Spec.Experiment.Measurements.Throughput.MaximumFramesPerSecond = new(int64(15_000_000))
			},
			reason:  v1alpha1.ReasonLoadAboveLineRate,
			message: []string{"measurements.throughput.maximumFramesPerSecond is 15000000", "14880952 frames/s of 64 bytes"},
			remedy:  "spec.ports.linkBitsPerSecond",
		},
		"minimum above line rate": {
			change:  func(in input) { in.Testbed.Spec.Ports.LinkBitsPerSecond = 1_000_000 },
			reason:  v1alpha1.ReasonLoadAboveLineRate,
			message: []string{"measurements.throughput.minimumFramesPerSecond is 1000", "512 bytes"},
			remedy:  "lower the run's spec.experiment.measurements.throughput.minimumFramesPerSecond",
		},
		"no Multus": {
			change:  func(in input) { in.Networks = nil },
			reason:  v1alpha1.ReasonNetworkAttachmentMissing,
			message: []string{"NetworkAttachmentDefinition"},
			remedy:  "install Multus",
		},
		"networks missing": {
			change: func(in input) {
				in.Networks = map[string]bool{"there": true}
				in.Testbed.Spec.Ports.West = plantest.ExistingNetwork("gone", "there")
				in.Testbed.Spec.Ports.East = plantest.ExistingNetwork("there", "gone-too")
			},
			reason: v1alpha1.ReasonNetworkAttachmentMissing,
			message: []string{
				`"gone" in namespace "benchmarks" (spec.ports.west.networkAttachmentDefinition.generatorRef)`,
				`"gone-too" in namespace "benchmarks" (spec.ports.east.networkAttachmentDefinition.deviceRef)`,
			},
			remedy: "spec.ports",
		},
		"network of another namespace missing": {
			change: func(in input) {
				in.Networks = map[string]bool{"there": true}
				in.Testbed.Spec.Ports.West = plantest.ExistingNetwork("there", "there")
				in.Testbed.Spec.Ports.West.NetworkAttachmentDefinition.DeviceRef.Namespace = "lab"
			},
			reason:  v1alpha1.ReasonNetworkAttachmentMissing,
			message: []string{`"there" in namespace "lab" (spec.ports.west.networkAttachmentDefinition.deviceRef)`},
			remedy:  "spec.ports",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := plantest.Input(2)
			test.change(&in)
			expectFailure(t, failureOf(t, in), test.reason, test.message, test.remedy)
		})
	}
}

func expectFailure(t *testing.T, failure *measure.Failure, reason string, message []string, remedy string) {
	t.Helper()
	if failure.Reason != reason {
		t.Errorf("reason %q, want %q", failure.Reason, reason)
	}
	for _, part := range message {
		if !strings.Contains(failure.Err.Error(), part) {
			t.Errorf("message %q lacks %q", failure.Err, part)
		}
	}
	if !strings.Contains(failure.Remedy, remedy) {
		t.Errorf("remedy %q lacks %q", failure.Remedy, remedy)
	}
	if strings.Contains(failure.Error(), "\n") {
		t.Errorf("more than one line: %q", failure)
	}
}

// TestLineRateIsAllowed checks that the bounds themselves are not failures.
func TestLineRateIsAllowed(t *testing.T) {
	in := plantest.Input(1)
	in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{xdp.MaxFrameBytes}
	in.Testbed.Spec.Ports.MTUBytes = xdp.MaxFrameBytes - 18
	lineRate := measure.LineRateFramesPerSecond(1e10, xdp.MaxFrameBytes)
	in.Run.Spec.Experiment.Measurements.Throughput.MaximumFramesPerSecond = new(int64(lineRate))
	mustMake(t, in)
}
