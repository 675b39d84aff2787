//go:build linux

package guest

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"strings"

	"vnfbench.io/operator/internal/guest/modules"
)

// Boot begins the second process: it loads the modules of the devices that are
// there, so that disks and cards can be found, and calls pushed when the power
// button is. It returns the index of the kernel's modules, for what no device
// asks for.
func Boot(ctx context.Context, pushed func(), log *slog.Logger) (*modules.Index, error) {
	release, err := modules.Release()
	if err != nil {
		return nil, err
	}
	log.Info("kernel", "release", release, "processors", runtime.NumCPU())
	index, err := modules.Open()
	if err != nil {
		return nil, err
	}
	// What a device refuses may be needed by nothing: what is missing in the
	// end says so itself.
	if err := loadDevices(index, log); err != nil {
		log.Warn("loading modules", "problem", err.Error())
	}
	watchPower(ctx, log, func() {
		log.Info("the power button was pushed")
		pushed()
	})
	return index, nil
}

// loadDevices loads what the machine's devices need, and what makes the files
// that button presses are read from; no device asks for that.
func loadDevices(index *modules.Index, log *slog.Logger) error {
	loaded, err := index.Devices(os.DirFS("/sys"))
	_, buttons := index.Load("evdev")
	log.Info("modules for this machine's devices", "modules", strings.Join(loaded, " "))
	return errors.Join(err, buttons)
}
