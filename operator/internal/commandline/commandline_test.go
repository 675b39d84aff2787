package commandline

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestLogIsJSON(t *testing.T) {
	var output bytes.Buffer
	flags := &Log{Level: 1, Format: "json"}
	log := flags.logger(&output)
	log.V(1).Info("Deciding", "action", "Plan")
	log.V(4).Info("Reading")
	var line map[string]any
	if err := json.Unmarshal(output.Bytes(), &line); err != nil {
		t.Fatalf("not one line of JSON: %v\n%s", err, output.String())
	}
	if line["action"] != "Plan" {
		t.Errorf("got %v", line)
	}
}
