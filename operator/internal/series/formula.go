package series

import (
	"strconv"
	"strings"
)

// Inert returns the text of a cell that no spreadsheet computes. A text that it could take for a formula gets an apostrophe before it, and a number does not.
func Inert(cell string) string {
	if _, err := strconv.ParseFloat(cell, 64); err != nil && startsFormula(strings.TrimLeft(cell, "\t\r\n ")) {
		return "'" + cell
	}
	return cell
}
