package caller

import (
	"bytes"
	"net/http"
	"strings"
)

// WithoutToken returns the body of an agent's answer, with "[token]" where it has the token that it was asked with: parts of
// answers come into results and logs. An agent that someone else made may show what it was sent.
func WithoutToken(response *http.Response, body []byte) []byte {
	if response.Request == nil {
		return body
	}
	_, token, found := strings.Cut(response.Request.Header.Get("Authorization"), " ")
	if !found || token == "" {
		return body
	}
	return bytes.ReplaceAll(body, []byte(token), []byte("[token]"))
}
