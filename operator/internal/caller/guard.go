package caller

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	// leeway is how far the clocks of two machines may differ. A virtual machine's can be wrong more than a
	// node's: the token lives longer than that, and is renewed long before its end.
	leeway = 5 * time.Minute
	// maxTokenBytes is more than the API server makes.
	maxTokenBytes = 16 << 10
)

// algorithms are those with which an API server signs.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.ES384, jose.ES512}

// Causes of a refusal. None says anything about a token that its sender does not know.
var (
	errNoToken     = errors.New("the request has no token, and this agent answers its run's measurer alone")
	errUnreadable  = errors.New("the token cannot be read")
	errAlgorithm   = errors.New("the token is not signed with an algorithm that is accepted")
	errUnknownKey  = errors.New("the token is signed with a key that the cluster's issuer did not have when this agent was started")
	errSignature   = errors.New("the token's signature is wrong")
	errIssuer      = errors.New("the token is of another issuer")
	errAudience    = errors.New("the token is not for the agents of this run")
	errSubject     = errors.New("the token is not of this run's measurer")
	errNoExpiry    = errors.New("the token has no end")
	errExpired     = errors.New("the token has expired")
	errTokenLength = fmt.Errorf("the token has more than %d bytes", maxTokenBytes)
)

// Guard lets the requests through that a rule permits. A nil one lets all through.
type Guard struct {
	rule *Rule
	keys *jose.JSONWebKeySet
	now  func() time.Time
}

// Guard returns the guard of a rule; nil of none.
func (r *Rule) Guard() (*Guard, error) {
	if r == nil {
		return nil, nil
	}
	keys, err := r.keys()
	if err != nil {
		return nil, err
	}
	return &Guard{rule: r, keys: keys, now: time.Now}, nil
}

// isHealth reports whether a request only asks whether the agent is ready, as the kubelet does, which has no token.
func isHealth(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && (r.URL.Path == "/readyz" || r.URL.Path == "/healthz")
}

// Handler returns a handler that answers 401, with the cause, what may not be asked.
func (g *Guard) Handler(next http.Handler) http.Handler {
	if g == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isHealth(r) {
			if err := g.check(r.Header.Values("Authorization")); err != nil {
				w.Header().Set("WWW-Authenticate", "Bearer")
				http.Error(w, err.Error(), http.StatusUnauthorized)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// check returns why the rule does not permit a request with these Authorization headers, or nil.
func (g *Guard) check(headers []string) error {
	if len(headers) != 1 {
		return errNoToken
	}
	token, found := strings.CutPrefix(headers[0], "Bearer ")
	switch {
	case !found:
		return errNoToken
	case len(token) > maxTokenBytes:
		return errTokenLength
	}
	claims, err := g.verify(token)
	if err != nil {
		return err
	}
	switch now := g.now(); {
	case claims.Issuer != g.rule.Issuer:
		return errIssuer
	case !claims.Audience.Contains(g.rule.Audience):
		return errAudience
	case claims.Subject != g.rule.Subject:
		return errSubject
	case claims.Expiry == nil:
		return errNoExpiry
	case now.Add(-leeway).After(claims.Expiry.Time()):
		return fmt.Errorf("%w: this machine's clock shows %s", errExpired, now.UTC().Format(time.RFC3339))
	}
	// The times from which it is valid and at which it was made are the same, and do not count: a
	// virtual machine's clock may be late.
	return nil
}

// verify returns what a token says that one of the keys has signed.
func (g *Guard) verify(token string) (*jwt.Claims, error) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	var unexpected *jose.ErrUnexpectedSignatureAlgorithm
	switch {
	case errors.As(err, &unexpected):
		return nil, errAlgorithm
	case err != nil || len(parsed.Headers) != 1:
		return nil, errUnreadable
	}
	known := g.keys.Key(parsed.Headers[0].KeyID)
	if len(known) == 0 {
		return nil, errUnknownKey
	}
	for _, key := range known {
		claims := &jwt.Claims{}
		if fits(key, parsed.Headers[0].Algorithm) && parsed.Claims(key.Key, claims) == nil {
			return claims, nil
		}
	}
	return nil, errSignature
}

// fits reports whether a key is for signatures of an algorithm.
func fits(key jose.JSONWebKey, algorithm string) bool {
	return (key.Algorithm == "" || key.Algorithm == algorithm) && (key.Use == "" || key.Use == "sig")
}
