package subject

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

const testImage = "registry.example/vyos@sha256:0a"

func goodLabels() map[string]string {
	return map[string]string{
		labelTitle: "vyos", labelVersion: "1.5", labelRevision: "9f8e7d6c", labelURL: "https://example.org/vyos", labelSource: "https://git.example.org/vyos",
		labelCreated: "2026-01-31T13:00:00+01:00",
	}
}

// TestSubjectOfLabels checks which field comes from which label, and that what is given wins, also over a label that cannot be used.
func TestSubjectOfLabels(t *testing.T) {
	const at, later = v1alpha1.RevisionTime("2026-01-31T12:00:00Z"), v1alpha1.RevisionTime("2026-01-31T13:00:00Z")
	given := v1alpha1.Subject{Name: "mine", Version: "2", Revision: "one", URL: "ftp://example.org", Time: later}
	for name, test := range map[string]struct {
		given  v1alpha1.Subject
		change func(map[string]string)
		want   v1alpha1.Subject
	}{
		"all labels": {v1alpha1.Subject{}, func(map[string]string) {},
			v1alpha1.Subject{Name: "vyos", Version: "1.5", Revision: "9f8e7d6c", URL: "https://example.org/vyos", Time: at, Image: testImage}},
		"source without url": {v1alpha1.Subject{}, func(l map[string]string) { delete(l, labelURL) },
			v1alpha1.Subject{Name: "vyos", Version: "1.5", Revision: "9f8e7d6c", URL: "https://git.example.org/vyos", Time: at, Image: testImage}},
		"only what is required": {v1alpha1.Subject{}, func(l map[string]string) {
			delete(l, labelURL)
			delete(l, labelSource)
			delete(l, labelVersion)
			delete(l, labelCreated)
		}, v1alpha1.Subject{Name: "vyos", Revision: "9f8e7d6c", Image: testImage}},
		"blanks around": {v1alpha1.Subject{Name: "n", URL: "https://u", Version: "v", Time: at}, func(l map[string]string) { l[labelRevision] = " abc\n" },
			v1alpha1.Subject{Name: "n", Version: "v", Revision: "abc", URL: "https://u", Time: at, Image: testImage}},
		"all given": {given, func(l map[string]string) {
			for label := range l {
				l[label] = "\x1b[2J"
			}
		}, v1alpha1.Subject{Name: "mine", Version: "2", Revision: "one", URL: "ftp://example.org", Time: given.Time, Image: testImage}},
	} {
		t.Run(name, func(t *testing.T) {
			labels, before := goodLabels(), test.given.DeepCopy()
			test.change(labels)
			got, err := fromLabels(labels, &test.given, testImage)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, &test.given); diff != "" {
				t.Errorf("what is given has changed: %s", diff)
			}
		})
	}
}

// TestInvalidLabels checks that a label that cannot be used is named, with the field that can replace it.
func TestInvalidLabels(t *testing.T) {
	for name, test := range map[string]struct{ label, value, message, field string }{
		"no name":              {labelTitle, "", "is missing", "name"},
		"a blank name":         {labelTitle, " \t", "is missing", "name"},
		"no revision":          {labelRevision, "", "is missing", "revision"},
		"a long name":          {labelTitle, strings.Repeat("x", 101), "more than 100 bytes", "name"},
		"a long revision":      {labelRevision, strings.Repeat("x", 201), "more than 200 bytes", "revision"},
		"a long version":       {labelVersion, strings.Repeat("x", 101), "more than 100 bytes", "version"},
		"a long link":          {labelURL, "https://x/" + strings.Repeat("x", 500), "more than 500 bytes", "url"},
		"an escape":            {labelVersion, "1\x1b[2J", "control characters", "version"},
		"two lines":            {labelRevision, "a\nb", "control characters", "revision"},
		"a direction mark":     {labelTitle, "a\u202eb", "control characters", "name"},
		"a script":             {labelURL, "javascript:alert(1)", "no http or https URL", "url"},
		"a link without host":  {labelURL, "https:///x", "no http or https URL", "url"},
		"no time":              {labelCreated, "yesterday", "no time since 1970", "time"},
		"a date":               {labelCreated, "2026-01-31", "no time since 1970", "time"},
		"a time of year 1":     {labelCreated, "0001-01-01T00:00:00Z", "no time since 1970", "time"},
		"a link to a checkout": {labelURL, "git@example.org:vyos.git", "no http or https URL", "url"},
	} {
		t.Run(name, func(t *testing.T) {
			labels := goodLabels()
			labels[test.label] = test.value
			_, err := fromLabels(labels, &v1alpha1.Subject{}, testImage)
			if measure.ReasonOf(err) != v1alpha1.ReasonImageLabelsInvalid {
				t.Fatalf("%v", err)
			}
			for _, part := range []string{test.label, test.message, "spec.template.subject." + test.field} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
	if _, err := fromLabels(goodLabels(), &v1alpha1.Subject{}, strings.Repeat("x", maxImageBytes+1)); measure.ReasonOf(err) != v1alpha1.ReasonImageLabelsInvalid {
		t.Errorf("a long name of an image: %v", err)
	}
}
