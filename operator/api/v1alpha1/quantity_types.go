package v1alpha1

import (
	"encoding/json"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
)

// CPUQuantity is an amount of processor time: whole CPUs, such as 2 or "1.5", or thousandths of one,
// such as "500m". Empty: absent.
//
// It is a text, so that an object with one that Go cannot read does not stop the operator from
// reading all others.
// +kubebuilder:validation:Type=""
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:MaxLength=8
// +kubebuilder:validation:Pattern=`^([0-9]{1,4}(\.[0-9]{1,3})?|[0-9]{1,7}m)$`
type CPUQuantity string

// ByteQuantity is an amount of memory or of disk, such as "512Mi" or "1.5Gi"; without a unit it is
// in bytes. Empty: absent.
//
// It is a text for the reason that CPUQuantity is one.
// +kubebuilder:validation:Type=""
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:MaxLength=16
// +kubebuilder:validation:Pattern=`^([0-9]{1,15}|[0-9]{1,9}(\.[0-9]{1,3})?(k|Ki|M|Mi|G|Gi)|[0-9]{1,4}(\.[0-9]{1,3})?(T|Ti))$`
type ByteQuantity string

// UnmarshalJSON takes any text and any number: Err says whether it is an amount.
func (q *CPUQuantity) UnmarshalJSON(data []byte) error { return textOf(data, (*string)(q)) }

// UnmarshalJSON takes any text and any number: Err says whether it is an amount.
func (q *ByteQuantity) UnmarshalJSON(data []byte) error { return textOf(data, (*string)(q)) }

// MarshalJSON writes the text.
func (q CPUQuantity) MarshalJSON() ([]byte, error) { return json.Marshal(string(q)) }

// MarshalJSON writes the text.
func (q ByteQuantity) MarshalJSON() ([]byte, error) { return json.Marshal(string(q)) }

// MilliCPU returns thousandths of a CPU, rounded up; 0 for an empty text and for one that Err
// reports.
func (q CPUQuantity) MilliCPU() int64 { return scaled(string(q), q.Err(), resource.Milli) }

// Bytes returns bytes, rounded up; 0 for an empty text and for one that Err reports.
func (q ByteQuantity) Bytes() int64 { return scaled(string(q), q.Err(), 0) }

// Err returns an error for a text that the schema refuses.
func (q CPUQuantity) Err() error { return mismatch(string(q), cpuPattern) }

// Err returns an error for a text that the schema refuses.
func (q ByteQuantity) Err() error { return mismatch(string(q), bytePattern) }

// The schema's patterns. Their amounts fit into 63 bits, and have no exponent, which could make
// an amount that takes minutes to compare.
var (
	cpuPattern  = regexp.MustCompile(`^([0-9]{1,4}(\.[0-9]{1,3})?|[0-9]{1,7}m)$`)
	bytePattern = regexp.MustCompile(`^([0-9]{1,15}|[0-9]{1,9}(\.[0-9]{1,3})?(k|Ki|M|Mi|G|Gi)|[0-9]{1,4}(\.[0-9]{1,3})?(T|Ti))$`)
)

// textOf reads a JSON string or number as its text.
func textOf(data []byte, into *string) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, into)
	}
	if string(data) != "null" {
		*into = string(data)
	}
	return nil
}

func mismatch(text string, pattern *regexp.Regexp) error {
	if text == "" || pattern.MatchString(text) {
		return nil
	}
	return fmt.Errorf("%.20q is not of the form %s", text, pattern)
}

// scaled returns a quantity in units of 10^scale, 0 for one with an error.
func scaled(text string, problem error, scale resource.Scale) int64 {
	if problem != nil {
		return 0
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return 0
	}
	return quantity.ScaledValue(scale)
}
