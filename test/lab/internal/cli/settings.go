package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/mod/modfile"
)

const (
	defaultPort = 16443
	modulePath  = "vnfbench.io/test/lab"
)

// addFlags adds the flags of all sub-commands. Each also has an environment variable.
func (a *app) addFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&a.settings.StateDir, "state-dir", os.Getenv("VNFBENCH_LAB_STATE_DIR"),
		"directory of this lab (VNFBENCH_LAB_STATE_DIR; default: lab in the cache directory)")
	flags.IntVar(&a.settings.Port, "port", environmentNumber("VNFBENCH_LAB_PORT", defaultPort),
		"port of the API server on 127.0.0.1 (VNFBENCH_LAB_PORT)")
	flags.StringVar(&a.settings.SourceDir, "source-dir", os.Getenv("VNFBENCH_LAB_SOURCE_DIR"),
		"directory of the lab's go.mod (VNFBENCH_LAB_SOURCE_DIR; default: looked for)")
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return a.complete() }
}

// environmentNumber reads a variable. One that is no number is -1, which no setting allows.
func environmentNumber(name string, otherwise int) int {
	value := os.Getenv(name)
	if value == "" {
		return otherwise
	}
	number, err := strconv.Atoi(value)
	if err != nil {
		return -1
	}
	return number
}

// complete fills in the settings that were not given.
func (a *app) complete() error {
	s := &a.settings
	base, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("finding the cache directory: %w", err)
	}
	s.CacheDir = filepath.Join(base, "vnfbench")
	if s.StateDir == "" {
		s.StateDir = filepath.Join(s.CacheDir, "lab")
	}
	if s.StateDir, err = filepath.Abs(s.StateDir); err != nil {
		return fmt.Errorf("finding the state directory: %w", err)
	}
	if s.Port < 1 || s.Port > 65535 {
		return fmt.Errorf("the port %d is not between 1 and 65535", s.Port)
	}
	return nil
}

// findSource finds the lab's sources when they are needed: in or above the
// working directory, or above this program.
func (a *app) findSource() error {
	var starts []string
	if a.settings.SourceDir != "" {
		starts = []string{a.settings.SourceDir}
	} else {
		if dir, err := os.Getwd(); err == nil {
			starts = append(starts, dir)
		}
		if program, err := os.Executable(); err == nil {
			starts = append(starts, filepath.Dir(program))
		}
	}
	for _, start := range starts {
		for dir := start; ; dir = filepath.Dir(dir) {
			for _, candidate := range []string{dir, filepath.Join(dir, "test", "lab")} {
				if isSource(candidate) {
					a.settings.SourceDir = candidate
					return nil
				}
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return errors.New("the lab's sources are not found: run it inside of the project, or give --source-dir")
}

func isSource(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && modfile.ModulePath(data) == modulePath
}
