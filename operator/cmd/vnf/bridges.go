//go:build linux

package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"
	"github.com/vishvananda/netlink"
)

func newDeleteBridgesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "delete-bridges NAME...",
		Short: "Delete the named bridges that have no port left",
		Long: `Delete the named bridges of this network namespace.

The CNI bridge plugin makes bridges and never removes them. A name that does
not exist is skipped. A link that is not a bridge, or a bridge that still has a
port, is left alone and makes the command fail.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, names []string) error {
			var failures []error
			for _, name := range names {
				failures = append(failures, deleteBridge(name, newLogger()))
			}
			return errors.Join(failures...)
		},
	}
}

func deleteBridge(name string, log *slog.Logger) error {
	link, err := netlink.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for %q: %w", name, err)
	}
	if link.Type() != "bridge" {
		return fmt.Errorf("%q is a %s, not a bridge", name, link.Type())
	}
	links, err := netlink.LinkList()
	if err != nil {
		return fmt.Errorf("listing the ports of %q: %w", name, err)
	}
	for _, port := range links {
		if port.Attrs().MasterIndex == link.Attrs().Index {
			return fmt.Errorf("bridge %q still has port %q", name, port.Attrs().Name)
		}
	}
	log.Info("deleting bridge", "bridge", name)
	if err := netlink.LinkDel(link); err != nil {
		return fmt.Errorf("deleting bridge %q: %w", name, err)
	}
	return nil
}
