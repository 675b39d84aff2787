package monitoring

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// panel is what this test reads of a panel.
type panel struct {
	ID          int
	Title, Type string
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct{ RefID, Expr, LegendFormat string }
}

// read returns the dashboard as Grafana's schema has it, and as this test reads it.
func read(t *testing.T) (dashboard.Dashboard, []panel, []byte) {
	t.Helper()
	text, err := os.ReadFile(files + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	plugins.RegisterDefaultPlugins()
	var typed dashboard.Dashboard
	if err := strict(&typed, text); err != nil {
		t.Fatalf("Grafana's schema has other fields: %v", err)
	}
	var plain struct{ Panels []panel }
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	return typed, plain.Panels, text
}

// strict decodes a dashboard by Grafana's schema. The library's error is never nil; without text there is none. And it is not strict about the
// configuration of fields when it decodes a panel.
func strict(typed *dashboard.Dashboard, text []byte) error {
	errs := []error{typed.UnmarshalJSONStrict(text)}
	var plain struct {
		Panels []struct{ FieldConfig json.RawMessage }
	}
	if err := json.Unmarshal(text, &plain); err != nil {
		return err
	}
	for _, p := range plain.Panels {
		errs = append(errs, new(dashboard.FieldConfigSource).UnmarshalJSONStrict(p.FieldConfig))
	}
	for _, err := range errs {
		if err != nil && err.Error() != "" {
			return err
		}
	}
	return nil
}

// TestDashboardIsOfGrafanasSchema checks every field of the dashboard, of its panels' options and queries and of its variables by the types that are
// generated from Grafana's schema, and that panels do not overlap.
func TestDashboardIsOfGrafanasSchema(t *testing.T) {
	typed, panels, text := read(t)
	if err := typed.Validate(); err != nil {
		t.Error(err)
	}
	// A field that Grafana does not know is found, wherever it is.
	for _, known := range []string{`"schemaVersion"`, `"gridPos"`, `"legendFormat"`, `"displayMode"`, `"includeAll"`, `"unit"`} {
		wrong := strings.Replace(string(text), known, known[:len(known)-1]+`s"`, 1)
		var other dashboard.Dashboard
		if err := strict(&other, []byte(wrong)); err == nil {
			t.Errorf("a misspelt %s is not found", known)
		}
	}
	ids := map[int]bool{}
	for i, p := range panels {
		if ids[p.ID] || p.GridPos.W <= 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q has a number that another has, or is wider than the page: %+v", p.Title, p.GridPos)
		}
		ids[p.ID] = true
		for _, other := range panels[:i] {
			a, b := p.GridPos, other.GridPos
			if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("panels %q and %q overlap", p.Title, other.Title)
			}
		}
	}
	for _, row := range []string{"Trend", "Delay", "Comparison", "Queue"} {
		if !slices.ContainsFunc(panels, func(p panel) bool { return p.Type == "row" && p.Title == row }) {
			t.Errorf("there is no row %q", row)
		}
	}
}

// expressionOf replaces the dashboard's variables as Grafana does where all values are chosen.
func expressionOf(text string) string {
	return regexp.MustCompile(`\$(namespace|suite|experiment|testbed|size)\b`).ReplaceAllString(text, ".*")
}

// TestPanelsNameWhatThereIs checks that every query can be read, and that each metric and each label in it and in its legend is one that the
// manager has.
func TestPanelsNameWhatThereIs(t *testing.T) {
	_, panels, text := read(t)
	variables := map[string]bool{"datasource": true}
	var list struct {
		Templating struct {
			List []struct{ Name, Type, Query string }
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	values := regexp.MustCompile(`^label_values\((.+), ([a-z]+)\)$`)
	metrics := documented(t)
	for _, v := range list.Templating.List {
		variables[v.Name] = true
		if v.Type != "query" {
			continue
		}
		parts := values.FindStringSubmatch(v.Query)
		if parts == nil {
			t.Errorf("variable %s: %s", v.Name, v.Query)
			continue
		}
		parse(t, parts[1])
		name := regexp.MustCompile(`vnfbench_[a-z_]+`).FindString(strings.ReplaceAll(parts[1], "(uncertain_)?", ""))
		if !slices.Contains(metrics[name], parts[2]) {
			t.Errorf("variable %s: %s has no label %s", v.Name, name, parts[2])
		}
	}
	queries := 0
	for _, p := range panels {
		refs := map[string]bool{}
		for _, q := range p.Targets {
			queries++
			if refs[q.RefID] {
				t.Errorf("%s: two queries are %q", p.Title, q.RefID)
			}
			refs[q.RefID] = true
			for _, used := range regexp.MustCompile(`\$([a-z]+)`).FindAllStringSubmatch(q.Expr, -1) {
				if !variables[used[1]] {
					t.Errorf("%s: there is no variable %s", p.Title, used[1])
				}
			}
			given := checkNames(t, expressionOf(q.Expr))
			for _, shown := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(q.LegendFormat, -1) {
				if !slices.Contains(given, shown[1]) {
					t.Errorf("%s: the legend shows %q, and %s has no such label", p.Title, shown[1], q.Expr)
				}
			}
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
	}
	if queries < 20 {
		t.Errorf("%d queries were read", queries)
	}
}

// TestPanelsShowData evaluates every query over metrics as the manager shows them, and wants an answer.
func TestPanelsShowData(t *testing.T) {
	_, panels, _ := read(t)
	s := load(t, busy)
	for _, p := range panels {
		for _, q := range p.Targets {
			if got := s.at(t, expressionOf(q.Expr), 40); len(got) == 0 {
				t.Errorf("%s: %s gives nothing", p.Title, q.Expr)
			}
		}
	}
	// A change since the beginning of the range is that of the figure.
	got := s.at(t, `max without (instance, pod) (vnfbench_figure{metric="ThroughputFramesPerSecond",suite="nightly"}) / max without (instance, pod) (vnfbench_figure{metric="ThroughputFramesPerSecond",suite="nightly"} offset 35m) - 1`, 40)
	if len(got) != 1 || got[0].F < -0.101 || got[0].F > -0.099 {
		t.Errorf("the throughput changed by %v, want -0.1", got)
	}
}
