package nodefacts

import (
	"fmt"
	"io/fs"
	"math"
	"math/big"
	"os"
	"path"
	"strings"

	"github.com/safchain/ethtool"

	"vnfbench.io/operator/internal/measure"
)

// PortDriver asks the kernel which driver an interface of the calling thread's
// network namespace has, and reads where its device is. It needs no privilege. It leaves out what is not shown.
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
	system := os.DirFS("/sys")
	out.RPSCPUMask, out.PCI = steered(system, name), PCIDevice(system, out.Bus)
	return out, nil
}

// steered returns the mask of the CPUs that the kernel steers an interface's packets to (RPS), over its receive queues;
// "" for none, and where it does not show that. system is the root of sysfs, which shows the interfaces of the
// namespace that it was mounted in.
func steered(system fs.FS, name string) string {
	all := new(big.Int)
	// The pattern is valid.
	files, _ := fs.Glob(system, path.Join("class/net", name, "queues/rx-*/rps_cpus"))
	for _, file := range files {
		if mask, ok := new(big.Int).SetString(strings.ReplaceAll(readLine(system, file), ",", ""), 16); ok {
			all.Or(all, mask)
		}
	}
	if all.Sign() == 0 {
		return ""
	}
	return short(all.Text(16))
}
