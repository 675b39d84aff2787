//go:build linux

package noisy

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"

	"vnfbench.io/operator/internal/guest"
	"vnfbench.io/operator/internal/neighbor"
)

// setUpPort gives a card its name and MTU and sets it up. Like a pod's port, it
// sends only the load's frames.
func setUpPort(port neighbor.GuestPort, cards guest.Cards, log *slog.Logger) error {
	card, found := cards.Port(port.MAC)
	if !found {
		return fmt.Errorf("no network card has the hardware address %s", port.MAC)
	}
	link, err := netlink.LinkByName(card.Interface)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetName(link, port.Name); err != nil {
		return fmt.Errorf("naming interface %q: %w", card.Interface, err)
	}
	if err := silence(port.Name); err != nil {
		return err
	}
	if err := netlink.LinkSetMTU(link, port.MTUBytes); err != nil {
		return fmt.Errorf("setting the MTU of its card (driver %s) to %d bytes: %w", card.Driver, port.MTUBytes, err)
	}
	queues, err := guest.Tune(port.Name)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("setting its card (driver %s) up: %w", card.Driver, err)
	}
	log.Info("port", "port", port.Name, "mac", card.MAC, "driver", card.Driver, "mtuBytes", port.MTUBytes, "queues", queues)
	return nil
}

// silence keeps the kernel from sending IPv6 messages. A kernel without IPv6 is
// silent.
func silence(iface string) error {
	parameter := filepath.Join("/proc/sys/net/ipv6/conf", iface, "disable_ipv6")
	if err := os.WriteFile(parameter, []byte("1"), 0o644); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("switching IPv6 off: %w", err)
	}
	return nil
}
