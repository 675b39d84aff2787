package caller

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	issuer   = "https://kubernetes.default.svc.cluster.local"
	audience = "vnfbench.io/run/4f1d"
)

var subject = Subject("lab", "routers-measurer")

// now is the agent's time.
var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// signers are the issuer's keys, and one that is not the issuer's.
var signers = sync.OnceValue(func() (s struct {
	rsa, stranger *rsa.PrivateKey
	ec            *ecdsa.PrivateKey
}) {
	var err error
	for _, key := range []**rsa.PrivateKey{&s.rsa, &s.stranger} {
		if *key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
			panic(err)
		}
	}
	if s.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		panic(err)
	}
	return s
})

func keySet(t testing.TB) []byte {
	t.Helper()
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: signers().rsa.Public(), KeyID: "rsa", Algorithm: "RS256", Use: "sig"},
		{Key: signers().ec.Public(), KeyID: "ec", Algorithm: "ES256", Use: "sig"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func guard(t testing.TB) *Guard {
	t.Helper()
	rule := &Rule{Issuer: issuer, Audience: audience, Subject: subject, Keys: keySet(t)}
	back, err := Parse([]byte(rule.Text()))
	if err != nil {
		t.Fatal(err)
	}
	g, err := back.Guard()
	if err != nil {
		t.Fatal(err)
	}
	g.now = func() time.Time { return now }
	return g
}

// claims are those of a token that the kubelet got for the measurer's pod, with changes.
func claims(changes map[string]any) map[string]any {
	out := map[string]any{
		"iss": issuer, "aud": []string{audience}, "sub": subject,
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"kubernetes.io": map[string]any{"namespace": "lab"},
	}
	for name, value := range changes {
		if out[name] = value; value == nil {
			delete(out, name)
		}
	}
	return out
}

func sign(t testing.TB, algorithm jose.SignatureAlgorithm, key any, id string, content map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// token is the measurer's, with changes.
func token(t testing.TB, changes map[string]any) string {
	return sign(t, jose.RS256, signers().rsa, "rsa", claims(changes))
}

// part changes one of a token's three parts.
func part(t testing.TB, text string, number int, change func([]byte) []byte) string {
	t.Helper()
	parts := strings.Split(text, ".")
	content, err := base64.RawURLEncoding.DecodeString(parts[number])
	if err != nil {
		t.Fatal(err)
	}
	parts[number] = base64.RawURLEncoding.EncodeToString(change(content))
	return strings.Join(parts, ".")
}

func replaced(from, to string) func([]byte) []byte {
	return func(text []byte) []byte { return []byte(strings.Replace(string(text), from, to, 1)) }
}

// ask returns what an agent with the guard answers.
func ask(t testing.TB, g *Guard, method, path string, authorization ...string) (code int, body string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	request := httptest.NewRequest(method, path, nil)
	for _, value := range authorization {
		request.Header.Add("Authorization", value)
	}
	g.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "counters") })).ServeHTTP(recorder, request)
	if recorder.Code == http.StatusUnauthorized && recorder.Header().Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("the refusal does not say how to ask: %v", recorder.Header())
	}
	return recorder.Code, recorder.Body.String()
}

func TestGuardRefuses(t *testing.T) {
	g, good := guard(t), token(t, nil)
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"rsa"}`)) + "." + strings.Split(good, ".")[1] + "."
	// A verifier that lets the token choose would take the public key for a shared secret.
	public, err := json.Marshal(jose.JSONWebKey{Key: signers().rsa.Public()})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		authorization []string
		want          error
	}{
		"no token":                          {nil, errNoToken},
		"two tokens":                        {[]string{"Bearer " + good, "Bearer " + good}, errNoToken},
		"a password":                        {[]string{"Basic dTpw"}, errNoToken},
		"an empty token":                    {[]string{"Bearer "}, errUnreadable},
		"no token at all":                   {[]string{"Bearer let me in"}, errUnreadable},
		"a token of three parts":            {[]string{"Bearer a.b.c"}, errUnreadable},
		"a long token":                      {[]string{"Bearer " + strings.Repeat("a", maxTokenBytes+1)}, errTokenLength},
		"not signed":                        {[]string{"Bearer " + none}, errAlgorithm},
		"a shared secret":                   {[]string{"Bearer " + sign(t, jose.HS256, public, "rsa", claims(nil))}, errAlgorithm},
		"the issuer's key, other padding":   {[]string{"Bearer " + sign(t, jose.PS256, signers().rsa, "rsa", claims(nil))}, errAlgorithm},
		"a key that is not in the set":      {[]string{"Bearer " + sign(t, jose.RS256, signers().stranger, "stranger", claims(nil))}, errUnknownKey},
		"no key ID":                         {[]string{"Bearer " + sign(t, jose.RS256, signers().rsa, "", claims(nil))}, errUnknownKey},
		"a stranger's, by a known name":     {[]string{"Bearer " + sign(t, jose.RS256, signers().stranger, "rsa", claims(nil))}, errSignature},
		"the name of a key of another kind": {[]string{"Bearer " + sign(t, jose.RS256, signers().rsa, "ec", claims(nil))}, errSignature},
		"another subject in it":             {[]string{"Bearer " + part(t, token(t, map[string]any{"sub": "mallory"}), 1, replaced("mallory", subject))}, errSignature},
		"another signature":                 {[]string{"Bearer " + part(t, good, 2, func(b []byte) []byte { b[7]++; return b })}, errSignature},
		"another cluster":                   {[]string{"Bearer " + token(t, map[string]any{"iss": "https://other.example"})}, errIssuer},
		"another run's":                     {[]string{"Bearer " + token(t, map[string]any{"aud": []string{"vnfbench.io/run/4f1e"}})}, errAudience},
		"the API server's":                  {[]string{"Bearer " + token(t, map[string]any{"aud": []string{issuer}})}, errAudience},
		"no audience":                       {[]string{"Bearer " + token(t, map[string]any{"aud": nil})}, errAudience},
		"another account":                   {[]string{"Bearer " + token(t, map[string]any{"sub": Subject("lab", "default")})}, errSubject},
		"an account of that name elsewhere": {[]string{"Bearer " + token(t, map[string]any{"sub": Subject("mallory", "routers-measurer")})}, errSubject},
		"expired":                           {[]string{"Bearer " + token(t, map[string]any{"exp": now.Add(-leeway - time.Second).Unix()})}, errExpired},
		"without an end":                    {[]string{"Bearer " + token(t, map[string]any{"exp": nil})}, errNoExpiry},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := ask(t, g, http.MethodGet, "/status", tc.authorization...)
			if code != http.StatusUnauthorized || !strings.HasPrefix(body, tc.want.Error()) {
				t.Errorf("got %d, %q, want %q", code, body, tc.want)
			}
			for _, secret := range []string{"counters", audience, subject, issuer, good} {
				if strings.Contains(body, secret) {
					t.Errorf("the refusal says %q: %s", secret, body)
				}
			}
			for _, path := range []string{"/readyz", "/healthz"} {
				if code, body := ask(t, g, http.MethodGet, path, tc.authorization...); code != http.StatusOK {
					t.Errorf("%s, as the kubelet asks: %d, %s", path, code, body)
				}
			}
		})
	}
}

func TestGuardPermits(t *testing.T) {
	g := guard(t)
	for name, text := range map[string]string{
		"the measurer's":               token(t, nil),
		"of the issuer's other key":    sign(t, jose.ES256, signers().ec, "ec", claims(nil)),
		"for several":                  token(t, map[string]any{"aud": []string{"other", audience}}),
		"for one, as a text":           token(t, map[string]any{"aud": audience}),
		"expired by another clock":     token(t, map[string]any{"exp": now.Add(-leeway + time.Second).Unix()}),
		"a clock that is an hour late": token(t, map[string]any{"iat": now.Add(time.Hour).Unix(), "nbf": now.Add(time.Hour).Unix()}),
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if code, body := ask(t, g, method, "/start", "Bearer "+text); code != http.StatusOK || body != "counters" {
				t.Errorf("%s, %s: got %d, %s", name, method, code, body)
			}
		}
	}
}

// TestOnlyHealthIsOpen: nothing but the two exact paths, and these only to be read.
func TestOnlyHealthIsOpen(t *testing.T) {
	g := guard(t)
	for _, request := range [][2]string{{"POST", "/readyz"}, {"PUT", "/healthz"}, {"GET", "/readyz/"}, {"GET", "/readyz/../status"}, {"GET", "//readyz"}, {"GET", "/"}, {"GET", "/status?/readyz"}} {
		if code, _ := ask(t, g, request[0], request[1]); code != http.StatusUnauthorized {
			t.Errorf("%s %s: %d", request[0], request[1], code)
		}
	}
	if code, _ := ask(t, nil, http.MethodPost, "/start"); code != http.StatusOK {
		t.Errorf("an agent without a rule: %d", code)
	}
	if none, err := (*Rule)(nil).Guard(); none != nil || err != nil {
		t.Errorf("no rule: %v, %v", none, err)
	}
}

func TestFromEnvironment(t *testing.T) {
	if g, err := FromEnvironment(); g != nil || err != nil {
		t.Errorf("without a variable: %v, %v", g, err)
	}
	rule := &Rule{Issuer: issuer + "/$(HOSTNAME)", Audience: audience, Subject: subject, Keys: keySet(t)}
	if strings.Contains(rule.Text(), "$") {
		t.Errorf("Kubernetes would replace a part of %s", rule.Text())
	}
	t.Setenv(Variable, rule.Text())
	if g, err := FromEnvironment(); err != nil || g.rule.Issuer != rule.Issuer {
		t.Errorf("got %+v, %v", g, err)
	}
	// An agent whose rule cannot be used must not answer everyone.
	for name, text := range map[string]string{
		"empty":            "",
		"no keys":          `{"issuer":"i","audience":"a","subject":"s","keys":{"keys":[]}}`,
		"no issuer":        `{"audience":"a","subject":"s","keys":` + string(keySet(t)) + `}`,
		"no audience":      `{"issuer":"i","subject":"s","keys":` + string(keySet(t)) + `}`,
		"no subject":       `{"issuer":"i","audience":"a","keys":` + string(keySet(t)) + `}`,
		"an unknown field": `{"issuer":"i","audience":"a","subject":"s","all":true,"keys":` + string(keySet(t)) + `}`,
		"two":              rule.Text() + rule.Text(),
	} {
		t.Setenv(Variable, text)
		if g, err := FromEnvironment(); g != nil || err == nil || !strings.Contains(err.Error(), Variable) {
			t.Errorf("%s: %v, %v", name, g, err)
		}
	}
}

func TestParseIssuer(t *testing.T) {
	const configuration = `{"issuer":"` + issuer + `","jwks_uri":"https://192.0.2.1:6443/openid/v1/jwks"}`
	found, err := ParseIssuer([]byte(configuration), keySet(t))
	if err != nil || found.URL != issuer {
		t.Fatalf("got %+v, %v", found, err)
	}
	if string(found.Keys) != string(keySet(t)) {
		t.Errorf("other keys: %s", found.Keys)
	}
	for name, tc := range map[string][2]string{
		"no configuration": {"<html>", string(keySet(t))},
		"no issuer":        {"{}", string(keySet(t))},
		"a plain name":     {`{"issuer":"kubernetes/serviceaccount"}`, string(keySet(t))},
		"no keys":          {configuration, `{"keys":[]}`},
		"not JSON":         {configuration, "<html>"},
		"a private key":    {configuration, marshal(t, jose.JSONWebKey{Key: crypto.PrivateKey(signers().rsa), KeyID: "rsa"})},
		"a shared secret":  {configuration, `{"keys":[{"kty":"oct","k":"c2VjcmV0","kid":"a"}]}`},
		"without a name":   {configuration, marshal(t, jose.JSONWebKey{Key: signers().rsa.Public()})},
		"for encryption":   {configuration, marshal(t, jose.JSONWebKey{Key: signers().rsa.Public(), KeyID: "rsa", Use: "enc"})},
		"too long":         {configuration, marshal(t, jose.JSONWebKey{Key: signers().rsa.Public(), KeyID: strings.Repeat("a", maxRuleBytes)})},
	} {
		if found, err := ParseIssuer([]byte(tc[0]), []byte(tc[1])); err == nil {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func marshal(t *testing.T, keys ...jose.JSONWebKey) string {
	t.Helper()
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestParseIssuerSkipsKeys checks that keys which a guard cannot use, and certificates, do not make the others useless.
func TestParseIssuerSkipsKeys(t *testing.T) {
	var good struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(keySet(t), &good); err != nil {
		t.Fatal(err)
	}
	others := []string{`{"kty":"oct","k":"c2VjcmV0","kid":"a"}`, `{"kty":"new","kid":"b"}`, `"text"`}
	for _, key := range []jose.JSONWebKey{
		{Key: signers().rsa.Public()}, {Key: crypto.PrivateKey(signers().ec), KeyID: "c"}, {Key: signers().ec.Public(), KeyID: "d", Use: "enc"},
	} {
		text, err := json.Marshal(key)
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, string(text))
	}
	for _, key := range good.Keys {
		others = append(others, string(key))
	}
	found, err := ParseIssuer([]byte(`{"issuer":"`+issuer+`"}`), []byte(`{"x":"`+strings.Repeat("a", maxRuleBytes)+`","keys":[`+strings.Join(others, ",")+`]}`))
	if err != nil || string(found.Keys) != string(keySet(t)) {
		t.Errorf("got %+v, %v", found, err)
	}
}
