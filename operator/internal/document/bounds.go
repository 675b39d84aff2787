package document

import "fmt"

// inBounds walks over a text of JSON without decoding it: it is whole, and neither deeper nor longer than that of any run.
// The decoder finds other mistakes.
func inBounds(text []byte) error {
	if len(text) > MaximumBytes {
		return fmt.Errorf("%w: it has %d bytes, and a document at most %d", ErrTooLarge, len(text), MaximumBytes)
	}
	values, elements, ended := 0, 0, false
	// open are the brackets that are not closed yet.
	var open []byte
	add := func() error {
		values++
		if open[len(open)-1] == '[' {
			elements++
		}
		if values > maximumValues || elements > MaximumElements {
			return fmt.Errorf("%w: it has more than %d values or %d elements of lists", ErrTooLarge, maximumValues, MaximumElements)
		}
		return nil
	}
	for at := 0; at < len(text); at++ {
		c := text[at]
		if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
			continue
		}
		if ended {
			return fmt.Errorf("%w: its JSON ends, and more follows after %d bytes", ErrDamaged, at)
		}
		if len(open) == 0 && c != '{' {
			return fmt.Errorf("%w: it is neither JSON nor JSON compressed with zstd", ErrNotADocument)
		}
		switch c {
		case '"':
			if at = endOfString(text, at); at >= len(text) {
				return truncated(text)
			}
		case '{', '[':
			if len(open) == maximumDepth {
				return fmt.Errorf("%w: it has more than %d objects and lists within each other", ErrTooLarge, maximumDepth)
			}
			open = append(open, c)
			// The first element, or member: a comma stands before each other.
			if err := add(); err != nil {
				return err
			}
		case '}', ']':
			open = open[:len(open)-1]
			ended = len(open) == 0
		case ',':
			if err := add(); err != nil {
				return err
			}
		}
	}
	if !ended {
		return truncated(text)
	}
	return nil
}

// endOfString returns the index of the quotation mark that ends a string, or that of the text's end.
func endOfString(text []byte, from int) int {
	for at := from + 1; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at
		}
	}
	return len(text)
}

func truncated(text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf("%w: it is empty", ErrTruncated)
	}
	return fmt.Errorf("%w: its JSON has %d bytes and no end; copy it again from where it is whole", ErrTruncated, len(text))
}
