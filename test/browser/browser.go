// Package browser opens the project's pages in a real browser, headless Chromium. Its tests look for what only a browser knows: whether
// pictures are drawn, whether something is wider than the screen, and whether anything is fetched or reported as an error. It also makes the
// screenshots of the documentation.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Start starts a browser, which ends with the returned function.
func Start(ctx context.Context) (context.Context, func(), error) {
	program := os.Getenv("CHROMIUM")
	if program == "" {
		found, err := exec.LookPath("chromium")
		if err != nil {
			return nil, nil, fmt.Errorf("%w; `test/scripts/prerequisites.sh browser` installs it, and CHROMIUM names another one", err)
		}
		program = found
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.WSURLReadTimeout(time.Minute))
	if os.Geteuid() == 0 {
		// Chromium's sandbox does not work as root in a container. It opens pages that these tests made, and nothing else.
		options = append(options, chromedp.NoSandbox)
	}
	allocated, end := chromedp.NewExecAllocator(ctx, options...)
	browser, endBrowser := chromedp.NewContext(allocated)
	if err := chromedp.Run(browser); err != nil {
		endBrowser()
		end()
		return nil, nil, fmt.Errorf("starting %s: %w", program, err)
	}
	return browser, func() { endBrowser(); end() }, nil
}

// Tab is a page in the browser.
type Tab struct {
	context.Context
	mu sync.Mutex
	// problems are errors and exceptions, and addresses what was asked for.
	problems, addresses []string
}

// pageTime is how long a tab may be open: a browser that does not answer fails a test then.
const pageTime = 2 * time.Minute

// Open opens an address with a screen of a width, in light or dark colors.
func Open(browser context.Context, address string, width int, dark bool) (*Tab, func(), error) {
	opened, endTab := chromedp.NewContext(browser)
	ctx, stop := context.WithTimeout(opened, pageTime)
	end := func() { stop(); endTab() }
	tab := &Tab{Context: ctx}
	chromedp.ListenTarget(ctx, tab.note)
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	err := chromedp.Run(ctx, log.Enable(), network.Enable(), runtime.Enable(),
		emulation.SetDeviceMetricsOverride(int64(width), 900, 1, width < 600),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.Navigate(address), chromedp.WaitReady("body"))
	if err != nil {
		end()
		return nil, nil, fmt.Errorf("opening %s: %w", address, err)
	}
	return tab, end, nil
}

func (t *Tab) note(event any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch event := event.(type) {
	case *log.EventEntryAdded:
		t.problems = append(t.problems, fmt.Sprintf("%s: %s %s", event.Entry.Level, event.Entry.Text, event.Entry.URL))
	case *runtime.EventExceptionThrown:
		t.problems = append(t.problems, event.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		t.problems = append(t.problems, "console: "+string(event.Type))
	case *network.EventRequestWillBeSent:
		t.addresses = append(t.addresses, event.Request.URL)
	}
}

// Problems returns what the browser reported, and requests for other addresses than those that begin with the allowed one. An address with data asks no
// one: the browser draws the icons of fields for dates so.
func (t *Tab) Problems(allowed string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := append([]string(nil), t.problems...)
	for _, address := range t.addresses {
		if !strings.HasPrefix(address, allowed) && !strings.HasPrefix(address, "data:") {
			out = append(out, "it asks for "+address)
		}
	}
	return out
}
