//go:build linux

package guest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"vnfbench.io/operator/internal/guest/modules"
)

// calledAs are the sub-commands by the names under which a guest's kernel calls
// its program.
var calledAs = map[string]string{"init": "init", "modprobe": "modprobe"}

// Arguments returns the command line, with the sub-command that the program's
// own name represents.
func Arguments(line []string) []string {
	if name, found := calledAs[filepath.Base(line[0])]; found {
		return append([]string{name}, line[1:]...)
	}
	return line[1:]
}

// Program is what a guest's one program does.
type Program struct {
	// Name is the program's, such as "vnf".
	Name string
	// Whose names the owner of the second process, for people: "function".
	Whose string
	// Purpose describes what Run does: "Make the machine a network function".
	Purpose string
	// Run is the second process. It ends with the context, or when the power
	// button is pushed. Failed, when set, is why the process before it ended:
	// then Run only reports that. It returns only what makes reporting
	// impossible.
	Run func(ctx context.Context, failed string, log *slog.Logger) error
}

// Commands returns the sub-commands that make a program a guest's: the first
// process, the second one, and the kernel's command to load modules.
func (p Program) Commands() []*cobra.Command {
	return []*cobra.Command{p.initCommand(), p.guestCommand(), modprobeCommand()}
}

func (p Program) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Run as the first process of a guest",
		// The kernel passes on the arguments that it does not know.
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			if os.Getpid() != 1 {
				return errNotFirst
			}
			err := Init(p.Whose, []string{"/proc/self/exe", "guest"})
			if err != nil {
				// The first process must not end: the kernel would panic, and the
				// reason would be lost.
				fmt.Fprintf(os.Stderr, "%s: not ready: %v\n", p.Name, err)
				for {
					time.Sleep(time.Hour)
				}
			}
			return PowerOff()
		},
	}
}

func (p Program) guestCommand() *cobra.Command {
	var failed string
	command := &cobra.Command{
		Use:   "guest",
		Short: p.Purpose + "; the first process starts it",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if os.Getppid() != 1 {
				return errors.New("this is not a guest: its first process starts this command")
			}
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			if err := p.Run(ctx, failed, NewLogger(os.Stdout)); err != nil {
				return err
			}
			return PowerOff()
		},
	}
	command.Flags().StringVar(&failed, failedFlag, "", "why the process before this one ended; report that and do nothing else")
	return command
}

func modprobeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "modprobe [-q] [--] NAME...",
		Short: "Load kernel modules by name or alias; a guest's kernel calls it",
		// The kernel calls "modprobe -q -- NAME"; no other flag has a meaning.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		Args:               cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, names []string) error {
			index, err := modules.Open()
			if err != nil {
				return err
			}
			for _, name := range names {
				loaded, err := index.Load(name)
				if err != nil && len(loaded) == 0 {
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
