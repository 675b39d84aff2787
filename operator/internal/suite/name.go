package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

const (
	// maxNameBytes is the API's bound of a cell's name.
	maxNameBytes = 40
	hashDigits   = 6
	// onlyCell is the name of the cell of a suite without axes.
	onlyCell = "base"
)

var unreadable = regexp.MustCompile(`[^a-z0-9]+`)

// readable returns a text as a part of a DNS label, which may be empty.
func readable(text string) string {
	return strings.Trim(unreadable.ReplaceAllString(strings.ToLower(text), "-"), "-")
}

// shorten makes the names of the cells short and unique: to one that is too long, or that another cell has, it gives
// a few digits that follow from its values.
func (s *Suite) shorten() {
	seen := map[string]bool{}
	for i := range s.Cells {
		cell := &s.Cells[i]
		if cell.Name == "" {
			cell.Name = onlyCell
		}
		if len(cell.Name) > maxNameBytes || seen[cell.Name] {
			// A map is printed in the order of its keys.
			cell.Name = cut(cell.Name, fmt.Sprint(cell.Values), maxNameBytes)
		}
		seen[cell.Name] = true
	}
}

// cut returns the beginning of a name and a few digits that follow from a text, together at most limit bytes.
func cut(name, text string, limit int) string {
	sum := sha256.Sum256([]byte(text))
	kept := name[:min(len(name), limit-hashDigits-1)]
	return strings.TrimRight(kept, "-.") + "-" + hex.EncodeToString(sum[:])[:hashDigits]
}

// maxLabelValueBytes is Kubernetes' bound of a label's value.
const maxLabelValueBytes = 63

// ExperimentName returns the value of the label that names what a cell measures, the same for all executions of a suite.
func ExperimentName(suite, cell string) string {
	name := suite + "." + cell
	if len(name) > maxLabelValueBytes {
		return cut(name, name, maxLabelValueBytes)
	}
	return name
}

// RunName returns the name of the BenchmarkRun of a measurement. Attempts count from 1, as repeats do.
func RunName(execution, cell string, repeat, attempt int) string {
	name := fmt.Sprintf("%s-%s-%d", execution, cell, repeat)
	if attempt > 1 {
		name += fmt.Sprintf("-attempt-%d", attempt)
	}
	return name
}
