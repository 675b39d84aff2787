package caller

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/go-jose/go-jose/v4"
)

// Paths of the API server's documents about its issuer.
const (
	PathIssuer = "/.well-known/openid-configuration"
	PathKeys   = "/openid/v1/jwks"
)

// Issuer is who makes a cluster's tokens of service accounts.
type Issuer struct {
	URL string
	// Keys are its public keys, a JSON Web Key Set.
	Keys json.RawMessage
}

// ParseIssuer reads the API server's documents at PathIssuer and PathKeys. Of the keys it keeps what a guard uses.
func ParseIssuer(configuration, keys []byte) (*Issuer, error) {
	var found struct {
		Issuer string `json:"issuer"`
	}
	if err := json.Unmarshal(configuration, &found); err != nil {
		return nil, fmt.Errorf("%s: %w", PathIssuer, err)
	}
	if at, err := url.Parse(found.Issuer); err != nil || at.Host == "" || len(found.Issuer) > maxTextBytes {
		return nil, fmt.Errorf("%s: the issuer is not an address: %.80q", PathIssuer, found.Issuer)
	}
	text, err := usableKeys(keys)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", PathKeys, err)
	}
	return &Issuer{URL: found.Issuer, Keys: text}, nil
}

// usableKeys returns the keys that a guard can use, without their certificates.
func usableKeys(text []byte) (json.RawMessage, error) {
	var found struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, err
	}
	set := &jose.JSONWebKeySet{}
	for _, text := range found.Keys {
		key := jose.JSONWebKey{}
		if json.Unmarshal(text, &key) == nil && signs(&key) {
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Key, KeyID: key.KeyID, Algorithm: key.Algorithm, Use: key.Use})
		}
	}
	if len(set.Keys) == 0 {
		return nil, fmt.Errorf("none of the %d keys is a public RSA or ECDSA key for signatures that has a name", len(found.Keys))
	}
	kept, err := json.Marshal(set)
	if err == nil {
		_, err = parseKeys(kept)
	}
	return kept, err
}

// signs reports whether a key is one by which a guard knows tokens.
func signs(key *jose.JSONWebKey) bool {
	switch key.Key.(type) {
	case *rsa.PublicKey, *ecdsa.PublicKey:
		return key.Valid() && key.KeyID != "" && (key.Use == "" || key.Use == "sig")
	}
	return false
}
