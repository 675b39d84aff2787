// Package guide runs the commands of the documentation in tests, exactly as a page shows them, so
// that a reader can rely on them. A page goes in; the output of its commands comes out. The test's
// values replace the examples in the page, such as a registry or a name.
package guide

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Guide is a page.
type Guide struct {
	page, folder string
	// blocks are the page's shell commands by their heading.
	blocks map[string][]string
	ran    map[string]bool
}

// Open reads a page of the tree at folder, where its commands will run.
func Open(t *testing.T, page, folder string) *Guide {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, page))
	if err != nil {
		t.Fatal(err)
	}
	g := &Guide{page: page, folder: folder, blocks: blocksOf(string(text)), ran: map[string]bool{}}
	if len(g.blocks) == 0 {
		t.Fatalf("%s has no commands", page)
	}
	return g
}

// blocksOf returns the text between ```sh and ```.
func blocksOf(text string) map[string][]string {
	blocks := map[string][]string{}
	heading, fence := "", ""
	var block strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "```"):
			if strings.TrimSpace(fence) == "```sh" {
				blocks[heading] = append(blocks[heading], block.String())
			}
			block.Reset()
			if fence == "" {
				fence = line
			} else {
				fence = ""
			}
		case fence != "":
			block.WriteString(line)
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
	}
	return blocks
}

// Run runs a block, counted from 0 under its heading, and returns its output. pairs are texts of
// the page and their replacements.
func (g *Guide) Run(t *testing.T, heading string, index int, pairs ...string) string {
	t.Helper()
	out, err := g.Try(t, heading, index, pairs...)
	if err != nil {
		t.Fatalf("%s, %q: %v\n%s", g.page, heading, err, out)
	}
	return out
}

// Try runs a block whose commands may fail.
func (g *Guide) Try(t *testing.T, heading string, index int, pairs ...string) (string, error) {
	t.Helper()
	return g.try(t, []Block{{heading, index}}, pairs)
}

// Block is commands of a page: those with a number, counted from 0, under a heading.
type Block struct {
	Heading string
	Index   int
}

// Together runs blocks one after the other in one shell, as a reader does.
func (g *Guide) Together(t *testing.T, blocks []Block, pairs ...string) string {
	t.Helper()
	out, err := g.try(t, blocks, pairs)
	if err != nil {
		t.Fatalf("%s, %v: %v\n%s", g.page, blocks, err, out)
	}
	return out
}

func (g *Guide) try(t *testing.T, blocks []Block, pairs []string) (string, error) {
	t.Helper()
	var all strings.Builder
	for _, block := range blocks {
		if block.Index >= len(g.blocks[block.Heading]) {
			t.Fatalf("%s has no commands number %d under %q", g.page, block.Index, block.Heading)
		}
		all.WriteString(g.blocks[block.Heading][block.Index])
		g.ran[fmt.Sprint(block.Heading, block.Index)] = true
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if !strings.Contains(all.String(), pairs[i]) {
			t.Fatalf("%s, %v: the commands do not contain %q:\n%s", g.page, blocks, pairs[i], all.String())
		}
	}
	commands := strings.NewReplacer(pairs...).Replace(all.String())
	began := time.Now()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir = g.folder
	out, err := cmd.CombinedOutput()
	t.Logf("%.1f s: %s", time.Since(began).Seconds(), strings.TrimSpace(commands))
	return string(out), err
}

// Whole checks that every command of the page was run, except those that are excused: heading and
// number, a colon, and why.
func (g *Guide) Whole(t *testing.T, excused ...string) {
	t.Helper()
	for _, excuse := range excused {
		block, why, found := strings.Cut(excuse, ": ")
		i := strings.LastIndex(block, " ")
		if !found || i < 0 || why == "" {
			t.Fatalf("%q is not HEADING NUMBER: REASON", excuse)
		}
		g.ran[block[:i]+block[i+1:]] = true
		t.Logf("%s, %q: NOT RUN: %s", g.page, block, why)
	}
	for heading, blocks := range g.blocks {
		for i := range blocks {
			if !g.ran[fmt.Sprint(heading, i)] {
				t.Errorf("%s, %q: no test runs these commands:\n%s", g.page, heading, blocks[i])
			}
		}
	}
}

// Root returns the project's root, for a test in a folder at any depth below it.
func Root(t *testing.T) string {
	t.Helper()
	path, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(path, "properdocs.yml")); missing == nil {
			return path
		}
		if filepath.Dir(path) == path {
			break
		}
		path = filepath.Dir(path)
	}
	t.Fatalf("this test is in no tree of the project: %v", err)
	return ""
}
