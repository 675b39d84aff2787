package v1alpha1

import (
	"time"

	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// RevisionTime is a time as 2026-01-31T12:00:00Z. Empty: absent.
//
// It is a text for the reason that CPUQuantity is one. Its schema has no format, because an API server takes a list for a text that has one.
// +kubebuilder:validation:MaxLength=40
// +kubebuilder:validation:XValidation:rule="!format.datetime().validate(self).hasValue()",message="give a time as 2026-01-31T12:00:00Z"
type RevisionTime string

// NewRevisionTime returns a time in whole seconds.
func NewRevisionTime(at time.Time) RevisionTime {
	return RevisionTime(at.UTC().Format(time.RFC3339))
}

// UnmarshalJSON takes anything: At says whether it is a time.
func (t *RevisionTime) UnmarshalJSON(data []byte) error { return textOf(data, (*string)(t)) }

// At returns the time in UTC, which is zero where the text is empty. Its error says that the text is no time: no API server admits that.
func (t RevisionTime) At() (time.Time, error) {
	if t == "" {
		return time.Time{}, nil
	}
	at, err := strfmt.ParseDateTime(string(t))
	return time.Time(at).UTC(), err
}
