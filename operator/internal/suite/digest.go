package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
)

// Digest returns a short text that two templates share which say the same, in whatever order their fields are written.
func Digest(template *v1alpha1.SuiteTemplate) (string, error) {
	text, err := json.Marshal(template)
	if err != nil {
		return "", fmt.Errorf("encoding the template: %w", err)
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		return "", fmt.Errorf("decoding the template: %w", err)
	}
	// Maps are encoded in the order of their keys.
	if text, err = json.Marshal(decoded); err != nil {
		return "", fmt.Errorf("encoding the template: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}
