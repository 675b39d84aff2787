package measure

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestProtocolFollowsTheFields(t *testing.T) {
	type inner struct {
		Frames int `json:"frames"`
	}
	type renamed struct {
		Frames int `json:"packets"`
	}
	type base struct {
		At    time.Time
		Inner *inner           `json:"inner,omitempty"`
		By    map[string]inner `json:"by"`
		own   int
	}
	first := protocolOf(base{})
	if len(first) != 16 || strings.Trim(first, "0123456789abcdef") != "" {
		t.Fatalf("got %q", first)
	}
	if again := protocolOf(base{own: 1, Inner: &inner{1}}); again != first {
		t.Errorf("the values are in it: %q, %q", first, again)
	}
	for name, other := range map[string]string{
		"none": protocolOf(),
		"a name further in": protocolOf(struct {
			At    time.Time
			Inner *renamed           `json:"inner,omitempty"`
			By    map[string]renamed `json:"by"`
		}{}),
		"a type": protocolOf(struct {
			At    netip.Addr
			Inner *inner           `json:"inner,omitempty"`
			By    map[string]inner `json:"by"`
		}{}),
		"a field more": protocolOf(struct {
			At    time.Time
			Inner *inner           `json:"inner,omitempty"`
			By    map[string]inner `json:"by"`
			New   bool             `json:"new,omitempty"`
		}{}),
	} {
		if other == first {
			t.Errorf("%s: the same protocol", name)
		}
	}
}

// A type that contains itself ends.
func TestProtocolOfATree(t *testing.T) {
	type tree struct {
		Left, Right *tree
		hidden      chan int
	}
	if protocolOf(tree{hidden: nil}) == protocolOf(struct{ Left, Right int }{}) {
		t.Error("a tree is no pair of numbers")
	}
}

// Two programs of one source have the same protocol.
func TestProtocol(t *testing.T) {
	if got := Protocol(); got != Protocol() || len(got) != 16 {
		t.Errorf("got %q", got)
	}
}
