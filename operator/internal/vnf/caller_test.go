package vnf_test

import (
	"encoding/json"
	"strings"
	"testing"

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/vnf"
)

// TestCaller checks that a configuration can name whom its agent answers, that this does not change its digest, and that a rule
// which cannot be used is refused.
func TestCaller(t *testing.T) {
	config := router()
	want := config.Digest()
	config.Caller = &caller.Rule{Issuer: "https://cluster.example", Audience: "vnfbench.io/run/1", Subject: "system:serviceaccount:lab:m", Keys: json.RawMessage(
		`{"keys":[{"kty":"EC","kid":"a","crv":"P-256","x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY","y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}]}`)}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	read, err := vnf.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := read.Digest(); got != want || read.Caller == nil || read.Caller.Subject != config.Caller.Subject {
		t.Errorf("read %+v with digest %s, want %s", read.Caller, got, want)
	}
	if _, err := vnf.Parse([]byte(strings.Replace(string(text), `"kid":"a"`, `"kid":""`, 1))); err == nil || !strings.HasPrefix(err.Error(), "caller.keys: ") {
		t.Errorf("got %v", err)
	}
}
