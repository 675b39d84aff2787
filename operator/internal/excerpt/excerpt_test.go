package excerpt

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for name, test := range map[string]struct {
		text     string
		maxBytes int
		want     string
	}{
		"short":                           {"ready", 10, "ready"},
		"exactly as long":                 {"ready", 5, "ready"},
		"one byte too long":               {"readyy", 5, "re..."},
		"a cut inside a character":        {"aäöü", 6, "aä..."},
		"a cut inside a long character":   {"ab😀cdef", 8, "ab..."},
		"bytes that are not UTF-8":        {"a\xffb", 10, "ab"},
		"no UTF-8, and short without it":  {"abcd\xff\xff", 4, "abcd"},
		"lines stay":                      {"a\nb", 10, "a\nb"},
		"no room for the mark":            {"abcdef", 2, ".."},
		"no room at all":                  {"abcdef", 0, ""},
		"a bound that a caller got wrong": {"abcdef", -1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Text(test.text, test.maxBytes); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestLine(t *testing.T) {
	if got, want := Line(" two\n\twords  here ", 9), "two wo..."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := Lines([]string{"a\nb", "long line", "third"}, 2, 6), []string{"a b", "lon..."}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Lines(nil, 2, 6); got != nil {
		t.Errorf("got %q of nothing", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add(strings.Repeat("ä", 20), 7)
	f.Add("\xf0\x9f\x98", 3)
	f.Add("\x1b[2J\u202ecleared", 20)
	f.Fuzz(func(t *testing.T, text string, maxBytes int) {
		if got := Text(text, maxBytes); len(got) > max(maxBytes, 0) || !utf8.ValidString(got) {
			t.Errorf("got %q of at most %d bytes", got, maxBytes)
		} else if strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Errorf("got %q with control characters", got)
		}
	})
}

// TestList checks that a list in a message is bounded.
func TestList(t *testing.T) {
	for want, items := range map[string][]string{"": nil, "a": {"a"}, "a, b, c": {"a", "b", "c"}, "a, b, c, and 2 more": {"a", "b", "c", "d", "e"}} {
		if got := List(items, ", "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
