package guide

import (
	"strings"
	"testing"
)

func TestBlocks(t *testing.T) {
	got := blocksOf("# A\n\n```sh\none\n# no heading\n```\ntext\n```yaml\nkind: x\n```\n## B\n```sh\ntwo\n```\n\n```sh\nthree\n```\n")
	if len(got) != 2 || strings.Join(got["A"], "|") != "one\n# no heading\n" || strings.Join(got["B"], "|") != "two\n|three\n" {
		t.Errorf("got %q", got)
	}
}

func TestPage(t *testing.T) {
	page := &Guide{page: "x.md", folder: t.TempDir(), blocks: map[string][]string{"A": {"echo NAME in $PWD", "false"}, "B": {"a='set by the block before'\n", "echo $a\n"}}, ran: map[string]bool{}}
	if got := page.Run(t, "A", 0, "NAME", "a run"); got != "a run in "+page.folder+"\n" {
		t.Errorf("got %q", got)
	}
	if got := page.Together(t, []Block{{"B", 0}, {"B", 1}}); got != "set by the block before\n" {
		t.Errorf("got %q", got)
	}
	if _, err := page.Try(t, "A", 1); err == nil {
		t.Error("a command that fails was taken for one that does not")
	}
	page.Whole(t)
}
