// Package study compares what suites measured with what a study has published: the study's claims and the documents of executions go in; a
// verdict for each claim, with what was measured and why, comes out. It is pure.
package study

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"
)

// File is the name of the file that has a study.
const File = "study.yaml"

// MaximumBytes limits such a file.
const MaximumBytes = 256 << 10

// Study is what a study asks, and what was published about it.
type Study struct {
	Name     string `json:"name"`
	Title    string `json:"title"`
	Question string `json:"question"`
	// Published says by whom, when and on what the published figures were measured.
	Published string `json:"published"`
	// Sizes are the ways in which it can be measured.
	Sizes []Size `json:"sizes"`
	// Answer are the figures that answer the question, Claims are those that were published.
	Answer []Finding `json:"answer"`
	Claims []Claim   `json:"claims"`
}

// Size is one way of measuring a study: for real hardware, or for the lab.
type Size struct {
	Name string `json:"name"`
	// Suites are the BenchmarkSuites, by the names that findings and claims have for them.
	Suites map[string]string `json:"suites"`
	// LeavesOut is what this size does not show.
	LeavesOut []string `json:"leavesOut,omitempty"`
}

// Finding is a figure that is measured.
type Finding struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	// CannotBeShown says why, by the names of sizes, or by "any" for all of them.
	CannotBeShown map[string]string `json:"cannotBeShown,omitempty"`
	Measure
}

// Claim is something that was published.
type Claim struct {
	Finding
	// Value is what was published.
	Value string `json:"value"`
	// Similar is where a ratio or a slope is of a similar size as what was published. The range of the measure says the direction.
	Similar *Range `json:"similar,omitempty"`
	// Unsized says that no size was published.
	Unsized bool `json:"unsized,omitempty"`
}

// AnySize names all sizes at once.
const AnySize = "any"

// Read reads a study. Its error names the field.
func Read(text []byte) (Study, error) {
	var s Study
	if len(text) > MaximumBytes {
		return s, fmt.Errorf("the study has more than %d bytes", MaximumBytes)
	}
	if err := yaml.UnmarshalStrict(text, &s); err != nil {
		return s, fmt.Errorf("reading the study: %w", err)
	}
	return s, s.check()
}

func (s Study) check() error {
	for field, value := range map[string]string{"name": s.Name, "title": s.Title, "question": s.Question, "published": s.Published} {
		if value == "" {
			return fmt.Errorf("%s is missing", field)
		}
	}
	if len(s.Sizes) == 0 {
		return errors.New("sizes has none: name one with its suites")
	}
	names := slices.Sorted(maps.Keys(s.Sizes[0].Suites))
	seen := map[string]bool{AnySize: true}
	for i, size := range s.Sizes {
		switch {
		case size.Name == "" || seen[size.Name]:
			return fmt.Errorf("sizes[%d].name is %q, which is empty, %q, or that of another size", i, size.Name, AnySize)
		case len(size.Suites) == 0 || !slices.Equal(names, slices.Sorted(maps.Keys(size.Suites))):
			return fmt.Errorf("sizes[%d].suites: every size has one or more suites, under the same names as the first", i)
		}
		for name, suite := range size.Suites {
			if seen["/"+suite] {
				return fmt.Errorf("sizes[%d].suites.%s: another one is %q, too", i, name, suite)
			}
			seen["/"+suite] = true
		}
		seen[size.Name] = true
	}
	ids := map[string]bool{}
	for i, f := range s.Answer {
		err := f.check(s.Sizes[0].Suites, ids, false)
		if err == nil {
			err = f.checkReasons(seen)
		}
		if err != nil {
			return fmt.Errorf("answer[%d].%w", i, err)
		}
	}
	for i, c := range s.Claims {
		if err := c.check(s.Sizes[0].Suites, ids, c.CannotBeShown[AnySize] != ""); err != nil {
			return fmt.Errorf("claims[%d].%w", i, err)
		}
		if kinds := c.kinds(); len(kinds) > 0 && !kinds[0].expects() && c.CannotBeShown[AnySize] == "" {
			return fmt.Errorf("claims[%d] says nothing that is expected: give least, most, straight or result", i)
		}
		if c.Value == "" {
			return fmt.Errorf("claims[%d].value is missing: write what was published", i)
		}
		if err := c.checkSize(); err != nil {
			return fmt.Errorf("claims[%d].%w", i, err)
		}
		if err := c.checkReasons(seen); err != nil {
			return fmt.Errorf("claims[%d].%w", i, err)
		}
	}
	return nil
}

// checkSize returns an error for a ratio or a slope of which one end alone is expected, so that it has a direction and no size, and for a size of
// something else.
func (c Claim) checkSize() error {
	var direction Range
	switch {
	case c.Ratio != nil:
		direction = c.Ratio.Range
	case c.Slope != nil:
		direction = c.Slope.Range
	}
	oneEnd := (direction.Least == nil) != (direction.Most == nil)
	switch {
	case c.Similar != nil && (!oneEnd || c.Similar.Least == nil || c.Similar.Most == nil || *c.Similar.Least > *c.Similar.Most):
		return errors.New("similar needs least and most, and a ratio or a slope that has one of them alone")
	case oneEnd && (c.Similar == nil) != c.Unsized:
		return errors.New("similar says where the size is as published: give it, or unsized where no size was published")
	}
	return nil
}

// checkReasons returns an error for a reason of no size, or for none.
func (f Finding) checkReasons(sizes map[string]bool) error {
	for size, why := range f.CannotBeShown {
		if !sizes[size] || why == "" {
			return fmt.Errorf("cannotBeShown.%s: name a size or %q, and give a reason", size, AnySize)
		}
	}
	return nil
}

// whyNotShown returns why a size does not show the finding; "" where it does.
func (f Finding) whyNotShown(size Size) string {
	return cmp.Or(f.CannotBeShown[size.Name], f.CannotBeShown[AnySize])
}

// check returns an error that begins with a field of the finding.
func (f Finding) check(suites map[string]string, ids map[string]bool, mayBeEmpty bool) error {
	if f.ID == "" || ids[f.ID] {
		return fmt.Errorf("id is %q, which is empty or that of another finding", f.ID)
	}
	ids[f.ID] = true
	if f.Text == "" {
		return errors.New("text is missing")
	}
	kinds := f.kinds()
	if len(kinds) == 0 && mayBeEmpty {
		return nil
	}
	if len(kinds) != 1 {
		return fmt.Errorf("slope, ratio, crossing, scaling, amount, steps: it has %d of them, and needs one", len(kinds))
	}
	if err := kinds[0].check(); err != nil {
		return err
	}
	if _, known := suites[kinds[0].suite()]; !known {
		return fmt.Errorf("suite is %q, which no size has", kinds[0].suite())
	}
	return nil
}
