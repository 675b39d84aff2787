package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A user who may write ConfigMaps decides what the results hold, and two characters of a list can take some
// hundred bytes in memory. So a value is looked at before it is decoded.
const (
	// MaximumValueBytes is more than one value of the results takes: the record of a trial with two
	// directions of 1024 slots has up to 115 KB.
	MaximumValueBytes = 128 << 10
	// maxValueCommas is more than a value has: the same record has 9,000.
	maxValueCommas = 10_000
)

// CheckValue returns why a value is none that the measurer or the operator stores in the results.
func CheckValue(text string) error {
	if len(text) > MaximumValueBytes {
		return fmt.Errorf("it has %d bytes, and a value has at most %d", len(text), MaximumValueBytes)
	}
	if commas := strings.Count(text, ","); commas > maxValueCommas {
		return fmt.Errorf("it has %d commas, and a value has at most %d", commas, maxValueCommas)
	}
	return nil
}

// Unmarshal decodes a value of the results that CheckValue allows.
func Unmarshal(text string, into any) error {
	if err := CheckValue(text); err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), into)
}

// Check returns why a record is none of a path with two ends.
func (r *Record) Check() error {
	var ways, tcp []Direction
	for _, d := range r.Outcome.Directions {
		ways = append(ways, d.Direction)
	}
	if r.Outcome.TCP != nil {
		for _, d := range r.Outcome.TCP.Directions {
			tcp = append(tcp, d.Direction)
		}
		if len(r.Outcome.TCP.Ends) > 2 {
			return fmt.Errorf("it has %d ends of TCP connections", len(r.Outcome.TCP.Ends))
		}
	}
	for _, directions := range [][]Direction{ways, tcp} {
		for i, d := range directions {
			if d != Forward && d != Reverse || slices.Contains(directions[:i], d) {
				return errors.New("it has directions that no path has")
			}
		}
	}
	return nil
}
