package caller

import (
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// FuzzCheck gives an agent any token. None that the issuer's keys did not sign is accepted.
func FuzzCheck(f *testing.F) {
	g := guard(f)
	good := token(f, nil)
	// Of the last character some bits have no meaning.
	own := "Bearer " + good[:len(good)-1]
	for _, header := range []string{
		"", "Bearer ", "Bearer a.b.c", "Bearer eyJhbGciOiJub25lIn0.e30.", "Bearer " + good,
		"Bearer " + token(f, map[string]any{"exp": -1}), "Bearer " + token(f, map[string]any{"aud": 1}),
		"Bearer " + sign(f, jose.RS256, signers().stranger, "rsa", claims(nil)),
	} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		// No header has a line end.
		if !strings.ContainsAny(header, "\r\n") && g.check([]string{header}) == nil && !strings.HasPrefix(header, own) {
			t.Errorf("accepted %q", header)
		}
	})
}

// FuzzParse gives an agent any rule: one that is accepted has a guard.
func FuzzParse(f *testing.F) {
	rule := &Rule{Issuer: issuer, Audience: audience, Subject: subject, Keys: keySet(f)}
	for _, text := range []string{"", "{}", rule.Text(), `{"issuer":"i","audience":"a","subject":"s","keys":{"keys":[{"kty":"oct","k":"","kid":"a"}]}}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rule, err := Parse([]byte(text))
		if err != nil {
			return
		}
		g, err := rule.Guard()
		if err != nil || g == nil {
			t.Fatalf("%s: %v", text, err)
		}
		if g.check(nil) == nil {
			t.Errorf("%s permits a request without a token", text)
		}
	})
}
