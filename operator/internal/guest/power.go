//go:build linux

package guest

import (
	"context"
	"encoding/binary"
	"log/slog"
	"os"
	"path/filepath"
)

const (
	// A struct input_event on 64 bit: two words of time, then type, code and
	// value (linux/input.h).
	eventBytes  = 24
	eventKind   = 16
	eventCode   = 18
	eventValue  = 20
	kindKey     = 1
	keyPower    = 116
	valuePushed = 1
)

// watchPower calls pushed when a power button is pushed. It follows the input
// devices that are present at the call.
func watchPower(ctx context.Context, log *slog.Logger, pushed func()) {
	paths, err := filepath.Glob("/dev/input/event*")
	if err != nil {
		panic(err) // the pattern is well formed
	}
	for _, path := range paths {
		device, err := os.Open(path)
		if err != nil {
			log.Warn("input device", "device", path, "problem", err.Error())
			continue
		}
		context.AfterFunc(ctx, func() { _ = device.Close() })
		go func() {
			event := make([]byte, eventBytes)
			for {
				// The kernel returns only whole events.
				if n, err := device.Read(event); err != nil || n != eventBytes {
					return
				}
				if isPowerButton(event) {
					pushed()
				}
			}
		}()
	}
}

func isPowerButton(event []byte) bool {
	order := binary.NativeEndian
	return order.Uint16(event[eventKind:]) == kindKey &&
		order.Uint16(event[eventCode:]) == keyPower &&
		order.Uint32(event[eventValue:]) == valuePushed
}
