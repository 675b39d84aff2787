package report

import (
	"bytes"
	"strings"
	"testing"
)

// TestCycles checks that cycles for each frame are in the table of the node and in the CSV, and that nothing of them is
// there where they were not counted.
func TestCycles(t *testing.T) {
	for name, test := range map[string]struct {
		cycles      *int64
		table, line bool
	}{
		"counted":     {new(int64(4321)), true, true},
		"not counted": {nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			run, records := fixture(t)
			for _, c := range run.Status.CPU {
				if c.Node != nil && c.Node.PerFrame != nil {
					c.Node.PerFrame.Cycles = test.cycles
				}
			}
			doc := mustBuild(t, run, records)
			var table, lines bytes.Buffer
			if err := Write(&table, doc, FormatTable, Options{}); err != nil {
				t.Fatal(err)
			}
			if err := Write(&lines, doc, FormatCSV, Options{}); err != nil {
				t.Fatal(err)
			}
			if has := strings.Contains(table.String(), "Cycles") && strings.Contains(table.String(), "4321"); has != test.table {
				t.Errorf("the table has cycles: %v\n%s", has, table.String())
			}
			if has := strings.Contains(lines.String(), ",NodeCyclesPerFrame,"); has != test.line {
				t.Errorf("the CSV has cycles: %v", has)
			}
		})
	}
}
