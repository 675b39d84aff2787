package commandline

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Main runs a program until it is asked to stop, and ends the process: with 2 where its arguments are wrong, and with 1 where running it fails.
func Main[Options any](name string, parse func([]string, io.Writer) (Options, error), log func(Options) *Log, run func(context.Context, Options) error) {
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(2)
	}
	logger := log(o).logger(os.Stderr)
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	limitMemory()
	if err := run(ctrl.SetupSignalHandler(), o); err != nil {
		logger.Error(err, "Running "+name)
		os.Exit(1)
	}
}
