package node

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/test/lab/internal/machine"
)

// keepCardsUp keeps the machine's network cards up until ctx is done.
func keepCardsUp(ctx context.Context) {
	var names []string
	for _, nic := range machine.NICs {
		names = append(names, nic.Name)
	}
	for ctx.Err() == nil {
		if err := keepUp(ctx, names); err != nil {
			slog.Warn("Watching network cards again", "err", err)
		}
		time.Sleep(time.Second)
	}
}

// keepUp starts those of the named interfaces that are down, also when one comes back from a pod, until ctx is done or
// the kernel's messages end. A network manager does so on other nodes, and the machine has none: the plugin
// host-device leaves a card down that it gives back, and the card's virtual functions have no link then.
func keepUp(ctx context.Context, names []string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var failed error
	updates := make(chan netlink.LinkUpdate)
	err := netlink.LinkSubscribeWithOptions(updates, ctx.Done(), netlink.LinkSubscribeOptions{
		ListExisting: true, ErrorCallback: func(err error) { failed = err },
	})
	if err != nil {
		return fmt.Errorf("subscribing to messages about interfaces: %w", err)
	}
	for update := range updates {
		attributes := update.Attrs()
		isUp := attributes.Flags&net.FlagUp != 0
		if update.Header.Type != unix.RTM_NEWLINK || isUp || !slices.Contains(names, attributes.Name) {
			continue
		}
		// It is down for a moment too when a pod takes it, and is gone then.
		if err := netlink.LinkSetUp(update.Link); err == nil {
			slog.Info("Network card started", "name", attributes.Name)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return failed
}
