package series

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
)

// full has every field.
func full() Point {
	return Point{
		Key:  Key{"bench", "router@1a2b", "lab", "ThroughputFramesPerSecond 64 NDR"},
		Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Run: "night-1", RunUID: "0d1e", Execution: "nightly-1", Value: 171634, Unit: "frames/s", LowerIsBetter: true,
		Repeats: []int64{171000, 172268}, Bound: figure.Exact, Cause: "DeviceLoss", Doubts: []v1alpha1.DoubtCode{"LateFrames", "Drift"}, Warnings: []string{"a", "b, \"c\"", `d|e\|f\\`, "g=h"},
		CalibrationLevel: 2_000_000, Platform: "sha256:12", PlatformParts: map[string]string{"kernel": "6.12", "cpuModel": `x=y|z\`, "a=|b": `\=`},
		Subject: Subject{"r1", "1.2", "3f2a", "registry/r1@sha256:9"}, SubjectTime: time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC), Document: "reports/1.json", Leg: &Leg{"night-0", "Step", "night-3", Old, 3},
	}
}

func plain(run string, value int64) Point {
	return Point{Key: Key{Experiment: "router", Testbed: "lab", Figure: "goodput"}, Time: time.Date(2026, 1, 1, int(value), 0, 0, 0, time.UTC), Run: run, Value: value}
}

func TestBothFormsKeepEverything(t *testing.T) {
	formula := plain("=cmd()", -5)
	formula.Cause, formula.Document = "-1", "'=text"
	bounded := plain("c", 7)
	bounded.UpperBound = 8
	points := []Point{full(), plain("b", 0), formula, bounded}
	for name, form := range map[string]struct {
		write func(*bytes.Buffer, []Point) error
		read  func(*bytes.Buffer) ([]Point, error)
	}{
		"JSON lines": {func(b *bytes.Buffer, p []Point) error { return WriteLines(b, p) }, func(b *bytes.Buffer) ([]Point, error) { return ReadLines(b) }},
		"CSV":        {func(b *bytes.Buffer, p []Point) error { return WriteCSV(b, p) }, func(b *bytes.Buffer) ([]Point, error) { return ReadCSV(b) }},
	} {
		var text bytes.Buffer
		if err := form.write(&text, points); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if name == "CSV" && !strings.Contains(text.String(), ",'=cmd(),") {
			t.Errorf("a spreadsheet computes a cell of %s", &text)
		}
		got, err := form.read(&text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(points, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

func TestCSVByHand(t *testing.T) {
	got, err := ReadCSV(strings.NewReader("time,run,value,testbed,experiment,figure\n2026-01-02T03:04:05Z,a,7,lab,router,goodput\n"))
	want := Point{Key: Key{Experiment: "router", Testbed: "lab", Figure: "goodput"}, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Run: "a", Value: 7}
	if diff := cmp.Diff([]Point{want}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestRefusedFiles(t *testing.T) {
	head := "experiment,testbed,figure,time,run,value"
	for text, want := range map[string]string{
		"":                             "the file is empty",
		"experiment,testbed":           `column "figure" is missing`,
		head + ",cause2":               `column "cause2" is not known: use experiment, testbed, figure`,
		head + ",run":                  `column "run" is there twice`,
		head + "\na,b,c,yesterday,e,1": `line 2: column "time" has "yesterday"`,
		head + "\na,b,c,2026-01-02T03:04:05Z,e,1.5":       `line 2: column "value" has "1.5"`,
		head + "\na,,c,2026-01-02T03:04:05Z,e,1":          "line 2: testbed is empty: name it",
		head + "\na,b,c\n":                                "wrong number of fields",
		head + "\n" + strings.Repeat("a", MaxLineBytes+1): "more than 65536 bytes",
	} {
		if _, err := ReadCSV(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
	point := `{"experiment":"a","testbed":"b","figure":"c","time":"2026-01-02T03:04:05Z","run":"d","value":1`
	for text, want := range map[string]string{
		"\n{}":                              "line 2: experiment is empty: name it",
		"[]":                                "line 1: ",
		point + `,"vaule":1}`:               `unknown field "vaule"`,
		point + `} {}`:                      "more than one object",
		point + `,"bound":"About"}`:         `bound is "About": give Exact, AtLeast or AtMost`,
		point + `,"cause":"a\u001b[31m"}`:   "cause has control characters",
		point + `,"leg":{"side":"Left"}}`:   `leg.side is "Left": give Old or New`,
		point + `,"calibrationLevel":-1}`:   "calibrationLevel is -1",
		strings.Repeat("x", 2*MaxLineBytes): "line 1 has more than",
		`{"value":99999999999999999999999}`: "line 1: ",
	} {
		if _, err := ReadLines(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
	long := full()
	long.Warnings = []string{strings.Repeat("w", MaxLineBytes)}
	if err := WriteLines(&bytes.Buffer{}, []Point{long}); err == nil {
		t.Error("a line is written that cannot be read")
	}
	if err := WriteCSV(&bytes.Buffer{}, []Point{{}}); err == nil {
		t.Error("an empty point is written")
	}
}

func TestNoValue(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Point)
		want   string
	}{
		"a value":         {func(*Point) {}, ""},
		"a floor":         {func(p *Point) { p.Bound = figure.AtLeast }, "a floor"},
		"a delay's bound": {func(p *Point) { p.Bound, p.LowerIsBetter = figure.AtLeast, true }, "a bound"},
		"at most":         {func(p *Point) { p.Bound = figure.AtMost }, "a bound"},
		"irregular":       {func(p *Point) { p.Doubts = []v1alpha1.DoubtCode{v1alpha1.DoubtIrregularResult} }, "irregular"},
		"in doubt":        {func(p *Point) { p.Doubts = []v1alpha1.DoubtCode{v1alpha1.DoubtLateFrames} }, "in doubt: LateFrames"},
		"zero":            {func(p *Point) { p.Value = 0 }, "0"},
		"next to other work, with a bound": {func(p *Point) {
			p.Doubts, p.UpperBound = []v1alpha1.DoubtCode{v1alpha1.DoubtUnsteadyPacing}, 6
		}, ""},
		"next to other work, without one": {func(p *Point) { p.Doubts = []v1alpha1.DoubtCode{v1alpha1.DoubtUnsteadyPacing} }, "in doubt: UnsteadyPacing"},
		"with a bound, and in another doubt": {func(p *Point) {
			p.Doubts, p.UpperBound = []v1alpha1.DoubtCode{v1alpha1.DoubtUnsteadyPacing, v1alpha1.DoubtQueueGrowing}, 6
		}, "in doubt: QueueGrowing"},
	} {
		p := plain("a", 5)
		test.change(&p)
		if got := p.NoValue(); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestNewest checks which run of an execution with three repeats says how the device is now.
func TestNewest(t *testing.T) {
	doubt := func(codes ...v1alpha1.DoubtCode) func(*Point) { return func(p *Point) { p.Doubts = codes } }
	disturbed := doubt(v1alpha1.DoubtUnsteadyPacing, v1alpha1.DoubtSoftirqStarved)
	alone := func(p *Point) { p.Execution = "n2" }
	for name, test := range map[string]struct {
		repeats [3]func(*Point)
		want    string
	}{
		"all have values":              {[3]func(*Point){}, "n1-3"},
		"the last is disturbed":        {[3]func(*Point){2: disturbed}, "n1-2"},
		"the last two are":             {[3]func(*Point){1: disturbed, 2: disturbed}, "n1-3"},
		"the middle one is, too":       {[3]func(*Point){0: disturbed, 2: disturbed}, "n1-3"},
		"of another execution":         {[3]func(*Point){2: func(p *Point) { alone(p); disturbed(p) }}, "n1-3"},
		"without an execution":         {[3]func(*Point){2: func(p *Point) { p.Execution = ""; disturbed(p) }}, "n1-3"},
		"the device may be the reason": {[3]func(*Point){2: doubt(v1alpha1.DoubtUnsteadyPacing, v1alpha1.DoubtQueueGrowing)}, "n1-3"},
		"an irregular search":          {[3]func(*Point){2: doubt(v1alpha1.DoubtIrregularResult)}, "n1-3"},
		"nothing arrived":              {[3]func(*Point){2: func(p *Point) { p.Value = 0; disturbed(p) }}, "n1-3"},
		"a floor":                      {[3]func(*Point){2: func(p *Point) { p.Bound = figure.AtLeast; disturbed(p) }}, "n1-3"},
	} {
		s := Series{}
		for i, change := range test.repeats {
			p := plain(fmt.Sprintf("n1-%d", i+1), int64(5+i))
			p.Execution = "n1"
			if change != nil {
				change(&p)
			}
			s.Runs = append(s.Runs, p)
		}
		if got := s.Newest(); got.Run != test.want {
			t.Errorf("%s: %s, want %s", name, got.Run, test.want)
		}
	}
}

func TestStore(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "history")
	var s *Store
	open := func() *Store {
		t.Helper()
		if s != nil {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if s, err = Open(folder); err != nil {
			t.Fatal(err)
		}
		return s
	}
	open()
	if n, err := s.Append(full(), plain("a", 1)); n != 2 || err != nil {
		t.Fatalf("stored %d: %v", n, err)
	}
	// A caller that does not know whether its call was done calls again, and so does one after a restart.
	for want := 1; want >= 0; want-- {
		if n, err := s.Append(plain("a", 1), plain("b", 2), plain("b", 2)); n != want || err != nil {
			t.Errorf("stored %d, want %d: %v", n, want, err)
		}
		open()
	}
	other := plain("a", 1)
	other.Value = 9
	if n, err := open().Append(plain("c", 3), other); n != 0 || !errors.Is(err, ErrConflict) {
		t.Errorf("stored %d: %v", n, err)
	}
	if _, err := Read(folder + "-not-there"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there is read: %v", err)
	}
	if _, err := open().Append(Point{}); err == nil {
		t.Error("an empty point is stored")
	}
	got, err := open().Points()
	if diff := cmp.Diff([]Point{full(), plain("a", 1), plain("b", 2)}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestOneWriter checks that a store that a program writes to is not opened by another one, which would cut its half-written line off, and that what
// two of them wrote is read once.
func TestOneWriter(t *testing.T) {
	folder := t.TempDir()
	s, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(plain("a", 1)); err != nil {
		t.Fatal(err)
	}
	half := `{"experiment":"router"`
	file, err := os.OpenFile(segmentName(folder, 1), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(half); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(folder); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), folder) {
		t.Errorf("a second writer: %v", err)
	}
	if text, err := os.ReadFile(segmentName(folder, 1)); err != nil || !strings.HasSuffix(string(text), half) {
		t.Errorf("the line of the first writer is cut: %q, %v", text, err)
	}
	if points, err := Read(folder); len(points) != 1 || err != nil {
		t.Errorf("a reader has %+v, %v", points, err)
	}
	if err := errors.Join(file.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(folder); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	var again bytes.Buffer
	if err := WriteLines(&again, []Point{plain("a", 1), plain("b", 2)}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(segmentName(folder, 2), again.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	points, err := s.Points()
	if diff := cmp.Diff([]Point{plain("a", 1), plain("b", 2)}, points); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestAKilledWriter cuts the last line at every length: what was stored before is there, and the store takes points again.
func TestAKilledWriter(t *testing.T) {
	var whole bytes.Buffer
	if err := WriteLines(&whole, []Point{plain("a", 1), plain("b", 2)}); err != nil {
		t.Fatal(err)
	}
	first := bytes.IndexByte(whole.Bytes(), '\n') + 1
	for length := 0; length <= whole.Len(); length++ {
		folder := t.TempDir()
		if err := os.WriteFile(segmentName(folder, 1), whole.Bytes()[:length], 0o600); err != nil {
			t.Fatal(err)
		}
		read, err := Read(folder)
		if err != nil {
			t.Fatalf("%d bytes: %v", length, err)
		}
		if text, err := os.ReadFile(segmentName(folder, 1)); err != nil || len(text) != length {
			t.Errorf("%d bytes: reading leaves %d: %v", length, len(text), err)
		}
		s, err := Open(folder)
		if err != nil {
			t.Fatalf("%d bytes: %v", length, err)
		}
		want := 0
		for _, end := range []int{first, whole.Len()} {
			if length >= end {
				want++
			}
		}
		if points, err := s.Points(); len(points) != want || len(read) != want || err != nil {
			t.Errorf("%d bytes: %d points, and %d before, want %d: %v", length, len(points), len(read), want, err)
		}
		if _, err := s.Append(plain("a", 1), plain("b", 2), plain("c", 3)); err != nil {
			t.Errorf("%d bytes: %v", length, err)
		}
		if points, err := s.Points(); len(points) != 3 || err != nil {
			t.Errorf("%d bytes: %d points after adding: %v", length, len(points), err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAStoreBeginsFiles(t *testing.T) {
	folder := t.TempDir()
	s, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	s.bytes, s.segments = segmentBytes, 1
	if err := os.WriteFile(segmentName(folder, 1), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(plain("a", 1)); err != nil {
		t.Fatal(err)
	}
	if names, err := segmentNames(folder); len(names) != 2 || err != nil {
		t.Errorf("got %v, %v", names, err)
	}
	s.bytes, s.segments = segmentBytes, maxSegments
	if _, err := s.Append(plain("b", 2)); !errors.Is(err, ErrFull) {
		t.Errorf("got %v", err)
	}
}

func TestGroup(t *testing.T) {
	leg := plain("leg", 9)
	leg.Leg = &Leg{"b", "Step", "", New, 1}
	got, err := Group([]Point{plain("b", 2), full(), leg, plain("a", 1)})
	if err != nil || len(got) != 2 {
		t.Fatalf("%d series: %v", len(got), err)
	}
	if s := got[0]; len(s.Runs) != 2 || s.Runs[0].Run != "a" || len(s.Legs) != 1 {
		t.Errorf("got %+v", s)
	}
	for want, change := range map[string]func(*Point){
		`has run "a" twice`: func(p *Point) { p.Run = "a" },
		"has the units":     func(p *Point) { p.Unit = "ns" },
		"lowerIsBetter":     func(p *Point) { p.LowerIsBetter = true },
	} {
		p := plain("b", 2)
		change(&p)
		if _, err := Group([]Point{plain("a", 1), p}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func FuzzReadLines(f *testing.F) {
	var text bytes.Buffer
	if err := WriteLines(&text, []Point{full(), plain("a", 1)}); err != nil {
		f.Fatal(err)
	}
	f.Add(text.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		points, err := ReadLines(bytes.NewReader(text))
		if err == nil {
			again(t, points)
		}
	})
}

func FuzzReadCSV(f *testing.F) {
	var text bytes.Buffer
	if err := WriteCSV(&text, []Point{full(), plain("a", 1)}); err != nil {
		f.Fatal(err)
	}
	f.Add(text.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		points, err := ReadCSV(bytes.NewReader(text))
		if err == nil {
			again(t, points)
		}
	})
}

// again checks that what was read can be written, and grouped or refused.
func again(t *testing.T, points []Point) {
	if err := WriteLines(&bytes.Buffer{}, points); err != nil && !strings.Contains(err.Error(), "give at most") {
		t.Error(err)
	}
	if err := WriteCSV(&bytes.Buffer{}, points); err != nil {
		t.Error(err)
	}
	if _, err := Group(points); err != nil && !strings.Contains(fmt.Sprint(err), "series ") {
		t.Error(err)
	}
}

// TestForward checks which runs of a series are left out because they tested an older version than a run before them.
func TestForward(t *testing.T) {
	var s Series
	// Days of the measurement and of the version; 0 is not known.
	for name, days := range map[string][2]int{"a": {10, 5}, "b": {11, 0}, "c": {12, 7}, "older": {13, 6}, "same": {14, 7}, "future": {15, 20}, "older too": {16, 5}, "newer": {17, 8}} {
		p := Point{Run: name, Time: time.Date(2026, 1, days[0], 0, 0, 0, 0, time.UTC)}
		if days[1] > 0 {
			p.SubjectTime = time.Date(2026, 1, days[1], 0, 0, 0, 0, time.UTC)
		}
		s.Runs = append(s.Runs, p)
	}
	all, err := Group(s.Runs)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range all[0].Forward() {
		got = append(got, p.Run)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "same", "future", "newer"}, got); diff != "" {
		t.Error(diff)
	}
	for count := 1; count <= len(all[0].Runs); count++ {
		some := Series{Runs: all[0].Runs[:count]}
		forward := some.Forward()
		if last := some.Runs[some.LastForward()].Run; last != forward[len(forward)-1].Run {
			t.Errorf("of %d runs %s is the last one, want %s", count, last, forward[len(forward)-1].Run)
		}
	}
}

// TestSplit checks that points that make no series are put aside alone.
func TestSplit(t *testing.T) {
	at := time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)
	var points []Point
	for _, figure := range []string{"a", "b", "c"} {
		for run := range 2 {
			points = append(points, Point{Key: Key{Experiment: "e", Testbed: "t", Figure: figure}, Run: fmt.Sprint(run), Time: at.Add(time.Duration(run) * time.Minute), Unit: "frames/s"})
		}
	}
	points[3].Unit = "bit/s"
	all, refused := Split(points)
	if len(all) != 2 || all[0].Figure != "a" || all[1].Figure != "c" || len(refused) != 1 || refused[0].Figure != "b" || len(refused[0].Runs) != 2 || !strings.Contains(refused[0].Err.Error(), "has the units") {
		t.Errorf("%+v, refused %+v", all, refused)
	}
	if _, err := Group(points); err == nil || err.Error() != refused[0].Err.Error() {
		t.Errorf("Group: %v", err)
	}
}

// TestIsFloor checks which points say that the device does at least so much.
func TestIsFloor(t *testing.T) {
	for name, test := range map[string]struct {
		point Point
		want  bool
	}{
		"a value":                    {Point{Value: 1, Bound: figure.Exact}, false},
		"a floor":                    {Point{Value: 1, Bound: figure.AtLeast}, true},
		"a floor of 0":               {Point{Bound: figure.AtLeast}, false},
		"a ceiling":                  {Point{Value: 1, Bound: figure.AtMost}, false},
		"a delay that is at most":    {Point{Value: 1, Bound: figure.AtMost, LowerIsBetter: true}, true},
		"a delay that is at least":   {Point{Value: 1, Bound: figure.AtLeast, LowerIsBetter: true}, false},
		"a floor that says why":      {Point{Value: 1, Bound: figure.AtLeast, Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtMaximumLoad}}, true},
		"a floor with another doubt": {Point{Value: 1, Bound: figure.AtLeast, Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtMaximumLoad, v1alpha1.DoubtIrregularResult}}, false},
	} {
		if got := test.point.IsFloor(); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
