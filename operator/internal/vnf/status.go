package vnf

import (
	"encoding/json"
	"fmt"
	"time"
)

const (
	// PathStatus is the path at which a function serves its Status.
	PathStatus = "/status"
	// StatusVersion is the version of Status. It increases when a reader of the
	// older layout would misread the newer one.
	StatusVersion = 1
)

// Status is the document at PathStatus. A machine without a usable configuration
// has no function, name, digest and ports.
type Status struct {
	Version  int    `json:"version"`
	Function string `json:"function"`
	Name     string `json:"name"`
	// ConfigurationDigest is the digest of the Config.
	ConfigurationDigest string    `json:"configurationDigest"`
	StartedAt           time.Time `json:"startedAt"`
	Ready               bool      `json:"ready"`
	// Reasons say why the function is not ready.
	Reasons []string     `json:"reasons,omitempty"`
	Ports   []PortStatus `json:"ports"`
	FunctionStatus
	// CPU counts from StartedAt: a restarted container counts from 0 again.
	CPU        *CPUUsage `json:"cpu,omitempty"`
	CPUProblem string    `json:"cpuProblem,omitempty"`
}

// FunctionStatus is what a function adds to the status of a router.
type FunctionStatus struct {
	State
	// Counters only rise while the function runs. The key is the counter's name
	// with its unit, such as "matchedPackets". Each function's settings define its
	// names. Nil: the function has none, or CountersProblem says why.
	Counters        map[string]int64 `json:"counters,omitempty"`
	CountersProblem string           `json:"countersProblem,omitempty"`
}

// PortStatus is the kernel's current state of one port.
type PortStatus struct {
	Name string `json:"name"`
	// Interface is empty when there is none; Problem says why.
	Interface string `json:"interface,omitempty"`
	Problem   string `json:"problem,omitempty"`
	MAC       string `json:"mac,omitempty"`
	MTUBytes  int    `json:"mtuBytes,omitempty"`
	// Up is the requested state of the link, LowerUp whether it has a carrier.
	Up       bool          `json:"up"`
	LowerUp  bool          `json:"lowerUp"`
	Counters *PortCounters `json:"counters,omitempty"`
}

// PortCounters are the kernel's own counters since the interface was made. They
// do not count frames that an XDP program took before the kernel received them.
type PortCounters struct {
	RxPackets uint64 `json:"rxPackets"`
	RxBytes   uint64 `json:"rxBytes"`
	// RxDropped has the frames that a network card lost whose ring was full, too. Drivers of virtual functions, such as igbvf, do
	// not count those.
	RxDropped uint64 `json:"rxDropped"`
	RxErrors  uint64 `json:"rxErrors"`
	TxPackets uint64 `json:"txPackets"`
	TxBytes   uint64 `json:"txBytes"`
	TxDropped uint64 `json:"txDropped"`
	TxErrors  uint64 `json:"txErrors"`
}

// ParseStatus reads a function's answer. It ignores unknown fields, so that a
// function of another release can answer. It refuses a status of another layout.
func ParseStatus(data []byte) (*Status, error) {
	var layout struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &layout); err != nil {
		return nil, err
	}
	if layout.Version != StatusVersion {
		return nil, fmt.Errorf("its status has version %d, want %d: use a function's image of the operator's release", layout.Version, StatusVersion)
	}
	status := &Status{}
	if err := json.Unmarshal(data, status); err != nil {
		return nil, err
	}
	return status, nil
}
