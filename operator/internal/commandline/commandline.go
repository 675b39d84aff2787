// Package commandline has what the programs of an installation share that talk to the API server: kinds of flags, the log, the bound of their
// memory, and how they begin and end.
package commandline

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/go-logr/logr"
)

// List is a flag that can be repeated, or given once with commas.
type List []string

func (l *List) String() string { return strings.Join(*l, ",") }

// Set implements flag.Value.
func (l *List) Set(value string) error {
	for _, item := range strings.Split(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			*l = append(*l, item)
		}
	}
	return nil
}

// Log is the flags of the log.
type Log struct {
	Level  int
	Format string
}

// Add adds the flags.
func (l *Log) Add(flags *flag.FlagSet) {
	flags.IntVar(&l.Level, "log-level", 0, "0 state changes, 1 decisions, 4 mechanics")
	flags.StringVar(&l.Format, "log-format", "json", "json or text")
}

// Check returns what is wrong with the flags.
func (l *Log) Check() error {
	if l.Format != "json" && l.Format != "text" {
		return fmt.Errorf("flag -log-format is %q, want json or text", l.Format)
	}
	return nil
}

// logger returns a logger that writes lines up to the configured level.
func (l *Log) logger(output io.Writer) logr.Logger {
	handling := &slog.HandlerOptions{Level: slog.Level(-l.Level)}
	if l.Format == "text" {
		return logr.FromSlogHandler(slog.NewTextHandler(output, handling))
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(output, handling))
}
