package machine

import (
	"fmt"

	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/measure"
)

// PortDriver asks the kernel what drives an interface of this network
// namespace. It takes no privilege.
func PortDriver(name string) (measure.PortDriver, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return measure.PortDriver{}, fmt.Errorf("asking for the driver of %q: %w", name, err)
	}
	defer func() { _ = unix.Close(socket) }()
	info, err := unix.IoctlGetEthtoolDrvinfo(socket, name)
	if err != nil {
		return measure.PortDriver{}, fmt.Errorf("asking for the driver of %q: %w", name, err)
	}
	return measure.PortDriver{
		Interface: name,
		Driver:    short(unix.ByteSliceToString(info.Driver[:])),
		Firmware:  short(unix.ByteSliceToString(info.Fw_version[:])),
		Bus:       short(unix.ByteSliceToString(info.Bus_info[:])),
	}, nil
}
