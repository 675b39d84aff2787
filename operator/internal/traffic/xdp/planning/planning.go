// Package planning is what the operator knows about the XDP driver: its limits, its
// settings and what its pod needs. It does not import the driver.
package planning

import (
	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/generator"
	"vnfbench.io/operator/internal/measure"
)

// Name is the driver's.
const Name = v1alpha1.DriverXDP

// MaxFrameBytes is the largest frame, check sequence included, that the driver sends. The
// kernel puts a live frame into one page of 4096 bytes, with two descriptions of its
// buffer (112), headroom (256) and the room for skb_shared_info (320). The driver still
// asks its own kernel, where these sizes may differ.
const MaxFrameBytes = 4096 - 112 - 256 - 320 + measure.FrameCheckSequenceBytes

// DefaultRingFrames is that of common network cards' receive rings; MaxRingFrames is what the
// programs have memory for.
const (
	DefaultRingFrames = 1024
	MaxRingFrames     = 16384
)

// Generator is the XDP driver.
var Generator = &generator.Generator{
	Name:          Name,
	Limits:        generator.Limits{MaxFrameBytes: MaxFrameBytes, Fragments: true, RandomTuples: true, ReceiveRing: true, Resolution: true, DelayVariation: true},
	DefaultMemory: "256Mi",
	Pod: func(testbed *v1alpha1.Testbed) generator.Pod {
		return generator.Pod{Capabilities: capabilities(testbed)}
	},
	Settings: func(testbed *v1alpha1.Testbed, _ [2]generator.Port) (any, error) { return settings(testbed), nil },
}

// Settings are the driver's in the measurer's instructions.
type Settings struct {
	// Threads is how many cores send; 0 lets the driver choose.
	Threads int `json:"threads"`
	// TransmitPath is "Auto", "Direct" or "InnerVeth".
	TransmitPath string `json:"transmitPath"`
	// Scheduling is "Fair" or "RealTime"; empty lets the driver choose.
	Scheduling string `json:"scheduling,omitempty"`
	// RingFrames is how many frames that are due may wait, 1 to MaxRingFrames; 0 means
	// DefaultRingFrames.
	RingFrames int `json:"ringFrames,omitempty"`
	// InterruptMicroseconds is for how long the ports may delay an interrupt; nil leaves them as
	// they are.
	InterruptMicroseconds *int `json:"interruptMicroseconds,omitempty"`
}

func settings(testbed *v1alpha1.Testbed) Settings {
	asked := testbed.Spec.Generator.XDP
	s := Settings{Threads: int(asked.Threads), TransmitPath: string(asked.TransmitPath)}
	// Instructions with the default omit the field, and so does their digest.
	if asked.Scheduling != v1alpha1.SchedulingAuto {
		s.Scheduling = string(asked.Scheduling)
	}
	if asked.RingFrames != DefaultRingFrames {
		s.RingFrames = int(asked.RingFrames)
	}
	if asked.InterruptMicroseconds != nil {
		s.InterruptMicroseconds = new(int(*asked.InterruptMicroseconds))
	}
	return s
}

// capabilities returns what the driver needs. BPF loads its programs. NET_ADMIN attaches
// them to the ports, runs them with live frames and makes the inner veth pair, all in the
// pod's own network namespace. SYS_NICE, if the testbed asks for it, makes the threads
// that send real-time threads.
func capabilities(testbed *v1alpha1.Testbed) []corev1.Capability {
	names := []corev1.Capability{"BPF", "NET_ADMIN"}
	if testbed.Spec.Generator.XDP.Scheduling == v1alpha1.SchedulingRealTime {
		names = append(names, "SYS_NICE")
	}
	return names
}
