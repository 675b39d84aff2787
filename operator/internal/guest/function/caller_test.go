//go:build linux

package function

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/testing/guesttest"
	"vnfbench.io/operator/internal/vnf"
)

// TestBootWithCaller boots a guest that answers one measurer: its own clock decides whether a token has expired.
func TestBootWithCaller(t *testing.T) {
	dir := guesttest.Files(t, guestVariable)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "a", Algorithm: "ES256"}}})
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "a"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var config vnf.Config
	if err := json.Unmarshal([]byte(userData), &config); err != nil {
		t.Fatal(err)
	}
	config.Caller = &caller.Rule{Issuer: "https://cluster.example", Audience: "vnfbench.io/run/1", Subject: caller.Subject("lab", "measurer"), Keys: keys}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	token := func(audience string, left time.Duration) string {
		signed, err := jwt.Signed(signer).Claims(jwt.Claims{
			Issuer: config.Caller.Issuer, Subject: config.Caller.Subject, Audience: jwt.Audience{audience}, Expiry: jwt.NewNumericDate(time.Now().Add(left)),
		}).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	m := start(t, string(text), "virtio-net-pci", "virtio-net-pci", guesttest.Kernel(dir)...)
	m.Await(t, http.StatusOK, "")
	for name, tc := range map[string]struct {
		token string
		want  int
	}{
		"no token":        {"", http.StatusUnauthorized},
		"another run's":   {token("vnfbench.io/run/2", time.Hour), http.StatusUnauthorized},
		"expired":         {token(config.Caller.Audience, -time.Hour), http.StatusUnauthorized},
		"the measurer's":  {token(config.Caller.Audience, time.Hour), http.StatusOK},
		"nearly over now": {token(config.Caller.Audience, time.Minute), http.StatusOK},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+m.Address+vnf.PathStatus, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tc.token != "" {
			request.Header.Set("Authorization", "Bearer "+tc.token)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != tc.want {
			t.Errorf("%s: got %s, want %d", name, response.Status, tc.want)
		}
	}
	m.RequirePowerOff(t)
}
