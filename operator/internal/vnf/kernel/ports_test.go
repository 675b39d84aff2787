//go:build linux

package kernel

import (
	"testing"

	"github.com/vishvananda/netlink"
)

// TestReceiveDrops checks that frames that a network card lost count as dropped, under whichever name its driver reports them.
func TestReceiveDrops(t *testing.T) {
	for name, s := range map[string]netlink.LinkStatistics{
		"the kernel dropped them":  {RxDropped: 3},
		"missed (igb: MPC)":        {RxMissedErrors: 3},
		"a full FIFO (igb: RQDPC)": {RxFifoErrors: 3},
		"some of each":             {RxDropped: 1, RxMissedErrors: 1, RxFifoErrors: 1, RxErrors: 7, RxPackets: 9},
	} {
		if got := receiveDrops(&s); got != 3 {
			t.Errorf("%s: %d, want 3", name, got)
		}
	}
}
