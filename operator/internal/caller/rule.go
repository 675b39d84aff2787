// Package caller is who may ask a run's agents: the measurer, by the token of its service account.
// A Rule goes to each agent with its configuration, and a Guard checks tokens by it without asking
// anyone: agents have no rights in the cluster, and most of them no way to it. Client is the measurer's side.
package caller

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

const (
	// Variable is the environment variable that has a pod's Rule in JSON. A pod without it answers everyone.
	Variable = "VNFBENCH_CALLER"
	// maxRuleBytes is far more than a cluster's keys need: 500 bytes each, and rarely more than two.
	maxRuleBytes = 16 << 10
	// maxTextBytes limits issuer, audience and subject.
	maxTextBytes = 1024
)

// Rule says whose requests an agent answers. It has no secret.
type Rule struct {
	// Issuer is who makes the cluster's tokens of service accounts.
	Issuer string `json:"issuer"`
	// Audience is whom the token is for: this run's agents.
	Audience string `json:"audience"`
	// Subject is the service account, "system:serviceaccount:NAMESPACE:NAME".
	Subject string `json:"subject"`
	// Keys are the issuer's public keys, a JSON Web Key Set (RFC 7517).
	Keys json.RawMessage `json:"keys"`
}

// Subject returns the name that a service account's tokens have.
func Subject(namespace, name string) string { return "system:serviceaccount:" + namespace + ":" + name }

// Text returns the rule in JSON, in which Kubernetes finds no name of a variable to replace.
func (r *Rule) Text() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings, and keys that were read from JSON, always marshal
	}
	return strings.ReplaceAll(string(text), "$", `\u0024`)
}

// Parse reads a rule and checks it.
func Parse(text []byte) (*Rule, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	rule := &Rule{}
	if err := decoder.Decode(rule); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the JSON document")
	}
	return rule, rule.Validate()
}

// Validate checks the rule; an error starts with its field.
func (r *Rule) Validate() error {
	_, err := r.keys()
	return err
}

// keys returns the keys of a rule that is complete.
func (r *Rule) keys() (*jose.JSONWebKeySet, error) {
	for _, field := range []struct{ name, value string }{{"issuer", r.Issuer}, {"audience", r.Audience}, {"subject", r.Subject}} {
		if field.value == "" || len(field.value) > maxTextBytes {
			return nil, fmt.Errorf("%s: it has %d bytes, want 1 to %d", field.name, len(field.value), maxTextBytes)
		}
	}
	keys, err := parseKeys(r.Keys)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	return keys, nil
}

// parseKeys reads public keys for signatures, each with the name by which tokens name it.
func parseKeys(text []byte) (*jose.JSONWebKeySet, error) {
	if len(text) > maxRuleBytes {
		return nil, fmt.Errorf("they have %d bytes, want at most %d", len(text), maxRuleBytes)
	}
	keys := &jose.JSONWebKeySet{}
	if err := json.Unmarshal(text, keys); err != nil {
		return nil, err
	}
	if len(keys.Keys) == 0 {
		return nil, errors.New("there are none")
	}
	for i := range keys.Keys {
		key := &keys.Keys[i]
		switch {
		case !key.Valid() || !key.IsPublic():
			return nil, fmt.Errorf("number %d is not a public key", i)
		case key.KeyID == "":
			return nil, fmt.Errorf("number %d has no key ID", i)
		}
	}
	return keys, nil
}

// FromEnvironment returns the guard of a pod's agent, nil where the environment has no rule.
func FromEnvironment() (*Guard, error) {
	text, found := os.LookupEnv(Variable)
	if !found {
		return nil, nil
	}
	rule, err := Parse([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("environment variable %s: %w", Variable, err)
	}
	return rule.Guard()
}
