package report

import (
	"slices"
	"strings"
	"unicode"
)

// counterSection shows the increase of each function's own counters, with the
// number of sent frames. It knows no function: the counters' names say what they count.
func counterSection(doc Document) section {
	s := section{title: "Counted by each function", columns: []column{
		number("Size"), left("At"), left("Function"), number("Frames sent"),
	}}
	var names []string
	eachCPU(doc, func(c use) {
		for _, f := range c.Functions {
			for _, counter := range f.Counters {
				if !slices.Contains(names, counter.Name) {
					names = append(names, counter.Name)
				}
			}
		}
	})
	for _, name := range names {
		s.columns = append(s.columns, number(counterWords(name)))
	}
	eachCPU(doc, func(c use) {
		for _, f := range c.Functions {
			if len(f.Counters) == 0 {
				continue
			}
			row := []string{c.frames, usedFor(c.FigureKey), f.Name, countIfKnown(f.SentFrames)}
			for _, name := range names {
				if value, known := f.Counter(name); known {
					row = append(row, count(value))
				} else {
					row = append(row, none)
				}
			}
			s.rows = append(s.rows, row)
		}
	})
	if len(s.rows) > 0 {
		s.notes = []string{"The functions' own counters, read right before and right after the trials. What each one counts is in the documentation of its function."}
	}
	return s
}

// counterWords returns a counter's name in words: "Matched packets" for matchedPackets.
func counterWords(name string) string {
	var words strings.Builder
	for i, letter := range name {
		switch {
		case i == 0:
			words.WriteRune(unicode.ToUpper(letter))
		case unicode.IsUpper(letter):
			words.WriteByte(' ')
			words.WriteRune(unicode.ToLower(letter))
		default:
			words.WriteRune(letter)
		}
	}
	return words.String()
}
