// Package excerpt keeps text within the bounds of the API. Text goes in, valid
// UTF-8 of at most so many bytes comes out. The API's bounds count characters,
// and a character has at least one byte, so what fits here fits there.
package excerpt

import (
	"fmt"
	"strings"
	"unicode"
)

const ellipsis = "..."

// Text keeps the beginning of a text within maxBytes, cuts between characters,
// and marks a cut with "...". It drops bytes that are not UTF-8, and control characters as Printable does.
func Text(text string, maxBytes int) string {
	text = Printable(strings.ToValidUTF8(text, ""))
	if len(text) <= maxBytes {
		return text
	}
	return strings.ToValidUTF8(text[:max(maxBytes-len(ellipsis), 0)], "") + ellipsis[:min(len(ellipsis), max(maxBytes, 0))]
}

// Line joins the words of a text with single blanks, so that it is one line,
// and keeps that within maxBytes as Text does.
func Line(text string, maxBytes int) string {
	return Text(strings.Join(strings.Fields(text), " "), maxBytes)
}

// Lines keeps the first maxLines texts, each as one line within maxBytes.
func Lines(texts []string, maxLines, maxBytes int) []string {
	var out []string
	for _, text := range texts[:min(len(texts), maxLines)] {
		out = append(out, Line(text, maxBytes))
	}
	return out
}

// Printable drops control and format characters, which a terminal would obey, and keeps lines and tabs.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.C, r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}

// MaxListed is how many items List names.
const MaxListed = 3

// List joins the first items of a list, and says how many more there are.
func List(items []string, separator string) string {
	text := strings.Join(items[:min(len(items), MaxListed)], separator)
	if more := len(items) - MaxListed; more > 0 {
		text += fmt.Sprintf("%sand %d more", separator, more)
	}
	return text
}
