package web

import (
	"bytes"
	"errors"
	"html/template"
	"net/http"
	"strings"
	"unicode/utf8"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/results/index"
)

// badgeText is a badge: a name, and a value on a color. Its colors have enough contrast with the white text.
var badgeText = template.Must(template.New("").Parse(`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="20" role="img" aria-label="{{.Name}}: {{.Value}}">
<title>{{.Name}}: {{.Value}}</title>
<rect width="{{.Width}}" height="20" rx="3" fill="#4a4f57"/>
<rect x="{{.Left}}" width="{{.Right}}" height="20" rx="3" fill="{{.Color}}"/>
<g fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="6" y="14" textLength="{{.NameLength}}">{{.Name}}</text>
<text x="{{.ValueAt}}" y="14" textLength="{{.ValueLength}}">{{.Value}}</text>
</g>
</svg>
`))

// badge is what a badge shows.
type badge struct{ Name, Value, Color string }

// letter is the width of a character in a badge; textLength fits the text to it.
const letter, margin = 7, 6

func (b badge) NameLength() int  { return letter * utf8.RuneCountInString(b.Name) }
func (b badge) ValueLength() int { return letter * utf8.RuneCountInString(b.Value) }
func (b badge) Left() int        { return b.NameLength() + 2*margin }
func (b badge) Right() int       { return b.ValueLength() + 2*margin }
func (b badge) Width() int       { return b.Left() + b.Right() }
func (b badge) ValueAt() int     { return b.Left() + margin }

// badgeColors are those of the classes of verdicts.
var badgeColors = map[string]string{"good": "#0a6b3d", "bad": "#b3261e", "unsure": "#7a5200", "open": "#3d5a80"}

// writeBadge answers with the badge of a document, or with one that says that it is not known.
func (s *server) writeBadge(r *request, name string, item index.Item, err error) error {
	status := http.StatusOK
	b := badge{Name: excerpt.Line(name, 60), Value: "not known", Color: badgeColors["open"]}
	if f := (*failure)(nil); errors.As(err, &f) && f.status == http.StatusNotFound {
		status = f.status
	} else if err != nil {
		return err
	} else {
		b.Value, b.Color = strings.ToLower(words(item.Verdict)), badgeColors[classOf(item.Verdict)]
		if rate := headline(item.Figures, string(v1alpha1.MetricThroughputFramesPerSecond)); rate != "" && item.Verdict != index.VerdictFailed {
			if b.Value = rate; item.Verdict != index.VerdictNotJudged {
				b.Value += ", " + strings.ToLower(words(item.Verdict))
			}
		}
	}
	var out bytes.Buffer
	if err := badgeText.Execute(&out, b); err != nil {
		return err
	}
	return r.send(status, "image/svg+xml", out.Bytes())
}

// badgeName returns the name in the path of a badge, without its extension.
func badgeName(r *request) (string, error) {
	name, isBadge := strings.CutSuffix(r.PathValue("file"), ".svg")
	if !isBadge {
		return "", &failure{http.StatusNotFound, "A badge ends with .svg."}
	}
	return name, nil
}

func (s *server) suiteBadge(r *request) error {
	name, err := badgeName(r)
	if err != nil {
		return err
	}
	item, err := s.latest(r, index.KindSuite, index.Filter{Namespace: r.PathValue("namespace"), Suite: name, WithoutConfirmations: true}, "The suite")
	return s.writeBadge(r, name, item, err)
}

func (s *server) experimentBadge(r *request) error {
	name, err := badgeName(r)
	if err != nil {
		return err
	}
	item, err := s.latest(r, index.KindRun, index.Filter{Namespace: r.PathValue("namespace"), Experiment: name, WithoutConfirmations: true}, "The experiment")
	return s.writeBadge(r, name, item, err)
}

func (s *server) runBadge(r *request) error {
	uid, err := badgeName(r)
	if err != nil {
		return err
	}
	item, err := s.item(r, index.KindRun, r.PathValue("namespace"), uid)
	name := "run"
	if err == nil {
		name = item.Name
	}
	return s.writeBadge(r, name, item, err)
}
