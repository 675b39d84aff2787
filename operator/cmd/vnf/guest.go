//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"vnfbench.io/operator/internal/guest"
	"vnfbench.io/operator/internal/guest/modules"
)

// calledAs are the sub-commands by the names that a guest's kernel calls this
// program by.
var calledAs = map[string]string{"init": "init", "modprobe": "modprobe"}

// arguments are the command line, with the sub-command that the program's own
// name stands for.
func arguments(line []string) []string {
	if name, found := calledAs[filepath.Base(line[0])]; found {
		return append([]string{name}, line[1:]...)
	}
	return line[1:]
}

func newInitCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Be the first process of a guest",
		// The kernel hands on what it does not know of its own command line.
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			if os.Getpid() != 1 {
				return errors.New("this is not the first process of a machine: it would mount file systems and power off")
			}
			err := guest.Init([]string{"/proc/self/exe", "guest"})
			if err != nil {
				// The first process must not end: the kernel would panic, and
				// the reason be lost.
				fmt.Fprintln(os.Stderr, "vnf: not ready:", err)
				for {
					time.Sleep(time.Hour)
				}
			}
			return guest.PowerOff()
		},
	}
}

func newGuestCommand() *cobra.Command {
	var failed string
	command := &cobra.Command{
		Use:   "guest",
		Short: "Make the machine a network function; the first process starts it",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if os.Getppid() != 1 {
				return errors.New("this is not a guest: its first process starts this command")
			}
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			if err := guest.Run(ctx, failed, guest.NewLogger(os.Stdout)); err != nil {
				return err
			}
			return guest.PowerOff()
		},
	}
	command.Flags().StringVar(&failed, "failed", "", "why the process before this one ended; tell that and do nothing else")
	return command
}

func newModprobeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "modprobe [-q] [--] NAME...",
		Short: "Load kernel modules by name or alias; a guest's kernel calls it",
		// The kernel calls "modprobe -q -- NAME"; no other flag means a thing.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		Args:               cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, names []string) error {
			index, err := modules.Open()
			if err != nil {
				return err
			}
			for _, name := range names {
				loaded, err := index.Load(name)
				if err != nil {
					return err
				}
				if len(loaded) == 0 && !index.Builtin(name) {
					return fmt.Errorf("no module %q", name)
				}
			}
			return nil
		},
	}
}
