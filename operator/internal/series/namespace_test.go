package series

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// of returns a point of a suite in a namespace, whose run has a UID.
func of(namespace, run, uid string, value int64) Point {
	p := plain(run, value)
	p.Namespace, p.RunUID, p.Execution = namespace, uid, run+"-execution"
	return p
}

// TestNamespacesAreApart checks that suites of one name in two namespaces, whose runs have the same names, are two series of one store.
func TestNamespacesAreApart(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, namespace := range []string{"a", "b"} {
		for i := range int64(2) {
			if n, err := s.Append(of(namespace, fmt.Sprint("nightly-", i), namespace+fmt.Sprint(i), 7+i)); n != 1 || err != nil {
				t.Errorf("%s: stored %d: %v", namespace, n, err)
			}
		}
	}
	points, err := s.Points()
	if err != nil {
		t.Fatal(err)
	}
	all, err := Group(points)
	if err != nil || len(all) != 2 || all[0].Namespace != "a" || all[1].Namespace != "b" || len(all[0].Runs) != 2 || len(all[1].Runs) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
	if got, want := all[0].Key.String(), "a/router on lab: goodput"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPointsWithoutANamespace checks that no one guesses whether points without a namespace are of a suite's series: a store refuses them, and a file with both
// is refused where series are made of it.
func TestPointsWithoutANamespace(t *testing.T) {
	of := func(namespace, run string, value int64) Point {
		p := plain(run, value)
		p.Namespace = namespace
		return p
	}
	bare, named := of("", "by-hand", 1), of("bench", "nightly-1", 2)
	for name, test := range map[string]struct {
		first, second Point
		want          string
	}{
		"without, after with":  {named, bare, `the store has this series in namespace "bench": add those without one with ` + "`kubectl vnfbench series --namespace bench`"},
		"with, after without":  {bare, named, "import the points of this one there with --namespace bench"},
		"two namespaces":       {named, of("other", "nightly-1", 3), ""},
		"without, both":        {bare, of("", "by-hand-2", 3), ""},
		"of another testbed":   {named, func() Point { p := bare; p.Testbed = "other"; return p }(), ""},
		"the same point again": {named, named, ""},
	} {
		for _, together := range []bool{false, true} {
			s, err := Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			calls := [][]Point{{test.first}, {test.second}}
			if together {
				calls = [][]Point{{test.first, test.second}}
			}
			for _, points := range calls {
				_, err = s.Append(points...)
			}
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %q", name, err, test.want)
			}
			folder := s.folder
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			// The store knows it when it is opened again.
			if s, err = Open(folder); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Append(test.second); !together && (err == nil) != (test.want == "") {
				t.Errorf("%s, opened again: %v", name, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Group([]Point{test.first, test.second}); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), `points of namespace "bench"`) {
			t.Errorf("%s, of a file: %v", name, err)
		}
	}
}

// TestNumbersThatBeginAgain checks a suite whose measurements were exported and deleted, and that was made again: its runs have the names of
// earlier ones, and legs are of those that were measured last.
func TestNumbersThatBeginAgain(t *testing.T) {
	leg := func(run, uid string, value int64) Point {
		p := of("bench", run, uid, value)
		p.Leg = &Leg{"nightly-1", "Step", "nightly-0", New, 1}
		return p
	}
	points := []Point{of("bench", "nightly-0", "a", 1), of("bench", "nightly-1", "b", 2), leg("leg", "c", 3), of("bench", "nightly-0", "d", 4), of("bench", "nightly-1", "e", 5), leg("leg", "f", 6)}
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, p := range points {
		if n, err := s.Append(p); n != 1 || err != nil {
			t.Errorf("stored %d: %v", n, err)
		}
	}
	all, err := Group(points)
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	var got []string
	for _, p := range all[0].Runs {
		got = append(got, p.Run+" "+p.Execution)
	}
	for _, p := range all[0].Legs {
		got = append(got, p.Run+" of "+p.Leg.Run+" and "+p.Leg.OldRun)
	}
	want := []string{"nightly-0 nightly-0-execution", "nightly-1 nightly-1-execution", "nightly-0#2 nightly-0-execution#2", "nightly-1#2 nightly-1-execution#2",
		"leg of nightly-1 and nightly-0", "leg#2 of nightly-1#2 and nightly-0#2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if points[5].Leg.Run != "nightly-1" {
		t.Error("the point itself was changed")
	}
	changed := of("bench", "nightly-1", "b", 2)
	changed.Value = 9
	if _, err := Group(append(points, changed)); err == nil || !strings.Contains(err.Error(), `has run "nightly-1" twice`) {
		t.Errorf("one run with two values: %v", err)
	}
}
