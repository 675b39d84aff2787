package web

import (
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/platform"
	"vnfbench.io/operator/internal/plot"
	"vnfbench.io/operator/internal/regression"
	"vnfbench.io/operator/internal/results/index"
	"vnfbench.io/operator/internal/series"
)

// maxPoints is how many of the newest points of a series are judged and shown.
const maxPoints = 1000

func (s *server) seriesList(r *request) error {
	query := r.URL.Query()
	scope, err := s.scope(r, query.Get("namespace"))
	if err != nil {
		return err
	}
	filter := index.SeriesFilter{Namespace: query.Get("namespace"), Experiment: query.Get("experiment"), Testbed: query.Get("testbed"), Figure: query.Get("figure")}
	found, err := s.Index.Series(r.Context(), scope, filter, query.Get("after"), pageLength)
	if err != nil {
		return err
	}
	shown := struct {
		index.SeriesPage
		Query                             url.Values
		Next                              string
		Namespaces, Testbeds, Experiments []string
	}{SeriesPage: found, Query: query, Next: next(query, found.Next)}
	for field, into := range map[string]*[]string{"namespace": &shown.Namespaces, "testbed": &shown.Testbeds, "experiment": &shown.Experiments} {
		if *into, err = s.Index.Choices(r.Context(), scope, field, maxChoices); err != nil {
			return err
		}
	}
	v := s.view(r, "Results", "Series")
	v.Data = shown
	return s.render(r, http.StatusOK, "seriesList", v)
}

// Trend is a series with what is known of it.
type Trend struct {
	series.Key
	Digest string `json:"digest"`
	// Points are the newest runs in the order of their time, Legs the runs of confirmations.
	Points []series.Point `json:"points"`
	Legs   []series.Point `json:"legs,omitempty"`
	// Said is what the suite said last, with its own margin and acknowledgements; absent where it has not judged the series.
	Said *index.Said `json:"said,omitempty"`
	// Judgment is that of these points alone, with the default settings; absent where Problem says why.
	Judgment *regression.Judgment `json:"judgment,omitempty"`
	Problem  string               `json:"problem,omitempty"`
	// Platforms are the runs before which the platform changed, with what changed.
	Platforms []Moved `json:"platforms,omitempty"`
}

// Moved is a change of the platform.
type Moved struct {
	Run     string   `json:"run"`
	RunUID  string   `json:"runUID"`
	Changes []string `json:"changes"`
	// place is that of the run among the points, from 1.
	place int
}

// trend returns the series that a path names, where the viewer may see it.
func (s *server) trend(r *request) (Trend, error) {
	may, err := r.viewer.MayGet(r.Context(), r.PathValue("namespace"))
	if err != nil {
		return Trend{}, err
	}
	t := Trend{Digest: r.PathValue("digest")}
	key, isKnown, err := s.Index.Key(r.Context(), t.Digest)
	if err != nil {
		return t, err
	}
	if !may || !isKnown || key.Namespace != r.PathValue("namespace") {
		return t, notFound("The series")
	}
	t.Key = key
	points, err := s.Index.Points(r.Context(), t.Digest, maxPoints)
	if err != nil {
		return t, err
	}
	if last, isKnown, err := s.Index.Verdict(r.Context(), t.Digest); err != nil {
		return t, err
	} else if isKnown {
		t.Said = &last
	}
	t.judge(points)
	return t, nil
}

// judge puts the points in their order and judges them.
func (t *Trend) judge(points []series.Point) {
	t.Points = []series.Point{}
	all, err := series.Group(points)
	if err != nil {
		t.Points, t.Problem = points, "These points make no series: "+err.Error()
		return
	}
	if len(all) != 1 {
		return
	}
	t.Points, t.Legs = all[0].Runs, all[0].Legs
	if len(t.Points) > 0 {
		judged, err := regression.Judge(regression.Default(), all[0], nil)
		if err != nil {
			t.Problem = err.Error()
		} else {
			t.Judgment = &judged
		}
	}
	for i := 1; i < len(t.Points); i++ {
		if changes := platform.Differences(parts(t.Points[i-1]), parts(t.Points[i])); len(changes) > 0 {
			t.Platforms = append(t.Platforms, Moved{t.Points[i].Run, t.Points[i].RunUID, changes, i + 1})
		}
	}
}

// parts returns the platform of a point in the form that is compared.
func parts(p series.Point) (out []v1alpha1.PlatformPart) {
	for _, name := range slices.Sorted(maps.Keys(p.PlatformParts)) {
		out = append(out, v1alpha1.PlatformPart{Name: name, Value: p.PlatformParts[name]})
	}
	return out
}

// picture draws the series, a place for each run. Nothing is drawn without a point.
func (t *Trend) picture() (template.HTML, error) {
	values, bounds := plot.Line{Name: "value", Style: 0, Marked: true}, plot.Marks{Name: "no value: a bound, irregular or in doubt", Style: 1, Marker: 1}
	unit := ""
	for i, p := range t.Points {
		number, name := figure.Unit(p.Unit).ForPeople(p.Value)
		unit = name
		at := plot.Point{X: float64(i + 1), Y: number}
		if p.NoValue() != "" {
			bounds.Points = append(bounds.Points, at)
		} else {
			values.Points = append(values.Points, at)
		}
	}
	layers := []plot.Layer{values}
	if len(bounds.Points) > 0 {
		layers = append(layers, bounds)
	}
	rule := func(name string, style, place int) {
		layers = append(layers, plot.Rule{Name: name, Style: style, At: float64(place) - 0.5, Vertical: true})
	}
	if t.Judgment != nil {
		for _, c := range t.Judgment.Changes {
			if place := t.placeOf(c.Run); place > 0 {
				rule("change "+percent(c.ChangePartsPerMillion), 1, place)
			}
		}
	}
	for _, m := range t.Platforms[max(0, len(t.Platforms)-maxRules):] {
		rule("platform", 3, m.place)
	}
	svg, err := plot.Chart{
		Title: t.Figure, Description: fmt.Sprintf("%d runs in the order of their time.", len(t.Points)),
		X: plot.Axis{Label: "run, the oldest first"}, Y: plot.Axis{Label: unit}, Layers: layers,
	}.SVG()
	return template.HTML(svg), err //nolint:gosec // Package plot escapes its texts.
}

// maxRules is how many changes of the platform a picture has.
const maxRules = 8

// placeOf returns the place of a run among the points, from 1; 0 for none.
func (t *Trend) placeOf(run string) int {
	return 1 + slices.IndexFunc(t.Points, func(p series.Point) bool { return p.Run == run })
}

// newest returns the points from the newest on, at most as many as a page shows.
func newest(points []series.Point) []series.Point {
	out := slices.Clone(points[max(0, len(points)-pageLength):])
	slices.Reverse(out)
	return out
}

func (s *server) series(r *request) error {
	t, err := s.trend(r)
	if err != nil {
		return err
	}
	shown := struct {
		Trend
		Picture template.HTML
		Newest  []series.Point
	}{Trend: t, Newest: newest(t.Points)}
	if shown.Picture, err = t.picture(); err != nil && len(t.Points) > 0 {
		s.Log.V(1).Info("A series cannot be drawn", "series", t.Key.String(), "error", err.Error())
	}
	v := s.view(r, "Series", t.Figure)
	v.Data = shown
	return s.render(r, http.StatusOK, "series", v)
}
