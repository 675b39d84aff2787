//go:build linux

package kernel

import (
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/vnf"
)

// Ports returns every port's state and counters, in the configuration's order.
func (f *Function) Ports() []vnf.PortStatus {
	statuses := make([]vnf.PortStatus, 0, len(f.config.Ports))
	for _, port := range f.config.Ports {
		status := vnf.PortStatus{Name: port.Name}
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
			status.Counters = &vnf.PortCounters{
				RxPackets: s.RxPackets, RxBytes: s.RxBytes, RxDropped: receiveDrops(s), RxErrors: s.RxErrors,
				TxPackets: s.TxPackets, TxBytes: s.TxBytes, TxDropped: s.TxDropped, TxErrors: s.TxErrors,
			}
		}
		statuses = append(statuses, status)
	}
	return statuses
}

// receiveDrops returns the frames that a port dropped on their way in: those that the kernel dropped, and what a network card
// lost whose ring was full, which drivers report under one of two other names. rx_errors has neither (linux/if_link.h).
func receiveDrops(s *netlink.LinkStatistics) uint64 {
	return s.RxDropped + s.RxMissedErrors + s.RxFifoErrors
}
