package subject

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
)

// Labels of an image, as the OCI image specification names them (annotations.md).
const (
	labelTitle    = "org.opencontainers.image.title"
	labelVersion  = "org.opencontainers.image.version"
	labelRevision = "org.opencontainers.image.revision"
	labelURL      = "org.opencontainers.image.url"
	labelSource   = "org.opencontainers.image.source"
	labelCreated  = "org.opencontainers.image.created"
)

// maxImageBytes is the most that a point of a series takes.
const maxImageBytes = 512

// fromLabels returns a subject of what is given, and for the rest of what the labels of an image say. A label whose field is given is not looked at.
func fromLabels(labels map[string]string, given *v1alpha1.Subject, image string) (*v1alpha1.Subject, error) {
	subject := given.DeepCopy()
	if subject.Image = image; len(image) > maxImageBytes {
		return nil, measure.Failf(v1alpha1.ReasonImageLabelsInvalid, "give it a shorter name", "image %q has more than %d bytes with its digest", image, maxImageBytes)
	}
	link := labelURL
	if labels[link] == "" {
		link = labelSource
	}
	for _, l := range []struct {
		label, field string
		into         *string
		// bytes are the API's bound of characters.
		bytes    int
		required bool
	}{
		{labelTitle, "name", &subject.Name, 100, true}, {labelVersion, "version", &subject.Version, 100, false},
		{labelRevision, "revision", &subject.Revision, 200, true}, {link, "url", &subject.URL, 500, false},
	} {
		invalid := func(format string, args ...any) error { return invalidLabel(image, l.label, l.field, format, args...) }
		value := strings.TrimSpace(labels[l.label])
		switch {
		case *l.into != "":
			continue
		case value == "" && l.required:
			return nil, invalid("is missing")
		case len(value) > l.bytes:
			return nil, invalid("has more than %d bytes", l.bytes)
		case excerpt.Printable(value) != value || strings.ContainsAny(value, "\n\t"):
			return nil, invalid("has control characters")
		case l.field == "url" && value != "" && !isLink(value):
			return nil, invalid("is %q, and no http or https URL", value)
		}
		*l.into = value
	}
	if created := strings.TrimSpace(labels[labelCreated]); subject.Time == "" && created != "" {
		at, err := time.Parse(time.RFC3339, created)
		if err != nil || at.Before(time.Unix(0, 0)) {
			return nil, invalidLabel(image, labelCreated, "time", "is %q, and no time since 1970 as 2026-01-31T12:00:00Z", created)
		}
		subject.Time = v1alpha1.NewRevisionTime(at)
	}
	return subject, nil
}

func invalidLabel(image, label, field, format string, args ...any) *measure.Failure {
	return measure.Failf(v1alpha1.ReasonImageLabelsInvalid, fmt.Sprintf("correct the label where the image is built, or give spec.template.subject.%s", field),
		"label %s of image %q %s", label, image, fmt.Sprintf(format, args...))
}

// isLink reports whether a text can be shown as a link.
func isLink(text string) bool {
	link, err := url.Parse(text)
	return err == nil && link.Host != "" && (link.Scheme == "https" || link.Scheme == "http")
}
