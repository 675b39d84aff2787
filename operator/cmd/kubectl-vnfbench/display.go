package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"vnfbench.io/operator/api/v1alpha1"
)

// lineInterval is the minimum time between log lines of one stage.
const lineInterval = 5 * time.Second

// display shows views. It never mentions the end of the run.
type display interface {
	show(view)
	note(string)
	// close leaves the cursor on an empty line.
	close()
}

// newDisplay returns a display that redraws one line on a terminal and writes a log elsewhere.
func newDisplay(out io.Writer) display {
	if !isTerminal(out) {
		return &log{out: out, now: time.Now}
	}
	file := out.(*os.File)
	return &redrawn{out: out, width: func() int {
		width, _, err := term.GetSize(int(file.Fd()))
		if err != nil {
			return 80
		}
		return width - 1
	}}
}

// isTerminal reports whether what is written can be redrawn.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
}

// log writes a line for each change of the stage, and otherwise at most one in each lineInterval.
type log struct {
	out   io.Writer
	now   func() time.Time
	stage string
	text  string
	last  time.Time
}

func (l *log) show(v view) {
	text, stage := v.text(), fmt.Sprint(v.stage, v.queue)
	now := l.now()
	if text == l.text || (stage == l.stage && now.Sub(l.last) < lineInterval) {
		return
	}
	l.text, l.stage, l.last = text, stage, now
	fmt.Fprintln(l.out, text)
}

func (l *log) note(text string) {
	fmt.Fprintln(l.out, text)
	// Write what follows a note even if it was written before.
	l.text, l.stage = "", ""
}

func (l *log) close() {}

// redrawn keeps one line of a terminal up to date.
type redrawn struct {
	out   io.Writer
	width func() int
	drawn bool
}

// clearLine erases from the cursor to the end of the line (ECMA-48 EL).
const clearLine = "\x1b[K"

func (r *redrawn) show(v view)      { r.draw(v.bar(r.width())) }
func (r *redrawn) note(text string) { r.draw(clip(text, max(r.width(), minWidth))) }

func (r *redrawn) draw(line string) {
	fmt.Fprintf(r.out, "\r%s%s", line, clearLine)
	r.drawn = true
}

func (r *redrawn) close() {
	if r.drawn {
		fmt.Fprintln(r.out)
	}
}

// narrator is the observer that shows what a follower sees.
type narrator struct {
	display display
	// last is the latest view; its stage is empty before the first.
	last   view
	isLost bool
}

func (n *narrator) saw(run *v1alpha1.BenchmarkRun) {
	n.last, n.isLost = viewOf(run), false
	if n.last.outcome == nil {
		n.display.show(n.last)
	}
}

func (n *narrator) lost(err error) {
	if n.isLost {
		return
	}
	n.isLost = true
	n.display.note(fmt.Sprintf("the watch was interrupted (%v); trying again, the run itself is not affected", err))
}
