package nodefacts

import (
	"fmt"
	"math"

	"github.com/safchain/ethtool"

	"vnfbench.io/operator/internal/measure"
)

// PortDriver asks the kernel which driver an interface of the calling thread's
// network namespace has. It needs no privilege. It leaves out speed and queues
// if the driver does not report them.
func PortDriver(name string) (measure.PortDriver, error) {
	kernel, err := ethtool.NewEthtool()
	if err != nil {
		return measure.PortDriver{}, fmt.Errorf("asking for the driver of %q: %w", name, err)
	}
	defer kernel.Close()
	info, err := kernel.DriverInfo(name)
	if err != nil {
		return measure.PortDriver{}, fmt.Errorf("asking for the driver of %q: %w", name, err)
	}
	out := measure.PortDriver{Interface: name, Driver: short(info.Driver), Firmware: short(info.FwVersion), Bus: short(info.BusInfo)}
	// A link that is down has the speed -1, in 16 or in 32 bits.
	if speed, err := kernel.CmdGet(&ethtool.EthtoolCmd{}, name); err == nil && speed != math.MaxUint16 && speed != math.MaxUint32 {
		out.SpeedMegabitsPerSecond = int64(speed)
	}
	if channels, err := kernel.GetChannels(name); err == nil {
		out.Queues = int(channels.CombinedCount + max(channels.RxCount, channels.TxCount))
	}
	return out, nil
}
