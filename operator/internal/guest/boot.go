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

// Boot starts the second process: it loads the modules of the present devices,
// so that disks and cards can be found, and calls pushed when the power button
// is pushed. It returns the index of the kernel's modules, for modules that no
// device requests.
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
	// The guest may not need the refused device. A later step reports what is
	// missing.
	if err := loadDevices(index, log); err != nil {
		log.Warn("loading modules", "problem", err.Error())
	}
	watchPower(ctx, log, func() {
		log.Info("the power button was pushed")
		pushed()
	})
	return index, nil
}

// loadDevices loads the modules of the machine's devices, and the module that
// makes the files for button presses, which no device requests.
func loadDevices(index *modules.Index, log *slog.Logger) error {
	loaded, err := index.Devices(os.DirFS("/sys"))
	_, buttons := index.Load("evdev")
	log.Info("modules for this machine's devices", "modules", strings.Join(loaded, " "))
	return errors.Join(err, buttons)
}
