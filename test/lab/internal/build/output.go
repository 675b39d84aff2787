package build

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

// compilerOutput parses what "go build -v" writes: the packages as they are compiled, downloads,
// and error messages.
type compilerOutput struct {
	mu        sync.Mutex
	partial   []byte
	packages  int
	last      string
	complaint []string
}

// Write accepts the output as it comes.
func (o *compilerOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.partial = append(o.partial, p...)
	for {
		line, rest, found := bytes.Cut(o.partial, []byte("\n"))
		if !found {
			return len(p), nil
		}
		o.take(string(line))
		o.partial = rest
	}
}

func (o *compilerOutput) take(line string) {
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		o.last = strings.TrimPrefix(line, "go: ")
	case strings.ContainsAny(line, " \t:#"): // not a package's name
		o.complaint = append(o.complaint, line)
	case line != "":
		o.packages++
		o.last = line
	}
}

// summary returns in a few words how far the compiler is.
func (o *compilerOutput) summary() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == "" {
		return "(looking at what is compiled already)"
	}
	return fmt.Sprintf("(%d packages, %s)", o.packages, o.last)
}

// complaints returns the compiler's error messages.
func (o *compilerOutput) complaints() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.complaint, "\n")
}
