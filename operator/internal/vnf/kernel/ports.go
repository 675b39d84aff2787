//go:build linux

package kernel

import (
	"golang.org/x/sys/unix"
)

// PortStatus is one port as the kernel has it now.
type PortStatus struct {
	Name string `json:"name"`
	// Interface is empty when there is none; Problem says why.
	Interface string `json:"interface,omitempty"`
	Problem   string `json:"problem,omitempty"`
	MAC       string `json:"mac,omitempty"`
	MTUBytes  int    `json:"mtuBytes,omitempty"`
	// Up is what was asked of the link, LowerUp whether it has a carrier.
	Up       bool      `json:"up"`
	LowerUp  bool      `json:"lowerUp"`
	Counters *Counters `json:"counters,omitempty"`
}

// Counters are the kernel's own, since the interface was made. They do not
// count frames that an XDP program took before the kernel saw them.
type Counters struct {
	RxPackets uint64 `json:"rxPackets"`
	RxBytes   uint64 `json:"rxBytes"`
	RxDropped uint64 `json:"rxDropped"`
	RxErrors  uint64 `json:"rxErrors"`
	TxPackets uint64 `json:"txPackets"`
	TxBytes   uint64 `json:"txBytes"`
	TxDropped uint64 `json:"txDropped"`
	TxErrors  uint64 `json:"txErrors"`
}

// Ports is every port's state and counters, in the configuration's order.
func (f *Function) Ports() []PortStatus {
	statuses := make([]PortStatus, 0, len(f.config.Ports))
	for _, port := range f.config.Ports {
		status := PortStatus{Name: port.Name}
		link, err := findLink(port)
		if err != nil {
			status.Problem = err.Error()
			statuses = append(statuses, status)
			continue
		}
		attrs := link.Attrs()
		status.Interface = attrs.Name
		status.MAC = attrs.HardwareAddr.String()
		status.MTUBytes = attrs.MTU
		status.Up = attrs.RawFlags&unix.IFF_UP != 0
		status.LowerUp = attrs.RawFlags&unix.IFF_LOWER_UP != 0
		if s := attrs.Statistics; s != nil {
			status.Counters = &Counters{
				RxPackets: s.RxPackets, RxBytes: s.RxBytes, RxDropped: s.RxDropped, RxErrors: s.RxErrors,
				TxPackets: s.TxPackets, TxBytes: s.TxBytes, TxDropped: s.TxDropped, TxErrors: s.TxErrors,
			}
		}
		statuses = append(statuses, status)
	}
	return statuses
}
