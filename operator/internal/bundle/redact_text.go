package bundle

import (
	"regexp"
	"slices"
	"strings"
)

// patterns find secrets in texts. What the first and the second group match stays.
var patterns = []*regexp.Regexp{
	// Private keys.
	regexp.MustCompile(`()-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)()`),
	// JSON Web Tokens, such as those of service accounts.
	regexp.MustCompile(`()\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*()`),
	// Headers.
	regexp.MustCompile(`(?i)(\bbearer\s+|\bauthorization\\*["']?\s*[:=]\s*[\\\["']*basic\s+)[A-Za-z0-9+/=._~-]{8,}()`),
	// Users, passwords and tokens in addresses.
	regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*:(?:\\?/){2})[^\s/"'?#]+(@(?:sha[0-9]+:)?)`),
}

var (
	// named finds what can be the name of a secret, with what separates it from its value: password=x, "token": "x", --psk x. Quotes can
	// be escaped, as they are in JSON within JSON.
	named = regexp.MustCompile(`([A-Za-z0-9_.-]*(?i:password|passwd|passphrase|token|secret|psk|(?:secret|access|api|private|shared)[_-]?key)[_-]?[0-9]*)` +
		`((?:\\*["'])?[ \t]*[:=]{1,2}>?[ \t]*|\\*["'][ \t]*,?\s*|[ \t]+|[ \t]*\n[ \t]*-[ \t]+)`)
	// secretName matches names that say that their value is a secret. Names of Secrets, as secretName and imagePullSecret, do not.
	secretName = regexp.MustCompile(`(?:(?i:password|passwd|passphrase|(?:secret|access|api|private|shared)[_-]?key|(?:client|shared)[_-]?secret|(?:auth|access|refresh)[_-]?token)` +
		`|(?:^|[^A-Za-z])(?i:token|secret|psk)|[a-z0-9](?:Token|Psk|PSK))[_-]?[0-9]*$`)
	// noSecretName matches names that secretName matches, and that are those of names and of settings.
	noSecretName = regexp.MustCompile(`(?:[sS]erviceAccountToken|(?i:(?:pull|tls)[_-]secret))$`)
	// unquoted matches a value without quotes around it: brackets and commas within it belong to it, those after it do not.
	unquoted = regexp.MustCompile(`^` + letter + `(?:[,;{}\[\]]*` + letter + `|["'][A-Za-z0-9])*`)
	// nextItem matches what is between two texts of a list.
	nextItem = regexp.MustCompile(`^\\*["']\s*,\s*(\\*)(["'])`)
)

// letter matches a letter of a value without quotes. A backslash is one, if no quote follows that it escapes.
const letter = `(?:[^\s"'\\,;{}\[\]]|\\+[^\s"'\\])`

// replacement is what a secret is replaced by.
const replacement = "REDACTED"

// readable are values that are no secrets under any name.
var readable = []string{"", "true", "false", "null", "nil", "<nil>", "none", "~", strings.ToLower(replacement)}

// isReadable returns whether a value is no secret under any name. An escaped new line can follow what was replaced already.
func isReadable(value string) bool {
	return slices.Contains(readable, strings.ToLower(value)) || strings.HasPrefix(value, replacement+`\`)
}

// isSecretName returns whether a name says that its value is a secret.
func isSecretName(name string) bool {
	return secretName.MatchString(name) && !noSecretName.MatchString(name)
}

// redactText replaces what looks like a secret. It returns how often it did.
func redactText(text string) (string, int) {
	n := 0
	for _, pattern := range patterns {
		text = pattern.ReplaceAllStringFunc(text, func(found string) string {
			groups := pattern.FindStringSubmatch(found)
			before, after := groups[1], groups[2]
			// An image with its digest looks like an address with a user.
			if strings.HasSuffix(after, ":") || found == before+replacement+after {
				return found
			}
			n++
			return before + replacement + after
		})
	}
	text, more := redactNamed(text)
	return text, n + more
}

// redactNamed replaces values in a text whose names say that they are secrets. It returns how many it replaced.
func redactNamed(text string) (string, int) {
	var out strings.Builder
	n, done := 0, 0
	for _, found := range named.FindAllStringSubmatchIndex(text, -1) {
		at := found[1]
		// What is found can begin within the value before it, but not end there.
		if at < done || !isNamed(text, found) {
			continue
		}
		from, to := valueAt(text, at)
		if isReadable(text[from:to]) {
			continue
		}
		out.WriteString(text[done:from])
		out.WriteString(replacement)
		n, done = n+1, to
	}
	if n == 0 {
		return text, 0
	}
	out.WriteString(text[done:])
	return out.String(), n
}

// isNamed returns whether what named has found is the name of a secret, and what follows is its value.
func isNamed(text string, found []int) bool {
	name, separator, rest := text[found[2]:found[3]], text[found[4]:found[5]], text[found[5]:]
	before := byte(' ')
	if found[2] > 0 {
		before = text[found[2]-1]
	}
	secret := isSecretName(name)
	if before == '\\' && strings.ContainsRune("bfnrt", rune(name[0])) {
		// The first letter is the rest of an escaped one, as a new line in JSON.
		secret = secret || isSecretName(name[1:])
	}
	switch {
	case !secret:
		return false
	case strings.ContainsAny(separator, ":="):
		// Images have tags: registry.example/token:1.0.
		return before != '/' || separator != ":"
	case !strings.HasPrefix(name, "-") || strings.HasPrefix(rest, "--"):
		return false
	default:
		// The next argument has quotes if the flag has.
		return !strings.ContainsAny(separator, `"'`) || strings.IndexAny(strings.TrimLeft(rest, `\`), `"'`) == 0
	}
}

// valueAt returns where a value is in a text, without its quotes. It is empty if there is none, or an object.
func valueAt(text string, at int) (from, to int) {
	from = at
	list := strings.HasPrefix(text[from:], "[")
	if list {
		from++
	}
	quote := from
	for quote < len(text) && text[quote] == '\\' {
		quote++
	}
	if quote == len(text) || text[quote] != '"' && text[quote] != '\'' {
		if value := unquoted.FindStringIndex(text[from:]); value != nil {
			return from, from + value[1]
		}
		return from, from
	}
	escapes := quote - from
	from = quote + 1
	to = endOfQuoted(text, from, escapes, text[quote])
	for list {
		next := nextItem.FindStringSubmatchIndex(text[to:])
		if next == nil {
			break
		}
		to = endOfQuoted(text, to+next[1], next[3]-next[2], text[to+next[4]])
	}
	return from, to
}

// endOfQuoted returns where a text in quotes ends that begins at a place: before the quote that as many backslashes escape as the first
// one, or at the end of the line.
func endOfQuoted(text string, at, escapes int, quote byte) int {
	slashes := 0
	for i := at; i < len(text); i++ {
		switch text[i] {
		case '\\':
			slashes++
			continue
		case '\n':
			return i
		case quote:
			// Quotes within the text have more backslashes, and so has a backslash before its end.
			if slashes < escapes || slashes%(2*(escapes+1)) == escapes {
				return i - min(slashes, escapes)
			}
		}
		slashes = 0
	}
	return len(text)
}
