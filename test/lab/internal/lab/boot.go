package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sys/unix"

	"vnfbench.io/test/lab/internal/machine"
	"vnfbench.io/test/lab/internal/node"
	"vnfbench.io/test/lab/internal/progress"
)

// errCannotBoot is the error of a machine that does not start. Nothing waits for it any longer.
var errCannotBoot = errors.New("the machine does not start")

const (
	// silenceTimeout is longer than a machine whose processor is emulated on a busy computer takes from one line of its
	// logs to the next.
	silenceTimeout = 5 * time.Minute
	// maxEnds is how often QEMU may end before the machine is given up. On a computer that is too busy a kernel may panic
	// that starts well the next time.
	maxEnds = 2
	// fullDiskBytes is what a machine that runs needs at the least on the disk of its directory.
	fullDiskBytes = 64 << 20
)

// What the kernel says when it panics, and when it does because the lab's program in the machine has ended. That
// program would end for the same reason the next time.
const (
	kernelPanic = "Kernel panic"
	initEnded   = "Attempted to kill init"
)

// bootWatch looks from outside at a machine that starts: at its serial line, and at the logs that it shares.
type bootWatch struct {
	name, logDir string
	log          *progress.Log
	now          func() time.Time
	// serial and node are what follows the serial line and the log of the process that runs QEMU.
	serial, node follower
	// tail has the last lines of the serial line. What follows a panic until QEMU ends is left out: many lines, of which
	// none says why.
	tail       []string
	afterPanic bool
	ends       int
	// logBytes is the size of all logs, and grew when it last changed.
	logBytes int64
	grew     time.Time
}

// maxTail is how many lines of the serial line a message shows.
const maxTail = 15

// watchBoot begins to look at a machine. What its logs say already is from before.
func (m member) watchBoot() *bootWatch {
	w := &bootWatch{
		name: m.node.Name(), logDir: m.logDir(), log: m.lab.Log, now: time.Now,
		serial: follower{path: filepath.Join(m.logDir(), machine.ConsoleLog)},
		node:   follower{path: filepath.Join(m.logDir(), "node.log")},
	}
	w.grew = w.now()
	w.serial.skip()
	w.node.skip()
	return w
}

// look returns an error of errCannotBoot, with the last lines of the serial line, as soon as it is known that the
// machine does not start.
func (w *bootWatch) look() error {
	panicked, noInit := false, false
	lines, err := w.serial.lines()
	if err != nil {
		return fmt.Errorf("reading the serial line of %s: %w", w.name, err)
	}
	for _, line := range lines {
		if w.afterPanic {
			break
		}
		w.tail = append(w.tail, line)
		w.afterPanic = strings.Contains(line, kernelPanic)
		panicked = panicked || w.afterPanic
		noInit = noInit || strings.Contains(line, initEnded)
	}
	w.tail = w.tail[max(0, len(w.tail)-maxTail):]
	ended := false
	if lines, err = w.node.lines(); err != nil {
		return fmt.Errorf("reading the log of %s: %w", w.name, err)
	}
	for _, line := range lines {
		if node.ReportsEnd(line, node.QEMU) {
			w.ends++
			ended = true
		}
	}
	switch {
	case noInit:
		return w.failure("its first process ended")
	case w.ends >= maxEnds:
		return w.failure(fmt.Sprintf("QEMU ended %d times", w.ends))
	case panicked:
		w.log.Printf("the kernel of %s panicked; %s", w.name, w.evidence())
	case ended:
		w.log.Printf("the QEMU of %s ended, and starts again; %s", w.name, w.evidence())
	}
	if ended {
		w.afterPanic = false
	}
	if bytes, err := w.size(); err != nil {
		return fmt.Errorf("looking at the logs of %s: %w", w.name, err)
	} else if bytes != w.logBytes {
		w.logBytes, w.grew = bytes, w.now()
	}
	if silent := w.now().Sub(w.grew); silent > silenceTimeout {
		return w.failure(fmt.Sprintf("nothing was added to its logs for %s", silent.Round(time.Second)))
	}
	return nil
}

func (w *bootWatch) failure(what string) error {
	return fmt.Errorf("%w: %s; %s", errCannotBoot, what, w.evidence())
}

// evidence returns what explains that the machine does not start: a disk that is full, what QEMU said last, and the last
// lines of the serial line.
func (w *bootWatch) evidence() string {
	text := ""
	var disk unix.Statfs_t
	if err := unix.Statfs(w.logDir, &disk); err == nil && disk.Bavail*uint64(disk.Bsize) < fullDiskBytes {
		text = fmt.Sprintf("the disk of %s is full: make room; ", w.logDir)
	}
	qemu := follower{path: filepath.Join(w.logDir, node.QEMU+".log")}
	lines, err := qemu.lines()
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, ": warning: ") })
	if err == nil && len(lines) > 0 { // without them the rest is still worth saying
		text += "QEMU said last: " + lines[len(lines)-1] + "; "
	}
	last := w.tail[:len(w.tail):len(w.tail)]
	if !w.afterPanic {
		last = append(last, w.serial.rest)
	}
	if strings.Join(last, "") == "" {
		return text + "its serial line, " + w.serial.path + ", is empty"
	}
	text += "the last lines of its serial line, " + w.serial.path + ":"
	for _, line := range last {
		if line = printable(line); line != "" {
			text += "\n  " + line
		}
	}
	return text
}

// printable returns what a terminal may show of a line.
func printable(line string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, line))
}

// size returns the size of all files in the directory of the logs.
func (w *bootWatch) size() (int64, error) {
	entries, err := os.ReadDir(w.logDir)
	if err != nil {
		return 0, err
	}
	var bytes int64
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil { // it may be gone already
			bytes += info.Size()
		}
	}
	return bytes, nil
}

// waiting returns a step that repeats ask until there is no error, or until the machine is known not to start.
func (w *bootWatch) waiting(ask func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := pollFor(ctx, machineTimeout, 10*pollInterval, func(ctx context.Context) error {
			err := ask(ctx)
			if err == nil {
				return nil
			}
			if failure := w.look(); failure != nil {
				return failure // it says more than that nothing answers
			}
			return err
		})
		if err == nil || errors.Is(err, errCannotBoot) || ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("%w; %s", err, w.evidence())
	}
}

// follower reads the lines that are added to a file.
type follower struct {
	path   string
	offset int64
	// rest is the beginning of a line that has no end yet.
	rest string
}

// skip leaves out what is in the file.
func (f *follower) skip() {
	if info, err := os.Stat(f.path); err == nil { // otherwise it comes later
		f.offset = info.Size()
	}
}

// maxReadBytes bounds what one call of lines reads.
const maxReadBytes = 1 << 20

// lines returns the lines that were added since the last call, none while there is no file.
func (f *follower) lines() ([]string, error) {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.NewSectionReader(file, f.offset, maxReadBytes))
	if err != nil {
		return nil, err
	}
	f.offset += int64(len(data))
	text := f.rest + string(data)
	end := strings.LastIndexByte(text, '\n')
	f.rest = text[end+1:]
	var lines []string
	for line := range strings.Lines(text[:end+1]) {
		lines = append(lines, strings.TrimRight(line, "\r\n"))
	}
	return lines, nil
}
